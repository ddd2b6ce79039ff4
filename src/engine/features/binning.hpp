// Features binned once: cut points from quantiles of the training data, then a byte per value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "../index.hpp"
#include "../parallel.hpp"
#include "columns.hpp"

namespace cqrf {

// How one feature's values become bins. A numeric value x has the bin #{cuts < x}; a category
// code has the bin category_bins[code]. NaN and unknown codes have the bin after the last.
struct FeatureBins {
  bool categorical = false;
  std::vector<double> cuts;        // ascending; numeric features only
  std::vector<Bin> category_bins;  // categorical features only
  int n_bins = 1;                  // value bins, the missing bin not counted

  Bin missing() const { return static_cast<Bin>(n_bins); }
  Bin bin(double value) const;
  // out[i * step] = bin of values[i].
  void bin(std::span<const double> values, Bin* out, std::size_t step) const;

 private:
  Bin category_bin(double code) const;
};

// Cut points of every feature from the rows in `rows` with their weights in (0, 1] (empty: all
// one). n_categories[f] > 0 marks a categorical feature whose values are codes 0, 1, ...,
// negative or NaN where missing.
//
// Numeric cuts come from at most 100,000 of the rows, at equal distances in `rows`. No row may be
// given twice.
std::vector<FeatureBins> find_bins(const Features& x, std::span<const std::int64_t> rows,
                                   std::span<const double> weights,
                                   std::span<const std::int64_t> n_categories, int max_bins,
                                   int n_threads, Monitor& monitor);

// out[i * p + f] = bin of x(rows[i], f), or of x(i, f) when `rows` is empty. No row may be given
// twice.
void bin_rows(const Features& x, std::span<const std::int64_t> rows,
              const std::vector<FeatureBins>& features, Bin* out, int n_threads, Monitor& monitor);

}  // namespace cqrf
