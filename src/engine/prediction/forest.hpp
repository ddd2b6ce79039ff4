// A fitted forest as flat arrays, ready to route rows and hand out leaves.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <span>

#include "../prefetch.hpp"
#include "../tree/tree.hpp"
#include "members.hpp"

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
  PackedMembers members;
  std::span<const Bin> missing;  // (p,) missing bin of every feature
  std::size_t n_rows;            // training rows

  std::size_t n_trees() const { return node_offset.size() - 1; }
  std::size_t n_features() const { return missing.size(); }
  LeafId n_leaves(std::size_t tree) const {
    return static_cast<LeafId>(leaf_offset[tree + 1] - leaf_offset[tree] - 1);
  }

  // Of all trees, each of which has one start more than leaves.
  std::size_t n_leaves() const { return leaf_start.size() - n_trees(); }

  // Of a leaf among those of all trees.
  std::size_t leaf_number(std::size_t tree, LeafId id) const {
    return static_cast<std::size_t>(leaf_offset[tree]) + id - tree;
  }

  Leaf leaf(std::size_t tree, LeafId id) const {
    const std::size_t number = leaf_number(tree, id);
    const std::size_t at = number + tree;
    return {number, tree * members.per_tree + leaf_start[at], leaf_start[at + 1] - leaf_start[at]};
  }

  // The members of a leaf, in time order; `room` is scratch.
  std::span<const Rank> leaf_members(std::size_t tree, LeafId id, std::vector<Rank>& room) const {
    const Leaf at = leaf(tree, id);
    if (room.size() < at.size) room.resize(at.size);
    members.unpack(at, room.data());
    return {room.data(), at.size};
  }

  // Asks memory for the nodes of a tree that rows are soon to be sent down.
  void prefetch_nodes(std::size_t tree) const {
    constexpr std::size_t kMost = std::size_t{1} << 17;
    const auto begin = static_cast<std::size_t>(node_offset[tree]);
    const auto end = static_cast<std::size_t>(node_offset[tree + 1]);
    cqrf::prefetch(nodes.data() + begin, std::min((end - begin) * sizeof(Node), kMost));
  }
  // Asks memory for the members of a leaf that is soon to be read.
  void prefetch(const Leaf& leaf) const {
    constexpr std::size_t kMost = 1024;
    cqrf::prefetch(members.low.data() + leaf.first,
                   std::min(leaf.size * sizeof(std::uint16_t), kMost));
  }

  // Throws std::invalid_argument unless every index is in range, children follow their one parent,
  // and leaves are not empty, in time order and without a rank in common: routing then ends, and
  // no read leaves the arrays. event: (n,) by rank, which the members must agree with.
  // `each_tree`, if given, is called with the number of trees that have been checked.
  void validate(std::span<const std::uint8_t> event,
                const std::function<void(std::size_t)>& each_tree = {}) const;

 private:
  void validate_shapes() const;
  void validate_counts(const Leaf& leaf) const;
};

}  // namespace cqrf
