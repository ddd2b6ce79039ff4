#include <vector>

#include "check.hpp"
#include "data.hpp"
#include "isas.hpp"
#include "prediction/window_curve.hpp"

using namespace cqrf;
using test::OutcomeData;

namespace {

// An event at 1, a censoring at 2, events at 3 and 4, with some weights, and so much behind them.
struct FourRows {
  OutcomeData data;
  TargetView target;
  RankWeights weights;
  WindowCurve curve;

  explicit FourRows(const std::vector<float>& given, double behind) {
    for (const double time : {1.0, 2.0, 3.0, 4.0}) data.push(time, time != 2.0);
    target = data.target();
    std::vector<float> scratch = given;
    weights.make_room(scratch.size());
    drain(isa(), target.event, scratch.data(), scratch.size(), 0, weights);
    curve.make(isa(), target, weights, 1, behind);
  }
};

}  // namespace

TEST(window_of_all_ranks) {
  FourRows rows({1, 1, 1, 1}, 0);
  WindowCurve& curve = rows.curve;
  // S = 3/4, 3/4, 3/8, 0.
  CHECK_EQ(curve.crossing(0.75), std::size_t{0});
  CHECK_EQ(curve.crossing(0.5), std::size_t{2});
  CHECK_EQ(curve.crossing(0.3), std::size_t{3});
  CHECK_EQ(curve.solve(0.5, 2, Interpolation::kLower).quantile, 3.0);
  // Between (1, 7/8) and (3, 9/16).
  CHECK_NEAR(curve.solve(0.75, 0, Interpolation::kMidpoint).quantile, 1.8, 1e-6);
}

TEST(window_that_ends_before_S_has_fallen) {
  FourRows rows({1, 1, 0, 0}, 2);
  WindowCurve& curve = rows.curve;
  // Weight comes behind: the last jump, up to the error of what comes before.
  CHECK_EQ(curve.crossing(0.7), std::size_t{0});
  const QuantileFound inside = curve.solve(0.7, curve.crossing(0.7), Interpolation::kMidpoint);
  CHECK_EQ(inside.quantile, 1.0);
  CHECK(inside.identified);
  CHECK(curve.find(0.7).after);
  CHECK_EQ(curve.find(0.7).end, std::size_t{2});
  // Nothing comes behind: S never falls so far, and the last time is told.
  curve.make(isa(), rows.target, rows.weights, 1, 0);
  CHECK_EQ(curve.crossing(0.4), kNoJump);
  const QuantileFound last = curve.solve(0.4, kNoJump, Interpolation::kMidpoint);
  CHECK_EQ(last.quantile, 2.0);
  CHECK(!last.identified);
  CHECK(!curve.find(0.4).after);
}
