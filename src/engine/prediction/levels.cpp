#include "levels.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "level_kernels.hpp"

namespace cqrf {

std::vector<float> order_in_levels(std::span<const std::uint8_t> event, int shift) {
  constexpr std::size_t kMostInChunk = std::size_t{1} << Cells::kLevelBits;
  const std::size_t levels = n_runs(event.size(), shift);
  std::vector<float> order((levels + kMostInChunk - 1) / kMostInChunk * kMostInChunk, 0.5f);
  for (std::size_t level = 0; level < levels; ++level) {
    const std::size_t end = std::min(event.size(), (level + 1) << shift);
    std::uint64_t events = 0;
    std::uint64_t censored = 0;
    std::uint64_t censored_first = 0;
    for (std::size_t rank = level << shift; rank < end; ++rank) {
      events += event[rank];
      censored += event[rank] ^ 1u;
      censored_first += event[rank] * censored;
    }
    if (const std::uint64_t pairs = events * censored)
      order[level] = static_cast<float>(censored_first) / static_cast<float>(pairs);
  }
  return order;
}

LevelCurve::LevelCurve(const Forest& forest, const TargetView& target, const Levels& levels)
    : forest_(forest),
      target_(target),
      isa_(isa()),
      cells_(levels.cells),
      order_(levels.order),
      shift_(levels.shift),
      chunk_bits_(cells_ ? cells_->shift() - shift_ : kChunkBits),
      n_levels_(n_runs(forest.n_rows, shift_)),
      gathered_(cells_ ? std::make_unique<GatheredMembers>(forest, *cells_) : nullptr),
      lookup_(forest, shift_, gathered_.get()) {}

void LevelCurve::make_room() {
  const std::size_t chunks = (n_levels_ + chunk_size() - 1) / chunk_size();
  weight_.assign(n_blocks(forest_.n_rows) * 2 * per_block(), 0.0f);
  factor_.resize(chunks * chunk_size());
  from_.resize(chunks * chunk_size());
  known_.assign(chunks, {});
  chunk_weight_.resize(chunks);
  chunk_after_.resize(chunks);
  chunk_product_.resize(chunks);
  doubt_.resize(chunks);
  chunk_before_.resize(chunks + 1);
}

void LevelCurve::make(const LeafId* leaves) {
  next_.begin(leaves, forest_, cells_);
  if (known_.empty()) make_room();
  for (std::size_t k = 0; k < n_chunks(); ++k)
    if (known_[k].any()) forget(k);
  lookup_.clear();
  if (gathered_) gathered_->clear();
  doubtful_.clear();
  margin_ = 0;
  const std::size_t trees = forest_.n_trees();
  if (cells_) {
    found_.resize(trees);
    for (std::size_t t = 0; t < trees; ++t) found_[t] = cells_->find(forest_, t, leaves[t]);
  } else {
    leaves_.resize(trees);
    for (std::size_t t = 0; t < trees; ++t) leaves_[t] = forest_.leaf(t, leaves[t]);
  }
}

// Sums by cells; no level is known.
void LevelCurve::add_cells() {
  cells_->add_up(isa_, found_, sums_);
  double after = 0;
  for (std::size_t k = n_chunks(); k-- > 0;) {
    chunk_after_[k] = after;
    chunk_weight_[k] = sums_.all[k];
    chunk_product_[k] = kUnknown;
    after += double{sums_.all[k]};
  }
}

// Sums by levels, of all members.
void LevelCurve::fill_all() {
  for_each_run([&](std::size_t first, std::span<const std::uint16_t> low, float share) {
    dispatch<AddMembers>(isa_, low, share, shift_, weight_.data() + first);
  });
  make_all_factors();
}

// Calls add(place, members, share) for the members of all leaves by blocks, whose levels stand from
// a place on.
template <class Add>
void LevelCurve::for_each_run(Add add) const {
  constexpr std::size_t kAhead = 2;
  for (std::size_t t = 0; t < leaves_.size(); ++t) {
    if (t + kAhead < leaves_.size()) forest_.prefetch(leaves_[t + kAhead]);
    const float share = 1.0f / static_cast<float>(leaves_[t].size);
    forest_.members.for_each_run(
        leaves_[t], [&](std::size_t block, auto low) { add(block * 2 * per_block(), low, share); });
  }
}

void LevelCurve::make_all_factors() {
  double after = 0;
  for (std::size_t k = n_chunks(); k-- > 0;) {
    chunk_after_[k] = after;
    make_factors(k, levels_in(k));
    after += double{chunk_weight_[k]};
  }
}

// Splits the levels that some ranks lie in, at the first one in each.
void LevelCurve::split_at(std::span<const std::size_t> ranks) {
  constexpr std::uint16_t kNowhere = 0xffff;
  split_ranks_.assign(ranks.begin(), ranks.end());
  splits_.clear();
  last_before_.assign(n_blocks(forest_.n_rows) * 2 * per_block(), kNowhere);
  weight_.resize(2 * last_before_.size(), 0.0f);
  for (const std::size_t rank : ranks) {
    const std::size_t level = rank >> shift_;
    if (rank == n_ranks() || rank == first_rank(level)) continue;
    if (!splits_.empty() && splits_.back().rank >> shift_ == level) continue;
    splits_.push_back({rank, 0, 0});
    const auto last = static_cast<std::uint16_t>((rank - 1) & kPlace);
    last_before_[place(level)] = last;
    last_before_[place(level) + per_block()] = last | kEventBit;
  }
}

// The same as fill_all(), and weights before the splits.
void LevelCurve::fill_split() {
  const std::size_t behind = last_before_.size();
  for_each_run([&](std::size_t first, std::span<const std::uint16_t> low, float share) {
    dispatch<AddSplitMembers>(isa_, low, share, shift_, last_before_.data() + first, behind,
                              weight_.data() + first);
  });
  for (Split& split : splits_) {
    float* const censored = weight_.data() + place(split.rank >> shift_);
    float* const events = censored + per_block();
    split.censored = std::exchange(*censored, *censored + censored[behind]);
    split.events = std::exchange(*events, *events + events[behind]);
    censored[behind] = 0;
    events[behind] = 0;
  }
  make_all_factors();
}

// S before every chunk, until it has fallen to `least`.
void LevelCurve::multiply(double least) {
  double survival = 1;
  std::size_t k = 0;
  for (; k < n_chunks() && survival > least; ++k) {
    chunk_before_[k] = survival;
    if (chunk_product_[k] == kUnknown)
      chunk_product_[k] = Cells::sum(sums_, k).factor(chunk_after_[k]);
    survival *= chunk_product_[k];
  }
  std::fill(chunk_before_.begin() + static_cast<std::ptrdiff_t>(k), chunk_before_.end(), survival);
}

double LevelCurve::survival_before(std::size_t level) const {
  const std::size_t chunk = level / chunk_size();
  // A chunk of which nothing is known has no weight, or this is where it begins.
  if (level % chunk_size() == 0 || !known_[chunk].any()) return chunk_before_[chunk];
  // Products that do not wait for each other.
  std::array<double, 4> products{1, 1, 1, 1};
  std::size_t i = known_[chunk].levels.begin;
  for (; i + products.size() <= level; i += products.size())
    for (std::size_t k = 0; k < products.size(); ++k) products[k] *= double{factor_[i + k]};
  for (; i < level; ++i) products[0] *= double{factor_[i]};
  return survival_before_known(chunk) * ((products[0] * products[1]) * (products[2] * products[3]));
}

double LevelCurve::weight_from(std::size_t level) const {
  if (level >= n_levels_) return 0;
  const std::size_t chunk = level / chunk_size();
  // The same.
  if (level % chunk_size() == 0 || !known_[chunk].any())
    return chunk_after_[chunk] + double{chunk_weight_[chunk]};
  return from_[level];
}

}  // namespace cqrf
