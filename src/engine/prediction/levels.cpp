#include "levels.hpp"

#include <algorithm>
#include <cmath>

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
  leaves_.resize(forest_.n_trees());
  weight_.assign(n_blocks(forest_.n_rows) * 2 * per_block(), 0.0f);
  factor_.resize(chunks * chunk_size());
  from_.resize(chunks * chunk_size());
  filled_.assign(chunks, 0);
  chunk_weight_.resize(chunks);
  chunk_after_.resize(chunks);
  chunk_product_.resize(chunks);
  doubt_.resize(chunks);
  chunk_before_.resize(chunks + 1);
}

void LevelCurve::make(const LeafId* leaves) {
  if (filled_.empty()) make_room();
  for (std::size_t k = 0; k < n_chunks(); ++k) {
    if (!filled_[k]) continue;
    filled_[k] = 0;
    float* const censored = weight_.data() + place(k * chunk_size());
    std::fill_n(censored, chunk_size(), 0.0f);
    std::fill_n(censored + per_block(), chunk_size(), 0.0f);
  }
  lookup_.clear();
  if (gathered_) gathered_->clear();
  doubtful_.clear();
  margin_ = 0;
  std::size_t members = 0;
  for (std::size_t t = 0; t < leaves_.size(); ++t) {
    leaves_[t] = forest_.leaf(t, leaves[t]);
    members += leaves_[t].size;
  }
  mean_leaf_ = static_cast<double>(members) / static_cast<double>(leaves_.size());
  found_.clear();
  if (cells_)
    for (std::size_t t = 0; t < leaves_.size(); ++t)
      found_.push_back(cells_->find(forest_, t, leaves[t]));
}

void LevelCurve::expect(const LeafId* leaves) const {
  if (!cells_) return;
  for (std::size_t t = 0; t < forest_.n_trees(); ++t) cells_->prefetch(forest_, t, leaves[t]);
}

// Sums by cells; no chunk is filled.
void LevelCurve::add_cells() {
  cells_->add_up(isa_, found_, sums_);
  double after = 0;
  for (std::size_t k = n_chunks(); k-- > 0;) {
    const double events = events_in(k);
    const double censored = sums_.censored[k];
    const double at_risk = after + (events + censored) / 2;
    chunk_after_[k] = after;
    chunk_weight_[k] = sums_.all[k];
    chunk_product_[k] = kUnknown;
    doubt_[k] = at_risk > 0 ? static_cast<float>(events * censored / (at_risk * at_risk)) : 0.0f;
    after += double{sums_.all[k]};
  }
}

double LevelCurve::cell_factor(std::size_t cell) const {
  const double after = chunk_after_[cell];
  const double events = events_in(cell);
  const double censored = sums_.censored[cell];
  if (events == 0) return 1;
  const double kept = after / (after + events + censored);
  if (censored == 0 || after == 0) return kept;
  const double places =
      double{sums_.censored_places[cell]} / censored - double{sums_.event_places[cell]} / events;
  const double order = double{doubt_[cell]} * places * Cells::kPlaceUnit;
  // Terms of higher order are left out: without them, S might rise.
  return std::min(1.0, std::exp(std::log(kept) * events / (events + censored) + order));
}

// Sums by levels, of all members.
void LevelCurve::fill_all() {
  constexpr std::size_t kAhead = 2;
  const std::size_t trees = leaves_.size();
  for (std::size_t t = 0; t < trees; ++t) {
    if (t + kAhead < trees) forest_.prefetch(leaves_[t + kAhead]);
    add(leaves_[t]);
  }
  double after = 0;
  for (std::size_t k = n_chunks(); k-- > 0;) {
    chunk_after_[k] = after;
    make_factors(k);
    after += double{chunk_weight_[k]};
  }
}

void LevelCurve::add(const Leaf& leaf) {
  const float share = 1.0f / static_cast<float>(leaf.size);
  const int shift = shift_;
  forest_.members.for_each_run(leaf, [&](std::size_t block, std::span<const std::uint16_t> low) {
    float* const weight = weight_.data() + block * 2 * per_block();
    // The event bit is the highest: shifted, it leads to the second half of the block.
    for (const std::uint16_t member : low) weight[std::size_t{member} >> shift] += share;
  });
}

void LevelCurve::make_factors(std::size_t chunk) {
  filled_[chunk] = 1;
  const float* const censored = weight_.data() + place(chunk * chunk_size());
  chunk_product_[chunk] = dispatch<ChunkFactors>(
      isa_, censored, censored + per_block(), order_.data() + chunk * chunk_size(), chunk_size(),
      static_cast<float>(chunk_after_[chunk]), factor_.data() + chunk * chunk_size(),
      from_.data() + chunk * chunk_size(), chunk_weight_[chunk], doubt_[chunk]);
}

void LevelCurve::want_chunk(std::size_t chunk) {
  if (!filled_[chunk] && chunk_weight_[chunk] > 0 &&
      std::find(wanted_.begin(), wanted_.end(), chunk) == wanted_.end())
    wanted_.push_back(static_cast<std::uint32_t>(chunk));
}

// Sums by levels in the chunks that are wanted. Returns whether there were any.
bool LevelCurve::fill_wanted() {
  if (wanted_.empty()) return false;
  const int shift = shift_;
  gathered_->gather(found_, wanted_);
  for (const std::uint32_t chunk : wanted_) {
    const MemberRun run = gathered_->run(chunk);
    float* const weight = weight_.data() + (chunk * chunk_size() / per_block()) * 2 * per_block();
    for (std::size_t i = 0; i < run.size; ++i) weight[run.low[i] >> shift] += run.share[i];
    make_factors(chunk);
  }
  wanted_.clear();
  return true;
}

// S before every chunk, until it has fallen to `least`.
void LevelCurve::multiply(double least) {
  double survival = 1;
  std::size_t k = 0;
  for (; k < n_chunks() && survival > least; ++k) {
    chunk_before_[k] = survival;
    if (chunk_product_[k] == kUnknown) chunk_product_[k] = cell_factor(k);
    survival *= chunk_product_[k];
  }
  std::fill(chunk_before_.begin() + static_cast<std::ptrdiff_t>(k), chunk_before_.end(), survival);
}

double LevelCurve::survival_before(std::size_t level) const {
  const std::size_t chunk = level / chunk_size();
  double survival = chunk_before_[chunk];
  // A chunk that is not filled has no weight, or this is where it begins.
  if (!filled_[chunk]) return survival;
  for (std::size_t i = chunk * chunk_size(); i < level; ++i) survival *= double{factor_[i]};
  return survival;
}

double LevelCurve::weight_from(std::size_t level) const {
  if (level >= n_levels_) return 0;
  const std::size_t chunk = level / chunk_size();
  // A chunk that is not filled has no weight, or this is where it begins.
  if (filled_[chunk] && level % chunk_size() != 0) return from_[level];
  return chunk_after_[chunk] + double{chunk_weight_[chunk]};
}

}  // namespace cqrf
