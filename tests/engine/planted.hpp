// Forests whose leaves are planted, not grown: as large, and as far apart in time, as a test wants.
#pragma once

#include <algorithm>
#include <functional>
#include <vector>

#include "data.hpp"
#include "prediction/cells.hpp"

namespace cqrf::test {

enum class Planting { kAnywhere, kByTime };

struct Planted {
  OutcomeData outcome;
  ForestData arrays;
  Forest forest;
  TargetView target;

  // Leaves take rows as they come, or neighbouring ones, with a tenth of the others.
  Planted(OutcomeData data, std::size_t n_trees, std::uint32_t n_leaves, Planting planting,
          Random& random)
      : outcome(events_first(std::move(data))), arrays(without_trees()) {
    const std::size_t n = outcome.size();
    arrays.event = outcome.event;
    arrays.members_per_tree = n;
    for (std::size_t t = 0; t < n_trees; ++t) {
      std::vector<std::vector<Rank>> leaves(n_leaves);
      for (std::size_t rank = 0; rank < n; ++rank) {
        const bool anywhere = planting == Planting::kAnywhere || random.below(10) == 0;
        leaves[anywhere ? random.below(n_leaves) : rank * n_leaves / n].push_back(
            static_cast<Rank>(rank));
      }
      plant(leaves);
    }
    finish();
  }

  // One tree with the given leaves.
  Planted(OutcomeData data, const std::vector<std::vector<Rank>>& leaves)
      : outcome(events_first(std::move(data))), arrays(without_trees()) {
    arrays.event = outcome.event;
    arrays.members_per_tree = outcome.size();
    plant(leaves);
    finish();
  }

  Planted(const Planted&) = delete;  // the views point into the members

  bool censored() const { return std::ranges::count(outcome.event, 0) > 0; }

  // Any leaf of every tree, but the last one of the last.
  std::vector<LeafId> some_leaves(Random& random) const {
    std::vector<LeafId> ids;
    for (std::size_t t = 0; t < forest.n_trees(); ++t)
      ids.push_back(random.below(forest.n_leaves(t)));
    ids.back() = forest.n_leaves(forest.n_trees() - 1) - 1;
    return ids;
  }
  // One leaf of every tree: with leaves by time, those of the same part of it.
  std::vector<LeafId> same_leaf(LeafId id) const {
    return std::vector<LeafId>(forest.n_trees(), id);
  }

  std::vector<Leaf> leaves(const std::vector<LeafId>& ids) const {
    std::vector<Leaf> found;
    for (std::size_t t = 0; t < ids.size(); ++t) found.push_back(forest.leaf(t, ids[t]));
    return found;
  }

  std::vector<Cells::Found> found(const Cells& cells, const std::vector<LeafId>& ids) const {
    std::vector<Cells::Found> found;
    for (std::size_t t = 0; t < ids.size(); ++t) found.push_back(cells.find(forest, t, ids[t]));
    return found;
  }

  std::vector<std::vector<Rank>> members(const std::vector<LeafId>& ids) const {
    std::vector<std::vector<Rank>> found;
    std::vector<Rank> room;
    for (std::size_t t = 0; t < ids.size(); ++t) {
      const auto ranks = forest.leaf_members(t, ids[t], room);
      found.emplace_back(ranks.begin(), ranks.end());
    }
    return found;
  }

  // The sum over trees of 1{i in leaf} / leaf size, (n,).
  std::vector<double> weights(const std::vector<LeafId>& ids) const {
    std::vector<double> sum(outcome.size(), 0.0);
    for (const auto& ranks : members(ids))
      for (const Rank rank : ranks) sum[rank] += 1.0 / static_cast<double>(ranks.size());
    return sum;
  }

 private:
  // At the same time, as ranks are.
  static OutcomeData events_first(OutcomeData data) {
    for (std::size_t begin = 0, end = 0; begin < data.size(); begin = end) {
      while (end < data.size() && data.time_index[end] == data.time_index[begin]) ++end;
      std::sort(data.event.begin() + static_cast<std::ptrdiff_t>(begin),
                data.event.begin() + static_cast<std::ptrdiff_t>(end), std::greater<>());
    }
    return data;
  }

  static ForestData without_trees() {
    const TrainingSet seed(4, 1, 3, 1);
    return ForestData(seed, seed.everything(), grow_options("mse", 0), 0);
  }

  void plant(const std::vector<std::vector<Rank>>& leaves) {
    std::vector<Rank> ranks;
    arrays.leaf_start.push_back(0);
    for (const auto& leaf : leaves) {
      ranks.insert(ranks.end(), leaf.begin(), leaf.end());
      arrays.leaf_start.push_back(static_cast<std::uint32_t>(ranks.size()));
    }
    arrays.leaf_offset.push_back(static_cast<std::int64_t>(arrays.leaf_start.size()));
    arrays.node_offset.push_back(0);
    arrays.append_members(ranks);
  }

  // As large as it must be: the address sanitizer sees a read behind it.
  void finish() {
    arrays.low.shrink_to_fit();
    forest = arrays.view();
    target = outcome.target();
  }
};

}  // namespace cqrf::test
