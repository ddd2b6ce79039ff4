// Log-rank: rows are relabelled with the log-rank scores of their node,
//
//   a_i = event_i - H(Y_i),   H the node's Nelson-Aalen estimate,
//
// whose sum over a side of the split is the numerator (observed minus expected events) of the
// log-rank statistic. Its square over the permutation variance, w_L w_R / W up to a constant, is
// the squared-error gain of the scores.
#pragma once

#include <cmath>

#include "rule.hpp"

namespace cqrf {

class LogrankRule {
 public:
  using Stat = ScalarStat;

  explicit LogrankRule(const Outcomes& outcomes) : outcomes_(outcomes) {}

  bool relabel(std::span<const SampledRow> rows, Stat* labels) {
    std::uint64_t at_risk = 0;
    for (const SampledRow& row : rows) at_risk += row.weight;
    double hazard = 0;
    std::int64_t first = 0;
    bool alike = true;
    for (std::size_t begin = 0; begin < rows.size();) {
      const TimeIndex time = outcomes_.time_index[rows[begin].rank];
      std::uint64_t events = 0;
      std::uint64_t leaving = 0;
      std::size_t end = begin;
      for (; end < rows.size() && outcomes_.time_index[rows[end].rank] == time; ++end) {
        leaving += rows[end].weight;
        if (outcomes_.event[rows[end].rank]) events += rows[end].weight;
      }
      hazard += static_cast<double>(events) / static_cast<double>(at_risk);
      for (; begin < end; ++begin) {
        const double score = (outcomes_.event[rows[begin].rank] ? 1.0 : 0.0) - hazard;
        const std::int64_t label = std::llround(score * kScale);
        labels[begin] = {label * rows[begin].weight, rows[begin].weight, 1};
        if (begin == 0) first = label;
        alike = alike && label == first;
      }
      at_risk -= leaving;
    }
    return !alike;
  }

  static double gain(const Stat& left, const Stat& total) {
    return squared_error_gain(left, total);
  }
  static double order(const Stat& category) { return mean_label(category); }

 private:
  // H is at most 1 + log(2^31) < 32, so scores stay within 2^30.
  static constexpr double kScale = 0x1p25;

  Outcomes outcomes_;
};

}  // namespace cqrf
