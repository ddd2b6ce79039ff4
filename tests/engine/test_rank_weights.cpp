#include <vector>

#include "check.hpp"
#include "data.hpp"
#include "isas.hpp"
#include "prediction/rank_weights.hpp"

using namespace cqrf;
using test::OutcomeData;

namespace {

// Weights up to nine, of some percent of all ranks.
void check_drained(std::size_t n, std::uint32_t percent, Random& random) {
  OutcomeData data;
  std::vector<float> weights;
  std::vector<Rank> ranks;
  for (std::size_t i = 0; i < n; ++i) {
    data.push(static_cast<double>(i), random.below(2) == 0);
    const bool in = random.below(100) < percent;
    weights.push_back(in ? static_cast<float>(1 + random.below(9)) : 0.0f);
    if (in) ranks.push_back(static_cast<Rank>(i));
  }
  std::vector<float> scratch = weights;
  RankWeights found;
  found.make_room(ranks.size());
  drain(isa(), data.target().event, scratch.data(), n, 0, found);
  CHECK(scratch == std::vector<float>(n, 0.0f));
  CHECK_EQ(found.size, ranks.size());
  for (std::size_t k = 0; k < ranks.size(); ++k) {
    CHECK_EQ(found.rank(k), ranks[k]);
    CHECK_EQ(found.is_event(k), data.event[ranks[k]] != 0);
    CHECK_EQ(found.weight[k], weights[ranks[k]]);
  }
}

}  // namespace

TEST(rank_weights_other_than_zero) {
  test::each_isa([](Isa) {
    Random random(1);
    // Few of sixteen, and nearly all of them.
    for (const std::uint32_t percent : {10u, 95u})
      for (const std::size_t n : {1u, 7u, 16u, 17u, 200u}) check_drained(n, percent, random);
  });
}
