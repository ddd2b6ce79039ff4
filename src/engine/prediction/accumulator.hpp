// Weights on the training rows, gathered in any order and read back by time.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "../index.hpp"
#include "../lanes.hpp"
#include "members.hpp"

namespace cqrf {

struct RankWeight {
  Rank rank;
  double weight;
};

// Touched ranks are flagged, so that they are read back in order without a sort. Flags are bytes:
// setting one is a store that waits for nothing, where setting a bit would wait for the bit set
// just before it. Where weights are few among many rows, blocks of ranks are flagged as well, so
// that reading costs the number of weights and not the number of rows.
class WeightAccumulator {
 public:
  explicit WeightAccumulator(std::size_t n_rows)
      : weight_(n_rows, 0.0),
        touched_((n_rows + kBlock - 1) / kBlock * kBlock, 0),
        block_touched_(touched_.size() / kBlock, 0) {}

  // Adds weight_of(rank) for every rank given; members of the first block may be given packed.
  template <class WeightOf>
  void add(std::span<const Rank> ranks, WeightOf weight_of) {
    add_members(ranks, weight_of);
  }
  template <class WeightOf>
  void add(std::span<const std::uint16_t> packed, WeightOf weight_of) {
    add_members(packed, weight_of);
  }

  // The touched ranks with their weights, in order; forgets them.
  std::span<const RankWeight> drain() {
    const std::size_t bound = std::min(added_, weight_.size());
    if (drained_.size() < bound) drained_.resize(bound);
    RankWeight* out = drained_.data();
    double* const weight = weight_.data();
    for (std::size_t block = 0; block < block_touched_.size(); ++block) {
      if (flags_blocks_ && !block_touched_[block]) continue;
      block_touched_[block] = 0;
      for (std::size_t begin = block * kBlock; begin < (block + 1) * kBlock; begin += kWord) {
        for (std::uint64_t set = take_word(begin); set != 0; set &= set - 1) {
          const auto rank =
              static_cast<Rank>(begin + static_cast<std::size_t>(std::countr_zero(set)));
          *out++ = {rank, weight[rank]};
          weight[rank] = 0;
        }
      }
    }
    // The next test point is likely to have as many.
    flags_blocks_ = added_ < weight_.size() / kFew;
    added_ = 0;
    return {drained_.data(), out};
  }

 private:
  static constexpr std::size_t kBlock = 512;
  static constexpr std::size_t kWord = 64;  // flags looked at together
  // Looking at this many flags costs as much as flagging the block of one weight.
  static constexpr std::size_t kFew = 32;

  static Rank rank_of(Rank rank) { return rank; }
  static Rank rank_of(std::uint16_t packed) { return packed & kPlace; }

  template <class Member, class WeightOf>
  void add_members(std::span<const Member> members, WeightOf weight_of) {
    if (flags_blocks_)
      add_members<true>(members, weight_of);
    else
      add_members<false>(members, weight_of);
    added_ += members.size();
  }

  template <bool FlagsBlocks, class Member, class WeightOf>
  void add_members(std::span<const Member> members, WeightOf weight_of) {
    // Pointers of its own: a byte that is stored might otherwise be part of a vector object.
    double* const weight = weight_.data();
    std::uint8_t* const touched = touched_.data();
    std::uint8_t* const block_touched = block_touched_.data();
    for (const Member member : members) {
      const Rank rank = rank_of(member);
      weight[rank] += weight_of(rank);
      touched[rank] = kFlag;
      if constexpr (FlagsBlocks) block_touched[rank / kBlock] = kFlag;
    }
  }

  // The flags of 64 ranks, one bit each; sets them to zero.
  std::uint64_t take_word(std::size_t begin) {
    std::uint64_t word = 0;
    for (std::size_t i = 0; i < kWord; i += kLanes) word |= flag_bits(&touched_[begin + i]) << i;
    if (word != 0) std::memset(&touched_[begin], 0, kWord);
    return word;
  }

  std::vector<double> weight_;
  std::vector<std::uint8_t> touched_;
  std::vector<std::uint8_t> block_touched_;
  std::vector<RankWeight> drained_;
  std::size_t added_ = 0;
  bool flags_blocks_ = false;
};

}  // namespace cqrf
