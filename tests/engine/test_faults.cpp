// Memory that runs out, and workers that fail: std::bad_alloc or the worker's own error, every
// thread ended, nothing leaked (the address sanitizer looks), and the next call right.
#include <atomic>
#include <stdexcept>

#include "check.hpp"
#include "columns.hpp"
#include "data.hpp"
#include "failing_new.hpp"
#include "features/binning.hpp"
#include "prediction/grid_curve.hpp"
#include "prediction/predict.hpp"
#include "tuning/leaf_size.hpp"

using namespace cqrf;
using test::ForestData;
using test::Shortage;
using test::TrainingSet;

namespace {

constexpr int kThreads = 3;
constexpr std::size_t kRows = 40;
constexpr std::size_t kTrees = 5;

// Allocations of `work` fail in turn; with memory again, it does what it did before.
template <class Result>
void check_shortages(const std::function<Result()>& work, int at_least) {
  const Result expected = work();
  for (const Shortage shortage : {Shortage::kOnce, Shortage::kForGood}) {
    CHECK(test::fail_allocations(shortage, [&] { static_cast<void>(work()); }) >= at_least);
    CHECK(work() == expected);
  }
}

std::vector<Rank> grow(const TrainingSet& set, const std::string& criterion, int n_thresholds) {
  const TrainingData data = set.data(set.bootstrap());
  const GrowOptions options = test::grow_options(criterion, n_thresholds);
  std::vector<std::unique_ptr<TreeGrower>> growers(kThreads);
  std::vector<Rank> members(kTrees * kRows);
  Monitor monitor;
  parallel_for(kTrees, kThreads, monitor, [&](std::size_t tree, int worker) {
    auto& grower = growers[static_cast<std::size_t>(worker)];
    if (!grower) grower = make_grower(data, options);
    grower->grow(tree, members.data() + tree * kRows, monitor);
  });
  return members;
}

}  // namespace

TEST(faults_memory_while_threads_start) {
  const std::function<std::vector<int>()> work = [] {
    std::vector<int> done(50, 0);
    Monitor monitor;
    parallel_for(done.size(), 8, monitor, [&](std::size_t item, int) { ++done[item]; });
    return done;
  };
  check_shortages(work, 8);
}

TEST(faults_memory_while_binning) {
  std::vector<double> x(kRows * 3);
  std::vector<std::int64_t> rows(kRows);
  Random random(1);
  for (double& value : x) value = random.below(5);
  for (std::size_t i = 0; i < kRows; ++i) rows[i] = static_cast<std::int64_t>(i);
  const std::vector<std::int64_t> n_categories{0, 5, 0};
  const auto matrix = dense(x, kRows, 3, 3, 1);
  const std::function<std::vector<Bin>()> work = [&] {
    Monitor monitor;
    const auto features = find_bins(matrix, rows, {}, n_categories, 4, kThreads, monitor);
    std::vector<Bin> bins(kRows * 3);
    bin_rows(matrix, rows, features, bins.data(), kThreads, monitor);
    return bins;
  };
  check_shortages(work, 15);
}

TEST(faults_memory_while_growing) {
  TrainingSet set(kRows, 3, 6, 1);
  set.feature.categorical[1] = 1;
  for (const char* criterion : {"distribution", "mse", "quantile", "logrank"})
    for (const int n_thresholds : {0, 1}) {
      const std::function<std::vector<Rank>()> work = [&] {
        return grow(set, criterion, n_thresholds);
      };
      check_shortages(work, 30);
    }
}

TEST(faults_memory_while_choosing_the_leaf_size) {
  const TrainingSet set(kRows, 3, 6, 1);
  const TrainingData data = set.data(set.bootstrap());
  const std::function<std::vector<double>()> work = [&] {
    LeafSizeScorer scorer(data, test::grow_options("mse", 1), {2, 8, 41}, {0, 5, 9});
    Monitor monitor;
    scorer.add_trees(0, 12, kThreads, monitor);
    return scorer.losses();
  };
  check_shortages(work, 30);
}

// A forest, and rows for it to answer.
struct Ready {
  TrainingSet set{kRows, 3, 6, 1};
  ForestData arrays{set, set.bootstrap(), test::grow_options("mse", 1), kTrees};
  Forest forest = arrays.view();
  TargetView target = set.outcome.target();
  ForestSource source{forest, target, set.feature.bins};
};

TEST(faults_memory_while_predicting) {
  const Ready ready;
  const std::vector<double> levels{0.9, 0.5};
  const std::vector<double> points(kRows, 1.0);
  for (const char* kind : {"beran", "knn", "kernel", "marginal"}) {
    CensoringOptions censoring;
    censoring.kind = kind;
    censoring.n_neighbors = 9;
    censoring.train_points = points;
    censoring.test_points = points;
    censoring.n_coordinates = 1;
    const std::function<std::vector<double>()> work = [&] {
      std::vector<double> quantiles(kRows * levels.size());
      std::vector<std::uint8_t> identified(quantiles.size());
      const QuantileAnswer answer{ready.target,
                                  {Solver::kRoot, Interpolation::kMidpoint, false},
                                  levels,
                                  levels.size(),
                                  {},
                                  quantiles.data(),
                                  identified.data()};
      Monitor monitor;
      predict(ready.source, ready.target, censoring, answer, 8, kThreads, monitor);
      return quantiles;
    };
    check_shortages(work, 20);
  }
}

TEST(faults_memory_while_predicting_on_levels) {
  const Ready ready;
  const std::vector<double> levels{0.9, 0.5};
  for (const bool by_cells : {false, true}) {
    const std::function<std::vector<double>()> work = [&] {
      Monitor monitor;
      std::unique_ptr<const Cells> cells;
      if (by_cells) cells = std::make_unique<Cells>(ready.forest, 3, true, kThreads, monitor);
      const int shift = by_cells ? cells->level_shift() : 2;
      const std::vector<float> order = order_in_levels(ready.target.event, shift);
      std::vector<double> quantiles(kRows * levels.size());
      std::vector<std::uint8_t> identified(quantiles.size());
      const QuantileAnswer answer{ready.target,     {}, levels, levels.size(), {}, quantiles.data(),
                                  identified.data()};
      const Levels division{shift, cells.get(), order};
      predict_places(
          ready.source, [&] { return LevelCurve(ready.forest, ready.target, division); }, answer, 8,
          kThreads, monitor);
      return quantiles;
    };
    check_shortages(work, 20);
  }
}

TEST(faults_memory_while_predicting_on_a_grid) {
  const Ready ready;
  const std::vector<double> times{ready.target.times[3], ready.target.times[10]};
  for (const bool of_all : {false, true}) {
    const std::function<std::vector<double>()> work = [&] {
      Monitor monitor;
      std::vector<double> survival(kRows * times.size());
      const LevelGridAnswer answer(ready.target, times, false, survival.data());
      Grid grid(ready.target, answer.ranks(), true);
      if (of_all)
        grid.whole =
            std::make_shared<const Cells>(ready.forest, grid.bounds, true, kThreads, monitor);
      predict_places(
          ready.source, [&] { return GridCurve(ready.forest, ready.target, grid); }, answer, 8,
          kThreads, monitor);
      return survival;
    };
    check_shortages(work, 20);
  }
}

TEST(faults_memory_while_checking_a_forest) {
  const TrainingSet set(kRows, 3, 6, 1);
  const ForestData arrays(set, set.everything(), test::grow_options("mse", 0), kTrees);
  const std::function<bool()> work = [&] {
    arrays.validate();
    return true;
  };
  check_shortages(work, 3);
}

TEST(faults_asked_for_in_a_worker) {
  for (const Fault fault : {Fault::kMemory, Fault::kError})
    for (int after = 0; after < 4; ++after) {
      Monitor monitor;
      std::atomic<int> running{0};
      bool memory = false;
      bool error = false;
      fail_in_worker(fault, after);
      try {
        parallel_for(100, 5, monitor, [&](std::size_t, int) {
          ++running;
          std::this_thread::sleep_for(std::chrono::microseconds(20));
          --running;
        });
      } catch (const std::bad_alloc&) {
        memory = true;
      } catch (const std::runtime_error&) {
        error = true;
      }
      CHECK_EQ(memory, fault == Fault::kMemory);
      CHECK_EQ(error, fault == Fault::kError);
      CHECK_EQ(running.load(), 0);
    }
  // Only four workers were started beside the calling thread.
  fail_in_worker(Fault::kError, 4);
  Monitor monitor;
  parallel_for(100, 5, monitor, [](std::size_t, int) {});
  fail_in_worker(Fault::kError, -1);
}
