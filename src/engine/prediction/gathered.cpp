#include "gathered.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "../prefetch.hpp"

#if CQRF_X86
#include <immintrin.h>
#endif

namespace cqrf {
namespace {

constexpr std::size_t kTogether = 32;

#if CQRF_X86
// Copies up to 32 members from `from` on, from the lines that hold the first and the last of them:
// one that memory was not asked for would have to be waited for.
CQRF_AVX512 inline void copy_avx512(const std::uint16_t* from, const std::uint16_t* last,
                                    std::uint16_t* to) {
  alignas(kCacheLine) static constexpr auto kCount = [] {
    std::array<std::uint16_t, 2 * kTogether> count{};
    for (std::size_t i = 0; i < count.size(); ++i) count[i] = static_cast<std::uint16_t>(i);
    return count;
  }();
  const auto line_of = [](const std::uint16_t* at) {
    return reinterpret_cast<const __m512i*>(reinterpret_cast<std::uintptr_t>(at) / kCacheLine *
                                            kCacheLine);
  };
  const std::size_t skipped = reinterpret_cast<std::uintptr_t>(from) % kCacheLine / sizeof(*from);
  const __m512i first = _mm512_load_si512(line_of(from));
  const __m512i second = _mm512_load_si512(line_of(last));
  const __m512i lanes = _mm512_loadu_si512(kCount.data() + skipped);
  _mm512_storeu_si512(to, _mm512_permutex2var_epi16(first, lanes, second));
}
#endif

}  // namespace

// Writes up to 32 numbers behind the last member of a run.
struct GatheredMembers::Copy {
  template <Isa kIsa>
  CQRF_KERNEL static void run(GatheredMembers& self) {
    const std::span<const std::uint16_t> members = self.forest_.members.low;
    std::uint16_t* low = self.low_.data() + self.end_;
    float* share = self.share_.data() + self.end_;
    for (const Piece& piece : self.pieces_) {
      const std::size_t end = piece.begin + piece.size;
      std::size_t from = piece.begin;
      std::size_t i = 0;
      do {
        if (from >= kTogether && from + 2 * kTogether <= members.size()) [[likely]] {
#if CQRF_X86
          if constexpr (kIsa == Isa::kAvx512)
            copy_avx512(members.data() + from, members.data() + std::min(from + kTogether, end) - 1,
                        low + i);
          else
#endif
            std::memcpy(low + i, members.data() + from, kTogether * sizeof(std::uint16_t));
        } else {
          std::memcpy(low + i, members.data() + from,
                      std::min(kTogether, members.size() - from) * sizeof(std::uint16_t));
        }
        std::fill_n(share + i, kTogether, piece.share);
        i += kTogether;
        from += kTogether;
      } while (i < piece.size);
      low += piece.size;
      share += piece.size;
    }
  }
};

void GatheredMembers::gather(std::span<const Cells::Found> leaves, std::span<const Range> cells) {
  const std::uint16_t* const members = forest_.members.low.data();
  pieces_.resize(cells.size() * leaves.size());
  Piece* to = pieces_.data();
  std::size_t end = end_;
  for (const Range& some : cells) {
    const std::size_t begin = end;
    for (const Cells::Found& leaf : leaves) {
      Cells::Run run = cells_.run(leaf, some.begin);
      if (some.end > some.begin + 1) {
        const Cells::Run last = cells_.run(leaf, some.end - 1);
        run.size = last.begin + last.size - run.begin;
      }
      *to = {leaf.first + run.begin, static_cast<std::uint32_t>(run.size), leaf.share};
      // Leaves lie far apart in memory: all are on their way before the first one is copied.
      prefetch(members + to->begin);
      prefetch(members + to->begin + to->size - 1);
      end += run.size;
      to += run.size > 0;
    }
    for (std::size_t cell = some.begin; cell < some.end; ++cell)
      runs_[cell] = {begin, end - begin, some.begin};
  }
  pieces_.resize(static_cast<std::size_t>(to - pieces_.data()));
  if (low_.size() < end + kTogether) {
    low_.resize(end + kTogether);
    share_.resize(end + kTogether);
  }
  dispatch<Copy>(isa_, *this);
  end_ = end;
}

}  // namespace cqrf
