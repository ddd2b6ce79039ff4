// The curves and quantiles of one test point, written from the formulas and nothing else: every
// value is computed anew from the weights of all rows.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "data.hpp"
#include "prediction/solver.hpp"

namespace cqrf::test {

// Sums over the rows, from weights (n,) by rank.
inline double weight_at(const OutcomeData& data, const std::vector<double>& w, double t,
                        bool is_event) {
  double sum = 0;
  for (std::size_t i = 0; i < w.size(); ++i)
    if (data.time(i) == t && (data.event[i] != 0) == is_event) sum += w[i];
  return sum;
}
inline double weight_from(const OutcomeData& data, const std::vector<double>& w, double t) {
  double sum = 0;
  for (std::size_t i = 0; i < w.size(); ++i)
    if (data.time(i) >= t) sum += w[i];
  return sum;
}

inline double slow_survival(const OutcomeData& data, const std::vector<double>& w, double t) {
  double product = 1;
  for (const double u : data.times)
    if (const double d = weight_at(data, w, u, true); u <= t && d > 0)
      product *= 1 - d / weight_from(data, w, u);
  return product;
}
inline double slow_censoring(const OutcomeData& data, const std::vector<double>& w, double t) {
  double product = 1;
  for (const double u : data.times)
    if (const double c = weight_at(data, w, u, false); u <= t && c > 0) {
      // Where nothing is left, 1 - c / c is zero: not a rounding error away from it.
      const double rest = weight_from(data, w, u) - weight_at(data, w, u, true);
      product *= rest - c < 1e-13 * rest ? 0 : 1 - c / rest;
    }
  return product;
}
inline double slow_after(const OutcomeData& data, const std::vector<double>& w, double t) {
  double sum = 0;
  double total = 0;
  for (std::size_t i = 0; i < w.size(); ++i) {
    total += w[i];
    if (data.time(i) > t) sum += w[i];
  }
  return sum / total;
}

// A curve at the times that carry weight.
struct SlowCurve {
  std::vector<double> time, survival, censoring, after, events;
  std::vector<bool> candidate, jump;

  std::size_t size() const { return time.size(); }
};

// Beran's curves when g is empty; otherwise S is the running minimum of P / G over candidates.
inline SlowCurve slow_curve(const OutcomeData& data, const std::vector<double>& w,
                            const std::vector<double>& g_at_times = {},
                            const std::vector<double>& candidates = {}) {
  SlowCurve curve;
  double lowest = 1;
  for (std::size_t k = 0; k < data.times.size(); ++k) {
    const double t = data.times[k];
    const double d = weight_at(data, w, t, true);
    if (d + weight_at(data, w, t, false) == 0) continue;
    const bool candidate = candidates.empty() ||
                           std::find(candidates.begin(), candidates.end(), t) != candidates.end();
    const double after = slow_after(data, w, t);
    curve.time.push_back(t);
    curve.after.push_back(after);
    curve.events.push_back(d);
    curve.candidate.push_back(candidate);
    if (g_at_times.empty()) {
      curve.survival.push_back(slow_survival(data, w, t));
      curve.censoring.push_back(slow_censoring(data, w, t));
      curve.jump.push_back(d > 0);
      continue;
    }
    const double g = g_at_times[k];
    const bool falls = candidate && g > 0 && after / g < lowest - kLevelTolerance;
    if (falls) lowest = after / g;
    curve.survival.push_back(lowest);
    curve.censoring.push_back(g);
    curve.jump.push_back(falls);
  }
  return curve;
}

struct Point {
  double time;
  double height;
};

// The points of the curve that is inverted.
inline std::vector<Point> slow_points(const SlowCurve& curve, Interpolation interpolation) {
  std::vector<Point> points;
  for (std::size_t k = 0; k < curve.size(); ++k) {
    if (!curve.jump[k]) continue;
    const double before = k == 0 ? 1 : curve.survival[k - 1];
    points.push_back({curve.time[k], interpolation == Interpolation::kMidpoint
                                         ? (before + curve.survival[k]) / 2
                                         : curve.survival[k]});
  }
  return points;
}

inline double first_candidate(const SlowCurve& curve) {
  for (std::size_t k = 0; k < curve.size(); ++k)
    if (curve.candidate[k]) return curve.time[k];
  return NAN;
}
inline double last_candidate(const SlowCurve& curve) {
  for (std::size_t k = curve.size(); k-- > 0;)
    if (curve.candidate[k]) return curve.time[k];
  return NAN;
}

struct Quantile {
  double value;
  bool identified;
};

// The quantile at level 1 - tau by the first crossing.
inline Quantile slow_quantile(const SlowCurve& curve, double level, Interpolation interpolation) {
  if (curve.survival.back() > level + kLevelTolerance) return {last_candidate(curve), false};
  auto points = slow_points(curve, interpolation);
  // Beyond the first and the last point the midpoint curve is upright, the linear one begins
  // with S = 1 at the first time.
  if (interpolation == Interpolation::kLinear)
    points.insert(points.begin(), {first_candidate(curve), 1});
  for (std::size_t j = 0; j < points.size(); ++j) {
    if (points[j].height > level + kLevelTolerance) continue;
    if (j == 0 || interpolation == Interpolation::kLower || points[j].height >= level)
      return {points[j].time, true};
    const Point a = points[j - 1];
    const Point b = points[j];
    const double share = (a.height - level) / (a.height - b.height);
    return {a.time + share * (b.time - a.time), true};
  }
  return {points.empty() ? last_candidate(curve) : points.back().time, true};
}

// The inverted curve at a time, or its limit from the left; from the last jump on it is S.
inline double slow_height_at(const SlowCurve& curve, double at, Interpolation interpolation,
                             bool left_limit) {
  auto points = slow_points(curve, interpolation);
  if (interpolation == Interpolation::kLinear)
    points.insert(points.begin(), {first_candidate(curve), 1});
  double height = 1;
  for (std::size_t j = 0; j < points.size(); ++j) {
    const bool reached = left_limit ? points[j].time < at : points[j].time <= at;
    if (!reached) {
      if (j == 0 || interpolation == Interpolation::kLower) return height;
      const Point a = points[j - 1];
      const Point b = points[j];
      return a.height + (at - a.time) / (b.time - a.time) * (b.height - a.height);
    }
    height = points[j].height;
  }
  return curve.survival.back();
}

inline Quantile slow_argmin(const SlowCurve& curve, double level) {
  double largest_event = -INFINITY;
  for (std::size_t k = 0; k < curve.size(); ++k)
    if (curve.candidate[k] && curve.events[k] > 0) largest_event = curve.time[k];
  Quantile answer{last_candidate(curve), curve.survival.back() <= level + kLevelTolerance};
  double smallest = INFINITY;
  for (std::size_t k = 0; k < curve.size(); ++k) {
    if (!curve.candidate[k] || curve.time[k] > largest_event) continue;
    const double loss = std::abs(level * curve.censoring[k] - curve.after[k]);
    if (loss < smallest - kLevelTolerance) {
      smallest = loss;
      answer.value = curve.time[k];
    }
  }
  return answer;
}

}  // namespace cqrf::test
