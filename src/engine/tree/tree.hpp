// A grown tree.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "../index.hpp"

namespace cqrf {

// A set of bins, one bit each.
using BinSet = std::array<std::uint64_t, 4>;

inline bool contains(const BinSet& set, Bin bin) { return (set[bin >> 6] >> (bin & 63)) & 1; }
inline void insert(BinSet& set, Bin bin) { set[bin >> 6] |= std::uint64_t{1} << (bin & 63); }

// 16 bytes, so that a node never straddles two cache lines. The four words are what the Python
// side stores and the model file holds. A leaf is a node that sends every row back to itself:
// routing needs no test of whether it has arrived.
struct Node {
  std::uint32_t child;    // left child, the right one follows it; in a leaf, the node itself
  std::uint32_t feature;  // the feature that is split
  std::uint32_t rule;     // bits 0-7: cut; 8-15: shift; 16: leaf; 17: categorical
  std::uint32_t index;    // in a leaf, its number; in a categorical split, that of its set of bins

  static constexpr std::uint32_t kLeaf = 1u << 16;
  static constexpr std::uint32_t kCategorical = 1u << 17;

  static Node make_leaf(NodeId id, LeafId leaf) { return {id, 0, kLeaf | 0xff, leaf}; }
  // Bins up to `bin` go left; so does the missing bin, which lies above all others, if it is moved
  // below them by a shift (of bins modulo 256).
  static Node make_cut(NodeId child, std::uint32_t feature, Bin bin, Bin missing,
                       bool missing_left) {
    const Bin shift = missing_left ? missing : Bin{0};
    return {child, feature,
            std::uint32_t{static_cast<Bin>(bin - shift)} | std::uint32_t{shift} << 8, 0};
  }
  // The bins of the set go left, the missing one like any other.
  static Node make_categorical(NodeId child, std::uint32_t feature, std::uint32_t subset) {
    return {child, feature, kCategorical, subset};
  }

  bool operator==(const Node&) const = default;

  bool leaf() const { return rule & kLeaf; }
  bool categorical() const { return rule & kCategorical; }
  Bin cut() const { return static_cast<Bin>(rule); }
  Bin shift() const { return static_cast<Bin>(rule >> 8); }
};
static_assert(sizeof(Node) == 16);

struct Tree {
  std::vector<Node> nodes;                // nodes[0] is the root; children follow their parents
  std::vector<BinSet> subsets;            // of the categorical splits
  std::vector<std::uint32_t> leaf_start;  // (leaves + 1,) where each leaf's members begin
};

// True when a row with this bin goes to the left child.
inline bool goes_left(const Node& node, Bin bin, const BinSet* subsets) {
  if (node.categorical()) [[unlikely]]
    return contains(subsets[node.index], bin);
  return static_cast<Bin>(bin - node.shift()) <= node.cut();
}

// The leaves of Count rows, or of a row in Count trees, side by side: their steps do not wait for
// one another. nodes_of(i), subsets_of(i) and row_of(i) are those of the i-th.
template <std::size_t Count, class NodesOf, class SubsetsOf, class RowOf>
void find_leaves(NodesOf nodes_of, SubsetsOf subsets_of, RowOf row_of, LeafId* leaves) {
  std::array<NodeId, Count> at{};
  std::uint32_t arrived;
  do {
    arrived = Node::kLeaf;
    for (std::size_t i = 0; i < Count; ++i) {
      const Node& node = nodes_of(i)[at[i]];
      at[i] = node.child + !goes_left(node, row_of(i)[node.feature], subsets_of(i));
      arrived &= node.rule;
    }
  } while (arrived == 0);
  for (std::size_t i = 0; i < Count; ++i) leaves[i] = nodes_of(i)[at[i]].index;
}

// Calls take(i, leaf) for every i in [0, n); row_of(i) is the row of bins.
template <class RowOf, class Take>
void find_leaves(const Node* nodes, const BinSet* subsets, std::size_t n, RowOf row_of, Take take) {
  constexpr std::size_t kTogether = 8;
  std::array<const Bin*, kTogether> rows;
  std::array<LeafId, kTogether> leaves;
  const auto nodes_of = [=](std::size_t) { return nodes; };
  const auto subsets_of = [=](std::size_t) { return subsets; };
  const auto own_row = [&](std::size_t j) { return rows[j]; };
  std::size_t i = 0;
  for (; i + kTogether <= n; i += kTogether) {
    for (std::size_t j = 0; j < kTogether; ++j) rows[j] = row_of(i + j);
    find_leaves<kTogether>(nodes_of, subsets_of, own_row, leaves.data());
    for (std::size_t j = 0; j < kTogether; ++j) take(i + j, leaves[j]);
  }
  for (; i < n; ++i) {
    rows[0] = row_of(i);
    find_leaves<1>(nodes_of, subsets_of, own_row, leaves.data());
    take(i, leaves[0]);
  }
}

}  // namespace cqrf
