// Random cuts (extremely randomised trees): `n_thresholds` cuts of each feature, drawn uniformly
// among the admissible ones. Drawing among the admissible is the same as redrawing a rejected cut,
// and a node ends only where no admissible cut exists.
#pragma once

#include <algorithm>
#include <vector>

#include "../random.hpp"
#include "node.hpp"

namespace cqrf {

template <class Rule>
class RandomSearch {
 public:
  using Stat = typename Rule::Stat;

  explicit RandomSearch(int n_thresholds) : n_thresholds_(n_thresholds) {}

  void examine(const NodeView<Stat>& node, std::span<const std::uint32_t> features, Random& random,
               Split& best) {
    find_ranges(node, features);
    cuts_.clear();
    for (std::size_t j = 0; j < features.size(); ++j) {
      const std::uint32_t feature = features[j];
      const bool simple = node.min_leaf <= 1 && !node.features.categorical[feature] &&
                          highest_[j] != node.features.missing[feature];
      if (!simple) {
        examine_counted(node, feature, random, best);
      } else if (lowest_[j] < highest_[j]) {
        for (int draw = 0; draw < n_thresholds_; ++draw) {
          const auto width = static_cast<std::uint32_t>(highest_[j] - lowest_[j]);
          cuts_.push_back({feature, static_cast<Bin>(lowest_[j] + random.below(width))});
        }
      }
    }
    evaluate_cuts(node, best);
  }

 private:
  struct Cut {
    std::uint32_t feature;
    Bin bin;
  };
  // Left sums of this many cuts are kept at once; they stay in registers and the first cache.
  static constexpr std::size_t kGroup = 8;
  // Orders of the categories that are tried before a categorical feature is given up.
  static constexpr int kOrders = 16;

  // The lowest and highest bin of each feature in the node.
  void find_ranges(const NodeView<Stat>& node, std::span<const std::uint32_t> features) {
    lowest_.assign(features.size(), 255);
    highest_.assign(features.size(), 0);
    for (const SampledRow& sampled : node.rows) {
      const Bin* row = node.features.row(sampled.rank);
      for (std::size_t j = 0; j < features.size(); ++j) {
        const Bin bin = row[features[j]];
        lowest_[j] = std::min(lowest_[j], bin);
        highest_[j] = std::max(highest_[j], bin);
      }
    }
  }

  void evaluate_cuts(const NodeView<Stat>& node, Split& best) {
    for (std::size_t begin = 0; begin < cuts_.size(); begin += kGroup) {
      const std::size_t size = std::min(kGroup, cuts_.size() - begin);
      const Cut* cuts = cuts_.data() + begin;
      std::array<Stat, kGroup> left{};
      for (std::size_t i = 0; i < node.rows.size(); ++i) {
        const Bin* row = node.features.row(node.rows[i].rank);
        for (std::size_t j = 0; j < size; ++j)
          if (row[cuts[j].feature] <= cuts[j].bin) left[j] += node.labels[i];
      }
      for (std::size_t j = 0; j < size; ++j) {
        const bool majority_left = left[j].count * 2 > node.total.count;
        propose(node, cuts[j].feature, cuts[j].bin, left[j], majority_left, best);
      }
    }
  }

  static void propose(const NodeView<Stat>& node, std::uint32_t feature, Bin bin, const Stat& left,
                      bool missing_left, Split& best) {
    if (!node.admissible(left.count)) return;
    const double gain = Rule::gain(left, node.total);
    if (!(gain > best.gain)) return;
    best.gain = gain;
    best.feature = feature;
    best.categorical = false;
    best.bin = bin;
    best.missing_left = missing_left;
  }

  // Where admissibility is more than "between the extremes": larger leaves, missing values,
  // categories.
  void examine_counted(const NodeView<Stat>& node, std::uint32_t feature, Random& random,
                       Split& best) {
    count_.fill(0);
    for (const SampledRow& sampled : node.rows) ++count_[node.features.row(sampled.rank)[feature]];
    for (int draw = 0; draw < n_thresholds_; ++draw) {
      if (node.features.categorical[feature])
        examine_subset(node, feature, random, best);
      else
        examine_cut(node, feature, random, best);
    }
  }

  void examine_cut(const NodeView<Stat>& node, std::uint32_t feature, Random& random,
                   Split& best) {
    const Bin missing_bin = node.features.missing[feature];
    const std::uint32_t n_missing = count_[missing_bin];
    admissible_.clear();
    std::uint32_t left = 0;
    for (int bin = 0; bin < missing_bin; ++bin) {
      left += count_[static_cast<std::size_t>(bin)];
      if (node.admissible(left) || node.admissible(left + n_missing))
        admissible_.push_back(static_cast<Bin>(bin));
    }
    if (admissible_.empty()) return;
    const Bin cut = admissible_[random.below(static_cast<std::uint32_t>(admissible_.size()))];
    Stat left_sum{};
    Stat missing_sum{};
    for (std::size_t i = 0; i < node.rows.size(); ++i) {
      const Bin bin = node.features.row(node.rows[i].rank)[feature];
      if (bin == missing_bin)
        missing_sum += node.labels[i];
      else if (bin <= cut)
        left_sum += node.labels[i];
    }
    const bool majority_left = left_sum.count * 2 > node.total.count;
    propose(node, feature, cut, left_sum, n_missing == 0 && majority_left, best);
    if (n_missing == 0) return;
    left_sum += missing_sum;
    propose(node, feature, cut, left_sum, true, best);
  }

  // A random order of the categories present (missing among them), cut at a random place.
  void examine_subset(const NodeView<Stat>& node, std::uint32_t feature, Random& random,
                      Split& best) {
    const Bin missing_bin = node.features.missing[feature];
    categories_.clear();
    for (int bin = 0; bin <= missing_bin; ++bin)
      if (count_[static_cast<std::size_t>(bin)] > 0) categories_.push_back(static_cast<Bin>(bin));
    for (int order = 0; order < kOrders; ++order) {
      for (std::size_t i = categories_.size(); i > 1; --i)
        std::swap(categories_[i - 1], categories_[random.below(static_cast<std::uint32_t>(i))]);
      admissible_.clear();
      std::uint32_t left = 0;
      for (std::size_t i = 0; i + 1 < categories_.size(); ++i) {
        left += count_[categories_[i]];
        if (node.admissible(left)) admissible_.push_back(static_cast<Bin>(i));
      }
      if (!admissible_.empty()) break;
    }
    if (admissible_.empty()) return;
    const Bin last = admissible_[random.below(static_cast<std::uint32_t>(admissible_.size()))];
    BinSet set{};
    for (std::size_t i = 0; i <= last; ++i) insert(set, categories_[i]);
    Stat left{};
    for (std::size_t i = 0; i < node.rows.size(); ++i)
      if (contains(set, node.features.row(node.rows[i].rank)[feature])) left += node.labels[i];
    const double gain = Rule::gain(left, node.total);
    if (!(gain > best.gain)) return;
    best.gain = gain;
    best.feature = feature;
    best.categorical = true;
    best.left = set;
    best.missing_left = count_[missing_bin] > 0 ? contains(set, missing_bin)
                                                : left.count * 2 > node.total.count;
  }

  int n_thresholds_;
  std::vector<Bin> lowest_;
  std::vector<Bin> highest_;
  std::vector<Cut> cuts_;
  std::array<std::uint32_t, kBinCells> count_{};
  std::vector<Bin> admissible_;
  std::vector<Bin> categories_;
};

}  // namespace cqrf
