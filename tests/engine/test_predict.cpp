#include <cstring>

#include "check.hpp"
#include "curves.hpp"
#include "prediction/permuted.hpp"
#include "prediction/predict.hpp"

using namespace cqrf;
using test::ForestData;
using test::OutcomeData;
using test::TrainingSet;

namespace {

constexpr std::size_t kRows = 130;
constexpr std::size_t kFeatures = 4;
constexpr std::size_t kTrees = 9;
const std::vector<double> kLevels{0.9, 0.5, 0.1};

struct Model {
  TrainingSet set;
  Sampling sampling;
  GrowOptions options;
  ForestData arrays;
  Forest forest;
  TargetView target;
  std::vector<double> train_points;
  std::vector<Bin> test_bins;
  std::vector<double> test_points;
  static constexpr std::size_t kTestRows = 75;

  explicit Model(bool honest = false, bool weighted = false)
      : set(make_set(weighted)),
        sampling{kRows, kRows, true, honest},
        options(test::grow_options("distribution", 0)),
        arrays(set, sampling, options, kTrees),
        forest(arrays.view()),
        target(set.outcome.target()) {
    Random random(2);
    for (std::size_t i = 0; i < kTestRows * kFeatures; ++i)
      test_bins.push_back(static_cast<Bin>(random.below(9)));  // 8 is the missing bin
    for (std::size_t i = 0; i < kRows; ++i) train_points.push_back(random.below(100) / 30.0);
    for (std::size_t i = 0; i < kTestRows; ++i) test_points.push_back(random.below(100) / 30.0);
  }
  Model(const Model&) = delete;

  static TrainingSet make_set(bool weighted) {
    TrainingSet set(kRows, kFeatures, 8, 1);
    set.feature.categorical[2] = 1;
    Random random(3);
    for (std::size_t i = 0; weighted && i < kRows; ++i) {
      set.weight.push_back(1 + random.below(4));
      set.outcome.weight.push_back(set.weight.back());
    }
    return set;
  }

  CensoringOptions censoring(const std::string& kind, std::span<const double> points) const {
    CensoringOptions options_ = test::censoring_options(kind);
    options_.n_neighbors = 20;
    options_.train_points = train_points;
    options_.test_points = points;
    options_.n_coordinates = 1;
    return options_;
  }

  ForestSource source() const { return {forest, target, test_bins}; }

  // The leaf of one row of bins, one step at a time.
  LeafId leaf_of(std::size_t tree, const Bin* row) const {
    const Node* nodes = forest.nodes.data() + forest.node_offset[tree];
    const BinSet* subsets = forest.subsets.data() + forest.subset_offset[tree];
    const Node* at = nodes;
    while (!at->leaf()) at = nodes + at->child + !goes_left(*at, row[at->feature], subsets);
    return at->index;
  }

  double weight(Rank rank) const { return target.weight.empty() ? 1 : target.weight[rank]; }

  // Paper eq. rf_weight over the trees for which `use` holds, without the row `left_out`.
  template <class Use>
  std::vector<double> slow_weights(const Bin* row, Use use, std::size_t left_out) const {
    std::vector<double> sum(kRows, 0);
    double trees = 0;
    std::vector<Rank> room;
    for (std::size_t t = 0; t < kTrees; ++t) {
      if (!use(t)) continue;
      double size = 0;
      const auto members = forest.leaf_members(t, leaf_of(t, row), room);
      for (const Rank rank : members)
        if (rank != left_out) size += weight(rank);
      if (size == 0) continue;
      ++trees;
      for (const Rank rank : members)
        if (rank != left_out) sum[rank] += weight(rank) / size;
    }
    for (double& w : sum)
      if (trees > 0) w /= trees;
    return sum;
  }

  std::vector<std::uint64_t> in_bag() const {
    constexpr std::size_t words = (kRows + 63) / 64;
    std::vector<std::uint64_t> bits(kTrees * words, 0);
    for (std::size_t t = 0; t < kTrees; ++t)
      for (const Rank rank : draw_rows({kRows, kRows, true, false}, options.seed, t).growing)
        bits[t * words + rank / 64] |= std::uint64_t{1} << rank % 64;
    return bits;
  }
};

template <class Source>
std::vector<double> quantiles(const Source& source, const TargetView& target,
                              const CensoringOptions& censoring, std::size_t block_size,
                              int n_threads) {
  std::vector<double> answers(source.rows() * kLevels.size(), NAN);
  std::vector<std::uint8_t> identified(answers.size(), 0);
  const QuantileAnswer answer{target,           {}, kLevels, kLevels.size(), {}, answers.data(),
                              identified.data()};
  Monitor monitor;
  predict(source, target, censoring, answer, block_size, n_threads, monitor);
  return answers;
}

template <class Source>
std::vector<std::vector<RankWeight>> weights(const Source& source, const TargetView& target) {
  std::vector<std::vector<RankWeight>> rows(source.rows());
  Monitor monitor;
  predict(source, target, {}, WeightAnswer{rows}, 16, 2, monitor);
  return rows;
}

void check_weights(const std::vector<RankWeight>& found, const std::vector<double>& expected) {
  std::vector<double> dense(expected.size(), 0);
  for (const auto& [rank, weight] : found) dense[rank] = weight;
  for (std::size_t i = 0; i < dense.size(); ++i) CHECK_NEAR(dense[i], expected[i], 1e-14);
}

bool same_bits(const std::vector<double>& a, const std::vector<double>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0;
}

}  // namespace

TEST(predict_weights_are_means_over_trees) {
  for (const bool honest : {false, true})
    for (const bool weighted : {false, true}) {
      const Model model(honest, weighted);
      const auto found = weights(model.source(), model.target);
      CHECK_EQ(found.size(), Model::kTestRows);
      for (std::size_t row = 0; row < found.size(); ++row)
        check_weights(found[row], model.slow_weights(
                                      model.test_bins.data() + row * kFeatures,
                                      [](std::size_t) { return true; }, kRows));
    }
}

TEST(predict_does_not_depend_on_threads_and_blocks) {
  const Model model(false, true);
  for (const char* kind : {"beran", "knn", "marginal", "kernel"}) {
    const auto censoring = model.censoring(kind, model.test_points);
    const auto expected = quantiles(model.source(), model.target, censoring, 1000, 1);
    for (const double q : expected) CHECK(std::isfinite(q));
    for (const int n_threads : {1, 2, 8})
      for (const std::size_t block_size : {1, 7, 64, 75, 1000})
        CHECK(same_bits(expected,
                        quantiles(model.source(), model.target, censoring, block_size, n_threads)));
  }
}

TEST(predict_quantiles_are_those_of_the_weights) {
  const Model model;
  const auto found = quantiles(model.source(), model.target, {}, 10, 2);
  for (std::size_t row = 0; row < Model::kTestRows; ++row) {
    const auto slow = test::slow_curve(
        model.set.outcome,
        model.slow_weights(
            model.test_bins.data() + row * kFeatures, [](std::size_t) { return true; }, kRows));
    for (std::size_t j = 0; j < kLevels.size(); ++j)
      CHECK_NEAR(found[row * kLevels.size() + j],
                 test::slow_quantile(slow, kLevels[j], Interpolation::kMidpoint).value, 1e-9);
  }
}

TEST(predict_out_of_bag_leaves_the_row_out) {
  for (const bool honest : {false, true})
    for (const bool weighted : {false, true}) {
      const Model model(honest, weighted);
      const auto in_bag = model.in_bag();
      const OutOfBagSource source(model.forest, model.target, model.set.feature.bins, in_bag);
      const auto found = weights(source, model.target);
      CHECK_EQ(found.size(), kRows);
      for (std::size_t row = 0; row < kRows; ++row) {
        const auto unseen = [&](std::size_t t) {
          return !((in_bag[t * 3 + row / 64] >> row % 64) & 1);
        };
        check_weights(
            found[row],
            model.slow_weights(model.set.feature.bins.data() + row * kFeatures, unseen, row));
        for (const auto& w : found[row]) CHECK(w.rank != row);
      }
      const auto expected = quantiles(source, model.target, {}, 1000, 1);
      for (const int n_threads : {2, 8})
        CHECK(same_bits(expected, quantiles(source, model.target, {}, 9, n_threads)));
    }
}

TEST(predict_row_in_every_bag_has_no_answer) {
  const Model model;
  const std::vector<std::uint64_t> in_bag(kTrees * 3, ~std::uint64_t{0});
  const OutOfBagSource source(model.forest, model.target, model.set.feature.bins, in_bag);
  for (const double q : quantiles(source, model.target, {}, 16, 2)) CHECK(std::isnan(q));
}

TEST(predict_permuted_borrows_values) {
  for (const std::vector<std::uint8_t>& permuted :
       {std::vector<std::uint8_t>{0, 1, 0, 0}, {1, 0, 1, 1}, {0, 0, 0, 0}}) {
    const Model model(false, true);
    const auto& bins = model.set.feature.bins;
    const auto in_bag = model.in_bag();
    const OutOfBagSource rows(model.forest, model.target, bins, in_bag);
    // Rows that come several times in a row, once, or again later.
    std::vector<Rank> ranks, donors;
    Random random(6);
    for (std::size_t i = 0; i < 200; ++i) {
      const bool again = !ranks.empty() && random.below(3) > 0;
      ranks.push_back(again ? ranks.back() : static_cast<Rank>(random.below(kRows)));
      donors.push_back(static_cast<Rank>(random.below(kRows)));
    }
    const PermutedSource source(rows, permuted, ranks, donors);
    const auto found = weights(source, model.target);
    CHECK_EQ(found.size(), ranks.size());
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      std::vector<Bin> mixed(kFeatures);
      for (std::size_t j = 0; j < kFeatures; ++j)
        mixed[j] = bins[(permuted[j] ? donors[i] : ranks[i]) * kFeatures + j];
      const auto unseen = [&](std::size_t t) { return !rows.drew(t, ranks[i]); };
      check_weights(found[i], model.slow_weights(mixed.data(), unseen, ranks[i]));
    }
    const auto expected = quantiles(source, model.target, {}, 1000, 1);
    for (const int n_threads : {2, 8})
      CHECK(same_bits(expected, quantiles(source, model.target, {}, 7, n_threads)));
  }
}

TEST(predict_matrix_adds_duplicates) {
  OutcomeData data;
  for (const double t : {1.0, 2.0, 3.0}) data.push(t, true);
  data.order = {2, 0, 1};
  const std::vector<Rank> rank{1, 2, 0};
  // Row 0 twice, a zero and a negative weight; an empty row; a row of nothing but zeros; row 2.
  const std::vector<std::int64_t> indptr{0, 5, 5, 6, 7};
  const std::vector<std::int64_t> indices{0, 2, 0, 1, 1, 0, 2};
  const std::vector<double> values{1, 2, 1, 0, -3, 0, 0.1};
  const MatrixSource source(indptr, indices, values, rank);
  CHECK_EQ(source.rows(), 4u);
  const TargetView target = data.target();
  const auto found = weights(source, target);
  check_weights(found[0], {0.5, 0.5, 0});
  CHECK(found[1].empty());
  CHECK(found[2].empty());
  check_weights(found[3], {1, 0, 0});
  const auto answers = quantiles(source, target, {}, 2, 2);
  CHECK_EQ(answers[1], 1.5);
  for (std::size_t j = 3; j < 9; ++j) CHECK(std::isnan(answers[j]));
  CHECK_EQ(answers[10], 1.0);
}

TEST(predict_condition_of_every_row) {
  const Model model;
  std::vector<double> after(Model::kTestRows);
  for (std::size_t row = 0; row < after.size(); ++row)
    after[row] = row % 3 == 0 ? NAN : static_cast<double>(row);
  std::vector<double> answers(after.size() * kLevels.size(), NAN);
  std::vector<std::uint8_t> identified(answers.size(), 0);
  const QuantileAnswer answer{model.target,     {}, kLevels, kLevels.size(), after, answers.data(),
                              identified.data()};
  Monitor monitor;
  predict(model.source(), model.target, {}, answer, 8, 2, monitor);
  const auto plain = quantiles(model.source(), model.target, {}, 8, 1);
  for (std::size_t row = 0; row < after.size(); ++row)
    for (std::size_t at = row * 3; at < row * 3 + 3; ++at) {
      if (std::isnan(after[row]))
        CHECK_EQ(answers[at], plain[at]);
      else
        CHECK(answers[at] >= after[row]);
    }
}

// By the leaves of the first tree and of the second; a few rows stay as they are.
TEST(rows_that_are_alike_follow_each_other) {
  const Model model;
  const auto order = model.source().order();
  auto sorted = order;
  std::ranges::sort(sorted);
  CHECK(sorted == in_given_order(Model::kTestRows));
  CHECK(order != sorted);
  const auto leaves = [&](std::size_t row) {
    const Bin* const bins = model.test_bins.data() + row * model.forest.n_features();
    return std::array{model.leaf_of(0, bins), model.leaf_of(1, bins)};
  };
  for (std::size_t i = 1; i < order.size(); ++i) {
    CHECK(leaves(order[i - 1]) <= leaves(order[i]));
    if (leaves(order[i - 1]) == leaves(order[i])) CHECK(order[i - 1] < order[i]);
  }
  const auto few = std::span(model.test_bins).first(20 * model.forest.n_features());
  CHECK(ForestSource(model.forest, model.target, few).order() == in_given_order(20));
}

TEST(predict_with_leaves_found_before) {
  const Model model;
  const std::size_t trees = model.forest.n_trees();
  std::vector<LeafId> leaves(Model::kTestRows * trees);
  for (std::size_t row = 0; row < Model::kTestRows; ++row)
    for (std::size_t t = 0; t < trees; ++t)
      leaves[row * trees + t] =
          model.leaf_of(t, model.test_bins.data() + row * model.forest.n_features());
  const ForestSource finding(model.forest, model.target, model.test_bins);
  const ForestSource knowing(model.forest, model.target, model.test_bins, leaves);
  CHECK(knowing.order() == finding.order());
  CHECK(quantiles(knowing, model.target, {}, 16, 2) == quantiles(finding, model.target, {}, 16, 2));
  // They are believed: those of other rows have other answers.
  std::rotate(leaves.begin(), leaves.begin() + static_cast<std::ptrdiff_t>(trees), leaves.end());
  CHECK(quantiles(knowing, model.target, {}, 16, 2) != quantiles(finding, model.target, {}, 16, 2));
}

TEST(predict_no_rows) {
  const Model model;
  const ForestSource source(model.forest, model.target, {});
  for (const int n_threads : {1, 4})
    CHECK(quantiles(source, model.target, {}, 16, n_threads).empty());
}

TEST(predict_one_training_row) {
  TrainingSet set(1, 1, 2, 5);
  const ForestData arrays(set, set.bootstrap(), test::grow_options("logrank", 1), 3);
  const Forest forest = arrays.view();
  const TargetView target = set.outcome.target();
  const std::vector<Bin> bins{0, 1, 2};
  for (const double q : quantiles(ForestSource(forest, target, bins), target, {}, 2, 2))
    CHECK_EQ(q, target.times[0]);
}

TEST(predict_stops) {
  const Model model;
  std::vector<std::vector<RankWeight>> rows(Model::kTestRows);
  Monitor monitor;
  monitor.stop();
  CHECK_THROWS(predict(model.source(), model.target, {}, WeightAnswer{rows}, 4, 2, monitor),
               Stopped);
  for (const auto& row : rows) CHECK(row.empty());
}

TEST(predict_on_levels_does_not_depend_on_threads_and_blocks) {
  const Model model;
  Monitor monitor;
  const Cells cells(model.forest, 3, true, 2, monitor);
  for (const Cells* used : {static_cast<const Cells*>(nullptr), &cells}) {
    const int shift = used ? used->level_shift() : 2;
    const auto order = order_in_levels(model.target.event, shift);
    const auto ask = [&](std::size_t block_size, int n_threads) {
      std::vector<double> answers(Model::kTestRows * kLevels.size(), NAN);
      std::vector<std::uint8_t> identified(answers.size(), 0);
      const QuantileAnswer answer{model.target,     {}, kLevels, kLevels.size(), {}, answers.data(),
                                  identified.data()};
      const Levels levels{shift, used, order};
      predict_places(
          model.source(), [&] { return LevelCurve(model.forest, model.target, levels); }, answer,
          block_size, n_threads, monitor);
      return answers;
    };
    const auto expected = ask(1000, 1);
    for (const double q : expected) CHECK(std::isfinite(q));
    for (const int n_threads : {1, 2, 8})
      for (const std::size_t block_size : {1, 7, 64, 75, 1000})
        CHECK(same_bits(expected, ask(block_size, n_threads)));
  }
}

TEST(predict_on_levels_stops) {
  const Model model;
  const auto order = order_in_levels(model.target.event, 2);
  std::vector<double> means(Model::kTestRows, NAN);
  const Levels levels{2, nullptr, order};
  const LevelMeanAnswer answer(model.target, &levels, 20.0, false, means.data());
  Monitor monitor;
  monitor.stop();
  const auto on_levels = [&] { return LevelCurve(model.forest, model.target, levels); };
  CHECK_THROWS(predict_places(model.source(), on_levels, answer, 4, 2, monitor), Stopped);
  for (const double mean : means) CHECK(std::isnan(mean));
}

TEST(predict_errors_of_workers_reach_the_caller) {
  const Model model;
  std::vector<std::vector<RankWeight>> rows(Model::kTestRows);
  Monitor monitor;
  CHECK_THROWS(predict(model.source(), model.target, test::censoring_options("cox"),
                       WeightAnswer{rows}, 4, 4, monitor),
               std::invalid_argument);
}
