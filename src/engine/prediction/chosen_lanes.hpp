// Moving some of eight or sixteen values to the front.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "../simd.hpp"

#if CQRF_X86
#include <immintrin.h>

namespace cqrf {

// The numbers of the lanes whose bits are set, in order: what permutes these lanes to the front,
// which AVX2 has no instruction for.
CQRF_AVX2 inline __m256i chosen_lanes_avx2(unsigned bits) {
  constexpr std::uint64_t kLaneNumbers = 0x0706050403020100;
  const std::uint64_t bytes = _pdep_u64(bits, 0x0101010101010101) * 0xff;
  return _mm256_cvtepu8_epi32(
      _mm_cvtsi64_si128(static_cast<long long>(_pext_u64(kLaneNumbers, bytes))));
}

// Writes what was moved to the front, as many values as bits are set and some of the others, no
// more than sixteen. Returns how many.
CQRF_AVX512 inline std::size_t store_chosen_avx512(unsigned bits, __m512i integers, __m512 floats,
                                                   std::uint32_t* to_integers, float* to_floats) {
  // Eight are written in half the time of sixteen, and seldom are there more.
  constexpr int kEight = 8;
  constexpr __mmask8 kAll = 0xff;
  const int number = std::popcount(bits);
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to_integers),
                      _mm512_maskz_extracti32x8_epi32(kAll, integers, 0));
  _mm256_storeu_ps(to_floats, _mm512_maskz_extractf32x8_ps(kAll, floats, 0));
  if (number > kEight) {
    _mm512_storeu_si512(to_integers, integers);
    _mm512_storeu_ps(to_floats, floats);
  }
  return static_cast<std::size_t>(number);
}

}  // namespace cqrf
#endif
