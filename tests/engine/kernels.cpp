// The main loops of the engine, alone, for counting instructions and for profiles:
//
//   kernels NAME      runs one and prints its name, units of work and seconds
//
// Set-up stays outside of the `kernel_*` functions, so that callgrind counts the loops only
// (benchmarks/instructions.py).
#include <chrono>
#include <cstdio>
#include <cstring>
#include <functional>

#include "data.hpp"
#include "parallel.hpp"
#include "prediction/grid_curve.hpp"
#include "prediction/predict.hpp"

using namespace cqrf;
using test::ForestData;
using test::TrainingSet;

namespace {

constexpr std::size_t kRows = 20'000;
constexpr std::size_t kFeatures = 10;
constexpr std::size_t kTestRows = 128;
constexpr std::size_t kGrown = 4;   // trees that are grown by the kernels
constexpr std::size_t kTrees = 40;  // of the forest that is asked

const TrainingSet& training_set() {
  static const TrainingSet set(kRows, kFeatures, 255, 1);
  return set;
}

GrowOptions best_cuts() { return {"mse", 0, 2, 50, 0xffffffffu, kFeatures / 3, 42}; }
GrowOptions random_cuts() { return {"distribution", 1, 100, 1, 0xffffffffu, kFeatures, 42}; }

const ForestData& forest() {
  static const ForestData grown(training_set(), training_set().everything(), random_cuts(), kTrees);
  return grown;
}

Levels levels() {
  static const int shift = level_shift(kRows, 8192);
  static const std::vector<float> order = order_in_levels(training_set().outcome.event, shift);
  return {shift, nullptr, order};
}

// As if nothing was censored.
const Cells& cells() {
  static const Cells made = [] {
    Monitor monitor;
    return Cells(forest().view(), 8, false, 1, monitor);
  }();
  return made;
}

std::span<const Bin> test_bins() {
  return std::span(training_set().feature.bins).first(kTestRows * kFeatures);
}

}  // namespace

// A name that callgrind can be told, and no inlining into the set-up.
#define KERNEL extern "C" __attribute__((noinline)) void

KERNEL kernel_grow(TreeGrower& grower, Rank* members) {
  Monitor monitor;
  for (std::size_t t = 0; t < kGrown; ++t) grower.grow(t, members, monitor);
}

KERNEL kernel_route(const ForestSource& source, std::span<const std::size_t> rows, Block& block) {
  source.prepare(rows, block);
}

KERNEL kernel_predict(const ForestSource& source, const TargetView& target,
                      const QuantileAnswer& answer) {
  Monitor monitor;
  CensoringOptions beran;
  beran.needs_censoring = false;
  predict(source, target, beran, answer, 64, 1, monitor);
}

KERNEL kernel_predict_on_levels(const ForestSource& source, const TargetView& target,
                                const QuantileAnswer& answer) {
  Monitor monitor;
  const Levels division = levels();
  predict_places(
      source, [&] { return LevelCurve(source.forest(), target, division); }, answer, 64, 1,
      monitor);
}

KERNEL kernel_predict_on_ranks(const ForestSource& source, const TargetView& target,
                               const QuantileAnswer& answer) {
  Monitor monitor;
  predict_places(
      source, [&] { return RankCurve(source.forest(), target); }, answer, 64, 1, monitor);
}

KERNEL kernel_predict_on_cells(const ForestSource& source, const TargetView& target,
                               const QuantileAnswer& answer) {
  Monitor monitor;
  predict_places(
      source, [&] { return CellCurve(source.forest(), target, cells()); }, answer, 64, 1, monitor);
}

KERNEL kernel_survival_on_grid(const ForestSource& source, const TargetView& target,
                               const Grid& grid, const LevelGridAnswer& answer) {
  Monitor monitor;
  predict_places(
      source, [&] { return GridCurve(source.forest(), target, grid); }, answer, 64, 1, monitor);
}

KERNEL kernel_validate(const ForestData& grown) { grown.validate(); }

namespace {

struct Kernel {
  const char* name;
  double units;
  std::function<std::function<void()>()> prepare;
};

std::function<void()> growing(const GrowOptions& options) {
  const Sampling sampling = training_set().everything();
  auto data = std::make_shared<TrainingData>(training_set().data(sampling));
  std::shared_ptr<TreeGrower> grower = make_grower(*data, options);
  auto members = std::make_shared<std::vector<Rank>>(members_per_tree(sampling));
  return [=] { kernel_grow(*grower, members->data()); };
}

enum class Answering { kRoute, kPredict, kPredictOnLevels, kPredictOnRanks, kPredictOnCells };

std::function<void()> answering(Answering what) {
  static constexpr std::array kLevels{0.9, 0.7, 0.5, 0.3, 0.1};
  const auto view = std::make_shared<Forest>(forest().view());
  const auto target = std::make_shared<TargetView>(training_set().outcome.target());
  const auto source = std::make_shared<ForestSource>(*view, *target, test_bins());
  if (what == Answering::kRoute)
    return [=, v = view, t = target, rows = in_given_order(source->rows()),
            block = std::make_shared<Block>()] { kernel_route(*source, rows, *block); };
  levels();
  cells();
  auto quantiles = std::make_shared<std::vector<double>>(kTestRows * kLevels.size());
  auto identified = std::make_shared<std::vector<std::uint8_t>>(kTestRows * kLevels.size());
  return [=, v = view, t = target] {
    const QuantileAnswer answer{*t,
                                {Solver::kRoot, Interpolation::kMidpoint, false},
                                kLevels,
                                kLevels.size(),
                                {},
                                quantiles->data(),
                                identified->data()};
    const auto kernel = what == Answering::kPredict           ? kernel_predict
                        : what == Answering::kPredictOnLevels ? kernel_predict_on_levels
                        : what == Answering::kPredictOnRanks  ? kernel_predict_on_ranks
                                                              : kernel_predict_on_cells;
    kernel(*source, *t, answer);
  };
}

// Between 49 times.
std::function<void()> survival_on_grid() {
  const auto view = std::make_shared<Forest>(forest().view());
  const auto target = std::make_shared<TargetView>(training_set().outcome.target());
  const auto source = std::make_shared<ForestSource>(*view, *target, test_bins());
  std::vector<double> times;
  for (std::size_t k = 1; k < 50; ++k)
    times.push_back(target->times[k * target->times.size() / 50]);
  auto survival = std::make_shared<std::vector<double>>(kTestRows * times.size());
  const auto answer = std::make_shared<LevelGridAnswer>(*target, times, false, survival->data());
  return [=, v = view, s = survival] {
    Monitor monitor;
    Grid grid(*target, answer->ranks(), true);
    grid.whole = std::make_shared<const Cells>(*v, grid.bounds, true, 1, monitor);
    kernel_survival_on_grid(*source, *target, grid, *answer);
  };
}

const Kernel kKernels[] = {
    {"grow_best_cuts", kRows * kGrown, [] { return growing(best_cuts()); }},
    {"grow_random_cuts", kRows * kGrown, [] { return growing(random_cuts()); }},
    {"route", kTestRows * kTrees, [] { return answering(Answering::kRoute); }},
    {"predict", kTestRows * kTrees, [] { return answering(Answering::kPredict); }},
    {"predict_on_levels", kTestRows * kTrees,
     [] { return answering(Answering::kPredictOnLevels); }},
    {"predict_on_ranks", kTestRows * kTrees, [] { return answering(Answering::kPredictOnRanks); }},
    {"predict_on_cells", kTestRows * kTrees, [] { return answering(Answering::kPredictOnCells); }},
    {"survival_on_grid", kTestRows * kTrees, survival_on_grid},
    {"validate", kRows * kTrees,
     [] {
       forest();
       return [] { kernel_validate(forest()); };
     }},
};

}  // namespace

int main(int argc, char** argv) {
  for (const Kernel& kernel : kKernels) {
    if (argc != 2 || std::strcmp(argv[1], kernel.name) != 0) continue;
    const auto run = kernel.prepare();
    const auto start = std::chrono::steady_clock::now();
    run();
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    std::printf("%s %.0f %.6f\n", kernel.name, kernel.units, seconds.count());
    return 0;
  }
  std::fprintf(stderr, "usage: kernels NAME, one of:");
  for (const Kernel& kernel : kKernels) std::fprintf(stderr, " %s", kernel.name);
  std::fprintf(stderr, "\n");
  return 2;
}
