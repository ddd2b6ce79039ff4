// After the splits: which rows are in which leaf.
#pragma once

#include <span>
#include <vector>

#include "../search/node.hpp"
#include "tree.hpp"

namespace cqrf {

// Replaces every split one side of which holds no filling row by its other side, so that each
// leaf of an honest tree can answer.
void prune_empty(Tree& tree, const BinnedFeatures& features, std::span<const Rank> filling);

// Rows and the leaf of each.
struct FilledLeaves {
  std::span<const Rank> rows;  // ascending
  std::span<const LeafId> leaf_of;
};

// Sets tree.leaf_start from the leaves of the rows that fill the tree.
void count_members(Tree& tree, std::span<const LeafId> leaf_of);

// Where the members of each leaf begin, among those of all leaves.
inline std::vector<std::uint32_t> first_places(const Tree& tree) {
  return {tree.leaf_start.begin(), tree.leaf_start.end() - 1};
}

// Calls put(at, rank) for every row; `at` is the next place of its leaf, which moves on. Rows are
// ascending, hence so are the members of each leaf.
template <class Put>
void place_members(const FilledLeaves& filled, std::span<std::uint32_t> next, Put put) {
  // Copies, which no store of `put` can change.
  const std::span rows = filled.rows;
  const std::span leaf_of = filled.leaf_of;
  for (std::size_t i = 0; i < rows.size(); ++i) put(std::size_t{next[leaf_of[i]]++}, rows[i]);
}

std::size_t count_leaves(const Tree& tree);

}  // namespace cqrf
