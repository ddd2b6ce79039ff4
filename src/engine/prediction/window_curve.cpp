#include "window_curve.hpp"

#include <algorithm>
#include <limits>

#include "level_kernels.hpp"

namespace cqrf {
namespace {

// The factors by which S falls at ranks, and their products over chunks; from the last to the
// first, with `after` behind them.
struct RankFactors {
  template <Isa>
  CQRF_KERNEL static void run(const RankWeights& weights, double after, float* factor,
                              double* products) {
    const Eight zero{};
    const Eight one = zero + 1.0f;
    const Eight tiny = zero + std::numeric_limits<float>::min();
    const Rank* const marked = weights.marked.data();
    const float* const weight = weights.weight.data();
    for (std::size_t end = whole_vectors(weights.size); end > 0;) {
      const std::size_t begin = (end - 1) / WindowCurve::kChunk * WindowCurve::kChunk;
      const auto behind = static_cast<float>(after);
      Eight product = one;
      float sum = 0;
      for (; end > begin; end -= kEight) {
        const std::size_t at = end - kEight;
        const Eight all = *reinterpret_cast<const Eight*>(weight + at);
        // The sign is RankWeights::kEventBit.
        const Eight events = *reinterpret_cast<const EightInts*>(marked + at) < 0 ? all : zero;
        Eight sums = all;
        add_later(sums);
        Eight at_risk = sums + (behind + sum);
        at_risk = at_risk > tiny ? at_risk : tiny;
        sum += sums[0];
        // Exactly one where there is no event, and zero where nothing else is left.
        const Eight f = at_risk > events ? one - events / at_risk : zero;
        *reinterpret_cast<Eight*>(factor + at) = f;
        product *= f;
      }
      after += double{sum};
      products[begin / WindowCurve::kChunk] = product_of(product);
    }
  }
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

}  // namespace

void WindowCurve::make(Isa isa, const TargetView& target, RankWeights& weights, double survival,
                       double behind) {
  static_assert(RankWeights::kRoom >= kChunk);
  isa_ = isa;
  target_ = &target;
  weights_ = &weights;
  behind_ = behind;
  const std::size_t n = weights.size;
  const std::size_t chunks = (n + kChunk - 1) / kChunk;
  for (auto* const values : {&factor_, &after_})
    if (values->size() < chunks * kChunk) values->resize(chunks * kChunk);
  std::fill_n(weights.weight.begin() + static_cast<std::ptrdiff_t>(n), kChunk, 0.0f);
  std::fill_n(weights.marked.begin() + static_cast<std::ptrdiff_t>(n), kChunk,
              ~RankWeights::kEventBit);
  survival_.resize(chunks + 1);
  asked_.assign(chunks, 0);
  dispatch<RankFactors>(isa, weights, behind, factor_.data(), survival_.data());
  first_ = survival == 1;
  for (std::size_t k = 0; k < chunks; ++k) {
    const double factor = survival_[k];
    survival_[k] = survival;
    survival *= factor;
  }
  survival_[chunks] = survival;
}

std::size_t WindowCurve::length(std::size_t chunk) const {
  return std::min(kChunk, whole_vectors(weights_->size - chunk * kChunk));
}

void WindowCurve::make_survival_in(std::size_t chunk) {
  asked_[chunk] = 1;
  dispatch<ChunkSurvival>(isa_, factor_.data() + chunk * kChunk, length(chunk),
                          static_cast<float>(survival_[chunk]),
                          static_cast<float>(survival_[chunk + 1]), after_.data() + chunk * kChunk);
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
  // Of a step, the solver looks at the time, S and whether it falls.
  const auto step = [&](std::size_t i) { return Step{time_index(i), true, 0, 0, 0}; };
  first[0] = step(place.begin);
  curve.survival[0] = before(place.begin);
  curve.jump[0] = false;
  // Steps without events make no difference, but for the last one; and the solver can tell where it
  // will find an answer.
  std::size_t k = 0;
  for (std::size_t i = place.begin; i < place.end;) {
    bool falls = false;
    first[k + 1] = step(i);
    do {
      falls = falls || jumps(i);
      ++i;
    } while (i < place.end && tied(i, i - 1));
    curve.survival[k + 1] = after_[i - 1];
    curve.jump[k + 1] = falls;
    k += falls || i == place.end;
  }
  curve.steps = {first, k + 1};
  curve.survival.resize(k + 1);
  curve.jump.resize(k + 1);
}

}  // namespace cqrf
