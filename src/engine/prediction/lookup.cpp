#include "lookup.hpp"

#include <algorithm>
#include <array>
#include <bit>

#include "../lanes.hpp"

#if CQRF_X86
#include <immintrin.h>
#endif

namespace cqrf {
namespace {

constexpr std::size_t kTogether = 32;

// Bit j is set where the place of low[j] lies in one of n ranges, [first, first + more]; 32
// members.
#if CQRF_X86
CQRF_AVX512 inline std::uint32_t bits_avx512(const std::uint16_t* low, const std::uint16_t* first,
                                             const std::uint16_t* more, std::size_t n) {
  const __m512i place = _mm512_and_si512(_mm512_loadu_si512(low), _mm512_set1_epi16(kPlace));
  __mmask32 in = 0;
  for (std::size_t r = 0; r < n; ++r) {
    const __m512i from = _mm512_set1_epi16(static_cast<short>(first[r]));
    const __m512i most = _mm512_set1_epi16(static_cast<short>(more[r]));
    in |= _mm512_cmple_epu16_mask(_mm512_sub_epi16(place, from), most);
  }
  return in;
}

CQRF_AVX2 inline std::uint32_t bits_avx2(const std::uint16_t* low, const std::uint16_t* first,
                                         const std::uint16_t* more, std::size_t n) {
  const __m256i mask = _mm256_set1_epi16(kPlace);
  const auto* const vectors = reinterpret_cast<const __m256i*>(low);
  const __m256i left = _mm256_and_si256(_mm256_loadu_si256(vectors), mask);
  const __m256i right = _mm256_and_si256(_mm256_loadu_si256(vectors + 1), mask);
  __m256i in_left = _mm256_setzero_si256();
  __m256i in_right = _mm256_setzero_si256();
  for (std::size_t r = 0; r < n; ++r) {
    const __m256i from = _mm256_set1_epi16(static_cast<short>(first[r]));
    const __m256i most = _mm256_set1_epi16(static_cast<short>(more[r]));
    const __m256i a = _mm256_sub_epi16(left, from);
    const __m256i b = _mm256_sub_epi16(right, from);
    in_left = _mm256_or_si256(in_left, _mm256_cmpeq_epi16(_mm256_min_epu16(a, most), a));
    in_right = _mm256_or_si256(in_right, _mm256_cmpeq_epi16(_mm256_min_epu16(b, most), b));
  }
  // Packing takes halves of both in turn.
  const __m256i flags = _mm256_permute4x64_epi64(_mm256_packs_epi16(in_left, in_right), 0xd8);
  return static_cast<std::uint32_t>(_mm256_movemask_epi8(flags));
}
#endif

template <Isa kIsa>
CQRF_KERNEL std::uint32_t bits_in_ranges(const std::uint16_t* low, const std::uint16_t* first,
                                         const std::uint16_t* more, std::size_t n) {
#if CQRF_X86
  if constexpr (kIsa == Isa::kAvx512) return bits_avx512(low, first, more, n);
  if constexpr (kIsa == Isa::kAvx2) return bits_avx2(low, first, more, n);
#endif
  std::array<std::uint8_t, kTogether> in{};
  for (std::size_t r = 0; r < n; ++r)
    for (std::size_t j = 0; j < kTogether; ++j) {
      const auto place = static_cast<std::uint16_t>((low[j] & kPlace) - first[r]);
      in[j] |= place <= more[r] ? kFlag : std::uint8_t{0};
    }
  return static_cast<std::uint32_t>(flag_bits(in.data()) | flag_bits(in.data() + kLanes) << kLanes);
}

// Calls take(i) for the members of a run, low[i], with a place in one of some ranges.
struct FindMembers {
  template <Isa kIsa, class Take>
  CQRF_KERNEL static void run(const std::uint16_t* low, std::size_t size,
                              const std::uint16_t* first, const std::uint16_t* more, std::size_t n,
                              Take& take) {
    std::array<std::uint16_t, kTogether> few;
    if (size < kTogether) {
      few.fill(0);
      std::copy_n(low, size, few.begin());
      std::uint32_t bits = bits_in_ranges<kIsa>(few.data(), first, more, n);
      bits &= (std::uint32_t{1} << size) - 1;
      for (; bits != 0; bits &= bits - 1) take(static_cast<std::size_t>(std::countr_zero(bits)));
      return;
    }
    for (std::size_t i = 0; i < size; i += kTogether) {
      // The last 32 are looked at again where fewer are left, without those seen before.
      const std::size_t at = std::min(i, size - kTogether);
      std::uint32_t bits = bits_in_ranges<kIsa>(low + at, first, more, n);
      bits &= ~std::uint32_t{0} << (i - at);
      for (; bits != 0; bits &= bits - 1)
        take(at + static_cast<std::size_t>(std::countr_zero(bits)));
    }
  }
};

}  // namespace

RankLookup::RankLookup(const Forest& forest, int shift, const GatheredMembers* gathered)
    : forest_(forest), isa_(isa()), shift_(shift), gathered_(gathered) {}

void RankLookup::clear() {
  for (const std::uint32_t level : levels_) slot_[level] = kNone;
  levels_.clear();
  weight_.clear();
  n_found_ = 0;
}

void RankLookup::want(std::size_t level) {
  // Whole blocks: members are told by place before the last rank is.
  if (slot_.empty()) slot_.assign(n_blocks(forest_.n_rows) * per_block(), kNone);
  if (slot_[level] != kNone) return;
  slot_[level] = static_cast<std::uint32_t>(levels_.size() << shift_);
  levels_.push_back(static_cast<std::uint32_t>(level));
}

void RankLookup::look_up(std::span<const Leaf> leaves) {
  if (!waiting()) return;
  weight_.resize(levels_.size() << shift_, 0.0);
  divide();
  if (gathered_) {
    for (const Part& part : parts_) {
      const MemberRun run = gathered_->run(part.number);
      find(part, part.number >> (kPlaceBits - gathered_->cell_shift()), run.low, run.size,
           [=](std::size_t i) { return double{run.share[i]}; });
    }
  } else {
    for (const Leaf& leaf : leaves) look_through(leaf);
  }
  n_found_ = levels_.size();
}

// The levels that wait as ranges of places.
void RankLookup::divide() {
  parts_.clear();
  first_.clear();
  more_.clear();
  std::sort(levels_.begin() + static_cast<std::ptrdiff_t>(n_found_), levels_.end());
  const int part_bits = gathered_ ? gathered_->cell_shift() : kPlaceBits;
  std::size_t next = 0;
  for (std::size_t i = n_found_; i < levels_.size(); ++i) {
    const std::size_t begin = std::size_t{levels_[i]} << shift_;
    const std::size_t number = begin >> part_bits;
    const bool new_part = parts_.empty() || parts_.back().number != number;
    if (new_part) parts_.push_back({number, first_.size(), 0});
    if (new_part || begin != next) {
      first_.push_back(static_cast<std::uint16_t>(begin & kPlace));
      more_.push_back(static_cast<std::uint16_t>(level_size() - 1));
      ++parts_.back().size;
    } else {
      more_.back() = static_cast<std::uint16_t>(more_.back() + level_size());
    }
    next = begin + level_size();
  }
}

void RankLookup::look_through(const Leaf& leaf) {
  const PackedMembers& members = forest_.members;
  const double share = 1.0 / static_cast<double>(leaf.size);
  const auto share_of = [=](std::size_t) { return share; };
  const std::uint16_t* low = members.low.data() + leaf.first;
  if (members.counted()) {
    const auto counts = members.counts(leaf);
    std::size_t block = 0;
    for (const Part& part : parts_) {
      for (; block < part.number; ++block) low += counts[block];
      find(part, block, low, counts[block], share_of);
    }
  } else if (members.block.empty()) {
    find(parts_.front(), 0, low, leaf.size, share_of);
  } else {
    for (std::size_t i = 0; i < leaf.size; ++i)
      sift(members.block_of(leaf.first + i), low + i, 1, share_of);
  }
}

// The members of a run that lie in the ranges of a part.
template <class ShareOf>
void RankLookup::find(const Part& part, std::size_t block, const std::uint16_t* low,
                      std::size_t size, ShareOf share_of) {
  if (part.size > kFewRanges) return sift(block, low, size, share_of);
  const std::uint32_t* const slot = slot_.data() + block * per_block();
  const int shift = shift_;
  double* const weight = weight_.data();
  auto take = [=](std::size_t i) {
    const std::size_t place = low[i] & kPlace;
    weight[slot[place >> shift] + (place & ((std::size_t{1} << shift) - 1))] += share_of(i);
  };
  dispatch<FindMembers>(isa_, low, size, first_.data() + part.begin, more_.data() + part.begin,
                        part.size, take);
}

// The same, one member after the other.
template <class ShareOf>
void RankLookup::sift(std::size_t block, const std::uint16_t* low, std::size_t size,
                      ShareOf share_of) {
  const std::uint32_t* const slot = slot_.data() + block * per_block();
  const std::size_t waiting = n_found_ << shift_;
  for (std::size_t i = 0; i < size; ++i) {
    const std::uint16_t place = low[i] & kPlace;
    const std::uint32_t to = slot[place >> shift_];
    if (to != kNone && to >= waiting) weight_[to + (place & (level_size() - 1))] += share_of(i);
  }
}

}  // namespace cqrf
