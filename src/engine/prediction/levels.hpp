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

 private:
  static constexpr std::size_t kChunk = 64;
  // Levels, or ranks.
  struct Range {
    std::size_t begin;
    std::size_t end;
  };
  // Ranks that are looked up, all of the levels from `level` on, and where their weights stand.
  struct Part {
    Range ranks;
    std::size_t level;
    std::size_t first_weight;
  };

  // A block, and the ranges of places that are looked up there: `size` from `begin` on.
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
  void add_doubtful(std::size_t chunk);
  void settle_doubts(double least);
  void add_part(Range ranks, std::size_t level);
  void look_up_parts();
  void divide_by_blocks();
  void gather(const Leaf& leaf);
  void take(Rank rank, double share);
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
  std::vector<Part> parts_;
  std::vector<double> near_;          // weights of the ranks that are looked up, part after part
  std::vector<Wanted> wanted_;        // the blocks in which there are parts
  std::vector<std::uint16_t> first_;  // of the parts in every block: the first place,
  std::vector<std::uint16_t> more_;   // and how many follow it
  std::vector<std::uint32_t> hits_;
};

}  // namespace cqrf
