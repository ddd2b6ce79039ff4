// What a splitting rule is.
//
// A rule turns the rows of a node into *labels* (it relabels them) and scores a split by the sums
// of the labels on its two sides. Sums have the type `Stat`; labels have it too, or a smaller one
// that can be added to it. Both hold integers only: sums are exact, so that a split does not depend
// on the order of rows or of threads.
//
//   struct Rule {
//     using Stat = ...;                        // +=, -=, weight(), count()
//     using Label = ...;                       // what a row carries; usually Stat
//     static void add(Stat& sum, const Label& label, const SampledRow& row);
//     static constexpr bool kPerNode = ...;    // labels depend on the node, not on the row alone
//     explicit Rule(const Outcomes&);
//     // Fills labels[i] for rows[i]; rows are in time order.
//     void relabel(std::span<const SampledRow> rows, Label* labels);
//     // True when all labels of a node are alike: there is nothing to gain.
//     bool pure(std::span<const SampledRow> rows, const Label* labels) const;
//     // Scores the splits of a node by the sum on the left. Larger is better.
//     struct Gain { double operator()(const Stat& left) const; };
//     Gain gain(const Stat& total) const;
//     // Orders the categories of a categorical feature before the cut is searched.
//     double order(const Stat& category) const;
//   };
//
// A new rule is a file like mse.hpp and a line in tree/grower.cpp.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "../index.hpp"

namespace cqrf {

// A row in the bag of a tree: its integer weight counts draws and sample weight.
struct SampledRow {
  Rank rank;
  std::uint32_t weight;
};

// What the rules may look at, in time order.
struct Outcomes {
  std::span<const double> times;          // (K,) distinct times, ascending
  std::span<const TimeIndex> time_index;  // (n,) nondecreasing
  std::span<const std::uint8_t> event;    // (n,) 1 = event, 0 = censored
  std::span<const double> survival = {};  // (K,) marginal Kaplan-Meier curve of T at the times
  std::uint64_t total_weight = 0;         // no tree has more
};

// For rules whose labels are sums of one row, its weight included.
template <class Sum>
struct LabelsAreSums {
  using Stat = Sum;
  using Label = Sum;
  static void add(Stat& sum, const Label& label, const SampledRow&) { sum += label; }
};

// The sum of integer labels. |label| <= 2^30 and the weights of a tree add up to less than 2^31,
// so that it cannot overflow. Weight and number of distinct rows share a word, and the two words
// share a register: a row costs a histogram one addition.
class ScalarStat {
 public:
  static ScalarStat of(std::int64_t label, std::uint32_t weight) {
    return of_product(label * weight, {0, weight});
  }
  // product: the label times the weight of the row, whose rank gives way to the count.
  static ScalarStat of_product(std::int64_t product, const SampledRow& row) {
    ScalarStat stat;
    const std::uint64_t both = std::uint64_t{row.weight} << 32 | row.rank;
    stat.words_ = Words{product, static_cast<std::int64_t>(both)};
    stat.words_ &= Words{-1, -(std::int64_t{1} << 32)};
    stat.words_ |= Words{0, 1};
    return stat;
  }
  std::int64_t sum() const { return words_[0]; }
  std::uint32_t weight() const {
    return static_cast<std::uint32_t>(static_cast<std::uint64_t>(words_[1]) >> 32);
  }
  std::uint32_t count() const { return static_cast<std::uint32_t>(words_[1]); }

  ScalarStat& operator+=(const ScalarStat& other) {
    words_ += other.words_;
    return *this;
  }
  ScalarStat& operator-=(const ScalarStat& other) {
    words_ -= other.words_;
    return *this;
  }

 private:
  // A vector of the compiler's (GCC and Clang), not of one processor's.
  using Words = std::int64_t __attribute__((vector_size(16)));
  Words words_{};
};

// The reduction of the weighted sum of squares, up to a factor that is the same for every split
// of the node: (S_L - w_L * mean)^2 / (w_L * w_R). The deviation from the node's mean loses fewer
// digits than a difference of two squares.
struct SquaredErrorGain {
  explicit SquaredErrorGain(const ScalarStat& total)
      : weight(total.weight()), mean(static_cast<double>(total.sum()) / weight) {}

  double operator()(const ScalarStat& left) const {
    const double w_left = left.weight();
    const double deviation = static_cast<double>(left.sum()) - w_left * mean;
    return deviation * deviation / (w_left * (weight - w_left));
  }

  double weight;
  double mean;
};

inline double mean_label(const ScalarStat& stat) {
  return static_cast<double>(stat.sum()) / stat.weight();
}

}  // namespace cqrf
