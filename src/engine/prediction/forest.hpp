// A fitted forest as flat arrays, ready to route rows and hand out leaves.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "../tree/tree.hpp"

namespace cqrf {

// Views; the caller owns the arrays. Trees are stored one after the other: tree t has the nodes
// [node_offset[t], node_offset[t + 1]), likewise its subsets and leaf starts.
struct Forest {
  std::span<const Node> nodes;
  std::span<const std::int64_t> node_offset;  // (B + 1,)
  std::span<const BinSet> subsets;
  std::span<const std::int64_t> subset_offset;  // (B + 1,)
  std::span<const std::uint32_t> leaf_start;
  std::span<const std::int64_t> leaf_offset;  // (B + 1,)
  std::span<const Rank> members;              // (B, members_per_tree)
  std::size_t members_per_tree;
  std::span<const Bin> missing;  // (p,) missing bin of every feature
  std::size_t n_rows;            // training rows

  std::size_t n_trees() const { return node_offset.size() - 1; }
  std::size_t n_features() const { return missing.size(); }

  // The members of a leaf, in time order.
  std::span<const Rank> leaf_members(std::size_t tree, LeafId leaf) const {
    const std::uint32_t* start = leaf_start.data() + leaf_offset[tree] + leaf;
    return members.subspan(tree * members_per_tree + start[0], start[1] - start[0]);
  }

  // Throws std::invalid_argument unless every index is in range, children follow their one parent,
  // and leaves are not empty, in time order and without a rank in common: routing then ends, and
  // no read leaves the arrays.
  // `each_tree`, if given, is called with the number of trees that have been checked.
  void validate(const std::function<void(std::size_t)>& each_tree = {}) const;
};

}  // namespace cqrf
