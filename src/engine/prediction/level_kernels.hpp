// What is computed for eight levels at once, in whatever registers there are: the operations, and
// hence the results, are the same everywhere.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "../simd.hpp"

namespace cqrf {

// They may begin at any float: GCC makes the best of it where the type says so, Clang heeds it
// where the name does.
using Eight __attribute__((aligned(4))) = float __attribute__((vector_size(32), aligned(4)));
using EightInts __attribute__((aligned(4))) =
    std::int32_t __attribute__((vector_size(32), aligned(4)));
constexpr std::size_t kEight = 8;

// Weights of levels, and shares of the censorings that come before the events.
struct OfLevels {
  const float* censored;
  const float* events;
  const float* order;
};

#if defined(__clang__) || __GNUC__ >= 12
#define CQRF_LATER(x, zero, n) \
  __builtin_shufflevector(x, zero, n, n + 1, n + 2, n + 3, n + 4, n + 5, n + 6, n + 7)
#else
using Lanes8 = int __attribute__((vector_size(32)));
#define CQRF_LATER(x, zero, n) \
  __builtin_shuffle(x, zero, Lanes8{n, n + 1, n + 2, n + 3, n + 4, n + 5, n + 6, n + 7})
#endif

inline constexpr std::size_t whole_vectors(std::size_t n) {
  return (n + kEight - 1) / kEight * kEight;
}

// Makes values the sums from each place to the last. Arguments are references: how vectors are
// passed depends on the instruction set.
CQRF_KERNEL void add_later(Eight& values) {
  const Eight zero{};
  values += CQRF_LATER(values, zero, 1);
  values += CQRF_LATER(values, zero, 2);
  values += CQRF_LATER(values, zero, 4);
}

CQRF_KERNEL double product_of(const Eight& values) {
  double product = 1;
  for (std::size_t j = 0; j < kEight; ++j) product *= double{values[j]};
  return product;
}

// The factors of a chunk of levels, from the last to the first.
struct ChunkFactors {
  // `after` is the weight behind the chunk. Returns the product of the factors; `total` becomes the
  // weight of the chunk, and `doubt` the largest D C / R^2.
  template <Isa>
  CQRF_KERNEL static double run(const OfLevels& levels, std::size_t size, float after,
                                float* factor, float* from, float& total, float& doubt) {
    const Eight zero{};
    const Eight one = zero + 1.0f;
    const Eight tiny = zero + std::numeric_limits<float>::min();
    Eight product = one;
    Eight doubts{};
    float sum = 0;
    for (std::size_t i = size; i > 0; i -= kEight) {
      const std::size_t at = i - kEight;
      const Eight censored = *reinterpret_cast<const Eight*>(levels.censored + at);
      const Eight events = *reinterpret_cast<const Eight*>(levels.events + at);
      Eight sums = censored + events;
      add_later(sums);
      const Eight all = sums + (after + sum);
      *reinterpret_cast<Eight*>(from + at) = all;
      Eight at_risk = all - *reinterpret_cast<const Eight*>(levels.order + at) * censored;
      sum += sums[0];
      at_risk = at_risk > tiny ? at_risk : tiny;
      const Eight inverse = one / at_risk;
      const Eight share = events * inverse;
      // Exactly one where there is no event, and zero where nothing else is left; a share of less
      // is not rounded beyond one.
      const Eight f = at_risk > events ? one - share : zero;
      *reinterpret_cast<Eight*>(factor + at) = f;
      product *= f;
      const Eight change = share * (censored * inverse);
      doubts = change > doubts ? change : doubts;
    }
    total = sum;
    doubt = 0;
    for (std::size_t j = 0; j < kEight; ++j) doubt = std::max(doubt, doubts[j]);
    return product_of(product);
  }
};

// Calls each(i) for every i in [0, n), eight in a row: an addition to memory takes a quarter less
// time in a loop that is unrolled.
template <class Each>
CQRF_KERNEL void unrolled(std::size_t n, Each each) {
  std::size_t i = 0;
  for (; i + kEight <= n; i += kEight)
    for (std::size_t j = 0; j < kEight; ++j) each(i + j);
  for (; i < n; ++i) each(i);
}

// Adds members to weights by level, with the same share each or with their own. Their event bit is
// the highest: shifted, it leads to the second half of a block.
struct AddMembers {
  template <Isa>
  CQRF_KERNEL static void run(std::span<const std::uint16_t> low, float share, int shift,
                              float* weight) {
    unrolled(low.size(), [=](std::size_t i) { weight[low[i] >> shift] += share; });
  }
  template <Isa>
  CQRF_KERNEL static void run(std::span<const std::uint16_t> low, const float* share, int shift,
                              float* weight) {
    unrolled(low.size(), [=](std::size_t i) { weight[low[i] >> shift] += share[i]; });
  }
};

// The same, `behind` further on for members beyond the last one of their level that is not.
struct AddSplitMembers {
  template <Isa>
  CQRF_KERNEL static void run(std::span<const std::uint16_t> low, float share, int shift,
                              const std::uint16_t* last_before, std::size_t behind, float* weight) {
    unrolled(low.size(), [=](std::size_t i) {
      const std::size_t at = low[i] >> shift;
      // Without a branch, which would be mispredicted.
      weight[at + (behind & -std::size_t{low[i] > last_before[at]})] += share;
    });
  }
};

// S after each place of a chunk, from S before and behind it; rounding takes it beyond neither.
struct ChunkSurvival {
  template <Isa>
  CQRF_KERNEL static void run(const float* factor, std::size_t size, float before, float behind,
                              float* after) {
    const Eight zero{};
    const Eight one = zero + 1.0f;
    const Eight least = zero + behind;
    for (std::size_t i = 0; i < size; i += kEight) {
      // Products from the first to each place.
      Eight products = *reinterpret_cast<const Eight*>(factor + i);
      products *= CQRF_LATER(one, products, 7);
      products *= CQRF_LATER(one, products, 6);
      products *= CQRF_LATER(one, products, 4);
      products *= before;
      before = products[kEight - 1];
      *reinterpret_cast<Eight*>(after + i) = products > least ? products : least;
    }
  }
};

// The falls of S in a chunk, times values, for S = 1 before it.
struct ChunkFalls {
  // Returns their sum; `largest` becomes the largest fall times spread.
  template <Isa>
  CQRF_KERNEL static double run(const float* factor, const float* mean, const float* spread,
                                std::size_t size, float& largest) {
    const Eight zero{};
    const Eight one = zero + 1.0f;
    Eight sums{};
    Eight most{};
    float before = 1;
    for (std::size_t i = 0; i < size; i += kEight) {
      const Eight f = *reinterpret_cast<const Eight*>(factor + i);
      // Products from the first to each place.
      Eight products = f;
      products *= CQRF_LATER(one, products, 7);
      products *= CQRF_LATER(one, products, 6);
      products *= CQRF_LATER(one, products, 4);
      const Eight fall = before * CQRF_LATER(one, products, 7) * (one - f);
      sums += fall * *reinterpret_cast<const Eight*>(mean + i);
      const Eight spreads = fall * *reinterpret_cast<const Eight*>(spread + i);
      most = spreads > most ? spreads : most;
      before *= products[kEight - 1];
    }
    double sum = 0;
    largest = 0;
    for (std::size_t j = 0; j < kEight; ++j) {
      sum += double{sums[j]};
      largest = std::max(largest, most[j]);
    }
    return sum;
  }
};

// Sums over levels of their weights of events and of censorings, and of the same times places, from
// `first` on and in levels.
struct LevelSums {
  template <Isa>
  CQRF_KERNEL static std::array<double, 4> run(const float* censored, const float* events,
                                               std::size_t size, float first) {
    Eight place = Eight{0, 1, 2, 3, 4, 5, 6, 7} + (first + 0.5f);
    Eight all_events{};
    Eight all_censored{};
    Eight event_places{};
    Eight censored_places{};
    for (std::size_t i = 0; i < size; i += kEight) {
      const Eight c = *reinterpret_cast<const Eight*>(censored + i);
      const Eight d = *reinterpret_cast<const Eight*>(events + i);
      all_events += d;
      all_censored += c;
      event_places += d * place;
      censored_places += c * place;
      place += static_cast<float>(kEight);
    }
    std::array<double, 4> sums{};
    for (std::size_t j = 0; j < kEight; ++j) {
      sums[0] += double{all_events[j]};
      sums[1] += double{all_censored[j]};
      sums[2] += double{event_places[j]};
      sums[3] += double{censored_places[j]};
    }
    return sums;
  }
};

// How much levels differ: the sum of squares of their weights less those of the next ones, and that
// of their events less a share of their weights.
struct ChunkSquares {
  template <Isa>
  CQRF_KERNEL static std::array<double, 2> run(const float* censored, const float* events,
                                               std::size_t size, float share) {
    const Eight zero{};
    Eight steps{};
    Eight shares{};
    for (std::size_t i = 0; i < size; i += kEight) {
      const Eight c = *reinterpret_cast<const Eight*>(censored + i);
      const Eight d = *reinterpret_cast<const Eight*>(events + i);
      const Eight all = c + d;
      // Of eight, the last one has no next.
      Eight step = all - CQRF_LATER(all, zero, 1);
      step[kEight - 1] = 0;
      steps += step * step;
      const Eight more = d - share * all;
      shares += more * more;
    }
    std::array<double, 2> sums{};
    for (std::size_t j = 0; j < kEight; ++j) {
      sums[0] += double{steps[j]};
      sums[1] += double{shares[j]};
    }
    return sums;
  }
};

#undef CQRF_LATER

}  // namespace cqrf
