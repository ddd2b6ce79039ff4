// The whole conditional law of T: a row's response is the vector of its survival indicators, and a
// split is scored by the reduction of the squared error of all columns together.
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

  // Twelve 32-bit words: the sums of u_k as integers, then weight and number of distinct rows.
  class Stat {
   public:
    std::int32_t sum(std::size_t k) const { return words_[k / 4][k % 4]; }
    std::uint32_t weight() const { return static_cast<std::uint32_t>(words_[2][2]); }
    std::uint32_t count() const { return static_cast<std::uint32_t>(words_[2][3]); }

    Stat& operator+=(const Stat& other) {
      for (std::size_t i = 0; i < words_.size(); ++i) words_[i] += other.words_[i];
      return *this;
    }
    Stat& operator-=(const Stat& other) {
      for (std::size_t i = 0; i < words_.size(); ++i) words_[i] -= other.words_[i];
      return *this;
    }

   private:
    friend class DistributionRule;
    using Words = std::int32_t __attribute__((vector_size(16)));
    std::array<Words, 3> words_{};
  };
  static constexpr bool kPerNode = false;

  explicit DistributionRule(const Outcomes& outcomes) : outcomes_(outcomes) {
    const SurvivalIndicators indicators(outcomes);
    const double largest = std::ranges::max(indicators.scale());
    // As many bits as the sums over all rows of a tree leave free.
    const auto bits = static_cast<int>(std::bit_width(outcomes.total_weight));
    const double one = std::exp2(std::clamp(31 - bits, 1, 16));
    make_labels(indicators, largest > 0 ? (one - 1) / largest : 0);
  }

  void relabel(std::span<const SampledRow> rows, Stat* labels) {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      labels[i] = labels_[label_of_[rows[i].rank]];
      for (auto& words : labels[i].words_) words *= static_cast<std::int32_t>(rows[i].weight);
      labels[i].words_[2][3] = 1;
    }
  }

  // Rows of different times may share a label, but their curves can still be told apart. Rows are
  // in time order, events first: the first and the last tell.
  bool pure(std::span<const SampledRow> rows, const Stat*) const {
    const Rank first = rows.front().rank;
    const Rank last = rows.back().rank;
    return outcomes_.time_index[first] == outcomes_.time_index[last] &&
           outcomes_.event[first] == outcomes_.event[last];
  }

  class Gain {
   public:
    explicit Gain(const Stat& total) : weight_(total.weight()) {
      for (std::size_t k = 0; k < kThresholds; ++k) mean_[k] = total.sum(k) / weight_;
    }

    double operator()(const Stat& left) const {
      const double w_left = left.weight();
      double squares = 0;
      for (std::size_t k = 0; k < kThresholds; ++k) {
        const double deviation = left.sum(k) - w_left * mean_[k];
        squares += deviation * deviation;
      }
      return squares / (w_left * (weight_ - w_left));
    }

   private:
    double weight_;
    std::array<double, kThresholds> mean_;
  };

  // The mean of all columns: how long the rows of a category survive.
  static double order(const Stat& category) {
    double sum = 0;
    for (std::size_t k = 0; k < kThresholds; ++k) sum += category.sum(k);
    return sum / category.weight();
  }

 private:
  // Rows of one time and kind share a label; so do all events between two thresholds.
  void make_labels(const SurvivalIndicators& indicators, double scale) {
    constexpr std::uint32_t kUnmade = static_cast<std::uint32_t>(-1);
    label_of_.resize(outcomes_.event.size());
    std::array<std::uint32_t, kThresholds + 1> of_events;
    of_events.fill(kUnmade);
    TimeIndex last_time = 0;
    std::uint32_t of_censored = kUnmade;
    for (std::size_t rank = 0; rank < label_of_.size(); ++rank) {
      const TimeIndex time = outcomes_.time_index[rank];
      if (time != last_time) of_censored = kUnmade;
      last_time = time;
      std::uint32_t& label =
          outcomes_.event[rank] ? of_events[indicators.passed(time)] : of_censored;
      if (label == kUnmade) {
        label = static_cast<std::uint32_t>(labels_.size());
        labels_.push_back(make_label(indicators.of(static_cast<Rank>(rank)), scale));
      }
      label_of_[rank] = label;
    }
  }

  static Stat make_label(const SurvivalIndicators::Columns& columns, double scale) {
    Stat label;
    for (std::size_t k = 0; k < kThresholds; ++k)
      label.words_[k / 4][k % 4] = static_cast<std::int32_t>(std::lround(columns[k] * scale));
    label.words_[2][2] = 1;
    return label;
  }

  Outcomes outcomes_;
  std::vector<Stat> labels_;             // distinct ones, of weight one
  std::vector<std::uint32_t> label_of_;  // by rank
};

}  // namespace cqrf
