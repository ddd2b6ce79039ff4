#include "forest.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace cqrf {
namespace {

void require(bool condition, const char* what) {
  if (!condition) throw std::invalid_argument(std::string("forest arrays: ") + what);
}

void validate_offsets(std::span<const std::int64_t> offset, std::size_t n_trees, std::size_t size,
                      std::int64_t at_least, const char* what) {
  require(offset.size() == n_trees + 1 && offset.front() == 0 &&
              offset.back() == static_cast<std::int64_t>(size),
          what);
  // In order, hence between 0 and size: their differences cannot overflow.
  require(std::is_sorted(offset.begin(), offset.end()), what);
  for (std::size_t t = 0; t < n_trees; ++t) require(offset[t + 1] - offset[t] >= at_least, what);
}

}  // namespace

void Forest::validate() const {
  require(node_offset.size() > 1, "no trees");
  const std::size_t trees = n_trees();
  require(n_rows < kMaxRows, "too many rows");
  validate_offsets(node_offset, trees, nodes.size(), 1, "node offsets");
  validate_offsets(subset_offset, trees, subsets.size(), 0, "subset offsets");
  validate_offsets(leaf_offset, trees, leaf_start.size(), 2, "leaf offsets");
  require(members_per_tree <= n_rows && members.size() == trees * members_per_tree,
          "number of members");
  for (std::size_t t = 0; t < trees; ++t) {
    const auto tree = nodes.subspan(static_cast<std::size_t>(node_offset[t]),
                                    static_cast<std::size_t>(node_offset[t + 1] - node_offset[t]));
    const auto n_subsets = static_cast<std::uint32_t>(subset_offset[t + 1] - subset_offset[t]);
    const auto n_leaves = static_cast<std::uint32_t>(leaf_offset[t + 1] - leaf_offset[t] - 1);
    for (std::size_t id = 0; id < tree.size(); ++id) {
      const Node& node = tree[id];
      if (node.leaf()) {
        const Node expected = Node::make_leaf(static_cast<NodeId>(id), node.index);
        require(node.index < n_leaves && node == expected, "leaf");
        continue;
      }
      require(node.child > id && std::size_t{node.child} + 1 < tree.size(), "child index");
      require(node.feature < n_features(), "feature index");
      require(!node.categorical() || node.index < n_subsets, "subset index");
    }
    const auto start = leaf_start.subspan(static_cast<std::size_t>(leaf_offset[t]), n_leaves + 1);
    require(start.front() == 0 && start.back() <= members_per_tree, "leaf starts");
    for (LeafId leaf = 0; leaf < n_leaves; ++leaf)
      require(start[leaf] < start[leaf + 1], "empty leaf");
    for (LeafId leaf = 0; leaf < n_leaves; ++leaf) {
      const Rank* member = members.data() + t * members_per_tree;
      for (std::uint32_t i = start[leaf]; i < start[leaf + 1]; ++i)
        require(member[i] < n_rows && (i == start[leaf] || member[i - 1] < member[i]), "members");
    }
  }
}

}  // namespace cqrf
