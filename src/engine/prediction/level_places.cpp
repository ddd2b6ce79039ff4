// Where a curve on levels is looked at: around some probabilities, after some ranks, or everywhere.
#include <algorithm>

#include "level_kernels.hpp"
#include "levels.hpp"

namespace cqrf {
namespace {

// Where S D C / R^2 is larger than this, the order of events and censorings matters: in a level,
// and in a cell, where the larger part of it is known, by the number of its rows. The rest is what
// mean places do not tell, and the smaller the more rows there are.
constexpr double kMatters = 2e-5;
constexpr double kMattersInCellByRow = 4e-7;
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
  return filled_[chunk] ? chunk_product_[chunk] < 1 : events_in(chunk) > 0;
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

bool LevelCurve::order_matters_in(std::size_t cell) const {
  const double change = double{doubt_[cell]} * chunk_before_[cell];
  // A row may be a member of several leaves: there are no more than the cell has.
  const double rows = std::min(static_cast<double>(chunk_size() << shift_),
                               mean_leaf_ * double{chunk_weight_[cell]});
  return change > kMattersInCellByRow * rows;
}

// The levels in which the order of events and censorings matters, as far as S is looked at.
void LevelCurve::want_doubtful_levels(double least) {
  if (shift_ == 0) return;
  for (std::size_t k = 0; k < n_chunks() && chunk_before_[k] > least; ++k) {
    const double survival = chunk_before_[k];
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
  for (const std::uint32_t level : doubtful_) {
    factor_[level] = static_cast<float>(factor_of_first(level, first_rank(level + 1)));
    double& product = chunk_product_[level / chunk_size()];
    const std::size_t begin = level / chunk_size() * chunk_size();
    product = 1;
    for (std::size_t i = begin; i < begin + chunk_size(); ++i) product *= double{factor_[i]};
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
}

void LevelCurve::look_at(std::span<const double> probabilities) {
  const double least = std::ranges::min(probabilities);
  if (cells_) {
    add_cells();
    multiply(least);
    for (std::size_t k = 0; k < n_chunks() && chunk_before_[k] > least; ++k)
      if (order_matters_in(k)) want_chunk(k);
    for (const double probability : probabilities) want_chunk(chunk_of(probability));
    fill_wanted();
  } else {
    fill_all();
  }
  // What is looked up may move S, and with it the parts.
  for (bool first = true;; first = false) {
    find_parts(probabilities, least);
    want_doubtful_levels(least);
    want_parts(first ? std::min(margin_, kMostExpected) : 0);
    if (!lookup_.waiting()) return;
    lookup_.look_up(leaves_);
    if (doubtful_.empty()) return;
    settle_doubts();
  }
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
  fill_all();
  multiply(0);
  want_doubtful_levels(0);
  const auto inside = [&](std::size_t rank) {
    return rank < n_ranks() && rank != first_rank(rank >> shift_) && factor_[rank >> shift_] < 1;
  };
  for (const std::size_t rank : ranks)
    if (inside(rank)) lookup_.want(rank >> shift_);
  lookup_.look_up(leaves_);
  settle_doubts();
  multiply(0);
  std::size_t level = 0;
  double before = 1;
  for (std::size_t j = 0; j < ranks.size(); ++j) {
    const std::size_t next = ranks[j] == n_ranks() ? n_levels_ : ranks[j] >> shift_;
    if (next / chunk_size() != level / chunk_size()) {
      level = next / chunk_size() * chunk_size();
      before = chunk_before_[next / chunk_size()];
    }
    for (; level < next; ++level) before *= double{factor_[level]};
    survival[j] = inside(ranks[j]) ? before * factor_of_first(level, ranks[j]) : before;
  }
}

double LevelCurve::sum_of_falls(const LevelValues& values, double& left, std::size_t& last) {
  fill_all();
  multiply(0);
  want_doubtful_levels(0);
  std::size_t end = n_levels_;
  while (weight(end - 1) == 0) --end;
  lookup_.want(end - 1);
  falls_.resize(n_chunks());
  for (std::size_t k = 0; k < n_chunks(); ++k) {
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

void LevelCurve::part(std::size_t k, Curve& curve) const {
  const Range levels = parts_[k];
  const Range ranks{first_rank(levels.begin), first_rank(levels.end)};
  if (curve.buffer.size() < ranks.end - ranks.begin + 1)
    curve.buffer.resize(ranks.end - ranks.begin + 1);
  Step* const end = curve.buffer.data() + curve.buffer.size();
  Step* first = end;
  double after = weight_from(levels.end);
  for (std::size_t level = levels.end; level-- > levels.begin;) {
    if (weight(level) == 0) continue;
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
