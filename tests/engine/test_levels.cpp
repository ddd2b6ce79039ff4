// Curves on levels, cells and ranks against exact ones: no answer is off by more than 1e-4 in
// probability.
#include "prediction/levels.hpp"

#include <cstring>
#include <optional>

#include "check.hpp"
#include "curves.hpp"
#include "isas.hpp"
#include "planted.hpp"
#include "prediction/answers.hpp"
#include "prediction/cell_curve.hpp"
#include "prediction/grid_curve.hpp"
#include "prediction/rank_curve.hpp"

using namespace cqrf;
using test::each_isa;
using test::OutcomeData;
using test::Planted;
using test::Planting;
using test::SlowCurve;

namespace {

constexpr double kBound = 1e-4;
const std::vector<double> kProbabilities{0.99, 0.9, 0.75, 0.5, 0.25, 0.1, 0.01};

// How the ranks of a forest are divided, with all that it refers to.
struct Division {
  std::optional<Cells> cells;
  std::vector<float> order;
  Levels levels;

  // By levels alone, or by cells.
  static Division by_levels(const Planted& planted, int shift) { return {planted, shift, {}}; }
  static Division by_cells(const Planted& planted, int shift) {
    Monitor monitor;
    return {planted, std::max(0, shift - Cells::kLevelBits),
            Cells(planted.forest, shift, planted.censored(), 2, monitor)};
  }
  Division(const Division&) = delete;

 private:
  Division(const Planted& planted, int shift, std::optional<Cells> own)
      : cells(std::move(own)),
        order(order_in_levels(planted.outcome.event, shift)),
        levels{shift, cells ? &*cells : nullptr, order} {}
};

// The exact curve of a test point.
struct Exact {
  test::Solved solved;
  SlowCurve curve;

  Exact(const Planted& planted, const std::vector<LeafId>& ids)
      : solved(planted.outcome, planted.weights(ids)) {
    for (std::size_t k = 0; k < solved.curve.steps.size(); ++k) {
      curve.time.push_back(planted.outcome.times[solved.curve.steps[k].time]);
      curve.survival.push_back(solved.curve.survival[k]);
      curve.candidate.push_back(true);
      curve.jump.push_back(solved.curve.jump[k] != 0);
    }
  }

  // S just before a time, and at it.
  double before(double time) const { return at(time, std::ranges::lower_bound(curve.time, time)); }
  double after(double time) const { return at(time, std::ranges::upper_bound(curve.time, time)); }

 private:
  double at(double, std::vector<double>::const_iterator passed) const {
    const auto steps = passed - curve.time.begin();
    return steps == 0 ? 1 : curve.survival[static_cast<std::size_t>(steps - 1)];
  }
};

struct Found {
  std::vector<double> value;
  std::vector<std::uint8_t> identified;
};

template <class Whole>
Found quantiles(const Planted& planted, Whole& whole, const std::vector<double>& probabilities,
                Interpolation interpolation) {
  Found found{std::vector<double>(probabilities.size()),
              std::vector<std::uint8_t>(probabilities.size())};
  const QuantileAnswer answer{planted.target,
                              {Solver::kRoot, interpolation, false},
                              probabilities,
                              probabilities.size(),
                              {},
                              found.value.data(),
                              found.identified.data()};
  Curve part;
  auto worker = answer.worker();
  answer.take(0, whole, part, worker);
  return found;
}

template <class Whole>
void check_quantiles(const Planted& planted, Whole& whole, const Exact& exact,
                     const std::vector<LeafId>& ids, const std::vector<double>& probabilities,
                     Interpolation interpolation) {
  whole.make(ids.data());
  const Found found = quantiles(planted, whole, probabilities, interpolation);
  const auto expected =
      exact.solved.quantiles(probabilities, {Solver::kRoot, interpolation, false});
  for (std::size_t j = 0; j < probabilities.size(); ++j) {
    const double p = probabilities[j];
    if (expected[j].identified != (found.identified[j] != 0)) {
      CHECK_NEAR(exact.curve.survival.back(), p, kBound);
    } else if (!expected[j].identified) {
      CHECK_EQ(found.value[j], expected[j].value);
    } else if (interpolation == Interpolation::kLower) {
      const double time = found.value[j];
      CHECK(exact.before(time) > exact.after(time));
      CHECK(exact.after(time) <= p + kBound);
      CHECK(exact.before(time) >= p - kBound);
    } else if (found.value[j] != expected[j].value) {
      CHECK_NEAR(test::slow_height_at(exact.curve, found.value[j], interpolation, false),
                 test::slow_height_at(exact.curve, expected[j].value, interpolation, false),
                 kBound);
    }
  }
}

// Some of the times, one before all of them and one behind.
std::vector<double> some_times(const Planted& planted, std::size_t every) {
  std::vector<double> times{-1.0};
  for (std::size_t k = 0; k < planted.outcome.times.size(); k += every)
    times.push_back(planted.outcome.times[k]);
  times.push_back(1e9);
  return times;
}

void check_probabilities(const std::vector<double>& found, const std::vector<double>& times,
                         bool left_limit, const Exact& exact) {
  for (std::size_t j = 0; j < times.size(); ++j)
    CHECK_NEAR(found[j], left_limit ? exact.before(times[j]) : exact.after(times[j]), kBound);
}

template <class Whole>
void check_survival(const Planted& planted, Whole& whole, const Exact& exact,
                    const std::vector<LeafId>& ids, std::size_t every) {
  const std::vector<double> times = some_times(planted, every);
  for (const bool left_limit : {false, true}) {
    std::vector<double> found(times.size());
    const LevelGridAnswer answer(planted.target, times, left_limit, found.data());
    LevelGridAnswer::Worker worker;
    Curve part;
    whole.make(ids.data());
    answer.take(0, whole, part, worker);
    check_probabilities(found, times, left_limit, exact);
  }
}

// levels: those of the curve, or null.
template <class Whole>
void check_means(const Planted& planted, Whole& whole, const Exact& exact, const Levels* levels,
                 const std::vector<LeafId>& ids) {
  const auto& times = planted.outcome.times;
  for (const bool mirrored : {false, true}) {
    if (mirrored && levels && levels->cells) continue;
    for (const double horizon : {times.front() - 7, times[times.size() / 3], times.back(),
                                 times.back() + 7, mirrored ? -1e12 : 1e12}) {
      double expected, found;
      const RestrictedMeanAnswer plain{planted.target, horizon, mirrored, &expected};
      RestrictedMeanAnswer::Worker worker;
      plain.take(0, exact.solved.curve, *exact.solved.censoring, worker);
      const LevelMeanAnswer answer(planted.target, levels, horizon, mirrored, &found);
      LevelMeanAnswer::Worker level_worker;
      Curve part;
      whole.make(ids.data());
      answer.take(0, whole, part, level_worker);
      // What is left of S counts as far as the horizon.
      const double range =
          (mirrored ? times.back() : std::max(times.back(), horizon)) - times.front();
      CHECK_NEAR(found, expected, kBound * range + 1e-9);
    }
  }
}

template <class Whole>
void check_interpolations(const Planted& planted, Whole& whole, const Exact& exact,
                          const std::vector<LeafId>& ids) {
  for (const auto interpolation :
       {Interpolation::kMidpoint, Interpolation::kLower, Interpolation::kLinear})
    check_quantiles(planted, whole, exact, ids, kProbabilities, interpolation);
}

// Some test points, one after the other in the same scratch.
std::vector<std::vector<LeafId>> points(const Planted& planted, Random& random) {
  const LeafId last = planted.forest.n_leaves(0) - 1;
  return {planted.same_leaf(0), planted.some_leaves(random), planted.same_leaf(last)};
}

// Probabilities between the times that are asked for, from the cells of all leaves, and of those of
// each test point.
void check_on_grid(const Planted& planted, std::size_t every, Random& random) {
  const std::vector<double> times = some_times(planted, every);
  for (const bool left_limit : {false, true}) {
    std::vector<double> found(times.size());
    std::vector<double> again(times.size());
    const LevelGridAnswer first(planted.target, times, left_limit, found.data());
    const LevelGridAnswer second(planted.target, times, left_limit, again.data());
    const Grid by_point(planted.target, first.ranks(), planted.censored());
    Grid whole = by_point;
    Monitor monitor;
    whole.whole =
        std::make_shared<const Cells>(planted.forest, whole.bounds, whole.censored, 2, monitor);
    GridCurve of_all(planted.forest, planted.target, whole);
    GridCurve of_each(planted.forest, planted.target, by_point);
    for (const auto& ids : points(planted, random)) {
      const Exact exact(planted, ids);
      LevelGridAnswer::Worker worker;
      Curve part;
      of_all.make(ids.data());
      first.take(0, of_all, part, worker);
      of_each.make(ids.data());
      second.take(0, of_each, part, worker);
      CHECK(found == again);
      check_probabilities(found, times, left_limit, exact);
    }
  }
}

void check_everything(const Planted& planted, int shift, Random& random) {
  const Division division = Division::by_levels(planted, shift);
  LevelCurve whole(planted.forest, planted.target, division.levels);
  for (const auto& ids : points(planted, random)) {
    const Exact exact(planted, ids);
    check_interpolations(planted, whole, exact, ids);
    check_survival(planted, whole, exact, ids, 1 + planted.outcome.times.size() / 60);
    check_means(planted, whole, exact, &division.levels, ids);
  }
}

template <class Whole>
void check_all_quantiles(const Planted& planted, Whole& whole, Random& random) {
  for (const auto& ids : points(planted, random)) {
    const Exact exact(planted, ids);
    check_interpolations(planted, whole, exact, ids);
    // One probability does not need what the others do.
    for (const double p : {0.9, 0.1})
      check_quantiles(planted, whole, exact, ids, {p}, Interpolation::kMidpoint);
  }
}

void check_with_cells(const Planted& planted, int shift, Random& random) {
  const Division division = Division::by_cells(planted, shift);
  LevelCurve whole(planted.forest, planted.target, division.levels);
  check_all_quantiles(planted, whole, random);
  if (planted.censored()) {
    // Errors of cells with few rows add up.
    const std::size_t members = planted.forest.members.low.size() / planted.forest.n_leaves(0);
    if (members < Cells::kFewestMembers * division.cells->size()) return;
    for (const auto& ids : points(planted, random))
      check_means(planted, whole, Exact(planted, ids), &division.levels, ids);
    return;
  }
  CellCurve cells(planted.forest, planted.target, *division.cells);
  check_all_quantiles(planted, cells, random);
}

void check_with_ranks(const Planted& planted, Random& random) {
  RankCurve whole(planted.forest, planted.target);
  check_all_quantiles(planted, whole, random);
  for (const auto& ids : points(planted, random)) {
    const Exact exact(planted, ids);
    check_survival(planted, whole, exact, ids, 1 + planted.outcome.times.size() / 60);
    check_means(planted, whole, exact, nullptr, ids);
  }
}

// One tree of two leaves, whose rows have times of their own: is_event(rank), in_second(rank).
template <class IsEvent, class InSecond>
Planted in_two_leaves(Rank n, IsEvent is_event, InSecond in_second) {
  OutcomeData data;
  std::vector<std::vector<Rank>> leaves(2);
  for (Rank rank = 0; rank < n; ++rank) {
    data.push(static_cast<double>(rank), is_event(rank));
    leaves[in_second(rank)].push_back(rank);
  }
  return Planted(data, leaves);
}

// Rows, distinct times, share of events, leaves and trees: ties within a level, over many levels
// and over whole cells; all censored, hardly any event, none censored.
template <class Check>
void each_forest(const std::vector<std::size_t>& sizes, Check check) {
  Random random(1);
  for (const std::size_t n : sizes)
    for (const std::uint32_t distinct : {1'000'000u, 400u, 5u, 1u})
      for (const double events : {1.0, 0.6, 0.05, 0.0})
        for (const Planting planting : {Planting::kAnywhere, Planting::kByTime}) {
          const Planted planted(OutcomeData(n, distinct, events, random), 3, n < 20 ? 1 : 4,
                                planting, random);
          check(planted, random);
        }
}

}  // namespace

TEST(levels_are_no_more_than_wanted) {
  CHECK_EQ(level_shift(1, 1), 0);
  CHECK_EQ(level_shift(8192, 8192), 0);
  CHECK_EQ(level_shift(8193, 8192), 1);
  CHECK_EQ(level_shift(100'000, 8192), 4);
  // At least 64 in a block.
  CHECK_EQ(level_shift(1'000'000, 1), 9);
}

TEST(levels_order_of_events_and_censorings) {
  // Levels of four: none, all first, all last, in turn, no pairs, and a last one of two.
  const std::vector<std::uint8_t> event{1, 1, 1, 1, 0, 0, 1, 1, 1, 0, 0,
                                        0, 0, 1, 0, 1, 0, 0, 0, 0, 0, 1};
  const std::vector<float> expected{0.5f, 1.0f, 0.0f, 0.75f, 0.5f, 1.0f};
  const auto order = order_in_levels(event, 2);
  CHECK_EQ(order.size() % 256, 0u);
  CHECK(order.size() >= expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) CHECK_EQ(order[i], expected[i]);
}

TEST(levels_alone) {
  each_forest({1, 65, 1500}, [](const Planted& planted, Random& random) {
    for (const int shift : {0, 4}) check_everything(planted, shift, random);
  });
}

TEST(levels_with_cells) {
  each_forest({1, 100, 2049}, [](const Planted& planted, Random& random) {
    // Levels of one rank, of one and of four, in cells of 8, 128 and 1024.
    for (const int shift : {3, 7, 10}) check_with_cells(planted, shift, random);
  });
}

TEST(survival_between_times) {
  each_forest({1, 65, 1500, 2049}, [](const Planted& planted, Random& random) {
    check_on_grid(planted, 1 + planted.outcome.times.size() / 60, random);
  });
}

// Many rows in few times, at which events come first: a cell holds parts of two or three of them,
// and a good part of the weight.
TEST(survival_between_few_times) {
  Random random(8);
  for (const std::uint32_t distinct : {60u, 120u, 200u}) {
    const Planted planted(OutcomeData(60'000, distinct, 0.5, random), 1, 8, Planting::kByTime,
                          random);
    for (const std::size_t every : {3, 20}) check_on_grid(planted, every, random);
    for (const int shift : {9, 10, 11}) check_with_cells(planted, shift, random);
  }
}

TEST(ranks_alone) { each_forest({1, 65, 1500, 2049}, check_with_ranks); }

TEST(levels_with_many_quantiles) {
  Random random(7);
  std::vector<double> many;
  for (int j = 99; j > 0; --j) many.push_back(j / 100.0);
  for (const double events : {1.0, 0.5}) {
    const Planted planted(OutcomeData(6000, 3000, events, random), 4, 4, Planting::kByTime, random);
    const Division division = Division::by_cells(planted, 7);
    LevelCurve whole(planted.forest, planted.target, division.levels);
    CellCurve cells(planted.forest, planted.target, *division.cells);
    RankCurve ranks(planted.forest, planted.target);
    for (const auto& ids : points(planted, random)) {
      const Exact exact(planted, ids);
      check_quantiles(planted, whole, exact, ids, many, Interpolation::kMidpoint);
      check_quantiles(planted, ranks, exact, ids, many, Interpolation::kMidpoint);
      if (events == 1) check_quantiles(planted, cells, exact, ids, many, Interpolation::kMidpoint);
    }
  }
}

// Members of more than one block: bytes beside them, or counts.
TEST(levels_of_several_blocks) {
  Random random(2);
  for (const std::size_t n : {kBlockRows, kBlockRows + 1, 2 * kBlockRows + 100})
    for (const double events : {1.0, 0.5}) {
      Planted planted(OutcomeData(n, 2000, events, random), 2, 9, Planting::kByTime, random);
      for (const bool counted : {false, true}) {
        if (counted && n <= kBlockRows) continue;
        if (counted) planted.arrays.count_blocks();
        planted.forest = planted.arrays.view();
        check_everything(planted, 4, random);
        check_with_cells(planted, 11, random);
        check_with_ranks(planted, random);
        check_on_grid(planted, 33, random);
      }
    }
}

// Every level is one time, at which events come first: errors of all levels have the same sign.
TEST(levels_that_are_times) {
  Random random(3);
  OutcomeData data;
  for (std::size_t i = 0; i < 8192; ++i) data.push(static_cast<double>(i / 32), i % 32 < 16);
  const Planted planted(data, 1, 2, Planting::kAnywhere, random);
  for (const int shift : {4, 5, 6}) check_everything(planted, shift, random);
  check_with_cells(planted, 8, random);
}

// With one event in every level, anywhere in it, and levels so wide that all of them together
// count.
TEST(levels_wide_and_sparse) {
  Random random(4);
  constexpr std::size_t kSize = 16;
  OutcomeData data;
  std::vector<std::vector<Rank>> leaves(kSize);
  std::vector<std::size_t> leaf_of(kSize);
  for (std::size_t i = 0; i < kSize; ++i) leaf_of[i] = i;
  for (std::size_t rank = 0; rank < 145 * kSize; ++rank) {
    const std::size_t i = rank % kSize;
    std::swap(leaf_of[i], leaf_of[i + random.below(static_cast<std::uint32_t>(kSize - i))]);
    leaves[leaf_of[i]].push_back(static_cast<Rank>(rank));
    data.push(static_cast<double>(rank), true);
  }
  const Planted planted(data, leaves);
  const Division division = Division::by_levels(planted, 4);
  LevelCurve whole(planted.forest, planted.target, division.levels);
  for (LeafId leaf = 0; leaf < kSize; ++leaf)
    check_means(planted, whole, Exact(planted, {leaf}), &division.levels, {leaf});
}

// A test point whose weight ends within a run of equal times that goes on in cells which it has no
// weight in; the one before it had.
TEST(levels_behind_the_last_weight) {
  Random random(5);
  OutcomeData data;
  constexpr std::size_t kRows = 4096;
  for (std::size_t i = 0; i < kRows; ++i)
    data.push(i < 1100 ? static_cast<double>(i) : i < 2300 ? 1100.0 : static_cast<double>(i), true);
  std::vector<std::vector<Rank>> leaves(2);
  for (Rank rank = 0; rank < kRows; ++rank)
    leaves[rank % 2 == 0 && (rank < 1200 || rank > 2900)].push_back(rank);
  const Planted planted(data, leaves);
  const Division division = Division::by_cells(planted, 9);
  LevelCurve whole(planted.forest, planted.target, division.levels);
  CellCurve cells(planted.forest, planted.target, *division.cells);
  for (const LeafId leaf : {0u, 1u}) {
    const std::vector<LeafId> ids{leaf};
    const Exact exact(planted, ids);
    // The run is the next jump where S falls to 0.541.
    for (int i = 0; i < 100; ++i) {
      const std::vector<double> p{0.55 - i * 2e-4};
      check_quantiles(planted, whole, exact, ids, p, Interpolation::kMidpoint);
      check_quantiles(planted, cells, exact, ids, p, Interpolation::kMidpoint);
    }
  }
}

TEST(levels_do_not_depend_on_instructions) {
  Random random(6);
  for (const double events : {1.0, 0.5}) {
    const Planted planted(OutcomeData(5000, 900, events, random), 5, 4, Planting::kAnywhere,
                          random);
    const Division levels = Division::by_levels(planted, 3);
    const Division cells = Division::by_cells(planted, 9);
    const auto ids = planted.some_leaves(random);
    std::vector<double> first;
    each_isa([&](Isa) {
      std::vector<double> found;
      const auto ask = [&](auto whole) {
        whole.make(ids.data());
        const Found some = quantiles(planted, whole, kProbabilities, Interpolation::kMidpoint);
        found.insert(found.end(), some.value.begin(), some.value.end());
      };
      for (const Division* division : {&levels, &cells})
        ask(LevelCurve(planted.forest, planted.target, division->levels));
      ask(RankCurve(planted.forest, planted.target));
      if (events == 1) ask(CellCurve(planted.forest, planted.target, *cells.cells));
      for (const Division* division : {&levels, &cells}) {
        if (division->levels.cells && events == 1) continue;
        LevelCurve whole(planted.forest, planted.target, division->levels);
        double mean;
        LevelMeanAnswer::Worker worker;
        Curve part;
        whole.make(ids.data());
        LevelMeanAnswer(planted.target, &division->levels, 600.0, false, &mean)
            .take(0, whole, part, worker);
        found.push_back(mean);
      }
      std::vector<double> survival(kProbabilities.size());
      const LevelGridAnswer answer(planted.target,
                                   std::vector<double>{5, 90, 300, 450, 600, 800, 9e9}, false,
                                   survival.data());
      const Grid grid(planted.target, answer.ranks(), planted.censored());
      GridCurve curve(planted.forest, planted.target, grid);
      curve.make(ids.data());
      curve.survival_after(answer.ranks(), survival.data());
      found.insert(found.end(), survival.begin(), survival.end());
      if (first.empty()) first = found;
      CHECK(std::memcmp(found.data(), first.data(), found.size() * sizeof(double)) == 0);
    });
  }
}

// Cells so wide that later events count for more than earlier ones in the same cell.
TEST(levels_means_of_wide_cells) {
  Random random(9);
  constexpr std::size_t kRows = 16384;
  OutcomeData data;
  for (std::size_t i = 0; i < kRows; ++i) data.push(static_cast<double>(i), random.below(10) < 3);
  const Planted planted(data, 1, 1, Planting::kAnywhere, random);
  const Division division = Division::by_cells(planted, 10);
  LevelCurve whole(planted.forest, planted.target, division.levels);
  check_means(planted, whole, Exact(planted, {0}), &division.levels, {0});
}

// In a cell with a third of the weight, all events come before all censorings; there are so many of
// them that their mean places tell the rest.
TEST(levels_behind_a_cell_of_events_first) {
  Random random(10);
  constexpr Rank kCell = 8192;
  const auto heavy = [](Rank rank) { return rank / kCell == 5; };
  const Planted planted = in_two_leaves(
      20 * kCell,
      [&](Rank rank) { return heavy(rank) ? rank % kCell < kCell / 2 : random.below(2) == 0; },
      [&](Rank rank) { return !heavy(rank) && rank % 8 != 0; });
  const Division division = Division::by_cells(planted, 13);
  LevelCurve whole(planted.forest, planted.target, division.levels);
  for (const double p : {0.5, 0.3})
    check_quantiles(planted, whole, Exact(planted, {0}), {0}, {p}, Interpolation::kMidpoint);
}

// Cells that are known in part, from their begin or to their end: in every half of a cell, events
// come rather first. So many rows tell S well, but for what is wrong with the other part.
TEST(levels_of_a_part_of_a_cell) {
  Random random(11);
  constexpr Rank kHalf = 2048;
  OutcomeData data;
  for (Rank rank = 0; rank < 32 * kHalf; ++rank)
    data.push(static_cast<double>(rank), random.below(kHalf) > (rank % kHalf + kHalf / 2) / 2);
  const Planted planted(data, 1, 2, Planting::kAnywhere, random);
  const Division division = Division::by_cells(planted, 12);
  LevelCurve whole(planted.forest, planted.target, division.levels);
  const Exact exact(planted, {0});
  for (double p = 0.95; p > 0.2; p -= 0.01) {
    check_quantiles(planted, whole, exact, {0}, {p}, Interpolation::kMidpoint);
    // The other part of the same cell counts for the second one.
    check_quantiles(planted, whole, exact, {0}, {p, p - 0.05}, Interpolation::kLower);
  }
}

// The same where members are the more, the later in a cell: answers are not where they are guessed.
TEST(levels_beside_a_part_of_a_cell) {
  Random random(12);
  constexpr Rank kCell = 2048;
  const Planted planted = in_two_leaves(
      16 * kCell, [&](Rank) { return random.below(4) > 0; },
      [&](Rank rank) { return random.below(kCell) > rank % kCell; });
  const Division division = Division::by_cells(planted, 11);
  LevelCurve whole(planted.forest, planted.target, division.levels);
  const Exact exact(planted, {0});
  for (double p = 0.95; p > 0.5; p -= 1e-4)
    check_quantiles(planted, whole, exact, {0}, {p}, Interpolation::kMidpoint);
}
