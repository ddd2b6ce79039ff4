// Passes over the rows of a node, up to sixteen features side by side.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "../simd.hpp"
#include "node.hpp"

#if CQRF_X86
#include <immintrin.h>
#endif

namespace cqrf {

// Features and the lanes that they have in `rows`.
struct LaneGroup {
  LaneRows rows;
  std::size_t size = 0;
  std::array<std::uint32_t, kLanes> feature{};
  std::array<std::size_t, kLanes> lane{};

  void add(std::uint32_t one, std::size_t its_lane) {
    feature[size] = one;
    lane[size++] = its_lane;
  }
};

// One cut of each feature of a group.
struct LaneCuts {
  Lanes at{};               // by lane
  std::uint32_t drawn = 0;  // bit j: feature j of the group has an admissible cut
  // Rows that pass it, by lane; zero, and not known, where leaves may have one row.
  std::array<std::uint32_t, kLanes> count{};
};

struct LaneExtremes {
  Lanes lowest;
  Lanes highest;
};

// The rows of a node, one at a time, or as many as a register holds where they are neighbours: the
// lanes of each of them go into sums of their own, which are joined in the end.
namespace lane_loops {

// Of one, two or four rows side by side.
struct alignas(64) Wide {
  static constexpr std::size_t kMost = 4;
  std::array<Lanes, kMost> rows;

  explicit Wide(const Lanes& all) { rows.fill(all); }
  template <class Join>
  Lanes joined(Join join) const {
    LaneVector all = vector_of(rows[0]);
    for (std::size_t i = 1; i < kMost; ++i) all = join(all, vector_of(rows[i]));
    return lanes_of(all);
  }
};

// Each takes rows as long as there are enough of them side by side, and says how many.
inline std::size_t extremes(const LaneRows& rows, std::size_t n, Wide& lowest, Wide& highest) {
  LaneVector low = vector_of(lowest.rows[0]);
  LaneVector high = vector_of(highest.rows[0]);
  for (std::size_t i = 0; i < n; ++i) {
    const LaneVector row = vector_of(rows[i]);
    low = lower(low, row);
    high = higher(high, row);
  }
  lowest.rows[0] = lanes_of(low);
  highest.rows[0] = lanes_of(high);
  return n;
}

inline std::size_t counts(const LaneRows& rows, std::size_t n, const Wide& cuts, Wide& count) {
  const LaneVector at = vector_of(cuts.rows[0]);
  LaneVector sum = vector_of(count.rows[0]);
  for (std::size_t i = 0; i < n; ++i) sum -= where_at_most(vector_of(rows[i]), at);
  count.rows[0] = lanes_of(sum);
  return n;
}

#if CQRF_X86

CQRF_AVX2 inline std::size_t extremes_avx2(const Lanes* rows, std::size_t n, Wide& lowest,
                                           Wide& highest) {
  auto* const low_of = reinterpret_cast<__m256i*>(&lowest);
  auto* const high_of = reinterpret_cast<__m256i*>(&highest);
  __m256i low = _mm256_load_si256(low_of);
  __m256i high = _mm256_load_si256(high_of);
  std::size_t i = 0;
  for (; i + 2 <= n; i += 2) {
    const __m256i two = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(rows + i));
    low = _mm256_min_epu8(low, two);
    high = _mm256_max_epu8(high, two);
  }
  _mm256_store_si256(low_of, low);
  _mm256_store_si256(high_of, high);
  return i;
}

CQRF_AVX2 inline std::size_t counts_avx2(const Lanes* rows, std::size_t n, const Wide& cuts,
                                         Wide& count) {
  const __m256i at = _mm256_load_si256(reinterpret_cast<const __m256i*>(&cuts));
  __m256i sum = _mm256_load_si256(reinterpret_cast<__m256i*>(&count));
  std::size_t i = 0;
  for (; i + 2 <= n; i += 2) {
    const __m256i two = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(rows + i));
    sum = _mm256_sub_epi8(sum, _mm256_cmpeq_epi8(_mm256_min_epu8(two, at), two));
  }
  _mm256_store_si256(reinterpret_cast<__m256i*>(&count), sum);
  return i;
}

CQRF_AVX512 inline std::size_t extremes_avx512(const Lanes* rows, std::size_t n, Wide& lowest,
                                               Wide& highest) {
  __m512i low = _mm512_load_si512(&lowest);
  __m512i high = _mm512_load_si512(&highest);
  std::size_t i = 0;
  for (; i + 4 <= n; i += 4) {
    const __m512i four = _mm512_loadu_si512(rows + i);
    low = _mm512_min_epu8(low, four);
    high = _mm512_max_epu8(high, four);
  }
  _mm512_store_si512(&lowest, low);
  _mm512_store_si512(&highest, high);
  return i;
}

CQRF_AVX512 inline std::size_t counts_avx512(const Lanes* rows, std::size_t n, const Wide& cuts,
                                             Wide& count) {
  const __m512i at = _mm512_load_si512(&cuts);
  const __m512i one = _mm512_set1_epi8(1);
  __m512i sum = _mm512_load_si512(&count);
  std::size_t i = 0;
  for (; i + 4 <= n; i += 4) {
    const __mmask64 passed = _mm512_cmple_epu8_mask(_mm512_loadu_si512(rows + i), at);
    sum = _mm512_mask_add_epi8(sum, passed, sum, one);
  }
  _mm512_store_si512(&count, sum);
  return i;
}

#endif

}  // namespace lane_loops

inline LaneExtremes lane_extremes([[maybe_unused]] Isa isa, const LaneRows& rows, std::size_t n) {
  lane_loops::Wide lowest(rows[0]);
  lane_loops::Wide highest(rows[0]);
  std::size_t done = 0;
#if CQRF_X86
  if (rows.stride == 1 && isa == Isa::kAvx512)
    done = lane_loops::extremes_avx512(rows.first, n, lowest, highest);
  else if (rows.stride == 1 && isa == Isa::kAvx2)
    done = lane_loops::extremes_avx2(rows.first, n, lowest, highest);
#endif
  lane_loops::extremes(rows.from(done), n - done, lowest, highest);
  return {lowest.joined(lower), highest.joined(higher)};
}

// Of every lane the number of rows that are at most `cuts`.
inline void lane_counts([[maybe_unused]] Isa isa, const LaneRows& rows, std::size_t n,
                        const Lanes& cuts, std::array<std::uint32_t, kLanes>& count) {
  count.fill(0);
  const lane_loops::Wide at(cuts);
  constexpr std::size_t kMost = 252;  // A byte can count as many.
  for (std::size_t begin = 0; begin < n; begin += kMost) {
    const std::size_t size = std::min(n - begin, kMost);
    const LaneRows some = rows.from(begin);
    lane_loops::Wide sums{Lanes{}};
    std::size_t done = 0;
#if CQRF_X86
    if (rows.stride == 1 && isa == Isa::kAvx512)
      done = lane_loops::counts_avx512(some.first, size, at, sums);
    else if (rows.stride == 1 && isa == Isa::kAvx2)
      done = lane_loops::counts_avx2(some.first, size, at, sums);
#endif
    lane_loops::counts(some.from(done), size - done, at, sums);
    const Lanes bytes = sums.joined([](LaneVector a, LaneVector b) { return a + b; });
    for (std::size_t j = 0; j < kLanes; ++j) count[j] += bytes.bin[j];
  }
}

}  // namespace cqrf
