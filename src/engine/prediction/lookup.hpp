// The weights of single ranks, looked up among the members of a test point's leaves.
//
// Ranks are asked for by levels (levels.hpp). Members are in order, so those of a level stand
// together; they are found by comparing many members at once with the ranges that are asked for.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "../simd.hpp"
#include "forest.hpp"
#include "gathered.hpp"

namespace cqrf {

class RankLookup {
 public:
  // gathered: null, or the members of all cells that will be asked for.
  RankLookup(const Forest& forest, int shift, const GatheredMembers* gathered);

  // Forgets everything.
  void clear();
  // Asks for a level.
  void want(std::size_t level);
  bool waiting() const { return n_found_ < levels_.size(); }
  // Looks up all levels that were asked for.
  void look_up(std::span<const Leaf> leaves);

  std::span<const std::uint32_t> levels() const { return levels_; }
  bool known(std::size_t level) const { return !slot_.empty() && slot_[level] != kNone; }
  // Of a rank whose level is known.
  double weight(std::size_t rank) const {
    return weight_[slot_[rank >> shift_] + (rank & (level_size() - 1))];
  }

 private:
  static constexpr std::uint32_t kNone = static_cast<std::uint32_t>(-1);
  // More ranges than this in a run are sooner found one member after the other.
  static constexpr std::size_t kFewRanges = 12;
  // A block of ranks (members.hpp), or a cell, and the ranges that are asked for there: `size` of
  // them, from `begin` on.
  struct Part {
    std::size_t number;
    std::size_t begin;
    std::size_t size;
  };

  std::size_t level_size() const { return std::size_t{1} << shift_; }
  std::size_t per_block() const { return kBlockRows >> shift_; }
  void divide();
  void look_through(const Leaf& leaf);
  template <class ShareOf>
  void find(const Part& part, std::size_t block, const std::uint16_t* low, std::size_t size,
            ShareOf share_of);
  template <class ShareOf>
  void sift(std::size_t block, const std::uint16_t* low, std::size_t size, ShareOf share_of);

  const Forest& forest_;
  Isa isa_;
  int shift_;
  const GatheredMembers* gathered_;
  std::vector<std::uint32_t> slot_;    // by level, where its weights stand, or kNone
  std::vector<double> weight_;         // (levels, ranks of a level)
  std::vector<std::uint32_t> levels_;  // that were asked for
  std::size_t n_found_ = 0;            // of them; the others wait
  std::vector<Part> parts_;
  std::vector<std::uint16_t> first_;  // of the ranges in every part: the first place,
  std::vector<std::uint16_t> more_;   // and how many follow it
};

}  // namespace cqrf
