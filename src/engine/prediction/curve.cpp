#include "curve.hpp"

namespace cqrf {

void beran(const TargetView& target, Curve& curve) {
  auto& steps = curve.steps;
  steps.clear();
  for (const auto& [rank, weight] : curve.weights) {
    const TimeIndex time = target.time_index[rank];
    if (steps.empty() || steps.back().time != time)
      steps.push_back({time, false, true, 0, 0, 0, 1, 1});
    (target.event[rank] ? steps.back().events : steps.back().censored) += weight;
  }
  double after = 0;
  for (std::size_t k = steps.size(); k-- > 0;) {
    steps[k].after = after;
    after += steps[k].censored;
    after += steps[k].events;
  }
  const double total = after;
  double survival = 1;
  double censoring = 1;
  for (Step& step : steps) {
    const double surviving = step.after + step.censored;  // R_k - d_k
    if (step.events > 0) survival *= surviving / (surviving + step.events);
    if (step.censored > 0) censoring *= step.after / surviving;
    step.survival = survival;
    step.censoring = censoring;
    step.jump = step.events > 0;
    step.after /= total;
  }
}

}  // namespace cqrf
