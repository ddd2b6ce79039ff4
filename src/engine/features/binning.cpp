#include "binning.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>

#include "../radix_sort.hpp"

namespace cqrf {
namespace {

// Cut points move by less than the width of a bin when they come from this many rows.
constexpr std::size_t kRowsForCuts = 100'000;
// Searches that run side by side: each waits for its own loads and for nobody else's.
constexpr std::size_t kSearches = 8;
// Weights of categories are summed as multiples of this, exactly, in any order.
constexpr double kWeightUnit = 0x1p-32;
constexpr Rank kLeftOut = std::numeric_limits<Rank>::max();

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

// Summed weight of every category, in any order of the rows.
std::vector<std::uint64_t> category_weights(const Features& x, std::size_t f,
                                            std::size_t n_categories, std::span<const Rank> rank_of,
                                            std::span<const double> weights) {
  std::vector<std::uint64_t> total(n_categories, 0);
  const std::size_t block_size = rows_per_block(1);
  std::vector<double> codes(block_size);
  for (std::size_t begin = 0; begin < x.rows(); begin += block_size) {
    const std::size_t count = std::min(x.rows(), begin + block_size) - begin;
    x.read(f, begin, count, codes.data());
    for (std::size_t i = 0; i < count; ++i) {
      const Rank rank = rank_of[begin + i];
      // Not in the training rows, or missing: negative or NaN.
      if (rank == kLeftOut || !(codes[i] >= 0)) continue;
      if (codes[i] >= static_cast<double>(n_categories))
        throw std::invalid_argument("category code out of range");
      total[static_cast<std::size_t>(codes[i])] +=
          weights.empty() ? 1 : static_cast<std::uint64_t>(std::ceil(weights[rank] / kWeightUnit));
    }
  }
  return total;
}

// The heaviest categories have a bin each; the rest, if there are too many, share the last one. A
// category without weight is as unknown as one that was never seen.
FeatureBins categorical_bins(const std::vector<std::uint64_t>& weight, int max_bins) {
  std::vector<std::size_t> seen;
  for (std::size_t code = 0; code < weight.size(); ++code)
    if (weight[code] > 0) seen.push_back(code);
  if (seen.size() > static_cast<std::size_t>(max_bins))
    std::stable_sort(seen.begin(), seen.end(),
                     [&](std::size_t a, std::size_t b) { return weight[a] > weight[b]; });
  FeatureBins bins;
  bins.categorical = true;
  bins.n_bins =
      static_cast<int>(std::clamp<std::size_t>(seen.size(), 1, static_cast<std::size_t>(max_bins)));
  bins.category_bins.assign(weight.size(), bins.missing());
  for (std::size_t i = 0; i < seen.size(); ++i)
    bins.category_bins[seen[i]] =
        static_cast<Bin>(std::min<std::size_t>(i, static_cast<std::size_t>(max_bins) - 1));
  return bins;
}

// The rank of every row that has one: the inverse of `rows`.
std::vector<Rank> ranks_of_rows(std::span<const std::int64_t> rows, std::size_t n_rows) {
  std::vector<Rank> rank_of(n_rows, kLeftOut);
  for (std::size_t rank = 0; rank < rows.size(); ++rank) {
    Rank& own = rank_of[static_cast<std::size_t>(rows[rank])];
    if (own != kLeftOut) throw std::invalid_argument("a row is given twice");
    own = static_cast<Rank>(rank);
  }
  return rank_of;
}

// The rows that cut points are made of: in the order of the table, as they are read best, and
// where each stands in `rows`.
struct Sample {
  std::vector<std::int64_t> rows;
  std::vector<std::size_t> rank;
};

Sample take_sample(std::span<const std::int64_t> rows, std::size_t n_rows) {
  const std::size_t used = std::min(rows.size(), kRowsForCuts);
  const auto rank = [&](std::size_t i) { return i * rows.size() / used; };
  std::vector<std::int64_t> chosen(used);
  for (std::size_t i = 0; i < used; ++i) chosen[i] = rows[rank(i)];
  const std::vector<Rank> place = ranks_of_rows(chosen, n_rows);
  Sample sample;
  sample.rows.reserve(used);
  sample.rank.reserve(used);
  for (std::size_t row = 0; row < n_rows; ++row) {
    if (place[row] == kLeftOut) continue;
    sample.rows.push_back(static_cast<std::int64_t>(row));
    sample.rank.push_back(rank(place[row]));
  }
  return sample;
}

FeatureBins numeric_bins(const Features& x, std::size_t f, const Sample& sample,
                         std::span<const double> weights, int max_bins) {
  std::vector<double> values(sample.rows.size());
  x.gather(f, sample.rows, values.data());
  if (weights.empty()) {
    std::erase_if(values, [](double value) { return std::isnan(value); });
    return numeric_bins(distinct_values(values), max_bins);
  }
  std::vector<std::pair<std::size_t, double>> ranked;
  std::vector<Weighted> weighted;
  for (std::size_t i = 0; i < values.size(); ++i)
    if (!std::isnan(values[i])) ranked.emplace_back(sample.rank[i], values[i]);
  // Sums of weights are rounded: in rank order, so that the order of the table does not matter.
  std::sort(ranked.begin(), ranked.end());
  for (const auto& [rank, value] : ranked) weighted.push_back({value, weights[rank]});
  return numeric_bins(distinct_values(weighted), max_bins);
}

}  // namespace

Bin FeatureBins::category_bin(double code) const {
  const bool known = code >= 0 && code < static_cast<double>(category_bins.size());
  return known ? category_bins[static_cast<std::size_t>(code)] : missing();
}

Bin FeatureBins::bin(double value) const {
  Bin found;
  bin({&value, 1}, &found, 1);
  return found;
}

void FeatureBins::bin(std::span<const double> values, Bin* out, std::size_t step) const {
  if (categorical) {
    for (std::size_t i = 0; i < values.size(); ++i) out[i * step] = category_bin(values[i]);
    return;
  }
  // Lower bounds whose steps depend on the number of cuts alone: nothing to mispredict.
  const auto search = [&]<std::size_t Count>(const double* value, Bin* bins) {
    std::array<std::uint32_t, Count> at{};
    std::size_t length = cuts.size();
    for (; length > 1; length -= length / 2) {
      const auto half = static_cast<std::uint32_t>(length / 2);
      for (std::size_t k = 0; k < Count; ++k)
        at[k] += static_cast<std::uint32_t>(cuts[at[k] + half - 1] < value[k]) * half;
    }
    for (std::size_t k = 0; k < Count; ++k) {
      const std::size_t below = at[k] + (length == 1 && cuts[at[k]] < value[k] ? 1 : 0);
      bins[k * step] = std::isnan(value[k]) ? missing() : static_cast<Bin>(below);
    }
  };
  std::size_t i = 0;
  for (; i + kSearches <= values.size(); i += kSearches)
    search.template operator()<kSearches>(&values[i], out + i * step);
  for (; i < values.size(); ++i) search.template operator()<1>(&values[i], out + i * step);
}

std::vector<FeatureBins> find_bins(const Features& x, std::span<const std::int64_t> rows,
                                   std::span<const double> weights,
                                   std::span<const std::int64_t> n_categories, int max_bins,
                                   int n_threads, Monitor& monitor) {
  const bool any_numeric = std::ranges::any_of(n_categories, [](auto n) { return n == 0; });
  const bool any_category = std::ranges::any_of(n_categories, [](auto n) { return n > 0; });
  const Sample sample = any_numeric ? take_sample(rows, x.rows()) : Sample{};
  const auto rank_of = any_category ? ranks_of_rows(rows, x.rows()) : std::vector<Rank>{};
  std::vector<FeatureBins> features(x.columns());
  parallel_for(x.columns(), n_threads, monitor, [&](std::size_t f, int) {
    // Quantiles are content with a part of the rows; every category must be counted.
    const auto n = static_cast<std::size_t>(n_categories[f]);
    features[f] = n > 0 ? categorical_bins(category_weights(x, f, n, rank_of, weights), max_bins)
                        : numeric_bins(x, f, sample, weights, max_bins);
  });
  return features;
}

void bin_rows(const Features& x, std::span<const std::int64_t> rows,
              const std::vector<FeatureBins>& features, Bin* out, int n_threads, Monitor& monitor) {
  // The table is read in its own order, where memory comes in long runs, and the short binned rows
  // are written where they belong.
  struct Scratch {
    std::vector<double> values;
    std::vector<Bin> bins;
  };
  const std::size_t p = x.columns();
  const auto rank_of = rows.empty() ? std::vector<Rank>{} : ranks_of_rows(rows, x.rows());
  const std::size_t block_size = rows_per_block(p);
  std::vector<Scratch> scratch(static_cast<std::size_t>(std::max(1, n_threads)));
  parallel_for((x.rows() + block_size - 1) / block_size, n_threads, monitor,
               [&](std::size_t block, int worker) {
                 const std::size_t begin = block * block_size;
                 const std::size_t count = std::min(x.rows(), begin + block_size) - begin;
                 Scratch& own = scratch[static_cast<std::size_t>(worker)];
                 own.values.resize(count);
                 if (!rows.empty()) own.bins.resize(count * p);
                 Bin* const to = rows.empty() ? out + begin * p : own.bins.data();
                 for (std::size_t f = 0; f < p; ++f) {
                   x.read(f, begin, count, own.values.data());
                   features[f].bin(own.values, to + f, p);
                 }
                 if (rows.empty()) return;
                 for (std::size_t i = 0; i < count; ++i)
                   if (const Rank rank = rank_of[begin + i]; rank != kLeftOut)
                     std::memcpy(out + std::size_t{rank} * p, to + i * p, p);
               });
}

}  // namespace cqrf
