#include "cells.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <type_traits>

#if CQRF_X86
#include <immintrin.h>
#endif

namespace cqrf {
namespace {

// Sixteen cells at once, in whatever registers there are: the operations, and hence the results,
// are the same everywhere.
constexpr std::size_t kSixteen = 16;

// What mean places do not tell of the order of d events and c censorings is S D C / R^2 by the
// square root of d c, times a third or so.
constexpr double kMattersByRow = 2.5e-5;
// Terms of the third order, of which a tenth or so counts where one comes after the other.
constexpr double kMattersByPlace = 5e-5;
// So small a share of the weight that few terms of a series are enough.
constexpr double kFewAtOnce = 0.1;

// Adds numbers of some leaves times shares to sums, (n,), sixteen at once.
#if CQRF_X86
template <class Number, std::size_t kLeaves>
CQRF_AVX512 inline void add_numbers_avx512(const std::array<const Number*, kLeaves>& numbers,
                                           const std::array<float, kLeaves>& shares, std::size_t n,
                                           float* sum) {
  constexpr __mmask16 kAll = 0xffff;
  for (std::size_t k = 0; k < n; k += kSixteen) {
    __m512 total = _mm512_loadu_ps(sum + k);
    for (std::size_t i = 0; i < kLeaves; ++i) {
      const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(numbers[i] + k));
      const __m512i words = std::is_signed_v<Number> ? _mm512_maskz_cvtepi8_epi32(kAll, bytes)
                                                     : _mm512_maskz_cvtepu8_epi32(kAll, bytes);
      const __m512 floats = _mm512_maskz_cvtepi32_ps(kAll, words);
      total = _mm512_add_ps(total, _mm512_mul_ps(floats, _mm512_set1_ps(shares[i])));
    }
    _mm512_storeu_ps(sum + k, total);
  }
}
#endif

template <Isa kIsa, class Number, std::size_t kLeaves>
CQRF_KERNEL void add_numbers(const std::array<const Number*, kLeaves>& numbers,
                             const std::array<float, kLeaves>& shares, std::size_t n, float* sum) {
#if CQRF_X86
  if constexpr (kIsa == Isa::kAvx512) return add_numbers_avx512(numbers, shares, n, sum);
#endif
  for (std::size_t k = 0; k < n; k += kSixteen)
    for (std::size_t j = k; j < k + kSixteen; ++j) {
      float total = sum[j];
      for (std::size_t i = 0; i < kLeaves; ++i)
        total += static_cast<float>(numbers[i][j]) * shares[i];
      sum[j] = total;
    }
}

// Cells beyond the last one get what stands behind them.
struct AddCells {
  template <Isa kIsa>
  CQRF_KERNEL static void run(const Cells::Layout& layout, Cells::Sums& sums) {
    constexpr std::size_t kTogether = 4;
    std::size_t i = 0;
    for (; i + kTogether <= sums.records.size(); i += kTogether)
      add_leaves<kIsa, kTogether>(layout, i, sums);
    for (; i < sums.records.size(); ++i) add_leaves<kIsa, 1>(layout, i, sums);
  }

  template <Isa kIsa, std::size_t kLeaves>
  CQRF_KERNEL static void add_leaves(const Cells::Layout& layout, std::size_t first,
                                     Cells::Sums& sums) {
    std::array<float, kLeaves> shares;
    std::copy_n(sums.shares.begin() + first, kLeaves, shares.begin());
    const auto add = [&]<class Number>(Number, std::size_t offset, std::vector<float>& sum) {
      std::array<const Number*, kLeaves> numbers;
      for (std::size_t i = 0; i < kLeaves; ++i)
        numbers[i] = reinterpret_cast<const Number*>(sums.records[first + i] + offset);
      add_numbers<kIsa>(numbers, shares, layout.n_cells, sum.data());
    };
    add(std::uint8_t{}, 0, sums.all);
    if (!layout.censored) return;
    add(std::uint8_t{}, layout.censorings, sums.censored);
    add(std::int8_t{}, layout.event_places, sums.event_places);
    add(std::int8_t{}, layout.censored_places, sums.censored_places);
  }
};

std::size_t n_leaves(const Forest& forest) { return forest.leaf_start.size() - forest.n_trees(); }

bool begins_fit(const Forest& forest) {
  const auto& start = forest.leaf_start;
  for (std::size_t i = 0; i + 1 < start.size(); ++i)
    if (start[i + 1] > start[i] &&
        start[i + 1] - start[i] > std::numeric_limits<std::uint16_t>::max())
      return false;
  return true;
}

// Moves as much of a number as fits a byte.
template <class Byte>
std::uint8_t take(std::int32_t& number) {
  constexpr std::int32_t kMost = std::numeric_limits<Byte>::max();
  const std::int32_t taken = std::clamp(number, -kMost, kMost);
  number -= taken;
  return static_cast<std::uint8_t>(taken);
}

template <class Number>
void put(Number number, std::uint8_t* to, std::size_t at) {
  std::memcpy(to + at * sizeof(number), &number, sizeof(number));
}

}  // namespace

Cells::Layout::Layout(std::size_t n_rows, int cell_shift, bool with_censoring)
    : shift(cell_shift),
      censored(with_censoring),
      n_cells(n_runs(n_rows, cell_shift)),
      censorings(n_cells),
      event_places(2 * n_cells),
      censored_places(3 * n_cells),
      begins(with_censoring ? 4 * n_cells : n_cells),
      end(begins + (n_cells + 7) / 8 * sizeof(std::uint16_t)),
      lines((end + sizeof(End) + kCacheLine - 1) / kCacheLine) {}

std::shared_ptr<const Cells> Cells::make(const Forest& forest, std::size_t most, bool censored,
                                         int n_threads, Monitor& monitor) {
  // With censoring, most of a few wide cells would have to be looked into.
  const std::size_t fewest = censored ? 32 : 16;
  // Records of four bytes for a cell are soon longer than the members that need not to be read.
  const std::size_t members_per_cell =
      censored ? std::max<std::size_t>(4, kFewestMembers / forest.n_trees()) : 2;
  if (!begins_fit(forest)) return nullptr;
  const std::size_t members = forest.members.low.size();
  // Levels of a cell are computed eight at once.
  for (int shift = 3; shift <= kPlaceBits; ++shift) {
    const Layout layout(forest.n_rows, shift, censored);
    if (layout.n_cells < fewest) return nullptr;
    if (layout.n_cells <= most && members_per_cell * layout.n_cells * n_leaves(forest) <= members)
      return std::make_shared<const Cells>(forest, shift, censored, n_threads, monitor);
  }
  return nullptr;
}

Cells::Cells(const Forest& forest, int shift, bool censored, int n_threads, Monitor& monitor)
    : layout_(forest.n_rows, shift, censored) {
  data_.reserve(n_leaves(forest) * layout_.lines + 1);
  data_.resize(n_leaves(forest) * layout_.lines);
  std::vector<std::vector<Line>> more(forest.n_trees());
  parallel_for(forest.n_trees(), n_threads, monitor,
               [&](std::size_t t, int) { more[t] = write(forest, t); });
  // Records of numbers that did not fit stand behind all others, and are found from there.
  for (std::size_t t = 0; t < more.size(); ++t) {
    if (more[t].empty()) continue;
    const std::size_t before = data_.size() / layout_.lines;
    data_.insert(data_.end(), more[t].begin(), more[t].end());
    const auto link = [&](std::size_t from, std::size_t end) {
      for (std::size_t i = from; i < end; ++i) {
        std::uint8_t* const record = data_[i * layout_.lines].bytes.data();
        End last = end_of(record);
        if (last.next != 0) last.next += static_cast<std::uint32_t>(before - 1);
        put(last, record + layout_.end, 0);
      }
    };
    const std::size_t first = forest.leaf_number(t, 0);
    link(first, first + forest.n_leaves(t));
    link(before, data_.size() / layout_.lines);
  }
  // The last vector of the last record reaches behind it.
  data_.resize(data_.size() + 1);
}

// What a leaf has in a cell.
struct Cells::Count {
  std::int32_t number = 0;
  std::int32_t places = 0;  // distances from the middle of the cell, in half ranks, then in units
};

// Moves what fits its bytes to a record. Returns whether anything is left.
bool Cells::write_some(std::vector<std::array<Count, 2>>& counts, std::uint8_t* record) const {
  bool left = false;
  for (std::size_t k = 0; k < counts.size(); ++k) {
    auto& [censorings, all] = counts[k];
    record[k] = take<std::uint8_t>(all.number);
    left = left || all.number != 0;
    if (!layout_.censored) continue;
    record[layout_.censorings + k] = take<std::uint8_t>(censorings.number);
    record[layout_.event_places + k] = take<std::int8_t>(all.places);
    record[layout_.censored_places + k] = take<std::int8_t>(censorings.places);
    left = left || censorings.number != 0 || all.places != 0 || censorings.places != 0;
  }
  return left;
}

// Writes the records of a tree. Returns those of numbers that did not fit, which are told by their
// place in them, from one on.
std::vector<Cells::Line> Cells::write(const Forest& forest, std::size_t tree) {
  const auto cell_rows = std::int32_t{1} << layout_.shift;
  const double unit = 2 * kPlaceUnit * cell_rows;
  std::vector<Line> more;
  std::vector<Rank> room;
  std::vector<std::array<Count, 2>> counts(layout_.n_cells);  // censorings; events, then all
  for (LeafId id = 0; id < forest.n_leaves(tree); ++id) {
    const Leaf leaf = forest.leaf(tree, id);
    const std::span<const Rank> ranks = forest.leaf_members(tree, id, room);
    std::ranges::fill(counts, std::array<Count, 2>{});
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      const std::size_t event = forest.members.low[leaf.first + i] >> kPlaceBits;
      Count& count = counts[ranks[i] >> layout_.shift][event];
      ++count.number;
      const auto place = static_cast<std::int32_t>(ranks[i] & ((Rank{1} << layout_.shift) - 1));
      count.places += 2 * place + 1 - cell_rows;
    }
    std::uint8_t* record = data_[leaf.number * layout_.lines].bytes.data();
    End end{static_cast<std::uint32_t>(leaf.first - tree * forest.members.per_tree),
            1.0f / static_cast<float>(leaf.size), 0};
    std::uint16_t begin = 0;
    for (std::size_t k = 0; k < counts.size(); ++k) {
      if (k % 8 == 0) put(begin, record + layout_.begins, k / 8);
      for (Count& count : counts[k])
        count.places = static_cast<std::int32_t>(std::lround(count.places / unit));
      counts[k][1].number += counts[k][0].number;
      begin = static_cast<std::uint16_t>(begin + counts[k][1].number);
    }
    while (write_some(counts, record)) {
      end.next = static_cast<std::uint32_t>(more.size() / layout_.lines + 1);
      put(end, record + layout_.end, 0);
      more.resize(more.size() + layout_.lines);
      record = more[more.size() - layout_.lines].bytes.data();
      end.next = 0;
    }
    put(end, record + layout_.end, 0);
  }
  return more;
}

void Cells::add_up(Isa isa, std::span<const Found> leaves, Sums& sums) const {
  sums.records.clear();
  sums.shares.clear();
  for (const Found& leaf : leaves) {
    sums.records.push_back(leaf.record);
    sums.shares.push_back(leaf.share);
    if (leaf.whole) [[likely]]
      continue;
    for (const auto* from = next(leaf.record); from != nullptr; from = next(from)) {
      sums.records.push_back(from);
      sums.shares.push_back(leaf.share);
    }
  }
  const std::size_t room = (layout_.n_cells + kSixteen - 1) / kSixteen * kSixteen;
  for (auto* const sum : {&sums.all, &sums.censored, &sums.event_places, &sums.censored_places})
    sum->assign(room, 0.0f);
  dispatch<AddCells>(isa, layout_, sums);
}

// D C (x_C - x_D). Few divisions are made for a cell: there are many.
double Cells::order(const Sums& sums, std::size_t cell) {
  return kPlaceUnit * (events(sums, cell) * double{sums.censored_places[cell]} -
                       double{sums.censored[cell]} * double{sums.event_places[cell]});
}

double Cells::factor(const Sums& sums, std::size_t cell, double behind) {
  return fall_factor(behind, events(sums, cell), sums.censored[cell], order(sums, cell));
}

bool Cells::order_matters(const Sums& sums, std::size_t cell, double behind, double before,
                          double rows) {
  const double events = Cells::events(sums, cell);
  const double censored = sums.censored[cell];
  const double at_risk = behind + (events + censored) / 2;
  const double square = at_risk * at_risk;
  const double limit = kMattersByRow * rows * square;
  return before * before * events * censored > limit * limit ||
         before * (events + censored) * std::abs(order(sums, cell)) >
             kMattersByPlace * square * at_risk;
}

double fall_factor(double behind, double events, double censored, double order) {
  if (events == 0) return 1;
  const double from = behind + (events + censored);
  if (censored == 0 || behind == 0) return behind / from;
  const double inverse = 1 / from;
  const double all = (events + censored) * inverse;
  const double at_risk = from - (events + censored) / 2;
  const double change = order / (at_risk * at_risk);
  // Terms of higher order are left out: without the bound, S might rise.
  if (all > kFewAtOnce)
    return std::min(1.0, std::exp(std::log1p(-all) * events / (events + censored) + change));
  // The same by series, in a fraction of the time.
  const double logarithm =
      -(1 + all * (1.0 / 2 + all * (1.0 / 3 + all * (1.0 / 4 + all * (1.0 / 5)))));
  const double x = logarithm * events * inverse + change;
  return std::min(1.0, 1 + x * (1 + x * (1.0 / 2) * (1 + x * (1.0 / 3) * (1 + x * (1.0 / 4)))));
}

}  // namespace cqrf
