// Random cuts (extremely randomised trees): `n_thresholds` cuts of each feature, uniform among the
// admissible ones. A rejected draw is redrawn, and a node ends only where no admissible cut exists.
#pragma once

#include <algorithm>
#include <bit>
#include <vector>

#include "../random.hpp"
#include "node.hpp"
#include "subsets.hpp"

namespace cqrf {

template <class Rule>
class RandomSearch {
 public:
  using Stat = typename Rule::Stat;
  using Node = NodeView<Rule>;

  RandomSearch(const BinnedFeatures& features, std::size_t n_rows, int n_thresholds)
      : rows_(features, n_rows), n_thresholds_(n_thresholds) {}

  void examine(const Node& node, std::span<const std::uint32_t> features, Random& random,
               Split<Rule>& best) {
    few_rows_ = node.rows.size() <= RowSubsets<Rule>::kMostRows;
    if (few_rows_) subsets_.start(node, features.size() * static_cast<std::size_t>(n_thresholds_));
    for (std::size_t begin = 0; begin < features.size(); begin += kLanes)
      examine_lanes(node, features.subspan(begin, std::min(kLanes, features.size() - begin)),
                    random, best);
  }

 private:
  // Orders of the categories that are tried before admissible subsets are searched for.
  static constexpr int kOrders = 16;
  // Rows are summed by which of four cuts they pass: one addition serves four features.
  static constexpr std::size_t kCuts = 4;
  static constexpr std::size_t kPatterns = 1 << kCuts;

  // The cuts of a feature that may still be admissible: [low, high).
  struct Range {
    Bin low;
    Bin high;
  };

  // Up to sixteen features side by side.
  void examine_lanes(const Node& node, std::span<const std::uint32_t> features, Random& random,
                     Split<Rule>& best) {
    // Neighbouring features are read with one load.
    bool adjacent = true;
    for (std::size_t j = 1; j < features.size(); ++j)
      adjacent = adjacent && features[j] == features[0] + j;
    const Extremes found =
        adjacent ? stage(node, features[0],
                         [&](Rank rank) { return load_lanes(rows_.row(rank) + features.front()); })
                 : stage(node, features[0], [&](Rank rank) {
                     Lanes lanes;
                     const Bin* row = node.features.row(rank);
                     for (std::size_t j = 0; j < features.size(); ++j)
                       lanes.bin[j] = row[features[j]];
                     return lanes;
                   });
    std::array<Range, kLanes> range{};
    for (std::size_t j = 0; j < features.size(); ++j) {
      const bool counted = node.features.categorical[features[j]] ||
                           found.highest.bin[j] == node.features.missing[features[j]];
      if (!counted)
        range[j] = {found.lowest.bin[j], found.highest.bin[j]};
      else
        examine_counted(node, features[j], random, best);
    }
    for (int draw = 0; draw < n_thresholds_; ++draw) draw_cuts(node, features, range, random, best);
  }

  struct Extremes {
    Lanes lowest;
    Lanes highest;
  };

  // The rows of a node lie scattered in memory: their bins are fetched once and put side by side,
  // where every cut finds them again.
  template <class Load>
  Extremes stage(const Node& node, std::uint32_t feature, Load load) {
    const std::size_t n = node.rows.size();
    if (staged_.size() < n) staged_.resize(n);
    // Copies, which no store of a byte can change.
    Lanes* const staged = staged_.data();
    const SampledRow* const rows = node.rows.data();
    const Lanes first = load(rows[0].rank);
    Lanes lowest = first;
    Lanes highest = first;
    for (std::size_t i = 0; i < n; ++i) {
      if (i + kPrefetchAhead < n)
        __builtin_prefetch(node.features.row(rows[i + kPrefetchAhead].rank) + feature);
      const Lanes lanes = load(rows[i].rank);
      staged[i] = lanes;
      take_lower(lowest, lanes);
      take_higher(highest, lanes);
    }
    return {lowest, highest};
  }

  // One cut of each feature; those that leave too few rows on a side narrow the range and are
  // drawn again.
  void draw_cuts(const Node& node, std::span<const std::uint32_t> features,
                 std::array<Range, kLanes> range, Random& random, Split<Rule>& best) {
    std::uint32_t waiting = (1u << features.size()) - 1;
    while (true) {
      Lanes cuts{};
      std::uint32_t drawn = 0;
      for (std::uint32_t bits = waiting; bits != 0; bits &= bits - 1) {
        const auto j = static_cast<std::size_t>(std::countr_zero(bits));
        if (range[j].low >= range[j].high) continue;
        cuts.bin[j] = static_cast<Bin>(range[j].low + random.below(range[j].high - range[j].low));
        drawn |= 1u << j;
      }
      if (drawn == 0) return;
      if (few_rows_)
        find_left_rows(node, cuts);
      else
        sum_patterns(node, cuts, drawn);
      waiting = 0;
      for (std::uint32_t bits = drawn; bits != 0; bits &= bits - 1) {
        const auto j = static_cast<std::size_t>(std::countr_zero(bits));
        const bool admissible =
            few_rows_
                ? propose_subset(node, features[j], cuts.bin[j], left_rows_[j], range[j], best)
                : propose_sum(node, features[j], cuts.bin[j], left_sum(j), range[j], best);
        if (!admissible) waiting |= 1u << j;
      }
      if (waiting == 0) return;
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

  static bool propose_sum(const Node& node, std::uint32_t feature, Bin cut, const Stat& left,
                          Range& range, Split<Rule>& best) {
    if (!narrow(node, cut, left.count(), range)) return false;
    best.propose(node, feature, cut, left, node.majority(left));
    return true;
  }

  bool propose_subset(const Node& node, std::uint32_t feature, Bin cut, std::uint32_t left_rows,
                      Range& range, Split<Rule>& best) {
    if (!narrow(node, cut, static_cast<std::uint32_t>(std::popcount(left_rows)), range))
      return false;
    if (subsets_.score(node, left_rows) > best.score) {
      const Stat left = subsets_.sum(left_rows);
      best.propose(node, feature, cut, left, node.majority(left));
    }
    return true;
  }

  // Of every cut the rows that pass it, one bit each.
  void find_left_rows(const Node& node, const Lanes& cuts) {
    static constexpr auto kBits = [] {
      std::array<std::uint32_t, kLanes> bits{};
      for (std::size_t j = 0; j < kLanes; ++j) bits[j] = 1u << j;
      return bits;
    }();
    std::array<std::uint32_t, kLanes> left{};
    for (std::size_t i = 0; i < node.rows.size(); ++i) {
      const std::uint32_t passed = at_most(staged_[i], cuts);
      for (std::size_t j = 0; j < kLanes; ++j)
        left[j] |= (passed & kBits[j]) == kBits[j] ? 1u << i : 0u;
    }
    left_rows_ = left;
  }

  void sum_patterns(const Node& node, const Lanes& cuts, std::uint32_t drawn) {
    const std::size_t groups =
        (static_cast<std::size_t>(std::bit_width(drawn)) + kCuts - 1) / kCuts;
    switch (groups) {
      case 1:
        sum_patterns<1>(node, cuts);
        break;
      case 2:
        sum_patterns<2>(node, cuts);
        break;
      case 3:
        sum_patterns<3>(node, cuts);
        break;
      default:
        sum_patterns<4>(node, cuts);
        break;
    }
  }

  template <std::size_t Groups>
  void sum_patterns(const Node& node, const Lanes& cuts) {
    std::fill_n(patterns_.begin(), Groups * kPatterns, Stat{});
    Stat* const patterns = patterns_.data();
    const Lanes* const staged = staged_.data();
    const Lanes at = cuts;
    const std::size_t n = node.rows.size();
    for (std::size_t i = 0; i < n; ++i) {
      const std::uint32_t passed = at_most(staged[i], at);
      const Stat label = node.labels[i];
      for (std::size_t g = 0; g < Groups; ++g)
        patterns[g * kPatterns + (passed >> (g * kCuts)) % kPatterns] += label;
    }
  }

  // The sum of the rows that pass cut j.
  Stat left_sum(std::size_t j) const {
    const Stat* patterns = patterns_.data() + j / kCuts * kPatterns;
    Stat sum{};
    for (std::size_t pattern = 0; pattern < kPatterns; ++pattern)
      if ((pattern >> j % kCuts) & 1) sum += patterns[pattern];
    return sum;
  }

  // Where admissible cuts are not a range: missing values, categories.
  void examine_counted(const Node& node, std::uint32_t feature, Random& random, Split<Rule>& best) {
    count_.fill(0);
    for (const SampledRow& row : node.rows) ++count_[node.features.row(row.rank)[feature]];
    for (int draw = 0; draw < n_thresholds_; ++draw) {
      if (node.features.categorical[feature])
        examine_subset(node, feature, random, best);
      else
        examine_cut(node, feature, random, best);
    }
  }

  void examine_cut(const Node& node, std::uint32_t feature, Random& random, Split<Rule>& best) {
    const Bin missing_bin = node.features.missing[feature];
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
    Stat left{};
    Stat missing{};
    for (std::size_t i = 0; i < node.rows.size(); ++i) {
      const Bin bin = node.features.row(node.rows[i].rank)[feature];
      if (bin == missing_bin)
        missing += node.labels[i];
      else if (bin <= cut)
        left += node.labels[i];
    }
    best.propose(node, feature, cut, left, false);
    left += missing;
    best.propose(node, feature, cut, left, true);
  }

  // A random order of the categories present (missing among them), cut at a random place.
  void examine_subset(const Node& node, std::uint32_t feature, Random& random, Split<Rule>& best) {
    const Bin missing_bin = node.features.missing[feature];
    categories_.clear();
    for (int bin = 0; bin <= missing_bin; ++bin)
      if (count_[static_cast<std::size_t>(bin)] > 0) categories_.push_back(static_cast<Bin>(bin));
    BinSet set{};
    if (!draw_subset(node, random, set) && !find_subset(node, set)) return;
    Stat left{};
    for (std::size_t i = 0; i < node.rows.size(); ++i)
      if (contains(set, node.features.row(node.rows[i].rank)[feature])) left += node.labels[i];
    best.propose(node, feature, set, left,
                 count_[missing_bin] > 0 ? contains(set, missing_bin) : node.majority(left));
  }

  bool draw_subset(const Node& node, Random& random, BinSet& set) {
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
      for (std::size_t i = 0; i <= last; ++i) insert(set, categories_[i]);
      return true;
    }
    return false;
  }

  // Large leaves and few categories: almost no subset may be admissible, but if there is one it is
  // found, by the sizes that subsets can have.
  bool find_subset(const Node& node, BinSet& set) const {
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
        insert(set, category);
        rest -= count_[category];
      }
      return true;
    }
    return false;
  }

  PaddedRows rows_;
  int n_thresholds_;
  std::vector<Lanes> staged_;  // the bins of the features at hand, row after row of the node
  std::array<Stat, kLanes / kCuts * kPatterns> patterns_{};
  bool few_rows_ = false;
  RowSubsets<Rule> subsets_;
  std::array<std::uint32_t, kLanes> left_rows_{};
  std::array<std::uint32_t, kBinCells> count_{};
  std::vector<Bin> choices_;
  std::vector<Bin> categories_;
};

}  // namespace cqrf
