// The curve of a test point from the weights of all ranks, in single precision.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "../simd.hpp"
#include "curve.hpp"
#include "forest.hpp"
#include "levels.hpp"
#include "window_curve.hpp"

namespace cqrf {

// With more rows than this, most of the time would go to ranks that have no weight: for a few
// quantiles, and for many, each of which takes longer any other way.
inline constexpr std::size_t kMostRanksForFew = kBlockRows;
inline constexpr std::size_t kMostRanksForMany = 8 * kBlockRows;
// With more members in the leaves of a test point than this, cells pay, for anything but many
// quantiles.
inline constexpr std::size_t kMostMembersForRanks = kBlockRows;

// Scratch of one worker, made anew for every test point.
class RankCurve {
 public:
  RankCurve(const Forest& forest, const TargetView& target)
      : forest_(forest), target_(target), isa_(isa()) {}

  // Adds up the weights of a test point from its leaf in every tree.
  void make(const LeafId* leaves);
  // There is nothing that the next test point needs first.
  void expect(const LeafId*) const {}

  void look_at(std::span<const double> probabilities);
  // The k-th answer, where no times are tied.
  QuantileFound solve(std::size_t k, Interpolation interpolation) {
    return whole_.solve(probabilities_[k], crossings_[k], interpolation);
  }
  // Sets the part of a curve where S falls to the k-th probability, from the jump before to the
  // jump after that; where S does not fall so far, its end.
  void part(std::size_t k, Curve& curve) {
    const std::size_t chunk = crossings_[k] == kNoJump ? 0 : crossings_[k] / WindowCurve::kChunk;
    whole_.part(whole_.find(probabilities_[k] + kLevelTolerance, chunk), curve);
  }
  // Sets S after the first `ranks[j]` ranks, for every j; ascending.
  void survival_after(std::span<const std::size_t> ranks, double* survival) {
    whole_.survival_after(ranks, survival);
  }
  // The sum of the values at the jumps of S, times its falls there. Sets what is left of S.
  double sum_of_falls(const LevelValues& values, double& left) const {
    left = whole_.survival_behind();
    return whole_.sum_of_falls(values.at);
  }

 private:
  const Forest& forest_;
  const TargetView& target_;
  Isa isa_;
  std::vector<Leaf> leaves_;
  std::vector<float> weight_;  // by rank; zero
  RankWeights weights_;
  WindowCurve whole_;
  std::span<const double> probabilities_;
  std::vector<std::size_t> crossings_;  // places at which S falls to them, or kNoJump
};

}  // namespace cqrf
