// The best cut of each feature, from a histogram of the labels over its bins.
#pragma once

#include <algorithm>
#include <bit>
#include <vector>

#include "../random.hpp"
#include "node.hpp"

namespace cqrf {

template <class Rule>
class BestSearch {
 public:
  using Stat = typename Rule::Stat;

  explicit BestSearch(int /*n_thresholds*/) : cells_(kGroup * kBinCells) {}

  // Replaces `best` when a cut of one of `features` is better.
  void examine(const NodeView<Stat>& node, std::span<const std::uint32_t> features,
               Random& /*random*/, Split& best) {
    for (std::size_t begin = 0; begin < features.size(); begin += kGroup) {
      const auto group = features.subspan(begin, std::min(kGroup, features.size() - begin));
      switch (group.size()) {
        case 4: fill<4>(node, group); break;
        case 3: fill<3>(node, group); break;
        case 2: fill<2>(node, group); break;
        default: fill<1>(node, group); break;
      }
      for (std::size_t j = 0; j < group.size(); ++j) {
        Stat* cells = cells_.data() + j * kBinCells;
        if (node.features.categorical[group[j]])
          scan_categories(node, group[j], cells, occupied_[j], best);
        else
          scan_bins(node, group[j], cells, occupied_[j], best);
        each(occupied_[j], [&](Bin bin) { cells[bin] = Stat{}; });
      }
    }
  }

 private:
  // One pass over the rows fills this many histograms; together they stay in the first cache.
  static constexpr std::size_t kGroup = 4;

  // Histograms are all zero on entry. In a small node the occupied bins are noted, so that the
  // scan costs the number of rows and not the number of bins.
  template <std::size_t Size>
  void fill(const NodeView<Stat>& node, std::span<const std::uint32_t> group) {
    std::array<std::uint32_t, Size> feature;
    std::copy_n(group.begin(), Size, feature.begin());
    const bool small = node.rows.size() < kBinCells;
    for (std::size_t j = 0; j < Size; ++j) occupied_[j] = small ? BinSet{} : bins_of(node, feature[j]);
    Stat* cells = cells_.data();
    for (std::size_t i = 0; i < node.rows.size(); ++i) {
      const Bin* row = node.features.row(node.rows[i].rank);
      const Stat label = node.labels[i];
      for (std::size_t j = 0; j < Size; ++j) cells[j * kBinCells + row[feature[j]]] += label;
      if (small)
        for (std::size_t j = 0; j < Size; ++j) insert(occupied_[j], row[feature[j]]);
    }
  }

  static BinSet bins_of(const NodeView<Stat>& node, std::uint32_t feature) {
    BinSet set{};
    for (int bin = 0; bin <= node.features.missing[feature]; ++bin)
      insert(set, static_cast<Bin>(bin));
    return set;
  }

  template <class Visit>
  static void each(const BinSet& set, Visit visit) {
    for (std::size_t word = 0; word < set.size(); ++word)
      for (std::uint64_t bits = set[word]; bits != 0; bits &= bits - 1)
        visit(static_cast<Bin>(word * 64 + static_cast<std::size_t>(std::countr_zero(bits))));
  }

  void scan_bins(const NodeView<Stat>& node, std::uint32_t feature, const Stat* cells,
                 const BinSet& occupied, Split& best) {
    const Bin missing_bin = node.features.missing[feature];
    const Stat missing = contains(occupied, missing_bin) ? cells[missing_bin] : Stat{};
    Stat left{};
    each(occupied, [&](Bin bin) {
      if (bin == missing_bin || cells[bin].count == 0) return;
      left += cells[bin];
      propose(node, feature, bin, left, false, missing.count, best);
      if (missing.count == 0) return;
      Stat with_missing = left;
      with_missing += missing;
      propose(node, feature, bin, with_missing, true, missing.count, best);
    });
  }

  static void propose(const NodeView<Stat>& node, std::uint32_t feature, Bin bin, const Stat& left,
                      bool missing_left, std::uint32_t n_missing, Split& best) {
    if (!node.admissible(left.count)) return;
    const double gain = Rule::gain(left, node.total);
    if (!(gain > best.gain)) return;
    best.gain = gain;
    best.feature = feature;
    best.categorical = false;
    best.bin = bin;
    // Where nothing is missing here, a missing value met later goes with the majority.
    best.missing_left = n_missing > 0 ? missing_left : left.count * 2 > node.total.count;
  }

  // Categories sorted by their mean label: for one response and squared error the best subset is
  // a prefix of that order. Missing counts as one more category.
  void scan_categories(const NodeView<Stat>& node, std::uint32_t feature, const Stat* cells,
                       const BinSet& occupied, Split& best) {
    categories_.clear();
    each(occupied, [&](Bin bin) {
      if (cells[bin].count > 0) categories_.push_back({Rule::order(cells[bin]), bin});
    });
    std::sort(categories_.begin(), categories_.end());
    const Bin missing_bin = node.features.missing[feature];
    const bool any_missing = contains(occupied, missing_bin) && cells[missing_bin].count > 0;
    Stat left{};
    BinSet set{};
    for (const auto& [key, bin] : categories_) {
      left += cells[bin];
      insert(set, bin);
      if (!node.admissible(left.count)) continue;
      const double gain = Rule::gain(left, node.total);
      if (!(gain > best.gain)) continue;
      best.gain = gain;
      best.feature = feature;
      best.categorical = true;
      best.left = set;
      best.missing_left =
          any_missing ? contains(set, missing_bin) : left.count * 2 > node.total.count;
    }
  }

  std::vector<Stat> cells_;
  std::array<BinSet, kGroup> occupied_{};
  std::vector<std::pair<double, Bin>> categories_;
};

}  // namespace cqrf
