#include "censoring.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

namespace cqrf {
namespace {

// G of Kaplan-Meier at all distinct times, from weights by rank.
template <class WeightOf>
void kaplan_meier_of_censoring(const TargetView& target, WeightOf weight_of,
                               std::vector<double>& g) {
  const std::size_t n = target.time_index.size();
  g.assign(target.times.size(), 1.0);
  // First the factor of every time, by suffix sums; then their running product.
  double after = 0;
  for (std::size_t end = n; end > 0;) {
    const TimeIndex time = target.time_index[end - 1];
    double events = 0;
    double censored = 0;
    std::size_t begin = end;
    for (; begin > 0 && target.time_index[begin - 1] == time; --begin)
      (target.event[begin - 1] ? events : censored) += weight_of(static_cast<Rank>(begin - 1));
    if (censored > 0) g[time] = after / (after + censored);
    after += censored;
    after += events;
    end = begin;
  }
  for (std::size_t k = 1; k < g.size(); ++k) g[k] *= g[k - 1];
}

// S as the running minimum of P / G over the candidates.
void survival_of_ratio(Curve& curve) {
  curve.survival.resize(curve.steps.size());
  curve.jump.assign(curve.steps.size(), 0);
  double survival = 1;
  for (std::size_t k = 0; k < curve.steps.size(); ++k) {
    if (curve.steps[k].candidate && curve.censoring[k] > 0) {
      const double ratio = curve.steps[k].after / curve.total / curve.censoring[k];
      // Between its jumps P / G is constant up to rounding; that is no fall.
      if (ratio < survival - kLevelTolerance) {
        survival = ratio;
        curve.jump[k] = 1;
      }
    }
    curve.survival[k] = survival;
  }
}

// Beran's estimator with the forest weights (paper eq. Beran_rf).
class Beran final : public CensoringCurve {
 public:
  explicit Beran(bool needs_censoring) : needs_censoring_(needs_censoring) {}

  void apply(const TargetView&, std::size_t, Curve& curve) override {
    survival_of_events(curve);
    if (needs_censoring_) survival_of_censoring(curve);
  }

 private:
  bool needs_censoring_;
};

// Kaplan-Meier on the rows of largest weight, each counting as one (paper eq. KM_kNN).
class NearestNeighbors final : public CensoringCurve {
 public:
  explicit NearestNeighbors(std::size_t k) : k_(k) {}

  void apply(const TargetView& target, std::size_t, Curve& curve) override {
    choose(target, curve.weights);
    make_steps(target, near_);
    survival_of_censoring(near_);
    // Both lists of steps are in time order, and the neighbours' times are among the others. The
    // guard of the argmin rule looks at the events of neighbours only.
    curve.censoring.resize(curve.steps.size());
    std::size_t next = 0;
    double g = 1;
    for (std::size_t k = 0; k < curve.steps.size(); ++k) {
      Step& step = curve.steps[k];
      step.candidate = next < near_.steps.size() && near_.steps[next].time == step.time;
      step.events = step.candidate ? near_.steps[next].events : 0;
      if (step.candidate) g = near_.censoring[next++];
      curve.censoring[k] = g;
    }
    survival_of_ratio(curve);
  }

 private:
  void choose(const TargetView& target, std::span<const RankWeight> weights) {
    auto& chosen = neighbors_;
    chosen.assign(weights.begin(), weights.end());
    if (chosen.size() > k_) {
      // A row of weight 3 is no nearer than one of three equal rows.
      if (!target.weight.empty())
        for (RankWeight& row : chosen) row.weight /= target.weight[row.rank];
      const auto closer = [&](const RankWeight& a, const RankWeight& b) {
        return a.weight != b.weight ? a.weight > b.weight
                                    : target.order[a.rank] < target.order[b.rank];
      };
      std::nth_element(chosen.begin(), chosen.begin() + static_cast<std::ptrdiff_t>(k_ - 1),
                       chosen.end(), closer);
      chosen.resize(k_);
      std::sort(chosen.begin(), chosen.end(),
                [](const RankWeight& a, const RankWeight& b) { return a.rank < b.rank; });
    }
    for (RankWeight& neighbor : chosen)
      neighbor.weight = target.weight.empty() ? 1.0 : target.weight[neighbor.rank];
    near_.weights = chosen;
  }

  std::size_t k_;
  std::vector<RankWeight> neighbors_;
  Curve near_;
};

// A curve known at all distinct times.
class Tabulated : public CensoringCurve {
 public:
  void apply(const TargetView& target, std::size_t row, Curve& curve) override {
    prepare(target, row);
    curve.censoring.resize(curve.steps.size());
    for (std::size_t k = 0; k < curve.steps.size(); ++k)
      curve.censoring[k] = g_[curve.steps[k].time];
    survival_of_ratio(curve);
  }
  std::span<const double> everywhere() const override { return g_; }

 protected:
  virtual void prepare(const TargetView&, std::size_t) {}
  std::vector<double> g_;
};

// Ordinary Kaplan-Meier of the whole sample, ignoring x.
class Marginal final : public Tabulated {
 public:
  explicit Marginal(const TargetView& target) {
    kaplan_meier_of_censoring(
        target, [&](Rank r) { return target.weight.empty() ? 1.0 : target.weight[r]; }, g_);
  }
};

// Beran's estimator with Nadaraya-Watson weights (paper eq. Beran).
class Kernel final : public Tabulated {
 public:
  explicit Kernel(const CensoringOptions& options) : options_(options) {}

 protected:
  void prepare(const TargetView& target, std::size_t row) override {
    const std::size_t p = options_.n_coordinates;
    const double* x = options_.test_points.data() + row * p;
    weight_.resize(target.time_index.size());
    double nearest = std::numeric_limits<double>::infinity();
    for (std::size_t r = 0; r < weight_.size(); ++r) {
      const double* point = options_.train_points.data() + r * p;
      double distance = 0;
      for (std::size_t f = 0; f < p; ++f) {
        const double difference = x[f] - point[f];
        // A value missing on either side says nothing about the distance.
        if (!std::isnan(difference)) distance += difference * difference;
      }
      weight_[r] = distance;
      nearest = std::min(nearest, distance);
    }
    // Relative to the nearest row, so that far from all of them the weights do not all vanish.
    for (std::size_t r = 0; r < weight_.size(); ++r)
      weight_[r] =
          std::exp((nearest - weight_[r]) / 2) * (target.weight.empty() ? 1.0 : target.weight[r]);
    kaplan_meier_of_censoring(target, [&](Rank r) { return weight_[r]; }, g_);
  }

 private:
  CensoringOptions options_;
  std::vector<double> weight_;
};

}  // namespace

std::unique_ptr<CensoringCurve> make_censoring_curve(const CensoringOptions& options,
                                                     const TargetView& target) {
  if (options.kind == "beran") return std::make_unique<Beran>(options.needs_censoring);
  if (options.kind == "knn") return std::make_unique<NearestNeighbors>(options.n_neighbors);
  if (options.kind == "marginal") return std::make_unique<Marginal>(target);
  if (options.kind == "kernel") return std::make_unique<Kernel>(options);
  throw std::invalid_argument("unknown censoring curve: " + options.kind);
}

}  // namespace cqrf
