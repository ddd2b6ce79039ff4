#include "gathered.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "../prefetch.hpp"

#if CQRF_X86
#include <immintrin.h>
#endif

namespace cqrf {
namespace {

constexpr std::size_t kTogether = 32;

#if CQRF_X86
// Whether the lines of up to 32 members from one on are whole.
bool has_lines_around(std::span<const std::uint16_t> members, std::size_t from) {
  return from >= kTogether && from + 2 * kTogether <= members.size();
}

// n, n + 1, n + 2, ...
CQRF_AVX512 inline __m512i lanes_from_avx512(std::size_t n) {
  alignas(kCacheLine) static constexpr auto kCount = [] {
    std::array<std::uint16_t, 2 * kTogether> count{};
    for (std::size_t i = 0; i < count.size(); ++i) count[i] = static_cast<std::uint16_t>(i);
    return count;
  }();
  return _mm512_loadu_si512(kCount.data() + n);
}

// Up to 32 members from `from` on, from the lines that hold the first and the last of them: one
// that memory was not asked for would have to be waited for.
CQRF_AVX512 inline __m512i load_avx512(const std::uint16_t* from, const std::uint16_t* last) {
  const auto line_of = [](const std::uint16_t* at) {
    return reinterpret_cast<const __m512i*>(reinterpret_cast<std::uintptr_t>(at) / kCacheLine *
                                            kCacheLine);
  };
  const std::size_t skipped = reinterpret_cast<std::uintptr_t>(from) % kCacheLine / sizeof(*from);
  const __m512i first = _mm512_load_si512(line_of(from));
  const __m512i second = _mm512_load_si512(line_of(last));
  return _mm512_permutex2var_epi16(first, lanes_from_avx512(skipped), second);
}

CQRF_AVX512 inline void copy_avx512(const std::uint16_t* from, std::size_t n, std::uint16_t* to) {
  _mm512_storeu_si512(to, load_avx512(from, from + n - 1));
}

CQRF_AVX512 inline std::size_t copy_between_avx512(const std::uint16_t* from, std::size_t n,
                                                   Range places, std::uint16_t* to) {
  constexpr __mmask32 kAll = 0xffffffff;
  const __m512i members = load_avx512(from, from + n - 1);
  const __m512i place = _mm512_and_si512(members, _mm512_set1_epi16(kPlace));
  const __m512i begin = _mm512_set1_epi16(static_cast<short>(places.begin));
  const __m512i end = _mm512_set1_epi16(static_cast<short>(places.end));
  const auto all = static_cast<__mmask32>((std::uint64_t{1} << n) - 1);
  const __mmask32 in =
      _mm512_mask_cmplt_epu16_mask(_mm512_mask_cmpge_epu16_mask(all, place, begin), place, end);
  const auto first = static_cast<std::size_t>(std::countr_zero(in));
  _mm512_storeu_si512(to, _mm512_maskz_permutexvar_epi16(kAll, lanes_from_avx512(first), members));
  return static_cast<std::size_t>(std::popcount(in));
}
#endif

// Copies n members, at most 32, from one on; or, where some follow, 32. Returns n.
template <Isa kIsa>
CQRF_KERNEL std::size_t copy(std::span<const std::uint16_t> members, std::size_t from,
                             std::size_t n, std::uint16_t* to) {
#if CQRF_X86
  if constexpr (kIsa == Isa::kAvx512)
    if (has_lines_around(members, from)) [[likely]] {
      copy_avx512(members.data() + from, n, to);
      return n;
    }
#endif
  std::memcpy(to, members.data() + from,
              std::min(kTogether, members.size() - from) * sizeof(std::uint16_t));
  return n;
}

// The same of members with places in [begin, end); members are sorted. Returns how many there are.
template <Isa kIsa>
CQRF_KERNEL std::size_t copy_between(std::span<const std::uint16_t> members, std::size_t from,
                                     std::size_t n, Range places, std::uint16_t* to) {
#if CQRF_X86
  if constexpr (kIsa == Isa::kAvx512)
    if (has_lines_around(members, from)) [[likely]]
      return copy_between_avx512(members.data() + from, n, places, to);
#endif
  std::size_t before = 0;
  std::size_t until = 0;
  for (const std::uint16_t member : members.subspan(from, n)) {
    before += (member & kPlace) < places.begin;
    until += (member & kPlace) < places.end;
  }
  std::memcpy(to, members.data() + from + before,
              std::min(kTogether, members.size() - from - before) * sizeof(std::uint16_t));
  return until - before;
}

}  // namespace

// Writes up to 32 numbers behind the last member of a run. Returns how many members it has.
struct GatheredMembers::Copy {
  template <Isa kIsa>
  CQRF_KERNEL static std::size_t run(std::span<const std::uint16_t> members,
                                     std::span<const Piece> pieces, const CellRun& run,
                                     std::uint16_t* low, float* share) {
    const bool whole = run.whole();
    std::uint16_t* const first = low;
    for (const Piece& piece : pieces)
      for (std::size_t i = 0; i < piece.size; i += kTogether) {
        const std::size_t from = piece.begin + i;
        const std::size_t n = std::min(kTogether, piece.size - i);
        const std::size_t kept = whole ? copy<kIsa>(members, from, n, low)
                                       : copy_between<kIsa>(members, from, n, run.places, low);
        std::fill_n(share, kTogether, piece.share);
        low += kept;
        share += kept;
      }
    return static_cast<std::size_t>(low - first);
  }
};

// Appends what leaves have in some cells to the pieces. Returns how many members that are.
std::size_t GatheredMembers::find(std::span<const Cells::Found> leaves, Range cells) {
  const std::uint16_t* const members = forest_.members.low.data();
  const std::size_t begin = pieces_.size();
  pieces_.resize(begin + leaves.size());
  Piece* to = pieces_.data() + begin;
  std::size_t size = 0;
  for (const Cells::Found& leaf : leaves) {
    Cells::Run run = cells_.run(leaf, cells.begin);
    if (cells.end > cells.begin + 1) {
      const Cells::Run last = cells_.run(leaf, cells.end - 1);
      run.size = last.begin + last.size - run.begin;
    }
    *to = {leaf.first + run.begin, run.size, leaf.share};
    // Leaves lie far apart in memory: all are on their way before the first one is copied.
    prefetch(members + to->begin);
    prefetch(members + to->begin + to->size - 1);
    size += run.size;
    to += run.size > 0;
  }
  pieces_.resize(static_cast<std::size_t>(to - pieces_.data()));
  return size;
}

void GatheredMembers::gather(std::span<const Cells::Found> leaves, std::span<const CellRun> runs) {
  pieces_.clear();
  ends_.clear();
  std::size_t room = end_ + kTogether;
  for (const CellRun& run : runs) {
    room += find(leaves, run.cells);
    ends_.push_back(pieces_.size());
  }
  if (low_.size() < room) {
    low_.resize(room);
    share_.resize(room);
  }
  const std::span<const std::uint16_t> members = forest_.members.low;
  std::size_t begin = 0;
  for (std::size_t k = 0; k < runs.size(); ++k) {
    const std::span<const Piece> pieces(pieces_.data() + begin, ends_[k] - begin);
    begin = ends_[k];
    const std::size_t size =
        dispatch<Copy>(isa_, members, pieces, runs[k], low_.data() + end_, share_.data() + end_);
    for (std::size_t cell = runs[k].cells.begin; cell < runs[k].cells.end; ++cell)
      runs_[cell] = {end_, size, runs[k].cells.begin};
    end_ += size;
  }
}

}  // namespace cqrf
