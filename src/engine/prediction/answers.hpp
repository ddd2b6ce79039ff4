// What is made of the curves of the test points. Each answer has
//
//   Worker worker() const;  // scratch of one thread
//   void take(std::size_t row, const Curve&, const CensoringCurve&, Worker&) const;
//
// and writes to its own part of the output for every row. Rows without any weight are skipped:
// outputs are set to NaN beforehand.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "cell_curve.hpp"
#include "censoring.hpp"
#include "curve.hpp"
#include "levels.hpp"
#include "rank_curve.hpp"
#include "solver.hpp"

namespace cqrf {

// Quantiles (m, q), and whether each is identified.
struct QuantileAnswer {
  const TargetView& target;
  SolveOptions options;
  std::span<const double> levels;  // 1 - tau: (q,) for all rows, or (m, q)
  std::size_t n_levels;            // q
  std::span<const double> after;   // (m,) or empty
  double* quantiles;
  std::uint8_t* identified;

  using Worker = QuantileSolver;
  Worker worker() const { return QuantileSolver(options); }
  void take(std::size_t row, const Curve& curve, const CensoringCurve&, Worker& solver) const {
    const double condition = after.empty() ? std::numeric_limits<double>::quiet_NaN() : after[row];
    const std::size_t first = levels.size() == n_levels ? 0 : row * n_levels;
    solver.solve(target, curve, levels.subspan(first, n_levels), condition,
                 quantiles + row * n_levels, identified + row * n_levels);
  }

  // Looks at the part of the curve around each quantile. `whole` is on levels, cells or ranks.
  template <class Whole>
  void take(std::size_t row, Whole& whole, Curve& part, Worker& solver) const {
    const std::size_t first = levels.size() == n_levels ? 0 : row * n_levels;
    whole.look_at(levels.subspan(first, n_levels));
    for (std::size_t j = 0; j < n_levels; ++j) {
      if (!target.has_ties()) {
        const QuantileFound answer = whole.solve(j, options.interpolation);
        quantiles[row * n_levels + j] = answer.quantile;
        identified[row * n_levels + j] = answer.identified;
        continue;
      }
      whole.part(j, part);
      solver.solve(target, part, levels.subspan(first + j, 1),
                   std::numeric_limits<double>::quiet_NaN(), quantiles + row * n_levels + j,
                   identified + row * n_levels + j);
    }
  }
};

enum class Which { kSurvival, kCensoring, kAfter, kHazard };

// A curve at the times of a grid, (m, g): its value, or its limit from the left.
struct GridAnswer {
  const TargetView& target;
  Which which;
  std::span<const double> grid;  // ascending
  bool left_limit;
  double* values;

  struct Worker {};
  Worker worker() const { return {}; }
  void take(std::size_t row, const Curve& curve, const CensoringCurve& censoring, Worker&) const {
    double* out = values + row * grid.size();
    std::size_t k = 0;
    if (const auto g = censoring.everywhere(); which == Which::kCensoring && !g.empty()) {
      for (std::size_t j = 0; j < grid.size(); ++j) {
        while (k < g.size() && reaches(target.times[k], grid[j])) ++k;
        out[j] = k == 0 ? 1.0 : g[k - 1];
      }
      return;
    }
    double value = which == Which::kHazard ? 0 : 1;
    for (std::size_t j = 0; j < grid.size(); ++j) {
      for (; k < curve.steps.size() && reaches(target.times[curve.steps[k].time], grid[j]); ++k)
        value = value_at(curve, k, value);
      out[j] = value;
    }
  }

  bool reaches(double time, double at) const { return left_limit ? time < at : time <= at; }

  double value_at(const Curve& curve, std::size_t k, double before) const {
    switch (which) {
      case Which::kSurvival:
        return curve.survival[k];
      case Which::kCensoring:
        return curve.censoring[k];
      case Which::kAfter:
        return curve.steps[k].after / curve.total;
      case Which::kHazard:
        break;
    }
    const double survival = k == 0 ? 1 : curve.survival[k - 1];
    return survival > 0 ? before + (1 - curve.survival[k] / survival) : before;
  }
};

// S on a grid, (m, g), from the curve on levels, or on ranks.
class LevelGridAnswer {
 public:
  LevelGridAnswer(const TargetView& target, std::span<const double> grid, bool left_limit,
                  double* values)
      : values_(values) {
    for (const double at : grid) {
      const auto passed = left_limit
                              ? std::lower_bound(target.times.begin(), target.times.end(), at)
                              : std::upper_bound(target.times.begin(), target.times.end(), at);
      const auto time = static_cast<TimeIndex>(passed - target.times.begin());
      const auto rank = std::lower_bound(target.time_index.begin(), target.time_index.end(), time);
      ranks_.push_back(static_cast<std::size_t>(rank - target.time_index.begin()));
    }
  }

  std::span<const std::size_t> ranks() const { return ranks_; }

  struct Worker {};
  Worker worker() const { return {}; }
  template <class Whole>
  void take(std::size_t row, Whole& curve, Curve&, Worker&) const {
    curve.survival_after(ranks_, values_ + row * ranks_.size());
  }

 private:
  std::vector<std::size_t> ranks_;  // how many come up to each time
  double* values_;
};

// E[min(T, h)] = t + the integral of S from t to h, for a time t before which S is one; mirrored,
// E[max(T, h)], where what is left of S lies at the last of all times.
struct RestrictedMeanAnswer {
  const TargetView& target;
  double horizon;
  bool mirrored;
  double* means;

  struct Worker {};
  Worker worker() const { return {}; }
  void take(std::size_t row, const Curve& curve, const CensoringCurve&, Worker&) const {
    const auto& steps = curve.steps;
    const double first = target.times[steps.front().time];
    const double begin = mirrored ? std::max(horizon, first) : std::min(horizon, first);
    const double end = mirrored ? target.times.back() : horizon;
    double mean = begin;
    // Where S is zero, nothing comes to it, however far the end is.
    for (std::size_t k = 0; k < steps.size() && curve.survival[k] > 0; ++k) {
      const double from = std::max(target.times[steps[k].time], begin);
      const double to = k + 1 < steps.size() ? std::min(target.times[steps[k + 1].time], end) : end;
      mean += curve.survival[k] * std::max(0.0, to - from);
    }
    means[row] = mean;
  }
};

// The same from the curve on levels or ranks: the sum of min(t, h), or max(t, h), over the jumps of
// S at t, times its falls there, and what is left of S times that of the last time. Of a horizon
// behind all times, what is left takes the rest. Times are counted from their median: far ones must
// not take the digits of the others. What is summed is divided by its largest value, so that single
// precision is enough for times of any size.
class LevelMeanAnswer {
 public:
  // Of a curve on these levels, without cells if mirrored, or on ranks, where there are none.
  LevelMeanAnswer(const TargetView& target, const Levels* levels, double horizon, bool mirrored,
                  double* means)
      : mirrored_(mirrored),
        horizon_(horizon),
        middle_(cut(target.times[target.time_index[target.time_index.size() / 2]])),
        scale_(std::max(middle_ - cut(target.times.front()), cut(target.times.back()) - middle_)),
        beyond_(mirrored ? 0 : std::max(0.0, horizon - target.times.back())),
        means_(means) {
    const std::size_t n = target.time_index.size();
    values_.at.resize(n, 0.0);
    for (std::size_t rank = 0; scale_ > 0 && rank < n; ++rank)
      values_.at[rank] = (cut(target.times[target.time_index[rank]]) - middle_) / scale_;
    if (levels) set_levels(target, *levels);
    values_.tolerance = kTolerance;
    values_.counts_rest = !mirrored && horizon >= target.times.back();
  }

  struct Worker {};
  Worker worker() const { return {}; }
  template <class Whole>
  void take(std::size_t row, Whole& curve, Curve&, Worker&) const {
    double left;
    const double sum = curve.sum_of_falls(values_, left);
    means_[row] = middle_ + scale_ * (sum + left * values_.at.back()) + left * beyond_;
  }

 private:
  // Of a level. The places of a few events in a level are as good as random: over 1 /
  // sqrt(tolerance) levels that all just do not exceed it, errors add up to a standard deviation of
  // 3e-5.
  static constexpr double kTolerance = 5e-6;

  double cut(double time) const {
    return mirrored_ ? std::max(time, horizon_) : std::min(time, horizon_);
  }

  void set_levels(const TargetView& target, const Levels& levels) {
    const std::size_t n = values_.at.size();
    const std::size_t size = std::size_t{1} << levels.shift;
    for (std::size_t begin = 0; begin < n; begin += size) {
      const std::size_t end = std::min(n, begin + size);
      double sum = 0;
      double events = 0;
      for (std::size_t rank = begin; rank < end; ++rank) {
        sum += target.event[rank] * values_.at[rank];
        events += target.event[rank];
      }
      const double spread = std::abs(values_.at[begin] - values_.at[end - 1]);
      values_.mean.push_back(static_cast<float>(events > 0 ? sum / events : 0.0));
      values_.spread.push_back(static_cast<float>(spread));
    }
    // Chunks are whole.
    values_.mean.resize(values_.mean.size() + (std::size_t{1} << Cells::kLevelBits));
    values_.spread.resize(values_.mean.size());
    for (std::size_t cell = 0; levels.cells && cell < levels.cells->size(); ++cell)
      values_.in_cell.push_back(line(target, levels.cells->shift(), cell));
  }

  // Through the mean of the events of a cell, with the slope between its ends.
  LevelValues::Line line(const TargetView& target, int shift, std::size_t cell) const {
    const std::size_t begin = cell << shift;
    const std::size_t end = std::min(values_.at.size(), begin + (std::size_t{1} << shift));
    const double unit = std::ldexp(1.0, -shift);
    const auto place = [&](std::size_t rank) {
      return (static_cast<double>(rank - begin) + 0.5) * unit - 0.5;
    };
    const double slope =
        (values_.at[end - 1] - values_.at[begin]) / (static_cast<double>(end - begin) * unit);
    // Of all events at once: what they have more than the slope, in the mean.
    double sum = 0;
    double events = 0;
    for (std::size_t rank = begin; rank < end; ++rank) {
      sum += target.event[rank] * (values_.at[rank] - slope * place(rank));
      events += target.event[rank];
    }
    const double middle = events > 0 ? sum / events : 0.0;
    double bend = 0;
    for (std::size_t rank = begin; rank < end; ++rank)
      bend = std::max(
          bend, target.event[rank] * std::abs(values_.at[rank] - (middle + slope * place(rank))));
    return {middle, slope, bend};
  }

  LevelValues values_;
  bool mirrored_;
  double horizon_;
  double middle_;  // the median, cut at the horizon
  double scale_;
  double beyond_;  // how far h lies behind the last time
  double* means_;
};

// The curves of every row, of different lengths.
struct CurveAnswer {
  struct Row {
    std::vector<TimeIndex> time;
    std::vector<double> survival;
    std::vector<double> censoring;
    std::vector<double> everywhere;  // G at all distinct times, where it jumps outside the steps
  };
  std::vector<Row>& rows;

  struct Worker {};
  Worker worker() const { return {}; }
  void take(std::size_t row, const Curve& curve, const CensoringCurve& censoring, Worker&) const {
    Row& out = rows[row];
    for (const Step& step : curve.steps) out.time.push_back(step.time);
    out.survival = curve.survival;
    out.censoring = curve.censoring;
    const auto g = censoring.everywhere();
    out.everywhere.assign(g.begin(), g.end());
  }
};

// The weights themselves, normalised.
struct WeightAnswer {
  std::vector<std::vector<RankWeight>>& rows;

  struct Worker {};
  Worker worker() const { return {}; }
  void take(std::size_t row, const Curve& curve, const CensoringCurve&, Worker&) const {
    rows[row].assign(curve.weights.begin(), curve.weights.end());
    for (RankWeight& w : rows[row]) w.weight /= curve.total;
  }
};

}  // namespace cqrf
