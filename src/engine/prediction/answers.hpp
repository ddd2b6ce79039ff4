// What is made of the curves of the test points. Each answer has
//
//   Worker worker() const;                                     // scratch of one thread
//   void take(std::size_t row, const Curve&, const CensoringCurve*, Worker&);
//
// and writes to its own part of the output for every row. Rows without any weight are skipped:
// outputs are set to NaN beforehand.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "censoring.hpp"
#include "curve.hpp"
#include "solver.hpp"

namespace cqrf {

// Quantiles (m, q), and whether each is identified.
struct QuantileAnswer {
  const TargetView& target;
  SolveOptions options;
  std::span<const double> levels;  // 1 - tau
  std::span<const double> after;   // (m,) or empty
  double* quantiles;
  std::uint8_t* identified;

  using Worker = QuantileSolver;
  Worker worker() const { return QuantileSolver(options); }
  void take(std::size_t row, const Curve& curve, const CensoringCurve*, Worker& solver) const {
    const double condition = after.empty() ? std::numeric_limits<double>::quiet_NaN() : after[row];
    solver.solve(target, curve, levels, condition, quantiles + row * levels.size(),
                 identified + row * levels.size());
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
  void take(std::size_t row, const Curve& curve, const CensoringCurve* censoring, Worker&) const {
    double* out = values + row * grid.size();
    if (which == Which::kCensoring && censoring != nullptr && !censoring->everywhere().empty()) {
      const auto g = censoring->everywhere();
      std::size_t k = 0;
      for (std::size_t j = 0; j < grid.size(); ++j) {
        while (k < g.size() && reaches(target.times[k], grid[j])) ++k;
        out[j] = k == 0 ? 1.0 : g[k - 1];
      }
      return;
    }
    double value = which == Which::kHazard ? 0 : 1;
    double survival = 1;
    auto step = curve.steps.begin();
    for (std::size_t j = 0; j < grid.size(); ++j) {
      for (; step != curve.steps.end() && reaches(target.times[step->time], grid[j]); ++step) {
        switch (which) {
          case Which::kSurvival: value = step->survival; break;
          case Which::kCensoring: value = step->censoring; break;
          case Which::kAfter: value = step->after; break;
          case Which::kHazard:
            if (survival > 0) value += 1 - step->survival / survival;
            survival = step->survival;
            break;
        }
      }
      out[j] = value;
    }
  }

 private:
  bool reaches(double time, double at) const { return left_limit ? time < at : time <= at; }

 public:
  GridAnswer(const TargetView& t, Which w, std::span<const double> g, bool left, double* out)
      : target(t), which(w), grid(g), left_limit(left), values(out) {}
};

// E[min(T, h)] = t_1 + the integral of S from t_1 to h; mirrored, E[max(T, h)].
struct RestrictedMeanAnswer {
  const TargetView& target;
  double horizon;
  bool mirrored;
  double* means;

  struct Worker {};
  Worker worker() const { return {}; }
  void take(std::size_t row, const Curve& curve, const CensoringCurve*, Worker&) const {
    const auto& steps = curve.steps;
    const double first = target.times[steps.front().time];
    if (mirrored) {
      // max(T, h) = h + the time by which T is beyond h; the last time takes what mass is left.
      double mean = std::max(horizon, first);
      for (std::size_t k = 0; k + 1 < steps.size(); ++k)
        mean += steps[k].survival * length(steps, k, horizon, target.times[steps.back().time]);
      means[row] = mean;
      return;
    }
    double mean = std::min(horizon, first);
    for (std::size_t k = 0; k + 1 < steps.size(); ++k)
      mean += steps[k].survival * length(steps, k, first, horizon);
    const double last = target.times[steps.back().time];
    if (horizon > last) mean += steps.back().survival * (horizon - last);
    means[row] = mean;
  }

 private:
  // The part of [t_k, t_{k+1}) that lies in [low, high].
  double length(const std::vector<Step>& steps, std::size_t k, double low, double high) const {
    const double begin = std::max(target.times[steps[k].time], low);
    const double end = std::min(target.times[steps[k + 1].time], high);
    return std::max(0.0, end - begin);
  }

 public:
  RestrictedMeanAnswer(const TargetView& t, double h, bool m, double* out)
      : target(t), horizon(h), mirrored(m), means(out) {}
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
  void take(std::size_t row, const Curve& curve, const CensoringCurve* censoring, Worker&) const {
    Row& out = rows[row];
    for (const Step& step : curve.steps) {
      out.time.push_back(step.time);
      out.survival.push_back(step.survival);
      out.censoring.push_back(step.censoring);
    }
    if (censoring != nullptr)
      out.everywhere.assign(censoring->everywhere().begin(), censoring->everywhere().end());
  }
};

// The weights themselves, normalised.
struct WeightAnswer {
  std::vector<std::vector<RankWeight>>& rows;

  struct Worker {};
  Worker worker() const { return {}; }
  void take(std::size_t row, const Curve& curve, const CensoringCurve*, Worker&) const {
    double total = 0;
    for (const RankWeight& w : curve.weights) total += w.weight;
    rows[row] = curve.weights;
    for (RankWeight& w : rows[row]) w.weight /= total;
  }
};

}  // namespace cqrf
