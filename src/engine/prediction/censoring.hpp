// Estimators of G, the survival function of the censoring time at a test point.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "curve.hpp"

namespace cqrf {

// A censoring curve. `apply` sets G, S and the jumps of a curve whose steps are known. Beran's G
// makes S the Kaplan-Meier curve of the events; for any other G,
//
//   S(t_k) = min over j <= k of P(t_j) / G(t_j),
//
// whose first fall to 1 - tau is the first root of S_n(q; tau) = (1 - tau) G(q) - P(q).
// One object per worker.
class CensoringCurve {
 public:
  virtual ~CensoringCurve() = default;
  // `row` is the index of the test point.
  virtual void apply(const TargetView& target, std::size_t row, Curve& curve) = 0;
  // G at all distinct times (K,), where the curve has jumps outside the steps; else empty.
  virtual std::span<const double> everywhere() const { return {}; }
};

// Where and with what the curves are estimated; `kind` is "beran" | "knn" | "kernel" | "marginal".
struct CensoringOptions {
  std::string kind = "beran";
  std::size_t n_neighbors = 0;
  // kernel: scaled covariates of the training rows (n, p) in time order and of the test rows
  // (m, p); the kernel is exp(-|x - X_i|^2 / 2).
  std::span<const double> train_points;
  std::span<const double> test_points;
  std::size_t n_coordinates = 0;
  // False where the answer looks at S alone: Beran's S does not need G.
  bool needs_censoring = true;
};

std::unique_ptr<CensoringCurve> make_censoring_curve(const CensoringOptions& options,
                                                     const TargetView& target);

}  // namespace cqrf
