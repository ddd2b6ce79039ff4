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

// Solves S_n(q; tau) = G(q) ((1 - tau) - S(q)) = 0. One object per worker.
class QuantileSolver {
 public:
  explicit QuantileSolver(const SolveOptions& options) : options_(options) {}

  // levels: 1 - tau. `after` conditions on T beyond that time (NaN: no condition).
  void solve(const TargetView& target, const Curve& curve, std::span<const double> levels,
             double after, double* quantiles, std::uint8_t* identified);

 private:
  // A point of the monotone curve that is inverted.
  struct Point {
    double time;
    double survival;
  };

  void build_points(const TargetView& target, const Curve& curve);
  double survival_at(double time) const;
  double invert(double level) const;
  double argmin(const TargetView& target, const Curve& curve, double level) const;

  SolveOptions options_;
  std::vector<Point> points_;
  double last_survival_ = 1;
};

}  // namespace cqrf
