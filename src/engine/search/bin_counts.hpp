// How many rows of a node are in each bin of a feature, for the features that stand side by side.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

#include "lane_rows.hpp"

namespace cqrf {

class BinCounts {
 public:
  // Takes the rows of a node, the highest bin of every lane, and the lanes (one bit each) that will
  // be asked for.
  void start(const LaneRows& rows, std::size_t n, const Lanes& highest, std::uint32_t lanes) {
    rows_ = rows;
    n_ = n;
    highest_ = highest;
    n_passes_ = 0;
    std::size_t few = 0;
    std::size_t passes = 0;
    for (std::uint32_t bits = lanes; bits != 0; bits &= bits - 1) {
      const std::size_t high = highest.bin[static_cast<std::size_t>(std::countr_zero(bits))];
      if (high > kMostPasses) continue;
      ++few;
      passes = std::max(passes, high);
    }
    if (passes > kPassesForOne * few) return;
    for (; n_passes_ < passes; ++n_passes_) {
      Lanes cut;
      cut.bin.fill(static_cast<Bin>(n_passes_));
      lane_counts(isa_, rows, n, cut, at_most_[n_passes_]);
    }
  }

  // Counts the rows in the bins of a lane, up to its last bin.
  void count(std::size_t lane, Bin last) {
    std::fill_n(count_.begin(), last + std::size_t{1}, 0u);
    const std::size_t high = highest_.bin[lane];
    if (high > n_passes_) {
      for (std::size_t i = 0; i < n_; ++i) ++count_[rows_[i].bin[lane]];
      return;
    }
    std::uint32_t below = 0;
    for (std::size_t bin = 0; bin < high; ++bin) {
      count_[bin] = at_most_[bin][lane] - below;
      below = at_most_[bin][lane];
    }
    count_[high] = static_cast<std::uint32_t>(n_) - below;
  }

  // Of the lane that was counted last.
  std::uint32_t operator[](std::size_t bin) const { return count_[bin]; }

 private:
  // A pass over the rows counts those of all lanes that are at most in one bin. So many passes take
  // as long as counting the rows of a single lane in all its bins.
  static constexpr std::size_t kPassesForOne = 3;
  static constexpr std::size_t kMostPasses = 15;

  Isa isa_ = isa();
  LaneRows rows_;
  std::size_t n_ = 0;
  Lanes highest_;
  std::size_t n_passes_ = 0;
  std::array<std::array<std::uint32_t, kLanes>, kMostPasses> at_most_{};  // by bin and lane
  std::array<std::uint32_t, kBinCells> count_{};
};

}  // namespace cqrf
