// The engine's curve of one test point, from weights by rank.
#pragma once

#include <memory>
#include <vector>

#include "data.hpp"
#include "prediction/censoring.hpp"
#include "slow.hpp"

namespace cqrf::test {

// Random weights of which a third is zero; multiples of 1/8 half of the time, so that levels are
// hit exactly.
inline std::vector<double> random_weights(std::size_t n, Random& random) {
  std::vector<double> weights(n);
  const bool exact = random.below(2) == 0;
  for (double& w : weights)
    w = random.below(3) == 0 ? 0
        : exact              ? (1 + random.below(4)) / 8.0
                             : (1 + random.below(1000)) / 777.0;
  weights[random.below(static_cast<std::uint32_t>(n))] = 0.5;
  return weights;
}

struct Solved {
  TargetView target;
  std::unique_ptr<CensoringCurve> censoring;
  std::vector<RankWeight> sparse;
  Curve curve;

  Solved(const OutcomeData& data, const std::vector<double>& weights,
         const CensoringOptions& options = {}, std::size_t row = 0)
      : target(data.target()), censoring(make_censoring_curve(options, target)) {
    solve(weights, row);
  }

  void solve(const std::vector<double>& weights, std::size_t row = 0) {
    sparse.clear();
    for (std::size_t rank = 0; rank < weights.size(); ++rank)
      if (weights[rank] > 0) sparse.push_back({static_cast<Rank>(rank), weights[rank]});
    curve.weights = sparse;
    make_steps(target, curve);
    censoring->apply(target, row, curve);
  }

  std::vector<Quantile> quantiles(const std::vector<double>& levels, const SolveOptions& options,
                                  double after = NAN) const {
    std::vector<double> value(levels.size());
    std::vector<std::uint8_t> identified(levels.size());
    QuantileSolver(options).solve(target, curve, levels, after, value.data(), identified.data());
    std::vector<Quantile> answer;
    for (std::size_t j = 0; j < levels.size(); ++j)
      answer.push_back({value[j], identified[j] != 0});
    return answer;
  }
};

inline CensoringOptions censoring_options(const std::string& kind) {
  CensoringOptions options;
  options.kind = kind;
  return options;
}

}  // namespace cqrf::test
