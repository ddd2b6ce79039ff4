// The sampling variance of S(t) at a test point, from groups of trees that share a half-sample.
//
// S is a smooth function of the weights. With the curves of the whole forest, a training row has
// the influence
//
//   psi_i(t) = S(t) * (sum of d_k / (R_k (R_k - d_k)) over t_k <= min(Y_i, t)
//                      - 1{event, Y_i = t_j <= t} / (R_j - d_j))
//
// on it (the derivative of the Kaplan-Meier curve, weights adding up to one; Greenwood's formula is
// its variance), and a tree the mean U_b of psi over its leaf. The mean of U_b over the forest is
// zero. The variance of a group's mean is that of the half-sample, which is the variance wanted,
// plus the noise of its few trees.
#pragma once

#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

#include "censoring.hpp"
#include "curve.hpp"
#include "sources.hpp"

namespace cqrf {

// Answers (m, q): the mean square of the groups' means of U, and the share of it that is noise
// within groups.
struct LittleBagsAnswer {
  const TargetView& target;
  const ForestSource& source;
  std::size_t group_size;
  std::span<const double> times;  // (m, n_times)
  std::size_t n_times;
  bool left_limit;  // of S at the times
  double* between;
  double* noise;

  struct Worker {
    Block block;
    std::vector<double> influence;  // by rank
  };
  Worker worker() const { return {{}, std::vector<double>(target.time_index.size(), 0.0)}; }

  void take(std::size_t row, const Curve& curve, const CensoringCurve&, Worker& worker) const {
    // Found a second time: the line of prediction does not hand leaves on.
    source.prepare({&row, 1}, worker.block);
    for (std::size_t j = row * n_times; j < (row + 1) * n_times; ++j) {
      set_influence(curve, times[j], worker.influence);
      add_up(worker, between[j], noise[j]);
    }
  }

 private:
  // Of every rank that carries weight.
  void set_influence(const Curve& curve, double at, std::vector<double>& influence) const {
    const auto reached = [&](const Step& step) {
      const double time = target.times[step.time];
      return left_limit ? time < at : time <= at;
    };
    double survival = 1;
    for (std::size_t k = 0; k < curve.steps.size() && reached(curve.steps[k]); ++k)
      survival = curve.survival[k];
    // Weights add up to curve.total, not to one.
    const double scale = survival * curve.total;
    double compensator = 0;
    auto weight = curve.weights.begin();
    for (const Step& step : curve.steps) {
      double jump = 0;
      // Where nobody survives, S is zero and no row moves it.
      if (scale > 0 && reached(step)) {
        compensator += step.events / (step.at_risk() * step.surviving());
        jump = 1 / step.surviving();
      }
      for (; weight != curve.weights.end() && target.time_index[weight->rank] == step.time;
           ++weight)
        influence[weight->rank] = scale * (compensator - target.event[weight->rank] * jump);
    }
  }

  void add_up(Worker& worker, double& between_groups, double& noise) const {
    const std::size_t groups = source.n_trees() / group_size;
    double squares = 0;
    double group_squares = 0;
    for (std::size_t g = 0; g < groups; ++g) {
      double sum = 0;
      for (std::size_t t = g * group_size; t < (g + 1) * group_size; ++t) {
        const double u = source.leaf_mean(0, t, worker.block, worker.influence);
        squares += u * u;
        sum += u;
      }
      const double mean = sum / static_cast<double>(group_size);
      group_squares += mean * mean;
    }
    between_groups = group_squares / static_cast<double>(groups);
    const double total = squares / static_cast<double>(groups * group_size);
    noise = (total - between_groups) / static_cast<double>(group_size - 1);
  }
};

}  // namespace cqrf
