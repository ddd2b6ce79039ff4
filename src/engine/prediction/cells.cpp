#include "cells.hpp"

#include <algorithm>
#include <array>
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

template <class Number>
void put(Number number, std::uint8_t* to, std::size_t at) {
  std::memcpy(to + at * sizeof(number), &number, sizeof(number));
}

}  // namespace

Cells::Layout::Layout(std::size_t cells, bool with_censoring)
    : censored(with_censoring),
      n_cells(cells),
      censorings(n_cells),
      event_places(2 * n_cells),
      censored_places(3 * n_cells),
      begins(with_censoring ? 4 * n_cells : n_cells),
      end(begins + (n_cells + kGroup - 1) / kGroup * sizeof(std::uint16_t)),
      lines((end + sizeof(End) + kCacheLine - 1) / kCacheLine) {}

bool Cells::fit(const Forest& forest) {
  const auto& start = forest.leaf_start;
  for (std::size_t i = 0; i + 1 < start.size(); ++i)
    if (start[i + 1] > start[i] &&
        start[i + 1] - start[i] > std::numeric_limits<std::uint16_t>::max())
      return false;
  return true;
}

std::shared_ptr<const Cells> Cells::make(const Forest& forest, std::size_t most, bool censored,
                                         int n_threads, Monitor& monitor) {
  // With censoring, most of a few wide cells would have to be looked into.
  const std::size_t fewest = censored ? 32 : 16;
  // Records of four bytes for a cell are soon longer than the members that need not to be read.
  const std::size_t members_per_cell =
      censored ? std::max<std::size_t>(4, kFewestMembers / forest.n_trees()) : 2;
  if (!fit(forest)) return nullptr;
  const std::size_t members = forest.members.low.size();
  // Levels of a cell are computed eight at once.
  for (int shift = 3; shift <= kPlaceBits; ++shift) {
    const std::size_t n_cells = n_runs(forest.n_rows, shift);
    if (n_cells < fewest) return nullptr;
    // They are not larger than blocks, of which there may be more.
    const bool few = n_cells <= most || shift == kPlaceBits;
    if (few && members_per_cell * n_cells * forest.n_leaves() <= members)
      return std::make_shared<const Cells>(forest, shift, censored, n_threads, monitor);
  }
  return nullptr;
}

// Some leaves of a tree, whose records stand one after the other.
struct Cells::Leaves {
  std::size_t tree;
  LeafId begin;
  LeafId end;
  std::size_t first;  // number of the first record
};

Cells::Cells(const CellBounds& bounds, bool censored) : layout_(bounds.size() - 1, censored) {}

Cells::Cells(const Forest& forest, int shift, bool censored, int n_threads, Monitor& monitor)
    : Cells(forest, equal_cells(forest.n_rows, shift), censored, n_threads, monitor) {
  shift_ = shift;
}

Cells::Cells(const Forest& forest, const CellBounds& bounds, bool censored, int n_threads,
             Monitor& monitor)
    : Cells(bounds, censored) {
  data_.resize(forest.n_leaves() * layout_.lines + kBehind);
  const auto leaves = [&](std::size_t tree) {
    return Leaves{tree, 0, forest.n_leaves(tree), forest.leaf_number(tree, 0)};
  };
  std::vector<std::vector<Line>> more(forest.n_trees());
  parallel_for(forest.n_trees(), n_threads, monitor, [&](std::size_t t, int) {
    CellCounts counts(bounds, censored);
    more[t] = write(forest, leaves(t), counts);
  });
  for (std::size_t t = 0; t < more.size(); ++t) append(more[t], leaves(t));
  if (!more_.empty()) more_.resize(more_.size() + kBehind);
}

void Cells::write(const Forest& forest, const LeafId* leaves, CellCounts& counts) {
  constexpr std::size_t kAhead = 2;
  const std::size_t trees = forest.n_trees();
  data_.resize(trees * layout_.lines + kBehind);
  more_.clear();
  for (std::size_t t = 0; t < trees; ++t) {
    if (t + kAhead < trees) forest.prefetch(forest.leaf(t + kAhead, leaves[t + kAhead]));
    const Leaves one{t, leaves[t], leaves[t] + 1, t};
    append(write(forest, one, counts), one);
  }
  if (!more_.empty()) more_.resize(more_.size() + kBehind);
}

// Adds the records of what did not fit those of some leaves to those of others.
void Cells::append(const std::vector<Line>& more, const Leaves& leaves) {
  if (more.empty()) return;
  const std::size_t before = more_.size() / layout_.lines;
  more_.insert(more_.end(), more.begin(), more.end());
  const auto link = [&](Line* from, std::size_t records) {
    for (std::size_t i = 0; i < records; ++i) {
      std::uint8_t* const record = from[i * layout_.lines].bytes.data();
      End last = end_of(record);
      if (last.next != 0) last.next += static_cast<std::uint32_t>(before);
      put(last, record + layout_.end, 0);
    }
  };
  link(data_.data() + leaves.first * layout_.lines, leaves.end - leaves.begin);
  link(more_.data() + before * layout_.lines, more.size() / layout_.lines);
}

// Writes the records of some leaves. Returns those of numbers that did not fit, which are told by
// their place in them, from one on.
std::vector<Cells::Line> Cells::write(const Forest& forest, const Leaves& leaves,
                                      CellCounts& counts) {
  std::vector<Line> more;
  for (LeafId id = leaves.begin; id < leaves.end; ++id) {
    const Leaf leaf = forest.leaf(leaves.tree, id);
    counts.count(forest, leaf);
    std::uint8_t* record = data_[(leaves.first + id - leaves.begin) * layout_.lines].bytes.data();
    std::uint16_t begin = 0;
    for (std::size_t k = 0; k < layout_.n_cells; ++k) {
      if (k % kGroup == 0) put(begin, record + layout_.begins, k / kGroup);
      begin = static_cast<std::uint16_t>(begin + counts.all()[k]);
    }
    End end{static_cast<std::uint32_t>(leaf.first - leaves.tree * forest.members.per_tree),
            1.0f / static_cast<float>(leaf.size), 0};
    while (counts.move_to(record)) {
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

}  // namespace cqrf
