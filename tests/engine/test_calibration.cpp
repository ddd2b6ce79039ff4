#include "check.hpp"
#include "curves.hpp"
#include "prediction/calibration.hpp"

using namespace cqrf;
using test::OutcomeData;
using test::Solved;

namespace {

struct Found {
  double level;
  std::vector<double> weights;
};

Found found_of(const Solved& solved, double own, double least_censoring = 0.05) {
  Found found{NAN, std::vector<double>(2)};
  const CalibrationAnswer answer{solved.target,   std::span(&own, 1), found.weights.size(),
                                 least_censoring, &found.level,       found.weights.data()};
  auto worker = answer.worker();
  answer.take(0, solved.curve, *solved.censoring, worker);
  return found;
}

}  // namespace

TEST(calibration_by_hand) {
  // S falls to 3/4 at 1, to 3/8 at 3 and to 0 at 4; G falls to 2/3 at 2.
  OutcomeData data;
  data.push(1, true);
  data.push(2, false);
  data.push(3, true);
  data.push(4, true);
  for (const char* curve : {"beran", "marginal"}) {
    const Solved solved(data, {1, 1, 1, 1}, test::censoring_options(curve));
    // The inverted curve goes through 1/8, 7/16 and 13/16.
    CHECK_NEAR(found_of(solved, 0.9).level, 0, 0);
    CHECK_NEAR(found_of(solved, 1).level, 0.125, 1e-15);
    CHECK_NEAR(found_of(solved, 2).level, 0.28125, 1e-15);
    CHECK_NEAR(found_of(solved, 3).level, 0.4375, 1e-15);
    CHECK_NEAR(found_of(solved, 3.5).level, 0.625, 1e-15);
    CHECK_NEAR(found_of(solved, 4).level, 1, 0);
    // Quantiles of 1/4 and 3/4 lie before 2, and between 3 and 4.
    CHECK_NEAR(found_of(solved, 1).weights[0], 1, 0);
    CHECK_NEAR(found_of(solved, 1).weights[1], 1.5, 1e-15);
    CHECK_NEAR(found_of(solved, 1, 0.8).weights[1], 1.25, 1e-15);
  }
}

TEST(calibration_without_events) {
  OutcomeData data;
  data.push(1, false);
  data.push(2, false);
  const Solved solved(data, {1, 1});
  // Every quantile is 2 at least, and no level is reached.
  const Found found = found_of(solved, 5);
  CHECK_NEAR(found.level, 0, 0);
  CHECK_NEAR(found.weights[0], 2, 1e-15);
  CHECK_NEAR(found.weights[1], 2, 1e-15);
}
