#include "solver.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace cqrf {

// The points through which the inverted curve goes: (e_j, S(e_j)) or the midpoints of the jumps.
void QuantileSolver::build_points(const TargetView& target, const Curve& curve) {
  points_.clear();
  double before = 1;
  if (options_.interpolation == Interpolation::kLinear) {
    const auto first = std::find_if(curve.steps.begin(), curve.steps.end(),
                                    [](const Step& step) { return step.candidate; });
    points_.push_back({target.times[first->time], 1.0});
  }
  for (const Step& step : curve.steps) {
    if (!step.jump) continue;
    const double at = options_.interpolation == Interpolation::kMidpoint
                          ? (before + step.survival) / 2
                          : step.survival;
    points_.push_back({target.times[step.time], at});
    before = step.survival;
  }
  last_survival_ = curve.steps.back().survival;
}

// The curve that `invert` inverts, as a function of time. Beyond the last jump it is S itself.
double QuantileSolver::survival_at(double time) const {
  const auto next = std::upper_bound(points_.begin(), points_.end(), time,
                                     [](double t, const Point& p) { return t < p.time; });
  if (next == points_.begin()) return 1;
  if (next == points_.end()) return last_survival_;
  const Point& left = next[-1];
  if (options_.interpolation == Interpolation::kLower) return left.survival;
  const double share = (time - left.time) / (next->time - left.time);
  return left.survival + share * (next->survival - left.survival);
}

double QuantileSolver::invert(double level) const {
  const auto next = std::partition_point(points_.begin(), points_.end(), [&](const Point& p) {
    return p.survival > level + kLevelTolerance;
  });
  // Above the first point the answer is the first time; below the last midpoint, the last.
  if (next == points_.begin()) return next->time;
  if (next == points_.end()) return next[-1].time;
  if (options_.interpolation == Interpolation::kLower || next->survival >= level) return next->time;
  const Point& left = next[-1];
  const double share = (left.survival - level) / (left.survival - next->survival);
  return left.time + share * (next->time - left.time);
}

// The paper's rule with the authors' guard: candidates up to the largest uncensored time, the
// first smallest |S_n| wins.
double QuantileSolver::argmin(const TargetView& target, const Curve& curve, double level) const {
  const Step* last = nullptr;
  for (const Step& step : curve.steps)
    if (step.candidate && step.events > 0) last = &step;
  if (last == nullptr) return std::numeric_limits<double>::quiet_NaN();
  const Step* best = nullptr;
  double smallest = std::numeric_limits<double>::infinity();
  for (const Step* step = curve.steps.data(); step <= last; ++step) {
    if (!step->candidate) continue;
    const double loss = std::abs(level * step->censoring - step->after);
    if (loss < smallest - kLevelTolerance) {
      smallest = loss;
      best = step;
    }
  }
  return target.times[best->time];
}

void QuantileSolver::solve(const TargetView& target, const Curve& curve,
                           std::span<const double> levels, double after, double* quantiles,
                           std::uint8_t* identified) {
  build_points(target, curve);
  const bool conditional = !std::isnan(after);
  const double reached = conditional ? survival_at(after) : 1;
  double largest = -std::numeric_limits<double>::infinity();
  for (const Step& step : curve.steps)
    if (step.candidate) largest = target.times[step.time];

  for (std::size_t j = 0; j < levels.size(); ++j) {
    double level = levels[j];
    // P(T > q | T > s) = S(q) / S(s); mirrored, P(T > q | T < s) = (S(q) - S(s)) / (1 - S(s)).
    if (conditional) level = options_.mirrored ? reached + level * (1 - reached) : level * reached;
    bool known = !points_.empty() && last_survival_ <= level + kLevelTolerance;
    if (conditional) known = known && (options_.mirrored ? reached < 1 : reached > 0);
    double answer = largest;
    if (options_.solver == Solver::kArgmin) {
      const double found = argmin(target, curve, level);
      if (!std::isnan(found)) answer = found;
    } else if (known) {
      answer = invert(level);
    }
    if (conditional) answer = options_.mirrored ? std::min(answer, after) : std::max(answer, after);
    quantiles[j] = answer;
    identified[j] = known;
  }
}

}  // namespace cqrf
