#include "columns.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <mutex>
#include <stdexcept>

namespace cqrf {
namespace {

template <class Visit>
auto with_type(Number type, Visit visit) {
  switch (type) {
    case Number::kInt8:
      return visit(std::int8_t{});
    case Number::kInt16:
      return visit(std::int16_t{});
    case Number::kInt32:
      return visit(std::int32_t{});
    case Number::kInt64:
      return visit(std::int64_t{});
    case Number::kUint8:
      return visit(std::uint8_t{});
    case Number::kUint16:
      return visit(std::uint16_t{});
    case Number::kUint32:
      return visit(std::uint32_t{});
    case Number::kUint64:
      return visit(std::uint64_t{});
    case Number::kFloat32:
      return visit(float{});
    case Number::kFloat64:
      break;
  }
  return visit(double{});
}

template <class T>
double load(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof(T));
  return static_cast<double>(value);
}

// Free of branches, and false for NaN.
bool any_infinite(const double* values, std::size_t count) {
  bool any = false;
  for (std::size_t i = 0; i < count; ++i)
    any |= std::abs(values[i]) > std::numeric_limits<double>::max();
  return any;
}

}  // namespace

double Column::at(std::size_t i) const {
  const std::byte* const place = data + static_cast<std::ptrdiff_t>(i) * stride;
  return with_type(type, [&](auto zero) { return load<decltype(zero)>(place); });
}

void Column::read(std::size_t begin, std::size_t count, double* out) const {
  const std::byte* const first = data + static_cast<std::ptrdiff_t>(begin) * stride;
  with_type(type, [&](auto zero) {
    using T = decltype(zero);
    // Known at compile time, the step of a contiguous column lets several numbers be converted
    // at once.
    if (stride == sizeof(T))
      for (std::size_t i = 0; i < count; ++i) out[i] = load<T>(first + i * sizeof(T));
    else
      for (std::size_t i = 0; i < count; ++i)
        out[i] = load<T>(first + static_cast<std::ptrdiff_t>(i) * stride);
  });
}

void DenseFeatures::read(std::size_t column, std::size_t begin, std::size_t count,
                         double* out) const {
  columns_[column].read(begin, count, out);
}

void DenseFeatures::gather(std::size_t column, std::span<const std::int64_t> rows,
                           double* out) const {
  const Column& from = columns_[column];
  with_type(from.type, [&](auto zero) {
    for (std::size_t i = 0; i < rows.size(); ++i)
      out[i] = load<decltype(zero)>(from.data + rows[i] * from.stride);
  });
}

std::optional<Cell> DenseFeatures::first_infinite(int n_threads, Monitor& monitor) const {
  const std::size_t block_size = rows_per_block(columns());
  std::mutex mutex;
  std::optional<Cell> first;
  parallel_for((rows_ + block_size - 1) / block_size, n_threads, monitor,
               [&](std::size_t block, int) {
                 std::vector<double> values(block_size);
                 const std::size_t begin = block * block_size;
                 const std::size_t count = std::min(rows_, begin + block_size) - begin;
                 for (std::size_t f = 0; f < columns(); ++f) {
                   if (!columns_[f].is_float()) continue;
                   read(f, begin, count, values.data());
                   if (!any_infinite(values.data(), count)) continue;
                   std::size_t i = 0;
                   while (!std::isinf(values[i])) ++i;
                   const Cell found{begin + i, f, values[i]};
                   const std::lock_guard lock(mutex);
                   if (!first || found.column < first->column ||
                       (found.column == first->column && found.row < first->row))
                     first = found;
                   return;
                 }
               });
  return first;
}

SparseFeatures::SparseFeatures(std::span<const std::int64_t> indptr,
                               std::span<const std::int32_t> indices, Column values,
                               std::span<const double> implicit, std::size_t rows)
    : indptr_(indptr), indices_(indices), values_(values), implicit_(implicit), rows_(rows) {
  if (indptr.size() != implicit.size() + 1 || indptr.front() != 0 ||
      indptr.back() != static_cast<std::int64_t>(indices.size()) ||
      !std::is_sorted(indptr.begin(), indptr.end()))
    throw std::invalid_argument("sparse columns are not consistent");
  for (std::size_t f = 0; f < implicit.size(); ++f) {
    std::int64_t above = -1;
    for (std::int64_t k = indptr[f]; k < indptr[f + 1]; ++k) {
      const std::int32_t row = indices[static_cast<std::size_t>(k)];
      if (row <= above || row >= static_cast<std::int64_t>(rows))
        throw std::invalid_argument("sparse rows are out of range or not in order");
      above = row;
    }
  }
}

void SparseFeatures::read(std::size_t column, std::size_t begin, std::size_t count,
                          double* out) const {
  std::fill(out, out + count, implicit_[column]);
  const auto last = indices_.begin() + indptr_[column + 1];
  for (auto at = std::lower_bound(indices_.begin() + indptr_[column], last,
                                  static_cast<std::int64_t>(begin));
       at != last && static_cast<std::size_t>(*at) < begin + count; ++at)
    out[static_cast<std::size_t>(*at) - begin] =
        values_.at(static_cast<std::size_t>(at - indices_.begin()));
}

void SparseFeatures::gather(std::size_t column, std::span<const std::int64_t> rows,
                            double* out) const {
  auto at = indices_.begin() + indptr_[column];
  const auto last = indices_.begin() + indptr_[column + 1];
  for (std::size_t i = 0; i < rows.size(); ++i) {
    while (at != last && *at < rows[i]) ++at;
    out[i] = at != last && *at == rows[i]
                 ? values_.at(static_cast<std::size_t>(at - indices_.begin()))
                 : implicit_[column];
  }
}

std::optional<Cell> SparseFeatures::first_infinite(int, Monitor&) const {
  if (!values_.is_float()) return std::nullopt;
  for (std::size_t f = 0; f < columns(); ++f)
    for (std::int64_t k = indptr_[f]; k < indptr_[f + 1]; ++k) {
      const double value = values_.at(static_cast<std::size_t>(k));
      if (std::isinf(value))
        return Cell{static_cast<std::size_t>(indices_[static_cast<std::size_t>(k)]), f, value};
    }
  return std::nullopt;
}

std::size_t rows_per_block(std::size_t n_columns) {
  constexpr std::size_t kCells = std::size_t{1} << 18;
  return std::clamp<std::size_t>(kCells / std::max<std::size_t>(1, n_columns), 64, 1024);
}

}  // namespace cqrf
