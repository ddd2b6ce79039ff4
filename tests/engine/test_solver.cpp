#include "check.hpp"
#include "curves.hpp"

using namespace cqrf;
using test::OutcomeData;
using test::Quantile;
using test::Solved;

namespace {

constexpr std::array kInterpolations{Interpolation::kMidpoint, Interpolation::kLower,
                                     Interpolation::kLinear};

SolveOptions root(Interpolation interpolation, bool mirrored = false) {
  return {Solver::kRoot, interpolation, mirrored};
}

// Four events at 1, 2, 4, 8, equal weights: S = 3/4, 1/2, 1/4, 0.
OutcomeData four_events() {
  OutcomeData data;
  for (const double t : {1.0, 2.0, 4.0, 8.0}) data.push(t, true);
  return data;
}

// 1, 2+, 3, 4+ with equal weights: S = 3/4, 3/4, 3/8, 3/8.
OutcomeData censored_tail() {
  OutcomeData data;
  data.push(1, true);
  data.push(2, false);
  data.push(3, true);
  data.push(4, false);
  return data;
}

std::vector<double> levels_for(Random& random) {
  std::vector<double> levels{0.5, 0.25, 0.75, 0.9, 0.1, 1.0 / 3, 0.125};
  for (int i = 0; i < 5; ++i) levels.push_back((1 + random.below(998)) / 1000.0);
  return levels;
}

void check_quantile(const Quantile& a, const Quantile& b) {
  CHECK_NEAR(a.value, b.value, 1e-9);
  CHECK_EQ(a.identified, b.identified);
}

}  // namespace

TEST(solver_lower_by_hand) {
  const OutcomeData data = four_events();
  const Solved solved(data, {1, 1, 1, 1});
  const std::vector<double> levels{0.99, 0.75, 0.74, 0.5, 0.25, 0.1, 0.01};
  const std::vector<double> expected{1, 1, 2, 2, 4, 8, 8};
  const auto found = solved.quantiles(levels, root(Interpolation::kLower));
  for (std::size_t j = 0; j < levels.size(); ++j) check_quantile(found[j], {expected[j], true});
}

TEST(solver_midpoint_by_hand) {
  // Midpoints 7/8, 5/8, 3/8, 1/8.
  const OutcomeData data = four_events();
  const Solved solved(data, {1, 1, 1, 1});
  const std::vector<double> levels{0.99, 0.875, 0.75, 0.5, 0.25, 0.125, 0.01};
  const std::vector<double> expected{1, 1, 1.5, 3, 6, 8, 8};
  const auto found = solved.quantiles(levels, root(Interpolation::kMidpoint));
  for (std::size_t j = 0; j < levels.size(); ++j) check_quantile(found[j], {expected[j], true});
}

TEST(solver_linear_by_hand) {
  // From (1, 1) straight down to (1, 3/4), then (2, 1/2), (4, 1/4), (8, 0).
  const OutcomeData data = four_events();
  const Solved solved(data, {1, 1, 1, 1});
  const std::vector<double> levels{0.9, 0.75, 0.625, 0.5, 0.375, 0.125, 0.0625};
  const std::vector<double> expected{1, 1, 1.5, 2, 3, 6, 7};
  const auto found = solved.quantiles(levels, root(Interpolation::kLinear));
  for (std::size_t j = 0; j < levels.size(); ++j) check_quantile(found[j], {expected[j], true});
}

TEST(solver_linear_begins_at_the_first_time_though_it_is_censored) {
  OutcomeData data;
  data.push(1, false);
  data.push(3, true);
  data.push(5, true);
  const Solved solved(data, {1, 1, 1});
  const auto found = solved.quantiles({0.75, 0.25}, root(Interpolation::kLinear));
  check_quantile(found[0], {2, true});
  check_quantile(found[1], {4, true});
}

TEST(solver_largest_time_censored) {
  const OutcomeData data = censored_tail();
  const Solved solved(data, {1, 1, 1, 1});
  for (const Interpolation interpolation : kInterpolations) {
    const auto found = solved.quantiles({0.7, 0.375, 0.37, 0.1}, root(interpolation));
    CHECK(found[0].identified && found[0].value <= 3);
    check_quantile(found[1], {3, true});
    check_quantile(found[2], {4, false});
    check_quantile(found[3], {4, false});
  }
}

TEST(solver_argmin_does_not_jump_to_the_tail) {
  // S_n is zero at the last time, which is censored; the guard stops at the last event. There
  // |S_n| at tau = 0.9 is 0.1 G - P at 1, 2, 3: 0.65, 0.433, 0.183.
  const OutcomeData data = censored_tail();
  const Solved solved(data, {1, 1, 1, 1});
  const SolveOptions argmin{Solver::kArgmin, Interpolation::kMidpoint, false};
  const auto found = solved.quantiles({0.1, 0.7}, argmin);
  check_quantile(found[0], {3, false});
  // tau = 0.3: |0.7 - 0.75|, |0.4667 - 0.5|, |0.4667 - 0.25|.
  check_quantile(found[1], {2, true});
}

TEST(solver_argmin_without_events_answers_the_largest_time) {
  OutcomeData data;
  data.push(1, false);
  data.push(2, false);
  const Solved solved(data, {1, 1});
  const SolveOptions argmin{Solver::kArgmin, Interpolation::kLower, false};
  check_quantile(solved.quantiles({0.5}, argmin)[0], {2, false});
  for (const Interpolation interpolation : kInterpolations)
    check_quantile(solved.quantiles({0.5}, root(interpolation))[0], {2, false});
}

TEST(solver_one_row) {
  for (const bool is_event : {true, false}) {
    OutcomeData data;
    data.push(3, is_event);
    const Solved solved(data, {0.1});
    for (const Interpolation interpolation : kInterpolations)
      for (const Quantile& q : solved.quantiles({0.9, 0.5, 0.1}, root(interpolation)))
        check_quantile(q, {3, is_event});
  }
}

TEST(solver_agrees_with_the_definitions) {
  Random random(1);
  for (int repeat = 0; repeat < 150; ++repeat) {
    const std::size_t n = 1 + random.below(30);
    const OutcomeData data(n, 1 + random.below(30), repeat % 5 / 4.0, random);
    const auto weights = test::random_weights(n, random);
    const Solved solved(data, weights);
    const auto slow = test::slow_curve(data, weights);
    const auto levels = levels_for(random);
    for (const Interpolation interpolation : kInterpolations) {
      const auto found = solved.quantiles(levels, root(interpolation));
      for (std::size_t j = 0; j < levels.size(); ++j)
        check_quantile(found[j], test::slow_quantile(slow, levels[j], interpolation));
    }
    const auto found = solved.quantiles(levels, {Solver::kArgmin, Interpolation::kLinear, false});
    for (std::size_t j = 0; j < levels.size(); ++j)
      check_quantile(found[j], test::slow_argmin(slow, levels[j]));
  }
}

TEST(solver_agrees_with_the_definitions_for_other_censoring_curves) {
  Random random(2);
  for (int repeat = 0; repeat < 100; ++repeat) {
    const std::size_t n = 1 + random.below(30);
    const OutcomeData data(n, 1 + random.below(30), 0.6, random);
    const auto weights = test::random_weights(n, random);
    CensoringOptions options = test::censoring_options(repeat % 2 ? "knn" : "marginal");
    options.n_neighbors = 1 + random.below(10);
    const Solved solved(data, weights, options);
    // The curve has tests of its own; here it is taken from the engine.
    test::SlowCurve slow;
    for (std::size_t k = 0; k < solved.curve.steps.size(); ++k) {
      const Step& step = solved.curve.steps[k];
      slow.time.push_back(data.times[step.time]);
      slow.survival.push_back(solved.curve.survival[k]);
      slow.censoring.push_back(solved.curve.censoring[k]);
      slow.after.push_back(step.after / solved.curve.total);
      slow.events.push_back(step.events);
      slow.candidate.push_back(step.candidate);
      slow.jump.push_back(solved.curve.jump[k] != 0);
    }
    const auto levels = levels_for(random);
    for (const Interpolation interpolation : kInterpolations) {
      const auto found = solved.quantiles(levels, root(interpolation));
      for (std::size_t j = 0; j < levels.size(); ++j)
        check_quantile(found[j], test::slow_quantile(slow, levels[j], interpolation));
    }
    const auto found = solved.quantiles(levels, {Solver::kArgmin, Interpolation::kLower, false});
    for (std::size_t j = 0; j < levels.size(); ++j)
      check_quantile(found[j], test::slow_argmin(slow, levels[j]));
  }
}

TEST(solver_conditional_by_hand) {
  // Given T > 2, two events are left, at 4 and 8: S(q) / S(2) = 1/2 at 4, 0 at 8.
  const OutcomeData data = four_events();
  const Solved solved(data, {1, 1, 1, 1});
  const auto lower = solved.quantiles({0.9, 0.5, 0.4}, root(Interpolation::kLower), 2);
  check_quantile(lower[0], {4, true});
  check_quantile(lower[1], {4, true});
  check_quantile(lower[2], {8, true});
  // The linear curve is 1/2 at 2 and 3/8 at 3; half of it is 3/16 at 5.
  check_quantile(solved.quantiles({0.5}, root(Interpolation::kLinear), 3)[0], {5, true});
  // The midpoint curve is 5/8 at 2; half of it, 5/16, a quarter of the way from 4 to 8.
  check_quantile(solved.quantiles({0.5}, root(Interpolation::kMidpoint), 2)[0], {5, true});
}

TEST(solver_condition_outside_the_times) {
  const OutcomeData data = four_events();
  const Solved solved(data, {1, 1, 1, 1});
  for (const Interpolation interpolation : kInterpolations) {
    const auto plain = solved.quantiles({0.6, 0.3}, root(interpolation));
    for (const double before : {-1e300, 0.0}) {
      const auto found = solved.quantiles({0.6, 0.3}, root(interpolation), before);
      for (std::size_t j = 0; j < 2; ++j) check_quantile(found[j], plain[j]);
    }
    // Nobody is left: not identified, and no answer before the condition.
    for (const double beyond : {8.0, 9.0}) {
      const auto found = solved.quantiles({0.6, 0.3}, root(interpolation), beyond);
      for (const Quantile& q : found) check_quantile(q, {beyond, false});
    }
  }
}

TEST(solver_conditional_agrees_with_the_definition) {
  Random random(3);
  for (int repeat = 0; repeat < 150; ++repeat) {
    const std::size_t n = 1 + random.below(25);
    const OutcomeData data(n, 1 + random.below(25), 0.7, random);
    const auto weights = test::random_weights(n, random);
    const Solved solved(data, weights);
    const auto slow = test::slow_curve(data, weights);
    const double after = random.below(60) / 2.0 - 1;
    const auto levels = levels_for(random);
    for (const bool mirrored : {false, true})
      for (const Interpolation interpolation : kInterpolations) {
        double reached = test::slow_height_at(slow, after, interpolation, mirrored);
        if (mirrored && after > slow.time.back()) reached = 0;
        const auto found = solved.quantiles(levels, root(interpolation, mirrored), after);
        for (std::size_t j = 0; j < levels.size(); ++j) {
          const double level = mirrored ? reached + levels[j] * (1 - reached) : levels[j] * reached;
          Quantile expected = test::slow_quantile(slow, level, interpolation);
          expected.identified &= mirrored ? reached < 1 : reached > 0;
          if (!expected.identified) expected.value = slow.time.back();
          expected.value =
              mirrored ? std::min(expected.value, after) : std::max(expected.value, after);
          check_quantile(found[j], expected);
        }
      }
  }
}

TEST(solver_answers_rise_with_tau) {
  Random random(4);
  for (int repeat = 0; repeat < 50; ++repeat) {
    const OutcomeData data(40, 35, 0.7, random);
    const Solved solved(data, test::random_weights(40, random));
    std::vector<double> levels;
    for (int j = 99; j > 0; --j) levels.push_back(j / 100.0);
    for (const Interpolation interpolation : kInterpolations) {
      const auto found = solved.quantiles(levels, root(interpolation));
      for (std::size_t j = 1; j < found.size(); ++j) CHECK(found[j - 1].value <= found[j].value);
    }
  }
}

namespace {

// The level that a probability is exactly kLevelTolerance above, in floating point.
double just_below(double probability) {
  double level = probability - kLevelTolerance;
  while (level + kLevelTolerance < probability) level = std::nextafter(level, 1);
  while (level + kLevelTolerance > probability) level = std::nextafter(level, 0);
  return level;
}

}  // namespace

TEST(solver_level_at_the_tolerance_is_reached) {
  const double level = just_below(0.5);
  CHECK_EQ(level + kLevelTolerance, 0.5);
  CHECK(level < 0.5);
  const OutcomeData data = four_events();
  const Solved solved(data, {1, 1, 1, 1});
  check_quantile(solved.quantiles({level}, root(Interpolation::kLower))[0], {2, true});
  // One step of floating point below it is not.
  const double beyond = std::nextafter(level - 1e-16, 0);
  check_quantile(solved.quantiles({beyond}, root(Interpolation::kLower))[0], {4, true});
}

TEST(solver_last_level_at_the_tolerance_is_identified) {
  const OutcomeData data = censored_tail();
  const Solved solved(data, {1, 1, 1, 1});
  const double last = solved.curve.survival.back();
  for (const Interpolation interpolation : kInterpolations)
    CHECK(solved.quantiles({just_below(last)}, root(interpolation))[0].identified);
  CHECK(!solved.quantiles({last - 2 * kLevelTolerance}, root(Interpolation::kLower))[0].identified);
}

TEST(solver_argmin_keeps_the_first_of_losses_that_are_equal) {
  // Losses 3/4 and, within rounding, kLevelTolerance less: the tolerance in units of the last
  // place of numbers in [1/2, 1).
  const double unit = 0x1p-53;
  const double less = std::round(kLevelTolerance / unit) * unit;
  OutcomeData data;
  data.push(1, true);
  data.push(2, true);
  data.push(3, false);
  const double level = 0x1p-10;
  const Solved solved(data, {0.25 - less, less, 0.75});
  CHECK_EQ(solved.curve.steps[1].after - level,
           (solved.curve.steps[0].after - level) - kLevelTolerance);
  const SolveOptions options{Solver::kArgmin, Interpolation::kLower, false};
  CHECK_EQ(solved.quantiles({level}, options)[0].value, 1.0);
}
