#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>

#include "check.hpp"
#include "outcome/ranks.hpp"
#include "radix_sort.hpp"
#include "random.hpp"

using namespace cqrf;

namespace {

struct Rows {
  explicit Rows(std::size_t n)
      : time(n), event(std::make_unique<bool[]>(n)), kept(std::make_unique<bool[]>(n)) {}
  RankedOutcome ranked(bool all, bool mirrored) const {
    return rank_outcome(time, {event.get(), time.size()},
                        all ? std::span<const bool>{} : std::span(kept.get(), time.size()),
                        mirrored);
  }
  std::vector<double> time;
  std::unique_ptr<bool[]> event;
  std::unique_ptr<bool[]> kept;
};

}  // namespace

TEST(ranks_agree_with_a_stable_sort) {
  Random random(1);
  for (int repeat = 0; repeat < 100; ++repeat) {
    Rows rows(1 + random.below(300));
    const std::uint32_t distinct = 1 + random.below(400);
    const double scale = std::exp2(static_cast<double>(random.below(2000)) - 1000);
    for (std::size_t i = 0; i < rows.time.size(); ++i) {
      rows.time[i] = (random.below(distinct) - distinct / 2.0) * scale;
      if (random.below(9) == 0) rows.time[i] = -0.0;
      rows.event[i] = random.below(2) == 0;
      rows.kept[i] = random.below(3) != 0;
    }
    for (const bool all : {true, false})
      for (const bool mirrored : {true, false}) {
        const auto ranked = rows.ranked(all, mirrored);
        std::vector<std::int64_t> order;
        for (std::size_t i = 0; i < rows.time.size(); ++i)
          if (all || rows.kept[i]) order.push_back(static_cast<std::int64_t>(i));
        const auto time = [&](std::int64_t row) {
          const double t = rows.time[static_cast<std::size_t>(row)];
          return mirrored ? -t : t;
        };
        std::ranges::stable_sort(order, [&](std::int64_t a, std::int64_t b) {
          if (time(a) != time(b)) return time(a) < time(b);
          return rows.event[static_cast<std::size_t>(a)] > rows.event[static_cast<std::size_t>(b)];
        });
        CHECK(ranked.order == order);
        CHECK(std::ranges::adjacent_find(ranked.times, std::greater_equal<>()) ==
              ranked.times.end());
        for (std::size_t rank = 0; rank < order.size(); ++rank) {
          const double t = ranked.times[ranked.time_index[rank]];
          CHECK(t == time(order[rank]) && !(t == 0 && std::signbit(t)));
          CHECK_EQ(ranked.event[rank], rows.event[static_cast<std::size_t>(order[rank])] ? 1 : 0);
        }
        CHECK(order.empty() || ranked.time_index.back() + 1 == ranked.times.size());
      }
  }
}

TEST(ranks_kaplan_meier) {
  // Times 1 (event), 2 (event, censored), 3 (censored), 4 (event) with weights 1 to 5.
  const std::vector<TimeIndex> index{0, 1, 1, 2, 3};
  const std::vector<std::uint8_t> event{1, 1, 0, 0, 1};
  const std::vector<double> weight{1, 2, 3, 4, 5};
  const auto s = kaplan_meier(index, event, weight, 4, false);
  const auto g = kaplan_meier(index, event, weight, 4, true);
  CHECK_NEAR(s[0], 14.0 / 15, 1e-15);
  CHECK_NEAR(s[1], 12.0 / 15, 1e-15);
  CHECK_NEAR(s[2], 12.0 / 15, 1e-15);
  CHECK_EQ(s[3], 0.0);
  CHECK_EQ(g[0], 1.0);
  CHECK_NEAR(g[1], 9.0 / 12, 1e-15);
  CHECK_NEAR(g[2], 9.0 / 12 * 5 / 9, 1e-15);
  CHECK_EQ(g[3], g[2]);
  const std::vector<double> ones(5, 1.0);
  CHECK(kaplan_meier(index, event, {}, 4, false) == kaplan_meier(index, event, ones, 4, false));
}

TEST(ranks_radix_sort_keeps_equal_keys_in_order) {
  Random random(2);
  std::vector<std::uint64_t> keys(5000);
  std::vector<std::uint32_t> beside(keys.size());
  for (auto& key : keys) key = std::uint64_t{random.below(50)} << random.below(60);
  std::iota(beside.begin(), beside.end(), 0u);
  const auto before = keys;
  radix_sort_keys(keys, beside);
  CHECK(std::ranges::is_sorted(keys));
  for (std::size_t i = 0; i < keys.size(); ++i) {
    CHECK_EQ(keys[i], before[beside[i]]);
    CHECK(i == 0 || keys[i - 1] < keys[i] || beside[i - 1] < beside[i]);
  }
}
