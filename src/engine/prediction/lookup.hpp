// The weights of single ranks, looked up among the members of a test point's leaves.
//
// Ranks are asked for by levels (levels.hpp). A filter of 512 bits tells most of the members that
// are not asked for, many at once; the others are looked up one by one.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "../simd.hpp"
#include "forest.hpp"
#include "gathered.hpp"

namespace cqrf {

// Some levels of a block of ranks: those with the same last bits are taken for each other.
struct LevelFilter {
  static constexpr std::size_t kBits = 512;

  void add(std::size_t level) { words[level % kBits / 32] |= std::uint32_t{1} << level % 32; }
  // Whether a member may be in one of them.
  bool has(std::uint16_t low, int shift) const {
    const std::size_t level = static_cast<std::size_t>(low & kPlace) >> shift;
    return words[level % kBits / 32] >> level % 32 & 1;
  }

  std::array<std::uint32_t, kBits / 32> words{};
};

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
  // The same of all ranks of a level, for the caller to take away.
  float* weights(std::size_t level) { return weight_.data() + slot_[level]; }

 private:
  static constexpr std::uint32_t kNone = static_cast<std::uint32_t>(-1);
  // A block of ranks (members.hpp), or the first cell of a run, and what is asked for there.
  struct Part {
    std::size_t number;
    LevelFilter filter;
  };

  std::size_t level_size() const { return std::size_t{1} << shift_; }
  std::size_t per_block() const { return kBlockRows >> shift_; }
  void divide();
  void look_through(const Leaf& leaf);
  void add_up();
  template <class ShareOf>
  void find(const Part& part, std::size_t block, const std::uint16_t* low, std::size_t size,
            ShareOf share_of);

  const Forest& forest_;
  Isa isa_;
  int shift_;
  const GatheredMembers* gathered_;
  std::vector<std::uint32_t> slot_;    // by level, where its weights stand, or kNone
  std::vector<float> weight_;          // (levels, ranks of a level) and some more
  std::vector<std::uint32_t> levels_;  // that were asked for
  std::size_t n_found_ = 0;            // of them; the others wait
  std::vector<std::uint64_t> wait_;    // the same as bits: they are looked up in order
  std::vector<Part> parts_;
  // Members that may be in levels that wait.
  std::size_t n_members_ = 0;
  std::vector<Rank> ranks_;
  std::vector<float> shares_;
};

}  // namespace cqrf
