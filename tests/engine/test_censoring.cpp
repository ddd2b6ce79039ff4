#include <stdexcept>

#include "check.hpp"
#include "curves.hpp"

using namespace cqrf;
using test::censoring_options;
using test::OutcomeData;
using test::Solved;

namespace {

// G at all distinct times, from weights by rank.
std::vector<double> slow_g(const OutcomeData& data, const std::vector<double>& weights) {
  std::vector<double> g;
  for (const double t : data.times) g.push_back(test::slow_censoring(data, weights, t));
  return g;
}

void check_curve(const Curve& curve, const test::SlowCurve& slow) {
  CHECK_EQ(curve.steps.size(), slow.size());
  if (curve.steps.size() != slow.size()) return;
  for (std::size_t k = 0; k < slow.size(); ++k) {
    CHECK_NEAR(curve.censoring[k], slow.censoring[k], 1e-13);
    CHECK_NEAR(curve.survival[k], slow.survival[k], 1e-11);
    CHECK_EQ(curve.steps[k].candidate, slow.candidate[k]);
    CHECK_EQ(curve.jump[k] != 0, slow.jump[k]);
  }
}

}  // namespace

TEST(censoring_marginal_ignores_the_weights) {
  Random random(1);
  for (int repeat = 0; repeat < 40; ++repeat) {
    const std::size_t n = 1 + random.below(40);
    OutcomeData data(n, 1 + random.below(40), 0.5, random);
    std::vector<double> counted(n, 1);
    if (repeat % 2) {
      for (double& w : counted) w = 1 + random.below(3);
      data.weight = counted;
    }
    const auto weights = test::random_weights(n, random);
    const Solved solved(data, weights, censoring_options("marginal"));
    const auto g = slow_g(data, counted);
    const auto everywhere = solved.censoring->everywhere();
    CHECK_EQ(everywhere.size(), g.size());
    for (std::size_t k = 0; k < g.size(); ++k) CHECK_NEAR(everywhere[k], g[k], 1e-13);
    check_curve(solved.curve, test::slow_curve(data, weights, g));
  }
}

TEST(censoring_marginal_by_hand) {
  // 1+, 2, 3+, 4 with equal weights: G = 3/4, 3/4, 3/8, 3/8.
  OutcomeData data;
  data.push(1, false);
  data.push(2, true);
  data.push(3, false);
  data.push(4, true);
  const Solved solved(data, {1, 1, 1, 1}, censoring_options("marginal"));
  const std::vector<double> g{0.75, 0.75, 0.375, 0.375};
  const std::vector<double> survival{1, 2.0 / 3, 2.0 / 3, 0};
  for (std::size_t k = 0; k < 4; ++k) {
    CHECK_NEAR(solved.curve.censoring[k], g[k], 1e-15);
    CHECK_NEAR(solved.curve.survival[k], survival[k], 1e-15);
  }
  CHECK(solved.curve.jump == (std::vector<std::uint8_t>{0, 1, 0, 1}));
}

TEST(censoring_marginal_with_equal_weights_is_beran) {
  Random random(2);
  const OutcomeData data(60, 50, 0.6, random);
  const std::vector<double> equal(60, 1);
  const Solved a(data, equal, censoring_options("marginal"));
  const Solved b(data, equal);
  for (std::size_t k = 0; k < a.curve.steps.size(); ++k) {
    CHECK_NEAR(a.curve.censoring[k], b.curve.censoring[k], 1e-14);
    if (a.curve.censoring[k] > 0) CHECK_NEAR(a.curve.survival[k], b.curve.survival[k], 1e-11);
  }
}

TEST(censoring_knn_takes_the_rows_of_largest_weight) {
  Random random(3);
  for (int repeat = 0; repeat < 60; ++repeat) {
    const std::size_t n = 1 + random.below(40);
    OutcomeData data(n, 1 + random.below(40), 0.5, random);
    if (repeat % 2) {
      data.weight.resize(n);
      for (double& w : data.weight) w = 1 + random.below(3);
    }
    const auto weights = test::random_weights(n, random);
    CensoringOptions options = censoring_options("knn");
    options.n_neighbors = 1 + random.below(static_cast<std::uint32_t>(n + 3));
    const Solved solved(data, weights, options);

    std::vector<std::size_t> nearest;
    for (std::size_t i = 0; i < n; ++i)
      if (weights[i] > 0) nearest.push_back(i);
    // The weight of each of the equal rows for which a weighted one stands; ties go to the row
    // that comes first in the original order.
    const auto each = [&](std::size_t i) {
      return data.weight.empty() ? weights[i] : weights[i] / data.weight[i];
    };
    std::sort(nearest.begin(), nearest.end(), [&](std::size_t a, std::size_t b) {
      return each(a) != each(b) ? each(a) > each(b) : data.order[a] < data.order[b];
    });
    nearest.resize(std::min(nearest.size(), options.n_neighbors));
    std::vector<double> counted(n, 0), candidates;
    for (const std::size_t i : nearest) {
      counted[i] = data.weight.empty() ? 1 : data.weight[i];
      candidates.push_back(data.time(i));
    }
    check_curve(solved.curve, test::slow_curve(data, weights, slow_g(data, counted), candidates));
  }
}

TEST(censoring_knn_ties_by_hand) {
  // Three rows of the same weight, two neighbours: those of the original rows 0 and 1.
  OutcomeData data;
  for (const double t : {1.0, 2.0, 3.0}) data.push(t, true);
  data.order = {1, 2, 0};
  CensoringOptions options = censoring_options("knn");
  options.n_neighbors = 2;
  const Solved solved(data, {1, 1, 1}, options);
  CHECK(solved.curve.steps[0].candidate);
  CHECK(!solved.curve.steps[1].candidate);
  CHECK(solved.curve.steps[2].candidate);
  // The guard of the argmin rule sees the events of neighbours only.
  CHECK_EQ(solved.curve.steps[1].events, 0.0);
}

TEST(censoring_kernel_agrees_with_the_formula) {
  Random random(4);
  for (int repeat = 0; repeat < 30; ++repeat) {
    const std::size_t n = 1 + random.below(30);
    const std::size_t p = 1 + random.below(3);
    OutcomeData data(n, 1 + random.below(30), 0.5, random);
    if (repeat % 2) {
      data.weight.resize(n);
      for (double& w : data.weight) w = 1 + random.below(3);
    }
    const auto coordinate = [&] {
      return random.below(8) == 0 ? NAN : static_cast<double>(random.below(1000)) / 400;
    };
    std::vector<double> train(n * p), points(2 * p);
    for (double& x : train) x = coordinate();
    for (double& x : points) x = coordinate();
    CensoringOptions options = censoring_options("kernel");
    options.train_points = train;
    options.test_points = points;
    options.n_coordinates = p;
    const auto weights = test::random_weights(n, random);
    Solved solved(data, weights, options);
    for (const std::size_t row : {1, 0}) {
      solved.solve(weights, row);
      std::vector<double> kernel(n);
      for (std::size_t i = 0; i < n; ++i) {
        double distance = 0;
        for (std::size_t f = 0; f < p; ++f)
          if (const double d = points[row * p + f] - train[i * p + f]; !std::isnan(d))
            distance += d * d;
        kernel[i] = std::exp(-distance / 2) * (data.weight.empty() ? 1 : data.weight[i]);
      }
      check_curve(solved.curve, test::slow_curve(data, weights, slow_g(data, kernel)));
    }
  }
}

TEST(censoring_kernel_far_from_every_row) {
  // exp(-10000^2 / 2) is zero; relative to the nearest row it is not. The two rows at the same
  // smallest distance are all that counts: one censored, then one event.
  OutcomeData data;
  data.push(1, false);
  data.push(2, false);
  data.push(3, true);
  data.push(4, false);
  const std::vector<double> train{0, 100, 100, 50};
  const std::vector<double> point{10000};
  CensoringOptions options = censoring_options("kernel");
  options.train_points = train;
  options.test_points = point;
  options.n_coordinates = 1;
  const Solved solved(data, {1, 1, 1, 1}, options);
  const auto g = solved.censoring->everywhere();
  CHECK_EQ(g[0], 1.0);
  CHECK_EQ(g[1], 0.5);
  CHECK_EQ(g[2], 0.5);
  for (const double s : solved.curve.survival) CHECK(s >= 0 && s <= 1);
}

TEST(censoring_without_censored_rows_is_one) {
  Random random(5);
  const OutcomeData data(40, 30, 1.0, random);
  const std::vector<double> train(40, 0.5), point{0.25};
  for (const char* kind : {"beran", "knn", "marginal", "kernel"}) {
    CensoringOptions options = censoring_options(kind);
    options.n_neighbors = 40;
    options.train_points = train;
    options.test_points = point;
    options.n_coordinates = 1;
    const auto weights = test::random_weights(40, random);
    const Solved solved(data, weights, options);
    for (std::size_t k = 0; k < solved.curve.steps.size(); ++k) {
      CHECK_EQ(solved.curve.censoring[k], 1.0);
      CHECK_NEAR(solved.curve.survival[k],
                 test::slow_after(data, weights, data.times[solved.curve.steps[k].time]), 1e-13);
    }
  }
}

TEST(censoring_beran_may_leave_g_out) {
  Random random(6);
  const OutcomeData data(30, 30, 0.5, random);
  CensoringOptions options;
  options.needs_censoring = false;
  const auto weights = test::random_weights(30, random);
  CHECK(Solved(data, weights, options).curve.survival == Solved(data, weights).curve.survival);
}

TEST(censoring_unknown_kind) {
  OutcomeData data;
  data.push(1, true);
  CHECK_THROWS(make_censoring_curve(censoring_options("cox"), data.target()),
               std::invalid_argument);
}
