// Where a curve on levels is looked at: around some probabilities, after some ranks, or everywhere.
#include <algorithm>
#include <functional>
#include <numeric>

#include "../prefetch.hpp"
#include "level_kernels.hpp"
#include "levels.hpp"

namespace cqrf {
namespace {

// Where S D C / R^2 is larger than this in a level, the order of events and censorings matters.
constexpr double kMatters = 2e-5;
// By how much S may be expected to change where the order is looked up: a share of that, which is
// seldom exceeded, but not so much that answers are looked for everywhere.
constexpr double kExpectedChange = 0.25;
constexpr double kMostExpected = 1e-3;

}  // namespace

// The chunk in which S falls to a probability, or its last one.
std::size_t LevelCurve::chunk_of(double probability) const {
  const auto after = std::partition_point(chunk_before_.begin() + 1, chunk_before_.end(),
                                          [=](double s) { return s > probability; });
  if (after != chunk_before_.end())
    return static_cast<std::size_t>(after - chunk_before_.begin() - 1);
  std::size_t last = n_chunks() - 1;
  while (chunk_weight_[last] == 0) --last;
  return last;
}

bool LevelCurve::falls_in(std::size_t chunk) const {
  return filled_[chunk] ? chunk_product_[chunk] < 1 : Cells::events(sums_, chunk) > 0;
}

// The last level before this one in which S falls, or the first of all; a chunk that has to be
// filled for that is wanted.
std::size_t LevelCurve::fall_before(std::size_t level) {
  while (level > 0) {
    const std::size_t chunk = (level - 1) / chunk_size();
    if (!falls_in(chunk)) {
      level = chunk * chunk_size();
      continue;
    }
    want_chunk(chunk);
    --level;
    if (!filled_[chunk] || factor_[level] < 1) return level;
  }
  return 0;
}

// The end of the first level from this one on in which S falls, or that of the last.
std::size_t LevelCurve::fall_after(std::size_t level) {
  while (level < n_levels_) {
    const std::size_t chunk = level / chunk_size();
    if (!falls_in(chunk)) {
      level = (chunk + 1) * chunk_size();
      continue;
    }
    want_chunk(chunk);
    ++level;
    if (!filled_[chunk] || factor_[level - 1] < 1) return level;
  }
  return n_levels_;
}

// From the last level with an event before S has fallen so far to the first one after that, with
// all rows of the same times: whole levels, since S and the weight behind are known there.
Range LevelCurve::levels_around(double level) {
  const double probability = level + kLevelTolerance;
  const std::size_t chunk = chunk_of(probability);
  want_chunk(chunk);
  std::size_t at = chunk * chunk_size();
  const std::size_t end = std::min(n_levels_, at + chunk_size());
  if (filled_[chunk]) {
    for (double survival = chunk_before_[chunk]; at + 1 < end; ++at) {
      survival *= double{factor_[at]};
      if (survival <= probability) break;
    }
    // Where it does not fall so far, the last level with weight.
    while (weight(at) == 0 && at > chunk * chunk_size()) --at;
  }
  // Rows of the same time fall with those of the level.
  Range found = levels_of(with_equal_times(target_, {first_rank(at), first_rank(at + 1)}));
  found = {fall_before(found.begin), fall_after(found.end)};
  found = levels_of(with_equal_times(target_, {first_rank(found.begin), first_rank(found.end)}));
  for (std::size_t k = found.begin / chunk_size(); k <= (found.end - 1) / chunk_size(); ++k)
    want_chunk(k);
  return found;
}

// How many rows there are to a unit of weight, of which trees have some in common: from the cells
// that are filled. If rows with weights w lie anywhere, levels next to each other differ by twice
// the sum of w^2, in the mean of squares; if they are events with probability p, the events of a
// level differ from p times its weight by p (1 - p) times that sum. The larger one counts: leaves
// may have all rows of a time, and few of these may tell little.
double LevelCurve::rows_by_weight() const {
  double steps = 0;
  double shares = 0;
  double weights = 0;
  for (std::size_t k = 0; k < n_chunks(); ++k) {
    const double share = filled_[k] ? Cells::events(sums_, k) / double{sums_.all[k]} : 0.0;
    if (share == 0 || share == 1) continue;
    const float* const censored = weight_.data() + place(k * chunk_size());
    const auto squares = dispatch<ChunkSquares>(isa_, censored, censored + per_block(),
                                                chunk_size(), static_cast<float>(share));
    // Seven of eight steps are taken.
    steps += squares[0] * 4 / 7;
    shares += squares[1] / (share * (1 - share));
    weights += double{sums_.all[k]};
  }
  if (weights > 0) return weights / std::max(steps, shares);
  // Nothing is known: as if all trees had the rows of the smallest leaf.
  const auto share = [](const Cells::Found& leaf) { return leaf.share; };
  return 1 /
         (double{std::ranges::max(found_, {}, share).share} * static_cast<double>(found_.size()));
}

// What S has fallen to where it is looked at next: an error of its factors counts in proportion.
double LevelCurve::counting(double survival) const {
  const auto next = std::ranges::lower_bound(asked_, survival, std::greater{});
  return next == asked_.end() ? survival : *next;
}

// The levels in which the order of events and censorings matters, as far as S is looked at.
void LevelCurve::want_doubtful_levels(double least) {
  if (shift_ == 0) return;
  for (std::size_t k = 0; k < n_chunks() && chunk_before_[k] > least; ++k) {
    const double survival = counting(chunk_before_[k]);
    if (!filled_[k] || double{doubt_[k]} * survival <= kMatters) continue;
    doubt_[k] = 0;  // not to be looked at again
    double at_risk = chunk_after_[k];
    const std::size_t end = std::min(n_levels_, (k + 1) * chunk_size());
    for (std::size_t level = end; level-- > k * chunk_size();) {
      const double censored = weight_[place(level)];
      const double events = weight_[place(level) + per_block()];
      at_risk += censored + events;
      const double change = survival * censored * events / (at_risk * at_risk);
      if (!(change > kMatters)) continue;
      lookup_.want(level);
      doubtful_.push_back(static_cast<std::uint32_t>(level));
      margin_ += kExpectedChange * change;
    }
  }
}

// Replaces the factors of these levels by exact ones.
void LevelCurve::settle_doubts() {
  for (const std::uint32_t level : doubtful_)
    factor_[level] = static_cast<float>(factor_of_first(level, first_rank(level + 1)));
  std::size_t last = n_chunks();
  for (const std::uint32_t level : doubtful_) {
    const std::size_t chunk = level / chunk_size();
    if (chunk == last) continue;
    last = chunk;
    const std::span factors(factor_.data() + chunk * chunk_size(), chunk_size());
    chunk_product_[chunk] = std::accumulate(factors.begin(), factors.end(), 1.0, std::multiplies{});
  }
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

// The levels around the places where S falls to each probability; all chunks that they touch are
// filled.
void LevelCurve::find_parts(std::span<const double> probabilities, double least) {
  do {
    multiply(least);
    parts_.clear();
    for (const double probability : probabilities) parts_.push_back(levels_around(probability));
  } while (fill_wanted());
  for (const Range& part : parts_) {
    const std::size_t first = first_rank(part.begin);
    const std::size_t n = first_rank(part.end) - first;
    prefetch(target_.event.data() + first, n);
    if (!target_.has_ties()) prefetch(target_.times.data() + first, n * sizeof(double));
  }
}

void LevelCurve::look_at(std::span<const double> probabilities) {
  probabilities_ = probabilities;
  asked_.assign(probabilities.begin(), probabilities.end());
  std::ranges::sort(asked_, std::greater{});
  const double least = asked_.back();
  if (cells_) {
    add_cells();
    multiply(least);
    for (const double probability : probabilities) want_chunk(chunk_of(probability));
    fill_wanted();
    const double rows = rows_by_weight();
    for (std::size_t k = 0; k < n_chunks() && chunk_before_[k] > least; ++k)
      if (Cells::order_matters(sums_, k, chunk_after_[k], counting(chunk_before_[k]), rows))
        want_chunk(k);
    fill_wanted();
  } else {
    fill_all();
  }
  // What is looked up may move S, and with it the parts.
  for (bool first = true;; first = false) {
    find_parts(probabilities, least);
    want_doubtful_levels(least);
    want_parts(first ? std::min(margin_, kMostExpected) : 0);
    if (!lookup_.waiting()) break;
    lookup_.look_up(leaves_);
    if (doubtful_.empty()) break;
    settle_doubts();
  }
  make_windows();
}

// Asks for the levels of all parts, and for those around them in which S differs by no more than
// `margin`.
void LevelCurve::want_parts(double margin) {
  const auto want = [&](std::size_t level) {
    if (weight(level) > 0) lookup_.want(level);
  };
  if (shift_ == 0) return;
  for (const Range& levels : parts_) {
    for (std::size_t level = levels.begin; level < levels.end; ++level) want(level);
    double change = 0;
    const auto near = [&](std::size_t level) {
      return change < margin && filled_[level / chunk_size()];
    };
    for (std::size_t level = levels.begin; level > 0 && near(level - 1);) {
      change += 1 - double{factor_[--level]};
      want(level);
    }
    change = 0;
    for (std::size_t level = levels.end; level < n_levels_ && near(level); ++level) {
      change += 1 - double{factor_[level]};
      want(level);
    }
  }
}

void LevelCurve::survival_after(std::span<const std::size_t> ranks, double* survival) {
  if (!std::ranges::equal(ranks, split_ranks_)) split_at(ranks);
  fill_split();
  multiply(0);
  want_doubtful_levels(0);
  const auto inside = [&](std::size_t rank) {
    return rank < n_ranks() && rank != first_rank(rank >> shift_) && factor_[rank >> shift_] < 1;
  };
  // Further ranks of a level that is split.
  for (std::size_t j = 1; j < ranks.size(); ++j)
    if (inside(ranks[j]) && ranks[j] != ranks[j - 1] &&
        ranks[j] >> shift_ == ranks[j - 1] >> shift_)
      lookup_.want(ranks[j] >> shift_);
  lookup_.look_up(leaves_);
  settle_doubts();
  multiply(0);
  auto split = splits_.begin();
  for (std::size_t j = 0; j < ranks.size(); ++j) {
    const std::size_t level = ranks[j] == n_ranks() ? n_levels_ : ranks[j] >> shift_;
    survival[j] = survival_before(level);
    if (!inside(ranks[j])) continue;
    if (lookup_.known(level)) {
      survival[j] *= factor_of_first(level, ranks[j]);
      continue;
    }
    while (split->rank < ranks[j]) ++split;
    const double at_risk = weight_from(level) - double{order_[level]} * double{split->censored};
    survival[j] *= std::max(0.0, 1 - double{split->events} / at_risk);
  }
}

// Fills the chunks in which a sum of falls takes more than the sums of their cells.
void LevelCurve::fill_where(const LevelValues& values) {
  add_cells();
  multiply(0);
  const auto heaviest = std::ranges::max_element(chunk_weight_);
  want_chunk(static_cast<std::size_t>(heaviest - chunk_weight_.begin()));
  fill_wanted();
  const double rows = rows_by_weight();
  // Where values are zero, and what is left of S does not count, S may be anything.
  std::size_t end = n_chunks();
  while (!values.counts_rest && end > 0 && values.at[first_rank((end - 1) * chunk_size())] == 0)
    --end;
  for (std::size_t k = 0; k < end; ++k) {
    const double fall = chunk_before_[k] * (1 - chunk_product_[k]);
    if (fall * values.in_cell[k].bend > values.tolerance ||
        Cells::order_matters(sums_, k, chunk_after_[k], chunk_before_[k], rows))
      want_chunk(k);
  }
  // What is left of S depends on the very last rows.
  if (values.counts_rest) want_chunk(chunk_of(-1));
  fill_wanted();
}

// In a cell that was not filled, for S = 1 before it.
double LevelCurve::fall_times_value(std::size_t cell, const LevelValues& values) const {
  const double events = Cells::events(sums_, cell);
  if (events == 0) return 0;
  // Later events count for more: where censorings have left, S falls by S / R times the weight.
  const double censored = sums_.censored[cell];
  const double gain = censored / (chunk_after_[cell] + (events + censored) / 2);
  const double place = double{sums_.event_places[cell]} / events * Cells::kPlaceUnit + gain / 12;
  const LevelValues::Line& value = values.in_cell[cell];
  return (1 - chunk_product_[cell]) * (value.middle + value.slope * place);
}

double LevelCurve::sum_of_falls(const LevelValues& values, double& left, std::size_t& last) {
  if (cells_)
    fill_where(values);
  else
    fill_all();
  multiply(0);
  want_doubtful_levels(0);
  std::size_t end = n_levels_;
  if (!cells_) {
    while (weight(end - 1) == 0) --end;
    lookup_.want(end - 1);
  }
  falls_.resize(n_chunks());
  for (std::size_t k = 0; k < n_chunks(); ++k) {
    if (!filled_[k]) {
      falls_[k] = fall_times_value(k, values);
      continue;
    }
    const std::size_t first = k * chunk_size();
    float largest = 0;
    falls_[k] = dispatch<ChunkFalls>(isa_, factor_.data() + first, values.mean.data() + first,
                                     values.spread.data() + first, chunk_size(), largest);
    double survival = chunk_before_[k];
    if (!(survival * double{largest} > values.tolerance)) continue;
    for (std::size_t level = first; level < std::min(n_levels_, first + chunk_size()); ++level) {
      const double factor = factor_[level];
      if (survival * (1 - factor) * double{values.spread[level]} > values.tolerance)
        lookup_.want(level);
      survival *= factor;
    }
  }
  lookup_.look_up(leaves_);
  settle_doubts();
  multiply(0);
  for (const std::uint32_t level : lookup_.levels()) falls_[level / chunk_size()] = kUnknown;
  double sum = 0;
  for (std::size_t k = 0; k < n_chunks(); ++k) {
    if (falls_[k] == kUnknown) falls_[k] = sum_of_falls_in(k, values);
    sum += chunk_before_[k] * falls_[k];
  }
  left = chunk_before_.back();
  if (cells_) return sum;
  last = first_rank(end) - 1;
  while (weight_of(last) == 0) --last;
  return sum;
}

// The same in one chunk, for S = 1 before it, some of whose levels were looked up.
double LevelCurve::sum_of_falls_in(std::size_t chunk, const LevelValues& values) const {
  double sum = 0;
  double survival = 1;
  const std::size_t end = std::min(n_levels_, (chunk + 1) * chunk_size());
  for (std::size_t level = chunk * chunk_size(); level < end; ++level) {
    const double factor = factor_[level];
    double falls = (1 - factor) * double{values.mean[level]};
    if (factor < 1 && lookup_.known(level)) {
      // From the last rank to the first: what follows counts as far as S is left.
      falls = 0;
      double after = weight_from(level + 1);
      for (std::size_t rank = first_rank(level + 1); rank-- > first_rank(level);) {
        const double weight = weight_of(rank);
        if (target_.event[rank] && weight > 0) {
          const double kept = after / (after + weight);
          falls = (1 - kept) * values.at[rank] + kept * falls;
        }
        after += weight;
      }
    }
    sum += survival * falls;
    survival *= factor;
  }
  return sum;
}

}  // namespace cqrf
