// Small random training sets for the tests.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "prediction/curve.hpp"
#include "prediction/forest.hpp"
#include "random.hpp"
#include "search/node.hpp"
#include "tree/grower.hpp"

namespace cqrf::test {

// Outcomes in time order, with ties; times are k + 1/2 for k = 0, 1, ...
struct OutcomeData {
  std::vector<double> times;
  std::vector<TimeIndex> time_index;
  std::vector<std::uint8_t> event;
  std::vector<double> weight;
  std::vector<std::int64_t> order;
  mutable std::vector<double> survival;  // marginal, computed when the outcomes are asked for

  OutcomeData() = default;
  OutcomeData(std::size_t n, std::uint32_t distinct, double share_of_events, Random& random) {
    std::vector<std::uint32_t> drawn(n);
    for (auto& d : drawn) d = random.below(distinct);
    std::sort(drawn.begin(), drawn.end());
    std::vector<std::uint8_t> kind;
    for (std::size_t i = 0; i < n; ++i)
      kind.push_back(random.below(1000) < 1000 * share_of_events ? 1 : 0);
    for (std::size_t i = 0; i < n; ++i) push(drawn[i] + 0.5, kind[i]);
    shuffle_order(random);
  }

  // Times must come in ascending order.
  void push(double time, bool is_event) {
    if (times.empty() || times.back() < time) times.push_back(time);
    time_index.push_back(static_cast<TimeIndex>(times.size() - 1));
    event.push_back(is_event);
    order.push_back(static_cast<std::int64_t>(order.size()));
  }

  void shuffle_order(Random& random) {
    for (std::size_t i = order.size(); i > 1; --i)
      std::swap(order[i - 1], order[random.below(static_cast<std::uint32_t>(i))]);
  }

  std::size_t size() const { return event.size(); }
  double time(std::size_t rank) const { return times[time_index[rank]]; }
  // `total_weight` is no less than the weights of any rows that are looked at.
  Outcomes outcomes(std::uint64_t total_weight) const {
    survival.assign(times.size(), 1.0);
    double current = 1;
    for (std::size_t k = 0, begin = 0; k < times.size(); ++k) {
      const double at_risk = static_cast<double>(size() - begin);
      double events = 0;
      for (; begin < size() && time_index[begin] == k; ++begin) events += event[begin];
      survival[k] = current *= 1 - events / at_risk;
    }
    return {times, time_index, event, survival, total_weight};
  }
  TargetView target() const { return {times, time_index, event, weight, order}; }
};

// Binned features. The array is exactly as large as it must be, so that the address sanitizer
// sees a read behind it.
struct FeatureData {
  std::size_t n;
  std::size_t p;
  std::vector<Bin> bins;
  std::vector<Bin> missing;
  std::vector<std::uint8_t> categorical;

  FeatureData(std::size_t n_rows, std::size_t n_features, std::uint32_t n_bins, Random& random)
      : n(n_rows),
        p(n_features),
        bins(n * p),
        missing(p, static_cast<Bin>(n_bins)),
        categorical(p, 0) {
    for (Bin& bin : bins) bin = static_cast<Bin>(random.below(n_bins));
  }

  // One in `one_in` values of a feature becomes missing.
  void lose(std::size_t feature, std::uint32_t one_in, Random& random) {
    for (std::size_t i = 0; i < n; ++i)
      if (random.below(one_in) == 0) bins[i * p + feature] = missing[feature];
  }

  Bin at(std::size_t rank, std::size_t feature) const { return bins[rank * p + feature]; }
  BinnedFeatures view() const { return {bins.data(), p, missing, categorical}; }
};

// What a forest of a few trees is grown from.
struct TrainingSet {
  OutcomeData outcome;
  FeatureData feature;
  std::vector<std::uint32_t> weight;

  TrainingSet(std::size_t n, std::size_t p, std::uint32_t n_bins, std::uint64_t key)
      : TrainingSet(n, p, n_bins, Random(key)) {}

  TrainingData data(const Sampling& sampling) const {
    const std::uint64_t heaviest =
        weight.empty() ? 1 : *std::max_element(weight.begin(), weight.end());
    return {feature.view(),
            outcome.outcomes(std::max(sampling.n_rows, sampling.n_draws) * heaviest), weight,
            sampling};
  }
  Sampling everything() const { return {feature.n, feature.n, false, false}; }
  Sampling bootstrap() const { return {feature.n, feature.n, true, false}; }

 private:
  TrainingSet(std::size_t n, std::size_t p, std::uint32_t n_bins, Random random)
      : outcome(n, static_cast<std::uint32_t>(n), 0.6, random), feature(n, p, n_bins, random) {}
};

inline GrowOptions grow_options(const std::string& criterion, int n_thresholds) {
  return {criterion, n_thresholds, 2, 1, 0xffffffffu, 0xffffffffu, 42};
}

// The arrays of a forest.
struct ForestData {
  std::vector<Node> nodes;
  std::vector<std::int64_t> node_offset{0};
  std::vector<BinSet> subsets;
  std::vector<std::int64_t> subset_offset{0};
  std::vector<std::uint32_t> leaf_start;
  std::vector<std::int64_t> leaf_offset{0};
  std::vector<std::uint16_t> low;
  std::vector<std::uint8_t> block;
  std::vector<std::uint8_t> block_high;
  std::vector<std::uint16_t> block_counts;
  std::size_t members_per_tree;
  std::vector<Bin> missing;
  std::vector<std::uint8_t> event;

  ForestData(const TrainingSet& set, const Sampling& sampling, const GrowOptions& options,
             std::size_t n_trees)
      : members_per_tree(cqrf::members_per_tree(sampling)),
        missing(set.feature.missing),
        event(set.outcome.event) {
    const TrainingData data = set.data(sampling);
    const auto grower = make_grower(data, options);
    Monitor monitor;
    std::vector<Rank> ranks(members_per_tree);
    for (std::size_t t = 0; t < n_trees; ++t) {
      const Tree tree = grower->grow(t, ranks.data(), monitor);
      append(nodes, node_offset, tree.nodes);
      append(subsets, subset_offset, tree.subsets);
      append(leaf_start, leaf_offset, tree.leaf_start);
      append_members(std::span(ranks).first(tree.leaf_start.back()));
    }
  }

  // The leaves of one tree, given as ranks; of which the last `members_per_tree` - size are unused.
  void append_members(std::span<const Rank> ranks) {
    const std::size_t at = low.size();
    const int bytes = block_bytes(event.size());
    low.resize(at + members_per_tree);
    if (bytes > 0) block.resize(low.size());
    if (bytes > 1) block_high.resize(low.size());
    const MemberRoom room{low.data() + at, bytes > 0 ? block.data() + at : nullptr,
                          bytes > 1 ? block_high.data() + at : nullptr};
    for (std::size_t i = 0; i < ranks.size(); ++i) room.put(i, ranks[i], event[ranks[i]]);
  }

  // Leaves count their members by block, instead of a block for each member.
  void count_blocks() {
    const Forest forest = view();
    for (std::size_t t = 0; t < forest.n_trees(); ++t)
      for (LeafId id = 0; id < forest.n_leaves(t); ++id) {
        const Leaf leaf = forest.leaf(t, id);
        std::vector<std::uint16_t> counts(forest.members.n_blocks, 0);
        for (std::size_t i = 0; i < leaf.size; ++i)
          ++counts[forest.members.block_of(leaf.first + i)];
        block_counts.insert(block_counts.end(), counts.begin(), counts.end());
      }
    block.clear();
    block_high.clear();
  }

  Forest view() const {
    const PackedMembers members{
        low, block, block_high, block_counts, members_per_tree, n_blocks(event.size())};
    return {nodes,       node_offset, subsets, subset_offset, leaf_start,
            leaf_offset, members,     missing, event.size()};
  }
  void validate() const { view().validate(event); }

 private:
  template <class T>
  static void append(std::vector<T>& all, std::vector<std::int64_t>& offset,
                     const std::vector<T>& one) {
    all.insert(all.end(), one.begin(), one.end());
    offset.push_back(static_cast<std::int64_t>(all.size()));
  }
};

}  // namespace cqrf::test
