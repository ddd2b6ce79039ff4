#include "check.hpp"
#include "curves.hpp"
#include "prediction/answers.hpp"

using namespace cqrf;
using test::OutcomeData;
using test::Solved;

namespace {

std::vector<double> grid_of(const Solved& solved, Which which, const std::vector<double>& grid,
                            bool left_limit) {
  std::vector<double> values(grid.size());
  const GridAnswer answer{solved.target, which, grid, left_limit, values.data()};
  auto worker = answer.worker();
  answer.take(0, solved.curve, *solved.censoring, worker);
  return values;
}

double restricted_mean(const Solved& solved, double horizon, bool mirrored) {
  double mean = NAN;
  const RestrictedMeanAnswer answer{solved.target, horizon, mirrored, &mean};
  auto worker = answer.worker();
  answer.take(0, solved.curve, *solved.censoring, worker);
  return mean;
}

}  // namespace

TEST(answers_grid_agrees_with_the_formulas) {
  Random random(1);
  for (int repeat = 0; repeat < 30; ++repeat) {
    const std::size_t n = 1 + random.below(30);
    const OutcomeData data(n, 1 + random.below(20), 0.6, random);
    const auto weights = test::random_weights(n, random);
    const Solved beran(data, weights);
    const Solved marginal(data, weights, test::censoring_options("marginal"));
    // At the times, between them, and outside.
    std::vector<double> grid;
    for (int i = -1; i < 45; ++i) grid.push_back(i / 2.0);
    const std::vector<double> ones(n, 1);
    for (const bool left_limit : {false, true}) {
      const auto s = grid_of(beran, Which::kSurvival, grid, left_limit);
      const auto g = grid_of(beran, Which::kCensoring, grid, left_limit);
      const auto p = grid_of(beran, Which::kAfter, grid, left_limit);
      const auto h = grid_of(beran, Which::kHazard, grid, left_limit);
      const auto km = grid_of(marginal, Which::kCensoring, grid, left_limit);
      for (std::size_t j = 0; j < grid.size(); ++j) {
        const double t = left_limit ? std::nextafter(grid[j], -INFINITY) : grid[j];
        CHECK_NEAR(s[j], test::slow_survival(data, weights, t), 1e-13);
        CHECK_NEAR(g[j], test::slow_censoring(data, weights, t), 1e-13);
        CHECK_NEAR(p[j], test::slow_after(data, weights, t), 1e-13);
        CHECK_NEAR(km[j], test::slow_censoring(data, ones, t), 1e-13);
        double hazard = 0;
        for (const double u : data.times)
          if (const double d = test::weight_at(data, weights, u, true); u <= t && d > 0)
            hazard += d / test::weight_from(data, weights, u);
        CHECK_NEAR(h[j], hazard, 1e-12);
      }
    }
  }
}

TEST(answers_restricted_mean_by_hand) {
  // S = 1 to 1, 3/4 to 2, 1/2 to 4, 1/4 to 8.
  OutcomeData data;
  for (const double t : {1.0, 2.0, 4.0, 8.0}) data.push(t, true);
  const Solved solved(data, {1, 1, 1, 1});
  CHECK_NEAR(restricted_mean(solved, 0.5, false), 0.5, 1e-15);
  CHECK_NEAR(restricted_mean(solved, 3, false), 1 + 0.75 + 0.5, 1e-15);
  CHECK_NEAR(restricted_mean(solved, 100, false), 3.75, 1e-15);
  // E max(T, 3) = (3 + 3 + 4 + 8) / 4.
  CHECK_NEAR(restricted_mean(solved, 3, true), 4.5, 1e-15);
  CHECK_NEAR(restricted_mean(solved, -1, true), 3.75, 1e-15);
  CHECK_NEAR(restricted_mean(solved, 100, true), 100, 1e-13);
}

TEST(answers_restricted_mean_agrees_with_the_integral) {
  Random random(2);
  for (int repeat = 0; repeat < 30; ++repeat) {
    const std::size_t n = 1 + random.below(30);
    const OutcomeData data(n, 1 + random.below(20), 0.6, random);
    const auto weights = test::random_weights(n, random);
    const Solved solved(data, weights);
    const double horizon = random.below(50) / 2.0;
    // S is constant on [i / 2, (i + 1) / 2); times and horizon are multiples of 1/2.
    double mean = 0;
    for (int i = 0; i / 2.0 < horizon; ++i) mean += test::slow_survival(data, weights, i / 2.0) / 2;
    CHECK_NEAR(restricted_mean(solved, horizon, false), mean, 1e-12);
    // Mirrored, to the last of all times, whether it has weight or not.
    double beyond = horizon;
    for (double t = horizon; t < data.times.back(); t += 0.5)
      beyond += test::slow_survival(data, weights, t) / 2;
    CHECK_NEAR(restricted_mean(solved, horizon, true), beyond, 1e-12);
  }
}

TEST(answers_restricted_mean_of_far_horizons) {
  OutcomeData data;
  for (const double t : {1.0, 2.0, 4.0, 8.0}) data.push(t, t < 8);
  const Solved reached(data, {1, 1, 1, 0});
  const Solved left(data, {1, 1, 0, 2});
  for (const double far : {1e17, 1e300}) {
    CHECK_EQ(restricted_mean(reached, far, false), restricted_mean(reached, 4, false));
    CHECK_NEAR(restricted_mean(left, far, false), far / 2, 1e-15 * far);
    CHECK_EQ(restricted_mean(left, -far, false), -far);
    CHECK_EQ(restricted_mean(left, far, true), far);
    // Half of the mass lies at 8.
    CHECK_NEAR(restricted_mean(left, -far, true), (1 + 2) / 4.0 + 8 / 2.0, 1e-15);
  }
}

TEST(answers_curves_and_weights) {
  Random random(3);
  const OutcomeData data(20, 15, 0.6, random);
  const auto weights = test::random_weights(20, random);
  const Solved solved(data, weights, test::censoring_options("marginal"));
  std::vector<CurveAnswer::Row> curves(1);
  const CurveAnswer curve_answer{curves};
  auto curve_worker = curve_answer.worker();
  curve_answer.take(0, solved.curve, *solved.censoring, curve_worker);
  CHECK(curves[0].survival == solved.curve.survival);
  CHECK(curves[0].censoring == solved.curve.censoring);
  CHECK_EQ(curves[0].time.size(), solved.curve.steps.size());
  CHECK_EQ(curves[0].everywhere.size(), data.times.size());

  std::vector<std::vector<RankWeight>> rows(1);
  const WeightAnswer weight_answer{rows};
  auto weight_worker = weight_answer.worker();
  weight_answer.take(0, solved.curve, *solved.censoring, weight_worker);
  double total = 0;
  for (const auto& [rank, weight] : rows[0]) {
    CHECK_NEAR(weight * solved.curve.total, weights[rank], 1e-15);
    total += weight;
  }
  CHECK_NEAR(total, 1, 1e-14);
}
