#include "forest.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

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

// Every node but the root is the child of one node before it, and every leaf number belongs to one
// leaf.
void validate_nodes(std::span<const Node> tree, std::span<const Bin> missing,
                    std::uint32_t n_subsets, std::uint32_t n_leaves) {
  std::vector<std::uint8_t> has_parent(tree.size(), 0);
  std::vector<std::uint8_t> leaf_seen(n_leaves, 0);
  std::size_t splits = 0;
  for (std::size_t id = 0; id < tree.size(); ++id) {
    const Node& node = tree[id];
    if (node.leaf()) {
      const Node expected = Node::make_leaf(static_cast<NodeId>(id), node.index);
      require(node.index < n_leaves && node == expected, "leaf");
      require(!leaf_seen[node.index], "leaf number used twice");
      leaf_seen[node.index] = 1;
      continue;
    }
    ++splits;
    require(node.child > id && std::size_t{node.child} + 1 < tree.size(), "child index");
    require(!has_parent[node.child] && !has_parent[node.child + 1], "node with two parents");
    has_parent[node.child] = has_parent[node.child + 1] = 1;
    require(node.feature < missing.size(), "feature index");
    if (node.categorical()) {
      require(node.rule == Node::kCategorical && node.index < n_subsets, "subset index");
    } else {
      require(node.rule < Node::kLeaf && node.index == 0 &&
                  (node.shift() == 0 || node.shift() == missing[node.feature]),
              "cut");
    }
  }
  require(tree.size() == 2 * splits + 1, "node without a parent");
  require(tree.size() - splits == n_leaves, "leaf number not used");
}

// The members of a tree are distinct ranks, in order within each leaf; `marks` is scratch, (n,).
// Loops without exits, which the compiler turns into vector code: this reads most of a forest.
void validate_members(std::span<const Rank> members, std::span<const std::uint32_t> start,
                      std::vector<std::uint8_t>& marks) {
  Rank largest = 0;
  for (const Rank rank : members) largest = std::max(largest, rank);
  require(largest < marks.size(), "member out of range");
  std::size_t descents = 0;
  for (std::size_t i = 1; i < members.size(); ++i) descents += members[i - 1] >= members[i];
  std::size_t between_leaves = 0;
  for (const std::uint32_t first : start.subspan(1, start.size() - 2))
    between_leaves += members[first - 1] >= members[first];
  require(descents == between_leaves, "members of a leaf are not in order");
  std::fill(marks.begin(), marks.end(), std::uint8_t{0});
  for (const Rank rank : members) marks[rank] = 1;
  std::size_t distinct = 0;
  for (const std::uint8_t mark : marks) distinct += mark;
  require(distinct == members.size(), "a rank is a member of two leaves");
}

}  // namespace

void Forest::validate(const std::function<void(std::size_t)>& each_tree) const {
  require(node_offset.size() > 1, "no trees");
  const std::size_t trees = n_trees();
  require(n_rows < kMaxRows, "too many rows");
  validate_offsets(node_offset, trees, nodes.size(), 1, "node offsets");
  validate_offsets(subset_offset, trees, subsets.size(), 0, "subset offsets");
  validate_offsets(leaf_offset, trees, leaf_start.size(), 2, "leaf offsets");
  require(members_per_tree <= n_rows && members.size() == trees * members_per_tree,
          "number of members");
  std::vector<std::uint8_t> marks(n_rows);
  for (std::size_t t = 0; t < trees; ++t) {
    const auto tree = nodes.subspan(static_cast<std::size_t>(node_offset[t]),
                                    static_cast<std::size_t>(node_offset[t + 1] - node_offset[t]));
    const auto n_subsets = static_cast<std::uint32_t>(subset_offset[t + 1] - subset_offset[t]);
    const auto n_leaves = static_cast<std::uint32_t>(leaf_offset[t + 1] - leaf_offset[t] - 1);
    validate_nodes(tree, missing, n_subsets, n_leaves);
    const auto start = leaf_start.subspan(static_cast<std::size_t>(leaf_offset[t]), n_leaves + 1);
    require(start.front() == 0 && start.back() <= members_per_tree, "leaf starts");
    for (LeafId leaf = 0; leaf < n_leaves; ++leaf)
      require(start[leaf] < start[leaf + 1], "empty leaf");
    // Where there is room for all ranks, the tree is not honest and all of them fill its leaves.
    require(members_per_tree < n_rows || start.back() == n_rows, "a rank is in no leaf");
    validate_members(members.subspan(t * members_per_tree, start.back()), start, marks);
    if (each_tree) each_tree(t + 1);
  }
}

}  // namespace cqrf
