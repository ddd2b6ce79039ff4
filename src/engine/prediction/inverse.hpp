// Where S falls to a level: the inverted curve goes through a point at each jump e_j of S,
// (e_j, S(e_j)), or with midpoints (e_j, (S(e_j-) + S(e_j)) / 2).
//
// A curve tells of its places k, which are in time order:
//
//   double survival(k), double before(k);  // S there, and S before
//   double time(k), double first_time();
//   std::size_t jump_before(k);            // the last jump before a place, or kNoJump
//   std::size_t jump_from(k);              // the first one at or after it, or kNoJump
#pragma once

#include <cmath>
#include <cstddef>

#include "curve.hpp"

namespace cqrf {

enum class Interpolation { kMidpoint, kLower, kLinear };

inline constexpr std::size_t kNoJump = static_cast<std::size_t>(-1);

// The height of the inverted curve at a jump.
template <class Jumps>
double height(Jumps& jumps, std::size_t jump, Interpolation interpolation) {
  if (interpolation != Interpolation::kMidpoint) return jumps.survival(jump);
  return (jumps.before(jump) + jumps.survival(jump)) / 2;
}

struct QuantileFound {
  double quantile;
  bool identified;
};

// `crossing` is the first place at which S is no more than the level, give or take the tolerance.
template <class Jumps>
double inverse(Jumps& jumps, std::size_t crossing, double level, Interpolation interpolation) {
  const auto height_at = [&](std::size_t jump) { return height(jumps, jump, interpolation); };
  const double reached = level + kLevelTolerance;
  // Heights lie between S(e_j-) and S(e_j): the crossing is at the jump where S falls to the
  // level, or at the one after it.
  std::size_t next = crossing;
  double next_height = height_at(next);
  if (next_height > reached) {
    next = jumps.jump_from(crossing + 1);
    // Below the last midpoint the answer is the last time.
    if (next == kNoJump) return jumps.time(crossing);
    next_height = height_at(next);
  }
  if (interpolation == Interpolation::kLower || next_height >= level) return jumps.time(next);
  const std::size_t last = jumps.jump_before(next);
  // Above the first midpoint the answer is the first time; the linear curve begins with S = 1.
  if (last == kNoJump && interpolation == Interpolation::kMidpoint) return jumps.time(next);
  const double left_time = last == kNoJump ? jumps.first_time() : jumps.time(last);
  const double left_height = last == kNoJump ? 1.0 : height_at(last);
  const double share = (left_height - level) / (left_height - next_height);
  return std::lerp(left_time, jumps.time(next), share);
}

}  // namespace cqrf
