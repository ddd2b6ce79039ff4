#include "tuning/leaf_size.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>
#include <stdexcept>

#include "check.hpp"
#include "data.hpp"

using namespace cqrf;
using test::TrainingSet;

namespace {

constexpr std::size_t kRows = 130;
constexpr std::size_t kTrees = 9;
const std::vector<std::uint32_t> kSizes{3, 4, 7, 12, 30, 31, 60, 131};

TrainingSet make_set(bool weighted) {
  TrainingSet set(kRows, 4, 8, 1);
  set.feature.categorical[2] = 1;
  Random random(3);
  set.feature.lose(1, 4, random);
  for (std::size_t i = 0; weighted && i < kRows; ++i) set.weight.push_back(1 + random.below(4));
  return set;
}

std::vector<Rank> every_row() {
  std::vector<Rank> rows(kRows);
  std::iota(rows.begin(), rows.end(), Rank{0});
  return rows;
}

const std::vector<Sampling> kSamplings{{kRows, 82, false, false},
                                       {kRows, kRows, true, false},
                                       {kRows, 82, false, true},
                                       {kRows, kRows, true, true}};

std::vector<double> losses(const TrainingData& data, const GrowOptions& options,
                           const std::vector<std::uint32_t>& sizes, const std::vector<Rank>& rows,
                           const std::vector<std::size_t>& pieces, int n_threads) {
  LeafSizeScorer scorer(data, options, sizes, rows);
  Monitor monitor;
  std::uint64_t done = 0;
  for (const std::size_t count : pieces) {
    scorer.add_trees(done, count, n_threads, monitor);
    done += count;
  }
  return scorer.losses();
}

bool same_bits(const std::vector<double>& a, const std::vector<double>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0;
}

// u_k / sqrt(p_k (1 - p_k)) of a row, from the formula at the top of rules/indicators.hpp.
std::vector<double> slow_indicators(const Outcomes& outcomes, Rank rank) {
  const TimeIndex time = outcomes.time_index[rank];
  std::vector<double> columns;
  for (int k = 1; k <= 10; ++k) {
    TimeIndex threshold = 0;
    while (threshold + 1 < outcomes.survival.size() && outcomes.survival[threshold] > 1 - k / 11.0)
      ++threshold;
    const double p = outcomes.survival[threshold];
    double u = 1;
    if (threshold >= time) u = outcomes.event[rank] ? 0 : p / outcomes.survival[time];
    columns.push_back(p > 0 && p < 1 ? u / std::sqrt(p * (1 - p)) : 0);
  }
  return columns;
}

// A tree with its sample, to be walked slowly.
struct SlowTree {
  const TrainingData& data;
  TreeRows drawn;
  Tree tree;
  std::vector<std::vector<NodeId>> way;  // the nodes on every row's way down

  SlowTree(const TrainingData& training, const GrowOptions& options, std::uint64_t index)
      : data(training), drawn(draw_rows(data.sampling, options.seed, index)) {
    std::vector<Rank> members(members_per_tree(data.sampling));
    Monitor monitor;
    tree = make_grower(data, options)->grow(index, members.data(), monitor);
    for (const Rank rank : every_row()) way.push_back(walk(rank));
  }

  bool drew(Rank rank) const {
    const auto in = [&](const std::vector<Rank>& rows) {
      return std::find(rows.begin(), rows.end(), rank) != rows.end();
    };
    return in(drawn.growing) || in(drawn.filling);
  }

  std::vector<NodeId> walk(Rank rank) const {
    std::vector<NodeId> nodes{0};
    while (!tree.nodes[nodes.back()].leaf()) {
      const Node& node = tree.nodes[nodes.back()];
      const bool left = goes_left(node, data.features.row(rank)[node.feature], tree.subsets.data());
      nodes.push_back(left ? node.child : node.child + 1);
    }
    return nodes;
  }

  bool reaches(Rank rank, NodeId node) const {
    return std::find(way[rank].begin(), way[rank].end(), node) != way[rank].end();
  }

  // The first node on the way with fewer than `size` growing rows, or the leaf.
  NodeId answering(Rank rank, std::uint32_t size) const {
    for (const NodeId node : way[rank]) {
      std::uint32_t growing = 0;
      for (const Rank other : drawn.growing) growing += reaches(other, node);
      if (growing < size || tree.nodes[node].leaf()) return node;
    }
    return 0;
  }

  // The mean indicators of the members of a node without the row itself.
  std::vector<double> answer(Rank rank, NodeId node) const {
    std::vector<double> sum(10, 0);
    double total = 0;
    const std::vector<Rank> candidates = data.sampling.honest ? drawn.filling : every_row();
    for (const Rank other : candidates) {
      if (other == rank || !reaches(other, node)) continue;
      const double weight = data.weight.empty() ? 1 : data.weight[other];
      const auto columns = slow_indicators(data.outcomes, other);
      for (std::size_t k = 0; k < 10; ++k) sum[k] += weight * columns[k];
      total += weight;
    }
    for (double& s : sum) s /= total;
    return sum;
  }
};

// answer_of(tree, rank) for the trees that did not draw the row, against the row's own.
template <class AnswerOf>
double slow_loss(const std::vector<SlowTree>& trees, Rank rank, AnswerOf answer_of) {
  std::vector<double> sum(10, 0);
  double answered = 0;
  for (const SlowTree& tree : trees) {
    if (tree.drew(rank)) continue;
    const std::vector<double> answer = answer_of(tree, rank);
    for (std::size_t k = 0; k < 10; ++k) sum[k] += answer[k];
    ++answered;
  }
  const auto own = slow_indicators(trees.front().data.outcomes, rank);
  double loss = answered > 0 ? 0 : std::numeric_limits<double>::quiet_NaN();
  for (std::size_t k = 0; k < 10; ++k) loss += std::pow(sum[k] / answered - own[k], 2);
  return loss;
}

std::vector<SlowTree> slow_trees(const TrainingData& data, const GrowOptions& options,
                                 std::size_t count) {
  std::vector<SlowTree> trees;
  for (std::size_t t = 0; t < count; ++t) trees.emplace_back(data, options, t);
  return trees;
}

}  // namespace

TEST(leaf_size_losses_are_those_of_the_nodes_on_the_way) {
  // Every tenth row, in no order and one of them twice: walking is slow.
  std::vector<Rank> rows{129, 0, 0};
  for (Rank rank = 7; rank < kRows; rank += 10) rows.push_back(rank);
  for (const bool weighted : {false, true})
    for (const Sampling& sampling : kSamplings) {
      const TrainingSet set = make_set(weighted);
      const TrainingData data = set.data(sampling);
      GrowOptions options = test::grow_options("distribution", 1);
      options.min_samples_split = kSizes.front();
      const auto found = losses(data, options, kSizes, rows, {kTrees}, 2);
      CHECK_EQ(found.size(), rows.size() * kSizes.size());
      const auto trees = slow_trees(data, options, kTrees);
      for (std::size_t i = 0; i < rows.size(); ++i)
        for (std::size_t s = 0; s < kSizes.size(); ++s)
          CHECK_NEAR(found[i * kSizes.size() + s],
                     slow_loss(trees, rows[i],
                               [&](const SlowTree& tree, Rank rank) {
                                 return tree.answer(rank, tree.answering(rank, kSizes[s]));
                               }),
                     1e-12);
    }
}

TEST(leaf_size_losses_are_those_of_smaller_trees) {
  // Not of honest ones: their empty leaves are pruned after they have grown.
  for (const char* criterion : {"distribution", "mse", "quantile", "logrank"})
    for (const int n_thresholds : {0, 1})
      for (const Sampling& sampling : {kSamplings[0], kSamplings[1]}) {
        const TrainingSet set = make_set(true);
        const TrainingData data = set.data(sampling);
        GrowOptions options = test::grow_options(criterion, n_thresholds);
        options.max_features = 2;
        const std::vector<Rank> rows{0, 40, 41, 100, 129};
        const auto found = losses(data, options, kSizes, rows, {kTrees}, 1);
        for (std::size_t s = 0; s < kSizes.size(); ++s) {
          options.min_samples_split = kSizes[s];
          const auto trees = slow_trees(data, options, kTrees);
          for (std::size_t i = 0; i < rows.size(); ++i)
            CHECK_NEAR(found[i * kSizes.size() + s],
                       slow_loss(trees, rows[i],
                                 [](const SlowTree& tree, Rank rank) {
                                   return tree.answer(rank, tree.way[rank].back());
                                 }),
                       1e-12);
        }
      }
}

TEST(leaf_size_sizes_differ) {
  const TrainingSet set = make_set(false);
  const TrainingData data = set.data(kSamplings[0]);
  const auto found =
      losses(data, test::grow_options("distribution", 1), kSizes, every_row(), {kTrees}, 1);
  for (std::size_t s = 1; s < kSizes.size(); ++s) {
    // 30 and 31 may well be the same trees.
    if (kSizes[s] == 31) continue;
    double difference = 0;
    for (std::size_t row = 0; row < kRows; ++row)
      if (!std::isnan(found[row * kSizes.size()]))
        difference += std::abs(found[row * kSizes.size() + s] - found[row * kSizes.size() + s - 1]);
    CHECK(difference > 1);
  }
}

TEST(leaf_size_pieces_and_threads_do_not_matter) {
  for (const Sampling& sampling : kSamplings) {
    const TrainingSet set = make_set(true);
    const TrainingData data = set.data(sampling);
    const GrowOptions options = test::grow_options("distribution", 1);
    const auto expected = losses(data, options, kSizes, every_row(), {kTrees}, 1);
    for (const int n_threads : {1, 2, 3, 8}) {
      CHECK(same_bits(expected, losses(data, options, kSizes, every_row(), {kTrees}, n_threads)));
      CHECK(
          same_bits(expected, losses(data, options, kSizes, every_row(), {1, 5, 0, 3}, n_threads)));
    }
  }
}

TEST(leaf_size_smallest_size_is_that_of_the_sizes) {
  const TrainingSet set = make_set(false);
  const TrainingData data = set.data(kSamplings[0]);
  GrowOptions options = test::grow_options("mse", 0);
  const auto expected = losses(data, options, kSizes, every_row(), {kTrees}, 1);
  options.min_samples_split = 50;
  CHECK(same_bits(expected, losses(data, options, kSizes, every_row(), {kTrees}, 1)));
}

TEST(leaf_size_one_row_or_size_does_not_change_the_others) {
  const TrainingSet set = make_set(true);
  const TrainingData data = set.data(kSamplings[0]);
  const GrowOptions options = test::grow_options("distribution", 1);
  const auto all = losses(data, options, {3, 20, 131}, every_row(), {kTrees}, 1);
  const auto one = losses(data, options, {3, 131}, {77}, {kTrees}, 1);
  CHECK(same_bits(one, {all[77 * 3], all[77 * 3 + 2]}));
  CHECK(losses(data, options, kSizes, {}, {kTrees}, 2).empty());
}

TEST(leaf_size_rows_in_every_bag_have_no_loss) {
  const TrainingSet set = make_set(false);
  const GrowOptions options = test::grow_options("distribution", 1);
  const TrainingData all = set.data(set.everything());
  for (const double loss : losses(all, options, kSizes, every_row(), {kTrees}, 2))
    CHECK(std::isnan(loss));

  for (const Sampling& sampling : kSamplings) {
    const TrainingData data = set.data(sampling);
    const auto found = losses(data, options, kSizes, every_row(), {2}, 2);
    const auto trees = slow_trees(data, options, 2);
    std::size_t in_both = 0;
    for (Rank row = 0; row < kRows; ++row) {
      const bool drawn = trees[0].drew(row) && trees[1].drew(row);
      in_both += drawn;
      for (std::size_t s = 0; s < kSizes.size(); ++s)
        CHECK_EQ(std::isnan(found[row * kSizes.size() + s]), drawn);
    }
    CHECK(in_both > 0 && in_both < kRows);
  }
}

TEST(leaf_size_no_trees_no_losses) {
  const TrainingSet set = make_set(false);
  const TrainingData data = set.data(kSamplings[0]);
  for (const double loss :
       losses(data, test::grow_options("distribution", 1), kSizes, every_row(), {}, 1))
    CHECK(std::isnan(loss));
}

TEST(leaf_size_small_samples) {
  // One row or two: nothing is left of a leaf but the drawn row.
  for (const bool honest : {false, true})
    for (const std::size_t n_draws : {1, 2}) {
      const TrainingSet set(5, 1, 2, 4);
      const TrainingData data = set.data({5, n_draws, false, honest});
      const std::vector<std::uint32_t> sizes{2, 3, 6};
      for (const double loss :
           losses(data, test::grow_options("mse", 0), sizes, {0, 1, 2, 3, 4}, {40}, 1))
        CHECK(std::isfinite(loss));
    }
}

TEST(leaf_size_bad_arguments) {
  const TrainingSet set = make_set(false);
  const TrainingData data = set.data(kSamplings[0]);
  const GrowOptions options = test::grow_options("distribution", 1);
  using Scorer = LeafSizeScorer;
  CHECK_THROWS(Scorer(data, options, {}, {0}), std::invalid_argument);
  CHECK_THROWS(Scorer(data, options, {7, 3}, {0}), std::invalid_argument);
  CHECK_THROWS(Scorer(data, options, {3, 9, 8}, {0}), std::invalid_argument);
  CHECK_THROWS(Scorer(data, options, {3, 7}, {0, kRows}), std::invalid_argument);
  CHECK_THROWS(Scorer(data, options, {3, 7}, {0xffffffffu}), std::invalid_argument);
  Sampling grouped = kSamplings[0];
  grouped.group_size = 2;
  const TrainingData groups = set.data(grouped);
  CHECK_THROWS(Scorer(groups, options, {3, 7}, {0}), std::invalid_argument);
  Scorer unknown(data, test::grow_options("cox", 1), {3, 7}, {0});
  Monitor monitor;
  CHECK_THROWS(unknown.add_trees(0, 2, 2, monitor), std::invalid_argument);
}

TEST(leaf_size_stops) {
  const TrainingSet set = make_set(false);
  const TrainingData data = set.data(kSamplings[0]);
  LeafSizeScorer scorer(data, test::grow_options("distribution", 1), kSizes, every_row());
  Monitor monitor;
  monitor.stop();
  CHECK_THROWS(scorer.add_trees(0, 4, 2, monitor), Stopped);
  for (const double loss : scorer.losses()) CHECK(std::isnan(loss));
}
