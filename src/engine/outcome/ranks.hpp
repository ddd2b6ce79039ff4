// Outcomes in rank order, and the curves of all of them together.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "../index.hpp"

namespace cqrf {

// Rows sorted by time; at the same time events come first, and otherwise rows in their order.
struct RankedOutcome {
  std::vector<double> times;          // distinct, ascending; negated if mirrored
  std::vector<TimeIndex> time_index;  // of every rank
  std::vector<std::uint8_t> event;    // of every rank
  std::vector<std::int64_t> order;    // original row of every rank
};

// Ranks the rows that are `kept` (empty: all). Times are not NaN.
RankedOutcome rank_outcome(std::span<const double> time, std::span<const bool> event,
                           std::span<const bool> kept, bool mirrored);

// The Kaplan-Meier curve of the event or of the censoring time at every distinct time, with
// weights by rank (empty: all one):
//
//   S(t_k) = prod_{j <= k} (1 - d_j / R_j),   G(t_k) = prod_{j <= k} (1 - c_j / (R_j - d_j)).
std::vector<double> kaplan_meier(std::span<const TimeIndex> time_index,
                                 std::span<const std::uint8_t> event,
                                 std::span<const double> weight, std::size_t n_times,
                                 bool of_censoring);

}  // namespace cqrf
