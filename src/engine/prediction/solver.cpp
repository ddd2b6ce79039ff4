#include "solver.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace cqrf {

double QuantileSolver::first() const {
  const auto& steps = curve_->steps;
  return target_->times[std::ranges::find_if(steps, &Step::candidate)->time];
}

double QuantileSolver::largest() const {
  const auto& steps = curve_->steps;
  return target_->times[std::find_if(steps.rbegin(), steps.rend(), [](const Step& step) {
                          return step.candidate;
                        })->time];
}

// The inverted curve as a function of time; mirrored, its limit from the left, since T > s means
// -T < -s. From the last jump on it is S itself.
double QuantileSolver::survival_at(double at) const {
  const auto& steps = curve_->steps;
  const auto next_step = std::partition_point(steps.begin(), steps.end(), [&](const Step& step) {
    const double t = target_->times[step.time];
    return options_.mirrored ? t < at : t <= at;
  });
  const std::size_t next = jump_from(static_cast<std::size_t>(next_step - steps.begin()));
  const std::size_t last = jump_before(static_cast<std::size_t>(next_step - steps.begin()));
  if (next == kNone) return curve_->survival.back();
  double left_time = first();
  double left_height = 1;
  if (last == kNone) {
    if (options_.interpolation != Interpolation::kLinear || at <= first()) return 1;
  } else {
    left_time = time(last);
    left_height = height(last);
    if (options_.interpolation == Interpolation::kLower) return left_height;
  }
  // Halves, since the distance of two finite times may not be finite.
  const double share = (at / 2 - left_time / 2) / (time(next) / 2 - left_time / 2);
  return std::lerp(left_height, height(next), share);
}

double QuantileSolver::invert(double level) const {
  const double reached = level + kLevelTolerance;
  // Heights lie between S(e_j-) and S(e_j): the crossing is at the jump where S falls to the
  // level, or at the one after it.
  const auto& survival = curve_->survival;
  const auto crossing =
      std::partition_point(survival.begin(), survival.end(), [&](double s) { return s > reached; });
  std::size_t next = static_cast<std::size_t>(crossing - survival.begin());
  if (height(next) > reached) {
    const std::size_t last = next;
    next = jump_from(next + 1);
    // Below the last midpoint the answer is the last time.
    if (next == kNone) return time(last);
  }
  if (options_.interpolation == Interpolation::kLower || height(next) >= level) return time(next);
  const std::size_t last = jump_before(next);
  // Above the first midpoint the answer is the first time; the linear curve begins with S = 1.
  if (last == kNone && options_.interpolation == Interpolation::kMidpoint) return time(next);
  const double left_time = last == kNone ? first() : time(last);
  const double left_height = last == kNone ? 1.0 : height(last);
  const double share = (left_height - level) / (left_height - height(next));
  return std::lerp(left_time, time(next), share);
}

// The paper's rule with the authors' guard: candidates up to the largest uncensored time, the
// first smallest |S_n| wins.
double QuantileSolver::argmin(double level) const {
  const auto& steps = curve_->steps;
  std::size_t end = 0;
  for (std::size_t k = 0; k < steps.size(); ++k)
    if (steps[k].candidate && steps[k].events > 0) end = k + 1;
  double answer = std::numeric_limits<double>::quiet_NaN();
  double smallest = std::numeric_limits<double>::infinity();
  for (std::size_t k = 0; k < end; ++k) {
    if (!steps[k].candidate) continue;
    const double loss = std::abs(level * curve_->censoring[k] - steps[k].after / curve_->total);
    if (loss < smallest - kLevelTolerance) {
      smallest = loss;
      answer = time(k);
    }
  }
  return answer;
}

void QuantileSolver::solve(const TargetView& target, const Curve& curve,
                           std::span<const double> levels, double after, double* quantiles,
                           std::uint8_t* identified) {
  target_ = &target;
  curve_ = &curve;
  const bool conditional = !std::isnan(after);
  double reached = conditional ? survival_at(after) : 1;
  // Mirrored, a condition beyond all times says nothing: mass that S leaves is not beyond it.
  if (conditional && options_.mirrored && after > largest()) reached = 0;

  for (std::size_t j = 0; j < levels.size(); ++j) {
    double level = levels[j];
    // P(T > q | T > s) = S(q) / S(s); mirrored, P(T > q | T < s) = (S(q) - S(s)) / (1 - S(s)).
    if (conditional) level = options_.mirrored ? reached + level * (1 - reached) : level * reached;
    bool known = curve.survival.back() <= level + kLevelTolerance;
    if (conditional) known = known && (options_.mirrored ? reached < 1 : reached > 0);
    double answer = std::numeric_limits<double>::quiet_NaN();
    if (options_.solver == Solver::kArgmin)
      answer = argmin(level);
    else if (known)
      answer = invert(level);
    if (std::isnan(answer)) answer = largest();
    if (conditional) answer = options_.mirrored ? std::min(answer, after) : std::max(answer, after);
    quantiles[j] = answer;
    identified[j] = known;
  }
}

}  // namespace cqrf
