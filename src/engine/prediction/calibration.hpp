// What conformal calibration asks of a row: at which level its quantiles come to its own time, and
// how much it counts at every level.
#pragma once

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "censoring.hpp"
#include "curve.hpp"

namespace cqrf {

// An answer (see answers.hpp). Quantiles are those of the curve through the midpoints of the jumps
// of S; levels are 1 - S. The weight at a level is 1 / G just before the quantile of that level, no
// more than 1 / least_censoring, taken in the middle of classes of levels.
struct CalibrationAnswer {
  const TargetView& target;
  std::span<const double> own;  // (m,) the time of every row
  std::size_t n_classes;
  double least_censoring;
  double* levels;   // (m,)
  double* weights;  // (m, n_classes)

  // The inverted curve: its times, and how high it is there, both ascending.
  struct Worker {
    std::vector<double> times;
    std::vector<double> heights;
  };
  Worker worker() const { return {}; }

  void take(std::size_t row, const Curve& curve, const CensoringCurve& censoring,
            Worker& inverted) const {
    invert(curve, inverted);
    levels[row] = level_of(own[row], inverted, 1 - curve.survival.back());
    for (std::size_t k = 0; k < n_classes; ++k) {
      const double level = (static_cast<double>(k) + 0.5) / static_cast<double>(n_classes);
      // Where S does not fall, no quantile is earlier than the last time.
      const double quantile = inverted.times.empty()
                                  ? time(curve.steps.back())
                                  : along(inverted.heights, inverted.times, level);
      weights[row * n_classes + k] =
          1 / std::max(censoring_before(quantile, curve, censoring), least_censoring);
    }
  }

 private:
  double time(const Step& step) const { return target.times[step.time]; }

  void invert(const Curve& curve, Worker& inverted) const {
    inverted.times.clear();
    inverted.heights.clear();
    double before = 1;
    for (std::size_t k = 0; k < curve.steps.size(); ++k) {
      const double after = curve.survival[k];
      if (after < before) {
        inverted.times.push_back(time(curve.steps[k]));
        inverted.heights.push_back(1 - (before + after) / 2);
      }
      before = after;
    }
  }

  // The largest level whose quantile is no later than `at`; 0 if there is none.
  static double level_of(double at, const Worker& inverted, double last) {
    if (inverted.times.empty() || at < inverted.times.front()) return 0;
    return at >= inverted.times.back() ? last : along(inverted.times, inverted.heights, at);
  }

  // The value at x of the line through the points (xs, ys), constant outside of them.
  static double along(const std::vector<double>& xs, const std::vector<double>& ys, double x) {
    const auto right = static_cast<std::size_t>(std::ranges::upper_bound(xs, x) - xs.begin());
    if (right == 0) return ys.front();
    if (right == xs.size()) return ys.back();
    const double low = xs[right - 1], high = xs[right];
    // The distance of two times may be too large for a number.
    const double unit = std::isinf(high - low) ? 0.5 : 1.0;
    const double share = (unit * x - unit * low) / (unit * high - unit * low);
    return std::lerp(ys[right - 1], ys[right], share);
  }

  double censoring_before(double at, const Curve& curve, const CensoringCurve& censoring) const {
    const auto everywhere = censoring.everywhere();
    const auto last_before = [&](std::span<const double> g, auto passed) {
      return passed == 0 ? 1.0 : g[static_cast<std::size_t>(passed) - 1];
    };
    if (!everywhere.empty())
      return last_before(everywhere,
                         std::ranges::lower_bound(target.times, at) - target.times.begin());
    const auto reached = std::ranges::lower_bound(curve.steps, at, {},
                                                  [this](const Step& step) { return time(step); });
    return last_before(curve.censoring, reached - curve.steps.begin());
  }
};

}  // namespace cqrf
