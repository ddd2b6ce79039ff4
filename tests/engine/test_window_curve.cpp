#include <vector>

#include "check.hpp"
#include "data.hpp"
#include "isas.hpp"
#include "prediction/window_curve.hpp"

using namespace cqrf;
using test::OutcomeData;

namespace {

RankWeights drained(const OutcomeData& data, const std::vector<float>& weights) {
  std::vector<float> scratch = weights;
  scratch.resize(weights.size() + kDrainRoom, 0.0f);
  RankWeights found;
  found.make_room(weights.size());
  drain(isa(), data.target().event, scratch.data(), weights.size(), 0, found);
  for (const float left : scratch) CHECK_EQ(left, 0.0f);
  return found;
}

// An event at 1, a censoring at 2, events at 3 and 4, with some weights, and so much behind them.
struct FourRows {
  OutcomeData data;
  TargetView target;
  RankWeights weights;
  WindowCurve curve;

  explicit FourRows(const std::vector<float>& given, double behind) {
    for (const double time : {1.0, 2.0, 3.0, 4.0}) data.push(time, time != 2.0);
    target = data.target();
    weights = drained(data, given);
    curve.make(isa(), target, weights, 1, behind, 4);
  }
};

}  // namespace

TEST(window_weights_other_than_zero) {
  test::each_isa([](Isa) {
    Random random(1);
    for (const std::size_t n : {1u, 7u, 16u, 17u, 200u}) {
      // Few of sixteen, and nearly all of them.
      for (const std::uint32_t share : {2u, 15u}) {
        OutcomeData data;
        std::vector<float> weights;
        std::vector<Rank> ranks;
        for (std::size_t i = 0; i < n; ++i) {
          data.push(static_cast<double>(i), random.below(2) == 0);
          const bool in = random.below(16) < share;
          weights.push_back(in ? 1.0f + static_cast<float>(i) : 0.0f);
          if (in) ranks.push_back(static_cast<Rank>(i));
        }
        const RankWeights found = drained(data, weights);
        CHECK_EQ(found.size, ranks.size());
        for (std::size_t k = 0; k < ranks.size(); ++k) {
          CHECK_EQ(found.rank(k), ranks[k]);
          CHECK_EQ(found.is_event(k), data.event[ranks[k]] != 0);
          CHECK_EQ(found.weight[k], weights[ranks[k]]);
        }
      }
    }
  });
}

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
  curve.make(isa(), rows.target, rows.weights, 1, 0, 2);
  CHECK_EQ(curve.crossing(0.4), kNoJump);
  const QuantileFound last = curve.solve(0.4, kNoJump, Interpolation::kMidpoint);
  CHECK_EQ(last.quantile, 2.0);
  CHECK(!last.identified);
  CHECK(!curve.find(0.4).after);
}
