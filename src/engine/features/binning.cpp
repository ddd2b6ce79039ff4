#include "binning.hpp"

#include <algorithm>
#include <cmath>

#include "radix_sort.hpp"

namespace cqrf {
namespace {

// Cut points move by less than the width of a bin when they come from this many rows.
constexpr std::size_t kRowsForCuts = 100'000;
constexpr std::size_t kRowsPerBlock = 1024;

struct Weighted {
  double value;
  double weight;
};

// A cut c with a <= c < b, so that "x <= c" holds for a and not for b.
double between(double a, double b) {
  const double middle = a / 2 + b / 2;
  return middle < b && middle >= a ? middle : a;
}

// Sorted distinct values with their summed weights: a row of weight 3 is three equal rows.
std::vector<Weighted> distinct_values(std::vector<Weighted>& values) {
  std::sort(values.begin(), values.end(),
            [](const Weighted& a, const Weighted& b) { return a.value < b.value; });
  std::vector<Weighted> distinct;
  for (const Weighted& v : values) {
    if (!distinct.empty() && distinct.back().value == v.value)
      distinct.back().weight += v.weight;
    else
      distinct.push_back(v);
  }
  return distinct;
}

// The same for values that count alike.
std::vector<Weighted> distinct_values(std::vector<double>& values) {
  radix_sort(values);
  std::vector<Weighted> distinct;
  for (std::size_t begin = 0, end = 0; begin < values.size(); begin = end) {
    while (end < values.size() && values[end] == values[begin]) ++end;
    distinct.push_back({values[begin], static_cast<double>(end - begin)});
  }
  return distinct;
}

FeatureBins numeric_bins(const std::vector<Weighted>& values, int max_bins) {
  FeatureBins bins;
  if (values.size() < 2) return bins;
  if (values.size() <= static_cast<std::size_t>(max_bins)) {
    for (std::size_t i = 0; i + 1 < values.size(); ++i)
      bins.cuts.push_back(between(values[i].value, values[i + 1].value));
  } else {
    double total = 0;
    for (const auto& v : values) total += v.weight;
    double reached = 0;
    int next = 1;
    for (std::size_t i = 0; i + 1 < values.size() && next < max_bins; ++i) {
      reached += values[i].weight;
      if (reached < total * next / max_bins) continue;
      bins.cuts.push_back(between(values[i].value, values[i + 1].value));
      // A value heavier than a bin uses up several quantiles at once.
      while (next < max_bins && reached >= total * next / max_bins) ++next;
    }
  }
  bins.n_bins = static_cast<int>(bins.cuts.size()) + 1;
  return bins;
}

// The heaviest categories have a bin each; the rest, if there are too many, share the last one. A
// category without weight is as unknown as one that was never seen.
FeatureBins categorical_bins(const std::vector<Weighted>& values, std::size_t n_categories,
                             int max_bins) {
  std::vector<double> weight(n_categories, 0.0);
  for (const auto& v : values) weight[static_cast<std::size_t>(v.value)] += v.weight;
  std::vector<std::size_t> seen;
  for (std::size_t code = 0; code < n_categories; ++code)
    if (weight[code] > 0) seen.push_back(code);
  if (seen.size() > static_cast<std::size_t>(max_bins))
    std::stable_sort(seen.begin(), seen.end(),
                     [&](std::size_t a, std::size_t b) { return weight[a] > weight[b]; });
  FeatureBins bins;
  bins.categorical = true;
  bins.n_bins =
      static_cast<int>(std::clamp<std::size_t>(seen.size(), 1, static_cast<std::size_t>(max_bins)));
  bins.category_bins.assign(n_categories, bins.missing());
  for (std::size_t i = 0; i < seen.size(); ++i)
    bins.category_bins[seen[i]] =
        static_cast<Bin>(std::min<std::size_t>(i, static_cast<std::size_t>(max_bins) - 1));
  return bins;
}

}  // namespace

Bin FeatureBins::bin(double value) const {
  if (std::isnan(value)) return missing();
  if (categorical) {
    const bool known = value >= 0 && value < static_cast<double>(category_bins.size());
    return known ? category_bins[static_cast<std::size_t>(value)] : missing();
  }
  // A lower bound whose steps depend on the number of cuts alone: nothing to mispredict, and the
  // searches of neighbouring rows overlap.
  const double* base = cuts.data();
  std::size_t length = cuts.size();
  while (length > 1) {
    const std::size_t half = length / 2;
    base += static_cast<std::size_t>(base[half - 1] < value) * half;
    length -= half;
  }
  return static_cast<Bin>((base - cuts.data()) + (length == 1 && *base < value ? 1 : 0));
}

template <class T>
std::vector<FeatureBins> find_bins(const Matrix<T>& x, std::span<const std::int64_t> rows,
                                   std::span<const double> weights,
                                   std::span<const std::int64_t> n_categories, int max_bins,
                                   int n_threads, Monitor& monitor) {
  const std::size_t n_used = std::min(rows.size(), kRowsForCuts);
  std::vector<FeatureBins> features(x.columns);
  parallel_for(x.columns, n_threads, monitor, [&](std::size_t f, int) {
    // Every category must be counted; quantiles are content with evenly spaced rows.
    const bool categorical = n_categories[f] > 0;
    const std::size_t used = categorical ? rows.size() : n_used;
    const auto each = [&](auto take) {
      for (std::size_t i = 0; i < used; ++i) {
        const std::size_t at = used == rows.size() ? i : i * rows.size() / used;
        const double value = static_cast<double>(x.at(static_cast<std::size_t>(rows[at]), f));
        if (!std::isnan(value)) take(value, at);
      }
    };
    if (weights.empty() && !categorical) {
      std::vector<double> values;
      values.reserve(used);
      each([&](double value, std::size_t) { values.push_back(value); });
      features[f] = numeric_bins(distinct_values(values), max_bins);
      return;
    }
    std::vector<Weighted> values;
    values.reserve(used);
    each([&](double value, std::size_t at) {
      values.push_back({value, weights.empty() ? 1.0 : weights[at]});
    });
    features[f] =
        categorical ? categorical_bins(values, static_cast<std::size_t>(n_categories[f]), max_bins)
                    : numeric_bins(distinct_values(values), max_bins);
  });
  return features;
}

template <class T>
void bin_rows(const Matrix<T>& x, std::span<const std::int64_t> rows, std::size_t n_out,
              const std::vector<FeatureBins>& features, Bin* out, int n_threads, Monitor& monitor) {
  const std::size_t p = x.columns;
  const std::size_t blocks = (n_out + kRowsPerBlock - 1) / kRowsPerBlock;
  parallel_for(blocks, n_threads, monitor, [&](std::size_t block, int) {
    const std::size_t begin = block * kRowsPerBlock;
    const std::size_t end = std::min(n_out, begin + kRowsPerBlock);
    for (std::size_t f = 0; f < p; ++f) {
      const FeatureBins& feature = features[f];
      for (std::size_t i = begin; i < end; ++i) {
        const std::size_t row = rows.empty() ? i : static_cast<std::size_t>(rows[i]);
        out[i * p + f] = feature.bin(static_cast<double>(x.at(row, f)));
      }
    }
  });
}

template std::vector<FeatureBins> find_bins(const Matrix<float>&, std::span<const std::int64_t>,
                                            std::span<const double>, std::span<const std::int64_t>,
                                            int, int, Monitor&);
template std::vector<FeatureBins> find_bins(const Matrix<double>&, std::span<const std::int64_t>,
                                            std::span<const double>, std::span<const std::int64_t>,
                                            int, int, Monitor&);
template void bin_rows(const Matrix<float>&, std::span<const std::int64_t>, std::size_t,
                       const std::vector<FeatureBins>&, Bin*, int, Monitor&);
template void bin_rows(const Matrix<double>&, std::span<const std::int64_t>, std::size_t,
                       const std::vector<FeatureBins>&, Bin*, int, Monitor&);

}  // namespace cqrf
