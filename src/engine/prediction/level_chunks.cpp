// Which levels of a curve are known: of few chunks all, or those around an answer.
#include <algorithm>
#include <utility>

#include "level_kernels.hpp"
#include "levels.hpp"

namespace cqrf {
namespace {

// Chunks are divided where leaves have so many members in them.
constexpr double kDividedMembers = 12;
// How far an answer may be from where it is guessed, in chunks.
constexpr double kAround = 0.1;

}  // namespace

// Asks for the levels around the place where S falls to a probability, as sums of cells tell it: as
// if S fell evenly in the chunk, give or take some. They begin or end with the chunk, so that what
// the other levels have is known from its sums.
void LevelCurve::want_around(double probability) {
  const std::size_t chunk = chunk_of(probability);
  const double before = chunk_before_[chunk];
  const double place = (before - probability) / (before - chunk_before_[chunk + 1]);
  if (!pays_to_divide(chunk) || !(place >= 0 && place <= 1)) return want_chunk(chunk);
  const Range all = levels_in(chunk);
  const auto whole_vectors_to = [&](double to) {
    const double levels = std::max(0.0, to) * static_cast<double>(chunk_size());
    return all.begin + static_cast<std::size_t>(levels) / kEight * kEight;
  };
  if (place < 0.5)
    want(chunk, {all.begin, std::min(all.end, whole_vectors_to(place + kAround) + kEight)});
  else
    want(chunk, {whole_vectors_to(place - kAround), all.end});
}

// Whether leaves have so many members in a chunk that some of them are sooner added up than all.
// Near the end of the curve, too little weight is behind the chunk to divide its sums.
bool LevelCurve::pays_to_divide(std::size_t chunk) const {
  const double weight = chunk_weight_[chunk];
  const auto members = static_cast<double>(forest_.members.low.size());
  const auto leaves = static_cast<double>(forest_.n_trees() * forest_.n_leaves());
  return weight * members > kDividedMembers * leaves && weight < chunk_after_[chunk];
}

// Asks for some levels of a chunk: all, the first or the last ones.
void LevelCurve::want(std::size_t chunk, Range levels) {
  if (known_[chunk].has(levels) || chunk_weight_[chunk] == 0) return;
  const auto same = std::ranges::find(wanted_, chunk, &Wanted::chunk);
  if (same == wanted_.end())
    wanted_.push_back({chunk, levels});
  else
    same->levels = {std::min(same->levels.begin, levels.begin),
                    std::max(same->levels.end, levels.end)};
}

// Adds up the levels that are wanted. Returns whether there were any.
bool LevelCurve::fill_wanted() {
  if (wanted_.empty()) return false;
  std::ranges::sort(wanted_, {}, &Wanted::chunk);
  runs_.clear();
  bool again = false;
  for (const auto& [chunk, levels] : wanted_) {
    if (known_[chunk].any()) {
      forget(chunk);
      again = true;
    }
    const std::size_t first = levels.begin % per_block();
    if (levels == levels_in(chunk))
      // Cells next to each other are gathered together: their members are, in every leaf.
      add_cell(chunk, first != 0, runs_);
    else
      runs_.push_back({.cells = {chunk, chunk + 1},
                       .places = {first << shift_, (first + size_of(levels)) << shift_}});
  }
  gathered_->gather(found_, runs_);
  next_.ask(forest_, cells_);
  for (const CellRun& cells : runs_) {
    const MemberRun run = gathered_->run(cells.cells.begin);
    const std::size_t block = cells.cells.begin * chunk_size() / per_block();
    dispatch<AddMembers>(isa_, std::span(run.low, run.size), run.share, shift_,
                         weight_.data() + block * 2 * per_block());
  }
  for (const auto& [chunk, levels] : wanted_) make_factors(chunk, levels);
  wanted_.clear();
  if (again) settle_doubts();
  return true;
}

void LevelCurve::forget(std::size_t chunk) {
  const Range levels = std::exchange(known_[chunk], {}).levels;
  float* const censored = weight_.data() + place(levels.begin);
  for (float* const weights : {censored, censored + per_block()})
    std::fill_n(weights, size_of(levels), 0.0f);
}

// The factors of levels of a chunk that were added up.
void LevelCurve::make_factors(std::size_t chunk, Range levels) {
  Known& known = known_[chunk];
  known.levels = levels;
  known.rest = 1;
  known.before_rest = levels.begin == levels_in(chunk).begin;
  double after = chunk_after_[chunk];
  if (!all_known(chunk)) {
    known.sum = sum_of(levels);
    const CellSum rest = rest_of(chunk);
    known.rest = rest.factor(behind_rest(chunk));
    if (known.before_rest) {
      after += rest.weight();
      from_[levels.end] = static_cast<float>(after);
    }
  } else if (cells_) {
    known.sum = Cells::sum(sums_, chunk);
  }
  float weight;
  const float* const censored = weight_.data() + place(levels.begin);
  known.product = dispatch<ChunkFactors>(
      isa_, OfLevels{censored, censored + per_block(), order_.data() + levels.begin},
      size_of(levels), static_cast<float>(after), factor_.data() + levels.begin,
      from_.data() + levels.begin, weight, doubt_[chunk]);
  if (all_known(chunk)) chunk_weight_[chunk] = weight;
  chunk_product_[chunk] = known.product * known.rest;
}

// Sums over levels, in places of the chunk that they lie in.
CellSum LevelCurve::sum_of(Range levels) const {
  const float* const censored = weight_.data() + place(levels.begin);
  const auto size = static_cast<float>(chunk_size());
  const float first = static_cast<float>(levels.begin % chunk_size()) - size / 2;
  const auto sums =
      dispatch<LevelSums>(isa_, censored, censored + per_block(), size_of(levels), first);
  const double unit = 1 / (Cells::kPlaceUnit * double{size});
  return {.events = sums[0],
          .censored = sums[1],
          .event_places = sums[2] * unit,
          .censored_places = sums[3] * unit};
}

// The levels of a chunk that are not known.
Range LevelCurve::unknown(std::size_t chunk) const {
  const Known& known = known_[chunk];
  const auto [first, end] = levels_in(chunk);
  if (!known.any()) return {first, end};
  return known.before_rest ? Range{known.levels.end, end} : Range{first, known.levels.begin};
}

// What they have of the sums of the cell.
CellSum LevelCurve::rest_of(std::size_t chunk) const {
  if (!known_[chunk].any()) return Cells::sum(sums_, chunk);
  const auto length = static_cast<double>(size_of(unknown(chunk)));
  const CellSum rest = Cells::sum(sums_, chunk) - known_[chunk].sum;
  return rest.stretched(static_cast<double>(chunk_size()) / length);
}

// The weight behind them.
double LevelCurve::behind_rest(std::size_t chunk) const {
  const Known& known = known_[chunk];
  return chunk_after_[chunk] + (known.before_rest ? 0 : known.sum.weight());
}

// Whether S may be too far off behind them.
bool LevelCurve::order_matters(std::size_t chunk, double survival, double rows) const {
  if (all_known(chunk)) return false;
  const Range levels = unknown(chunk);
  const TimeIndex first = target_.time_of(first_rank(levels.begin));
  const TimeIndex last = target_.time_of(first_rank(levels.end) - 1);
  return rest_of(chunk).order_matters(behind_rest(chunk), survival, rows,
                                      static_cast<double>(last - first + 1));
}

}  // namespace cqrf
