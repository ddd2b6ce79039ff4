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

// The members of a tree are distinct ranks, in order within each leaf, and their highest bits are
// the events; `marks` is scratch, (n,). Loops without exits, which the compiler turns into vector
// code: this reads most of a forest.
void validate_members(std::span<const Rank> members, std::span<const std::uint16_t> low,
                      std::span<const std::uint32_t> start, std::span<const std::uint8_t> event,
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
  constexpr std::uint8_t kSeen = 2;
  for (std::size_t i = 0; i < members.size(); ++i)
    marks[members[i]] = static_cast<std::uint8_t>(kSeen | low[i] >> kPlaceBits);
  std::size_t distinct = 0;
  for (const std::uint8_t mark : marks) distinct += mark >> 1;
  require(distinct == members.size(), "a rank is a member of two leaves");
  std::size_t right = 0;
  for (std::size_t rank = 0; rank < marks.size(); ++rank)
    right += marks[rank] == kSeen + event[rank];
  require(right == members.size(), "a member's event");
}

}  // namespace

void Forest::validate_shapes() const {
  const std::size_t size = n_trees() * members.per_tree;
  require(members.per_tree <= n_rows && members.low.size() == size, "number of members");
  require(members.n_blocks == n_blocks(n_rows), "number of blocks");
  const int bytes = members.counted() ? 0 : block_bytes(n_rows);
  require(members.block.size() == (bytes > 0 ? size : 0) &&
              members.block_high.size() == (bytes > 1 ? size : 0),
          "number of block bytes");
  if (!members.counted()) return;
  require(members.n_blocks > 1, "block counts of a single block");
  const std::size_t leaves = leaf_start.size() - n_trees();
  require(members.block_counts.size() == leaves * members.n_blocks, "number of block counts");
}

// Block counts add up to the members of a leaf, hence unpacking writes no more.
void Forest::validate_counts(const Leaf& leaf) const {
  std::size_t total = 0;
  for (const std::uint16_t count : members.counts(leaf)) total += count;
  require(total == leaf.size, "block counts");
}

void Forest::validate(std::span<const std::uint8_t> event,
                      const std::function<void(std::size_t)>& each_tree) const {
  require(node_offset.size() > 1, "no trees");
  const std::size_t trees = n_trees();
  require(n_rows < kMaxRows && event.size() == n_rows, "number of rows");
  validate_offsets(node_offset, trees, nodes.size(), 1, "node offsets");
  validate_offsets(subset_offset, trees, subsets.size(), 0, "subset offsets");
  validate_offsets(leaf_offset, trees, leaf_start.size(), 2, "leaf offsets");
  validate_shapes();
  std::vector<std::uint8_t> marks(n_rows);
  std::vector<Rank> ranks(members.per_tree);
  for (std::size_t t = 0; t < trees; ++t) {
    const auto tree = nodes.subspan(static_cast<std::size_t>(node_offset[t]),
                                    static_cast<std::size_t>(node_offset[t + 1] - node_offset[t]));
    const auto n_subsets = static_cast<std::uint32_t>(subset_offset[t + 1] - subset_offset[t]);
    const LeafId leaves = n_leaves(t);
    validate_nodes(tree, missing, n_subsets, leaves);
    const auto start = leaf_start.subspan(static_cast<std::size_t>(leaf_offset[t]), leaves + 1);
    require(start.front() == 0 && start.back() <= members.per_tree, "leaf starts");
    for (LeafId id = 0; id < leaves; ++id) require(start[id] < start[id + 1], "empty leaf");
    // Where there is room for all ranks, the tree is not honest and all of them fill its leaves.
    require(members.per_tree < n_rows || start.back() == n_rows, "a rank is in no leaf");
    for (LeafId id = 0; id < leaves; ++id) {
      if (members.counted()) validate_counts(leaf(t, id));
      members.unpack(leaf(t, id), ranks.data() + start[id]);
    }
    validate_members(std::span(ranks).first(start.back()),
                     members.low.subspan(t * members.per_tree, start.back()), start, event, marks);
    if (each_tree) each_tree(t + 1);
  }
}

}  // namespace cqrf
