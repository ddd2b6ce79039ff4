// Features as they come: numbers of any type, dense or sparse, read where they lie.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "../parallel.hpp"

namespace cqrf {

enum class Number : std::uint8_t {
  kInt8,
  kInt16,
  kInt32,
  kInt64,
  kUint8,
  kUint16,
  kUint32,
  kUint64,
  kFloat32,
  kFloat64,
};

// Numbers at equal distances in memory.
struct Column {
  const std::byte* data;
  std::ptrdiff_t stride;  // in bytes
  Number type;

  bool is_float() const { return type == Number::kFloat32 || type == Number::kFloat64; }
  double at(std::size_t i) const;
  // out[i] = the number at begin + i.
  void read(std::size_t begin, std::size_t count, double* out) const;
};

// A cell of a table and what it holds.
struct Cell {
  std::size_t row;
  std::size_t column;
  double value;
};

// A table of n rows and p columns whose values are read as doubles, so that nothing downstream
// depends on how they are stored.
class Features {
 public:
  virtual ~Features() = default;
  virtual std::size_t rows() const = 0;
  virtual std::size_t columns() const = 0;

  // out[i] = value of row begin + i.
  virtual void read(std::size_t column, std::size_t begin, std::size_t count,
                    double* out) const = 0;
  // out[i] = value of rows[i]; rows ascend.
  virtual void gather(std::size_t column, std::span<const std::int64_t> rows,
                      double* out) const = 0;
  // The infinite cell of the first column that has any, in its first row.
  virtual std::optional<Cell> first_infinite(int n_threads, Monitor& monitor) const = 0;
};

class DenseFeatures final : public Features {
 public:
  DenseFeatures(std::vector<Column> columns, std::size_t rows)
      : columns_(std::move(columns)), rows_(rows) {}

  std::size_t rows() const override { return rows_; }
  std::size_t columns() const override { return columns_.size(); }
  void read(std::size_t column, std::size_t begin, std::size_t count, double* out) const override;
  void gather(std::size_t column, std::span<const std::int64_t> rows, double* out) const override;
  std::optional<Cell> first_infinite(int n_threads, Monitor& monitor) const override;

 private:
  std::vector<Column> columns_;
  std::size_t rows_;
};

// Compressed columns: column f stores the rows indices[indptr[f]], ..., ascending, with their
// values; all other rows hold implicit[f].
class SparseFeatures final : public Features {
 public:
  // Throws if an index is out of range or not in order.
  SparseFeatures(std::span<const std::int64_t> indptr, std::span<const std::int32_t> indices,
                 Column values, std::span<const double> implicit, std::size_t rows);

  std::size_t rows() const override { return rows_; }
  std::size_t columns() const override { return implicit_.size(); }
  void read(std::size_t column, std::size_t begin, std::size_t count, double* out) const override;
  void gather(std::size_t column, std::span<const std::int64_t> rows, double* out) const override;
  std::optional<Cell> first_infinite(int n_threads, Monitor& monitor) const override;

 private:
  std::span<const std::int64_t> indptr_;
  std::span<const std::int32_t> indices_;
  Column values_;
  std::span<const double> implicit_;
  std::size_t rows_;
};

// Rows that are worked on together: the cache lines that one column touches still hold its
// neighbours when their turn comes.
std::size_t rows_per_block(std::size_t n_columns);

}  // namespace cqrf
