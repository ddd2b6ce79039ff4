#include "cells.hpp"

#include <algorithm>
#include <array>
#include <limits>

namespace cqrf {
namespace {

// Sixteen cells at once, in whatever registers there are: the operations, and hence the results,
// are the same everywhere.
constexpr std::size_t kSixteen = 16;
using Halves = std::uint16_t __attribute__((vector_size(32), aligned(2)));
using Words = std::int32_t __attribute__((vector_size(64)));
using Floats = float __attribute__((vector_size(64), aligned(4)));

// Sums of weights and of weights times places, of `numbers` members with places `places`.
CQRF_KERNEL void add(const Halves& numbers, float share, Floats& sum) {
  const Words words = __builtin_convertvector(numbers, Words);
  sum += __builtin_convertvector(words, Floats) * share;
}
CQRF_KERNEL void add(const Halves& numbers, const Halves& places, float share, Floats& sum,
                     Floats& place_sum) {
  const Words words = __builtin_convertvector(numbers, Words);
  const Words place_words = __builtin_convertvector(places, Words);
  const Floats weight = __builtin_convertvector(words, Floats) * share;
  sum += weight;
  place_sum += weight * __builtin_convertvector(place_words, Floats);
}

struct AddCells {
  // Cells beyond the last one get what stands behind them.
  template <Isa>
  CQRF_KERNEL static void run(std::size_t n_cells, bool censored, Cells::Sums& sums) {
    const std::size_t leaves = sums.records.size();
    for (std::size_t k = 0; k < n_cells; k += kSixteen) {
      Floats events{};
      Floats censorings{};
      Floats event_places{};
      Floats censored_places{};
      for (std::size_t i = 0; i < leaves; ++i) {
        const std::uint16_t* const record = sums.records[i];
        const auto* const begins = reinterpret_cast<const Halves*>(record + k);
        const auto* const ends = reinterpret_cast<const Halves*>(record + k + 1);
        const Halves all = *ends - *begins;
        if (!censored) {
          add(all, sums.shares[i], events);
          continue;
        }
        const Halves seen = *reinterpret_cast<const Halves*>(record + n_cells + 1 + k);
        const Halves places = *reinterpret_cast<const Halves*>(record + 2 * n_cells + 1 + k);
        add(seen, places & 0xff, sums.shares[i], events, event_places);
        add(all - seen, places >> 8, sums.shares[i], censorings, censored_places);
      }
      *reinterpret_cast<Floats*>(sums.events.data() + k) = events;
      *reinterpret_cast<Floats*>(sums.censored.data() + k) = censorings;
      *reinterpret_cast<Floats*>(sums.event_places.data() + k) = event_places;
      *reinterpret_cast<Floats*>(sums.censored_places.data() + k) = censored_places;
    }
  }
};

std::size_t record_size(std::size_t n_cells, bool censored) {
  return n_cells + 1 + (censored ? 2 * n_cells : 0);
}

}  // namespace

int Cells::shift_for(const Forest& forest, std::size_t most, bool censored) {
  // With censoring, most of a few wide cells would have to be looked into.
  const std::size_t fewest = censored ? 32 : 16;
  const auto& start = forest.leaf_start;
  for (std::size_t i = 0; i + 1 < start.size(); ++i)
    if (start[i + 1] > start[i] &&
        start[i + 1] - start[i] > std::numeric_limits<std::uint16_t>::max())
      return 0;
  const std::size_t leaves = start.size() - forest.n_trees();
  // Cells of fewer than eight rows never fit: levels of a cell are computed eight at once.
  for (int shift = 1; shift <= kPlaceBits; ++shift) {
    const std::size_t cells = n_runs(forest.n_rows, shift);
    if (cells < fewest) return 0;
    if (cells <= most && 4 * record_size(cells, censored) * leaves <= forest.members.low.size())
      return shift;
  }
  return 0;
}

Cells::Cells(const Forest& forest, int shift, bool censored, int n_threads, Monitor& monitor)
    : shift_(shift),
      n_cells_(n_runs(forest.n_rows, shift_)),
      censored_(censored),
      stride_(record_size(n_cells_, censored)) {
  const std::size_t leaves = forest.leaf_start.size() - forest.n_trees();
  // The last vector of the last record reaches behind it.
  data_.resize(leaves * stride_ + kSixteen);
  const std::size_t cell_rows = std::size_t{1} << shift_;
  parallel_for(forest.n_trees(), n_threads, monitor, [&](std::size_t t, int) {
    std::vector<Rank> room;
    struct Count {
      std::uint32_t number = 0;
      std::uint64_t places = 0;
      std::uint16_t mean(std::size_t most) const {
        return static_cast<std::uint16_t>(number == 0 ? 0 : places * 255 / (number * most));
      }
    };
    std::vector<std::array<Count, 2>> counts(n_cells_);
    for (LeafId id = 0; id < forest.n_leaves(t); ++id) {
      const Leaf leaf = forest.leaf(t, id);
      const std::span<const Rank> ranks = forest.leaf_members(t, id, room);
      std::fill(counts.begin(), counts.end(), std::array<Count, 2>{});
      for (std::size_t i = 0; i < ranks.size(); ++i) {
        Count& count = counts[ranks[i] >> shift_][forest.members.low[leaf.first + i] >> kPlaceBits];
        ++count.number;
        count.places += ranks[i] & (cell_rows - 1);
      }
      std::uint16_t* const record = data_.data() + leaf.number * stride_;
      std::uint16_t begin = 0;
      for (std::size_t k = 0; k < n_cells_; ++k) {
        const auto& [censoring, event] = counts[k];
        record[k] = begin;
        begin = static_cast<std::uint16_t>(begin + censoring.number + event.number);
        if (!censored_) continue;
        record[n_cells_ + 1 + k] = static_cast<std::uint16_t>(event.number);
        record[2 * n_cells_ + 1 + k] =
            static_cast<std::uint16_t>(event.mean(cell_rows) | censoring.mean(cell_rows) << 8);
      }
      record[n_cells_] = begin;
    }
  });
}

void Cells::add_up(Isa isa, std::span<const Leaf> leaves, Sums& sums) const {
  sums.records.resize(leaves.size());
  sums.shares.resize(leaves.size());
  for (std::size_t t = 0; t < leaves.size(); ++t) {
    sums.records[t] = record(leaves[t]);
    sums.shares[t] = 1.0f / static_cast<float>(leaves[t].size);
  }
  const std::size_t room = (n_cells_ + kSixteen - 1) / kSixteen * kSixteen;
  for (auto* const sum : {&sums.events, &sums.censored, &sums.event_places, &sums.censored_places})
    sum->resize(room);
  dispatch<AddCells>(isa, n_cells_, censored_, sums);
}

}  // namespace cqrf
