// The sums of the distribution rule over the rows that pass a cut, for the cuts of sixteen lanes.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "../rules/distribution.hpp"
#include "../simd.hpp"
#include "node.hpp"

#if CQRF_X86
#include <immintrin.h>
#endif

namespace cqrf {

// By interval and lane; below 2^31, as the rule promises.
struct IntervalSums {
  using Table = std::array<std::array<std::int32_t, kLanes>, DistributionRule::kIntervals>;
  alignas(64) Table weight;
  alignas(64) Table rho;
};

// Sums of the rows of one interval, in registers. `add` takes the weight of a row and its rho times
// that weight; `add_two` takes two rows of weight one; `take` writes the sums and begins anew.
template <Isa>
class PassingSums {
 public:
  explicit PassingSums(const Lanes& cuts) : cuts_(cuts) {}

  void add(const Lanes& bins, std::int32_t weight, std::int32_t rho) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      const std::int32_t mask = -static_cast<std::int32_t>(bins.bin[lane] <= cuts_.bin[lane]);
      weight_[lane] += mask & weight;
      rho_[lane] += mask & rho;
    }
  }
  void add_two(const Lanes& first, const Lanes& second, std::uint32_t rho, std::uint32_t rho2) {
    add(first, 1, static_cast<std::int32_t>(rho));
    add(second, 1, static_cast<std::int32_t>(rho2));
  }
  void take(std::int32_t* weight, std::int32_t* rho) {
    std::copy_n(weight_.begin(), kLanes, weight);
    std::copy_n(rho_.begin(), kLanes, rho);
    weight_.fill(0);
    rho_.fill(0);
  }

 private:
  Lanes cuts_;
  std::array<std::int32_t, kLanes> weight_{};
  std::array<std::int32_t, kLanes> rho_{};
};

#if CQRF_X86

template <>
class PassingSums<Isa::kPortable> {
 public:
  explicit PassingSums(const Lanes& cuts) : cuts_(load(&cuts)) {}

  void add(const Lanes& bins, std::int32_t weight, std::int32_t rho) {
    const __m128i passed = passing(bins);
    const __m128i low = _mm_unpacklo_epi8(passed, passed);
    const __m128i high = _mm_unpackhi_epi8(passed, passed);
    const __m128i mask[] = {_mm_unpacklo_epi16(low, low), _mm_unpackhi_epi16(low, low),
                            _mm_unpacklo_epi16(high, high), _mm_unpackhi_epi16(high, high)};
    for (std::size_t q = 0; q < 4; ++q) {
      weight_[q] = _mm_add_epi32(weight_[q], _mm_and_si128(mask[q], _mm_set1_epi32(weight)));
      rho_[q] = _mm_add_epi32(rho_[q], _mm_and_si128(mask[q], _mm_set1_epi32(rho)));
    }
  }
  // Masks of two rows side by side, which a multiplication with their rho adds up.
  void add_two(const Lanes& first, const Lanes& second, std::uint32_t rho, std::uint32_t rho2) {
    const __m128i a = passing(first);
    const __m128i b = passing(second);
    const __m128i low = _mm_unpacklo_epi8(a, b);
    const __m128i high = _mm_unpackhi_epi8(a, b);
    const __m128i mask[] = {_mm_unpacklo_epi8(low, low), _mm_unpackhi_epi8(low, low),
                            _mm_unpacklo_epi8(high, high), _mm_unpackhi_epi8(high, high)};
    const __m128i both = _mm_set1_epi32(static_cast<std::int32_t>(rho | rho2 << 16));
    const __m128i one = _mm_set1_epi16(1);
    for (std::size_t q = 0; q < 4; ++q) {
      weight_[q] = _mm_sub_epi32(weight_[q], _mm_madd_epi16(mask[q], one));
      rho_[q] = _mm_sub_epi32(rho_[q], _mm_madd_epi16(mask[q], both));
    }
  }
  void take(std::int32_t* weight, std::int32_t* rho) {
    for (std::size_t q = 0; q < 4; ++q) {
      _mm_store_si128(reinterpret_cast<__m128i*>(weight) + q, weight_[q]);
      _mm_store_si128(reinterpret_cast<__m128i*>(rho) + q, rho_[q]);
      weight_[q] = rho_[q] = _mm_setzero_si128();
    }
  }

 private:
  static __m128i load(const Lanes* lanes) {
    return _mm_load_si128(reinterpret_cast<const __m128i*>(lanes));
  }
  __m128i passing(const Lanes& bins) const {
    return _mm_cmpeq_epi8(_mm_min_epu8(load(&bins), cuts_), load(&bins));
  }

  __m128i cuts_;
  __m128i weight_[4] = {};
  __m128i rho_[4] = {};
};

template <>
class PassingSums<Isa::kAvx2> {
 public:
  CQRF_AVX2 explicit PassingSums(const Lanes& cuts)
      : cuts_(_mm_load_si128(reinterpret_cast<const __m128i*>(&cuts))) {}

  CQRF_AVX2 void add(const Lanes& bins, std::int32_t weight, std::int32_t rho) {
    const __m128i passed = passing(bins);
    const __m256i mask[] = {_mm256_cvtepi8_epi32(passed),
                            _mm256_cvtepi8_epi32(_mm_unpackhi_epi64(passed, passed))};
    for (std::size_t h = 0; h < 2; ++h) {
      weight_[h] =
          _mm256_add_epi32(weight_[h], _mm256_and_si256(mask[h], _mm256_set1_epi32(weight)));
      rho_[h] = _mm256_add_epi32(rho_[h], _mm256_and_si256(mask[h], _mm256_set1_epi32(rho)));
    }
  }
  CQRF_AVX2 void add_two(const Lanes& first, const Lanes& second, std::uint32_t rho,
                         std::uint32_t rho2) {
    const __m128i a = passing(first);
    const __m128i b = passing(second);
    const __m256i mask[] = {_mm256_cvtepi8_epi16(_mm_unpacklo_epi8(a, b)),
                            _mm256_cvtepi8_epi16(_mm_unpackhi_epi8(a, b))};
    const __m256i both = _mm256_set1_epi32(static_cast<std::int32_t>(rho | rho2 << 16));
    const __m256i one = _mm256_set1_epi16(1);
    for (std::size_t h = 0; h < 2; ++h) {
      weight_[h] = _mm256_sub_epi32(weight_[h], _mm256_madd_epi16(mask[h], one));
      rho_[h] = _mm256_sub_epi32(rho_[h], _mm256_madd_epi16(mask[h], both));
    }
  }
  CQRF_AVX2 void take(std::int32_t* weight, std::int32_t* rho) {
    for (std::size_t h = 0; h < 2; ++h) {
      _mm256_store_si256(reinterpret_cast<__m256i*>(weight) + h, weight_[h]);
      _mm256_store_si256(reinterpret_cast<__m256i*>(rho) + h, rho_[h]);
      weight_[h] = rho_[h] = _mm256_setzero_si256();
    }
  }

 private:
  CQRF_AVX2 __m128i passing(const Lanes& bins) const {
    const __m128i bin = _mm_load_si128(reinterpret_cast<const __m128i*>(&bins));
    return _mm_cmpeq_epi8(_mm_min_epu8(bin, cuts_), bin);
  }

  __m128i cuts_;
  __m256i weight_[2] = {};
  __m256i rho_[2] = {};
};

template <>
class PassingSums<Isa::kAvx512> {
 public:
  CQRF_AVX512 explicit PassingSums(const Lanes& cuts)
      : cuts_(_mm_load_si128(reinterpret_cast<const __m128i*>(&cuts))) {}

  CQRF_AVX512 void add(const Lanes& bins, std::int32_t weight, std::int32_t rho) {
    const __mmask16 passed =
        _mm_cmple_epu8_mask(_mm_load_si128(reinterpret_cast<const __m128i*>(&bins)), cuts_);
    weight_ = _mm512_mask_add_epi32(weight_, passed, weight_, _mm512_set1_epi32(weight));
    rho_ = _mm512_mask_add_epi32(rho_, passed, rho_, _mm512_set1_epi32(rho));
  }
  CQRF_AVX512 void add_two(const Lanes& first, const Lanes& second, std::uint32_t rho,
                           std::uint32_t rho2) {
    add(first, 1, static_cast<std::int32_t>(rho));
    add(second, 1, static_cast<std::int32_t>(rho2));
  }
  CQRF_AVX512 void take(std::int32_t* weight, std::int32_t* rho) {
    _mm512_store_si512(weight, weight_);
    _mm512_store_si512(rho, rho_);
    weight_ = rho_ = _mm512_setzero_si512();
  }

 private:
  __m128i cuts_;
  __m512i weight_ = {};
  __m512i rho_ = {};
};

#endif

// `Weighted`: rows may have other weights than one.
template <bool Weighted>
struct SumIntervals {
  template <Isa kIsa>
  CQRF_KERNEL static void run(const LaneRows& rows, const DistributionRule::Label* labels,
                              std::span<const SampledRow> sampled, const Lanes& cuts,
                              IntervalSums& sums) {
    sums = {};
    PassingSums<kIsa> passing(cuts);
    std::size_t interval = labels[0].interval();
    const std::size_t n = sampled.size();
    for (std::size_t i = 0; i < n; ++i) {
      if constexpr (!Weighted) {
        // Rows are in time order: if the second is still in the interval, so is the first.
        for (; i + 1 < n && labels[i + 1].interval() == interval; i += 2)
          passing.add_two(rows[i], rows[i + 1], labels[i].rho(), labels[i + 1].rho());
        if (i == n) break;
      }
      const DistributionRule::Label label = labels[i];
      if (label.interval() != interval) [[unlikely]] {
        passing.take(sums.weight[interval].data(), sums.rho[interval].data());
        interval = label.interval();
      }
      const auto weight = Weighted ? static_cast<std::int32_t>(sampled[i].weight) : 1;
      passing.add(rows[i], weight, static_cast<std::int32_t>(label.rho()) * weight);
    }
    passing.take(sums.weight[interval].data(), sums.rho[interval].data());
  }
};

}  // namespace cqrf
