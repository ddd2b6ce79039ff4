// Where the curve of a test point falls to a probability, found without all of its steps.
//
// A *level* is a run of 2^shift neighbouring ranks. The weights of a test point are added up by
// levels, events and censorings apart, in an array that stays in the first caches however many
// training rows there are. With R the weight from a level on, and D and C the weights of its events
// and censorings,
//
//   S falls in the level by the factor 1 - D / (R - C / 2),
//
// as if half of the censorings came before the events. Around the level in which S falls to a
// probability, the members of the leaves are looked up, and the steps there are exact.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "../simd.hpp"
#include "curve.hpp"
#include "forest.hpp"

namespace cqrf {

// The levels of n ranks: no more than `most` of them, but at least 64 of a block (members.hpp).
inline int level_shift(std::size_t n_rows, std::size_t most) {
  constexpr int kLargest = 9;
  int shift = 0;
  while (shift < kLargest && ((n_rows - 1) >> shift) + 1 > most) ++shift;
  return shift;
}

// Scratch of one worker, made anew for every test point.
class LevelCurve {
 public:
  LevelCurve(const Forest& forest, const TargetView& target, int shift);

  // Adds up the weights of a test point from its leaf in every tree.
  void make(const LeafId* leaves);

  // Looks up the members of the leaves around the levels in which S falls to each probability.
  void look_at(std::span<const double> probabilities);
  // Sets the part of a curve where S falls to the k-th probability, from the jump before to the
  // jump after that; where S does not fall so far, its end. A first step without weight tells S
  // before it.
  void part(std::size_t k, Curve& curve) const;

  // Sets S after the first `ranks[j]` ranks, for all of them.
  void survival_after(std::span<const std::size_t> ranks, double* survival);

 private:
  static constexpr std::size_t kChunk = 64;
  static constexpr std::uint32_t kNone = static_cast<std::uint32_t>(-1);
  // More ranges than this are sooner found one member after the other.
  static constexpr std::size_t kFewRanges = 12;
  // Levels, or ranks.
  struct Range {
    std::size_t begin;
    std::size_t end;
  };
  // The ranges of places that are looked up in a block: `size` from `begin` on.
  struct Wanted {
    std::size_t block;
    std::size_t begin;
    std::size_t size;
  };

  std::size_t n_ranks() const { return target_.time_index.size(); }
  std::size_t first_rank(std::size_t level) const { return std::min(level << shift_, n_ranks()); }
  std::size_t per_block() const { return kBlockRows >> shift_; }
  // Where the censorings of a level stand; its events stand per_block() behind.
  std::size_t place(std::size_t level) const {
    return level / per_block() * 2 * per_block() + level % per_block();
  }
  float weight(std::size_t level) const {
    return weight_[place(level)] + weight_[place(level) + per_block()];
  }

  void add(const Leaf& leaf);
  void multiply_chunks();
  Range levels_around(double probability) const;
  Range with_equal_times(Range ranks) const;
  Range levels_of(Range ranks) const {
    return {ranks.begin >> shift_, ((ranks.end - 1) >> shift_) + 1};
  }
  void want(std::size_t level);
  void want_doubtful(std::size_t chunk);
  void settle_doubts(double least);
  void look_up();
  void divide_by_blocks();
  void find(const Leaf& leaf);
  void sift(const Leaf& leaf);
  void take(Rank rank, double share);
  bool looked_up(std::size_t level) const { return slot_[level] != kNone; }
  // Of a rank whose level was looked up.
  double weight_of(std::size_t rank) const {
    return near_[slot_[rank >> shift_] + (rank & (level_size() - 1))];
  }
  std::size_t level_size() const { return std::size_t{1} << shift_; }
  double factor_of_first(std::size_t level, std::size_t end) const;
  double survival_before(std::size_t level) const;
  double weight_from(std::size_t level) const;

  const Forest& forest_;
  const TargetView& target_;
  Isa isa_;
  int shift_;
  std::size_t n_levels_;
  std::vector<Leaf> leaves_;            // of the test point
  std::vector<float> weight_;           // (blocks, 2, levels of a block): censorings, events
  std::vector<float> factor_;           // (chunks, kChunk)
  std::vector<float> chunk_weight_;     // (chunks,)
  std::vector<double> chunk_after_;     // (chunks,) weight behind each chunk
  std::vector<double> chunk_product_;   // (chunks,) of the factors
  std::vector<std::uint8_t> doubtful_;  // (chunks,) whether the order within some level matters
  std::vector<double> chunk_before_;    // (chunks + 1,) S before each chunk
  // Levels whose members have been looked up, where their weights stand in near_, and those that
  // wait for it.
  std::vector<std::uint32_t> slot_;  // by level, or kNone
  std::vector<double> near_;         // (levels, ranks of a level)
  std::vector<std::uint32_t> looked_up_;
  std::size_t n_found_ = 0;           // of looked_up_; the others wait
  std::vector<Range> parts_;          // of levels
  std::vector<Wanted> wanted_;        // the blocks in which levels wait
  std::vector<std::uint16_t> first_;  // of the levels in every block: the first place,
  std::vector<std::uint16_t> more_;   // and how many follow it
  std::vector<std::uint32_t> hits_;
};

}  // namespace cqrf
