#include "cell_counts.hpp"

#include <algorithm>
#include <limits>

namespace cqrf {

CellCounts::CellCounts(const CellBounds& bounds, bool censored)
    : bounds_(bounds),
      isa_(isa()),
      sums_(bounds.size() - 1),
      numbers_(censored ? 4 : 1, std::vector<std::int32_t>(bounds.size() - 1)) {
  constexpr std::size_t kMostRuns = 8192;
  while (n_runs(bounds.back(), run_shift_) > kMostRuns) ++run_shift_;
  std::size_t cell = 0;
  for (std::size_t run = 0; run < n_runs(bounds.back(), run_shift_); ++run) {
    while (bounds[cell + 1] <= run << run_shift_) ++cell;
    first_cell_.push_back(static_cast<std::uint16_t>(cell));
  }
  for (std::size_t k = 0; k + 1 < bounds.size(); ++k)
    size_.push_back(static_cast<std::int32_t>(bounds[k + 1] - bounds[k]));
}

inline void CellCounts::add(Rank first, std::uint16_t low, std::size_t turn) {
  const Rank rank = first + (low & kPlace);
  const std::size_t cell = cell_with(rank);
  const std::uint64_t place = 2 * (rank - bounds_[cell]) + 1;
  sums_[cell][turn][low >> kPlaceBits] += (std::uint64_t{1} << kNumber) + place;
}

// How far members are from the middle of the cell, in units of kPlaceUnit.
inline std::int32_t CellCounts::places(std::uint64_t sum, std::int32_t size) {
  const std::int32_t half_ranks = static_cast<std::int32_t>(sum) - size * number(sum);
  const float units = static_cast<float>(half_ranks) /
                      (static_cast<float>(2 * kPlaceUnit) * static_cast<float>(size));
  return static_cast<std::int32_t>(units + (units < 0 ? -0.5f : 0.5f));
}

// Tells numbers from sums.
struct CellCounts::Tell {
  template <Isa>
  CQRF_KERNEL static void run(CellCounts& self) {
    auto& numbers = self.numbers_;
    for (std::size_t k = 0; k < self.size_.size(); ++k)
      numbers[0][k] = number(self.sum(1, k)) + number(self.sum(0, k));
    if (numbers.size() == 1) return;
    for (std::size_t k = 0; k < self.size_.size(); ++k) {
      numbers[1][k] = number(self.sum(0, k));
      numbers[2][k] = places(self.sum(1, k), self.size_[k]);
      numbers[3][k] = places(self.sum(0, k), self.size_[k]);
    }
  }
};

void CellCounts::count(const Forest& forest, const Leaf& leaf) {
  std::ranges::fill(sums_, Sums{});
  forest.members.for_each_run(leaf, [&](std::size_t block, std::span<const std::uint16_t> low) {
    const Rank first = static_cast<Rank>(block << kPlaceBits);
    std::size_t i = 0;
    for (; i + 2 <= low.size(); i += 2) {
      add(first, low[i], 0);
      add(first, low[i + 1], 1);
    }
    if (i < low.size()) add(first, low[i], 0);
  });
  dispatch<Tell>(isa_, *this);
}

// Moves as much of some numbers as fits bytes. Returns what is left, some bits or none.
struct CellCounts::Take {
  template <Isa>
  CQRF_KERNEL static std::int32_t run(std::int32_t most, std::span<std::int32_t> numbers,
                                      std::uint8_t* to) {
    std::int32_t left = 0;
    for (std::size_t k = 0; k < numbers.size(); ++k) {
      const std::int32_t taken = std::clamp(numbers[k], -most, most);
      numbers[k] -= taken;
      left |= numbers[k];
      to[k] = static_cast<std::uint8_t>(taken);
    }
    return left;
  }
};

bool CellCounts::move_to(std::uint8_t* record) {
  constexpr std::int32_t kMostUnsigned = std::numeric_limits<std::uint8_t>::max();
  constexpr std::int32_t kMostSigned = std::numeric_limits<std::int8_t>::max();
  std::int32_t left = 0;
  for (std::size_t j = 0; j < numbers_.size(); ++j)
    left |= dispatch<Take>(isa_, j < 2 ? kMostUnsigned : kMostSigned, numbers_[j],
                           record + j * sums_.size());
  return left != 0;
}

}  // namespace cqrf
