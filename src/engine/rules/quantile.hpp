// grf's quantile rule: rows are relabelled by the interval between the node's own quantiles that
// holds their time, and a split is scored by the multiclass impurity of these classes. Splits are
// thus sensitive to any change of the distribution, not only of its mean.
#pragma once

#include <array>

#include "rule.hpp"

namespace cqrf {

// The weight of each class.
struct ClassStat {
  static constexpr std::size_t kClasses = 4;
  std::array<std::uint32_t, kClasses> in_class{};
  std::uint64_t packed = 0;  // weight and number of distinct rows, as in ScalarStat

  std::uint32_t weight() const { return static_cast<std::uint32_t>(packed >> 32); }
  std::uint32_t count() const { return static_cast<std::uint32_t>(packed); }

  ClassStat& operator+=(const ClassStat& other) {
    for (std::size_t c = 0; c < kClasses; ++c) in_class[c] += other.in_class[c];
    packed += other.packed;
    return *this;
  }
  ClassStat& operator-=(const ClassStat& other) {
    for (std::size_t c = 0; c < kClasses; ++c) in_class[c] -= other.in_class[c];
    packed -= other.packed;
    return *this;
  }
};

class QuantileRule : public LabelsAreSums<ClassStat> {
 public:
  static constexpr std::size_t kClasses = ClassStat::kClasses;
  static constexpr std::array<double, kClasses - 1> kLevels{0.1, 0.5, 0.9};
  static constexpr bool kPerNode = true;

  explicit QuantileRule(const Outcomes& outcomes) : outcomes_(outcomes) {}

  void relabel(std::span<const SampledRow> rows, Stat* labels) {
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
        labels[begin].packed = std::uint64_t{rows[begin].weight} << 32 | 1;
        reached += rows[begin].weight;
      }
      while (label + 1 < kClasses &&
             static_cast<double>(reached) >= kLevels[label] * static_cast<double>(total))
        ++label;
    }
  }

  // Rows are in time order: the first and the last tell.
  bool pure(std::span<const SampledRow> rows, const Stat* labels) const {
    const auto& first = labels[0].in_class;
    const auto& last = labels[rows.size() - 1].in_class;
    for (std::size_t c = 0; c < kClasses; ++c)
      if ((first[c] > 0) != (last[c] > 0)) return false;
    return true;
  }

  // sum_c n_Lc^2 / n_L + n_Rc^2 / n_R: the impurity reduction up to a constant.
  struct Gain {
    explicit Gain(const Stat& sum) : total(sum) {}

    double operator()(const Stat& left) const {
      double left_squares = 0;
      double right_squares = 0;
      for (std::size_t c = 0; c < kClasses; ++c) {
        const double l = left.in_class[c];
        const double r = total.in_class[c] - left.in_class[c];
        left_squares += l * l;
        right_squares += r * r;
      }
      const double w_left = left.weight();
      const double w_right = total.weight() - left.weight();
      return left_squares / w_left + right_squares / w_right;
    }

    Stat total;
  };

  static Gain gain(const Stat& total) { return Gain(total); }

  // The mean class, the natural order of intervals of time.
  static double order(const Stat& category) {
    double sum = 0;
    for (std::size_t c = 0; c < kClasses; ++c) sum += static_cast<double>(c) * category.in_class[c];
    return sum / category.weight();
  }

 private:
  Outcomes outcomes_;
};

}  // namespace cqrf
