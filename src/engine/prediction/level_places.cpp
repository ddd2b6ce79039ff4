// Where a curve on levels is looked at: around some probabilities, or after some ranks.
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
// With fewer chunks to an answer, most of them are wanted, and are sooner gathered together.
constexpr std::size_t kChunksByAnswer = 4;

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
  return all_known(chunk) ? chunk_product_[chunk] < 1 : Cells::events(sums_, chunk) > 0;
}

// The last level before this one in which S falls, or the first of all; a chunk whose levels have
// to be known for that is wanted.
std::size_t LevelCurve::fall_before(std::size_t level) {
  while (level > 0) {
    const std::size_t chunk = (level - 1) / chunk_size();
    if (!falls_in(chunk)) {
      level = chunk * chunk_size();
      continue;
    }
    --level;
    if (!known(level)) want_chunk(chunk);
    if (!known(level) || factor_[level] < 1) return level;
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
    ++level;
    if (!known(level - 1)) want_chunk(chunk);
    if (!known(level - 1) || factor_[level - 1] < 1) return level;
  }
  return n_levels_;
}

// From the last level with an event before S has fallen so far to the first one after that, with
// all rows of the same times: whole levels, since S and the weight behind are known there.
Range LevelCurve::levels_around(double level) {
  const double probability = level + kLevelTolerance;
  const std::size_t chunk = chunk_of(probability);
  const Known& in = known_[chunk];
  const double first = survival_before_known(chunk);
  // S falls so far in the levels that are known.
  const bool inside = first > probability && first * in.product <= probability;
  if (!inside) want_chunk(chunk);
  std::size_t at = levels_in(chunk).begin;
  if (inside || all_known(chunk)) {
    at = in.levels.begin;
    const std::size_t end = std::min(n_levels_, in.levels.end);
    double survival = first;
    // Four at a time: products wait for each other.
    for (const float* f = factor_.data(); at + 4 < end; at += 4) {
      const double after = survival * ((double{f[at]} * double{f[at + 1]}) *
                                       (double{f[at + 2]} * double{f[at + 3]}));
      if (after <= probability) break;
      survival = after;
    }
    for (; at + 1 < end; ++at) {
      survival *= double{factor_[at]};
      if (survival <= probability) break;
    }
    // Where it does not fall so far, the last level with weight.
    while (weight(at) == 0 && at > in.levels.begin) --at;
  }
  // Rows of the same time fall with those of the level.
  Range found = levels_of(with_equal_times(target_, {first_rank(at), first_rank(at + 1)}));
  found = {fall_before(found.begin), fall_after(found.end)};
  found = levels_of(with_equal_times(target_, {first_rank(found.begin), first_rank(found.end)}));
  for (std::size_t k = found.begin / chunk_size(); k <= (found.end - 1) / chunk_size(); ++k) {
    const Range all = levels_in(k);
    if (!known_[k].has({std::max(all.begin, found.begin), std::min(all.end, found.end)}))
      want_chunk(k);
  }
  return found;
}

// How many rows there are to a unit of weight, of which trees have some in common: from the levels
// that are known. If rows with weights w lie anywhere, levels next to each other differ by twice
// the sum of w^2, in the mean of squares; if they are events with probability p, the events of a
// level differ from p times its weight by p (1 - p) times that sum. The larger one counts: leaves
// may have all rows of a time, and few of these may tell little.
double LevelCurve::rows_by_weight() const {
  double steps = 0;
  double shares = 0;
  double weights = 0;
  for (std::size_t k = 0; k < n_chunks(); ++k) {
    const Known& some = known_[k];
    const double share = some.any() ? some.sum.events / some.sum.weight() : 0.0;
    if (!(share > 0 && share < 1)) continue;
    const float* const censored = weight_.data() + place(some.levels.begin);
    const auto squares = dispatch<ChunkSquares>(isa_, censored, censored + per_block(),
                                                size_of(some.levels), static_cast<float>(share));
    // Seven of eight steps are taken.
    steps += squares[0] * 4 / 7;
    shares += squares[1] / (share * (1 - share));
    weights += some.sum.weight();
  }
  if (weights > 0) return weights / std::max(steps, shares);
  // Nothing is known: as if all trees had the rows of the smallest leaf.
  const auto share = [](const Cells::Found& leaf) { return leaf.share; };
  return 1 /
         (double{std::ranges::max(found_, {}, share).share} * static_cast<double>(found_.size()));
}

// What S has fallen to where it is looked at next: an error of its factors counts in proportion.
// `next` is the number of that place, from the first one on, where S was larger before.
double LevelCurve::counting(double survival, std::size_t& next) const {
  while (next < asked_.size() && asked_[next] > survival) ++next;
  return next == asked_.size() ? survival : asked_[next];
}

// The levels in which the order of events and censorings matters, as far as S is looked at.
void LevelCurve::want_doubtful_levels(double least) {
  if (shift_ == 0) return;
  std::size_t next = 0;
  for (std::size_t k = 0; k < n_chunks() && chunk_before_[k] > least; ++k) {
    const double survival = counting(chunk_before_[k], next);
    if (!known_[k].any() || double{doubt_[k]} * survival <= kMatters) continue;
    doubt_[k] = 0;  // not to be looked at again
    const Range levels = known_[k].levels;
    double at_risk = weight_from(levels.end);
    for (std::size_t level = std::min(n_levels_, levels.end); level-- > levels.begin;) {
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
    Known& some = known_[chunk];
    some.product = std::accumulate(factor_.data() + some.levels.begin,
                                   factor_.data() + some.levels.end, 1.0, std::multiplies{});
    chunk_product_[chunk] = some.product * some.rest;
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

// The levels around the places where S falls to each probability; all of them become known.
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
    const bool few = kChunksByAnswer * probabilities.size() <= n_chunks();
    for (const double probability : probabilities)
      few ? want_around(probability) : want_chunk(chunk_of(probability));
    fill_wanted();
    const double rows = rows_by_weight();
    std::size_t next = 0;
    for (std::size_t k = 0; k < n_chunks() && chunk_before_[k] > least; ++k) {
      // What is behind levels that are known counts for what comes later.
      const double survival = chunk_before_[k + known_[k].before_rest];
      if (survival > least && order_matters(k, counting(survival, next), rows)) want_chunk(k);
    }
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
    const auto near = [&](std::size_t level) { return change < margin && known(level); };
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

}  // namespace cqrf
