// Scores one cut of each of up to sixteen features.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include "lane_rows.hpp"
#include "node.hpp"
#include "subsets.hpp"

namespace cqrf {

template <class Rule>
class CutScorer {
 public:
  using Stat = typename Rule::Stat;
  using Node = NodeView<Rule>;

  // Called once per node, of which about `n_cuts` cuts are to be scored.
  void start(const Node& node, std::size_t n_cuts) {
    few_rows_ = node.rows.size() <= RowSubsets<Rule>::kMostRows;
    if (few_rows_) subsets_.start(node, n_cuts);
  }

  // Replaces `best` when one of the cuts is better.
  void examine(const Node& node, const LaneGroup& group, const LaneCuts& cuts, Split<Rule>& best) {
    if (few_rows_)
      find_left_rows(node, group, cuts);
    else
      sum_patterns(node, group, cuts);
    for (std::uint32_t bits = cuts.drawn; bits != 0; bits &= bits - 1) {
      const auto j = static_cast<std::size_t>(std::countr_zero(bits));
      const std::size_t lane = group.lane[j];
      // Sums are added up where the score tells that they are needed.
      const double score = few_rows_ ? subsets_.score(node, left_rows_[lane]) : 0;
      if (few_rows_ && !(score > best.score)) continue;
      const Stat left = few_rows_ ? subsets_.sum(left_rows_[lane]) : left_sum(lane);
      best.propose(node, group.feature[j], cuts.at.bin[lane], left, node.majority(left));
    }
  }

 private:
  // Rows are summed by which of four cuts they pass: one addition serves four features.
  static constexpr std::size_t kCuts = 4;
  static constexpr std::size_t kPatterns = 1 << kCuts;

  // Of every lane the rows that pass its cut, one bit each.
  void find_left_rows(const Node& node, const LaneGroup& group, const LaneCuts& cuts) {
    static constexpr auto kBits = [] {
      std::array<std::uint32_t, kLanes> bits{};
      for (std::size_t j = 0; j < kLanes; ++j) bits[j] = 1u << j;
      return bits;
    }();
    std::array<std::uint32_t, kLanes> left{};
    for (std::size_t i = 0; i < node.rows.size(); ++i) {
      const std::uint32_t passed = at_most(group.rows[i], cuts.at);
      for (std::size_t j = 0; j < kLanes; ++j)
        left[j] |= (passed & kBits[j]) == kBits[j] ? 1u << i : 0u;
    }
    left_rows_ = left;
  }

  void sum_patterns(const Node& node, const LaneGroup& group, const LaneCuts& cuts) {
    std::size_t lanes = 0;
    for (std::size_t j = 0; j < group.size; ++j) lanes = std::max(lanes, group.lane[j] + 1);
    switch ((lanes + kCuts - 1) / kCuts) {
      case 1:
        sum_patterns<1>(node, group.rows, cuts.at);
        break;
      case 2:
        sum_patterns<2>(node, group.rows, cuts.at);
        break;
      case 3:
        sum_patterns<3>(node, group.rows, cuts.at);
        break;
      default:
        sum_patterns<4>(node, group.rows, cuts.at);
        break;
    }
  }

  template <std::size_t Quads>
  void sum_patterns(const Node& node, const LaneRows& rows, const Lanes& cuts) {
    std::fill_n(patterns_.begin(), Quads * kPatterns, Stat{});
    Stat* const patterns = patterns_.data();
    const LaneRows bins = rows;
    const Lanes at = cuts;
    const std::size_t n = node.rows.size();
    for (std::size_t i = 0; i < n; ++i) {
      const std::uint32_t passed = at_most(bins[i], at);
      Stat label{};
      node.add(label, i);
      for (std::size_t q = 0; q < Quads; ++q)
        patterns[q * kPatterns + (passed >> (q * kCuts)) % kPatterns] += label;
    }
  }

  // The sum of the rows that pass the cut of a lane.
  Stat left_sum(std::size_t lane) const {
    const Stat* patterns = patterns_.data() + lane / kCuts * kPatterns;
    Stat sum{};
    for (std::size_t pattern = 0; pattern < kPatterns; ++pattern)
      if ((pattern >> lane % kCuts) & 1) sum += patterns[pattern];
    return sum;
  }

  bool few_rows_ = false;
  RowSubsets<Rule> subsets_;
  std::array<std::uint32_t, kLanes> left_rows_{};
  std::array<Stat, kLanes / kCuts * kPatterns> patterns_{};
};

}  // namespace cqrf
