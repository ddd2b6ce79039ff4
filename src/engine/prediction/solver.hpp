// From the curves of one test point to quantiles of T.
#pragma once

#include <span>
#include <vector>

#include "curve.hpp"

namespace cqrf {

enum class Solver { kRoot, kArgmin };
enum class Interpolation { kMidpoint, kLower, kLinear };

struct SolveOptions {
  Solver solver = Solver::kRoot;
  Interpolation interpolation = Interpolation::kMidpoint;
  // Times were negated (left censoring): "after s" means before -s.
  bool mirrored = false;
};

// Solves S_n(q; tau) = G(q) ((1 - tau) - S(q)) = 0. The inverted curve goes through a point at each
// jump e_j of S: (e_j, S(e_j)), or with midpoints (e_j, (S(e_j-) + S(e_j)) / 2). Points are found
// by bisection, none is stored. One object per worker.
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
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);

  double time(std::size_t step) const { return target_->times[curve_->steps[step].time]; }
  double first() const;    // smallest candidate
  double largest() const;  // largest candidate
  // The last jump before a step, or kNone.
  std::size_t jump_before(std::size_t step) const {
    while (step-- > 0)
      if (curve_->jump[step]) return step;
    return kNone;
  }
  // The first jump at or after a step, or kNone.
  std::size_t jump_from(std::size_t step) const {
    for (; step < curve_->steps.size(); ++step)
      if (curve_->jump[step]) return step;
    return kNone;
  }
  // The height of the inverted curve at a jump.
  double height(std::size_t jump) const {
    if (options_.interpolation != Interpolation::kMidpoint) return curve_->survival[jump];
    const double before = jump == 0 ? 1.0 : curve_->survival[jump - 1];
    return (before + curve_->survival[jump]) / 2;
  }
  double survival_at(double at) const;
  double invert(double level) const;
  double argmin(double level) const;

  SolveOptions options_;
  const TargetView* target_ = nullptr;
  const Curve* curve_ = nullptr;
};

}  // namespace cqrf
