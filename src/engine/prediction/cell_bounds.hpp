// How ranks are divided into cells (cells.hpp). A cell lies in one block of ranks (members.hpp).
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "../index.hpp"

namespace cqrf {

// Where each cell begins, and the end of the last one: (cells + 1,).
using CellBounds = std::vector<Rank>;

// Cells of 2^shift ranks; the last one may end behind the last rank.
CellBounds equal_cells(std::size_t n_rows, int shift);

// Cells between some ranks, ascending, and shorter ones where these are far apart.
CellBounds cells_between(std::size_t n_rows, std::span<const std::size_t> ranks);

}  // namespace cqrf
