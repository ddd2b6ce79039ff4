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

// Writes the members leaf after leaf and sets tree.leaf_start. leaf_of[i] is the leaf of rows[i];
// rows are ascending, hence so are the members of each leaf.
void collect_members(Tree& tree, std::span<const Rank> rows, std::span<const LeafId> leaf_of,
                     Rank* members);

std::size_t count_leaves(const Tree& tree);

}  // namespace cqrf
