// The whole conditional law of T: a row's response is the vector
//
//   u_k = P(T > t_k | its data) = 1                for t_k < Y,
//                                 0                for t_k >= Y, an event,
//                                 S(t_k) / S(Y)    for t_k >= Y, a censored row,
//
// at K = 10 thresholds t_k, the marginal Kaplan-Meier quantiles of T, with S the marginal
// Kaplan-Meier curve. A split is scored by the reduction of the squared error of all columns, each
// divided by its marginal variance p_k (1 - p_k).
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "rule.hpp"

namespace cqrf {

class DistributionRule {
 public:
  static constexpr std::size_t kThresholds = 10;

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
    const auto threshold = choose_thresholds();
    std::array<double, kThresholds> scale{};
    for (std::size_t k = 0; k < kThresholds; ++k) {
      const double p = outcomes.survival[threshold[k]];
      scale[k] = p > 0 && p < 1 ? 1 / std::sqrt(p * (1 - p)) : 0;
    }
    const double largest = *std::max_element(scale.begin(), scale.end());
    // As many bits as the sums over all rows of a tree leave free.
    const auto bits = static_cast<int>(std::bit_width(outcomes.total_weight));
    const double one = std::exp2(std::clamp(31 - bits, 1, 16));
    for (double& s : scale) s = largest > 0 ? s / largest * (one - 1) : 0;
    make_labels(threshold, scale);
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
  using Thresholds = std::array<TimeIndex, kThresholds>;

  // The marginal quantiles of T at levels k / (K + 1); the last time where S does not fall so far.
  Thresholds choose_thresholds() const {
    Thresholds threshold;
    for (std::size_t k = 0; k < kThresholds; ++k) {
      const double level = 1 - static_cast<double>(k + 1) / (kThresholds + 1);
      const auto at = std::partition_point(outcomes_.survival.begin(), outcomes_.survival.end(),
                                           [&](double s) { return s > level; });
      const auto last = static_cast<std::ptrdiff_t>(outcomes_.survival.size()) - 1;
      threshold[k] = static_cast<TimeIndex>(std::min(at - outcomes_.survival.begin(), last));
    }
    return threshold;
  }

  // Rows of one time and kind share a label; so do all events between two thresholds.
  void make_labels(const Thresholds& threshold, const std::array<double, kThresholds>& scale) {
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
      const auto passed = static_cast<std::size_t>(
          std::lower_bound(threshold.begin(), threshold.end(), time) - threshold.begin());
      std::uint32_t& label = outcomes_.event[rank] ? of_events[passed] : of_censored;
      if (label == kUnmade) {
        label = static_cast<std::uint32_t>(labels_.size());
        labels_.push_back(make_label(time, passed, outcomes_.event[rank] != 0, threshold, scale));
      }
      label_of_[rank] = label;
    }
  }

  // Survives the first `passed` thresholds for certain.
  Stat make_label(TimeIndex time, std::size_t passed, bool event, const Thresholds& threshold,
                  const std::array<double, kThresholds>& scale) const {
    Stat label;
    const double reached = outcomes_.survival[time];
    for (std::size_t k = 0; k < kThresholds; ++k) {
      double u = 1;
      if (k >= passed) u = event || reached <= 0 ? 0 : outcomes_.survival[threshold[k]] / reached;
      label.words_[k / 4][k % 4] = static_cast<std::int32_t>(std::lround(u * scale[k]));
    }
    label.words_[2][2] = 1;
    return label;
  }

  Outcomes outcomes_;
  std::vector<Stat> labels_;             // distinct ones, of weight one
  std::vector<std::uint32_t> label_of_;  // by rank
};

}  // namespace cqrf
