#include "lookup.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <type_traits>
#include <utility>

#include "chosen_lanes.hpp"

namespace cqrf {
namespace {

constexpr std::size_t kSixteen = 16;
constexpr std::size_t kWord = 64;

// Members of a run that the filter may have: their ranks, and what they add to weights. Returns how
// many there are; there is room for all of them and for fifteen more.
#if CQRF_X86
template <class ShareOf>
CQRF_AVX512 inline std::size_t find_avx512(const std::uint16_t* low, std::size_t size,
                                           const LevelFilter& filter, int shift, Rank block,
                                           const ShareOf& share_of, Rank* ranks, float* shares) {
  const __m512i table = _mm512_loadu_si512(filter.words.data());
  const __m128i by = _mm_cvtsi32_si128(shift);
  const __m512i place = _mm512_set1_epi32(kPlace);
  const __m512i first = _mm512_set1_epi32(static_cast<int>(block << kPlaceBits));
  std::size_t found = 0;
  for (std::size_t i = 0; i < size; i += kSixteen) {
    const std::size_t left = std::min(kSixteen, size - i);
    const auto some = static_cast<__mmask16>((1u << left) - 1);
    const __m256i halves = _mm256_maskz_loadu_epi16(some, low + i);
    const __m512i members = _mm512_maskz_cvtepu16_epi32(some, halves);
    const __m512i places = _mm512_and_si512(members, place);
    const __m512i bits = _mm512_maskz_srl_epi32(some, places, by);
    const __m512i word = _mm512_maskz_srli_epi32(some, bits, 5);
    const __m512i words = _mm512_maskz_permutexvar_epi32(some, word, table);
    const __m512i bit = _mm512_and_si512(bits, _mm512_set1_epi32(31));
    const __m512i tested = _mm512_maskz_srlv_epi32(some, words, bit);
    const __mmask16 in = _mm512_mask_test_epi32_mask(some, tested, _mm512_set1_epi32(1));
    const __m512i rank = _mm512_add_epi32(places, first);
    const __m512i chosen = _mm512_maskz_compress_epi32(in, rank);
    __m512 chosen_shares;
    if constexpr (std::is_pointer_v<ShareOf>)
      chosen_shares = _mm512_maskz_compress_ps(in, _mm512_maskz_loadu_ps(some, share_of + i));
    else
      chosen_shares = _mm512_set1_ps(share_of);
    found += store_chosen_avx512(in, chosen, chosen_shares, ranks + found, shares + found);
  }
  return found;
}

// The same, eight at once; the last ones are left.
template <class ShareOf>
CQRF_AVX2 inline std::size_t find_avx2(const std::uint16_t* low, std::size_t size,
                                       const LevelFilter& filter, int shift, Rank block,
                                       const ShareOf& share_of, Rank* ranks, float* shares) {
  const auto* const table = reinterpret_cast<const __m256i*>(filter.words.data());
  const __m256i lower = _mm256_loadu_si256(table);
  const __m256i upper = _mm256_loadu_si256(table + 1);
  const __m128i by = _mm_cvtsi32_si128(shift);
  const __m256i place = _mm256_set1_epi32(kPlace);
  const __m256i first = _mm256_set1_epi32(static_cast<int>(block << kPlaceBits));
  std::size_t found = 0;
  for (std::size_t i = 0; i + 8 <= size; i += 8) {
    const __m128i halves = _mm_loadu_si128(reinterpret_cast<const __m128i*>(low + i));
    const __m256i members = _mm256_cvtepu16_epi32(halves);
    const __m256i places = _mm256_and_si256(members, place);
    const __m256i bits = _mm256_srl_epi32(places, by);
    const __m256i word = _mm256_srli_epi32(bits, 5);
    // Bit 3 of the number of a word, moved to where blending looks for it; others do not count.
    const __m256i words = _mm256_castps_si256(
        _mm256_blendv_ps(_mm256_castsi256_ps(_mm256_permutevar8x32_epi32(lower, word)),
                         _mm256_castsi256_ps(_mm256_permutevar8x32_epi32(upper, word)),
                         _mm256_castsi256_ps(_mm256_slli_epi32(word, 28))));
    // The bit that is asked for, moved to the sign.
    const __m256i bit = _mm256_andnot_si256(bits, _mm256_set1_epi32(31));
    const auto in = static_cast<unsigned>(
        _mm256_movemask_ps(_mm256_castsi256_ps(_mm256_sllv_epi32(words, bit))));
    const __m256i chosen = chosen_lanes_avx2(in);
    const __m256i rank = _mm256_add_epi32(places, first);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(ranks + found),
                        _mm256_permutevar8x32_epi32(rank, chosen));
    if constexpr (std::is_pointer_v<ShareOf>)
      _mm256_storeu_ps(shares + found,
                       _mm256_permutevar8x32_ps(_mm256_loadu_ps(share_of + i), chosen));
    else
      _mm256_storeu_ps(shares + found, _mm256_set1_ps(share_of));
    found += static_cast<std::size_t>(std::popcount(in));
  }
  return found;
}
#endif

// share_of: one for all members, or one for each.
struct FindMembers {
  template <Isa kIsa, class ShareOf>
  CQRF_KERNEL static std::size_t run(const std::uint16_t* low, std::size_t size,
                                     const LevelFilter& filter, int shift, Rank block,
                                     const ShareOf& share_of, Rank* ranks, float* shares) {
#if CQRF_X86
    if constexpr (kIsa == Isa::kAvx512)
      return find_avx512(low, size, filter, shift, block, share_of, ranks, shares);
#endif
    std::size_t found = 0;
    std::size_t i = 0;
#if CQRF_X86
    if constexpr (kIsa == Isa::kAvx2) {
      found = find_avx2(low, size, filter, shift, block, share_of, ranks, shares);
      i = size / 8 * 8;
    }
#endif
    for (; i < size; ++i) {
      ranks[found] = (block << kPlaceBits) + (low[i] & kPlace);
      if constexpr (std::is_pointer_v<ShareOf>)
        shares[found] = share_of[i];
      else
        shares[found] = share_of;
      found += filter.has(low[i], shift);
    }
    return found;
  }
};

}  // namespace

RankLookup::RankLookup(const Forest& forest, int shift, const GatheredMembers* gathered)
    : forest_(forest), isa_(isa()), shift_(shift), gathered_(gathered) {}

void RankLookup::clear() {
  for (const std::uint32_t level : levels_) {
    slot_[level] = kNone;
    wait_[level / kWord] = 0;
  }
  levels_.clear();
  weight_.clear();
  n_found_ = 0;
}

void RankLookup::want(std::size_t level) {
  if (slot_.empty()) {
    // Whole blocks: members are told by place before the last rank is.
    slot_.assign(n_blocks(forest_.n_rows) * per_block(), kNone);
    wait_.assign((slot_.size() + kWord - 1) / kWord, 0);
  }
  if (slot_[level] != kNone) return;
  slot_[level] = static_cast<std::uint32_t>(levels_.size() << shift_);
  levels_.push_back(static_cast<std::uint32_t>(level));
  wait_[level / kWord] |= std::uint64_t{1} << level % kWord;
}

void RankLookup::look_up(std::span<const Leaf> leaves) {
  if (!waiting()) return;
  divide();
  n_members_ = 0;
  if (gathered_) {
    for (const Part& part : parts_) {
      const MemberRun run = gathered_->run(part.number);
      find(part, part.number >> (kPlaceBits - gathered_->cell_shift()), run.low, run.size,
           run.share);
    }
  } else {
    for (const Leaf& leaf : leaves) look_through(leaf);
  }
  add_up();
  n_found_ = levels_.size();
}

// The levels that wait, by blocks or runs of cells.
void RankLookup::divide() {
  parts_.clear();
  for (std::size_t word = 0; word < wait_.size(); ++word) {
    for (std::uint64_t bits = std::exchange(wait_[word], 0); bits != 0; bits &= bits - 1) {
      const std::size_t level = word * kWord + static_cast<std::size_t>(std::countr_zero(bits));
      const std::size_t begin = level << shift_;
      const std::size_t number = gathered_
                                     ? gathered_->first_of_run(begin >> gathered_->cell_shift())
                                     : begin >> kPlaceBits;
      if (parts_.empty() || parts_.back().number != number) parts_.push_back({number, {}});
      parts_.back().filter.add(level % per_block());
    }
  }
}

void RankLookup::look_through(const Leaf& leaf) {
  const PackedMembers& members = forest_.members;
  const float share = 1.0f / static_cast<float>(leaf.size);
  const std::uint16_t* low = members.low.data() + leaf.first;
  if (members.counted()) {
    const auto counts = members.counts(leaf);
    std::size_t block = 0;
    for (const Part& part : parts_) {
      for (; block < part.number; ++block) low += counts[block];
      find(part, block, low, counts[block], share);
    }
  } else if (members.block.empty()) {
    find(parts_.front(), 0, low, leaf.size, share);
  } else {
    std::size_t begin = 0;
    for (const Part& part : parts_) {
      const auto in_block = [&](std::size_t i) { return members.block_of(leaf.first + i); };
      while (begin < leaf.size && in_block(begin) < part.number) ++begin;
      std::size_t end = begin;
      while (end < leaf.size && in_block(end) == part.number) ++end;
      find(part, part.number, low + begin, end - begin, share);
      begin = end;
    }
  }
}

// The members of a run that lie in levels of a part, and some more.
template <class ShareOf>
void RankLookup::find(const Part& part, std::size_t block, const std::uint16_t* low,
                      std::size_t size, ShareOf share_of) {
  if (ranks_.size() < n_members_ + size + kSixteen) {
    ranks_.resize(2 * (n_members_ + size + kSixteen));
    shares_.resize(ranks_.size());
  }
  n_members_ +=
      dispatch<FindMembers>(isa_, low, size, part.filter, shift_, static_cast<Rank>(block),
                            share_of, ranks_.data() + n_members_, shares_.data() + n_members_);
}

// Weights of the levels that wait, from the members that were found. What the others add is not
// looked at: it goes to several places, since additions to one would wait for each other.
void RankLookup::add_up() {
  const std::size_t waiting = n_found_ << shift_;
  const std::size_t others = levels_.size() << shift_;
  weight_.resize(others + kSixteen, 0.0f);
  const std::uint32_t* const slots = slot_.data();
  float* const weight = weight_.data();
  const int shift = shift_;
  const Rank in_level = static_cast<Rank>(level_size() - 1);
  for (std::size_t i = 0; i < n_members_; ++i) {
    const std::size_t slot = slots[ranks_[i] >> shift];
    const std::size_t at = slot + (ranks_[i] & in_level);
    const std::size_t other = others + i % kSixteen;
    // Without a branch, which would be mispredicted.
    const std::size_t wanted = -static_cast<std::size_t>((slot >= waiting) & (slot != kNone));
    weight[other ^ ((other ^ at) & wanted)] += shares_[i];
  }
  weight_.resize(others);
}

}  // namespace cqrf
