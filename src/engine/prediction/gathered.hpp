// The members of a test point's leaves in some cells, one after the other.
//
// A leaf has few members in a cell, and their number is different in every leaf: loops over them
// would be short, and their ends mispredicted. So members are first copied, 32 at a time and as
// many as there are kept, and then looped over.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "../simd.hpp"
#include "cells.hpp"
#include "curve.hpp"
#include "forest.hpp"

namespace cqrf {

struct MemberRun {
  const std::uint16_t* low;  // (size,)
  const float* share;        // (size,) what each of them adds to the weight of its rank
  std::size_t size;
};

// Cells next to each other, of which only members with some places in their block may be wanted.
struct CellRun {
  Range cells;
  Range places{0, kBlockRows};

  bool whole() const { return places.begin == 0 && places.end == kBlockRows; }
};

// Adds a cell behind the others: to the last run, if it follows that and `joins` it.
inline void add_cell(std::size_t cell, bool joins, std::vector<CellRun>& runs) {
  if (joins && !runs.empty() && runs.back().whole() && runs.back().cells.end == cell)
    runs.back().cells.end = cell + 1;
  else
    runs.push_back({{cell, cell + 1}});
}

class GatheredMembers {
 public:
  GatheredMembers(const Forest& forest, const Cells& cells)
      : forest_(forest), cells_(cells), isa_(isa()), runs_(cells.size()) {}

  int cell_shift() const { return cells_.shift(); }
  // The first cell of the run that a cell was gathered with.
  std::size_t first_of_run(std::size_t cell) const { return runs_[cell].first; }

  // Forgets all members.
  void clear() { end_ = 0; }
  // Gathers those that some leaves have in some runs of cells, each of which lies in one block.
  void gather(std::span<const Cells::Found> leaves, std::span<const CellRun> runs);
  // Of the run that a cell was gathered with; until the next one is gathered.
  MemberRun run(std::size_t cell) const {
    return {low_.data() + runs_[cell].begin, share_.data() + runs_[cell].begin, runs_[cell].size};
  }

 private:
  struct Run {
    std::size_t begin = 0;
    std::size_t size = 0;
    std::size_t first = 0;  // cell
  };
  struct Piece {  // what one leaf has in a run of cells
    std::size_t begin;
    std::size_t size;
    float share;
  };
  struct Copy;
  std::size_t find(std::span<const Cells::Found> leaves, Range cells);

  const Forest& forest_;
  const Cells& cells_;
  Isa isa_;
  std::vector<Run> runs_;          // by cell
  std::vector<Piece> pieces_;      // (runs, leaves) that are being gathered,
  std::vector<std::size_t> ends_;  // and where those of each run end
  std::size_t end_ = 0;
  std::vector<std::uint16_t> low_;
  std::vector<float> share_;
};

}  // namespace cqrf
