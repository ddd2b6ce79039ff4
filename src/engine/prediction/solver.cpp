#include "solver.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace cqrf {

double StepJumps::first_time() const {
  const auto& steps = curve->steps;
  return target->times[std::ranges::find_if(steps, &Step::candidate)->time];
}

double StepJumps::last_time() const {
  const auto& steps = curve->steps;
  return target->times[std::find_if(steps.rbegin(), steps.rend(), [](const Step& step) {
                         return step.candidate;
                       })->time];
}

// The inverted curve as a function of time; mirrored, its limit from the left, since T > s means
// -T < -s. From the last jump on it is S itself.
double QuantileSolver::survival_at(double at) const {
  const auto& steps = jumps_.curve->steps;
  const auto next_step = std::partition_point(steps.begin(), steps.end(), [&](const Step& step) {
    const double t = jumps_.target->times[step.time];
    return options_.mirrored ? t < at : t <= at;
  });
  const auto place = static_cast<std::size_t>(next_step - steps.begin());
  const std::size_t next = jumps_.jump_from(place);
  const std::size_t last = jumps_.jump_before(place);
  if (next == kNoJump) return jumps_.curve->survival.back();
  double left_time = jumps_.first_time();
  double left_height = 1;
  if (last == kNoJump) {
    if (options_.interpolation != Interpolation::kLinear || at <= left_time) return 1;
  } else {
    left_time = jumps_.time(last);
    left_height = height(jumps_, last, options_.interpolation);
    if (options_.interpolation == Interpolation::kLower) return left_height;
  }
  // Halves, since the distance of two finite times may not be finite.
  const double share = (at / 2 - left_time / 2) / (jumps_.time(next) / 2 - left_time / 2);
  return std::lerp(left_height, height(jumps_, next, options_.interpolation), share);
}

double QuantileSolver::invert(double level) const {
  const auto& survival = jumps_.curve->survival;
  const auto crossing = std::partition_point(survival.begin(), survival.end(),
                                             [&](double s) { return s > level + kLevelTolerance; });
  return inverse(jumps_, static_cast<std::size_t>(crossing - survival.begin()), level,
                 options_.interpolation);
}

// The paper's rule with the authors' guard: candidates up to the largest uncensored time, the
// first smallest |S_n| wins.
double QuantileSolver::argmin(double level) const {
  const Curve& curve = *jumps_.curve;
  const auto& steps = curve.steps;
  std::size_t end = 0;
  for (std::size_t k = 0; k < steps.size(); ++k)
    if (steps[k].candidate && steps[k].events > 0) end = k + 1;
  double answer = std::numeric_limits<double>::quiet_NaN();
  double smallest = std::numeric_limits<double>::infinity();
  for (std::size_t k = 0; k < end; ++k) {
    if (!steps[k].candidate) continue;
    const double loss = std::abs(level * curve.censoring[k] - steps[k].after / curve.total);
    if (loss < smallest - kLevelTolerance) {
      smallest = loss;
      answer = jumps_.time(k);
    }
  }
  return answer;
}

void QuantileSolver::solve(const TargetView& target, const Curve& curve,
                           std::span<const double> levels, double after, double* quantiles,
                           std::uint8_t* identified) {
  jumps_ = {&target, &curve};
  const bool conditional = !std::isnan(after);
  double reached = conditional ? survival_at(after) : 1;
  // Mirrored, a condition beyond all times says nothing: mass that S leaves is not beyond it.
  if (conditional && options_.mirrored && after > jumps_.last_time()) reached = 0;

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
    if (std::isnan(answer)) answer = jumps_.last_time();
    if (conditional) answer = options_.mirrored ? std::min(answer, after) : std::max(answer, after);
    quantiles[j] = answer;
    identified[j] = known;
  }
}

}  // namespace cqrf
