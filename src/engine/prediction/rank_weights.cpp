#include "rank_weights.hpp"

#include <algorithm>
#include <bit>

#include "chosen_lanes.hpp"
#include "level_kernels.hpp"
#include "members.hpp"

namespace cqrf {
namespace {

constexpr std::size_t kSixteen = 16;

// Where what is drained goes.
struct Drained {
  explicit Drained(RankWeights& to)
      : marked(to.marked.data() + to.size), weight(to.weight.data() + to.size) {}

  Rank* marked;
  float* weight;
};

#if CQRF_X86
// Sixteen at once; the last ones are left.
CQRF_AVX512 std::size_t drain_avx512(const std::uint8_t* event, float* weight, std::size_t n,
                                     Rank first, const Drained& to) {
  const __m512i lanes = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  const __m512i mark = _mm512_set1_epi32(static_cast<int>(RankWeights::kEventBit));
  __m512i ranks = _mm512_add_epi32(lanes, _mm512_set1_epi32(static_cast<int>(first)));
  std::size_t found = 0;
  for (std::size_t i = 0; i + kSixteen <= n; i += kSixteen) {
    const __m128i events = _mm_loadu_si128(reinterpret_cast<const __m128i*>(event + i));
    const __m512 weights = _mm512_loadu_ps(weight + i);
    const __mmask16 in = _mm512_cmp_ps_mask(weights, _mm512_setzero_ps(), _CMP_NEQ_OQ);
    const __m512i marked =
        _mm512_mask_or_epi32(ranks, _mm_test_epi8_mask(events, events), ranks, mark);
    ranks = _mm512_add_epi32(ranks, _mm512_set1_epi32(kSixteen));
    const __m512i chosen = _mm512_maskz_compress_epi32(in, marked);
    const __m512 chosen_weights = _mm512_maskz_compress_ps(in, weights);
    found += store_chosen_avx512(in, chosen, chosen_weights, to.marked + found, to.weight + found);
    _mm512_storeu_ps(weight + i, _mm512_setzero_ps());
  }
  return found;
}

// The same, eight at once.
CQRF_AVX2 std::size_t drain_avx2(const std::uint8_t* event, float* weight, std::size_t n,
                                 Rank first, const Drained& to) {
  constexpr int kEventShift = std::countr_zero(RankWeights::kEventBit);
  const __m256i lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  const __m256 zero = _mm256_setzero_ps();
  std::size_t found = 0;
  for (std::size_t i = 0; i + kEight <= n; i += kEight) {
    const __m128i events = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(event + i));
    const __m256i marks = _mm256_slli_epi32(_mm256_cvtepu8_epi32(events), kEventShift);
    const __m256 weights = _mm256_loadu_ps(weight + i);
    const auto in =
        static_cast<unsigned>(_mm256_movemask_ps(_mm256_cmp_ps(weights, zero, _CMP_NEQ_OQ)));
    const __m256i chosen = chosen_lanes_avx2(in);
    const __m256i ranks = _mm256_add_epi32(lanes, _mm256_set1_epi32(static_cast<int>(first + i)));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to.marked + found),
                        _mm256_permutevar8x32_epi32(_mm256_or_si256(ranks, marks), chosen));
    _mm256_storeu_ps(to.weight + found, _mm256_permutevar8x32_ps(weights, chosen));
    _mm256_storeu_ps(weight + i, zero);
    found += static_cast<std::size_t>(std::popcount(in));
  }
  return found;
}
#endif

struct Drain {
  template <Isa kIsa>
  CQRF_KERNEL static std::size_t run(const std::uint8_t* event, float* weight, std::size_t n,
                                     Rank first, const Drained& to) {
    std::size_t found = 0;
    std::size_t i = 0;
#if CQRF_X86
    if constexpr (kIsa == Isa::kAvx512) {
      found = drain_avx512(event, weight, n, first, to);
      i = n / kSixteen * kSixteen;
    }
    if constexpr (kIsa == Isa::kAvx2) {
      found = drain_avx2(event, weight, n, first, to);
      i = n / kEight * kEight;
    }
#endif
    for (; i < n; ++i) {
      to.marked[found] = (first + static_cast<Rank>(i)) | (event[i] * RankWeights::kEventBit);
      to.weight[found] = weight[i];
      found += weight[i] != 0;
      weight[i] = 0;
    }
    return found;
  }
};

}  // namespace

void drain(Isa isa, std::span<const std::uint8_t> event, float* weight, std::size_t n, Rank first,
           RankWeights& to) {
  to.size += dispatch<Drain>(isa, event.data() + first, weight, n, first, Drained(to));
}

void add_up(Isa isa, std::span<const std::uint8_t> event, std::span<const std::uint16_t> low,
            const float* share, std::size_t n, Rank first, std::vector<float>& weight,
            RankWeights& to) {
  if (weight.size() < n) weight.resize(n, 0.0f);
  float* const weights = weight.data();
  const std::size_t place = first & kPlace;
  for (std::size_t i = 0; i < low.size(); ++i) weights[(low[i] & kPlace) - place] += share[i];
  to.make_room(to.size + std::min(low.size(), n));
  drain(isa, event, weights, n, first, to);
}

}  // namespace cqrf
