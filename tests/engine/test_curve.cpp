#include "check.hpp"
#include "curves.hpp"

using namespace cqrf;
using test::OutcomeData;

TEST(curve_by_hand) {
  // 1, 2+, 2, 3, 4+ with weights 1/8, 1/8, 1/4, 1/4, 1/4.
  OutcomeData data;
  data.push(1, true);
  data.push(2, true);
  data.push(2, false);
  data.push(3, true);
  data.push(4, false);
  const test::Solved solved(data, {0.125, 0.25, 0.125, 0.25, 0.25});
  const Curve& curve = solved.curve;
  CHECK_EQ(curve.steps.size(), 4u);
  CHECK_EQ(curve.total, 1.0);
  const std::vector<double> events{0.125, 0.25, 0.25, 0};
  const std::vector<double> censored{0, 0.125, 0, 0.25};
  const std::vector<double> after{0.875, 0.5, 0.25, 0};
  const std::vector<double> survival{0.875, 0.625, 0.3125, 0.3125};
  const std::vector<double> censoring{1, 0.8, 0.8, 0};
  for (std::size_t k = 0; k < 4; ++k) {
    CHECK_EQ(curve.steps[k].time, k);
    CHECK(curve.steps[k].candidate);
    CHECK_EQ(curve.steps[k].events, events[k]);
    CHECK_EQ(curve.steps[k].censored, censored[k]);
    CHECK_EQ(curve.steps[k].after, after[k]);
    CHECK_NEAR(curve.survival[k], survival[k], 1e-15);
    CHECK_NEAR(curve.censoring[k], censoring[k], 1e-15);
    CHECK_EQ(curve.jump[k] != 0, events[k] > 0);
  }
}

TEST(curve_ranks_of_equal_times) {
  for (const bool tied : {true, false}) {
    OutcomeData data;
    for (int i = 0; i < 12; ++i) data.push(tied ? i * i / 20 : i, true);
    const TargetView target = data.target();
    const auto same = [&](std::size_t one, std::size_t other) {
      return target.time_index[one] == target.time_index[other];
    };
    for (std::size_t begin = 0; begin < 12; ++begin)
      for (std::size_t end = begin + 1; end <= 12; ++end) {
        Range expected{begin, end};
        while (expected.begin > 0 && same(expected.begin - 1, begin)) --expected.begin;
        while (expected.end < 12 && same(expected.end, end - 1)) ++expected.end;
        CHECK(with_equal_times(target, {begin, end}) == expected);
      }
  }
}

TEST(curve_agrees_with_the_formulas) {
  Random random(1);
  for (int repeat = 0; repeat < 60; ++repeat) {
    const std::size_t n = 1 + random.below(40);
    const OutcomeData data(n, 1 + random.below(40), repeat % 5 / 4.0, random);
    const auto weights = test::random_weights(n, random);
    const test::Solved solved(data, weights);
    const test::SlowCurve slow = test::slow_curve(data, weights);
    CHECK_EQ(solved.curve.steps.size(), slow.size());
    if (solved.curve.steps.size() != slow.size()) continue;
    double before = 1;
    for (std::size_t k = 0; k < slow.size(); ++k) {
      CHECK_EQ(data.times[solved.curve.steps[k].time], slow.time[k]);
      CHECK_NEAR(solved.curve.survival[k], slow.survival[k], 1e-13);
      CHECK_NEAR(solved.curve.censoring[k], slow.censoring[k], 1e-13);
      CHECK_NEAR(solved.curve.steps[k].after / solved.curve.total, slow.after[k], 1e-13);
      CHECK_NEAR(solved.curve.survival[k] * solved.curve.censoring[k],
                 solved.curve.steps[k].after / solved.curve.total, 1e-14);
      CHECK(solved.curve.survival[k] <= before);
      before = solved.curve.survival[k];
    }
  }
}

TEST(curve_product_is_exact_for_many_rows) {
  // P = S G over thousands of factors: sums from the right do not lose digits.
  Random random(2);
  const OutcomeData data(5000, 4000, 0.5, random);
  std::vector<double> weights(5000);
  for (double& w : weights) w = std::exp(-static_cast<double>(random.below(20)));
  const test::Solved solved(data, weights);
  for (std::size_t k = 0; k < solved.curve.steps.size(); ++k) {
    const double after = solved.curve.steps[k].after / solved.curve.total;
    CHECK_NEAR(solved.curve.survival[k] * solved.curve.censoring[k] / (after > 0 ? after : 1),
               after > 0 ? 1 : 0, 1e-11);
  }
}

TEST(curve_of_one_row) {
  for (const bool is_event : {true, false}) {
    OutcomeData data;
    data.push(3, is_event);
    const test::Solved solved(data, {0.2});
    CHECK_EQ(solved.curve.steps.size(), 1u);
    CHECK_EQ(solved.curve.survival[0], is_event ? 0.0 : 1.0);
    CHECK_EQ(solved.curve.censoring[0], is_event ? 1.0 : 0.0);
  }
}

TEST(curve_events_come_before_censorings) {
  // All at one time: the events empty half of the risk set, the censorings the rest.
  OutcomeData data;
  for (int i = 0; i < 4; ++i) data.push(1, i < 2);
  const test::Solved solved(data, {1, 1, 1, 1});
  CHECK_EQ(solved.curve.survival[0], 0.5);
  CHECK_EQ(solved.curve.censoring[0], 0.0);
}

TEST(curve_without_censoring_is_the_empirical_distribution) {
  Random random(3);
  const OutcomeData data(100, 60, 1.0, random);
  const test::Solved solved(data, std::vector<double>(100, 0.01));
  for (std::size_t k = 0; k < solved.curve.steps.size(); ++k) {
    CHECK_EQ(solved.curve.censoring[k], 1.0);
    CHECK_NEAR(solved.curve.survival[k],
               test::slow_after(data, std::vector<double>(100, 1), data.times[k]), 1e-13);
  }
}

TEST(curve_scratch_is_used_again) {
  // A long curve first, then a short one in the same object.
  Random random(4);
  const OutcomeData data(50, 50, 0.5, random);
  test::Solved solved(data, std::vector<double>(50, 1));
  std::vector<double> few(50, 0);
  few[10] = 1;
  few[20] = 1;
  solved.solve(few);
  CHECK(solved.curve.steps.size() <= 2);
  CHECK_EQ(solved.curve.total, 2.0);
  CHECK_EQ(solved.curve.survival.size(), solved.curve.steps.size());
  CHECK_EQ(solved.curve.jump.size(), solved.curve.steps.size());
}
