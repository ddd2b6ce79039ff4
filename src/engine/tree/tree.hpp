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
  std::uint32_t rule;     // bits 0-7: bin; then the flags below
  std::uint32_t subset;   // categorical split: index of the set of bins that go left

  static constexpr std::uint32_t kLeaf = 1u << 8;
  static constexpr std::uint32_t kMissingLeft = 1u << 9;
  static constexpr std::uint32_t kCategorical = 1u << 10;

  bool leaf() const { return rule & kLeaf; }
  bool missing_left() const { return rule & kMissingLeft; }
  bool categorical() const { return rule & kCategorical; }
  Bin bin() const { return static_cast<Bin>(rule & 0xff); }
};
static_assert(sizeof(Node) == 16);

struct Tree {
  std::vector<Node> nodes;               // nodes[0] is the root; children follow their parents
  std::vector<BinSet> subsets;           // of the categorical splits
  std::vector<std::uint32_t> leaf_start; // (leaves + 1,) where each leaf's members begin
};

// True when a row with this bin goes to the left child. `missing` is the feature's missing bin.
inline bool goes_left(const Node& node, Bin bin, Bin missing, const BinSet* subsets) {
  if (bin == missing) return node.missing_left();
  if (node.categorical()) return contains(subsets[node.subset], bin);
  return bin <= node.bin();
}

// The leaf of a row of bins.
inline LeafId find_leaf(const Node* nodes, const BinSet* subsets, const Bin* missing,
                        const Bin* row) {
  const Node* node = nodes;
  while (!node->leaf()) {
    const bool left = goes_left(*node, row[node->feature], missing[node->feature], subsets);
    node = nodes + node->child + (left ? 0 : 1);
  }
  return node->child;
}

}  // namespace cqrf
