// Scores one cut of each of up to sixteen features by the distribution rule: rows are in time
// order, so that the sums of an interval stay in registers, a lane for each feature, until the rows
// of the next one begin.
#pragma once

#include <bit>

#include "../rules/distribution.hpp"
#include "../simd.hpp"
#include "interval_sums.hpp"
#include "score_cuts.hpp"

namespace cqrf {

// The scores of the cuts of all lanes. The operations are those of DistributionRule::Gain, in the
// same order, so that the bits are the same.
struct ScoreLanes {
  template <Isa>
  CQRF_KERNEL static void run(const IntervalSums& sums, const DistributionRule::Gain& gain,
                              double* scores) {
    std::int32_t weight[kLanes] = {};
    for (std::size_t j = 0; j < DistributionRule::kIntervals; ++j)
      for (std::size_t lane = 0; lane < kLanes; ++lane) weight[lane] += sums.weight[j][lane];
    std::int32_t later[kLanes];
    double w_left[kLanes];
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      later[lane] = weight[lane];
      w_left[lane] = weight[lane];
    }
    double imputed[kLanes] = {};
    double squares[kLanes] = {};
    for (std::size_t k = 0; k < DistributionRule::kThresholds; ++k) {
      const double one = gain.columns().one;
      const double fall = gain.columns().fall[k];
      const double importance = gain.columns().importance[k];
      const double mean = gain.mean(k);
      for (std::size_t lane = 0; lane < kLanes; ++lane) {
        later[lane] -= sums.weight[k][lane];
        imputed[lane] = imputed[lane] * fall + sums.rho[k][lane];
        const double deviation = (later[lane] * one + imputed[lane]) - w_left[lane] * mean;
        squares[lane] += deviation * deviation * importance;
      }
    }
    for (std::size_t lane = 0; lane < kLanes; ++lane)
      scores[lane] = squares[lane] / (w_left[lane] * (gain.weight() - w_left[lane]));
  }
};

template <>
class CutScorer<DistributionRule> {
 public:
  using Node = NodeView<DistributionRule>;

  void start(const Node& node, std::size_t) {
    weighted_ = node.total.weight() != node.total.count();
  }

  void examine(const Node& node, const LaneGroup& group, const LaneCuts& cuts,
               Split<DistributionRule>& best) {
    if (weighted_)
      dispatch<SumIntervals<true>>(isa_, group.rows, node.labels, node.rows, cuts.at, sums_);
    else
      dispatch<SumIntervals<false>>(isa_, group.rows, node.labels, node.rows, cuts.at, sums_);
    alignas(64) double scores[kLanes];
    dispatch<ScoreLanes>(isa_, sums_, node.gain, scores);
    std::size_t best_of = kLanes;
    for (std::uint32_t bits = cuts.drawn; bits != 0; bits &= bits - 1) {
      const auto j = static_cast<std::size_t>(std::countr_zero(bits));
      if (!(scores[group.lane[j]] > best.score)) continue;
      best.score = scores[group.lane[j]];
      best_of = j;
    }
    if (best_of == kLanes) return;
    const std::size_t lane = group.lane[best_of];
    const auto left = left_sum(node, group, cuts, lane);
    best.take(scores[lane], group.feature[best_of], cuts.at.bin[lane], left, node.majority(left));
  }

 private:
  DistributionRule::Stat left_sum(const Node& node, const LaneGroup& group, const LaneCuts& cuts,
                                  std::size_t lane) const {
    DistributionRule::Stat left;
    for (std::size_t j = 0; j < DistributionRule::kIntervals; ++j) {
      const auto weight = static_cast<std::uint32_t>(sums_.weight[j][lane]);
      left.add(j, weight, static_cast<std::uint32_t>(sums_.rho[j][lane]), weighted_ ? 0 : weight);
    }
    if (!weighted_) return left;
    // Weights do not tell how many rows there are.
    std::uint32_t count = cuts.count[lane];
    if (node.min_leaf == 1)
      for (std::size_t i = 0; i < node.rows.size(); ++i)
        count += group.rows[i].bin[lane] <= cuts.at.bin[lane];
    left.add(0, 0, 0, count);
    return left;
  }

  Isa isa_ = isa();
  bool weighted_ = false;
  IntervalSums sums_;
};

}  // namespace cqrf
