// The table of bins once more, arranged for those who read one feature of many rows.
#pragma once

#include <cstddef>
#include <vector>

#include "../index.hpp"
#include "../parallel.hpp"

namespace cqrf {

// The bins of one feature.
struct BinColumn {
  const Bin* first;
  std::size_t step;  // from one rank to the next

  const Bin* at(Rank rank) const { return first + rank * step; }
  Bin operator[](Rank rank) const { return *at(rank); }
};

// `width` features after the other make a panel, a table by rows; panels follow each other, the
// last one filled up with zeros. Panels of one feature are a table by columns.
struct BinPanels {
  const Bin* bins = nullptr;  // null: there are none
  std::size_t n_rows = 0;
  std::size_t width = 0;

  BinColumn column(std::uint32_t feature) const {
    return {bins + (feature / width * n_rows * width + feature % width), width};
  }
};

// The panels of `rows`, (n, p) by rows.
std::vector<Bin> make_panels(const Bin* rows, std::size_t n, std::size_t p, std::size_t width,
                             Monitor& monitor);

}  // namespace cqrf
