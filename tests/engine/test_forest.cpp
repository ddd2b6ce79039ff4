#include <limits>
#include <stdexcept>

#include "check.hpp"
#include "data.hpp"

using namespace cqrf;
using test::ForestData;
using test::grow_options;
using test::TrainingSet;

namespace {

constexpr std::size_t kRows = 60;
constexpr std::size_t kTrees = 4;

// Every odd feature is categorical, so that some tree has a subset.
ForestData small_forest(bool honest = false) {
  TrainingSet set(kRows, 4, 9, 1);
  for (std::size_t f = 1; f < 4; f += 2) set.feature.categorical[f] = 1;
  return {set, {kRows, kRows, true, honest}, grow_options("mse", 0), kTrees};
}

// The first node of the last tree for which a predicate holds.
template <class Predicate>
Node& last_tree_node(ForestData& forest, Predicate predicate) {
  for (auto id = static_cast<std::size_t>(forest.node_offset[kTrees - 1]); id < forest.nodes.size();
       ++id)
    if (predicate(forest.nodes[id])) return forest.nodes[id];
  throw std::logic_error("no such node");
}
Node& a_leaf(ForestData& forest) {
  return last_tree_node(forest, [](const Node& n) { return n.leaf(); });
}
Node& a_split(ForestData& forest) {
  return last_tree_node(forest, [](const Node& n) { return !n.leaf(); });
}

template <class Corrupt>
void check_rejected(int line, Corrupt corrupt) {
  ForestData forest = small_forest();
  corrupt(forest);
  try {
    forest.validate();
  } catch (const std::invalid_argument&) {
    return;
  }
  test::fail(__FILE__, line, "corrupted forest was accepted");
}
#define CHECK_REJECTED(statement) check_rejected(__LINE__, [](ForestData& f) { statement; })

}  // namespace

TEST(forest_grown_forests_are_valid) {
  for (const bool honest : {false, true}) {
    const ForestData forest = small_forest(honest);
    forest.validate();
    CHECK(!forest.subsets.empty());
  }
  TrainingSet one_row(1, 1, 2, 2);
  ForestData(one_row, one_row.bootstrap(), grow_options("mse", 1), 2).validate();
}

TEST(forest_rejects_children) {
  CHECK_REJECTED(a_split(f).child = 0xffffffffu);
  CHECK_REJECTED(a_split(f).child = 0);
  CHECK_REJECTED(a_split(f).child = static_cast<NodeId>(f.nodes.size() - 1));
  // The right child, which follows the left one, would be outside.
  CHECK_REJECTED(a_split(f).child =
                     static_cast<NodeId>(f.node_offset[kTrees] - f.node_offset[kTrees - 1] - 1));
  // A child before its parent, or the node itself, would be an endless walk.
  CHECK_REJECTED({
    auto id = static_cast<std::size_t>(f.node_offset[kTrees - 1]) + 1;
    while (f.nodes[id].leaf()) ++id;
    f.nodes[id].child = 1;
  });
}

TEST(forest_rejects_features) {
  CHECK_REJECTED(a_split(f).feature = 4);
  CHECK_REJECTED(a_split(f).feature = 0xffffffffu);
}

// A leaf must send every row back to itself, or routing would not end.
TEST(forest_rejects_leaves_that_are_left) {
  CHECK_REJECTED(a_leaf(f).feature = 4);
  CHECK_REJECTED(a_leaf(f).feature = 0xffffffffu);
  CHECK_REJECTED(a_leaf(f).child = 0);
  CHECK_REJECTED(a_leaf(f).child += 1);
  CHECK_REJECTED(a_leaf(f).child = 0xffffffffu);
  CHECK_REJECTED(a_leaf(f).rule -= 1);
  CHECK_REJECTED(a_leaf(f).rule |= 1u << 8);
  CHECK_REJECTED({
    a_leaf(f).rule |= Node::kCategorical;
    a_leaf(f).index = 0xffffffu;
  });
}

TEST(forest_rejects_leaves) {
  CHECK_REJECTED(a_leaf(f).index = 0xffffffffu);
  CHECK_REJECTED(a_leaf(f).index =
                     static_cast<LeafId>(f.leaf_offset[kTrees] - f.leaf_offset[kTrees - 1] - 1));
}

TEST(forest_rejects_subsets) {
  CHECK_REJECTED(
      last_tree_node(f, [](const Node& n) { return !n.leaf() && n.categorical(); }).index =
          static_cast<std::uint32_t>(f.subset_offset[kTrees] - f.subset_offset[kTrees - 1]));
  CHECK_REJECTED({
    a_split(f).rule |= Node::kCategorical;
    a_split(f).index = 0xffffffffu;
  });
}

TEST(forest_rejects_offsets) {
  CHECK_REJECTED(f.node_offset.clear());
  CHECK_REJECTED(f.node_offset.pop_back());
  CHECK_REJECTED(f.node_offset[0] = 1);
  CHECK_REJECTED(f.node_offset[kTrees] += 1);
  CHECK_REJECTED(f.node_offset[2] = f.node_offset[1]);
  CHECK_REJECTED(f.node_offset[2] = -1);
  CHECK_REJECTED(f.subset_offset.push_back(0));
  CHECK_REJECTED(f.subset_offset[1] = static_cast<std::int64_t>(f.subsets.size()) + 1);
  CHECK_REJECTED(f.leaf_offset.pop_back());
  CHECK_REJECTED(f.leaf_offset[kTrees] -= 1);
  CHECK_REJECTED(f.leaf_offset[1] = 1);
  CHECK_REJECTED(f.leaf_offset[1] = f.leaf_offset[2]);
}

// Offsets whose differences overflow and come out positive.
TEST(forest_rejects_offsets_that_wrap_around) {
  const auto wrap = [](std::vector<std::int64_t>& offset) {
    offset[1] = std::numeric_limits<std::int64_t>::max() - 1;
    offset[2] = std::numeric_limits<std::int64_t>::min() + 3;
    offset[3] = -4;
  };
  check_rejected(__LINE__, [&](ForestData& f) { wrap(f.node_offset); });
  check_rejected(__LINE__, [&](ForestData& f) { wrap(f.subset_offset); });
  check_rejected(__LINE__, [&](ForestData& f) { wrap(f.leaf_offset); });
}

TEST(forest_rejects_no_trees) {
  CHECK_REJECTED({
    f.nodes.clear();
    f.subsets.clear();
    f.leaf_start.clear();
    f.low.clear();
    f.node_offset = f.subset_offset = f.leaf_offset = {0};
  });
}

TEST(forest_rejects_leaf_starts) {
  CHECK_REJECTED(f.leaf_start[0] = 1);
  CHECK_REJECTED(f.leaf_start[2] = f.leaf_start[1]);
  CHECK_REJECTED(f.leaf_start[1] = f.leaf_start[2] + 1);
  CHECK_REJECTED(f.leaf_start[static_cast<std::size_t>(f.leaf_offset[1]) - 1] = kRows + 1);
  CHECK_REJECTED(f.leaf_start.back() = 0xffffffffu);
}

// A start beyond the members, followed by a smaller one: members must not be read before all
// starts are known to be in order.
TEST(forest_rejects_leaf_starts_beyond_the_members) {
  CHECK_REJECTED({
    const auto first = static_cast<std::size_t>(f.leaf_offset[kTrees - 1]);
    f.leaf_start[first + 1] = kRows + 1;
    for (std::size_t i = 0; i < kRows; ++i)
      f.low[(kTrees - 1) * kRows + i] = static_cast<std::uint16_t>(i | f.event[i] << kPlaceBits);
  });
}

TEST(forest_rejects_members) {
  CHECK_REJECTED(f.low[5] = kRows);
  CHECK_REJECTED(f.low.back() = 0xffffu);
  CHECK_REJECTED(f.low.pop_back());
  CHECK_REJECTED(f.members_per_tree += 1);
  CHECK_REJECTED(f.event.pop_back());
  // Out of order, or twice, in a leaf of two or more.
  const auto in_large_leaf = [](const ForestData& f) {
    std::size_t leaf = 0;
    while (f.leaf_start[leaf + 1] - f.leaf_start[leaf] < 2) ++leaf;
    return static_cast<std::size_t>(f.leaf_start[leaf]);
  };
  check_rejected(__LINE__, [&](ForestData& f) {
    const std::size_t at = in_large_leaf(f);
    std::swap(f.low[at], f.low[at + 1]);
  });
  check_rejected(__LINE__, [&](ForestData& f) {
    const std::size_t at = in_large_leaf(f);
    f.low[at + 1] = f.low[at];
  });
}

// Each node has one parent, each leaf number one leaf, each rank one leaf of a tree.
TEST(forest_rejects_what_is_not_a_tree) {
  CHECK_REJECTED({
    Node& first = a_split(f);
    first.child = last_tree_node(f, [&](const Node& n) { return !n.leaf() && &n != &first; }).child;
  });
  CHECK_REJECTED({
    Node& first = a_leaf(f);
    first.index = last_tree_node(f, [&](const Node& n) { return n.leaf() && &n != &first; }).index;
  });
  CHECK_REJECTED(f.low[f.leaf_start[1]] = f.low[0]);
  CHECK_REJECTED(f.leaf_start[static_cast<std::size_t>(f.leaf_offset[1]) - 1] -= 1);
}

TEST(forest_rejects_rules) {
  const auto a_cut = [](ForestData& f) -> Node& {
    return last_tree_node(f, [](const Node& n) { return !n.leaf() && !n.categorical(); });
  };
  check_rejected(__LINE__, [&](ForestData& f) { a_cut(f).rule |= 1u << 31; });
  check_rejected(__LINE__, [&](ForestData& f) { a_cut(f).rule |= 0xfeu << 8; });
  check_rejected(__LINE__, [&](ForestData& f) { a_cut(f).index = 1; });
  CHECK_REJECTED(
      last_tree_node(f, [](const Node& n) { return !n.leaf() && n.categorical(); }).rule |= 1);
}

// Events and rows that are those of another target than the one that the forest was grown from.
TEST(forest_rejects_another_number_of_rows) {
  const ForestData data = small_forest();
  Forest forest = data.view();
  for (const std::size_t rows : {kRows - 1, kRows + 1, kMaxRows, std::size_t{0}}) {
    forest.n_rows = rows;
    CHECK_THROWS(forest.validate(data.event), std::invalid_argument);
  }
}

TEST(forest_leaf_members) {
  for (const bool honest : {false, true}) {
    const ForestData data = small_forest(honest);
    const Forest forest = data.view();
    std::vector<Rank> room;
    for (std::size_t t = 0; t < kTrees; ++t) {
      std::vector<std::uint8_t> seen(kRows, 0);
      std::size_t total = 0;
      for (LeafId leaf = 0; leaf < forest.n_leaves(t); ++leaf)
        for (const Rank rank : forest.leaf_members(t, leaf, room)) {
          CHECK(!seen[rank]);
          seen[rank] = 1;
          ++total;
        }
      CHECK(honest ? total <= forest.members.per_tree : total == kRows);
    }
  }
}
