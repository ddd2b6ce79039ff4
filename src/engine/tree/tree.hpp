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
// side stores and the model file holds.
struct Node {
  std::uint32_t child;    // left child (the right one follows it); in a leaf, the leaf's index
  std::uint32_t feature;  // the feature that is split
  std::uint32_t rule;     // bits 0-7: bin; 8-10: flags; 16-23: the feature's missing bin
  std::uint32_t subset;   // categorical split: index of the set of bins that go left

  static constexpr std::uint32_t kLeaf = 1u << 8;
  static constexpr std::uint32_t kMissingLeft = 1u << 9;
  static constexpr std::uint32_t kCategorical = 1u << 10;

  bool leaf() const { return rule & kLeaf; }
  bool missing_left() const { return rule & kMissingLeft; }
  bool categorical() const { return rule & kCategorical; }
  Bin bin() const { return static_cast<Bin>(rule & 0xff); }
  Bin missing() const { return static_cast<Bin>(rule >> 16 & 0xff); }
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
    return bin == node.missing() ? node.missing_left() : contains(subsets[node.subset], bin);
  // Without branches: the missing bin lies above every cut but that of all values against none.
  const bool missing = bin == node.missing();
  return (missing & node.missing_left()) | (!missing & (bin <= node.bin()));
}

// The leaves of Count rows, side by side: their steps do not wait for one another.
template <std::size_t Count>
void find_leaves(const Node* nodes, const BinSet* subsets, const Bin* const* rows, LeafId* leaves) {
  std::array<const Node*, Count> at;
  at.fill(nodes);
  for (bool descending = true; descending;) {
    descending = false;
    for (std::size_t i = 0; i < Count; ++i) {
      const Node& node = *at[i];
      const bool leaf = node.leaf();
      const bool left = goes_left(node, rows[i][node.feature], subsets);
      // A leaf is its own successor: a choice, not a branch that would be mispredicted.
      at[i] = leaf ? at[i] : nodes + node.child + !left;
      descending |= !leaf;
    }
  }
  for (std::size_t i = 0; i < Count; ++i) leaves[i] = at[i]->child;
}

// Calls take(i, leaf) for every i in [0, n); row_of(i) is the row of bins.
template <class RowOf, class Take>
void find_leaves(const Node* nodes, const BinSet* subsets, std::size_t n, RowOf row_of, Take take) {
  constexpr std::size_t kTogether = 8;
  std::array<const Bin*, kTogether> rows;
  std::array<LeafId, kTogether> leaves;
  std::size_t i = 0;
  for (; i + kTogether <= n; i += kTogether) {
    for (std::size_t j = 0; j < kTogether; ++j) rows[j] = row_of(i + j);
    find_leaves<kTogether>(nodes, subsets, rows.data(), leaves.data());
    for (std::size_t j = 0; j < kTogether; ++j) take(i + j, leaves[j]);
  }
  for (; i < n; ++i) {
    rows[0] = row_of(i);
    find_leaves<1>(nodes, subsets, rows.data(), leaves.data());
    take(i, leaves[0]);
  }
}

}  // namespace cqrf
