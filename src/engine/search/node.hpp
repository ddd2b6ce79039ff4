// What a search for a cut sees of a node, and what it answers.
#pragma once

#include <algorithm>
#include <limits>
#include <span>
#include <vector>

#include "../features/panels.hpp"
#include "../lanes.hpp"
#include "../rules/rule.hpp"
#include "../tree/tree.hpp"

namespace cqrf {

// The binned training features, by rows: the bins of a row share a cache line.
struct BinnedFeatures {
  const Bin* bins;                            // (n, p)
  std::size_t n_features;                     // p
  std::span<const Bin> missing;               // (p,) the missing bin = the number of value bins
  std::span<const std::uint8_t> categorical;  // (p,)
  BinPanels panels = {};                      // the same bins, where reading them so is faster

  const Bin* row(Rank rank) const { return bins + std::size_t{rank} * n_features; }
  BinColumn column(std::uint32_t feature) const {
    return panels.bins != nullptr ? panels.column(feature) : BinColumn{bins + feature, n_features};
  }
};

// The rows of a node lie scattered in memory: their bins are asked for so many rows ahead.
inline constexpr std::size_t kPrefetchAhead = 16;

// Rows of bins of which sixteen bytes can be read at any feature: the last rows, where that would
// leave the array, are read from a copy with room behind it.
class PaddedRows {
 public:
  PaddedRows(const BinnedFeatures& features, std::size_t n_rows)
      : features_(features), first_copied_(n_rows - std::min(n_rows, kLanes)) {
    const Bin* begin = features.row(static_cast<Rank>(first_copied_));
    const Bin* end = features.row(static_cast<Rank>(n_rows));
    copy_.assign(begin, end);
    copy_.resize(copy_.size() + kLanes);
  }

  const Bin* row(Rank rank) const {
    return rank < first_copied_ ? features_.row(rank)
                                : copy_.data() + (rank - first_copied_) * features_.n_features;
  }

 private:
  const BinnedFeatures& features_;
  std::size_t first_copied_;
  std::vector<Bin> copy_;
};

// Sixteen lanes of every row of a node, row after row; `stride` from one row to the next.
struct LaneRows {
  const Lanes* first = nullptr;
  std::size_t stride = 1;

  const Lanes& operator[](std::size_t i) const { return first[i * stride]; }
  LaneRows from(std::size_t i) const { return {first + i * stride, stride}; }
};

template <class Rule>
struct NodeView {
  const Rule& rule;
  const BinnedFeatures& features;
  std::span<const SampledRow> rows;    // in time order
  const typename Rule::Label* labels;  // parallel to rows
  typename Rule::Stat total;           // their sum
  std::uint32_t min_leaf;              // distinct rows that each side must have
  // The bins of the rows, side by side: of row i, feature f is lane f % 16 of
  // carried.first[i * carried.stride + f / 16]. Null: they are where `features` has them.
  LaneRows carried = {};
  typename Rule::Gain gain = rule.gain(total);

  void add(typename Rule::Stat& sum, std::size_t i) const { Rule::add(sum, labels[i], rows[i]); }

  bool admissible(std::uint32_t left_count) const {
    return left_count >= min_leaf && total.count() - left_count >= min_leaf;
  }

  // Whether the left side is the heavier one.
  bool majority(const typename Rule::Stat& left) const {
    return left.weight() > total.weight() - left.weight();
  }
};

// The best split so far.
template <class Rule>
struct Split {
  using Stat = typename Rule::Stat;

  double score = -1;  // worse than every split
  std::uint32_t feature = 0;
  bool categorical = false;
  bool missing_left = false;
  Bin bin = 0;      // numeric: bins up to this one go left
  BinSet left{};    // categorical: these bins go left
  Stat left_sum{};  // of the labels on the left

  bool found() const { return left_sum.count() > 0; }

  // Takes a numeric cut if it is admissible and better.
  void propose(const NodeView<Rule>& node, std::uint32_t at, Bin cut, const Stat& sum,
               bool with_missing) {
    if (!node.admissible(sum.count())) return;
    const double candidate = node.gain(sum);
    if (candidate > score) take(candidate, at, cut, sum, with_missing);
  }

  // Takes an admissible numeric cut, whose score is known to be better.
  void take(double candidate, std::uint32_t at, Bin cut, const Stat& sum, bool with_missing) {
    *this = {candidate, at, false, with_missing, cut, {}, sum};
  }

  // Takes a split of the categories if it is admissible and better.
  void propose(const NodeView<Rule>& node, std::uint32_t at, const BinSet& set, const Stat& sum,
               bool with_missing) {
    if (!node.admissible(sum.count())) return;
    const double candidate = node.gain(sum);
    if (candidate > score) *this = {candidate, at, true, with_missing, 0, set, sum};
  }
};

}  // namespace cqrf
