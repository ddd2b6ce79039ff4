// By what S falls where events and censorings come together, and how well that is known.
//
// D and C are their weights in a cell, x_D and x_C their mean places, from 0 to 1, and R_0 and R_1
// the weights from the cell on and behind it. If events and censorings came in the same proportion
// throughout the cell, S would fall in it by the factor (R_1 / R_0)^(D / (D + C)). The order in
// which they do come changes its logarithm by
//
//   D C / R^2 (x_C - x_D),   R = (R_0 + R_1) / 2,
//
// and terms that are smaller by about the square root of the number of rows in the cell.
#pragma once

#include <algorithm>
#include <cmath>

#include "cell_counts.hpp"

namespace cqrf {

// By what S falls where events and censorings come together, with so much weight behind them:
// `order` is by how much censorings come later than events, in the mean and of the whole length,
// times both weights.
double fall_factor(double behind, double events, double censored, double order);

// Weights in a cell, or in a part of it, and weights times distances from the middle of the cell,
// in units of CellCounts::kPlaceUnit.
struct CellSum {
  double events;
  double censored;
  double event_places;
  double censored_places;

  // What is left of a cell without a part of it. Sums are rounded: none is less than nothing.
  CellSum operator-(const CellSum& part) const {
    return {std::max(0.0, events - part.events), std::max(0.0, censored - part.censored),
            event_places - part.event_places, censored_places - part.censored_places};
  }
  // Of a part of a cell, with places relative to its length as those of a cell are to that.
  CellSum stretched(double by) const {
    return {events, censored, event_places * by, censored_places * by};
  }
  double weight() const { return events + censored; }
  // D C (x_C - x_D). Places are rounded, and what is left of them may be nothing else.
  double order() const {
    const double pairs = events * censored;
    return std::clamp(CellCounts::kPlaceUnit * (events * censored_places - censored * event_places),
                      -pairs, pairs);
  }

  // By what S falls, with so much weight behind.
  double factor(double behind) const { return fall_factor(behind, events, censored, order()); }
  // Whether S may be too far off behind it, for the order of its events and censorings: `before` is
  // S there, `rows` how many there are to a unit of weight, and `times` how many of them differ: at
  // the same time events come first, so that with few times the order is not as good as random.
  bool order_matters(double behind, double before, double rows, double times) const {
    // What mean places do not tell of the order of d events and c censorings is S D C / R^2 by the
    // square root of d c, times a third or so.
    constexpr double kByRow = 2.5e-5;
    // Terms of the third order, of which a tenth or so counts where one comes after the other.
    constexpr double kByPlace = 5e-5;
    // Without divisions and roots: there are many cells.
    const double at_risk = behind + weight() / 2;
    const double square = at_risk * at_risk;
    const double pairs = events * censored;
    const double limit = kByRow * rows * square;
    return before * before * pairs > limit * limit || before * pairs > kByRow * times * square ||
           before * weight() * std::abs(order()) > kByPlace * square * at_risk;
  }
};

}  // namespace cqrf
