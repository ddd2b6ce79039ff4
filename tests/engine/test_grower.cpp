#include <algorithm>
#include <map>
#include <set>

#include "check.hpp"
#include "data.hpp"
#include "parallel.hpp"
#include "tree/leaves.hpp"

using namespace cqrf;
using test::grow_options;
using test::TrainingSet;

namespace {

constexpr std::array kCriteria{"distribution", "mse", "quantile", "logrank"};
constexpr std::array kThresholds{0, 1, 3};

struct Grown {
  Tree tree;
  std::vector<Rank> members;  // exactly members_per_tree of them

  bool operator==(const Grown& other) const {
    return tree.nodes == other.tree.nodes && tree.subsets == other.tree.subsets &&
           tree.leaf_start == other.tree.leaf_start && members == other.members;
  }

  std::size_t n_leaves() const { return tree.leaf_start.size() - 1; }
  std::span<const Rank> leaf(std::size_t id) const {
    return std::span(members).subspan(tree.leaf_start[id],
                                      tree.leaf_start[id + 1] - tree.leaf_start[id]);
  }
};

Grown grow_one(TreeGrower& grower, const Sampling& sampling, std::uint64_t index) {
  Monitor monitor;
  Grown grown;
  grown.members.resize(members_per_tree(sampling));
  grown.tree = grower.grow(index, grown.members.data(), monitor);
  CHECK(grown.tree.leaf_start.back() <= grown.members.size());
  grown.members.resize(grown.tree.leaf_start.back());
  return grown;
}

Grown grow_one(const TrainingSet& set, const Sampling& sampling, const GrowOptions& options,
               std::uint64_t index = 0) {
  const TrainingData data = set.data(sampling);
  return grow_one(*make_grower(data, options), sampling, index);
}

// Every row that fills the tree is in one leaf, the one that routing finds; members ascend.
void check_tree(const TrainingSet& set, const Sampling& sampling, const GrowOptions& options,
                const Grown& grown, std::uint64_t index) {
  const TreeRows drawn = draw_rows(sampling, options.seed, index);
  std::vector<Rank> filling = drawn.filling;
  if (!sampling.honest)
    for (Rank rank = 0; rank < set.feature.n; ++rank) filling.push_back(rank);
  CHECK_EQ(grown.members.size(), filling.size());
  CHECK_EQ(count_leaves(grown.tree), grown.n_leaves());

  std::vector<LeafId> routed(set.feature.n);
  find_leaves(
      grown.tree.nodes.data(), grown.tree.subsets.data(), set.feature.n,
      [&](std::size_t i) { return set.feature.bins.data() + i * set.feature.p; },
      [&](std::size_t i, LeafId leaf) { routed[i] = leaf; });
  std::set<Rank> seen;
  for (std::size_t leaf = 0; leaf < grown.n_leaves(); ++leaf) {
    CHECK(!grown.leaf(leaf).empty());
    CHECK(std::ranges::is_sorted(grown.leaf(leaf)));
    for (const Rank rank : grown.leaf(leaf)) {
      CHECK_EQ(routed[rank], leaf);
      CHECK(seen.insert(rank).second);
    }
  }
  CHECK(std::ranges::equal(seen, filling));
  std::set<LeafId> ids;
  for (std::size_t id = 0; id < grown.tree.nodes.size(); ++id) {
    const Node& node = grown.tree.nodes[id];
    if (node.leaf())
      CHECK(ids.insert(node.index).second);
    else
      CHECK(node.child > id && node.child + 1 < grown.tree.nodes.size());
  }
  CHECK(ids.empty() || *ids.rbegin() + 1 == ids.size());

  // The rows that grew the tree: enough on each side of every split.
  if (sampling.honest) return;
  std::vector<std::uint32_t> count(grown.n_leaves(), 0);
  for (const Rank rank : drawn.growing) ++count[routed[rank]];
  const std::uint32_t least = std::min<std::uint32_t>(
      options.min_samples_leaf, static_cast<std::uint32_t>(drawn.growing.size()));
  for (const std::uint32_t c : count) CHECK(c >= least);
}

TrainingSet mixed_set(std::size_t n, std::size_t p, std::uint64_t key) {
  TrainingSet set(n, p, 12, key);
  Random random(key + 1);
  for (std::size_t f = 0; f < p; ++f) {
    if (f % 3 == 1) set.feature.categorical[f] = 1;
    if (f % 2 == 1) set.feature.lose(f, 5, random);
  }
  return set;
}

}  // namespace

TEST(grower_every_row_is_in_one_leaf) {
  const TrainingSet set = mixed_set(120, 5, 1);
  for (const char* criterion : kCriteria)
    for (const int n_thresholds : kThresholds)
      for (const bool replace : {false, true})
        for (const bool honest : {false, true}) {
          const Sampling sampling{120, replace ? 120u : 70u, replace, honest};
          GrowOptions options = grow_options(criterion, n_thresholds);
          const TrainingData data = set.data(sampling);
          for (const std::uint32_t min_leaf : {1u, 7u}) {
            options.min_samples_leaf = min_leaf;
            const auto grower = make_grower(data, options);
            for (std::uint64_t index = 0; index < 3; ++index)
              check_tree(set, sampling, options, grow_one(*grower, sampling, index), index);
          }
        }
}

TEST(grower_some_of_many_features) {
  // Features are examined in a shuffled order, some at a time.
  for (const std::size_t p : {3, 10, 16, 17, 40}) {
    const TrainingSet set = mixed_set(90, p, p);
    for (const int n_thresholds : kThresholds)
      for (const std::uint32_t max_features : {1u, 2u, 3u, 4u, 7u, 15u, 39u}) {
        GrowOptions options = grow_options("mse", n_thresholds);
        options.max_features = max_features;
        const TrainingData data = set.data(set.bootstrap());
        const auto grower = make_grower(data, options);
        for (std::uint64_t index = 0; index < 3; ++index)
          check_tree(set, data.sampling, options, grow_one(*grower, data.sampling, index), index);
      }
  }
}

TEST(grower_splits_as_far_as_it_may) {
  // Distinct bins and times: with leaves of one row every sampled row is alone.
  TrainingSet set(40, 1, 40, 2);
  set.outcome = {};
  for (int i = 0; i < 40; ++i) {
    set.outcome.push(i, true);
    set.feature.bins[static_cast<std::size_t>(i)] = static_cast<Bin>((i * 7) % 40);
  }
  for (const char* criterion : {"mse", "logrank"})
    for (const int n_thresholds : kThresholds) {
      const Grown grown = grow_one(set, set.everything(), grow_options(criterion, n_thresholds));
      // The scores of the last two events of a node can be the same.
      CHECK(grown.n_leaves() == 40 ||
            (std::string(criterion) == "logrank" && grown.n_leaves() > 20));
    }
}

TEST(grower_first_split_is_the_best_one) {
  // Early times have bin 0 or 1 of the second feature, late ones 2 or 3.
  TrainingSet set(60, 3, 4, 3);
  for (std::size_t i = 0; i < 60; ++i)
    set.feature.bins[i * 3 + 1] = static_cast<Bin>((i < 30 ? 0 : 2) + i % 2);
  GrowOptions options = grow_options("mse", 0);
  options.max_depth = 1;
  const Grown grown = grow_one(set, set.everything(), options);
  CHECK_EQ(grown.tree.nodes.size(), 3u);
  CHECK_EQ(grown.tree.nodes[0].feature, 1u);
  CHECK_EQ(grown.tree.nodes[0].cut(), 1);
  CHECK_EQ(grown.leaf(0).size(), 30u);
}

TEST(grower_limits) {
  const TrainingSet set = mixed_set(100, 4, 4);
  for (const char* criterion : kCriteria)
    for (const int n_thresholds : kThresholds) {
      GrowOptions options = grow_options(criterion, n_thresholds);
      options.max_depth = 0;
      CHECK_EQ(grow_one(set, set.bootstrap(), options).n_leaves(), 1u);
      options.max_depth = 2;
      CHECK(grow_one(set, set.bootstrap(), options).n_leaves() <= 4);
      options = grow_options(criterion, n_thresholds);
      options.min_samples_split = 0xffffffffu;
      CHECK_EQ(grow_one(set, set.bootstrap(), options).n_leaves(), 1u);
      options = grow_options(criterion, n_thresholds);
      options.min_samples_leaf = 0xffffffffu;
      CHECK_EQ(grow_one(set, set.bootstrap(), options).n_leaves(), 1u);
      options.min_samples_leaf = 51;
      CHECK_EQ(grow_one(set, set.everything(), options).n_leaves(), 1u);
      options.min_samples_leaf = 50;
      CHECK(grow_one(set, set.everything(), options).n_leaves() <= 2);
    }
}

TEST(grower_one_row) {
  const TrainingSet set(1, 2, 3, 5);
  for (const char* criterion : kCriteria)
    for (const int n_thresholds : kThresholds)
      for (const bool honest : {false, true}) {
        const Sampling sampling{1, 1, true, honest};
        const Grown grown = grow_one(set, sampling, grow_options(criterion, n_thresholds));
        CHECK_EQ(grown.n_leaves(), 1u);
        CHECK_EQ(grown.leaf(0).size(), 1u);
        CHECK_EQ(grown.leaf(0)[0], 0u);
      }
}

TEST(grower_nothing_to_split_on) {
  TrainingSet constant(30, 3, 1, 6);
  TrainingSet all_missing(30, 3, 1, 7);
  std::ranges::fill(all_missing.feature.bins, Bin{1});
  TrainingSet same_time(30, 3, 8, 8);
  same_time.outcome = {};
  for (int i = 0; i < 30; ++i) same_time.outcome.push(1, true);
  for (const TrainingSet* set : {&constant, &all_missing, &same_time})
    for (const char* criterion : kCriteria)
      for (const int n_thresholds : kThresholds)
        for (const bool honest : {false, true}) {
          const Sampling sampling{30, 30, true, honest};
          const GrowOptions options = grow_options(criterion, n_thresholds);
          const Grown grown = grow_one(*set, sampling, options);
          CHECK_EQ(grown.n_leaves(), 1u);
          check_tree(*set, sampling, options, grown, 0);
        }
}

TEST(grower_weight_is_a_repeated_row) {
  // Every row three times, or once with weight 3: the same splits, by mean and by class.
  const TrainingSet once = mixed_set(50, 3, 9);
  TrainingSet weighted = once;
  weighted.weight.assign(50, 3);
  TrainingSet tripled = once;
  tripled.outcome = {};
  tripled.feature.n = 150;
  tripled.feature.bins.clear();
  for (std::size_t i = 0; i < 150; ++i) {
    tripled.outcome.push(once.outcome.time(i / 3), once.outcome.event[i / 3]);
    for (std::size_t f = 0; f < 3; ++f) tripled.feature.bins.push_back(once.feature.at(i / 3, f));
  }
  for (const char* criterion : kCriteria) {
    GrowOptions options = grow_options(criterion, 0);
    options.min_samples_leaf = 4;
    const Grown a = grow_one(weighted, weighted.everything(), options);
    options.min_samples_leaf = 12;
    const Grown b = grow_one(tripled, tripled.everything(), options);
    CHECK_EQ(a.n_leaves(), b.n_leaves());
    if (a.n_leaves() != b.n_leaves()) continue;
    for (std::size_t leaf = 0; leaf < a.n_leaves(); ++leaf) {
      CHECK_EQ(a.leaf(leaf).size() * 3, b.leaf(leaf).size());
      for (std::size_t i = 0; i < b.leaf(leaf).size() && i / 3 < a.leaf(leaf).size(); ++i)
        CHECK_EQ(b.leaf(leaf)[i] / 3, a.leaf(leaf)[i / 3]);
    }
  }
}

TEST(grower_large_weights) {
  // Weights that add up to just under 2^31; a power of two changes no comparison of scores.
  TrainingSet set = mixed_set(63, 3, 10);
  set.weight.assign(63, 1u << 25);
  TrainingSet light = set;
  light.weight.assign(63, 1);
  for (const char* criterion : {"mse", "quantile"}) {
    const GrowOptions options = grow_options(criterion, 0);
    const Grown a = grow_one(set, set.everything(), options);
    CHECK(a == grow_one(light, light.everything(), options));
  }
}

TEST(grower_heavy_rows_pull_the_split) {
  TrainingSet set(4, 2, 2, 11);
  set.outcome = {};
  for (const double t : {0.0, 1.0, 9.0, 10.0}) set.outcome.push(t, true);
  // Feature 0 separates {0, 1} from {9, 10}, feature 1 {0} from the others.
  set.feature.bins = {0, 0, 0, 1, 1, 1, 1, 1};
  GrowOptions options = grow_options("mse", 0);
  options.max_depth = 1;
  CHECK_EQ(grow_one(set, set.everything(), options).tree.nodes[0].feature, 0u);
  set.weight = {1000, 1000, 1, 1};
  CHECK_EQ(grow_one(set, set.everything(), options).tree.nodes[0].feature, 1u);
}

TEST(grower_panels_change_no_tree) {
  // Small and large nodes, missing values and categories, features in order and not.
  const std::size_t n = 150;
  const std::size_t p = 40;
  const TrainingSet set = mixed_set(n, p, 17);
  TrainingData data = set.data(set.bootstrap());
  Monitor monitor;
  for (const char* criterion : kCriteria)
    for (const int n_thresholds : kThresholds)
      for (const std::uint32_t max_features : {1u, 13u, 40u})
        for (const std::uint32_t min_leaf : {1u, 7u}) {
          GrowOptions options = grow_options(criterion, n_thresholds);
          options.max_features = max_features;
          options.min_samples_leaf = min_leaf;
          data.features.panels = {};
          const Grown by_rows = grow_one(*make_grower(data, options), data.sampling, 5);
          for (const std::size_t width : {std::size_t{1}, kLanes}) {
            const auto bins = make_panels(set.feature.bins.data(), n, p, width, monitor);
            data.features.panels = {bins.data(), n, width};
            CHECK(grow_one(*make_grower(data, options), data.sampling, 5) == by_rows);
          }
        }
}

TEST(grower_panels_are_chosen_by_size) {
  const std::size_t few = std::size_t{1} << 15;
  GrowOptions best = grow_options("mse", 0);
  GrowOptions random = grow_options("distribution", 1);
  for (const std::size_t n : {std::size_t{100}, few, few + 1}) {
    // Rows carry their bins.
    CHECK_EQ(panel_width(n, 32, best), 0u);
    CHECK_EQ(panel_width(n, 32, random), 0u);
    // All features in order.
    CHECK_EQ(panel_width(n, 33, random), kLanes);
    CHECK_EQ(panel_width(n, 33, best), n <= few ? 1u : 0u);
    GrowOptions some = random;
    some.max_features = 32;
    CHECK_EQ(panel_width(n, 33, some), n <= few ? 1u : 0u);
  }
}

TEST(grower_trees_depend_on_their_index_alone) {
  const TrainingSet set = mixed_set(80, 6, 12);
  for (const int n_thresholds : {0, 1}) {
    GrowOptions options = grow_options("logrank", n_thresholds);
    options.max_features = 2;
    for (const bool honest : {false, true}) {
      const Sampling sampling{80, 80, true, honest};
      const TrainingData data = set.data(sampling);
      std::vector<Grown> alone;
      for (std::uint64_t index = 0; index < 12; ++index)
        alone.push_back(grow_one(*make_grower(data, options), sampling, index));
      CHECK(!(alone[0] == alone[1]));
      for (const int n_threads : {1, 2, 8}) {
        std::vector<std::unique_ptr<TreeGrower>> growers(8);
        std::vector<Grown> grown(12);
        Monitor monitor;
        parallel_for(12, n_threads, monitor, [&](std::size_t index, int worker) {
          auto& grower = growers[static_cast<std::size_t>(worker)];
          if (!grower) grower = make_grower(data, options);
          grown[index].members.resize(members_per_tree(sampling));
          grown[index].tree = grower->grow(index, grown[index].members.data(), monitor);
          grown[index].members.resize(grown[index].tree.leaf_start.back());
        });
        for (std::size_t index = 0; index < 12; ++index) CHECK(grown[index] == alone[index]);
      }
    }
  }
}

TEST(grower_seeds_differ) {
  const TrainingSet set = mixed_set(80, 6, 13);
  GrowOptions options = grow_options("mse", 1);
  const Grown a = grow_one(set, set.bootstrap(), options, 1);
  ++options.seed;
  CHECK(!(a == grow_one(set, set.bootstrap(), options, 1)));
  CHECK(!(a == grow_one(set, set.bootstrap(), options, 0)));
}

TEST(grower_stops_in_the_middle_of_a_tree) {
  const TrainingSet set = mixed_set(200, 4, 14);
  const TrainingData data = set.data(set.bootstrap());
  const GrowOptions options = grow_options("mse", 0);
  const auto grower = make_grower(data, options);
  std::vector<Rank> members(200);
  Monitor stopped;
  stopped.stop();
  CHECK_THROWS(grower->grow(0, members.data(), stopped), Stopped);
  // A grower that was stopped grows the next tree as if nothing had happened.
  const Grown after = grow_one(*grower, data.sampling, 3);
  CHECK(after == grow_one(set, data.sampling, options, 3));
}

TEST(grower_poll_ends_a_batch_of_trees) {
  const TrainingSet set = mixed_set(100, 4, 15);
  const TrainingData data = set.data(set.bootstrap());
  const GrowOptions options = grow_options("mse", 0);
  for (const int n_threads : {1, 4}) {
    Monitor monitor([] { return true; });
    CHECK_THROWS(parallel_for(1'000'000, n_threads, monitor,
                              [&](std::size_t index, int) {
                                std::vector<Rank> members(100);
                                make_grower(data, options)->grow(index, members.data(), monitor);
                              }),
                 Stopped);
  }
}

TEST(grower_unknown_criterion) {
  const TrainingSet set(5, 1, 2, 16);
  const TrainingData data = set.data(set.everything());
  CHECK_THROWS(make_grower(data, grow_options("gini", 0)), std::invalid_argument);
}

TEST(grower_room_for_members) {
  CHECK_EQ(members_per_tree({10, 7, false, false}), 10u);
  CHECK_EQ(members_per_tree({10, 7, false, true}), 4u);
  CHECK_EQ(members_per_tree({10, 100, true, true}), 5u);
  CHECK_EQ(members_per_tree({1, 1, true, true}), 1u);
}
