#include "leaves.hpp"

#include <algorithm>

namespace cqrf {

std::size_t count_leaves(const Tree& tree) {
  return static_cast<std::size_t>(
      std::count_if(tree.nodes.begin(), tree.nodes.end(), [](const Node& n) { return n.leaf(); }));
}

void prune_empty(Tree& tree, const BinnedFeatures& features, std::span<const Rank> filling) {
  // Children follow their parents, so one backward pass tells which subtrees hold a row.
  std::vector<std::uint8_t> holds(tree.nodes.size(), 0);
  std::vector<std::uint8_t> leaf_holds(count_leaves(tree), 0);
  find_leaves(
      tree.nodes.data(), tree.subsets.data(), filling.size(),
      [&](std::size_t i) { return features.row(filling[i]); },
      [&](std::size_t, LeafId leaf) { leaf_holds[leaf] = 1; });
  for (std::size_t id = tree.nodes.size(); id-- > 0;) {
    const Node& node = tree.nodes[id];
    holds[id] = node.leaf() ? leaf_holds[node.index] : holds[node.child] | holds[node.child + 1];
  }
  const auto skip = [&](NodeId id) {
    while (!tree.nodes[id].leaf() &&
           !(holds[tree.nodes[id].child] && holds[tree.nodes[id].child + 1]))
      id = tree.nodes[id].child + (holds[tree.nodes[id].child] ? 0 : 1);
    return id;
  };
  std::vector<Node> kept{tree.nodes[skip(0)]};
  std::uint32_t leaves = 0;
  for (std::size_t id = 0; id < kept.size(); ++id) {
    if (kept[id].leaf()) {
      kept[id] = Node::make_leaf(static_cast<NodeId>(id), leaves++);
      continue;
    }
    const NodeId left = skip(kept[id].child);
    const NodeId right = skip(kept[id].child + 1);
    kept[id].child = static_cast<std::uint32_t>(kept.size());
    kept.push_back(tree.nodes[left]);
    kept.push_back(tree.nodes[right]);
  }
  tree.nodes = std::move(kept);
}

void count_members(Tree& tree, std::span<const LeafId> leaf_of) {
  const std::size_t leaves = count_leaves(tree);
  tree.leaf_start.assign(leaves + 1, 0);
  for (const LeafId leaf : leaf_of) ++tree.leaf_start[leaf + 1];
  for (std::size_t leaf = 0; leaf < leaves; ++leaf)
    tree.leaf_start[leaf + 1] += tree.leaf_start[leaf];
}

}  // namespace cqrf
