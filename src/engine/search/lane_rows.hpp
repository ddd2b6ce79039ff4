// Passes over the rows of a node, up to sixteen features side by side.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "node.hpp"

namespace cqrf {

// Features and the lanes that they have in `rows`.
struct LaneGroup {
  LaneRows rows;
  std::size_t size = 0;
  std::array<std::uint32_t, kLanes> feature{};
  std::array<std::size_t, kLanes> lane{};

  void add(std::uint32_t one, std::size_t its_lane) {
    feature[size] = one;
    lane[size++] = its_lane;
  }
};

// One cut of each feature of a group.
struct LaneCuts {
  Lanes at{};               // by lane
  std::uint32_t drawn = 0;  // bit j: feature j of the group has an admissible cut
  // Rows that pass it, by lane; not known where leaves may have one row.
  std::array<std::uint32_t, kLanes> count{};
};

struct LaneExtremes {
  Lanes lowest;
  Lanes highest;
};

inline LaneExtremes lane_extremes(const LaneRows& rows, std::size_t n) {
  LaneVector lowest = vector_of(rows[0]);
  LaneVector highest = lowest;
  for (std::size_t i = 1; i < n; ++i) {
    const LaneVector row = vector_of(rows[i]);
    lowest = lower(lowest, row);
    highest = higher(highest, row);
  }
  return {lanes_of(lowest), lanes_of(highest)};
}

// Of every lane the number of rows that are at most `cuts`.
inline void lane_counts(const LaneRows& rows, std::size_t n, const Lanes& cuts,
                        std::array<std::uint32_t, kLanes>& count) {
  count.fill(0);
  const LaneVector at = vector_of(cuts);
  constexpr std::size_t kMost = 255;  // that a byte can count
  for (std::size_t begin = 0; begin < n; begin += kMost) {
    const std::size_t end = std::min(n, begin + kMost);
    LaneVector bytes{};
    for (std::size_t i = begin; i < end; ++i) bytes -= where_at_most(vector_of(rows[i]), at);
    for (std::size_t j = 0; j < kLanes; ++j) count[j] += bytes[j];
  }
}

}  // namespace cqrf
