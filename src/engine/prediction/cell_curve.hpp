// The curve of a test point around some probabilities, where nothing is censored: from cells and
// few members.
//
// Sums over cells (cells.hpp) tell S before each of them. In the cell in which S falls to a
// probability, a *window* is guessed that holds the place, from the jump of S before it to the jump
// after it; of the cell's members in every leaf, those before and behind the window are counted,
// and those inside become weights of single ranks (window.hpp). Where the guess was wrong, the
// window grows.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "../simd.hpp"
#include "cells.hpp"
#include "curve.hpp"
#include "forest.hpp"
#include "window.hpp"
#include "window_curve.hpp"

namespace cqrf {

// Scratch of one worker, made anew for every test point.
class CellCurve {
 public:
  CellCurve(const Forest& forest, const TargetView& target, const Cells& cells);

  // Adds up the weights of a test point from its leaf in every tree.
  void make(const LeafId* leaves);
  // Asks memory for what the next test point needs first.
  void expect(const LeafId* leaves) const { cells_.prefetch(forest_, leaves); }

  // Looks at the members around the places where S falls to each probability.
  void look_at(std::span<const double> probabilities);
  // The k-th answer, where no times are tied.
  QuantileFound solve(std::size_t k, Interpolation interpolation);
  // Sets the part of a curve where S falls to the k-th probability, from the jump before to the
  // jump after that; where S does not fall so far, its end.
  void part(std::size_t k, Curve& curve);

 private:
  struct Part {
    Window window;
    WindowCurve curve;
  };

  std::size_t n_ranks() const { return target_.time_index.size(); }
  std::size_t n_cells() const { return cells_.size(); }
  std::size_t cell_with(std::size_t rank) const { return rank >> cells_.shift(); }
  Range ranks_of(std::size_t first, std::size_t last) const {
    return {first << cells_.shift(), std::min(n_ranks(), (last + 1) << cells_.shift())};
  }
  double total() const { return from_.front(); }
  std::size_t cell_of(double probability) const;
  Range guess(std::size_t cell, double probability) const;
  void divide(std::span<const double> probabilities);
  void load(Part& part);
  bool enlarge(Window& window, const WindowCurve::Place& place) const;
  WindowCurve::Place find(std::size_t k);

  const Forest& forest_;
  const TargetView& target_;
  const Cells& cells_;
  Isa isa_;
  WindowLoader loader_;
  std::vector<Cells::Found> leaves_;  // of the test point
  double leaf_size_ = 0;              // their mean
  Cells::Sums sums_;
  std::vector<double> from_;  // (cells + 1,) weight from each on
  std::span<const double> probabilities_;
  std::vector<std::size_t> order_;  // of the probabilities, from the largest on
  std::vector<std::size_t> part_of_;
  std::size_t n_parts_ = 0;
  std::vector<Part> parts_;
};

}  // namespace cqrf
