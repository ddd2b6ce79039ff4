// Random cuts (extremely randomised trees): `n_thresholds` cuts of each feature, uniform among the
// admissible ones. A rejected draw is redrawn, and a node ends only where no admissible cut exists.
#pragma once

#include <algorithm>
#include <bit>
#include <vector>

#include "../random.hpp"
#include "bin_counts.hpp"
#include "lane_rows.hpp"
#include "node.hpp"
#include "score_cuts.hpp"
#include "score_sets.hpp"

namespace cqrf {

template <class Rule>
class RandomSearch {
 public:
  using Stat = typename Rule::Stat;
  using Node = NodeView<Rule>;

  explicit RandomSearch(int n_thresholds) : n_thresholds_(n_thresholds) {}

  void examine(const Node& node, std::span<const std::uint32_t> features, Random& random,
               Split<Rule>& best) {
    scorer_.start(node, features.size() * static_cast<std::size_t>(n_thresholds_));
    if (node.carried.first == nullptr) {
      for (std::size_t begin = 0; begin < features.size(); begin += kLanes)
        examine_lanes(
            node, stage(node, features.subspan(begin, std::min(kLanes, features.size() - begin))),
            random, best);
      return;
    }
    for (std::size_t block = 0; block < node.carried.stride; ++block)
      if (const Group group = carried(node, features, block); group.size > 0)
        examine_lanes(node, group, random, best);
  }

 private:
  // Orders of the categories that are tried before admissible subsets are searched for.
  static constexpr int kOrders = 16;

  // The cuts of a feature that may still be admissible: [low, high).
  struct Range {
    Bin low;
    Bin high;
  };

  using Group = LaneGroup;

  // One feature of a group.
  struct Column {
    std::uint32_t feature;
    std::size_t lane;
    Bin high;  // the highest bin of the rows of the node
  };

  // The features of a block of lanes, which the node has at hand.
  static Group carried(const Node& node, std::span<const std::uint32_t> features,
                       std::size_t block) {
    Group group;
    group.rows = {node.carried.first + block, node.carried.stride};
    for (const std::uint32_t feature : features)
      if (feature / kLanes == block) group.add(feature, feature % kLanes);
    return group;
  }

  // The rows of a node lie scattered in memory: their bins are fetched once and put side by side,
  // where every cut finds them again.
  Group stage(const Node& node, std::span<const std::uint32_t> features) {
    Group group;
    std::array<const Bin*, kLanes> first{};
    // The features of a panel are read with one load.
    bool panel = node.features.panels.width == kLanes && features[0] % kLanes == 0;
    for (std::size_t j = 0; j < features.size(); ++j) {
      panel = panel && features[j] == features[0] + j;
      first[j] = node.features.column(features[j]).first;
      group.add(features[j], j);
    }
    const BinColumn column = node.features.column(features[0]);
    if (panel)
      stage(node, column, [&](Rank rank) { return load_lanes(column.at(rank)); });
    else
      stage(node, column, [&](Rank rank) {
        Lanes lanes;
        const std::size_t at = rank * column.step;
        for (std::size_t j = 0; j < features.size(); ++j) lanes.bin[j] = first[j][at];
        return lanes;
      });
    group.rows = {staged_.data(), 1};
    return group;
  }

  template <class Load>
  void stage(const Node& node, const BinColumn& column, Load load) {
    const std::size_t n = node.rows.size();
    if (staged_.size() < n) staged_.resize(n);
    // Copies, which no store of a byte can change.
    Lanes* const staged = staged_.data();
    const SampledRow* const rows = node.rows.data();
    for (std::size_t i = 0; i < n; ++i) {
      if (i + kPrefetchAhead < n) __builtin_prefetch(column.at(rows[i + kPrefetchAhead].rank));
      staged[i] = load(rows[i].rank);
    }
  }

  // Up to sixteen features side by side.
  void examine_lanes(const Node& node, const Group& group, Random& random, Split<Rule>& best) {
    const LaneExtremes found = lane_extremes(isa_, group.rows, node.rows.size());
    std::array<Range, kLanes> range{};
    std::uint32_t counted = 0;  // features, and their lanes
    std::uint32_t lanes = 0;
    for (std::size_t j = 0; j < group.size; ++j) {
      const std::uint32_t feature = group.feature[j];
      const Range seen{found.lowest.bin[group.lane[j]], found.highest.bin[group.lane[j]]};
      if (node.features.categorical[feature] || seen.high == node.features.missing[feature]) {
        counted |= 1u << j;
        lanes |= 1u << group.lane[j];
      } else {
        range[j] = seen;
      }
    }
    if (counted != 0) count_.start(group.rows, node.rows.size(), found.highest, lanes);
    for (std::uint32_t bits = counted; bits != 0; bits &= bits - 1) {
      const auto j = static_cast<std::size_t>(std::countr_zero(bits));
      draw_counted(node, {group.feature[j], group.lane[j], found.highest.bin[group.lane[j]]},
                   random);
    }
    sets_.examine(node, group.rows, scorer_, best);
    for (int draw = 0; draw < n_thresholds_; ++draw)
      if (const LaneCuts cuts = draw_cuts(node, group, range, random); cuts.drawn != 0)
        scorer_.examine(node, group, cuts, best);
  }

  // One admissible cut of each feature that has any; those that leave too few rows on a side narrow
  // the range and are drawn again.
  LaneCuts draw_cuts(const Node& node, const Group& group, std::array<Range, kLanes> range,
                     Random& random) const {
    LaneCuts cuts;
    std::uint32_t waiting = (1u << group.size) - 1;
    while (true) {
      std::uint32_t drawn = 0;
      for (std::uint32_t bits = waiting; bits != 0; bits &= bits - 1) {
        const auto j = static_cast<std::size_t>(std::countr_zero(bits));
        if (range[j].low >= range[j].high) continue;
        cuts.at.bin[group.lane[j]] =
            static_cast<Bin>(range[j].low + random.below(range[j].high - range[j].low));
        drawn |= 1u << j;
      }
      if (drawn == 0) return cuts;
      cuts.drawn |= drawn;
      // Between the lowest and the highest bin there is a row on either side.
      if (node.min_leaf == 1) return cuts;
      lane_counts(isa_, group.rows, node.rows.size(), cuts.at, cuts.count);
      waiting = 0;
      for (std::uint32_t bits = drawn; bits != 0; bits &= bits - 1) {
        const auto j = static_cast<std::size_t>(std::countr_zero(bits));
        const std::size_t lane = group.lane[j];
        if (!narrow(node, cuts.at.bin[lane], cuts.count[lane], range[j])) waiting |= 1u << j;
      }
      if (waiting == 0) return cuts;
      cuts.drawn &= ~waiting;
    }
  }

  // Whether a cut leaves enough rows on both sides; if not, no cut beyond it does.
  static bool narrow(const Node& node, Bin cut, std::uint32_t left_count, Range& range) {
    if (left_count < node.min_leaf)
      range.low = static_cast<Bin>(cut + 1);
    else if (node.total.count() - left_count < node.min_leaf)
      range.high = cut;
    else
      return true;
    return false;
  }

  // Where admissible cuts are not a range: missing values, categories.
  void draw_counted(const Node& node, const Column& column, Random& random) {
    count_.count(column.lane, node.features.missing[column.feature]);
    for (int draw = 0; draw < n_thresholds_; ++draw) {
      if (node.features.categorical[column.feature])
        draw_subset(node, column, random);
      else
        draw_cut(node, column, random);
    }
  }

  void draw_cut(const Node& node, const Column& column, Random& random) {
    const Bin missing_bin = node.features.missing[column.feature];
    const std::uint32_t n_missing = count_[missing_bin];
    choices_.clear();
    std::uint32_t below = 0;
    for (int bin = 0; bin < missing_bin; ++bin) {
      below += count_[static_cast<std::size_t>(bin)];
      if (node.admissible(below) || node.admissible(below + n_missing))
        choices_.push_back(static_cast<Bin>(bin));
    }
    if (choices_.empty()) return;
    const Bin cut = choices_[random.below(static_cast<std::uint32_t>(choices_.size()))];
    SetCut chosen{column.feature, column.lane, column.high, false, cut, {}, 0, false};
    for (int bin = 0; bin <= cut; ++bin) take(chosen, static_cast<Bin>(bin));
    add(node, chosen);
    take(chosen, missing_bin);
    chosen.missing_left = true;
    add(node, chosen);
  }

  void take(SetCut& cut, Bin bin) const {
    insert(cut.left, bin);
    cut.count += count_[bin];
  }

  void add(const Node& node, const SetCut& cut) {
    if (node.admissible(cut.count)) sets_.add(cut);
  }

  // A random order of the categories present (missing among them), cut at a random place.
  void draw_subset(const Node& node, const Column& column, Random& random) {
    const Bin missing_bin = node.features.missing[column.feature];
    categories_.clear();
    for (int bin = 0; bin <= missing_bin; ++bin)
      if (count_[static_cast<std::size_t>(bin)] > 0) categories_.push_back(static_cast<Bin>(bin));
    SetCut chosen{column.feature, column.lane, column.high, true, 0, {}, 0, {}};
    if (!draw_order(node, random, chosen) && !find_subset(node, chosen)) return;
    if (count_[missing_bin] > 0) chosen.missing_left = contains(chosen.left, missing_bin);
    add(node, chosen);
  }

  bool draw_order(const Node& node, Random& random, SetCut& chosen) {
    for (int order = 0; order < kOrders; ++order) {
      for (std::size_t i = categories_.size(); i > 1; --i)
        std::swap(categories_[i - 1], categories_[random.below(static_cast<std::uint32_t>(i))]);
      choices_.clear();
      std::uint32_t below = 0;
      for (std::size_t i = 0; i + 1 < categories_.size(); ++i) {
        below += count_[categories_[i]];
        if (node.admissible(below)) choices_.push_back(static_cast<Bin>(i));
      }
      if (choices_.empty()) continue;
      const Bin last = choices_[random.below(static_cast<std::uint32_t>(choices_.size()))];
      for (std::size_t i = 0; i <= last; ++i) take(chosen, categories_[i]);
      return true;
    }
    return false;
  }

  // Large leaves and few categories: almost no subset may be admissible, but if there is one it is
  // found, by the sizes that subsets can have.
  bool find_subset(const Node& node, SetCut& chosen) const {
    constexpr int kUnreached = -1;
    constexpr int kEmpty = -2;
    std::vector<int> last_added(node.rows.size() + 1, kUnreached);
    last_added[0] = kEmpty;
    for (const Bin category : categories_)
      for (std::size_t size = node.rows.size() - count_[category] + 1; size-- > 0;)
        if (last_added[size] != kUnreached && last_added[size + count_[category]] == kUnreached)
          last_added[size + count_[category]] = category;
    for (std::size_t size = node.min_leaf; size + node.min_leaf <= node.rows.size(); ++size) {
      if (last_added[size] == kUnreached) continue;
      for (std::size_t rest = size; rest > 0;) {
        const auto category = static_cast<Bin>(last_added[rest]);
        take(chosen, category);
        rest -= count_[category];
      }
      return true;
    }
    return false;
  }

  int n_thresholds_;
  Isa isa_ = isa();
  std::vector<Lanes> staged_;  // the bins of the features at hand, row after row of the node
  CutScorer<Rule> scorer_;
  SetScorer<Rule> sets_;  // of the features at hand whose cuts are no range
  BinCounts count_;
  std::vector<Bin> choices_;
  std::vector<Bin> categories_;
};

}  // namespace cqrf
