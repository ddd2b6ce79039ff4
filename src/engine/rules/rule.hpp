// What a splitting rule is.
//
// A rule turns the rows of a node into *labels* (it relabels them) and scores a split by the sums
// of the labels on its two sides. Labels and their sums have one type, `Stat`, and hold integers
// only: sums are exact, so that a split does not depend on the order of rows or of threads.
//
//   struct Rule {
//     using Stat = ...;                        // +=, -=, members `weight` and `count`
//     explicit Rule(const Outcomes&);
//     // Fills labels[i] for rows[i]; rows are in time order. False: all alike, nothing to gain.
//     bool relabel(std::span<const SampledRow> rows, Stat* labels);
//     // Larger is better; comparable between the splits of one node.
//     static double gain(const Stat& left, const Stat& total);
//     // Orders the categories of a categorical feature before the cut is searched.
//     static double order(const Stat& category);
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
};

// The sum of integer labels. |label| <= 2^30 and the weights of a tree add up to less than 2^31,
// so `sum` cannot overflow.
struct ScalarStat {
  std::int64_t sum = 0;
  std::uint32_t weight = 0;
  std::uint32_t count = 0;  // distinct rows

  ScalarStat& operator+=(const ScalarStat& other) {
    sum += other.sum;
    weight += other.weight;
    count += other.count;
    return *this;
  }
  ScalarStat& operator-=(const ScalarStat& other) {
    sum -= other.sum;
    weight -= other.weight;
    count -= other.count;
    return *this;
  }
};

// The reduction of the weighted sum of squares, up to a factor that is the same for every split
// of the node: W * (S_L - w_L * mean)^2 / (w_L * w_R). The deviation from the node's mean loses
// fewer digits than a difference of two squares.
inline double squared_error_gain(const ScalarStat& left, const ScalarStat& total) {
  const double w_left = left.weight;
  const double w_right = total.weight - left.weight;
  const double mean = static_cast<double>(total.sum) / total.weight;
  const double deviation = static_cast<double>(left.sum) - w_left * mean;
  return deviation * deviation / (w_left * w_right);
}

inline double mean_label(const ScalarStat& stat) {
  return static_cast<double>(stat.sum) / stat.weight;
}

}  // namespace cqrf
