#include "cell_bounds.hpp"

#include <algorithm>

#include "members.hpp"

namespace cqrf {

CellBounds equal_cells(std::size_t n_rows, int shift) {
  CellBounds bounds;
  for (std::size_t cell = 0; cell <= n_runs(n_rows, shift); ++cell)
    bounds.push_back(static_cast<Rank>(cell << shift));
  return bounds;
}

CellBounds cells_between(std::size_t n_rows, std::span<const std::size_t> ranks) {
  // There are so many cells even if nothing is between them. In longer ones, more would depend on
  // the order of events and censorings.
  constexpr std::size_t kFewest = 64;
  int shift = 0;
  while (shift < kPlaceBits && n_runs(n_rows, shift) > kFewest) ++shift;
  const std::size_t longest = std::size_t{1} << shift;
  CellBounds bounds{0};
  const auto reach = [&](std::size_t end) {
    while (bounds.back() < end) {
      const std::size_t begin = bounds.back();
      const std::size_t part = end - begin > longest ? longest : kBlockRows;
      bounds.push_back(static_cast<Rank>(std::min(end, (begin / part + 1) * part)));
    }
  };
  for (const std::size_t rank : ranks) reach(rank);
  reach(n_rows);
  return bounds;
}

}  // namespace cqrf
