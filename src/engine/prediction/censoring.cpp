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
void solve_survival(Curve& curve) {
  double survival = 1;
  for (Step& step : curve.steps) {
    step.jump = false;
    if (step.candidate && step.censoring > 0) {
      const double ratio = step.after / step.censoring;
      // Between its jumps P / G is constant up to rounding; that is no fall.
      if (ratio < survival - kLevelTolerance) {
        survival = ratio;
        step.jump = true;
      }
    }
    step.survival = survival;
  }
}

// Kaplan-Meier on the rows of largest weight, each counting as one (paper eq. KM_kNN).
class NearestNeighbors final : public CensoringCurve {
 public:
  explicit NearestNeighbors(std::size_t k) : k_(k) {}

  void apply(const TargetView& target, std::size_t, Curve& curve) override {
    neighbors_ = curve.weights;
    if (neighbors_.size() > k_) {
      const auto closer = [&](const RankWeight& a, const RankWeight& b) {
        return a.weight != b.weight ? a.weight > b.weight
                                    : target.order[a.rank] < target.order[b.rank];
      };
      std::nth_element(neighbors_.begin(), neighbors_.begin() + static_cast<std::ptrdiff_t>(k_ - 1),
                       neighbors_.end(), closer);
      neighbors_.resize(k_);
      std::sort(neighbors_.begin(), neighbors_.end(),
                [](const RankWeight& a, const RankWeight& b) { return a.rank < b.rank; });
    }
    for (RankWeight& neighbor : neighbors_)
      neighbor.weight = target.weight.empty() ? 1.0 : target.weight[neighbor.rank];
    near_.weights.swap(neighbors_);
    beran(target, near_);
    near_.weights.swap(neighbors_);
    // Both lists of steps are in time order, and the neighbours' times are among the others.
    std::size_t next = 0;
    double g = 1;
    for (Step& step : curve.steps) {
      step.candidate = next < near_.steps.size() && near_.steps[next].time == step.time;
      if (step.candidate) g = near_.steps[next++].censoring;
      step.censoring = g;
    }
    // The argmin rule's guard looks at events among the neighbours only.
    next = 0;
    for (Step& step : curve.steps)
      if (step.candidate) {
        step.events = near_.steps[next].events;
        step.censored = near_.steps[next++].censored;
      } else {
        step.events = step.censored = 0;
      }
    solve_survival(curve);
  }

 private:
  std::size_t k_;
  std::vector<RankWeight> neighbors_;
  Curve near_;
};

// A curve known at all distinct times.
class Tabulated : public CensoringCurve {
 public:
  void apply(const TargetView& target, std::size_t row, Curve& curve) override {
    prepare(target, row);
    for (Step& step : curve.steps) step.censoring = g_[step.time];
    solve_survival(curve);
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
      weight_[r] = std::exp((nearest - weight_[r]) / 2) *
                   (target.weight.empty() ? 1.0 : target.weight[r]);
    kaplan_meier_of_censoring(target, [&](Rank r) { return weight_[r]; }, g_);
  }

 private:
  CensoringOptions options_;
  std::vector<double> weight_;
};

}  // namespace

std::unique_ptr<CensoringCurve> make_censoring_curve(const CensoringOptions& options,
                                                     const TargetView& target) {
  if (options.kind == "beran") return nullptr;
  if (options.kind == "knn") return std::make_unique<NearestNeighbors>(options.n_neighbors);
  if (options.kind == "marginal") return std::make_unique<Marginal>(target);
  if (options.kind == "kernel") return std::make_unique<Kernel>(options);
  throw std::invalid_argument("unknown censoring curve: " + options.kind);
}

}  // namespace cqrf
