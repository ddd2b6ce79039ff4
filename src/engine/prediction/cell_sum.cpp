#include "cell_sum.hpp"

namespace cqrf {
namespace {

// So small a share of the weight that few terms of a series are enough.
constexpr double kFewAtOnce = 0.1;

}  // namespace

double fall_factor(double behind, double events, double censored, double order) {
  if (events == 0) return 1;
  const double from = behind + (events + censored);
  if (censored == 0 || behind == 0) return behind / from;
  const double inverse = 1 / from;
  const double all = (events + censored) * inverse;
  const double at_risk = from - (events + censored) / 2;
  const double change = order / (at_risk * at_risk);
  // Terms of higher order are left out: without the bound, S might rise.
  if (all > kFewAtOnce)
    return std::min(1.0, std::exp(std::log1p(-all) * events / (events + censored) + change));
  // The same by series, in a fraction of the time.
  const double logarithm =
      -(1 + all * (1.0 / 2 + all * (1.0 / 3 + all * (1.0 / 4 + all * (1.0 / 5)))));
  const double x = logarithm * events * inverse + change;
  return std::min(1.0, 1 + x * (1 + x * (1.0 / 2) * (1 + x * (1.0 / 3) * (1 + x * (1.0 / 4)))));
}

}  // namespace cqrf
