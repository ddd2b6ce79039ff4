// CART: squared error of the observed times, as if nothing were censored (the paper's forest).
#pragma once

#include <cmath>

#include "rule.hpp"

namespace cqrf {

class MseRule {
 public:
  using Stat = ScalarStat;
  // Times the weight. A label moves with its row at every level of a tree: weight and count, which
  // the sums need beside it, are in the row already.
  using Label = std::int64_t;
  using Gain = SquaredErrorGain;
  static constexpr bool kPerNode = false;

  explicit MseRule(const Outcomes& outcomes)
      : outcomes_(outcomes), label_(scaled_times(outcomes.times)) {}

  static void add(Stat& sum, Label label, const SampledRow& row) {
    sum += Stat::of_product(label, row);
  }

  void relabel(std::span<const SampledRow> rows, Label* labels) {
    for (std::size_t i = 0; i < rows.size(); ++i)
      labels[i] = Label{label_[outcomes_.time_index[rows[i].rank]]} * rows[i].weight;
  }

  // Rows are in time order: the first and the last tell.
  bool pure(std::span<const SampledRow> rows, const Label*) const {
    return outcomes_.time_index[rows.front().rank] == outcomes_.time_index[rows.back().rank];
  }

  static Gain gain(const Stat& total) { return Gain(total); }
  static double order(const Stat& category) { return mean_label(category); }

 private:
  // Times mapped linearly onto [-2^30, 2^30]. Halves, so that the range of any two doubles is
  // finite.
  static std::vector<std::int32_t> scaled_times(std::span<const double> times) {
    const double middle = times.front() / 2 + times.back() / 2;
    const double half_range = times.back() / 2 - times.front() / 2;
    std::vector<std::int32_t> scaled(times.size(), 0);
    if (half_range > 0)
      for (std::size_t k = 0; k < times.size(); ++k)
        scaled[k] =
            static_cast<std::int32_t>(std::lround((times[k] - middle) / half_range * 0x1p30));
    return scaled;
  }

  Outcomes outcomes_;
  std::vector<std::int32_t> label_;  // by time index
};

}  // namespace cqrf
