// grf's quantile rule: rows are relabelled by the interval between the node's own quantiles that
// holds their time, and a split is scored by the multiclass impurity of these classes. Splits are
// thus sensitive to any change of the distribution, not only of its mean.
#pragma once

#include <array>

#include "rule.hpp"

namespace cqrf {

class QuantileRule {
 public:
  static constexpr std::array<double, 3> kLevels{0.1, 0.5, 0.9};
  static constexpr std::size_t kClasses = kLevels.size() + 1;

  struct Stat {
    std::array<std::uint32_t, kClasses> in_class{};
    std::uint32_t weight = 0;
    std::uint32_t count = 0;

    Stat& operator+=(const Stat& other) {
      for (std::size_t c = 0; c < kClasses; ++c) in_class[c] += other.in_class[c];
      weight += other.weight;
      count += other.count;
      return *this;
    }
    Stat& operator-=(const Stat& other) {
      for (std::size_t c = 0; c < kClasses; ++c) in_class[c] -= other.in_class[c];
      weight -= other.weight;
      count -= other.count;
      return *this;
    }
  };

  explicit QuantileRule(const Outcomes& outcomes) : outcomes_(outcomes) {}

  bool relabel(std::span<const SampledRow> rows, Stat* labels) {
    std::uint64_t total = 0;
    for (const SampledRow& row : rows) total += row.weight;
    // A class ends at the last row of the time at which the weight so far reaches its level.
    std::size_t label = 0;
    std::uint64_t reached = 0;
    for (std::size_t begin = 0; begin < rows.size();) {
      const TimeIndex time = outcomes_.time_index[rows[begin].rank];
      for (; begin < rows.size() && outcomes_.time_index[rows[begin].rank] == time; ++begin) {
        labels[begin] = {};
        labels[begin].in_class[label] = rows[begin].weight;
        labels[begin].weight = rows[begin].weight;
        labels[begin].count = 1;
        reached += rows[begin].weight;
      }
      while (label + 1 < kClasses &&
             static_cast<double>(reached) >= kLevels[label] * static_cast<double>(total))
        ++label;
    }
    return labels[0].in_class != labels[rows.size() - 1].in_class &&
           outcomes_.time_index[rows.front().rank] != outcomes_.time_index[rows.back().rank];
  }

  // sum_c n_Lc^2 / n_L + n_Rc^2 / n_R: the impurity reduction up to a constant.
  static double gain(const Stat& left, const Stat& total) {
    double left_squares = 0;
    double right_squares = 0;
    for (std::size_t c = 0; c < kClasses; ++c) {
      const double l = left.in_class[c];
      const double r = total.in_class[c] - left.in_class[c];
      left_squares += l * l;
      right_squares += r * r;
    }
    return left_squares / left.weight + right_squares / (total.weight - left.weight);
  }

  // The mean class, the natural order of intervals of time.
  static double order(const Stat& category) {
    double sum = 0;
    for (std::size_t c = 0; c < kClasses; ++c) sum += static_cast<double>(c) * category.in_class[c];
    return sum / category.weight;
  }

 private:
  Outcomes outcomes_;
};

}  // namespace cqrf
