// Out-of-bag weights of training rows that have borrowed some of their values from other rows.
#pragma once

#include <cstdint>
#include <span>

#include "sources.hpp"

namespace cqrf {

// Item i is the training row ranks[i] with the values of the row donors[i] in the permuted
// features. Up to the first node that asks for one of these, its path is that of the row itself;
// items of one row that follow each other walk so far once.
class PermutedSource {
 public:
  // permuted: (p,) flags.
  PermutedSource(const OutOfBagSource& rows, std::span<const std::uint8_t> permuted,
                 std::span<const Rank> ranks, std::span<const Rank> donors)
      : rows_(rows), permuted_(permuted), ranks_(ranks), donors_(donors) {}

  std::size_t rows() const { return ranks_.size(); }

  // As they are given: items of one row follow each other.
  std::vector<std::size_t> order() const { return in_given_order(rows()); }

  void prepare(std::span<const std::size_t> items, Block& block) const {
    const std::size_t trees = rows_.forest().n_trees();
    block.rows = items;
    block.leaves.resize(items.size() * trees);
    for (std::size_t t = 0; t < trees; ++t) {
      NodeId parting = 0;
      for (std::size_t i = 0; i < items.size(); ++i) {
        const Rank rank = ranks_[items[i]];
        if (rows_.drew(t, rank)) continue;
        if (i == 0 || rank != ranks_[items[i - 1]]) parting = walk(t, 0, rank, rank, true);
        const NodeId leaf = walk(t, parting, rank, donors_[items[i]], false);
        block.leaves[i * trees + t] = nodes(t)[leaf].index;
      }
    }
  }

  void add(std::size_t i, Block& block, WeightAccumulator& out) const {
    const std::size_t trees = rows_.forest().n_trees();
    rows_.add(ranks_[block.rows[i]], block.leaves.data() + i * trees, block.members, out);
  }

 private:
  const Node* nodes(std::size_t tree) const {
    return rows_.forest().nodes.data() + rows_.forest().node_offset[tree];
  }

  // From node `at` to a leaf, or if `stops` to the first node that asks for a permuted feature.
  NodeId walk(std::size_t tree, NodeId at, Rank row, Rank donor, bool stops) const {
    const Node* tree_nodes = nodes(tree);
    const BinSet* subsets = rows_.forest().subsets.data() + rows_.forest().subset_offset[tree];
    const Bin* bins[] = {rows_.bins_of(row), rows_.bins_of(donor)};
    for (;;) {
      const Node& node = tree_nodes[at];
      if (node.leaf()) return at;
      const bool asks = permuted_[node.feature];
      if (asks && stops) return at;
      at = node.child + !goes_left(node, bins[asks][node.feature], subsets);
    }
  }

  const OutOfBagSource& rows_;
  std::span<const std::uint8_t> permuted_;
  std::span<const Rank> ranks_;
  std::span<const Rank> donors_;
};

}  // namespace cqrf
