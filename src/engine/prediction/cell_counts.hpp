// What a leaf has in every cell (cells.hpp).
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "../simd.hpp"
#include "cell_bounds.hpp"
#include "forest.hpp"

namespace cqrf {

class CellCounts {
 public:
  static constexpr double kPlaceUnit = 0.25;  // of a cell, in which places are told

  CellCounts(const CellBounds& bounds, bool censored);

  void count(const Forest& forest, const Leaf& leaf);

  // Of members, (cells,).
  std::span<const std::int32_t> all() const { return numbers_[0]; }
  // Moves what fits bytes to a record: numbers of members, (cells,); with censoring, numbers of
  // censorings, and sums of the places of events and of censorings, (cells,) each. Returns whether
  // anything is left.
  bool move_to(std::uint8_t* record);

 private:
  // Of censorings and events, twice, in turn: additions to the same would wait for each other. A
  // sum has the number of members from kNumber on, and twice that of their places below, which is
  // one addition.
  using Sums = std::array<std::array<std::uint64_t, 2>, 2>;
  static constexpr int kNumber = 40;

  std::size_t cell_with(Rank rank) const {
    std::size_t cell = first_cell_[rank >> run_shift_];
    // Most runs have no bound or one: without a branch for that.
    cell += rank >= bounds_[cell + 1];
    while (rank >= bounds_[cell + 1]) ++cell;
    return cell;
  }
  void add(Rank first, std::uint16_t low, std::size_t turn);
  std::uint64_t sum(std::size_t event, std::size_t cell) const {
    return sums_[cell][0][event] + sums_[cell][1][event];
  }
  static std::int32_t number(std::uint64_t sum) {
    return static_cast<std::int32_t>(sum >> kNumber);
  }
  static std::int32_t places(std::uint64_t sum, std::int32_t size);
  struct Tell;
  struct Take;

  CellBounds bounds_;
  // The cell with the first one of every run of 2^run_shift_ ranks.
  int run_shift_ = 0;
  std::vector<std::uint16_t> first_cell_;
  std::vector<std::int32_t> size_;
  Isa isa_;
  std::vector<Sums> sums_;
  // Members; with censoring, censorings, and distances of events and of censorings from the middle
  // of the cell.
  std::vector<std::vector<std::int32_t>> numbers_;
};

}  // namespace cqrf
