#include "window_curve.hpp"

#include <algorithm>
#include <array>
#include <bit>

#include "chosen_lanes.hpp"
#include "level_kernels.hpp"

namespace cqrf {
namespace {

constexpr std::size_t kSixteen = 16;

// Weights of ranks, for ChunkFactors. A rank has events or censorings: there is no order.
struct OfRanks {
  CQRF_KERNEL EightWeights operator()(std::size_t i) const {
    const Eight all = *reinterpret_cast<const Eight*>(weight + i);
    const EightInts ranks = *reinterpret_cast<const EightInts*>(marked + i);
    const Eight zero{};
    const Eight events = ranks < 0 ? all : zero;
    return {all, events, all - events, zero};
  }

  const Rank* marked;
  const float* weight;
};

// How many of some ranks, (size,), come before one: without branches, which would be mispredicted.
struct RanksBefore {
  template <Isa>
  CQRF_KERNEL static std::size_t run(const Rank* marked, std::size_t size, std::size_t rank) {
    // As signed integers, which are sooner compared.
    const auto end = static_cast<std::int32_t>(rank);
    std::int32_t before = 0;
    for (std::size_t i = 0; i < size; ++i)
      before += static_cast<std::int32_t>(marked[i] & ~RankWeights::kEventBit) < end;
    return static_cast<std::size_t>(before);
  }
};

struct Drained {
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
  const Drained drained{to.marked.data() + to.size, to.weight.data() + to.size};
  to.size += dispatch<Drain>(isa, event.data() + first, weight, n, first, drained);
}

void add_up(Isa isa, std::span<const std::uint8_t> event, std::span<const std::uint16_t> low,
            const float* share, std::size_t n, Rank first, std::vector<float>& weight,
            RankWeights& to) {
  if (weight.size() < n + kDrainRoom) weight.resize(n + kDrainRoom, 0.0f);
  float* const weights = weight.data();
  const std::size_t place = first & kPlace;
  for (std::size_t i = 0; i < low.size(); ++i) weights[(low[i] & kPlace) - place] += share[i];
  to.make_room(to.size + std::min(low.size(), n));
  drain(isa, event, weights, n, first, to);
}

std::size_t WindowCurve::length(std::size_t chunk) const {
  const std::size_t left = weights_->size - chunk * kChunk;
  return std::min(kChunk, (left + kEight - 1) / kEight * kEight);
}

void WindowCurve::make(Isa isa, const TargetView& target, RankWeights& weights, double survival,
                       double behind, double total) {
  static_assert(RankWeights::kRoom >= kChunk);
  isa_ = isa;
  target_ = &target;
  weights_ = &weights;
  behind_ = behind;
  total_ = total;
  const std::size_t n = weights.size;
  const std::size_t chunks = (n + kChunk - 1) / kChunk;
  for (auto* const values : {&factor_, &from_, &after_})
    if (values->size() < chunks * kChunk) values->resize(chunks * kChunk);
  std::fill_n(weights.weight.begin() + static_cast<std::ptrdiff_t>(n), kChunk, 0.0f);
  std::fill_n(weights.marked.begin() + static_cast<std::ptrdiff_t>(n), kChunk,
              ~RankWeights::kEventBit);
  survival_.resize(chunks + 1);
  asked_.assign(chunks, 0);
  double after = behind;
  for (std::size_t k = chunks; k-- > 0;) {
    const std::size_t at = k * kChunk;
    float weight;
    float doubt;
    survival_[k] = dispatch<ChunkFactors>(
        isa, OfRanks{weights.marked.data() + at, weights.weight.data() + at}, length(k),
        static_cast<float>(after), factor_.data() + at, from_.data() + at, weight, doubt);
    after += double{weight};
  }
  first_ = survival == 1;
  for (std::size_t k = 0; k < chunks; ++k) {
    const double factor = survival_[k];
    survival_[k] = survival;
    survival *= factor;
  }
  survival_[chunks] = survival;
}

// S after each rank of a chunk.
const float* WindowCurve::survival_in(std::size_t chunk) {
  float* const after = after_.data() + chunk * kChunk;
  if (asked_[chunk]) return after;
  asked_[chunk] = 1;
  dispatch<ChunkSurvival>(isa_, factor_.data() + chunk * kChunk, length(chunk),
                          static_cast<float>(survival_[chunk]),
                          static_cast<float>(survival_[chunk + 1]), after);
  return after;
}

void WindowCurve::survival_after(std::span<const std::size_t> ranks, double* survival) {
  const std::size_t chunks = survival_.size() - 1;
  std::size_t chunk = 0;
  for (std::size_t j = 0; j < ranks.size(); ++j) {
    while (chunk + 1 < chunks && weights_->rank((chunk + 1) * kChunk) < ranks[j]) ++chunk;
    const std::size_t at = chunk * kChunk;
    const auto passed = dispatch<RanksBefore>(isa_, weights_->marked.data() + at, kChunk, ranks[j]);
    survival[j] = before(at + passed);
  }
}

double WindowCurve::sum_of_falls(std::span<const double> values) const {
  double sum = 0;
  for (std::size_t begin = 0; begin < weights_->size; begin += kChunk) {
    // Chunks do not wait for each other.
    double survival = survival_[begin / kChunk];
    const std::size_t end = std::min(weights_->size, begin + kChunk);
    for (std::size_t i = begin; i < end; ++i) {
      const double next = survival * double{factor_[i]};
      sum += (survival - next) * values[weights_->rank(i)];
      survival = next;
    }
  }
  return sum;
}

std::size_t WindowCurve::crossing(double probability, std::size_t chunk) {
  if (!falls_to(probability)) return behind_ == 0 ? kNoJump : jump_before(weights_->size);
  // The last chunk that S is above the probability before: one of the next, or found without
  // branches, which would be mispredicted.
  constexpr std::size_t kNext = 4;
  if (!(survival_[chunk] > probability)) chunk = 0;
  const std::size_t near = std::min(chunk + kNext, survival_.size() - 2);
  while (chunk < near && survival_[chunk + 1] > probability) ++chunk;
  if (chunk == near) {
    for (std::size_t left = survival_.size() - 1 - chunk; left > 1;) {
      const std::size_t half = left / 2;
      chunk += survival_[chunk + half] > probability ? half : 0;
      left -= half;
    }
  }
  // Then all of its ranks.
  const float* const after = survival_in(chunk);
  const auto reached = static_cast<float>(probability);
  const std::size_t n = length(chunk);
  std::uint32_t above = 0;
  for (std::size_t j = 0; j < n; ++j) above += after[j] > reached;
  // Products in another order may round to the other side.
  std::size_t at =
      std::min(chunk * kChunk + std::min<std::size_t>(above, kChunk - 1), weights_->size - 1);
  while (at > 0 && !jumps(at)) --at;
  return at;
}

WindowCurve::Place WindowCurve::find(double probability, std::size_t chunk) {
  const std::size_t n = weights_->size;
  const bool is_last = behind_ == 0;
  if (!first_ && survival_[0] <= probability) return {.before = true};
  if (n == 0) return {.before = is_last, .after = !is_last};
  if (!falls_to(probability)) {
    // The last time.
    std::size_t begin = n - 1;
    while (begin > 0 && tied(begin - 1, begin)) --begin;
    return {.after = !is_last, .begin = begin, .end = n};
  }
  const std::size_t at = crossing(probability, chunk);
  Place place{.crossing = at};
  std::size_t begin = at;
  while (begin > 0 && (!jumps(begin - 1) || tied(begin - 1, at))) --begin;
  place.before = begin == 0 && !first_;
  if (begin > 0) --begin;
  while (begin > 0 && tied(begin - 1, begin)) --begin;
  place.begin = begin;
  std::size_t end = at + 1;
  while (end < n && (!jumps(end) || tied(end, at))) ++end;
  place.after = end == n && !is_last;
  if (end < n) ++end;
  while (end < n && tied(end, end - 1)) ++end;
  place.end = end;
  return place;
}

void WindowCurve::part(const Place& place, Curve& curve) {
  const std::size_t most = place.end - place.begin + 1;
  if (curve.buffer.size() < most) curve.buffer.resize(most);
  curve.survival.resize(most);
  curve.jump.resize(most);
  Step* const first = curve.buffer.data();
  for (std::size_t chunk = place.begin / kChunk; chunk * kChunk < place.end; ++chunk)
    survival_in(chunk);
  first[0] = {time_index(place.begin), true, 0, 0, weight_from(place.begin)};
  curve.survival[0] = before(place.begin);
  curve.jump[0] = false;
  // Steps without events make no difference, but for the last one; and the solver can tell where it
  // will find an answer.
  std::size_t k = 0;
  for (std::size_t i = place.begin; i < place.end;) {
    double events = 0;
    double censored = 0;
    const TimeIndex at = time_index(i);
    do {
      (weights_->is_event(i) ? events : censored) += double{weights_->weight[i]};
      ++i;
    } while (i < place.end && tied(i, i - 1));
    first[k + 1] = {at, true, events, censored, weight_from(i)};
    curve.survival[k + 1] = after_[i - 1];
    curve.jump[k + 1] = events > 0;
    k += events > 0 || i == place.end;
  }
  curve.steps = {first, k + 1};
  curve.survival.resize(k + 1);
  curve.jump.resize(k + 1);
  curve.total = total_;
}

}  // namespace cqrf
