#include "levels.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <utility>

#include "../simd.hpp"

namespace cqrf {
namespace {

// Eight numbers at once, in whatever registers there are: the operations, and hence the results,
// are the same everywhere.
using Eight = float __attribute__((vector_size(32), aligned(4)));
constexpr std::size_t kEight = 8;

#if defined(__clang__) || __GNUC__ >= 12
#define CQRF_LATER(x, zero, n) \
  __builtin_shufflevector(x, zero, n, n + 1, n + 2, n + 3, n + 4, n + 5, n + 6, n + 7)
#else
using Lanes8 = int __attribute__((vector_size(32)));
#define CQRF_LATER(x, zero, n) \
  __builtin_shuffle(x, zero, Lanes8{n, n + 1, n + 2, n + 3, n + 4, n + 5, n + 6, n + 7})
#endif

// Where D C / R^2 is larger than this, the order of events and censorings in a level matters.
constexpr float kMatters = 5e-5f;

using Doubts = std::int32_t __attribute__((vector_size(32)));

// Whether a bit is set in a vector of 32 bytes.
template <class Vector>
CQRF_KERNEL bool any(const Vector& lanes) {
  std::array<std::uint64_t, 4> words;
  std::memcpy(words.data(), &lanes, sizeof(words));
  return (words[0] | words[1] | words[2] | words[3]) != 0;
}

// The factors of a chunk of levels, from the last to the first.
struct ChunkFactors {
  // `after` is the weight behind the chunk. Returns the product of the factors; `total` becomes
  // the weight of the chunk, and `doubtful` whether the order within some level matters.
  template <Isa>
  CQRF_KERNEL static double run(const float* censored, const float* events, std::size_t size,
                                float after, float* factor, float& total, std::uint8_t& doubtful) {
    const Eight zero{};
    const Eight half = zero + 0.5f;
    const Eight one = zero + 1.0f;
    const Eight tiny = zero + std::numeric_limits<float>::min();
    const Eight matters = zero + kMatters;
    Eight product = one;
    Doubts doubts{};
    float sum = 0;
    for (std::size_t i = size; i > 0; i -= kEight) {
      const Eight c = *reinterpret_cast<const Eight*>(censored + i - kEight);
      const Eight d = *reinterpret_cast<const Eight*>(events + i - kEight);
      // Sums from each place to the last.
      Eight from = c + d;
      from += CQRF_LATER(from, zero, 1);
      from += CQRF_LATER(from, zero, 2);
      from += CQRF_LATER(from, zero, 4);
      Eight at_risk = from + (after + sum) - half * c;
      sum += from[0];
      at_risk = at_risk > tiny ? at_risk : tiny;
      Eight kept = at_risk - d;
      kept = kept > zero ? kept : zero;
      const Eight f = kept / at_risk;
      *reinterpret_cast<Eight*>(factor + i - kEight) = f;
      product *= f;
      doubts |= c * d > matters * at_risk * at_risk;
    }
    total = sum;
    doubtful = any(doubts);
    double all = 1;
    for (std::size_t j = 0; j < kEight; ++j) all *= double{product[j]};
    return all;
  }
};

using Sixteen = std::uint16_t __attribute__((vector_size(32), aligned(2)));
constexpr std::size_t kSixteen = 16;

// Which members of a run have a place in one of some ranges, [first, first + more].
struct FindMembers {
  // Writes their positions, and up to sixteen numbers behind them; returns how many there are.
  template <Isa>
  CQRF_KERNEL static std::size_t run(const std::uint16_t* low, std::size_t size,
                                     const std::uint16_t* first, const std::uint16_t* more,
                                     std::size_t n, std::uint32_t* hits) {
    std::size_t found = 0;
    for (std::size_t i = 0; i < size; i += kSixteen) {
      // The last sixteen are looked at again where fewer are left, without those seen before.
      const std::size_t at = size < kSixteen ? 0 : std::min(i, size - kSixteen);
      std::array<std::uint16_t, kSixteen> few;
      if (size < kSixteen) {
        few.fill(0);
        std::copy_n(low, size, few.begin());
      }
      const std::uint16_t* const from = size < kSixteen ? few.data() : low + at;
      const Sixteen place = *reinterpret_cast<const Sixteen*>(from) & kPlace;
      Sixteen in{};
      for (std::size_t r = 0; r < n; ++r)
        in |= reinterpret_cast<Sixteen>(static_cast<Sixteen>(place - first[r]) <= more[r]);
      if (!any(in)) continue;
      for (std::size_t j = i - at; j < std::min(kSixteen, size); ++j) {
        hits[found] = static_cast<std::uint32_t>(at + j);
        found += in[j] & 1;
      }
    }
    return found;
  }
};

}  // namespace

LevelCurve::LevelCurve(const Forest& forest, const TargetView& target, int shift)
    : forest_(forest),
      target_(target),
      isa_(isa()),
      shift_(shift),
      n_levels_(((forest.n_rows - 1) >> shift) + 1),
      leaves_(forest.n_trees()),
      weight_(n_blocks(forest.n_rows) * 2 * per_block(), 0.0f) {
  const std::size_t chunks = (n_levels_ + kChunk - 1) / kChunk;
  factor_.resize(chunks * kChunk);
  chunk_weight_.assign(chunks, 0.0f);
  chunk_after_.resize(chunks);
  chunk_product_.resize(chunks);
  doubtful_.resize(chunks);
  // Whole blocks: members are told by place before the last rank is.
  slot_.assign(n_blocks(forest.n_rows) * per_block(), kNone);
  chunk_before_.resize(chunks + 1);
}

void LevelCurve::make(const LeafId* leaves) {
  const std::size_t chunks = chunk_weight_.size();
  for (std::size_t k = 0; k < chunks; ++k) {
    if (chunk_weight_[k] == 0) continue;
    float* const censored = weight_.data() + place(k * kChunk);
    std::fill_n(censored, kChunk, 0.0f);
    std::fill_n(censored + per_block(), kChunk, 0.0f);
  }
  for (const std::uint32_t level : looked_up_) slot_[level] = kNone;
  looked_up_.clear();
  near_.clear();
  n_found_ = 0;
  constexpr std::size_t kAhead = 2;
  const std::size_t trees = leaves_.size();
  for (std::size_t t = 0; t < trees; ++t) leaves_[t] = forest_.leaf(t, leaves[t]);
  for (std::size_t t = 0; t < trees; ++t) {
    if (t + kAhead < trees) forest_.prefetch(leaves_[t + kAhead]);
    add(leaves_[t]);
  }
  double after = 0;
  for (std::size_t k = chunks; k-- > 0;) {
    chunk_after_[k] = after;
    const float* const censored = weight_.data() + place(k * kChunk);
    chunk_product_[k] = dispatch<ChunkFactors>(
        isa_, censored, censored + per_block(), kChunk, static_cast<float>(after),
        factor_.data() + k * kChunk, chunk_weight_[k], doubtful_[k]);
    after += double{chunk_weight_[k]};
  }
  multiply_chunks();
}

void LevelCurve::multiply_chunks() {
  chunk_before_[0] = 1;
  for (std::size_t k = 0; k < chunk_product_.size(); ++k)
    chunk_before_[k + 1] = chunk_before_[k] * chunk_product_[k];
}

void LevelCurve::add(const Leaf& leaf) {
  const PackedMembers& members = forest_.members;
  const std::uint16_t* low = members.low.data() + leaf.first;
  const float share = 1.0f / static_cast<float>(leaf.size);
  const int shift = shift_;
  // The event bit is the highest: shifted, it leads to the second half of the block.
  const auto add_run = [=](float* weight, const std::uint16_t* from, std::size_t size) {
    for (std::size_t i = 0; i < size; ++i) weight[from[i] >> shift] += share;
  };
  const std::size_t stride = 2 * per_block();
  if (members.counted()) {
    float* weight = weight_.data();
    for (const std::uint16_t count : members.counts(leaf)) {
      add_run(weight, low, count);
      low += count;
      weight += stride;
    }
  } else if (members.block.empty()) {
    add_run(weight_.data(), low, leaf.size);
  } else {
    for (std::size_t i = 0; i < leaf.size; ++i)
      weight_[members.block_of(leaf.first + i) * stride + (low[i] >> shift)] += share;
  }
}

double LevelCurve::survival_before(std::size_t level) const {
  double survival = chunk_before_[level / kChunk];
  for (std::size_t i = level / kChunk * kChunk; i < level; ++i) survival *= double{factor_[i]};
  return survival;
}

double LevelCurve::weight_from(std::size_t level) const {
  if (level >= n_levels_) return 0;
  double sum = chunk_after_[level / kChunk];
  const std::size_t end = std::min(n_levels_, (level / kChunk + 1) * kChunk);
  for (std::size_t i = end; i-- > level;) sum += double{weight(i)};
  return sum;
}

// From the last level with an event before S has fallen so far to the first one after that, with
// all rows of the same times: whole levels, since S and the weight behind are known there.
LevelCurve::Range LevelCurve::levels_around(double level) const {
  const double probability = level + kLevelTolerance;
  const auto chunk = std::partition_point(chunk_before_.begin() + 1, chunk_before_.end(),
                                          [=](double s) { return s > probability; });
  std::size_t at = 0;
  if (chunk == chunk_before_.end()) {
    // Its end.
    at = n_levels_ - 1;
    while (weight(at) == 0) --at;
  } else {
    at = static_cast<std::size_t>(chunk - chunk_before_.begin() - 1) * kChunk;
    for (double survival = *(chunk - 1); at + 1 < n_levels_; ++at) {
      survival *= double{factor_[at]};
      if (survival <= probability) break;
    }
  }
  // Rows of the same time fall with those of the level.
  Range found = levels_of(with_equal_times({first_rank(at), first_rank(at + 1)}));
  while (found.begin > 0 && factor_[found.begin - 1] == 1) --found.begin;
  if (found.begin > 0) --found.begin;
  while (found.end < n_levels_ && factor_[found.end] == 1) ++found.end;
  if (found.end < n_levels_) ++found.end;
  return levels_of(with_equal_times({first_rank(found.begin), first_rank(found.end)}));
}

// Rows of one time make one step: there are no more of them before or after.
LevelCurve::Range LevelCurve::with_equal_times(Range ranks) const {
  const auto& index = target_.time_index;
  const auto first = index.begin() + static_cast<std::ptrdiff_t>(ranks.begin);
  const auto last = index.begin() + static_cast<std::ptrdiff_t>(ranks.end) - 1;
  return {static_cast<std::size_t>(std::lower_bound(index.begin(), first, *first) - index.begin()),
          static_cast<std::size_t>(std::upper_bound(last, index.end(), *last) - index.begin())};
}

void LevelCurve::want(std::size_t level) {
  if (looked_up(level)) return;
  slot_[level] = static_cast<std::uint32_t>(looked_up_.size() << shift_);
  looked_up_.push_back(static_cast<std::uint32_t>(level));
}

// The levels of a chunk in which the order of events and censorings matters.
void LevelCurve::want_doubtful(std::size_t chunk) {
  double at_risk = chunk_after_[chunk];
  const std::size_t end = std::min(n_levels_, (chunk + 1) * kChunk);
  for (std::size_t level = end; level-- > chunk * kChunk;) {
    const double censored = weight_[place(level)];
    const double events = weight_[place(level) + per_block()];
    at_risk += censored + events;
    if (censored * events > double{kMatters} * at_risk * at_risk) want(level);
  }
}

// Replaces the factors of such levels by exact ones, as far as S is looked at.
void LevelCurve::settle_doubts(double least) {
  if (shift_ == 0) return;
  for (std::size_t k = 0; k < chunk_product_.size() && chunk_before_[k] > least; ++k)
    if (doubtful_[k]) want_doubtful(k);
  if (looked_up_.empty()) return;
  look_up();
  for (const std::uint32_t level : looked_up_) {
    factor_[level] = static_cast<float>(factor_of_first(level, first_rank(level + 1)));
    double& product = chunk_product_[level / kChunk];
    const std::size_t begin = level / kChunk * kChunk;
    product = 1;
    for (std::size_t i = begin; i < begin + kChunk; ++i) product *= double{factor_[i]};
  }
  multiply_chunks();
}

// By what S falls from the beginning of a level, which was looked up, to before the rank `end`.
double LevelCurve::factor_of_first(std::size_t level, std::size_t end) const {
  double after = weight_from(level + 1);
  double factor = 1;
  for (std::size_t rank = first_rank(level + 1); rank-- > first_rank(level);) {
    const double weight = weight_of(rank);
    if (rank < end && target_.event[rank] && weight > 0) factor *= after / (after + weight);
    after += weight;
  }
  return factor;
}

void LevelCurve::look_at(std::span<const double> probabilities) {
  settle_doubts(std::ranges::min(probabilities));
  parts_.clear();
  for (const double probability : probabilities) {
    parts_.push_back(levels_around(probability));
    for (std::size_t level = parts_.back().begin; level < parts_.back().end; ++level)
      if (weight(level) > 0) want(level);
  }
  look_up();
}

void LevelCurve::survival_after(std::span<const std::size_t> ranks, double* survival) {
  settle_doubts(0);
  const auto inside = [&](std::size_t rank) {
    return rank < n_ranks() && rank != first_rank(rank >> shift_) && factor_[rank >> shift_] < 1;
  };
  for (const std::size_t rank : ranks)
    if (inside(rank)) want(rank >> shift_);
  look_up();
  for (std::size_t j = 0; j < ranks.size(); ++j) {
    const std::size_t level = ranks[j] == n_ranks() ? n_levels_ : ranks[j] >> shift_;
    survival[j] = survival_before(level);
    if (inside(ranks[j])) survival[j] *= factor_of_first(level, ranks[j]);
  }
}

// Adds up the weights of the members of the levels that wait.
void LevelCurve::look_up() {
  if (n_found_ == looked_up_.size()) return;
  near_.resize(looked_up_.size() << shift_, 0.0);
  divide_by_blocks();
  const bool few = first_.size() <= kFewRanges && forest_.members.block.empty();
  for (const Leaf& leaf : leaves_) few ? find(leaf) : sift(leaf);
  n_found_ = looked_up_.size();
}

// The levels that wait as ranges of places in their blocks.
void LevelCurve::divide_by_blocks() {
  wanted_.clear();
  first_.clear();
  more_.clear();
  std::sort(looked_up_.begin() + static_cast<std::ptrdiff_t>(n_found_), looked_up_.end());
  std::size_t next = n_ranks() + 1;
  for (std::size_t i = n_found_; i < looked_up_.size(); ++i) {
    const std::size_t begin = first_rank(looked_up_[i]);
    const std::size_t end = first_rank(looked_up_[i] + 1);
    const std::size_t block = begin >> kPlaceBits;
    const bool new_block = wanted_.empty() || wanted_.back().block != block;
    if (new_block) wanted_.push_back({block, first_.size(), 0});
    if (new_block || begin != next) {
      first_.push_back(static_cast<std::uint16_t>(begin & kPlace));
      more_.push_back(static_cast<std::uint16_t>(end - begin - 1));
      ++wanted_.back().size;
    } else {
      more_.back() = static_cast<std::uint16_t>(more_.back() + (end - begin));
    }
    next = end;
  }
}

// The members of a leaf in a few ranges.
void LevelCurve::find(const Leaf& leaf) {
  const PackedMembers& members = forest_.members;
  const double share = 1.0 / static_cast<double>(leaf.size);
  std::size_t first = leaf.first;
  std::size_t block = 0;
  for (const Wanted& wanted : wanted_) {
    std::size_t size = leaf.size;
    if (members.counted()) {
      const auto counts = members.counts(leaf);
      for (; block < wanted.block; ++block) first += counts[block];
      size = counts[block];
    }
    if (hits_.size() < size + kSixteen) hits_.resize(size + kSixteen);
    const std::uint16_t* const low = members.low.data() + first;
    const std::size_t found =
        dispatch<FindMembers>(isa_, low, size, first_.data() + wanted.begin,
                              more_.data() + wanted.begin, wanted.size, hits_.data());
    for (std::size_t i = 0; i < found; ++i)
      take(static_cast<Rank>(block << kPlaceBits | (low[hits_[i]] & kPlace)), share);
  }
}

// All members of a leaf, of which those are taken whose level waits.
void LevelCurve::sift(const Leaf& leaf) {
  const PackedMembers& members = forest_.members;
  const double share = 1.0 / static_cast<double>(leaf.size);
  const std::size_t waiting = n_found_ << shift_;
  const auto sift_run = [&](std::size_t block, std::size_t first, std::size_t size) {
    const std::uint16_t* const low = members.low.data() + first;
    const std::uint32_t* const slot = slot_.data() + block * per_block();
    for (std::size_t i = 0; i < size; ++i) {
      const std::uint16_t at = low[i] & kPlace;
      const std::uint32_t to = slot[at >> shift_];
      if (to != kNone && to >= waiting) near_[to + (at & (level_size() - 1))] += share;
    }
  };
  if (members.counted()) {
    std::size_t first = leaf.first;
    const auto counts = members.counts(leaf);
    for (std::size_t block = 0; block < counts.size(); first += counts[block++])
      sift_run(block, first, counts[block]);
  } else if (members.block.empty()) {
    sift_run(0, leaf.first, leaf.size);
  } else {
    for (std::size_t i = leaf.first; i < leaf.first + leaf.size; ++i)
      sift_run(members.block_of(i), i, 1);
  }
}

void LevelCurve::take(Rank rank, double share) {
  near_[slot_[rank >> shift_] + (rank & (level_size() - 1))] += share;
}

void LevelCurve::part(std::size_t k, Curve& curve) const {
  const Range levels = parts_[k];
  const Range ranks{first_rank(levels.begin), first_rank(levels.end)};
  if (curve.buffer.size() < ranks.end - ranks.begin + 1)
    curve.buffer.resize(ranks.end - ranks.begin + 1);
  Step* const end = curve.buffer.data() + curve.buffer.size();
  Step* first = end;
  double after = weight_from(levels.end);
  for (std::size_t level = levels.end; level-- > levels.begin;) {
    if (!looked_up(level)) continue;
    for (std::size_t rank = first_rank(level + 1); rank-- > first_rank(level);) {
      const double weight = weight_of(rank);
      if (weight == 0) continue;
      const TimeIndex time = target_.time_index[rank];
      if (first == end || first->time != time) *--first = {time, true, 0, 0, after};
      (target_.event[rank] ? first->events : first->censored) += weight;
      after += weight;
    }
  }
  const TimeIndex begins = first->time;
  *--first = {begins, true, 0, 0, after};
  curve.steps = {first, end};
  curve.total = chunk_after_[0] + double{chunk_weight_[0]};
  survival_of_events(curve);
  const double before = survival_before(levels.begin);
  for (double& s : curve.survival) s *= before;
}

}  // namespace cqrf
