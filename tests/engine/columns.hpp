// Tables for tests: vectors seen as features.
#pragma once

#include <span>
#include <type_traits>
#include <vector>

#include "features/columns.hpp"

template <class T>
cqrf::Number number_type() {
  using cqrf::Number;
  if constexpr (std::is_same_v<T, double>) return Number::kFloat64;
  if constexpr (std::is_same_v<T, float>) return Number::kFloat32;
  if constexpr (std::is_same_v<T, std::int8_t>) return Number::kInt8;
  if constexpr (std::is_same_v<T, std::int16_t>) return Number::kInt16;
  if constexpr (std::is_same_v<T, std::int32_t>) return Number::kInt32;
  if constexpr (std::is_same_v<T, std::int64_t>) return Number::kInt64;
  if constexpr (std::is_same_v<T, std::uint8_t>) return Number::kUint8;
  if constexpr (std::is_same_v<T, std::uint16_t>) return Number::kUint16;
  if constexpr (std::is_same_v<T, std::uint32_t>) return Number::kUint32;
  if constexpr (std::is_same_v<T, std::uint64_t>) return Number::kUint64;
}

// Strides count elements.
template <class T>
cqrf::DenseFeatures dense(std::span<const T> values, std::size_t n, std::size_t p,
                          std::ptrdiff_t row_stride, std::ptrdiff_t column_stride) {
  const auto size = static_cast<std::ptrdiff_t>(sizeof(T));
  std::vector<cqrf::Column> columns;
  for (std::size_t f = 0; f < p; ++f)
    columns.push_back({reinterpret_cast<const std::byte*>(values.data()) +
                           static_cast<std::ptrdiff_t>(f) * column_stride * size,
                       row_stride * size, number_type<T>()});
  return {columns, n};
}

template <class Values>
cqrf::DenseFeatures dense(const Values& values, std::size_t n, std::size_t p,
                          std::ptrdiff_t row_stride, std::ptrdiff_t column_stride) {
  return dense(std::span<const typename Values::value_type>(values), n, p, row_stride,
               column_stride);
}

// One row after the other.
template <class Values>
cqrf::DenseFeatures dense(const Values& values, std::size_t n, std::size_t p) {
  return dense(values, n, p, static_cast<std::ptrdiff_t>(p), 1);
}

// The cells other than zero of a table that is stored column after column.
struct Compressed {
  Compressed(const std::vector<double>& columns, std::size_t n, std::size_t p)
      : implicit(p, 0.0), rows(n) {
    for (std::size_t f = 0; f < p; ++f) {
      for (std::size_t i = 0; i < n; ++i)
        if (columns[f * n + i] != 0) {
          indices.push_back(static_cast<std::int32_t>(i));
          values.push_back(columns[f * n + i]);
        }
      indptr.push_back(static_cast<std::int64_t>(indices.size()));
    }
  }

  cqrf::SparseFeatures features() const {
    return {
        indptr,
        indices,
        {reinterpret_cast<const std::byte*>(values.data()), sizeof(double), cqrf::Number::kFloat64},
        implicit,
        rows};
  }

  std::vector<std::int64_t> indptr{0};
  std::vector<std::int32_t> indices;
  std::vector<double> values;
  std::vector<double> implicit;
  std::size_t rows;
};
