// Moving some of eight values to the front, which AVX2 has no instruction for.
#pragma once

#include <cstdint>

#include "../simd.hpp"

#if CQRF_X86
#include <immintrin.h>

namespace cqrf {

// The numbers of the lanes whose bits are set, in order: what permutes these lanes to the front.
CQRF_AVX2 inline __m256i chosen_lanes_avx2(unsigned bits) {
  constexpr std::uint64_t kLaneNumbers = 0x0706050403020100;
  const std::uint64_t bytes = _pdep_u64(bits, 0x0101010101010101) * 0xff;
  return _mm256_cvtepu8_epi32(
      _mm_cvtsi64_si128(static_cast<long long>(_pext_u64(kLaneNumbers, bytes))));
}

}  // namespace cqrf
#endif
