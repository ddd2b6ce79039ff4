// Features binned once: cut points from quantiles of the training data, then a byte per value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "../index.hpp"
#include "../parallel.hpp"

namespace cqrf {

// A matrix of float or double seen through strides (in elements), so that no layout is copied.
template <class T>
struct Matrix {
  const T* data;
  std::size_t rows;
  std::size_t columns;
  std::ptrdiff_t row_stride;
  std::ptrdiff_t column_stride;

  T at(std::size_t row, std::size_t column) const {
    return data[static_cast<std::ptrdiff_t>(row) * row_stride +
                static_cast<std::ptrdiff_t>(column) * column_stride];
  }
};

// How one feature's values become bins. A numeric value x has the bin #{cuts < x}; a category
// code has the bin category_bins[code]. NaN and unknown codes have the bin after the last.
struct FeatureBins {
  bool categorical = false;
  std::vector<double> cuts;        // ascending; numeric features only
  std::vector<Bin> category_bins;  // categorical features only
  int n_bins = 1;                  // value bins, the missing bin not counted

  Bin missing() const { return static_cast<Bin>(n_bins); }
  Bin bin(double value) const;
};

// Cut points of every feature from the rows in `rows` with their weights (empty: all one).
// n_categories[f] > 0 marks a categorical feature whose values are codes 0, 1, ...
template <class T>
std::vector<FeatureBins> find_bins(const Matrix<T>& x, std::span<const std::int64_t> rows,
                                   std::span<const double> weights,
                                   std::span<const std::int64_t> n_categories, int max_bins,
                                   int n_threads, Monitor& monitor);

// out[i * p + f] = bin of x(rows[i], f), or of x(i, f) when `rows` is empty.
template <class T>
void bin_rows(const Matrix<T>& x, std::span<const std::int64_t> rows, std::size_t n_out,
              const std::vector<FeatureBins>& features, Bin* out, int n_threads, Monitor& monitor);

}  // namespace cqrf
