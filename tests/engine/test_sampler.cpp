#include <algorithm>
#include <numeric>
#include <set>
#include <stdexcept>

#include "check.hpp"
#include "sampling/sampler.hpp"

using namespace cqrf;

namespace {

bool ascending(const std::vector<Rank>& ranks) {
  return std::adjacent_find(ranks.begin(), ranks.end(), std::greater_equal<>()) == ranks.end();
}

std::uint64_t total(const std::vector<std::uint32_t>& counts) {
  return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
}

}  // namespace

TEST(sampler_bootstrap_counts_add_up) {
  for (const std::size_t n : {1, 2, 10, 1000})
    for (const std::size_t draws : {1, 5, 1000, 3000}) {
      const TreeRows rows = draw_rows({n, draws, true, false}, 1, n + draws);
      CHECK_EQ(total(rows.multiplicity), draws);
      CHECK_EQ(rows.growing.size(), rows.multiplicity.size());
      CHECK(ascending(rows.growing) && rows.growing.back() < n);
      CHECK(std::ranges::count(rows.multiplicity, 0u) == 0);
      CHECK(rows.filling.empty());
    }
}

TEST(sampler_bootstrap_leaves_a_third_out) {
  const TreeRows rows = draw_rows({10000, 10000, true, false}, 0, 0);
  CHECK_NEAR(static_cast<double>(rows.growing.size()), 6321, 6 * 31);
}

TEST(sampler_without_replacement_is_distinct_and_sorted) {
  for (const std::size_t n : {1, 2, 10, 1000})
    for (const std::size_t draws : {std::size_t{1}, n / 2 + n % 2, n}) {
      const TreeRows rows = draw_rows({n, draws, false, false}, 2, n);
      CHECK_EQ(rows.growing.size(), draws);
      CHECK(ascending(rows.growing) && rows.growing.back() < n);
      CHECK_EQ(total(rows.multiplicity), draws);
    }
}

TEST(sampler_subsets_are_equally_likely) {
  // Two of four rows: six subsets.
  std::vector<int> count(16, 0);
  for (std::uint64_t tree = 0; tree < 6000; ++tree) {
    const TreeRows rows = draw_rows({4, 2, false, false}, 3, tree);
    ++count[(1u << rows.growing[0]) | (1u << rows.growing[1])];
  }
  double chi_square = 0;
  int subsets = 0;
  for (const int c : count) {
    if (c == 0) continue;
    ++subsets;
    chi_square += (c - 1000.0) * (c - 1000.0) / 1000.0;
  }
  CHECK_EQ(subsets, 6);
  CHECK(chi_square < 30);
}

TEST(sampler_honest_halves_share_the_sample) {
  for (const bool replace : {false, true})
    for (const std::size_t n : {2, 3, 10, 501})
      for (std::uint64_t tree = 0; tree < 20; ++tree) {
        const std::size_t draws = replace ? n : n / 2 + n % 2;
        const TreeRows whole = draw_rows({n, draws, replace, false}, 4, tree);
        const TreeRows halves = draw_rows({n, draws, replace, true}, 4, tree);
        if (whole.growing.size() < 2) continue;
        CHECK_EQ(halves.growing.size(), whole.growing.size() / 2);
        CHECK(ascending(halves.growing) && ascending(halves.filling));
        std::vector<Rank> both;
        std::ranges::merge(halves.growing, halves.filling, std::back_inserter(both));
        CHECK(both == whole.growing);
        // A growing row keeps the number of its draws.
        for (std::size_t i = 0; i < halves.growing.size(); ++i) {
          const auto at = std::ranges::lower_bound(whole.growing, halves.growing[i]);
          CHECK_EQ(halves.multiplicity[i],
                   whole.multiplicity[static_cast<std::size_t>(at - whole.growing.begin())]);
        }
      }
}

TEST(sampler_one_row_grows_and_fills) {
  for (const bool replace : {false, true}) {
    const TreeRows rows = draw_rows({1, 1, replace, true}, 0, 0);
    CHECK_EQ(rows.growing.size(), 1u);
    CHECK_EQ(rows.filling.size(), 1u);
    CHECK_EQ(rows.filling[0], 0u);
  }
}

TEST(sampler_same_key_same_draw) {
  const Sampling sampling{300, 300, true, true};
  const TreeRows a = draw_rows(sampling, 9, 9);
  const TreeRows b = draw_rows(sampling, 9, 9);
  const TreeRows c = draw_rows(sampling, 9, 10);
  CHECK(a.growing == b.growing && a.multiplicity == b.multiplicity && a.filling == b.filling);
  CHECK(a.growing != c.growing);
}

TEST(sampler_groups_share_a_half) {
  for (const bool replace : {false, true})
    for (const std::size_t n : {2, 3, 10, 501}) {
      const std::size_t half = n - n / 2;
      const Sampling sampling = make_sampling(n, half, replace, false, 3);
      std::vector<TreeRows> trees;
      for (std::uint64_t tree = 0; tree < 12; ++tree) trees.push_back(draw_rows(sampling, 5, tree));
      for (std::size_t t = 0; t < trees.size(); ++t) {
        CHECK_EQ(trees[t].filling.size(), half);
        CHECK(ascending(trees[t].filling) && ascending(trees[t].growing));
        CHECK(trees[t].filling == trees[t - t % 3].filling);
        CHECK(std::ranges::includes(trees[t].filling, trees[t].growing));
      }
      if (n == 501) CHECK(trees[0].filling != trees[3].filling);
    }
}

TEST(sampler_honest_trees_of_a_group_divide_its_half) {
  const Sampling plain = make_sampling(100, 30, false, false, 2);
  const Sampling honest = make_sampling(100, 30, false, true, 2);
  for (std::uint64_t tree = 0; tree < 20; ++tree) {
    const TreeRows whole = draw_rows(plain, 6, tree);
    const TreeRows halves = draw_rows(honest, 6, tree);
    std::vector<Rank> both;
    std::ranges::merge(halves.growing, halves.filling, std::back_inserter(both));
    CHECK(both == whole.growing);
  }
}

TEST(sampler_refuses_what_cannot_be_drawn) {
  CHECK_THROWS(make_sampling(0, 1, false, false, 1), std::invalid_argument);
  CHECK_THROWS(make_sampling(10, 0, false, false, 1), std::invalid_argument);
  CHECK_THROWS(make_sampling(10, 11, false, false, 1), std::invalid_argument);
  CHECK_THROWS(make_sampling(10, 6, false, false, 2), std::invalid_argument);
  CHECK_THROWS(make_sampling(10, 5, false, false, 0), std::invalid_argument);
  CHECK_EQ(make_sampling(11, 6, false, false, 2).pool_size(), 6u);
}
