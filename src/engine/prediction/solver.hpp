// From the curves of one test point to quantiles of T.
#pragma once

#include <span>
#include <vector>

#include "curve.hpp"
#include "inverse.hpp"

namespace cqrf {

enum class Solver { kRoot, kArgmin };

struct SolveOptions {
  Solver solver = Solver::kRoot;
  Interpolation interpolation = Interpolation::kMidpoint;
  // Times were negated (left censoring): "after s" means before -s.
  bool mirrored = false;
};

// The steps of a curve, for inverse().
struct StepJumps {
  double survival(std::size_t step) const { return curve->survival[step]; }
  double before(std::size_t step) const { return step == 0 ? 1.0 : curve->survival[step - 1]; }
  double time(std::size_t step) const { return target->times[curve->steps[step].time]; }
  double first_time() const;  // smallest candidate
  double last_time() const;   // largest candidate
  std::size_t jump_before(std::size_t step) const {
    while (step-- > 0)
      if (curve->jump[step]) return step;
    return kNoJump;
  }
  std::size_t jump_from(std::size_t step) const {
    for (; step < curve->steps.size(); ++step)
      if (curve->jump[step]) return step;
    return kNoJump;
  }

  const TargetView* target = nullptr;
  const Curve* curve = nullptr;
};

// Solves S_n(q; tau) = G(q) ((1 - tau) - S(q)) = 0. Points of the inverted curve are found by
// bisection, none is stored. One object per worker.
class QuantileSolver {
 public:
  explicit QuantileSolver(const SolveOptions& options) : options_(options) {
    // The argmin rule knows steps only.
    if (options.solver == Solver::kArgmin) options_.interpolation = Interpolation::kLower;
  }

  // levels: 1 - tau. `after` conditions on T beyond that time (NaN: no condition).
  void solve(const TargetView& target, const Curve& curve, std::span<const double> levels,
             double after, double* quantiles, std::uint8_t* identified);

 private:
  double survival_at(double at) const;
  double invert(double level) const;
  double argmin(double level) const;

  SolveOptions options_;
  StepJumps jumps_;
};

}  // namespace cqrf
