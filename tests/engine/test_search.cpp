#include <optional>

#include "check.hpp"
#include "data.hpp"
#include "isas.hpp"
#include "rules/distribution.hpp"
#include "rules/logrank.hpp"
#include "rules/mse.hpp"
#include "rules/quantile.hpp"
#include "search/best.hpp"
#include "search/random.hpp"
#include "search/score_intervals.hpp"
#include "search/score_sets.hpp"

using namespace cqrf;
using test::FeatureData;
using test::OutcomeData;

namespace {

constexpr std::uint64_t kTotalWeight = 1024;

template <class Rule>
struct Fixture {
  using Stat = typename Rule::Stat;

  OutcomeData outcome;
  FeatureData feature;
  BinnedFeatures features;
  std::optional<Rule> rule;
  std::vector<SampledRow> rows;
  std::vector<typename Rule::Label> labels;
  std::vector<Lanes> carried;  // the bins of the rows, if they are to be carried
  std::size_t stride = 0;
  Stat total{};

  Fixture(std::size_t n, std::size_t p, std::uint32_t n_bins, Random& random)
      : outcome(n, static_cast<std::uint32_t>(n), 0.6, random),
        feature(n, p, n_bins, random),
        features(feature.view()) {}

  // A node of about `share` of the rows, the last row always among them.
  void choose_rows(std::uint32_t percent, Random& random) {
    rows.clear();
    for (Rank rank = 0; rank < feature.n; ++rank)
      if (rank + 1 == feature.n || random.below(100) < percent)
        rows.push_back({rank, 1 + random.below(3)});
    relabel();
  }

  void relabel() {
    labels.resize(rows.size());
    rule.emplace(outcome.outcomes(kTotalWeight));
    rule->relabel(rows, labels.data());
    total = {};
    for (std::size_t i = 0; i < rows.size(); ++i) Rule::add(total, labels[i], rows[i]);
  }

  void carry_bins() {
    stride = (feature.p + kLanes - 1) / kLanes;
    carried.assign(rows.size() * stride, Lanes{});
    for (std::size_t i = 0; i < rows.size(); ++i)
      for (std::size_t f = 0; f < feature.p; ++f)
        carried[i * stride + f / kLanes].bin[f % kLanes] = feature.at(rows[i].rank, f);
  }

  NodeView<Rule> node(std::uint32_t min_leaf) const {
    LaneRows bins;
    if (stride > 0) bins = {carried.data(), stride};
    return {*rule, features, rows, labels.data(), total, min_leaf, bins};
  }

  // The sum of the labels that a predicate of the bin sends left.
  template <class Left>
  Stat left_sum(std::uint32_t f, Left left) const {
    Stat sum{};
    for (std::size_t i = 0; i < rows.size(); ++i)
      if (left(feature.at(rows[i].rank, f))) Rule::add(sum, labels[i], rows[i]);
    return sum;
  }

  // Calls take(left_sum) for every admissible split that the best search should consider.
  template <class Take>
  void each_split(std::uint32_t f, std::uint32_t min_leaf, bool all_subsets, Take take) const {
    const auto propose = [&](const Stat& sum) {
      if (node(min_leaf).admissible(sum.count())) take(sum);
    };
    const Bin missing = feature.missing[f];
    if (!feature.categorical[f]) {
      for (int cut = 0; cut < missing; ++cut) {
        propose(left_sum(f, [&](Bin bin) { return bin <= cut; }));
        propose(left_sum(f, [&](Bin bin) { return bin <= cut || bin == missing; }));
      }
      return;
    }
    if (all_subsets) {
      for (std::uint32_t set = 0; set < 1u << (missing + 1); ++set)
        propose(left_sum(f, [&](Bin bin) { return (set >> bin) & 1; }));
      return;
    }
    // Prefixes of the categories in the order of the rule.
    std::vector<std::pair<double, Bin>> order;
    for (int bin = 0; bin <= missing; ++bin) {
      const Stat cell = left_sum(f, [&](Bin b) { return b == bin; });
      if (cell.count() > 0) order.push_back({rule->order(cell), static_cast<Bin>(bin)});
    }
    std::sort(order.begin(), order.end());
    for (std::size_t end = 1; end < order.size(); ++end)
      propose(left_sum(f, [&](Bin bin) {
        return std::any_of(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(end),
                           [&](const auto& entry) { return entry.second == bin; });
      }));
  }

  // Whether any split of a feature is admissible.
  bool splittable(std::uint32_t f, std::uint32_t min_leaf) const {
    bool any = false;
    if (!feature.categorical[f]) {
      each_split(f, min_leaf, false, [&](const Stat&) { any = true; });
      return any;
    }
    std::vector<bool> reached(rows.size() + 1, false);  // the sizes that sets of categories have
    reached[0] = true;
    for (int bin = 0; bin <= feature.missing[f]; ++bin) {
      const std::size_t count = left_sum(f, [&](Bin b) { return b == bin; }).count();
      for (std::size_t size = rows.size() + 1; count > 0 && size-- > count;)
        if (reached[size - count]) reached[size] = true;
    }
    for (std::size_t size = min_leaf; size + min_leaf <= rows.size(); ++size)
      any = any || reached[size];
    return any;
  }

  std::optional<double> best_score(std::span<const std::uint32_t> examined, std::uint32_t min_leaf,
                                   bool all_subsets) const {
    const auto gain = rule->gain(total);
    std::optional<double> best;
    for (const std::uint32_t f : examined)
      each_split(f, min_leaf, all_subsets, [&](const Stat& sum) {
        if (const double score = gain(sum); !best || score > *best) best = score;
      });
    return best;
  }
};

template <class Stat>
bool same(const Stat& a, const Stat& b) {
  Stat difference = a;
  difference -= b;
  if (difference.weight() != 0 || difference.count() != 0) return false;
  if constexpr (std::is_same_v<Stat, ScalarStat>) {
    return difference.sum() == 0;
  } else if constexpr (std::is_same_v<Stat, DistributionRule::Stat>) {
    return a == b;
  } else {
    return a.in_class == b.in_class;
  }
}

// What a split promises about its left side is what routing will do.
template <class Rule>
void check_split(const Fixture<Rule>& fixture, std::uint32_t min_leaf, const Split<Rule>& split,
                 std::span<const std::uint32_t> examined) {
  CHECK(std::ranges::find(examined, split.feature) != examined.end());
  const Bin missing_bin = fixture.feature.missing[split.feature];
  const Node cut = Node::make_cut(1, split.feature, split.bin, missing_bin, split.missing_left);
  const auto left = fixture.left_sum(split.feature, [&](Bin bin) {
    if (!split.categorical) return goes_left(cut, bin, nullptr);
    return bin == missing_bin ? split.missing_left : contains(split.left, bin);
  });
  CHECK(same(left, split.left_sum));
  CHECK(fixture.node(min_leaf).admissible(left.count()));
  CHECK_EQ(split.categorical, fixture.feature.categorical[split.feature] != 0);
  const auto gain = fixture.rule->gain(fixture.total);
  CHECK_EQ(split.score, gain(left));
  // Where nothing is missing, a missing value goes to the heavier side.
  const auto missing = fixture.left_sum(split.feature, [&](Bin bin) { return bin == missing_bin; });
  if (missing.count() == 0)
    CHECK_EQ(split.missing_left, left.weight() * 2 > fixture.total.weight());
}

// Features as the grower hands them over: the first of a shuffled order, or all in order.
std::vector<std::uint32_t> some_features(std::size_t p, Random& random) {
  std::vector<std::uint32_t> order(p);
  for (std::uint32_t f = 0; f < p; ++f) order[f] = f;
  if (random.below(3) == 0) return order;
  for (std::size_t i = p; i > 1; --i)
    std::swap(order[i - 1], order[random.below(static_cast<std::uint32_t>(i))]);
  order.resize(1 + random.below(static_cast<std::uint32_t>(p)));
  return order;
}

std::uint32_t some_min_leaf(std::size_t n, Random& random) {
  const auto most = static_cast<std::uint32_t>(n / 2);
  return random.below(2) == 0 ? 1 : 1 + random.below(std::min(most, 8u));
}

template <class Rule>
void check_best(std::uint64_t key) {
  Random random(key);
  for (int repeat = 0; repeat < 60; ++repeat) {
    const std::size_t n = 3 + random.below(repeat % 3 == 0 ? 150 : 40);
    const std::size_t p = 1 + random.below(9);
    Fixture<Rule> fixture(n, p, 2 + random.below(repeat % 2 ? 5 : 250), random);
    for (std::size_t f = 0; f < p; ++f) {
      if (random.below(2) == 0) fixture.feature.lose(f, 2 + random.below(6), random);
      if (fixture.feature.missing[f] <= 6 && random.below(2) == 0)
        fixture.feature.categorical[f] = 1;
    }
    // One object for several nodes: nothing of the last one may be left in its histograms.
    BestSearch<Rule> search(0);
    for (const std::uint32_t percent : {100u, 50u, 90u}) {
      fixture.choose_rows(percent, random);
      if (fixture.rows.size() < 2) continue;
      const std::uint32_t min_leaf = some_min_leaf(fixture.rows.size(), random);
      const auto examined = some_features(p, random);
      Split<Rule> split;
      search.examine(fixture.node(min_leaf), examined, random, split);
      // One response and no leaf size: the best prefix is the best of all subsets.
      const bool all_subsets = min_leaf == 1 && std::is_same_v<typename Rule::Stat, ScalarStat>;
      const auto expected = fixture.best_score(examined, min_leaf, all_subsets);
      CHECK_EQ(split.found(), expected.has_value());
      if (!split.found() || !expected) continue;
      check_split(fixture, min_leaf, split, examined);
      // The two sides exchanged have the same score but for rounding.
      CHECK_NEAR(split.score, *expected, 1e-12 * split.score);
    }
  }
}

// Numeric features only: an admissible cut is found whenever there is one.
template <class Rule>
void check_random(std::uint64_t key) {
  Random random(key);
  for (const std::size_t p : {1, 3, 5, 16, 17, 40})
    for (int repeat = 0; repeat < 20; ++repeat) {
      const std::size_t n = 2 + random.below(repeat % 2 ? 12 : 60);
      const std::uint32_t n_bins = 1 + random.below(repeat % 4 == 0 ? 255 : 6);
      Fixture<Rule> fixture(n, p, n_bins, random);
      for (std::size_t f = 0; f < p; ++f)
        if (random.below(3) == 0) fixture.feature.lose(f, 1 + random.below(6), random);
      RandomSearch<Rule> search(1 + static_cast<int>(random.below(3)));
      for (int draw = 0; draw < 4; ++draw) {
        fixture.choose_rows(draw % 2 ? 100 : 60, random);
        if (fixture.rows.size() < 2) continue;
        if (draw >= 2) fixture.carry_bins();
        const std::uint32_t min_leaf = some_min_leaf(fixture.rows.size(), random);
        const auto examined = some_features(p, random);
        Split<Rule> split;
        search.examine(fixture.node(min_leaf), examined, random, split);
        const auto best = fixture.best_score(examined, min_leaf, false);
        CHECK_EQ(split.found(), best.has_value());
        if (!split.found()) continue;
        check_split(fixture, min_leaf, split, examined);
        CHECK(split.score <= *best * (1 + 1e-12));
      }
    }
}

template <class Rule>
void check_random_categories(std::uint64_t key) {
  Random random(key);
  for (int repeat = 0; repeat < 80; ++repeat) {
    const std::size_t n = 2 + random.below(40);
    const std::size_t p = 1 + random.below(20);
    Fixture<Rule> fixture(n, p, 1 + random.below(repeat % 4 == 0 ? 255 : 8), random);
    bool all_categorical = true;
    for (std::size_t f = 0; f < p; ++f) {
      fixture.feature.categorical[f] = random.below(3) != 0;
      all_categorical &= fixture.feature.categorical[f] != 0;
      if (random.below(3) == 0) fixture.feature.lose(f, 2 + random.below(6), random);
    }
    fixture.choose_rows(100, random);
    if (repeat % 2 == 0) fixture.carry_bins();
    RandomSearch<Rule> search(1 + static_cast<int>(random.below(3)));
    const std::uint32_t min_leaf = some_min_leaf(n, random);
    const auto examined = some_features(p, random);
    Split<Rule> split;
    search.examine(fixture.node(min_leaf), examined, random, split);
    if (split.found()) check_split(fixture, min_leaf, split, examined);
    CHECK_EQ(split.found(), std::ranges::any_of(examined, [&](std::uint32_t f) {
               return fixture.splittable(f, min_leaf);
             }));
  }
}

// Cuts that are no range, all at once, against one after the other: the same split, bit for bit,
// and of equal ones the first.
template <class Rule>
void check_sets(std::uint64_t key) {
  Random random(key);
  for (int repeat = 0; repeat < 200; ++repeat) {
    const std::size_t n = 4 + random.below(repeat % 4 == 0 ? 300 : 40);
    // Few bins have many equal cuts; beyond 64, a set has several words.
    Fixture<Rule> fixture(n, kLanes, 2 + random.below(repeat % 3 == 0 ? 200 : 3), random);
    fixture.choose_rows(90, random);
    if (fixture.rows.size() < 2) continue;
    fixture.carry_bins();
    const NodeView<Rule> node = fixture.node(some_min_leaf(fixture.rows.size(), random));
    CutScorer<Rule> scorer;
    scorer.start(node, 1);
    SetScorer<Rule> sets;
    for (int again = 0; again < 2; ++again) {
      // What came before may already be better.
      Split<Rule> expected;
      if (random.below(4) == 0) {
        const Bin first = fixture.feature.at(fixture.rows[0].rank, 0);
        const auto left = fixture.left_sum(0, [&](Bin bin) { return bin == first; });
        expected.propose(node, 0, first, left, false);
      }
      Split<Rule> split = expected;
      const std::size_t n_cuts = random.below(50);
      for (std::size_t k = 0; k < n_cuts; ++k) {
        const std::uint32_t f = random.below(kLanes);
        SetCut cut{f, f, 0, random.below(2) == 0, static_cast<Bin>(random.below(256)), {}, 0, {}};
        if (cut.categorical) cut.bin = 0;
        for (int bin = 0; bin < 256; ++bin)
          if (random.below(2)) insert(cut.left, static_cast<Bin>(bin));
        for (const SampledRow& row : fixture.rows) {
          cut.high = std::max(cut.high, fixture.feature.at(row.rank, f));
          cut.count += contains(cut.left, fixture.feature.at(row.rank, f));
        }
        const auto left = fixture.left_sum(f, [&](Bin bin) { return contains(cut.left, bin); });
        if (random.below(2)) cut.missing_left = random.below(2) == 0;
        if (!node.admissible(cut.count)) continue;
        sets.add(cut);
        const bool missing_left = cut.missing_left.value_or(node.majority(left));
        if (cut.categorical)
          expected.propose(node, f, cut.left, left, missing_left);
        else
          expected.propose(node, f, cut.bin, left, missing_left);
      }
      sets.examine(node, node.carried, scorer, split);
      CHECK_EQ(split.score, expected.score);
      CHECK_EQ(split.feature, expected.feature);
      CHECK_EQ(split.categorical, expected.categorical);
      CHECK_EQ(split.missing_left, expected.missing_left);
      CHECK_EQ(split.bin, expected.bin);
      CHECK(split.left == expected.left);
      CHECK(same(split.left_sum, expected.left_sum));
    }
  }
}

}  // namespace

TEST(search_sets_mse) { check_sets<MseRule>(17); }
TEST(search_sets_logrank) { check_sets<LogrankRule>(18); }
TEST(search_sets_quantile) { check_sets<QuantileRule>(19); }
TEST(search_sets_distribution) { check_sets<DistributionRule>(20); }
TEST(search_best_mse) { check_best<MseRule>(1); }
TEST(search_best_logrank) { check_best<LogrankRule>(2); }
TEST(search_best_quantile) { check_best<QuantileRule>(3); }
TEST(search_random_mse) { check_random<MseRule>(4); }
TEST(search_random_logrank) { check_random<LogrankRule>(5); }
TEST(search_random_quantile) { check_random<QuantileRule>(6); }
TEST(search_random_categories_mse) { check_random_categories<MseRule>(7); }
TEST(search_random_categories_quantile) { check_random_categories<QuantileRule>(8); }
TEST(search_best_distribution) { check_best<DistributionRule>(12); }
TEST(search_random_distribution) { check_random<DistributionRule>(13); }
TEST(search_random_categories_distribution) { check_random_categories<DistributionRule>(15); }

TEST(search_random_distribution_is_the_same_on_every_isa) {
  // Every search draws alike; what it finds must not depend on the instructions.
  Random random(16);
  for (int repeat = 0; repeat < 60; ++repeat) {
    const std::size_t n = 2 + random.below(repeat % 2 ? 40 : 700);
    const std::size_t p = 1 + random.below(20);
    Fixture<DistributionRule> fixture(n, p, 2 + random.below(250), random);
    fixture.choose_rows(90, random);
    if (fixture.rows.size() < 2) continue;
    if (repeat % 3 == 0) {
      for (SampledRow& row : fixture.rows) row.weight = 1;
      fixture.relabel();
    }
    if (repeat % 4 < 2) fixture.carry_bins();
    const std::uint32_t min_leaf = some_min_leaf(fixture.rows.size(), random);
    const auto examined = some_features(p, random);
    const std::uint64_t key = random.next();
    std::optional<Split<DistributionRule>> first;
    test::each_isa([&](Isa) {
      RandomSearch<DistributionRule> search(2);
      Split<DistributionRule> split;
      Random draws(key);
      search.examine(fixture.node(min_leaf), examined, draws, split);
      if (split.found()) check_split(fixture, min_leaf, split, examined);
      if (!first) first = split;
      CHECK_EQ(split.score, first->score);
      CHECK_EQ(split.feature, first->feature);
      CHECK_EQ(split.bin, first->bin);
      CHECK(same(split.left_sum, first->left_sum));
    });
  }
}

TEST(search_random_finds_the_only_admissible_subset) {
  // One category of twenty rows and twenty of one row: leaves of twenty rows leave one split,
  // which hardly any random order of the categories offers.
  Random random(14);
  Fixture<MseRule> fixture(40, 1, 21, random);
  for (std::size_t i = 0; i < 40; ++i)
    fixture.feature.bins[i] = static_cast<Bin>(i < 20 ? 0 : i - 19);
  fixture.feature.categorical[0] = 1;
  fixture.choose_rows(100, random);
  RandomSearch<MseRule> search(1);
  const std::vector<std::uint32_t> examined{0};
  for (int draw = 0; draw < 50; ++draw) {
    Split<MseRule> split;
    search.examine(fixture.node(20), examined, random, split);
    CHECK(split.found());
    check_split(fixture, 20, split, examined);
  }
}

TEST(search_best_takes_a_cut_without_gain) {
  // Labels that no cut separates still give a split: a leaf ends where it must, not where the
  // greedy gain is nil.
  Random random(9);
  Fixture<MseRule> fixture(4, 1, 2, random);
  fixture.outcome = {};
  for (const double t : {1.0, 1.0, 2.0, 2.0}) fixture.outcome.push(t, true);
  fixture.feature.bins = {0, 1, 0, 1};
  fixture.features = fixture.feature.view();
  fixture.rows = {{0, 1}, {1, 1}, {2, 1}, {3, 1}};
  fixture.relabel();
  BestSearch<MseRule> search(0);
  Split<MseRule> split;
  const std::vector<std::uint32_t> examined{0};
  search.examine(fixture.node(1), examined, random, split);
  CHECK(split.found());
  CHECK_EQ(split.score, 0.0);
}

TEST(search_random_cuts_are_uniform_among_the_admissible) {
  Random random(10);
  // Bins 0..9 in ten rows each but two empty ones; leaves of at least 25 rows.
  Fixture<MseRule> fixture(100, 3, 10, random);
  for (std::size_t i = 0; i < 100; ++i)
    for (std::size_t f = 0; f < 3; ++f) {
      const auto bin = static_cast<Bin>(i * (f + 7) % 10);
      fixture.feature.bins[i * 3 + f] = bin == 4 ? 5 : bin;
    }
  fixture.choose_rows(100, random);
  constexpr std::uint32_t kMinLeaf = 25;
  const std::vector<std::uint32_t> examined{2};
  std::vector<int> admissible;
  for (int cut = 0; cut < 10; ++cut) {
    const auto left = fixture.left_sum(2, [&](Bin bin) { return bin <= cut; });
    if (fixture.node(kMinLeaf).admissible(left.count())) admissible.push_back(cut);
  }
  CHECK(admissible.size() >= 4);
  RandomSearch<MseRule> search(1);
  std::vector<double> count(10, 0);
  const double draws = 500.0 * static_cast<double>(admissible.size());
  for (int i = 0; i < static_cast<int>(draws); ++i) {
    Split<MseRule> split;
    search.examine(fixture.node(kMinLeaf), examined, random, split);
    ++count[split.bin];
  }
  double chi_square = 0;
  double inside = 0;
  for (const int cut : admissible) {
    const double c = count[static_cast<std::size_t>(cut)];
    chi_square += (c - 500) * (c - 500) / 500;
    inside += c;
  }
  CHECK_EQ(inside, draws);
  CHECK(chi_square < 40);
}

TEST(search_padded_rows_can_be_read_at_any_feature) {
  Random random(11);
  for (const std::size_t p : {1, 3, 16, 17, 40})
    for (const std::size_t n : {1, 2, 15, 16, 17, 50}) {
      const FeatureData feature(n, p, 200, random);
      const BinnedFeatures features = feature.view();
      const PaddedRows rows(features, n);
      for (Rank rank = 0; rank < n; ++rank)
        for (std::size_t f = 0; f < p; ++f) {
          const Lanes lanes = load_lanes(rows.row(rank) + f);
          for (std::size_t j = 0; j < kLanes && f + j < p; ++j)
            CHECK_EQ(lanes.bin[j], feature.at(rank, f + j));
        }
    }
}

TEST(search_best_cuts_gaps_in_the_middle) {
  // Early times in bin 2, late ones in bin 9, nothing between: every cut from 2 to 8 is the same
  // split of the node, and the middle one leans to neither side.
  for (const std::size_t n : {8u, 200u}) {  // below and above the size of small nodes
    for (const bool missing : {false, true}) {
      Random random(12);
      FeatureData feature(n, 1, 12, random);
      for (std::size_t i = 0; i < n; ++i) feature.bins[i] = i < n / 2 ? 2 : 9;
      if (missing) feature.bins[0] = feature.missing[0];
      OutcomeData outcome(n, static_cast<std::uint32_t>(n), 1.0, random);
      for (std::size_t i = 0; i < n; ++i) outcome.time_index[i] = static_cast<TimeIndex>(i);
      outcome.times.resize(n);
      for (std::size_t i = 0; i < n; ++i) outcome.times[i] = static_cast<double>(i);
      MseRule rule(outcome.outcomes(n));
      std::vector<SampledRow> rows;
      for (std::size_t i = 0; i < n; ++i) rows.push_back({static_cast<Rank>(i), 1});
      std::vector<MseRule::Label> labels(n);
      rule.relabel(rows, labels.data());
      ScalarStat total{};
      for (std::size_t i = 0; i < n; ++i) MseRule::add(total, labels[i], rows[i]);
      const BinnedFeatures view = feature.view();
      const NodeView<MseRule> node{rule, view, rows, labels.data(), total, 1};
      BestSearch<MseRule> search(0);
      Split<MseRule> split;
      const std::vector<std::uint32_t> examined{0};
      search.examine(node, examined, random, split);
      CHECK_EQ(int{split.bin}, 5);
      CHECK_EQ(split.left_sum.count(), n / 2);
    }
  }
}

TEST(search_subsets_of_few_rows) {
  using Rule = QuantileRule;
  Random random(77);
  RowSubsets<Rule> subsets;
  for (std::size_t n = 2; n <= RowSubsets<Rule>::kMostRows; ++n)
    // Scores that are remembered, and scores that are not.
    for (const std::size_t n_cuts : {std::size_t{1}, std::size_t{1} << 12}) {
      Fixture<Rule> fixture(n, 1, 5, random);
      fixture.choose_rows(100, random);
      const auto node = fixture.node(1);
      subsets.start(node, n_cuts);
      for (int repeat = 0; repeat < 50; ++repeat) {
        const auto all = static_cast<std::uint32_t>((std::uint64_t{1} << n) - 1);
        const auto subset = static_cast<std::uint32_t>(random.next()) & all;
        Rule::Stat sum{};
        for (std::size_t i = 0; i < n; ++i)
          if (subset >> i & 1) sum += fixture.labels[i];
        const Rule::Stat found = subsets.sum(subset);
        CHECK_EQ(found.count(), sum.count());
        CHECK_EQ(found.weight(), sum.weight());
        for (std::size_t c = 0; c < Rule::kClasses; ++c)
          CHECK_EQ(found.in_class[c], sum.in_class[c]);
        if (subset == 0 || subset == all) continue;
        for (int again = 0; again < 2; ++again)
          CHECK_EQ(subsets.score(node, subset), node.gain(sum));
      }
    }
}
