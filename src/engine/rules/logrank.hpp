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

class LogrankRule : public LabelsAreSums<ScalarStat> {
 public:
  using Gain = SquaredErrorGain;
  static constexpr bool kPerNode = true;

  explicit LogrankRule(const Outcomes& outcomes) : outcomes_(outcomes) {}

  void relabel(std::span<const SampledRow> rows, Stat* labels) {
    std::uint64_t at_risk = 0;
    for (const SampledRow& row : rows) at_risk += row.weight;
    double hazard = 0;
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
        labels[begin] = Stat::of(std::llround(score * kScale), rows[begin].weight);
      }
      at_risk -= leaving;
    }
  }

  // Scores differ as soon as an event separates two times or two kinds of rows.
  bool pure(std::span<const SampledRow> rows, const Stat* labels) const {
    const auto label = [&](std::size_t i) { return labels[i].sum() / rows[i].weight; };
    for (std::size_t i = 1; i < rows.size(); ++i)
      if (label(i) != label(0)) return false;
    return true;
  }

  static Gain gain(const Stat& total) { return Gain(total); }
  static double order(const Stat& category) { return mean_label(category); }

 private:
  // H is at most 1 + log(2^31) < 32, so scores stay within 2^30.
  static constexpr double kScale = 0x1p25;

  Outcomes outcomes_;
};

}  // namespace cqrf
