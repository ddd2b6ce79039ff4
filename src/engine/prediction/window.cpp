#include "window.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "../prefetch.hpp"

#if CQRF_X86
#include <immintrin.h>
#endif

namespace cqrf {
namespace {

constexpr std::size_t kSixteen = 16;
constexpr std::size_t kTogether = 32;

// How many of some members, 32 at most and in order, come before a first and a second place.
struct Counts {
  unsigned before;
  unsigned before_end;
};

#if CQRF_X86
CQRF_AVX512 inline Counts count_avx512(const std::uint16_t* low, std::size_t size, unsigned begin,
                                       unsigned end) {
  const auto some = static_cast<__mmask32>(_bzhi_u32(~0u, static_cast<unsigned>(size)));
  const __m512i members = _mm512_maskz_loadu_epi16(some, low);
  const __m512i places = _mm512_and_si512(members, _mm512_set1_epi16(kPlace));
  const __m512i begins = _mm512_set1_epi16(static_cast<short>(begin));
  const __m512i ends = _mm512_set1_epi16(static_cast<short>(end));
  const __mmask32 before = _mm512_mask_cmplt_epu16_mask(some, places, begins);
  const __mmask32 before_end = _mm512_mask_cmplt_epu16_mask(some, places, ends);
  return {static_cast<unsigned>(std::popcount(before)),
          static_cast<unsigned>(std::popcount(before_end))};
}
#endif

template <Isa kIsa>
CQRF_KERNEL Counts count(const std::uint16_t* low, std::size_t size, unsigned begin, unsigned end) {
#if CQRF_X86
  if constexpr (kIsa == Isa::kAvx512) return count_avx512(low, size, begin, end);
#endif
  Counts counts{0, 0};
  for (std::size_t i = 0; i < size; ++i) {
    const unsigned place = low[i] & kPlace;
    counts.before += place < begin;
    counts.before_end += place < end;
  }
  return counts;
}

// Where the first block of some ranks ends, or where they do.
std::size_t block_end(Range ranks) {
  return std::min(ranks.end, (ranks.begin / kBlockRows + 1) * kBlockRows);
}

}  // namespace

WindowLoader::WindowLoader(const Forest& forest, std::span<const std::uint8_t> event,
                           const Cells& cells)
    : forest_(forest), event_(event), cells_(cells), isa_(isa()) {}

void WindowLoader::ask(std::span<const Cells::Found> leaves, Range ranks) {
  const std::uint16_t* const members = forest_.members.low.data();
  for (; ranks.begin < ranks.end; ranks.begin = block_end(ranks)) {
    const std::size_t first = ranks.begin >> cells_.shift();
    const std::size_t last = (block_end(ranks) - 1) >> cells_.shift();
    const std::size_t asked = ends_.empty() ? 0 : ends_.back();
    if (pieces_.size() < asked + leaves.size()) pieces_.resize(2 * (asked + leaves.size()));
    Piece* to = pieces_.data() + asked;
    for (const Cells::Found& leaf : leaves) {
      Cells::Run run = cells_.run(leaf, first);
      if (last > first) {
        const Cells::Run end = cells_.run(leaf, last);
        run.size = end.begin + end.size - run.begin;
      }
      *to = {leaf.first + run.begin, static_cast<std::uint32_t>(run.size), leaf.share};
      // Leaves lie far apart in memory: all are on their way before the first one is taken.
      prefetch(members + to->begin);
      prefetch(members + to->begin + to->size);
      to += run.size > 0;
    }
    ends_.push_back(static_cast<std::size_t>(to - pieces_.data()));
  }
}

// Copies the members in the places [begin, end) of a block, 16 at a time.
struct WindowLoader::TakePieces {
  template <Isa kIsa>
  CQRF_KERNEL static Taken run(WindowLoader& self, std::span<const Piece> pieces, unsigned begin,
                               unsigned end) {
    const std::span<const std::uint16_t> members = self.forest_.members.low;
    // Sixteen are read from there on.
    const std::size_t last = members.size() < kSixteen ? 0 : members.size() - kSixteen + 1;
    std::uint16_t* low = self.low_.data();
    float* share = self.share_.data();
    float before = 0;
    float behind = 0;
    for (const Piece& piece : pieces) {
      std::size_t from = piece.begin;
      for (std::size_t left = piece.size;;) {
        const std::size_t some = std::min(left, kTogether);
        const Counts counts = count<kIsa>(members.data() + from, some, begin, end);
        const std::size_t at = from + counts.before;
        const std::size_t inside = counts.before_end - counts.before;
        if (inside <= kSixteen && at < last) [[likely]] {
          std::memcpy(low, members.data() + at, kSixteen * sizeof(std::uint16_t));
          std::fill_n(share, kSixteen, piece.share);
        } else {
          std::memcpy(low, members.data() + at, inside * sizeof(std::uint16_t));
          std::fill_n(share, inside, piece.share);
        }
        low += inside;
        share += inside;
        // Signed integers are sooner converted.
        const auto weight = [&](std::size_t number) {
          return static_cast<float>(static_cast<int>(number)) * piece.share;
        };
        before += weight(counts.before);
        behind += weight(some - counts.before_end);
        left -= some;
        if (left == 0) [[likely]]
          break;
        from += some;
      }
    }
    return {static_cast<std::size_t>(low - self.low_.data()), before, behind};
  }
};

// What was asked for next, in some ranks of one block.
WindowLoader::Taken WindowLoader::take_pieces(Range ranks) {
  const std::size_t begin = n_taken_ == 0 ? 0 : ends_[n_taken_ - 1];
  const auto pieces = std::span<const Piece>(pieces_).subspan(begin, ends_[n_taken_] - begin);
  if (++n_taken_ == ends_.size()) {
    ends_.clear();
    n_taken_ = 0;
  }
  std::size_t members = 0;
  for (const Piece& piece : pieces) members += piece.size;
  if (low_.size() < members + kTogether) {
    low_.resize(members + kTogether);
    share_.resize(members + kTogether);
  }
  const auto first = static_cast<unsigned>(ranks.begin & kPlace);
  return dispatch<TakePieces>(isa_, *this, pieces, first,
                              first + static_cast<unsigned>(ranks.end - ranks.begin));
}

void WindowLoader::take(Window& window) {
  window.weights.size = 0;
  for (Range ranks = window.ranks; ranks.begin < ranks.end; ranks.begin = block_end(ranks)) {
    const std::size_t n = block_end(ranks) - ranks.begin;
    const Taken taken = take_pieces({ranks.begin, ranks.begin + n});
    add_up(isa_, event_, std::span(low_).first(taken.size), share_.data(), n,
           static_cast<Rank>(ranks.begin), weight_, window.weights);
    if (ranks.begin == window.ranks.begin) window.before = taken.before;
    window.behind = taken.behind;
  }
}

}  // namespace cqrf
