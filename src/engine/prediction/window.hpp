// The weights of single ranks in a window of time, from the members of a test point's leaves.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "../simd.hpp"
#include "cells.hpp"
#include "forest.hpp"
#include "window_curve.hpp"

namespace cqrf {

struct Window {
  Range ranks;
  // Weights of the first cell before the window, and of the last one behind it.
  double before;
  double behind;
  RankWeights weights;
};

// A leaf has few members in a cell, and their number is different in every leaf: loops over them
// would be short, and their ends mispredicted. So members are first copied, 32 at a time and as
// many as there are kept, and then looped over.
class WindowLoader {
 public:
  // event: (n,) by rank.
  WindowLoader(const Forest& forest, std::span<const std::uint8_t> event, const Cells& cells);

  // Asks memory for the members of some leaves around some ranks, which are not taken yet.
  void ask(std::span<const Cells::Found> leaves, Range ranks);
  // Sets a window from what was asked for it: windows are taken in the order of asking.
  void take(Window& window);

 private:
  struct Piece {  // what one leaf has in some cells of a block
    std::size_t begin;
    std::uint32_t size;
    float share;
  };
  // Members of pieces in some places; weights before and behind these.
  struct Taken {
    std::size_t size;
    float before;
    float behind;
  };
  struct TakePieces;

  Taken take_pieces(Range ranks);

  const Forest& forest_;
  std::span<const std::uint8_t> event_;
  const Cells& cells_;
  Isa isa_;
  std::vector<Piece> pieces_;      // that were asked for
  std::vector<std::size_t> ends_;  // of those of each window and block
  std::size_t n_taken_ = 0;        // of these
  std::vector<std::uint16_t> low_;
  std::vector<float> share_;
  std::vector<float> weight_;  // by rank; zero
};

}  // namespace cqrf
