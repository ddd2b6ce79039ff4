// S of a test point at some times, from what its leaves hold between them.
//
// The times that are asked for are bounds of cells (cells.hpp), so that weights before and behind
// them are exact. Sums over cells tell by what S falls in each; where the order of events and
// censorings matters, the members of the leaves in the cell are looked at rank by rank.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "../simd.hpp"
#include "cells.hpp"
#include "curve.hpp"
#include "forest.hpp"
#include "gathered.hpp"
#include "window_curve.hpp"

namespace cqrf {

// What leaves hold between some times.
struct Grid {
  // ranks: of these times, ascending.
  Grid(const TargetView& target, std::span<const std::size_t> ranks, bool any_censored);

  CellBounds bounds;
  std::vector<std::uint32_t> n_times;  // distinct ones in each cell
  bool censored;                       // whether any outcome is
  // Of all leaves, or null: then the cells of a test point's leaves are made for it, which are the
  // same.
  std::shared_ptr<const Cells> whole;

  // Whether the leaves of a forest are large enough for so many cells.
  bool pays(const Forest& forest) const;
};

// Scratch of one worker, made anew for every test point.
class GridCurve {
 public:
  GridCurve(const Forest& forest, const TargetView& target, const Grid& grid);

  // Finds the leaf of a test point in every tree.
  void make(const LeafId* leaves);
  // Tells the next test point: memory is asked for its leaves when that of this one is there.
  void expect(const LeafId* leaves) { next_.expect(leaves); }

  // Sets S after the first `ranks[j]` ranks, for every j; ascending, and bounds of cells.
  void survival_after(std::span<const std::size_t> ranks, double* survival);

 private:
  const Cells& cells() const { return grid_.whole ? *grid_.whole : own_; }
  std::size_t n_cells() const { return grid_.bounds.size() - 1; }
  void multiply();
  void settle_doubts();
  void look_into(std::span<const CellRun> runs);
  double rows_by_weight() const;
  void make_exact(Range cells);
  std::size_t typical_cell() const;
  bool in_doubt(std::size_t cell, double rows) const;

  const Forest& forest_;
  const TargetView& target_;
  const Grid& grid_;
  Isa isa_;
  Cells own_;                         // of one test point,
  std::optional<CellCounts> counts_;  // where those of all leaves are not there
  GatheredMembers gathered_;
  NextPoint next_;
  std::vector<Cells::Found> found_;
  Cells::Sums sums_;
  // By cells.
  std::vector<double> behind_;     // weights
  std::vector<double> factor_;     // by which S falls
  std::vector<double> before_;     // (cells + 1,) S
  std::vector<CellRun> doubtful_;  // runs of cells
  // Of one run.
  std::vector<float> weight_;  // by rank; zero
  RankWeights weights_;
  WindowCurve window_;
  std::vector<std::size_t> ends_;  // of its cells
  std::vector<double> survival_;   // there
};

}  // namespace cqrf
