// Scores cuts that are no range of bins: subsets of categories, and cuts of numbers with the
// missing values on one side or the other. On which side the rows stand is written down first, a
// byte for each, zero on the left; then up to sixteen such cuts are scored in one pass over the
// rows, as cuts of numbers are.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "score_cuts.hpp"
#include "score_intervals.hpp"

namespace cqrf {

// An admissible cut of a feature.
struct SetCut {
  std::uint32_t feature;
  std::size_t lane;  // of the feature
  Bin high;          // its highest bin in the node
  bool categorical;  // if not, bins up to `bin` go left
  Bin bin;
  BinSet left;          // bins that go left, the missing one among them or not
  std::uint32_t count;  // rows that go left
  // Where values that are missing go; not known if none is in the node.
  std::optional<bool> missing_left;
};

template <class Rule>
class SetScorer {
 public:
  using Node = NodeView<Rule>;

  void add(const SetCut& cut) { cuts_.push_back(cut); }

  // Replaces `best` when one of the cuts that were added is better, and forgets them; of equal ones
  // the one that was added first is taken. `rows` are the bins of the node, which `scorer` has
  // seen.
  void examine(const Node& node, const LaneRows& rows, CutScorer<Rule>& scorer, Split<Rule>& best) {
    if (cuts_.empty()) return;
    if (sides_.size() < node.rows.size()) sides_.resize(node.rows.size());
    best_.score = best.score;
    best_cut_ = cuts_.size();
    waiting_.resize(cuts_.size());
    for (std::size_t k = 0; k < cuts_.size(); ++k) waiting_[k] = k;
    while (take_side_by_side()) {
      write_all_sides(rows, node.rows.size());
      score(node, scorer, best.score, [&](std::size_t j) { return cuts_[pass_[j]].lane; });
    }
    for (std::size_t begin = 0; begin < waiting_.size(); begin += kLanes) {
      pass_.assign(waiting_.begin() + begin,
                   waiting_.begin() + std::min(begin + kLanes, waiting_.size()));
      for (std::size_t j = 0; j < pass_.size(); ++j)
        write_sides(rows, node.rows.size(), cuts_[pass_[j]], j);
      score(node, scorer, best.score, [](std::size_t j) { return j; });
    }
    if (best_cut_ < cuts_.size()) {
      const SetCut& cut = cuts_[best_cut_];
      best = best_;
      best.feature = cut.feature;
      best.categorical = cut.categorical;
      best.bin = cut.bin;
      if (cut.categorical) best.left = cut.left;
      best.missing_left = cut.missing_left.value_or(best_.missing_left);
    }
    cuts_.clear();
  }

 private:
  static constexpr std::size_t kFewBins = 16;
  static constexpr std::size_t kWordBits = 64;

  // Moves one cut of each feature of few bins from those that wait to those of the next pass, if
  // writing all lanes of a row at once, bin after bin, is faster than one after the other.
  bool take_side_by_side() {
    std::uint32_t lanes = 0;
    std::size_t highest = 0;
    pass_.clear();
    left_.clear();
    for (const std::size_t k : waiting_) {
      const std::uint32_t lane = 1u << cuts_[k].lane;
      const bool taken = cuts_[k].high < kFewBins && (lanes & lane) == 0;
      if (taken) {
        lanes |= lane;
        highest = std::max<std::size_t>(highest, cuts_[k].high);
      }
      (taken ? pass_ : left_).push_back(k);
    }
    if (highest >= pass_.size()) return false;
    waiting_.swap(left_);
    return true;
  }

  void write_all_sides(const LaneRows& rows, std::size_t n) {
    std::array<LaneVector, kFewBins> right_of{};  // by bin: one where it does not go left
    std::size_t n_bins = 0;
    for (const std::size_t k : pass_) {
      const SetCut& cut = cuts_[k];
      n_bins = std::max<std::size_t>(n_bins, cut.high + std::size_t{1});
      for (std::size_t bin = 0; bin <= cut.high; ++bin)
        right_of[bin][cut.lane] = !contains(cut.left, static_cast<Bin>(bin));
    }
    for (std::size_t i = 0; i < n; ++i) {
      const LaneVector row = vector_of(rows[i]);
      LaneVector right{};
      for (std::size_t bin = 0; bin < n_bins; ++bin) {
        const LaneVector at = LaneVector{} + static_cast<Bin>(bin);
        right |= right_of[bin] & std::bit_cast<LaneVector>(row == at);
      }
      sides_[i] = lanes_of(right);
    }
  }

  void write_sides(const LaneRows& rows, std::size_t n, const SetCut& cut, std::size_t lane) {
    if (cut.high < kWordBits)
      write_sides(rows, n, cut.lane, lane,
                  [word = cut.left[0]](Bin bin) { return word >> bin & 1; });
    else
      write_sides(rows, n, cut.lane, lane,
                  [left = cut.left](Bin bin) { return contains(left, bin); });
  }

  template <class GoesLeft>
  void write_sides(LaneRows rows, std::size_t n, std::size_t from, std::size_t to,
                   GoesLeft goes_left) {
    // A copy, which no store of a byte can change.
    Lanes* const sides = sides_.data();
    for (std::size_t i = 0; i < n; ++i) sides[i].bin[to] = !goes_left(rows[i].bin[from]);
  }

  // Scores the cuts of a pass against `score`, which all of them have to exceed.
  template <class LaneOf>
  void score(const Node& node, CutScorer<Rule>& scorer, double score, LaneOf lane_of) {
    LaneGroup group;
    group.rows = {sides_.data(), 1};
    LaneCuts at_zero;
    for (std::size_t j = 0; j < pass_.size(); ++j) {
      group.add(static_cast<std::uint32_t>(j), lane_of(j));
      at_zero.drawn |= 1u << j;
      if (node.min_leaf > 1) at_zero.count[lane_of(j)] = cuts_[pass_[j]].count;
    }
    Split<Rule> found;
    found.score = score;
    scorer.examine(node, group, at_zero, found);
    if (!(found.score > score)) return;
    const std::size_t k = pass_[found.feature];
    if (found.score < best_.score || (found.score == best_.score && k > best_cut_)) return;
    best_ = found;
    best_cut_ = k;
  }

  std::vector<SetCut> cuts_;
  // Positions in cuts_.
  std::vector<std::size_t> waiting_;
  std::vector<std::size_t> pass_;
  std::vector<std::size_t> left_;
  std::size_t best_cut_ = 0;
  Split<Rule> best_;
  std::vector<Lanes> sides_;
};

}  // namespace cqrf
