// Sixteen bytes at once: the bins of up to sixteen features of a row, or sixteen flags.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "index.hpp"

namespace cqrf {

inline constexpr std::size_t kLanes = 16;

struct alignas(16) Lanes {
  std::array<Bin, kLanes> bin{};
};

// Reads sixteen bytes from `from`, which need not be aligned.
inline Lanes load_lanes(const Bin* from) {
  Lanes lanes;
  std::memcpy(lanes.bin.data(), from, kLanes);
  return lanes;
}

// Bit j is set where a.bin[j] <= b.bin[j].
inline std::uint32_t at_most(const Lanes& a, const Lanes& b) {
#if defined(__SSE2__)
  const __m128i x = _mm_load_si128(reinterpret_cast<const __m128i*>(a.bin.data()));
  const __m128i y = _mm_load_si128(reinterpret_cast<const __m128i*>(b.bin.data()));
  return static_cast<std::uint32_t>(_mm_movemask_epi8(_mm_cmpeq_epi8(_mm_min_epu8(x, y), x)));
#else
  std::uint32_t bits = 0;
  for (std::size_t j = 0; j < kLanes; ++j) bits |= std::uint32_t{a.bin[j] <= b.bin[j]} << j;
  return bits;
#endif
}

// Bit j is set where flags[j] is kFlag; the others must be zero.
inline constexpr std::uint8_t kFlag = 0xff;
inline std::uint64_t flag_bits(const std::uint8_t* flags) {
#if defined(__SSE2__)
  return static_cast<std::uint32_t>(
      _mm_movemask_epi8(_mm_loadu_si128(reinterpret_cast<const __m128i*>(flags))));
#else
  std::uint64_t bits = 0;
  for (std::size_t j = 0; j < kLanes; ++j) bits |= std::uint64_t{flags[j] & 1u} << j;
  return bits;
#endif
}

// A vector of the compiler's (GCC and Clang), not of one processor's: a loop over the bytes of an
// array would be taken apart and put together in another way.
using LaneVector = std::uint8_t __attribute__((vector_size(kLanes)));
inline LaneVector vector_of(const Lanes& lanes) { return std::bit_cast<LaneVector>(lanes); }
inline Lanes lanes_of(LaneVector vector) { return std::bit_cast<Lanes>(vector); }

// Lane by lane.
inline LaneVector lower(LaneVector a, LaneVector b) { return a < b ? a : b; }
inline LaneVector higher(LaneVector a, LaneVector b) { return a > b ? a : b; }
// 255, which is -1, where a <= b; 0 elsewhere.
inline LaneVector where_at_most(LaneVector a, LaneVector b) {
  return std::bit_cast<LaneVector>(lower(a, b) == a);
}

}  // namespace cqrf
