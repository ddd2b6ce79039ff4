// Where the weights of a test point come from.
//
//   struct Source {
//     std::size_t rows() const;
//     // All rows, in the order in which they are answered fastest.
//     std::vector<std::size_t> order() const;
//     // Called once per block of rows and worker, before `add`.
//     void prepare(std::span<const std::size_t> rows, Block& block) const;
//     // Adds the weights of the i-th row of the block.
//     void add(std::size_t i, Block& block, WeightAccumulator& out) const;
//   };
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "accumulator.hpp"
#include "curve.hpp"
#include "forest.hpp"

namespace cqrf {

// The leaves of a block of rows, (rows, B), and room for the members of one leaf.
struct Block {
  std::span<const std::size_t> rows;
  std::vector<LeafId> leaves;
  std::vector<Rank> members;
};

inline std::vector<std::size_t> in_given_order(std::size_t n_rows) {
  std::vector<std::size_t> order(n_rows);
  std::iota(order.begin(), order.end(), std::size_t{0});
  return order;
}

// The leaves of one row in Count trees from `first` on.
template <std::size_t Count>
void find_leaves_of_row(const Forest& forest, std::size_t first, const Bin* row, LeafId* leaves) {
  std::array<const Node*, Count> nodes;
  for (std::size_t i = 0; i < Count; ++i)
    nodes[i] = forest.nodes.data() + forest.node_offset[first + i];
  find_leaves<Count>(
      [&](std::size_t i) { return nodes[i]; },
      [&](std::size_t i) { return forest.subsets.data() + forest.subset_offset[first + i]; },
      [&](std::size_t) { return row; }, leaves);
}

// Calls found(i, leaf) for n rows with bins `bins_of(i)`.
template <class BinsOf, class Found>
void find_leaves_in_tree(const Forest& forest, std::size_t tree, std::size_t n, BinsOf bins_of,
                         Found found) {
  find_leaves(forest.nodes.data() + forest.node_offset[tree],
              forest.subsets.data() + forest.subset_offset[tree], n, bins_of, found);
}

// The leaf of every tree for a block of rows; tree by tree, so that a tree stays in cache, or row
// by row where there are few.
inline void find_leaves(const Forest& forest, const Bin* bins, std::span<const std::size_t> rows,
                        Block& block) {
  constexpr std::size_t kFewRows = 4;
  constexpr std::size_t kTogether = 8;
  const std::size_t trees = forest.n_trees();
  const auto bins_of = [&](std::size_t i) { return bins + rows[i] * forest.n_features(); };
  block.rows = rows;
  block.leaves.resize(rows.size() * trees);
  if (rows.size() <= kFewRows) {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      LeafId* const leaves = block.leaves.data() + i * trees;
      std::size_t t = 0;
      for (; t + kTogether <= trees; t += kTogether)
        find_leaves_of_row<kTogether>(forest, t, bins_of(i), leaves + t);
      for (; t < trees; ++t) find_leaves_of_row<1>(forest, t, bins_of(i), leaves + t);
    }
    return;
  }
  for (std::size_t t = 0; t < trees; ++t) {
    if (t + 1 < trees) forest.prefetch_nodes(t + 1);
    find_leaves_in_tree(forest, t, rows.size(), bins_of,
                        [&](std::size_t i, LeafId leaf) { block.leaves[i * trees + t] = leaf; });
  }
}

// Rows in the order of their leaves in the first tree, and in the second; `leaves_in(t, found)`
// calls found(i, leaf) for every row. Leaves are numbered from left to right, so that rows that
// follow each other are alike, and share leaves in other trees, which are still in cache.
template <class LeavesIn>
std::vector<std::size_t> alike_together(std::size_t n_trees, std::size_t n_rows,
                                        LeavesIn leaves_in) {
  constexpr std::size_t kFewRows = 32;
  std::vector<std::size_t> order = in_given_order(n_rows);
  if (n_rows < kFewRows) return order;
  std::vector<std::array<LeafId, 2>> leaves(n_rows);
  for (std::size_t t = 0; t < std::min<std::size_t>(2, n_trees); ++t)
    leaves_in(t, [&](std::size_t i, LeafId leaf) { leaves[i][t] = leaf; });
  std::ranges::stable_sort(order, {}, [&](std::size_t row) { return leaves[row]; });
  return order;
}

inline std::vector<std::size_t> alike_together(const Forest& forest, const Bin* bins,
                                               std::size_t n_rows) {
  return alike_together(forest.n_trees(), n_rows, [&](std::size_t t, auto found) {
    find_leaves_in_tree(
        forest, t, n_rows, [&](std::size_t i) { return bins + i * forest.n_features(); }, found);
  });
}

// Paper eq. rf_weight: the mean over trees of 1{i in leaf(x)} / leaf size; rows count with their
// sample weight.
class ForestSource {
 public:
  // leaves: (m, B), where they have been found before; else they are found as rows are answered.
  ForestSource(const Forest& forest, const TargetView& target, std::span<const Bin> bins,
               std::span<const LeafId> leaves = {})
      : forest_(forest),
        target_(target),
        bins_(bins),
        leaves_(leaves),
        in_one_block_(forest.n_rows <= kBlockRows && target.weight.empty()) {}

  std::size_t rows() const { return bins_.size() / forest_.n_features(); }
  std::size_t n_trees() const { return forest_.n_trees(); }
  const Forest& forest() const { return forest_; }

  // The leaf of a row of the block in every tree.
  const LeafId* leaves(std::size_t i, const Block& block) const {
    return block.leaves.data() + i * forest_.n_trees();
  }

  std::vector<std::size_t> order() const {
    if (leaves_.empty()) return alike_together(forest_, bins_.data(), rows());
    return alike_together(n_trees(), rows(), [&](std::size_t t, auto found) {
      for (std::size_t i = 0; i < rows(); ++i) found(i, leaves_[i * n_trees() + t]);
    });
  }

  void prepare(std::span<const std::size_t> rows, Block& block) const {
    if (leaves_.empty()) return find_leaves(forest_, bins_.data(), rows, block);
    block.rows = rows;
    block.leaves.clear();
    for (const std::size_t row : rows) {
      const auto found = leaves_.subspan(row * n_trees(), n_trees());
      block.leaves.insert(block.leaves.end(), found.begin(), found.end());
    }
  }

  void add(std::size_t i, Block& block, WeightAccumulator& out) const {
    const std::size_t trees = forest_.n_trees();
    const LeafId* const leaf = leaves(i, block);
    for (std::size_t t = 0; t < trees; ++t) {
      if (t + kAhead < trees) forest_.prefetch(forest_.leaf(t + kAhead, leaf[t + kAhead]));
      if (in_one_block_)
        add_packed(forest_.leaf(t, leaf[t]), out);
      else
        add_leaf(forest_.leaf_members(t, leaf[t], block.members), out);
    }
  }

  // The mean over one tree's leaf of a value that every rank has, (n,).
  double leaf_mean(std::size_t i, std::size_t tree, Block& block,
                   std::span<const double> values) const {
    const LeafId leaf = leaves(i, block)[tree];
    double sum = 0;
    double total = 0;
    for (const Rank rank : forest_.leaf_members(tree, leaf, block.members)) {
      const double weight = target_.weight.empty() ? 1.0 : target_.weight[rank];
      sum += weight * values[rank];
      total += weight;
    }
    return sum / total;
  }

 private:
  // Leaves lie far apart in memory: the next ones are on their way while one is added.
  static constexpr std::size_t kAhead = 2;

  // Members that need not be unpacked, of rows that count alike.
  void add_packed(const Leaf& leaf, WeightAccumulator& out) const {
    const double share = 1.0 / static_cast<double>(leaf.size);
    out.add(forest_.members.low.subspan(leaf.first, leaf.size), [=](Rank) { return share; });
  }

  void add_leaf(std::span<const Rank> members, WeightAccumulator& out) const {
    if (target_.weight.empty()) {
      const double share = 1.0 / static_cast<double>(members.size());
      out.add(members, [=](Rank) { return share; });
      return;
    }
    double total = 0;
    for (const Rank rank : members) total += target_.weight[rank];
    out.add(members, [&](Rank rank) { return target_.weight[rank] / total; });
  }

  const Forest& forest_;
  const TargetView& target_;
  std::span<const Bin> bins_;
  std::span<const LeafId> leaves_;
  bool in_one_block_;
};

// Out-of-bag: a training row is answered by the trees that did not draw it, and is itself left
// out of the leaves.
class OutOfBagSource {
 public:
  // in_bag: (B, words_per_tree) bitmaps over ranks.
  OutOfBagSource(const Forest& forest, const TargetView& target, std::span<const Bin> bins,
                 std::span<const std::uint64_t> in_bag)
      : forest_(forest),
        target_(target),
        bins_(bins),
        in_bag_(in_bag),
        words_(in_bag.size() / forest.n_trees()) {}

  std::size_t rows() const { return forest_.n_rows; }

  std::vector<std::size_t> order() const { return alike_together(forest_, bins_.data(), rows()); }

  void prepare(std::span<const std::size_t> rows, Block& block) const {
    find_leaves(forest_, bins_.data(), rows, block);
  }

  void add(std::size_t i, Block& block, WeightAccumulator& out) const {
    add(block.rows[i], block.leaves.data() + i * forest_.n_trees(), block.members, out);
  }

  const Forest& forest() const { return forest_; }
  const Bin* bins_of(std::size_t row) const { return bins_.data() + row * forest_.n_features(); }

  bool drew(std::size_t tree, std::size_t row) const {
    return (in_bag_[tree * words_ + (row >> 6)] >> (row & 63)) & 1;
  }

  // Adds the weights of a row that ends in the given leaf of every tree; those of the trees that
  // drew it are not read. `room` is scratch.
  void add(std::size_t row, const LeafId* leaves, std::vector<Rank>& room,
           WeightAccumulator& out) const {
    for (std::size_t t = 0; t < forest_.n_trees(); ++t) {
      if (drew(t, row)) continue;
      const auto members = forest_.leaf_members(t, leaves[t], room);
      // Members are in order: what comes before the row itself, and what comes after it.
      const auto self = std::lower_bound(members.begin(), members.end(), row);
      const auto before = std::span(members.begin(), self);
      const auto after = std::span(self + (self != members.end() && *self == row), members.end());
      double total = 0;
      for (const auto part : {before, after})
        for (const Rank rank : part) total += weight(rank);
      for (const auto part : {before, after})
        out.add(part, [&](Rank rank) { return weight(rank) / total; });
    }
  }

 private:
  double weight(Rank rank) const { return target_.weight.empty() ? 1.0 : target_.weight[rank]; }

  const Forest& forest_;
  const TargetView& target_;
  std::span<const Bin> bins_;
  std::span<const std::uint64_t> in_bag_;
  std::size_t words_;
};

// Weights given by the user as a sparse matrix (CSR) whose columns are the original rows.
class MatrixSource {
 public:
  // rank: (n,) the rank of every original row.
  MatrixSource(std::span<const std::int64_t> indptr, std::span<const std::int64_t> indices,
               std::span<const double> values, std::span<const Rank> rank)
      : indptr_(indptr), indices_(indices), values_(values), rank_(rank) {}

  std::size_t rows() const { return indptr_.size() - 1; }

  std::vector<std::size_t> order() const { return in_given_order(rows()); }

  void prepare(std::span<const std::size_t> rows, Block& block) const { block.rows = rows; }

  void add(std::size_t place, Block& block, WeightAccumulator& out) const {
    const std::size_t row = block.rows[place];
    for (std::int64_t i = indptr_[row]; i < indptr_[row + 1]; ++i) {
      const auto at = static_cast<std::size_t>(i);
      if (values_[at] > 0)
        out.add(std::span<const Rank>(&rank_[static_cast<std::size_t>(indices_[at])], 1),
                [&](Rank) { return values_[at]; });
    }
  }

 private:
  std::span<const std::int64_t> indptr_;
  std::span<const std::int64_t> indices_;
  std::span<const double> values_;
  std::span<const Rank> rank_;
};

}  // namespace cqrf
