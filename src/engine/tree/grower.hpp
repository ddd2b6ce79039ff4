// Growing: rows are sampled, nodes are split, all rows are routed, leaves keep their members.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "../parallel.hpp"
#include "../sampling/sampler.hpp"
#include "../search/node.hpp"
#include "leaves.hpp"
#include "tree.hpp"

namespace cqrf {

struct GrowOptions {
  std::string criterion;  // "distribution" | "mse" | "quantile" | "logrank"
  int n_thresholds;       // random cuts per feature; 0 = the best cut
  std::uint32_t min_samples_split;
  std::uint32_t min_samples_leaf;
  std::uint32_t max_depth;     // 2^32 - 1 = no limit
  std::uint32_t max_features;  // features examined in a node
  std::uint64_t seed;
};

// Everything that the trees of a forest share while they grow. Views; the caller owns the arrays.
struct TrainingData {
  BinnedFeatures features;
  Outcomes outcomes;
  std::span<const std::uint32_t> weight;  // (n,) integer sample weights; empty = all one
  Sampling sampling;
};

// Grows one tree after the other, on one thread. Scratch memory is kept between trees.
class TreeGrower {
 public:
  virtual ~TreeGrower() = default;
  // Throws Stopped when the monitor says so.
  virtual Tree grow(std::uint64_t tree_index, Monitor& monitor) = 0;
  // The rows that fill the leaves of the tree that was grown last. A view, until the next one.
  virtual FilledLeaves filled() const = 0;

  // Writes the members of all leaves, leaf after leaf, each in time order, to `members`, which has
  // room for `members_per_tree` ranks.
  Tree grow(std::uint64_t tree_index, Rank* members, Monitor& monitor) {
    Tree tree = grow(tree_index, monitor);
    std::vector<std::uint32_t> next = first_places(tree);
    place_members(filled(), next, [&](std::size_t at, Rank rank) { members[at] = rank; });
    return tree;
  }
};

// How wide the panels are in which growing finds its bins fastest; 0: it needs none. Trees are the
// same with any. All features in their order are read sixteen at a time, others one by one.
std::size_t panel_width(std::size_t n_rows, std::size_t n_features, const GrowOptions& options);

std::unique_ptr<TreeGrower> make_grower(const TrainingData& data, const GrowOptions& options);

// The largest number of members that a tree can have.
std::size_t members_per_tree(const Sampling& sampling);

}  // namespace cqrf
