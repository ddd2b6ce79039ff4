// The whole conditional law of T: a row's response is the vector of its survival indicators, and a
// split is scored by the reduction of the squared error of all columns together.
//
// The thresholds part time into intervals, and the columns u_k of a row follow from two numbers:
// the interval j of its Y and, if it is censored, rho = S(t_j) / S(Y) with t_j the first threshold
// that does not come before Y,
//
//   u_k = 1                      for k < j,
//         rho S(t_k) / S(t_j)    for k >= j; of an event, rho = 0.
//
// So the sums of all columns over any rows follow from the weight N_j of the rows in each interval
// and from V_j, the sum of their rho:
//
//   sum of u_k = sum_{j > k} N_j + A_k,    A_k = A_{k-1} S(t_k) / S(t_{k-1}) + V_k.
//
// A row is two bytes, and adding it to a sum changes two numbers, not one per column.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "indicators.hpp"
#include "rule.hpp"

namespace cqrf {

class DistributionRule {
 public:
  static constexpr std::size_t kThresholds = SurvivalIndicators::kThresholds;
  static constexpr std::size_t kIntervals = kThresholds + 1;
  static constexpr bool kPerNode = false;

  // The interval of a row and its rho as an integer, of at most kMostBits bits.
  class Label {
   public:
    static constexpr int kMostBits = 12;

    Label() = default;
    Label(std::size_t interval, std::uint32_t rho)
        : word_(static_cast<std::uint16_t>(interval << kMostBits | rho)) {}
    std::size_t interval() const { return word_ >> kMostBits; }
    std::uint32_t rho() const { return word_ % (1u << kMostBits); }

   private:
    std::uint16_t word_ = 0;
  };
  static_assert(kIntervals << Label::kMostBits <= 1 << 16);

  // N_j, V_j, weight and number of distinct rows.
  class alignas(16) Stat {
   public:
    std::uint32_t in_interval(std::size_t j) const { return words_[j]; }
    std::uint32_t rho_sum(std::size_t j) const { return words_[kIntervals + j]; }
    std::uint32_t weight() const { return words_[kWords - 2]; }
    std::uint32_t count() const { return words_[kWords - 1]; }

    // A row, or rows that share what is told of them.
    void add(std::size_t interval, std::uint32_t weight, std::uint32_t rho_sum,
             std::uint32_t count) {
      words_[interval] += weight;
      words_[kIntervals + interval] += rho_sum;
      words_[kWords - 2] += weight;
      words_[kWords - 1] += count;
    }
    Stat& operator+=(const Stat& other) {
      for (std::size_t i = 0; i < kWords; ++i) words_[i] += other.words_[i];
      return *this;
    }
    Stat& operator-=(const Stat& other) {
      for (std::size_t i = 0; i < kWords; ++i) words_[i] -= other.words_[i];
      return *this;
    }
    bool operator==(const Stat&) const = default;

   private:
    static constexpr std::size_t kWords = 2 * kIntervals + 2;
    std::array<std::uint32_t, kWords> words_{};
  };

  // What turns sums into columns: u_k times `one`, before they are divided by their standard
  // deviations.
  struct Columns {
    double one = 1;                                // the integer that stands for rho = 1
    std::array<double, kThresholds> fall{};        // S(t_k) / S(t_{k-1})
    std::array<double, kThresholds> importance{};  // 1 / (p_k (1 - p_k)); 0 where p_k is 0 or 1

    // Calls take(k, sum of u_k) for every column.
    template <class Take>
    void each(const Stat& stat, Take take) const {
      std::uint32_t later = stat.weight();
      double imputed = 0;
      for (std::size_t k = 0; k < kThresholds; ++k) {
        later -= stat.in_interval(k);
        imputed = imputed * fall[k] + stat.rho_sum(k);
        take(k, later * one + imputed);
      }
    }
  };

  explicit DistributionRule(const Outcomes& outcomes) : outcomes_(outcomes) {
    const SurvivalIndicators indicators(outcomes);
    // As many bits as the sums over all rows of a tree leave free: sums stay below 2^31.
    const auto bits = static_cast<int>(std::bit_width(outcomes.total_weight));
    columns_.one = std::exp2(std::clamp(31 - bits, 1, Label::kMostBits)) - 1;
    double last = 1;
    for (std::size_t k = 0; k < kThresholds; ++k) {
      const double reached = outcomes.survival[indicators.threshold(k)];
      columns_.fall[k] = last > 0 ? reached / last : 0;
      columns_.importance[k] = indicators.scale()[k] * indicators.scale()[k];
      last = reached;
    }
    label_of_.reserve(outcomes.event.size());
    for (std::size_t rank = 0; rank < outcomes.event.size(); ++rank)
      label_of_.push_back(make_label(indicators, static_cast<Rank>(rank)));
  }

  void relabel(std::span<const SampledRow> rows, Label* labels) {
    for (std::size_t i = 0; i < rows.size(); ++i) labels[i] = label_of_[rows[i].rank];
  }

  static void add(Stat& sum, Label label, const SampledRow& row) {
    const std::uint32_t weight = row.weight;
    sum.add(label.interval(), weight, label.rho() * weight, 1);
  }

  // Rows of different times may share a label, but their curves can still be told apart. Rows are
  // in time order, events first: the first and the last tell.
  bool pure(std::span<const SampledRow> rows, const Label*) const {
    const Rank first = rows.front().rank;
    const Rank last = rows.back().rank;
    return outcomes_.time_index[first] == outcomes_.time_index[last] &&
           outcomes_.event[first] == outcomes_.event[last];
  }

  class Gain {
   public:
    Gain(const Columns& columns, const Stat& total) : columns_(columns), weight_(total.weight()) {
      columns.each(total, [&](std::size_t k, double sum) { mean_[k] = sum / weight_; });
    }

    double operator()(const Stat& left) const {
      const double w_left = left.weight();
      double squares = 0;
      columns_.each(left, [&](std::size_t k, double sum) {
        const double deviation = sum - w_left * mean_[k];
        squares += deviation * deviation * columns_.importance[k];
      });
      return squares / (w_left * (weight_ - w_left));
    }

    const Columns& columns() const { return columns_; }
    double weight() const { return weight_; }
    double mean(std::size_t k) const { return mean_[k]; }

   private:
    const Columns& columns_;
    double weight_;
    std::array<double, kThresholds> mean_;
  };
  Gain gain(const Stat& total) const { return {columns_, total}; }
  const Columns& columns() const { return columns_; }

  // The mean of all columns: how long the rows of a category survive.
  double order(const Stat& category) const {
    double sum = 0;
    columns_.each(category, [&](std::size_t k, double column) {
      sum += column * std::sqrt(columns_.importance[k]);
    });
    return sum / category.weight();
  }

 private:
  Label make_label(const SurvivalIndicators& indicators, Rank rank) const {
    const TimeIndex time = outcomes_.time_index[rank];
    const std::size_t interval = indicators.passed(time);
    const double reached = outcomes_.survival[time];
    if (outcomes_.event[rank] || reached <= 0 || interval == kThresholds) return {interval, 0};
    const double rho = outcomes_.survival[indicators.threshold(interval)] / reached;
    return {interval, static_cast<std::uint32_t>(std::lround(rho * columns_.one))};
  }

  Outcomes outcomes_;
  Columns columns_;
  std::vector<Label> label_of_;  // by rank
};

}  // namespace cqrf
