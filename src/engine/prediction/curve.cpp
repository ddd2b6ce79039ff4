#include "curve.hpp"

#include <algorithm>

namespace cqrf {

Range with_equal_times(const TargetView& target, Range ranks) {
  const auto& index = target.time_index;
  if (!target.has_ties()) return ranks;
  const auto at = [&](std::size_t rank) {
    return index.begin() + static_cast<std::ptrdiff_t>(rank);
  };
  if (ranks.begin > 0 && index[ranks.begin - 1] == index[ranks.begin])
    ranks.begin = static_cast<std::size_t>(
        std::lower_bound(index.begin(), at(ranks.begin), index[ranks.begin]) - index.begin());
  if (ranks.end < index.size() && index[ranks.end] == index[ranks.end - 1])
    ranks.end = static_cast<std::size_t>(
        std::upper_bound(at(ranks.end), index.end(), index[ranks.end - 1]) - index.begin());
  return ranks;
}

void make_steps(const TargetView& target, Curve& curve) {
  const auto& weights = curve.weights;
  // Written from the back; there are fewer steps than weights where times are tied.
  if (curve.buffer.size() < weights.size()) curve.buffer.resize(weights.size());
  Step* const end = curve.buffer.data() + curve.buffer.size();
  Step* first = end;
  double after = 0;
  for (std::size_t i = weights.size(); i > 0;) {
    const TimeIndex time = target.time_index[weights[i - 1].rank];
    double events = 0;
    double censored = 0;
    do {
      --i;
      // Products with 0 or 1, where a branch would be mispredicted at every third row.
      const double seen = target.event[weights[i].rank];
      events += weights[i].weight * seen;
      censored += weights[i].weight * (1 - seen);
    } while (i > 0 && target.time_index[weights[i - 1].rank] == time);
    *--first = {time, true, events, censored, after};
    // One addition that waits for the step before, not two.
    after += censored + events;
  }
  curve.total = after;
  curve.steps = {first, end};
}

void survival_of_events(Curve& curve) {
  curve.survival.resize(curve.steps.size());
  curve.jump.resize(curve.steps.size());
  double survival = 1;
  for (std::size_t k = 0; k < curve.steps.size(); ++k) {
    const Step& step = curve.steps[k];
    // Exactly one where there is no event.
    survival *= step.surviving() / step.at_risk();
    curve.survival[k] = survival;
    curve.jump[k] = step.events > 0;
  }
}

void survival_of_censoring(Curve& curve) {
  curve.censoring.resize(curve.steps.size());
  double censoring = 1;
  for (std::size_t k = 0; k < curve.steps.size(); ++k) {
    const Step& step = curve.steps[k];
    if (step.censored > 0) censoring *= step.after / step.surviving();
    curve.censoring[k] = censoring;
  }
}

}  // namespace cqrf
