// What leaves hold by *cells*, long runs of ranks: sums over cells instead of members.
//
// For every leaf and cell: where its members of the cell begin, how many of them are events, and
// the mean places of events and of censorings in the cell. All of it is added up over the leaves of
// a test point; D and C are the weights of events and censorings in a cell, x_D and x_C their mean
// places, from 0 to 1, and R_0 and R_1 the weights from the cell on and behind it. If events and
// censorings came in the same proportion throughout the cell, S would fall in it by the factor
// (R_1 / R_0)^(D / (D + C)). The order in which they do come changes its logarithm by
//
//   D C / R^2 (x_C - x_D),   R = (R_0 + R_1) / 2,
//
// and terms that are smaller by about the square root of the number of rows in the cell.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "../parallel.hpp"
#include "../simd.hpp"
#include "forest.hpp"

namespace cqrf {

// How many runs of 2^shift ranks it takes for all of n.
inline std::size_t n_runs(std::size_t n_rows, int shift) { return ((n_rows - 1) >> shift) + 1; }

class Cells {
 public:
  static constexpr int kLevelBits = 8;  // levels of a cell, as a power of two, at most

  // The size of the cells of a forest, as a power of two: no more than `most` cells, and so few
  // that they take at most a quarter of the memory of the members. Zero where that leaves too few
  // of them, or where two bytes do not tell a place in a leaf.
  static int shift_for(const Forest& forest, std::size_t most, bool censored);

  Cells(const Forest& forest, int shift, bool censored, int n_threads, Monitor& monitor);

  std::size_t size() const { return n_cells_; }
  std::size_t bytes() const { return data_.size() * sizeof(data_.front()); }
  int shift() const { return shift_; }
  // Levels of a cell are many: members of a leaf that follow each other in the same level would
  // wait for one another.
  int level_shift() const { return std::max(0, shift_ - kLevelBits); }

  // The members of a leaf that lie in a cell: places in the leaf.
  std::size_t begin(const Leaf& leaf, std::size_t cell) const { return record(leaf)[cell]; }
  std::size_t end(const Leaf& leaf, std::size_t cell) const { return record(leaf)[cell + 1]; }

  // Weights of a test point by cells, in whole vectors: (size(),) and some more.
  struct Sums {
    std::vector<float> events;
    std::vector<float> censored;
    std::vector<float> event_places;  // weights times places, from 0 to 255
    std::vector<float> censored_places;
    std::vector<const std::uint16_t*> records;  // of the leaves
    std::vector<float> shares;                  // one by the size of each leaf
  };
  void add_up(Isa isa, std::span<const Leaf> leaves, Sums& sums) const;

  // Asks memory for a leaf that is soon to be added up.
  void prefetch(const Leaf& leaf) const {
    constexpr std::size_t kCacheLine = 64 / sizeof(std::uint16_t);
    const std::uint16_t* const from = record(leaf);
    for (std::size_t i = 0; i < stride_; i += kCacheLine) __builtin_prefetch(from + i);
  }

 private:
  const std::uint16_t* record(const Leaf& leaf) const {
    return data_.data() + leaf.number * stride_;
  }

  int shift_;
  std::size_t n_cells_;
  bool censored_;
  std::size_t stride_;
  // (leaves, stride): begins, (n_cells + 1,); with censoring, numbers of events, (n_cells,), and
  // mean places, (n_cells,): those of events in the lower byte, those of censorings in the higher.
  std::vector<std::uint16_t> data_;
};

}  // namespace cqrf
