// Sums over all jumps of a curve on levels.
#include <algorithm>
#include <cmath>

#include "level_kernels.hpp"
#include "levels.hpp"

namespace cqrf {

// How many chunks there are before S may fall as it likes: behind them, all values are the last.
std::size_t LevelCurve::counting_chunks(const LevelValues& values) const {
  std::size_t end = n_chunks();
  while (!values.counts_rest && end > 0 &&
         values.at[first_rank((end - 1) * chunk_size())] == values.at.back())
    --end;
  return end;
}

// Fills the chunks before the end in which a sum of falls takes more than the sums of their cells.
void LevelCurve::fill_where(const LevelValues& values, std::size_t end) {
  add_cells();
  multiply(0);
  const auto heaviest = std::ranges::max_element(chunk_weight_);
  want_chunk(static_cast<std::size_t>(heaviest - chunk_weight_.begin()));
  fill_wanted();
  const double rows = rows_by_weight();
  for (std::size_t k = 0; k < end; ++k) {
    const double fall = chunk_before_[k] * (1 - chunk_product_[k]);
    if (fall * values.in_cell[k].bend > values.tolerance ||
        order_matters(k, chunk_before_[k], rows))
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

double LevelCurve::sum_of_falls(const LevelValues& values, double& left) {
  const std::size_t end = counting_chunks(values);
  if (cells_)
    fill_where(values, end);
  else
    fill_all();
  multiply(0);
  want_doubtful_levels(0);
  falls_.resize(end);
  for (std::size_t k = 0; k < end; ++k) {
    if (!known_[k].any()) {
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
  for (const std::uint32_t level : lookup_.levels())
    if (level / chunk_size() < end) falls_[level / chunk_size()] = std::nan("");
  double sum = 0;
  for (std::size_t k = 0; k < end; ++k) {
    if (std::isnan(falls_[k])) falls_[k] = sum_of_falls_in(k, values);
    sum += chunk_before_[k] * falls_[k];
  }
  left = chunk_before_[end];
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
