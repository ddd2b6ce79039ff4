#include "cell_curve.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

namespace cqrf {

CellCurve::CellCurve(const Forest& forest, const TargetView& target, const Cells& cells)
    : forest_(forest),
      target_(target),
      cells_(cells),
      isa_(isa()),
      loader_(forest, target.event, cells) {}

void CellCurve::make(const LeafId* leaves) {
  leaves_.resize(forest_.n_trees());
  double shares = 0;
  for (std::size_t t = 0; t < leaves_.size(); ++t) {
    leaves_[t] = cells_.find(forest_, t, leaves[t]);
    shares += double{leaves_[t].share};
  }
  leaf_size_ = static_cast<double>(leaves_.size()) / shares;
  cells_.add_up(isa_, leaves_, sums_);
  from_.resize(n_cells() + 1);
  from_.back() = 0;
  for (std::size_t k = n_cells(); k-- > 0;) from_[k] = from_[k + 1] + double{sums_.all[k]};
}

// The cell in which S falls to a probability.
std::size_t CellCurve::cell_of(double probability) const {
  const auto after = std::partition_point(from_.begin() + 1, from_.end(), [=, this](double from) {
    return from > probability * total();
  });
  return static_cast<std::size_t>(after - from_.begin() - 1);
}

// Where S falls to a probability if rows lie at random places of the cell, give or take three
// standard errors.
Range CellCurve::guess(std::size_t cell, double probability) const {
  const Range whole = ranks_of(cell, cell);
  const double members = sums_.all[cell];
  const double fallen = from_[cell] - probability * total();
  const double at = members > 0 ? std::clamp(fallen / members, 0.0, 1.0) : 0.0;
  // Half as many rows as members, of which some belong to several leaves.
  const double rows = std::max(1.0, leaf_size_ * members / 2);
  const double margin = 3 * std::sqrt(at * (1 - at) / rows) + 4 / rows + 0.02;
  const auto size = static_cast<double>(whole.end - whole.begin);
  const auto place = [&](double share) {
    return whole.begin + static_cast<std::size_t>(std::clamp(share, 0.0, 1.0) * size);
  };
  return with_equal_times(target_, {std::min(place(at - margin), whole.end - 1),
                                    std::min(place(at + margin) + 1, whole.end)});
}

// The windows of the probabilities; those in the same cell share one.
void CellCurve::divide(std::span<const double> probabilities) {
  order_.resize(probabilities.size());
  std::iota(order_.begin(), order_.end(), std::size_t{0});
  std::ranges::sort(order_, std::greater{}, [&](std::size_t j) { return probabilities[j]; });
  part_of_.resize(probabilities.size());
  n_parts_ = 0;
  std::size_t last_cell = n_cells();
  for (const std::size_t j : order_) {
    const double probability = probabilities[j] + kLevelTolerance;
    const std::size_t cell = cell_of(probability);
    const Range ranks = guess(cell, probability);
    if (cell == last_cell) {
      Range& shared = parts_[n_parts_ - 1].window.ranks;
      shared = {std::min(shared.begin, ranks.begin), std::max(shared.end, ranks.end)};
    } else {
      if (parts_.size() == n_parts_) parts_.emplace_back();
      parts_[n_parts_++].window.ranks = ranks;
    }
    last_cell = cell;
    part_of_[j] = n_parts_ - 1;
  }
}

void CellCurve::look_at(std::span<const double> probabilities) {
  probabilities_ = probabilities;
  divide(probabilities);
  for (std::size_t i = 0; i < n_parts_; ++i) loader_.ask(leaves_, parts_[i].window.ranks);
  for (std::size_t i = 0; i < n_parts_; ++i) load(parts_[i]);
}

// Sets what was asked for.
void CellCurve::load(Part& part) {
  const Window& window = part.window;
  loader_.take(part.window);
  const double before = from_[cell_with(window.ranks.begin)] - window.before;
  const double behind = from_[cell_with(window.ranks.end - 1) + 1] + window.behind;
  part.curve.make(isa_, target_, part.window.weights, before / total(), behind);
}

// The whole of the cells that a window touches, then those up to the next one in which S falls.
// Returns whether there is anything more.
bool CellCurve::enlarge(Window& window, const WindowCurve::Place& place) const {
  std::size_t first = cell_with(window.ranks.begin);
  std::size_t last = cell_with(window.ranks.end - 1);
  const Range before = window.ranks;
  window.ranks = with_equal_times(target_, ranks_of(first, last));
  if (window.ranks != before) return true;
  if (place.before && first > 0) {
    do --first;
    while (first > 0 && sums_.all[first] == 0);
  }
  if (place.after && last + 1 < n_cells()) {
    do ++last;
    while (last + 1 < n_cells() && sums_.all[last] == 0);
  }
  window.ranks = with_equal_times(target_, ranks_of(first, last));
  return window.ranks != before;
}

// In a window that is made as large as it has to be.
WindowCurve::Place CellCurve::find(std::size_t k) {
  Part& part = parts_[part_of_[k]];
  const double probability = probabilities_[k] + kLevelTolerance;
  WindowCurve::Place place = part.curve.find(probability);
  while ((place.before || place.after) && enlarge(part.window, place)) {
    loader_.ask(leaves_, part.window.ranks);
    load(part);
    place = part.curve.find(probability);
  }
  return place;
}

QuantileFound CellCurve::solve(std::size_t k, Interpolation interpolation) {
  const WindowCurve::Place place = find(k);
  return parts_[part_of_[k]].curve.solve(probabilities_[k], place.crossing, interpolation);
}

void CellCurve::part(std::size_t k, Curve& curve) {
  const WindowCurve::Place place = find(k);
  parts_[part_of_[k]].curve.part(place, curve);
}

}  // namespace cqrf
