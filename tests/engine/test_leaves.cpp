#include <algorithm>

#include "check.hpp"
#include "data.hpp"
#include "tree/leaves.hpp"

using namespace cqrf;
using test::FeatureData;

namespace {

constexpr Bin kMissing = 4;

Node split(NodeId child, std::uint32_t feature, Bin bin, bool missing_left = false) {
  return Node::make_cut(child, feature, bin, kMissing, missing_left);
}

// The place of a leaf, which gets its node and its number from `number_leaves`.
constexpr Node kLeaf{0, 0, Node::kLeaf, 0};

Tree number_leaves(std::vector<Node> nodes) {
  LeafId leaves = 0;
  for (NodeId id = 0; id < nodes.size(); ++id)
    if (nodes[id].leaf()) nodes[id] = Node::make_leaf(id, leaves++);
  return {std::move(nodes), {}, {}};
}

std::vector<LeafId> leaves_of(const Tree& tree, const FeatureData& feature) {
  std::vector<LeafId> leaves(feature.n);
  find_leaves(
      tree.nodes.data(), tree.subsets.data(), feature.n,
      [&](std::size_t i) { return feature.bins.data() + i * feature.p; },
      [&](std::size_t i, LeafId id) { leaves[i] = id; });
  return leaves;
}

}  // namespace

TEST(leaves_goes_left) {
  const Node plain = split(1, 0, 2);
  const Node with_missing = split(1, 0, 2, true);
  for (Bin bin = 0; bin < 4; ++bin) {
    CHECK_EQ(goes_left(plain, bin, nullptr), bin <= 2);
    CHECK_EQ(goes_left(with_missing, bin, nullptr), bin <= 2);
  }
  CHECK(!goes_left(plain, 4, nullptr));
  CHECK(goes_left(with_missing, 4, nullptr));
  // All values against missing, on either side, up to the largest number of bins.
  for (const int missing : {1, 4, 255}) {
    const auto last = static_cast<Bin>(missing - 1);
    for (const bool left : {false, true}) {
      const Node values = Node::make_cut(1, 0, last, static_cast<Bin>(missing), left);
      for (int bin = 0; bin < missing; ++bin)
        CHECK(goes_left(values, static_cast<Bin>(bin), nullptr));
      CHECK_EQ(goes_left(values, static_cast<Bin>(missing), nullptr), left);
    }
  }
  BinSet set{};
  for (const int bin : {1, 63, 64, 200, 255}) insert(set, static_cast<Bin>(bin));
  const Node categorical = Node::make_categorical(1, 0, 0);
  for (int bin = 0; bin < 256; ++bin) {
    const bool in_set = bin == 1 || bin == 63 || bin == 64 || bin == 200 || bin == 255;
    CHECK_EQ(contains(set, static_cast<Bin>(bin)), in_set);
    CHECK_EQ(goes_left(categorical, static_cast<Bin>(bin), &set), in_set);
  }
}

TEST(leaves_send_rows_back_to_themselves) {
  const Node leaf = Node::make_leaf(7, 3);
  for (int bin = 0; bin < 256; ++bin) CHECK(goes_left(leaf, static_cast<Bin>(bin), nullptr));
  CHECK_EQ(leaf.child, 7u);
  CHECK_EQ(leaf.index, 3u);
}

TEST(leaves_find_any_number_of_rows) {
  Random random(1);
  Tree tree =
      number_leaves({split(1, 0, 1), kLeaf, split(3, 1, 0), kLeaf, split(5, 0, 2), kLeaf, kLeaf});
  for (std::size_t n = 0; n < 30; ++n) {
    const FeatureData feature(n, 2, 4, random);
    const auto found = leaves_of(tree, feature);
    for (std::size_t i = 0; i < n; ++i) {
      const Bin a = feature.at(i, 0);
      const LeafId expected = a <= 1 ? 0u : feature.at(i, 1) == 0 ? 1u : a <= 2 ? 2u : 3u;
      CHECK_EQ(found[i], expected);
    }
  }
}

TEST(leaves_members_are_collected_in_order) {
  Tree tree = number_leaves({split(1, 0, 0), kLeaf, split(3, 0, 1), kLeaf, kLeaf});
  const std::vector<Rank> rows{2, 3, 5, 7, 11, 13};
  const std::vector<LeafId> leaf_of{2, 0, 1, 0, 2, 2};
  std::vector<Rank> members(6);
  count_members(tree, leaf_of);
  std::vector<std::uint32_t> next = first_places(tree);
  place_members({rows, leaf_of}, next, [&](std::size_t at, Rank rank) { members[at] = rank; });
  CHECK(next == (std::vector<std::uint32_t>{2, 3, 6}));
  CHECK(tree.leaf_start == (std::vector<std::uint32_t>{0, 2, 3, 6}));
  CHECK(members == (std::vector<Rank>{3, 7, 5, 2, 11, 13}));
}

TEST(leaves_prune_empty) {
  // Feature 0 has the bins 0..3; only rows of bin 0 and 3 fill the tree.
  Random random(2);
  FeatureData feature(4, 1, 4, random);
  feature.bins = {0, 1, 2, 3};
  Tree tree =
      number_leaves({split(1, 0, 1), split(3, 0, 0), split(5, 0, 2), kLeaf, kLeaf, kLeaf, kLeaf});
  prune_empty(tree, feature.view(), std::vector<Rank>{0, 3});
  CHECK_EQ(tree.nodes.size(), 3u);
  CHECK_EQ(count_leaves(tree), 2u);
  CHECK(leaves_of(tree, feature) == (std::vector<LeafId>{0, 0, 1, 1}));
}

TEST(leaves_prune_to_the_root) {
  Random random(3);
  FeatureData feature(4, 1, 4, random);
  feature.bins = {0, 1, 2, 3};
  for (Rank only = 0; only < 4; ++only) {
    Tree tree =
        number_leaves({split(1, 0, 1), split(3, 0, 0), split(5, 0, 2), kLeaf, kLeaf, kLeaf, kLeaf});
    prune_empty(tree, feature.view(), std::vector<Rank>{only});
    CHECK_EQ(tree.nodes.size(), 1u);
    CHECK(tree.nodes[0].leaf());
    CHECK(tree.nodes[0] == Node::make_leaf(0, 0));
  }
}

TEST(leaves_prune_nothing) {
  Random random(4);
  FeatureData feature(4, 1, 4, random);
  feature.bins = {0, 1, 2, 3};
  Tree tree =
      number_leaves({split(1, 0, 1), split(3, 0, 0), split(5, 0, 2), kLeaf, kLeaf, kLeaf, kLeaf});
  prune_empty(tree, feature.view(), std::vector<Rank>{0, 1, 2, 3});
  CHECK_EQ(tree.nodes.size(), 7u);
  CHECK(leaves_of(tree, feature) == (std::vector<LeafId>{0, 1, 2, 3}));
}

TEST(leaves_pruned_random_trees_hold_a_row_in_every_leaf) {
  Random random(5);
  for (int repeat = 0; repeat < 50; ++repeat) {
    const FeatureData feature(60, 3, 4, random);
    Tree tree;
    tree.nodes.resize(1);
    LeafId leaves = 0;
    for (std::size_t id = 0; id < tree.nodes.size(); ++id) {
      if (tree.nodes.size() > 40 || (id > 3 && random.below(3) == 0)) {
        tree.nodes[id] = Node::make_leaf(static_cast<NodeId>(id), leaves++);
        continue;
      }
      tree.nodes[id] = split(static_cast<NodeId>(tree.nodes.size()), random.below(3),
                             static_cast<Bin>(random.below(3)));
      tree.nodes.resize(tree.nodes.size() + 2);
    }
    std::vector<Rank> filling;
    for (Rank rank = 0; rank < 60; ++rank)
      if (random.below(3) == 0) filling.push_back(rank);
    if (filling.empty()) filling.push_back(0);
    const auto before = leaves_of(tree, feature);
    Tree pruned = tree;
    prune_empty(pruned, feature.view(), filling);
    const auto after = leaves_of(pruned, feature);
    std::vector<int> held(count_leaves(pruned), 0);
    for (const Rank rank : filling) ++held[after[rank]];
    CHECK(std::ranges::count(held, 0) == 0);
    // Filling rows that were apart stay apart, those together stay together.
    for (const Rank a : filling)
      for (const Rank b : filling) CHECK_EQ(before[a] == before[b], after[a] == after[b]);
  }
}
