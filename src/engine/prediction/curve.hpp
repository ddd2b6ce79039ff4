// The curves of one test point: weights (d, c) at the distinct times -> R, S, G, P.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "../index.hpp"
#include "accumulator.hpp"

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

  bool has_ties() const { return times.size() < time_index.size(); }
  // Without ties, ranks tell their times: nothing is read.
  TimeIndex time_of(std::size_t rank) const {
    return has_ties() ? time_index[rank] : static_cast<TimeIndex>(rank);
  }
};

// [begin, end), of ranks or of runs of them.
struct Range {
  std::size_t begin;
  std::size_t end;

  bool operator==(const Range&) const = default;
};

// Some ranks, with all others of the same times: rows of one time make one step of a curve.
Range with_equal_times(const TargetView& target, Range ranks);

// A distinct time t_k that carries weight.
struct Step {
  TimeIndex time;
  bool candidate;   // the answer may be this time
  double events;    // d_k
  double censored;  // c_k
  double after;     // weight strictly after t_k

  double surviving() const { return after + censored; }           // R_k - d_k
  double at_risk() const { return after + (censored + events); }  // R_k
};

// The curves of one test point; scratch of one worker, filled anew for every test point.
struct Curve {
  std::span<const RankWeight> weights;  // non-zero weights, in time order
  std::span<Step> steps;                // in time order; the end of the buffer
  std::vector<Step> buffer;
  std::vector<double> survival;   // S(t_k), never increasing
  std::vector<double> censoring;  // G(t_k)
  // S falls at t_k. Where it is computed from events, that is where there are some.
  std::vector<std::uint8_t> jump;
  double total;  // of the weights
};

// Sets the steps from curve.weights. Sums run from the last time to the first: R_k - d_k is then
// c_k plus what comes after, without cancellation.
void make_steps(const TargetView& target, Curve& curve);

// S(t_k) = prod (1 - d_j / R_j) over j <= k.
void survival_of_events(Curve& curve);

// G(t_k) = prod (1 - c_j / (R_j - d_j)) over j <= k (paper eq. Beran_rf).
void survival_of_censoring(Curve& curve);

}  // namespace cqrf
