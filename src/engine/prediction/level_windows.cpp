// The ranks around the answers of a curve on levels.
#include <algorithm>
#include <numeric>

#include "levels.hpp"

namespace cqrf {

// The ranks of all parts; those that have levels in common share a window.
void LevelCurve::make_windows() {
  in_order_.resize(parts_.size());
  std::iota(in_order_.begin(), in_order_.end(), std::size_t{0});
  const auto first_level = [&](std::size_t k) { return parts_[k].begin; };
  if (!std::ranges::is_sorted(in_order_, {}, first_level))
    std::ranges::sort(in_order_, {}, first_level);
  window_of_.resize(parts_.size());
  // Curves know where their weights stand: these must not move.
  if (windows_.size() < parts_.size()) windows_.resize(parts_.size());
  n_windows_ = 0;
  Range levels = parts_[in_order_.front()];
  for (const std::size_t k : in_order_) {
    if (parts_[k].begin >= levels.end) {
      make_window(levels);
      levels = parts_[k];
    }
    levels.end = std::max(levels.end, parts_[k].end);
    window_of_[k] = n_windows_;
  }
  make_window(levels);
  if (target_.has_ties()) return;
  crossings_.resize(parts_.size());
  for (std::size_t k = 0; k < parts_.size(); ++k) {
    WindowCurve& window = windows_[window_of_[k]].curve;
    crossings_[k] = window.crossing(probabilities_[k] + kLevelTolerance);
    // All of them are on their way before the first one is read.
    if (crossings_[k] != kNoJump) window.expect_times(crossings_[k]);
  }
}

void LevelCurve::make_window(Range levels) {
  auto& [weights, curve] = windows_[n_windows_++];
  weights.size = 0;
  weights.make_room(first_rank(levels.end) - first_rank(levels.begin));
  for (std::size_t level = levels.begin; level < levels.end; ++level) {
    if (weight(level) == 0) continue;
    const std::size_t first = first_rank(level);
    float all = weight(level);
    drain(isa_, target_.event, shift_ == 0 ? &all : lookup_.weights(level),
          first_rank(level + 1) - first, static_cast<Rank>(first), weights);
  }
  curve.make(isa_, target_, weights, survival_before(levels.begin), weight_from(levels.end));
}

QuantileFound LevelCurve::solve(std::size_t k, Interpolation interpolation) {
  return windows_[window_of_[k]].curve.solve(probabilities_[k], crossings_[k], interpolation);
}

void LevelCurve::part(std::size_t k, Curve& curve) {
  WindowCurve& window = windows_[window_of_[k]].curve;
  const WindowCurve::Place place = window.find(probabilities_[k] + kLevelTolerance);
  window.part(place, curve);
  // By levels S falls so far in the window: it would, but for the error of levels.
  if (place.after) curve.survival.back() = std::min(curve.survival.back(), probabilities_[k]);
}

}  // namespace cqrf
