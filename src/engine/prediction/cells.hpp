// What leaves hold by *cells*, long runs of ranks: sums over cells instead of members.
//
// For every leaf and cell: how many members it has, how many of them are censorings, and how far
// events and censorings stand from the middle of the cell. All of it is added up over the leaves of
// a test point, and tells by what S falls in the cell (cell_sum.hpp).
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <numeric>
#include <span>
#include <vector>

#include "../huge_pages.hpp"
#include "../parallel.hpp"
#include "../prefetch.hpp"
#include "../simd.hpp"
#include "cell_counts.hpp"
#include "cell_sum.hpp"
#include "forest.hpp"

#if CQRF_X86
#include <immintrin.h>
#endif

namespace cqrf {

class Cells {
 public:
  static constexpr int kLevelBits = 8;  // levels of a cell, as a power of two, at most
  static constexpr double kPlaceUnit = CellCounts::kPlaceUnit;
  // With censoring, the leaves of a test point together have at least so many members in a cell, in
  // the mean. The order of fewer is known less well, and they are soon added up.
  static constexpr std::size_t kFewestMembers = 32;

  // A record of a leaf, in bytes: numbers of members, (n_cells,); with censoring, numbers of
  // censorings and sums of the places of events and of censorings, (n_cells,) each; where the
  // members of the first cell of every group begin, two bytes each; and the end. Records are whole
  // cache lines: begins of all cells would make them longer, and memory is what takes time.
  struct Layout {
    Layout(std::size_t cells, bool with_censoring);

    bool censored;
    std::size_t n_cells;
    // Where each of them begins.
    std::size_t censorings;
    std::size_t event_places;
    std::size_t censored_places;
    std::size_t begins;
    std::size_t end;
    std::size_t lines;  // in all
  };
  struct alignas(kCacheLine) Line {
    std::array<std::uint8_t, kCacheLine> bytes;
  };
  struct End {
    std::uint32_t start;  // of the leaf among the members of its tree
    float share;          // one by the size of the leaf
    // The record that has what is left of numbers that do not fit a byte, from one on, or zero.
    std::uint32_t next;
  };

  // The finest cells of a forest that pay, at most `most` of them, or one for every block: leaves
  // have two members in a cell, in the mean, or with censoring four. Null where there would be too
  // few of them, or where they do not fit.
  static std::shared_ptr<const Cells> make(const Forest& forest, std::size_t most, bool censored,
                                           int n_threads, Monitor& monitor);
  // Whether two bytes tell every place in a leaf.
  static bool fit(const Forest& forest);

  // Of all leaves, with cells of one size or of any.
  Cells(const Forest& forest, int shift, bool censored, int n_threads, Monitor& monitor);
  Cells(const Forest& forest, const CellBounds& bounds, bool censored, int n_threads,
        Monitor& monitor);

  // Of no leaf, and then of one in every tree, (trees,), in place of others. `counts` are of the
  // same cells.
  Cells(const CellBounds& bounds, bool censored);
  void write(const Forest& forest, const LeafId* leaves, CellCounts& counts);

  std::size_t size() const { return layout_.n_cells; }
  std::size_t bytes() const { return (data_.size() + more_.size()) * sizeof(Line); }
  // The size of a cell as a power of two, where it is that of all.
  int shift() const { return shift_; }
  // Levels of a cell are many: members of a leaf that follow each other in the same level would
  // wait for one another.
  int level_shift() const { return std::max(0, shift_ - kLevelBits); }

  // A leaf of a test point.
  struct Found {
    const std::uint8_t* record;
    std::size_t first;  // of its members
    float share;        // what each of them adds to the weight of its rank
    bool whole;         // all numbers fit a byte
  };
  Found find(const Forest& forest, std::size_t tree, LeafId leaf) const {
    return found(forest, tree, forest.leaf_number(tree, leaf));
  }
  // The same where one leaf of every tree was written.
  Found find_written(const Forest& forest, std::size_t tree) const {
    return found(forest, tree, tree);
  }

  // The members of a leaf that lie in a cell, from its first one on.
  struct Run {
    std::size_t begin;
    std::size_t size;
  };
  Run run(const Found& leaf, std::size_t cell) const {
    std::uint16_t begin;
    std::memcpy(&begin, leaf.record + layout_.begins + cell / kGroup * sizeof(begin),
                sizeof(begin));
    Run run{begin, 0};
    count(leaf.record, cell, run);
    if (!leaf.whole) [[unlikely]]
      for (auto* from = next(leaf.record); from != nullptr; from = next(from))
        count(from, cell, run);
    return run;
  }

  // Weights of a test point, in whole vectors: (size(),) and some more.
  struct Sums {
    std::vector<float> all;
    std::vector<float> censored;
    // Weights times distances from the middle of the cell, in units of kPlaceUnit.
    std::vector<float> event_places;
    std::vector<float> censored_places;
    std::vector<const std::uint8_t*> records;  // of the leaves
    std::vector<float> shares;                 // of their members
  };
  void add_up(Isa isa, std::span<const Found> leaves, Sums& sums) const;

  static double events(const Sums& sums, std::size_t cell) {
    return sums.all[cell] - sums.censored[cell];
  }
  static CellSum sum(const Sums& sums, std::size_t cell) {
    return {events(sums, cell), sums.censored[cell], sums.event_places[cell],
            sums.censored_places[cell]};
  }

  // Asks memory for the leaves of a test point, (trees,), which are soon to be found.
  void prefetch(const Forest& forest, const LeafId* leaves) const {
    for (std::size_t t = 0; t < forest.n_trees(); ++t)
      cqrf::prefetch(record(forest.leaf_number(t, leaves[t])), layout_.lines * sizeof(Line));
  }

 private:
  const std::uint8_t* record(std::size_t number) const {
    return data_[number * layout_.lines].bytes.data();
  }
  Found found(const Forest& forest, std::size_t tree, std::size_t number) const {
    const std::uint8_t* const from = record(number);
    const End end = end_of(from);
    return {from, tree * forest.members.per_tree + end.start, end.share, end.next == 0};
  }
  End end_of(const std::uint8_t* from) const {
    End end;
    std::memcpy(&end, from + layout_.end, sizeof(end));
    return end;
  }
  const std::uint8_t* next(const std::uint8_t* from) const {
    const std::uint32_t number = end_of(from).next;
    return number == 0 ? nullptr : more_[(number - 1) * layout_.lines].bytes.data();
  }

  // Adds the number of a cell, and to the begin those of the cells before it in its group.
  static void count(const std::uint8_t* numbers, std::size_t cell, Run& run) {
    const std::uint8_t* const group = numbers + cell / kGroup * kGroup;
    const std::size_t before = cell % kGroup;
    run.size += group[before];
#if CQRF_X86
    // All processors have these instructions.
    static_assert(kGroup == 2 * sizeof(__m128i));
    const auto sum_of_half = [&](std::size_t first) {
      const auto load = [](const std::uint8_t* at) {
        return _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
      };
      const __m128i chosen =
          _mm_and_si128(load(group + first), load(kOnes.data() + kGroup - before + first));
      return _mm_sad_epu8(chosen, _mm_setzero_si128());
    };
    const __m128i sums = _mm_add_epi64(sum_of_half(0), sum_of_half(kGroup / 2));
    run.begin += static_cast<std::size_t>(
        _mm_cvtsi128_si64(_mm_add_epi64(sums, _mm_unpackhi_epi64(sums, sums))));
#else
    run.begin += std::accumulate(group, group + before, std::size_t{0});
#endif
  }

  struct Leaves;
  std::vector<Line> write(const Forest& forest, const Leaves& leaves, CellCounts& counts);
  void append(const std::vector<Line>& more, const Leaves& leaves);

  static constexpr std::size_t kGroup = 32;  // cells
  // From kGroup - n on: ones in n bytes, then zeros.
  static constexpr auto kOnes = [] {
    std::array<std::uint8_t, 2 * kGroup> bytes{};
    for (std::size_t i = 0; i < kGroup; ++i) bytes[i] = 0xff;
    return bytes;
  }();

  int shift_ = 0;
  Layout layout_;
  // The last vector of a record reaches behind it.
  static constexpr std::size_t kBehind = 1;
  std::vector<Line, HugePages<Line>> data_;  // (leaves, layout_.lines) and kBehind
  // The same of what did not fit, apart: all of the data would have to be moved for it.
  std::vector<Line> more_;
};

// The leaves of the next test point, (trees,), whose cells memory is asked for once, where there
// are any.
class NextPoint {
 public:
  void expect(const LeafId* leaves) { leaves_ = leaves; }
  void ask(const Forest& forest, const Cells* cells) {
    if (!cells || !leaves_) return;
    cells->prefetch(forest, leaves_);
    leaves_ = nullptr;
  }
  // Of a test point that is begun: if there was none before it, nothing was asked for yet.
  void begin(const LeafId* leaves, const Forest& forest, const Cells* cells) {
    if (leaves == leaves_) ask(forest, cells);
  }

 private:
  const LeafId* leaves_ = nullptr;
};

}  // namespace cqrf
