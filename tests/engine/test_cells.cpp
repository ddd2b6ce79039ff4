// Cells: what leaves hold by runs of ranks, against a plain count.
#include "prediction/cells.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "check.hpp"
#include "isas.hpp"
#include "planted.hpp"

using namespace cqrf;
using test::each_isa;
using test::OutcomeData;
using test::Planted;
using test::Planting;

namespace {

Cells make_cells(const Planted& planted, int shift) {
  Monitor monitor;
  return Cells(planted.forest, shift, planted.censored(), 2, monitor);
}

std::vector<float> all_of(const Cells::Sums& sums, std::size_t n) {
  std::vector<float> all;
  for (const auto* one : {&sums.all, &sums.censored, &sums.event_places, &sums.censored_places})
    all.insert(all.end(), one->begin(), one->begin() + static_cast<std::ptrdiff_t>(n));
  return all;
}

struct Plain {
  double weight = 0;
  double places = 0;  // distances from the middle, in cells, times weights
};

// The sums of some leaves, member by member: censorings and events.
std::vector<std::array<Plain, 2>> plain_sums(const Planted& planted, const CellBounds& bounds,
                                             const std::vector<LeafId>& ids) {
  std::vector<std::array<Plain, 2>> sums(bounds.size() - 1);
  for (const auto& ranks : planted.members(ids))
    for (const Rank rank : ranks) {
      const auto end = std::ranges::upper_bound(bounds, rank);
      const double begin = *(end - 1);
      Plain& sum =
          sums[static_cast<std::size_t>(end - bounds.begin() - 1)][planted.outcome.event[rank]];
      const double share = 1.0 / static_cast<double>(ranks.size());
      sum.weight += share;
      sum.places += share * ((rank - begin + 0.5) / (*end - begin) - 0.5);
    }
  return sums;
}

void check_leaves(const Planted& planted, const Cells& cells,
                  const std::vector<Cells::Found>& leaves, const CellBounds& bounds,
                  const std::vector<LeafId>& ids) {
  const auto members = planted.members(ids);
  for (std::size_t t = 0; t < leaves.size(); ++t) {
    const Leaf leaf = planted.forest.leaf(t, ids[t]);
    CHECK_EQ(leaves[t].first, leaf.first);
    CHECK_EQ(leaves[t].share, 1.0f / static_cast<float>(leaf.size));
    for (std::size_t k = 0; k < cells.size(); ++k) {
      std::size_t before = 0;
      std::size_t inside = 0;
      for (const Rank rank : members[t]) {
        before += rank < bounds[k];
        inside += rank >= bounds[k] && rank < bounds[k + 1];
      }
      CHECK_EQ(cells.run(leaves[t], k).begin, before);
      CHECK_EQ(cells.run(leaves[t], k).size, inside);
    }
  }
  const auto expected = plain_sums(planted, bounds, ids);
  double rounding = 1e-5;
  for (const Cells::Found& leaf : leaves) rounding += Cells::kPlaceUnit / 2 * double{leaf.share};
  std::vector<float> first;
  each_isa([&](Isa isa) {
    Cells::Sums sums;
    cells.add_up(isa, leaves, sums);
    const auto found = all_of(sums, cells.size());
    if (first.empty()) first = found;
    CHECK(std::memcmp(found.data(), first.data(), found.size() * sizeof(float)) == 0);
    for (std::size_t k = 0; k < cells.size(); ++k) {
      const auto& [censored, event] = expected[k];
      CHECK_NEAR(sums.all[k], event.weight + censored.weight, 1e-5);
      CHECK_NEAR(sums.censored[k], censored.weight, 1e-5);
      if (!planted.censored()) continue;
      CHECK_NEAR(sums.event_places[k] * Cells::kPlaceUnit, event.places, rounding);
      CHECK_NEAR(sums.censored_places[k] * Cells::kPlaceUnit, censored.places, rounding);
    }
  });
}

void check_cells(const Planted& planted, int shift, Random& random) {
  const Cells cells = make_cells(planted, shift);
  CHECK_EQ(cells.size(), ((planted.outcome.size() - 1) >> shift) + 1);
  const auto ids = planted.some_leaves(random);
  const CellBounds bounds = equal_cells(planted.outcome.size(), shift);
  check_leaves(planted, cells, planted.found(cells, ids), bounds, ids);
}

std::vector<std::size_t> some_ranks(std::uint32_t n, std::size_t size, Random& random) {
  std::vector<std::size_t> ranks;
  for (std::size_t i = 0; i < size; ++i) ranks.push_back(random.below(n + 1));
  std::ranges::sort(ranks);
  return ranks;
}

// Between some ranks: of all leaves, and of those of one test point after another.
void check_cells_between(const Planted& planted, std::size_t n_ranks, Random& random) {
  const auto n = static_cast<std::uint32_t>(planted.outcome.size());
  const CellBounds bounds = cells_between(n, some_ranks(n, n_ranks, random));
  Monitor monitor;
  const Cells whole(planted.forest, bounds, planted.censored(), 2, monitor);
  Cells written(bounds, planted.censored());
  CellCounts counts(bounds, planted.censored());
  for (int i = 0; i < 2; ++i) {
    const auto ids = planted.some_leaves(random);
    check_leaves(planted, whole, planted.found(whole, ids), bounds, ids);
    written.write(planted.forest, ids.data(), counts);
    std::vector<Cells::Found> found;
    for (std::size_t t = 0; t < ids.size(); ++t)
      found.push_back(written.find_written(planted.forest, t));
    check_leaves(planted, written, found, bounds, ids);
    std::array<Cells::Sums, 2> sums;
    whole.add_up(isa(), planted.found(whole, ids), sums[0]);
    written.add_up(isa(), found, sums[1]);
    CHECK(all_of(sums[0], whole.size()) == all_of(sums[1], whole.size()));
  }
}

}  // namespace

// The last cell is full, or has one row; numbers of cells below, at and above whole vectors; one
// block of ranks and several; leaves without a member in most cells.
TEST(cells_count_what_leaves_hold) {
  Random random(1);
  for (const std::size_t n : {std::size_t{1}, std::size_t{128}, std::size_t{129}, std::size_t{2000},
                              kBlockRows, kBlockRows + 1})
    for (const double events : {1.0, 0.5, 0.0})
      for (const Planting planting : {Planting::kAnywhere, Planting::kByTime}) {
        const std::uint32_t leaves = n < 100 ? 1 : 7;
        const Planted planted(OutcomeData(n, 300, events, random), 3, leaves, planting, random);
        for (const int shift : n > 2000 ? std::vector{11} : std::vector{3, 6, 8})
          check_cells(planted, shift, random);
        for (const std::size_t ranks : {0u, 1u, 40u}) check_cells_between(planted, ranks, random);
      }
}

TEST(cells_of_forests_that_count_by_block) {
  Random random(2);
  Planted planted(OutcomeData(2 * kBlockRows + 17, 300, 0.5, random), 2, 5, Planting::kAnywhere,
                  random);
  const Cells bytes = make_cells(planted, 12);
  planted.arrays.count_blocks();
  planted.forest = planted.arrays.view();
  const Cells counted = make_cells(planted, 12);
  for (LeafId id = 0; id < 5; ++id)
    for (std::size_t k = 0; k < bytes.size(); ++k)
      CHECK_EQ(bytes.run(bytes.find(planted.forest, 1, id), k).begin,
               counted.run(counted.find(planted.forest, 1, id), k).begin);
}

// More members in a cell than a byte tells, once or several times; at one end of it, or all over.
TEST(cells_with_numbers_beyond_a_byte) {
  Random random(7);
  for (const double events : {1.0, 0.5, 0.01}) {
    std::vector<std::vector<Rank>> leaves(4);
    for (Rank rank = 0; rank < 8192; ++rank)
      leaves[rank < 255 ? 0 : rank < 2048 ? 1 : random.below(3) == 0 ? 2 : 3].push_back(rank);
    const Planted planted(OutcomeData(8192, 8192, events, random), leaves);
    for (const int shift : {8, 10, 12}) {
      const Cells cells = make_cells(planted, shift);
      const CellBounds bounds = equal_cells(planted.outcome.size(), shift);
      for (LeafId id = 0; id < 4; ++id)
        check_leaves(planted, cells, planted.found(cells, {id}), bounds, {id});
    }
  }
}

// All ranks that are asked for are bounds, no cell is in two blocks, and none is longer than a 32nd
// of all.
TEST(cells_between_ranks) {
  Random random(5);
  for (const std::uint32_t n : {1u, 63u, 1000u, 40'000u, 1'000'000u})
    for (const std::size_t size : {0u, 1u, 5u, 200u}) {
      const auto ranks = some_ranks(n, size, random);
      const CellBounds bounds = cells_between(n, ranks);
      CHECK_EQ(bounds.front(), 0u);
      CHECK_EQ(bounds.back(), n);
      for (const std::size_t rank : ranks) CHECK(std::ranges::count(bounds, rank) == 1);
      for (std::size_t k = 0; k + 1 < bounds.size(); ++k) {
        CHECK(bounds[k] < bounds[k + 1]);
        CHECK_EQ(bounds[k] / kBlockRows, (bounds[k + 1] - 1) / kBlockRows);
        CHECK(bounds[k + 1] - bounds[k] <= 1 + n / 32);
      }
      CHECK(bounds.size() <= size + 66);
    }
}

// The finest cells that fit: no more than are wanted, with two members in a leaf, or with censoring
// 32 in two of them.
TEST(cells_are_as_many_as_fit) {
  Random random(3);
  int used = 0;
  for (const std::size_t n : {500, 3000, 12000, 40000})
    for (const std::uint32_t leaves : {1, 3, 20, 200})
      for (const double events : {1.0, 0.5}) {
        const Planted planted(OutcomeData(n, 1000, events, random), 2, leaves, Planting::kAnywhere,
                              random);
        const bool censored = events < 1;
        for (const std::size_t most : {1, 15, 16, 31, 32, 64, 128, 100000}) {
          Monitor monitor;
          const auto cells = Cells::make(planted.forest, most, censored, 2, monitor);
          const auto fits = [&](int bits) {
            const std::size_t number = (n + (std::size_t{1} << bits) - 1) >> bits;
            return number <= most && number >= (censored ? 32u : 16u) &&
                   number * (censored ? 16 : 2) * leaves <= n;
          };
          // Eight levels of a cell are computed at once.
          for (int finer = 3; finer < (cells ? cells->shift() : 16); ++finer) CHECK(!fits(finer));
          if (!cells) continue;
          ++used;
          CHECK(cells->shift() >= 3 && fits(cells->shift()));
          // Two bytes per member, and what the last vector reads behind them.
          CHECK(cells->bytes() <= 2 * planted.arrays.low.size() + 64);
        }
      }
  CHECK(used > 20);
}

// Cells do not reach beyond a block: of many blocks there are as many, whatever was wanted.
TEST(cells_of_many_blocks) {
  Random random(6);
  const std::size_t n = 40 * kBlockRows;
  const Planted planted(OutcomeData(n, n, 0.5, random), 1, 30, Planting::kAnywhere, random);
  Monitor monitor;
  const auto cells = Cells::make(planted.forest, 33, true, 2, monitor);
  CHECK(cells != nullptr);
  if (!cells) return;
  CHECK_EQ(cells->size(), std::size_t{40});
  for (const LeafId id : {0u, 29u}) {
    const Cells::Found leaf = cells->find(planted.forest, 0, id);
    const auto members = planted.members({id}).front();
    for (const std::size_t cell : {std::size_t{0}, std::size_t{39}}) {
      const auto first = std::ranges::lower_bound(members, cell * kBlockRows);
      const auto last = std::ranges::lower_bound(members, (cell + 1) * kBlockRows);
      const Cells::Run run = cells->run(leaf, cell);
      CHECK_EQ(run.begin, static_cast<std::size_t>(first - members.begin()));
      CHECK_EQ(run.size, static_cast<std::size_t>(last - first));
    }
  }
}

// Begins in a leaf are told by two bytes.
TEST(cells_of_the_largest_leaf) {
  Random random(4);
  constexpr std::size_t kLargest = 65535;
  for (const std::size_t size : {kLargest, kLargest + 1}) {
    std::vector<std::vector<Rank>> leaves(2);
    for (std::size_t rank = 0; rank < size + 9; ++rank)
      leaves[rank >= 9].push_back(static_cast<Rank>(rank));
    const Planted planted(OutcomeData(size + 9, 1000, 0.5, random), leaves);
    Monitor monitor;
    const auto cells = Cells::make(planted.forest, 128, true, 2, monitor);
    CHECK_EQ(cells != nullptr, size == kLargest);
    if (!cells) continue;
    const Cells::Found leaf = cells->find(planted.forest, 0, 1);
    const Cells::Run last = cells->run(leaf, cells->size() - 1);
    CHECK_EQ(last.begin + last.size, kLargest);
    CHECK_EQ(cells->run(leaf, 1).begin, (std::size_t{1} << cells->shift()) - 9);
  }
}

TEST(cells_do_not_depend_on_threads) {
  Random random(5);
  const Planted planted(OutcomeData(3000, 100, 0.5, random), 9, 4, Planting::kAnywhere, random);
  const auto ids = planted.some_leaves(random);
  std::vector<float> first;
  for (const int n_threads : {1, 2, 8}) {
    Monitor monitor;
    const Cells cells(planted.forest, 6, true, n_threads, monitor);
    Cells::Sums sums;
    cells.add_up(isa(), planted.found(cells, ids), sums);
    const auto found = all_of(sums, cells.size());
    if (first.empty()) first = found;
    CHECK(found == first);
  }
}

TEST(cells_stop) {
  Random random(6);
  const Planted planted(OutcomeData(3000, 100, 0.5, random), 3, 4, Planting::kAnywhere, random);
  Monitor monitor;
  monitor.stop();
  CHECK_THROWS(Cells(planted.forest, 6, true, 2, monitor), Stopped);
}

// Rows in any order, and what their mean places tell of it.
TEST(cells_factor_is_near_that_of_the_rows) {
  Random random(8);
  for (const double behind : {30.0, 300.0, 3000.0})
    for (const std::uint32_t n : {2, 8, 60})
      for (int repeat = 0; repeat < 200; ++repeat) {
        double events = 0;
        double censored = 0;
        double event_places = 0;
        double censored_places = 0;
        double exact = 1;
        for (std::uint32_t i = 0; i < n; ++i) {
          const double place = (i + 0.5) / n;
          if (random.below(3) > 0) {
            exact *= 1 - 1 / (behind + n - i);
            event_places += place;
            ++events;
          } else {
            censored_places += place;
            ++censored;
          }
        }
        const double at_risk = behind + n / 2.0;
        const double pairs = events * censored / (at_risk * at_risk);
        const double later = pairs > 0 ? censored_places / censored - event_places / events : 0.0;
        const double found = fall_factor(behind, events, censored, events * censored * later);
        if (censored == 0) CHECK_NEAR(found, exact, 1e-12);
        if (events == 0) CHECK_EQ(found, 1.0);
        // Three standard deviations of a third, and what comes next.
        const double bound = pairs / std::sqrt(std::max(1.0, events * censored));
        CHECK_NEAR(found, exact, bound + pairs * n / at_risk / 10 + 1e-12);
        if (pairs == 0) continue;
        const double plain = std::exp(std::log(behind / (behind + n)) * events / n + pairs * later);
        CHECK_NEAR(found, std::min(1.0, plain), 1e-6);
      }
  CHECK_EQ(fall_factor(0, 2, 0, 0), 0.0);
  CHECK_EQ(fall_factor(0, 0, 2, 0), 1.0);
}
