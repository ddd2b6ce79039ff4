// The curve of a test point at some places, found without all of its steps.
//
// A *level* is a run of 2^shift neighbouring ranks. The weights of a test point are added up by
// levels, events and censorings apart, in an array that stays in the first caches however many
// training rows there are. With R the weight from a level on, and D and C the weights of its events
// and censorings,
//
//   S falls in the level by the factor 1 - D / (R - h C),
//
// as if the share h of the censorings came before the events. It is that of all training rows in
// the level: about a half, but not where times are tied, since events come first then. Where leaves
// are large, weights are first added up by cells of 256 levels (cells.hpp), and by levels only in
// the cells that are looked at. Around an answer, and where the order of events and censorings
// matters, the members of the leaves are looked up one by one, and S is exact.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "../simd.hpp"
#include "cells.hpp"
#include "curve.hpp"
#include "forest.hpp"
#include "gathered.hpp"
#include "lookup.hpp"
#include "window_curve.hpp"

namespace cqrf {

// Factors are computed for chunks of so many levels, as a power of two, where there are no cells.
inline constexpr int kChunkBits = 6;

// The levels of n ranks: no more than `most` of them, but at least 64 of a block (members.hpp).
inline int level_shift(std::size_t n_rows, std::size_t most) {
  constexpr int kLargest = kPlaceBits - kChunkBits;
  int shift = 0;
  while (shift < kLargest && n_runs(n_rows, shift) > most) ++shift;
  return shift;
}

// For every level the share of its pairs of an event and a censoring in which the censoring comes
// first, in whole chunks. event: (n,) by rank.
std::vector<float> order_in_levels(std::span<const std::uint8_t> event, int shift);

// How ranks are divided.
struct Levels {
  int shift;                     // that of the cells, where there are some
  const Cells* cells;            // or null
  std::span<const float> order;  // order_in_levels()
};

// A function of time.
struct LevelValues {
  // At the events of a cell: middle + slope place, with places from -1/2 to 1/2, and no more than
  // `bend` besides. Censorings at the same times come later.
  struct Line {
    double middle;
    double slope;
    double bend;
  };

  std::vector<double> at;     // (n,) by ranks
  std::vector<float> mean;    // over the events of each level, in whole chunks
  std::vector<float> spread;  // largest minus smallest value in each level
  std::vector<Line> in_cell;  // or empty, where there are no cells
  double tolerance;           // falls of S times spreads or bends that may be neglected
  bool counts_rest;           // whether S behind all times is used
};

// Scratch of one worker, made anew for every test point.
class LevelCurve {
 public:
  LevelCurve(const Forest& forest, const TargetView& target, const Levels& levels);

  // Adds up the weights of a test point from its leaf in every tree.
  void make(const LeafId* leaves);
  // Tells the next test point: memory is asked for what it needs first when the members of this one
  // are there, which would come later otherwise.
  void expect(const LeafId* leaves) { next_.expect(leaves); }

  // Looks up the members of the leaves around the levels in which S falls to each probability.
  void look_at(std::span<const double> probabilities);
  // The k-th answer, where no times are tied.
  QuantileFound solve(std::size_t k, Interpolation interpolation);
  // Sets the part of a curve where S falls to the k-th probability, from the jump before to the
  // jump after that; where S does not fall so far, its end.
  void part(std::size_t k, Curve& curve);

  // Sets S after the first `ranks[j]` ranks, for all of them.
  void survival_after(std::span<const std::size_t> ranks, double* survival);

  // The sum of the values at the jumps of S, times its falls there, as far as S counts. Sets what
  // is left of it.
  double sum_of_falls(const LevelValues& values, double& left);

 private:
  static constexpr double kUnknown = -1;
  std::size_t n_ranks() const { return target_.time_index.size(); }
  std::size_t n_chunks() const { return known_.size(); }
  std::size_t chunk_size() const { return std::size_t{1} << chunk_bits_; }
  std::size_t first_rank(std::size_t level) const { return std::min(level << shift_, n_ranks()); }
  std::size_t per_block() const { return kBlockRows >> shift_; }
  // Where the censorings of a level stand; its events stand per_block() behind.
  std::size_t place(std::size_t level) const {
    return level / per_block() * 2 * per_block() + level % per_block();
  }
  float weight(std::size_t level) const {
    return weight_[place(level)] + weight_[place(level) + per_block()];
  }

  // Levels of a chunk next to each other whose weights are added up: none, all, the first or the
  // last of them.
  struct Known {
    Range levels{0, 0};
    bool before_rest = false;  // whether they are the first ones
    double product = 1;        // of their factors
    double rest = 1;           // by what S falls in the others
    CellSum sum{};             // of their weights, where there are cells

    bool any() const { return size_of(levels) > 0; }
    bool has(Range some) const { return levels.begin <= some.begin && some.end <= levels.end; }
  };
  static std::size_t size_of(Range levels) { return levels.end - levels.begin; }
  Range levels_in(std::size_t chunk) const {
    return {chunk << chunk_bits_, (chunk + 1) << chunk_bits_};
  }
  bool known(std::size_t level) const {
    return known_[level >> chunk_bits_].has({level, level + 1});
  }
  bool all_known(std::size_t chunk) const { return known_[chunk].levels == levels_in(chunk); }
  // S before the first level that is known, or before the chunk.
  double survival_before_known(std::size_t chunk) const {
    const Known& known = known_[chunk];
    return chunk_before_[chunk] * (known.before_rest ? 1 : known.rest);
  }

  // Of a rank whose level was looked up; a level of one rank needs not to be.
  double weight_of(std::size_t rank) const {
    return shift_ == 0 ? double{weight(rank)} : lookup_.weight(rank);
  }

  void make_room();
  void add_cells();
  void fill_all();
  void split_at(std::span<const std::size_t> ranks);
  void fill_split();
  template <class Add>
  void for_each_run(Add add) const;
  void make_all_factors();
  void want_around(double probability);
  bool pays_to_divide(std::size_t chunk) const;
  void want(std::size_t chunk, Range levels);
  void want_chunk(std::size_t chunk) { want(chunk, levels_in(chunk)); }
  bool fill_wanted();
  void forget(std::size_t chunk);
  void make_factors(std::size_t chunk, Range levels);
  CellSum sum_of(Range levels) const;
  Range unknown(std::size_t chunk) const;
  CellSum rest_of(std::size_t chunk) const;
  double behind_rest(std::size_t chunk) const;
  bool order_matters(std::size_t chunk, double survival, double rows) const;
  double rows_by_weight() const;
  void multiply(double least);
  double counting(double survival, std::size_t& next) const;
  void want_doubtful_levels(double least);
  void settle_doubts();
  std::size_t counting_chunks(const LevelValues& values) const;
  void fill_where(const LevelValues& values, std::size_t end);
  double fall_times_value(std::size_t cell, const LevelValues& values) const;
  double sum_of_falls_in(std::size_t chunk, const LevelValues& values) const;
  void find_parts(std::span<const double> probabilities, double least);
  void want_parts(double margin);
  void make_windows();
  void make_window(Range levels);
  std::size_t chunk_of(double probability) const;
  bool falls_in(std::size_t chunk) const;
  std::size_t fall_before(std::size_t level);
  std::size_t fall_after(std::size_t level);
  Range levels_around(double probability);
  Range levels_of(Range ranks) const {
    return {ranks.begin >> shift_, ((ranks.end - 1) >> shift_) + 1};
  }
  double factor_of_first(std::size_t level, std::size_t end) const;
  double survival_before(std::size_t level) const;
  double weight_from(std::size_t level) const;

  const Forest& forest_;
  const TargetView& target_;
  Isa isa_;
  const Cells* cells_;
  std::span<const float> order_;
  NextPoint next_;
  int shift_;
  int chunk_bits_;  // levels of a chunk, as a power of two: those of a cell
  std::size_t n_levels_;
  std::vector<Leaf> leaves_;         // of the test point,
  std::vector<Cells::Found> found_;  // or the same among the cells
  Cells::Sums sums_;
  std::unique_ptr<GatheredMembers> gathered_;  // with cells
  RankLookup lookup_;
  std::vector<float> weight_;  // (blocks, 2, levels of a block): censorings, events
  std::vector<float> factor_;  // by levels, in whole chunks
  std::vector<float> from_;    // weight from each of these levels on
  // By chunks.
  std::vector<Known> known_;
  struct Wanted {
    std::size_t chunk;
    Range levels;
  };
  std::vector<Wanted> wanted_;  // levels that are to be known,
  std::vector<CellRun> runs_;   // and the same in runs
  std::vector<float> chunk_weight_;
  std::vector<double> chunk_after_;    // weight behind it
  std::vector<double> chunk_product_;  // of the factors, or kUnknown
  std::vector<float> doubt_;           // the largest D C / R^2 of its levels
  std::vector<double> chunk_before_;   // (chunks + 1,) S before it, as far as it is known
  std::span<const double> probabilities_;
  std::vector<double> asked_;            // the same, from the largest on
  std::vector<std::uint32_t> doubtful_;  // levels whose factors become exact
  double margin_ = 0;                    // by how much S may change with them
  std::vector<Range> parts_;             // of levels
  std::vector<std::size_t> in_order_;    // parts from the first levels on
  // Ranks of the levels of some parts, each of them in one window.
  struct LevelWindow {
    RankWeights weights;
    WindowCurve curve;
  };
  std::size_t n_windows_ = 0;
  std::vector<LevelWindow> windows_;
  std::vector<std::size_t> window_of_;  // by part
  std::vector<std::size_t> crossings_;  // the same, places at which S falls to the probability
  std::vector<double> falls_;  // sums of falls in each chunk, by S before it; NaN where not known
  // Levels that are split, one place each.
  struct Split {
    std::size_t rank;  // the first one behind
    float censored;    // weights before it
    float events;
  };
  std::vector<std::size_t> split_ranks_;  // that were asked for
  std::vector<Split> splits_;
  // As weights stand: the last member that is not behind, or all bits; and weights behind.
  std::vector<std::uint16_t> last_before_;
};

}  // namespace cqrf
