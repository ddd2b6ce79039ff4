// The best cut of each feature, from a histogram of the labels over its bins.
#pragma once

#include <algorithm>
#include <bit>
#include <utility>
#include <vector>

#include "../random.hpp"
#include "node.hpp"

namespace cqrf {

template <class Rule>
class BestSearch {
 public:
  using Stat = typename Rule::Stat;
  using Node = NodeView<Rule>;

  explicit BestSearch(int) : cells_(kGroup * kBinCells) {}

  // Replaces `best` when a cut of one of `features` is better.
  void examine(const Node& node, std::span<const std::uint32_t> features, Random&,
               Split<Rule>& best) {
    for (std::size_t begin = 0; begin < features.size(); begin += kGroup) {
      const auto group = features.subspan(begin, std::min(kGroup, features.size() - begin));
      switch (group.size()) {
        case 4:
          fill<4>(node, group);
          break;
        case 3:
          fill<3>(node, group);
          break;
        case 2:
          fill<2>(node, group);
          break;
        default:
          fill<1>(node, group);
          break;
      }
      for (std::size_t j = 0; j < group.size(); ++j) {
        Stat* cells = cells_.data() + j * kBinCells;
        if (node.features.categorical[group[j]])
          scan_categories(node, group[j], cells, occupied_[j], best);
        else if (cells[node.features.missing[group[j]]].count() > 0)
          scan_with_missing(node, group[j], cells, occupied_[j], best);
        else
          scan_bins(node, group[j], cells, occupied_[j], best);
      }
    }
  }

 private:
  // One pass over the rows fills this many histograms; together they stay in the first cache.
  static constexpr std::size_t kGroup = 4;

  // In nodes of fewer rows the occupied bins are noted while they are filled, so that the scan
  // costs the number of rows and not the number of bins.
  static constexpr std::size_t kSmall = 64;

  // Histograms are all zero on entry.
  template <std::size_t Size>
  void fill(const Node& node, std::span<const std::uint32_t> group) {
    const bool small = node.rows.size() < kSmall;
    if (node.carried.first != nullptr) {
      small ? fill<Size, true, true>(node, group) : fill<Size, false, true>(node, group);
    } else {
      small ? fill<Size, true, false>(node, group) : fill<Size, false, false>(node, group);
    }
  }

  template <std::size_t Size, bool Small, bool Carried>
  void fill(const Node& node, std::span<const std::uint32_t> group) {
    // Where the bins of each feature begin: one for every row of the node, or for every rank.
    std::array<const Bin*, Size> first;
    for (std::size_t j = 0; j < Size; ++j)
      first[j] = Carried ? node.carried.first->bin.data() + group[j]
                         : node.features.column(group[j]).first;
    const std::size_t step =
        Carried ? node.carried.stride * kLanes : node.features.column(group[0]).step;
    std::array<BinSet, Size> occupied{};
    Stat* cells = cells_.data();
    const std::size_t n = node.rows.size();
    for (std::size_t i = 0; i < n; ++i) {
      if constexpr (!Carried && !Small) {
        // Wide rows have the features of a group in different cache lines.
        if (i + kPrefetchAhead < n)
          for (const Bin* const column : first)
            __builtin_prefetch(column + node.rows[i + kPrefetchAhead].rank * step);
      }
      const typename Rule::Label label = node.labels[i];
      const SampledRow sampled = node.rows[i];
      for (std::size_t j = 0; j < Size; ++j) {
        const Bin bin = first[j][(Carried ? i : sampled.rank) * step];
        Rule::add(cells[j * kBinCells + bin], label, sampled);
        if constexpr (Small) insert(occupied[j], bin);
      }
    }
    if constexpr (Small) std::copy(occupied.begin(), occupied.end(), occupied_.begin());
  }

  // Calls visit(bin) for the bins that may be occupied, in ascending order.
  template <class Visit>
  void each(const Node& node, std::uint32_t feature, const BinSet& occupied, Visit visit) const {
    if (node.rows.size() >= kSmall) {
      // A copy: the visitor may store bytes, and for all the compiler knows in this one.
      const std::size_t last = node.features.missing[feature];
      for (std::size_t bin = 0; bin <= last; ++bin) visit(static_cast<Bin>(bin));
      return;
    }
    for (std::size_t word = 0; word < occupied.size(); ++word)
      for (std::uint64_t bits = occupied[word]; bits != 0; bits &= bits - 1)
        visit(static_cast<Bin>(word * 64 + static_cast<std::size_t>(std::countr_zero(bits))));
  }

  // Every scan leaves the cells that it has read at zero.
  static Stat take(Stat& cell) { return std::exchange(cell, Stat{}); }

  // Where nothing is missing in the node, a missing value met later goes with the majority.
  void scan_bins(const Node& node, std::uint32_t feature, Stat* cells, const BinSet& occupied,
                 Split<Rule>& best) {
    // Sums, scores and the best of them in loops of their own: none waits for a choice.
    std::size_t size = 0;
    Stat left{};
    each(node, feature, occupied, [&](Bin bin) {
      left += take(cells[bin]);
      left_[size] = left;
      bin_[size] = bin;
      ++size;
    });
    // Admissible cuts are a range; an empty bin in it scores what the one before it did.
    const auto first =
        std::partition_point(left_.begin(), left_.begin() + static_cast<std::ptrdiff_t>(size),
                             [&](const Stat& sum) { return sum.count() < node.min_leaf; });
    const auto last = std::partition_point(
        first, left_.begin() + static_cast<std::ptrdiff_t>(size),
        [&](const Stat& sum) { return node.total.count() - sum.count() >= node.min_leaf; });
    const auto begin = static_cast<std::size_t>(first - left_.begin());
    const auto end = static_cast<std::size_t>(last - left_.begin());
    const auto gain = node.gain;
    double largest = -1;
    for (std::size_t i = begin; i < end; ++i) {
      score_[i] = gain(left_[i]);
      largest = std::max(largest, score_[i]);
    }
    if (!(largest > best.score)) return;
    const auto at = static_cast<std::size_t>(
        std::find(score_.begin() + static_cast<std::ptrdiff_t>(begin), score_.end(), largest) -
        score_.begin());
    std::size_t next = at + 1;
    while (left_[next].count() == left_[at].count()) ++next;
    best.propose(node, feature, middle(bin_[at], bin_[next]), left_[at], node.majority(left_[at]));
  }

  // The cut between two bins of which the node has rows, but of none between them. Any cut there
  // splits the node alike; at either end of the gap, rows met later would lean to one side.
  static Bin middle(Bin low, Bin high) { return static_cast<Bin>(low + (high - 1 - low) / 2); }

  void scan_with_missing(const Node& node, std::uint32_t feature, Stat* cells,
                         const BinSet& occupied, Split<Rule>& best) {
    const Bin missing_bin = node.features.missing[feature];
    const Stat missing = take(cells[missing_bin]);
    Stat left{};
    Bin last = 0;  // occupied bin so far
    const auto propose = [&](Bin cut) {
      best.propose(node, feature, cut, left, false);
      Stat with_missing = left;
      with_missing += missing;
      best.propose(node, feature, cut, with_missing, true);
    };
    each(node, feature, occupied, [&](Bin bin) {
      const Stat cell = take(cells[bin]);
      if (cell.count() == 0) return;
      if (left.count() > 0) propose(middle(last, bin));
      left += cell;
      last = bin;
    });
    // All values against none.
    propose(static_cast<Bin>(missing_bin - 1));
  }

  // Categories sorted by their mean label: for one response and squared error the best subset is
  // a prefix of that order. Missing counts as one more category.
  void scan_categories(const Node& node, std::uint32_t feature, Stat* cells, const BinSet& occupied,
                       Split<Rule>& best) {
    const Bin missing_bin = node.features.missing[feature];
    const bool any_missing = cells[missing_bin].count() > 0;
    categories_.clear();
    each(node, feature, occupied, [&](Bin bin) {
      if (cells[bin].count() > 0) categories_.push_back({node.rule.order(cells[bin]), bin});
    });
    std::sort(categories_.begin(), categories_.end());
    Stat left{};
    BinSet set{};
    for (const auto& [key, bin] : categories_) {
      left += take(cells[bin]);
      insert(set, bin);
      best.propose(node, feature, set, left,
                   any_missing ? contains(set, missing_bin) : node.majority(left));
    }
  }

  std::vector<Stat> cells_;
  std::array<Stat, kBinCells> left_;
  std::array<Bin, kBinCells> bin_;
  std::array<double, kBinCells> score_;
  std::array<BinSet, kGroup> occupied_{};
  std::vector<std::pair<double, Bin>> categories_;
};

}  // namespace cqrf
