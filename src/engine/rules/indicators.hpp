// What the data of a row say about the whole law of its T:
//
//   u_k = P(T > t_k | its data) = 1                for t_k < Y,
//                                 0                for t_k >= Y, an event,
//                                 S(t_k) / S(Y)    for t_k >= Y, a censored row,
//
// at K = 10 thresholds t_k, the marginal Kaplan-Meier quantiles of T, with S the marginal
// Kaplan-Meier curve.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>

#include "rule.hpp"

namespace cqrf {

class SurvivalIndicators {
 public:
  static constexpr std::size_t kThresholds = 10;
  using Columns = std::array<double, kThresholds>;

  explicit SurvivalIndicators(const Outcomes& outcomes) : outcomes_(outcomes) {
    for (std::size_t k = 0; k < kThresholds; ++k) {
      threshold_[k] = quantile(static_cast<double>(k + 1) / (kThresholds + 1));
      const double p = outcomes.survival[threshold_[k]];
      scale_[k] = p > 0 && p < 1 ? 1 / std::sqrt(p * (1 - p)) : 0;
    }
  }

  // Columns are divided by their marginal standard deviation sqrt(p_k (1 - p_k)).
  const Columns& scale() const { return scale_; }

  TimeIndex threshold(std::size_t k) const { return threshold_[k]; }

  // The number of thresholds that come before a time.
  std::size_t passed(TimeIndex time) const {
    return static_cast<std::size_t>(std::lower_bound(threshold_.begin(), threshold_.end(), time) -
                                    threshold_.begin());
  }

  // The scaled columns of rows of this time and kind.
  Columns at(TimeIndex time, bool event) const {
    const std::size_t certain = passed(time);
    const double reached = outcomes_.survival[time];
    Columns columns = scale_;
    for (std::size_t k = certain; k < kThresholds; ++k)
      columns[k] *= event || reached <= 0 ? 0 : outcomes_.survival[threshold_[k]] / reached;
    return columns;
  }

  Columns of(Rank rank) const { return at(outcomes_.time_index[rank], outcomes_.event[rank] != 0); }

 private:
  // The marginal quantile of T; the last time where S does not fall so far.
  TimeIndex quantile(double tau) const {
    const auto at = std::partition_point(outcomes_.survival.begin(), outcomes_.survival.end(),
                                         [&](double s) { return s > 1 - tau; });
    const auto last = static_cast<std::ptrdiff_t>(outcomes_.survival.size()) - 1;
    return static_cast<TimeIndex>(std::min(at - outcomes_.survival.begin(), last));
  }

  Outcomes outcomes_;
  std::array<TimeIndex, kThresholds> threshold_;
  Columns scale_;
};

}  // namespace cqrf
