// The curves of one test point: weights (d, c) at the distinct times -> R, S, G, P.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "../index.hpp"

namespace cqrf {

// Two probabilities that agree up to the rounding of a product of some thousand factors are equal.
inline constexpr double kLevelTolerance = 1e-12;

// The training outcomes in time order. Views; the caller owns the arrays.
struct TargetView {
  std::span<const double> times;          // (K,) distinct times, ascending
  std::span<const TimeIndex> time_index;  // (n,) of every rank, nondecreasing
  std::span<const std::uint8_t> event;    // (n,)
  std::span<const double> weight;         // (n,) sample weights; empty = all one
  std::span<const std::int64_t> order;    // (n,) the original row of every rank
};

// A step of the curves at a distinct time t_k that carries weight.
struct Step {
  TimeIndex time;
  bool jump;       // S falls here: a point of the interpolated curve
  bool candidate;  // the argmin rule may answer with this time
  double events;   // d_k
  double censored; // c_k
  double after;    // weight strictly after t_k, relative to the total: P(t_k)
  double survival; // S(t_k)
  double censoring;  // G(t_k)
};

struct RankWeight {
  Rank rank;
  double weight;
};

// Scratch of one worker, filled anew for every test point.
struct Curve {
  std::vector<RankWeight> weights;  // non-zero weights in time order
  std::vector<Step> steps;          // in time order
};

// Groups curve.weights by time and sets d, c and P of every step, then
//
//   S(t_k) = prod (1 - d_j / R_j),   G(t_k) = prod (1 - c_j / (R_j - d_j)),   j <= k.
//
// R is summed from the right: R_k - d_k is then c_k plus what comes after, without cancellation.
void beran(const TargetView& target, Curve& curve);

}  // namespace cqrf
