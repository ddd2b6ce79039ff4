#include <map>

#include "check.hpp"
#include "prediction/accumulator.hpp"
#include "random.hpp"

using namespace cqrf;

namespace {

void check_drained(std::span<const RankWeight> drained, const std::map<Rank, double>& expected) {
  CHECK_EQ(drained.size(), expected.size());
  if (drained.size() != expected.size()) return;
  auto at = expected.begin();
  for (const RankWeight& w : drained) {
    CHECK_EQ(w.rank, at->first);
    CHECK_EQ(w.weight, at->second);
    ++at;
  }
}

}  // namespace

TEST(accumulator_agrees_with_a_map) {
  for (const std::uint32_t n : {1u, 63u, 64u, 65u, 511u, 512u, 513u, 1025u, 5000u}) {
    WeightAccumulator accumulator(n);
    Random random(n);
    for (int use = 0; use < 5; ++use) {
      std::map<Rank, double> expected;
      for (int leaf = 0; leaf < 6; ++leaf) {
        std::vector<Rank> ranks;
        for (std::uint32_t i = random.below(2 * std::min(n, 200u)); i > 0; --i)
          ranks.push_back(random.below(n));
        // Multiples of 1/8: sums are exact in any order.
        const double share = (1 + random.below(16)) / 8.0;
        accumulator.add(ranks, [&](Rank rank) { return share + rank; });
        for (const Rank rank : ranks) expected[rank] += share + rank;
      }
      check_drained(accumulator.drain(), expected);
    }
    CHECK(accumulator.drain().empty());
  }
}

TEST(accumulator_first_and_last_rank) {
  for (const std::uint32_t n : {1u, 64u, 512u, 700u}) {
    WeightAccumulator accumulator(n);
    const std::vector<Rank> ranks{n - 1, 0};
    accumulator.add(ranks, [](Rank) { return 1.0; });
    check_drained(accumulator.drain(), n == 1 ? std::map<Rank, double>{{0, 2.0}}
                                              : std::map<Rank, double>{{0, 1.0}, {n - 1, 1.0}});
  }
}

TEST(accumulator_all_ranks) {
  WeightAccumulator accumulator(1300);
  std::vector<Rank> ranks;
  std::map<Rank, double> expected;
  for (Rank rank = 0; rank < 1300; ++rank) {
    ranks.push_back(rank);
    expected[rank] = 2.0 * rank;
  }
  for (int repeat = 0; repeat < 2; ++repeat)
    accumulator.add(ranks, [](Rank rank) { return static_cast<double>(rank); });
  check_drained(accumulator.drain(), expected);
}

TEST(accumulator_empty) {
  WeightAccumulator accumulator(10);
  accumulator.add(std::span<const Rank>{}, [](Rank) { return 1.0; });
  CHECK(accumulator.drain().empty());
}
