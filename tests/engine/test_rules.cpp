#include <limits>

#include "check.hpp"
#include "data.hpp"
#include "rules/distribution.hpp"
#include "rules/logrank.hpp"
#include "rules/mse.hpp"
#include "rules/quantile.hpp"

using namespace cqrf;
using test::OutcomeData;

namespace {

constexpr std::uint64_t kTotalWeight = 1024;

std::vector<SampledRow> weighted_rows(std::size_t n, std::uint32_t largest, Random& random) {
  std::vector<SampledRow> rows;
  for (std::size_t i = 0; i < n; ++i)
    if (random.below(4) != 0 || n < 4)
      rows.push_back({static_cast<Rank>(i), 1 + random.below(largest)});
  return rows;
}

template <class Rule>
std::vector<typename Rule::Label> relabel(Rule& rule, const std::vector<SampledRow>& rows) {
  std::vector<typename Rule::Label> labels(rows.size());
  rule.relabel(rows, labels.data());
  return labels;
}

// What every row adds to a sum.
template <class Rule>
std::vector<typename Rule::Stat> stats(Rule& rule, const std::vector<SampledRow>& rows) {
  const auto labels = relabel(rule, rows);
  std::vector<typename Rule::Stat> added(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) Rule::add(added[i], labels[i], rows[i]);
  return added;
}

using Row = std::array<double, DistributionRule::kThresholds>;

// The sums of u_k.
Row columns_of(const DistributionRule& rule, const DistributionRule::Stat& stat) {
  Row columns;
  rule.columns().each(stat,
                      [&](std::size_t k, double sum) { columns[k] = sum / rule.columns().one; });
  return columns;
}

template <class Stat>
Stat sum(const std::vector<Stat>& labels, std::size_t end) {
  Stat total{};
  for (std::size_t i = 0; i < end; ++i) total += labels[i];
  return total;
}

// A row of weight 3 as three rows of weight 1, which makes it three ranks of the same outcome.
struct Repeated {
  OutcomeData outcome;
  std::vector<SampledRow> rows;
  std::vector<std::size_t> of;  // the index of the row that is repeated

  Repeated(const OutcomeData& data, const std::vector<SampledRow>& weighted) {
    outcome.times = data.times;
    for (std::size_t i = 0; i < weighted.size(); ++i)
      for (std::uint32_t k = 0; k < weighted[i].weight; ++k) {
        rows.push_back({static_cast<Rank>(of.size()), 1});
        of.push_back(i);
        outcome.time_index.push_back(data.time_index[weighted[i].rank]);
        outcome.event.push_back(data.event[weighted[i].rank]);
      }
  }
};

}  // namespace

TEST(rules_scalar_stat) {
  ScalarStat stat = ScalarStat::of(-5, 3);
  CHECK_EQ(stat.sum(), -15);
  CHECK_EQ(stat.weight(), 3u);
  CHECK_EQ(stat.count(), 1u);
  stat += ScalarStat::of(1 << 30, 0x7ffffff0u);
  CHECK_EQ(stat.sum(), (std::int64_t{1} << 30) * 0x7ffffff0 - 15);
  CHECK_EQ(stat.weight(), 0x7ffffff3u);
  CHECK_EQ(stat.count(), 2u);
  stat -= ScalarStat::of(-5, 3);
  CHECK_EQ(stat.weight(), 0x7ffffff0u);
  CHECK_EQ(stat.count(), 1u);
}

TEST(rules_mse_labels_are_scaled_times) {
  Random random(1);
  const OutcomeData data(50, 30, 0.5, random);
  const auto rows = weighted_rows(50, 3, random);
  MseRule rule(data.outcomes(kTotalWeight));
  const auto labels = relabel(rule, rows);
  const double first = data.times.front();
  const double last = data.times.back();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const double scaled = (2 * data.time(rows[i].rank) - first - last) / (last - first) * 0x1p30;
    CHECK_NEAR(static_cast<double>(labels[i]) / rows[i].weight, scaled, 0.51);
    ScalarStat sum{};
    MseRule::add(sum, labels[i], rows[i]);
    CHECK_EQ(sum.sum(), labels[i]);
    CHECK_EQ(sum.weight(), rows[i].weight);
    CHECK_EQ(sum.count(), 1u);
  }
  CHECK(!rule.pure(rows, labels.data()));
}

TEST(rules_mse_extreme_times) {
  constexpr double kHuge = std::numeric_limits<double>::max();
  constexpr double kTiny = std::numeric_limits<double>::denorm_min();
  const std::vector<std::vector<double>> cases{
      {-kHuge, 0, kHuge}, {kHuge / 2, kHuge}, {0, kTiny}, {-kTiny, 2 * kTiny},
      {kTiny, 5 * kTiny}, {-1e-310, 1e-310},  {7}};
  for (const auto& times : cases) {
    OutcomeData data;
    for (const double t : times) data.push(t, true);
    std::vector<SampledRow> rows;
    for (std::size_t i = 0; i < times.size(); ++i) rows.push_back({static_cast<Rank>(i), 1});
    MseRule rule(data.outcomes(kTotalWeight));
    const auto labels = relabel(rule, rows);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      CHECK(std::abs(labels[i]) <= std::int64_t{1} << 31);
      CHECK(i == 0 || labels[i - 1] <= labels[i]);
    }
  }
}

TEST(rules_mse_pure_means_one_time) {
  OutcomeData data;
  for (const double t : {1.0, 1.0, 2.0}) data.push(t, true);
  MseRule rule(data.outcomes(kTotalWeight));
  const std::vector<SampledRow> tied{{0, 1}, {1, 5}};
  const std::vector<SampledRow> apart{{1, 1}, {2, 1}};
  CHECK(rule.pure(tied, nullptr));
  CHECK(!rule.pure(apart, nullptr));
}

TEST(rules_logrank_by_hand) {
  // Times 1+, 2, 2, 2+, 3; at risk 5, 4, 1. H(2) = 2/4, H(3) = 2/4 + 1.
  OutcomeData data;
  data.push(1, false);
  data.push(2, true);
  data.push(2, true);
  data.push(2, false);
  data.push(3, true);
  LogrankRule rule(data.outcomes(kTotalWeight));
  const std::vector<SampledRow> rows{{0, 1}, {1, 1}, {2, 1}, {3, 1}, {4, 1}};
  const auto labels = relabel(rule, rows);
  const std::vector<double> expected{0, 0.5, 0.5, -0.5, -0.5};
  for (std::size_t i = 0; i < 5; ++i)
    CHECK_EQ(static_cast<double>(labels[i].sum()) * 0x1p-25, expected[i]);
}

TEST(rules_logrank_scores_are_event_minus_nelson_aalen) {
  Random random(2);
  for (int repeat = 0; repeat < 30; ++repeat) {
    const OutcomeData data(60, 1 + random.below(80), 0.6, random);
    const auto rows = weighted_rows(60, 4, random);
    LogrankRule rule(data.outcomes(kTotalWeight));
    const auto labels = relabel(rule, rows);
    double total = 0;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      double hazard = 0;
      for (std::size_t k = 0; k < data.times.size(); ++k) {
        if (data.times[k] > data.time(rows[i].rank)) break;
        double at_risk = 0;
        double events = 0;
        for (const SampledRow& row : rows) {
          if (data.time_index[row.rank] >= k) at_risk += row.weight;
          if (data.time_index[row.rank] == k && data.event[row.rank]) events += row.weight;
        }
        if (events > 0) hazard += events / at_risk;
      }
      const double score = data.event[rows[i].rank] - hazard;
      const double label = static_cast<double>(labels[i].sum()) / rows[i].weight * 0x1p-25;
      CHECK_NEAR(label, score, 1e-7);
      total += label * rows[i].weight;
    }
    CHECK_NEAR(total, 0, 1e-5);
  }
}

TEST(rules_logrank_pure) {
  OutcomeData censored;
  for (const double t : {1.0, 2.0, 3.0}) censored.push(t, false);
  OutcomeData tied;
  for (int i = 0; i < 3; ++i) tied.push(1, true);
  const std::vector<SampledRow> rows{{0, 1}, {1, 2}, {2, 3}};
  for (const OutcomeData* data : {&censored, &tied}) {
    LogrankRule rule(data->outcomes(kTotalWeight));
    CHECK(rule.pure(rows, relabel(rule, rows).data()));
  }
  tied.event[1] = 0;
  LogrankRule rule(tied.outcomes(kTotalWeight));
  CHECK(!rule.pure(rows, relabel(rule, rows).data()));
}

TEST(rules_quantile_classes_by_hand) {
  OutcomeData data;
  for (int i = 1; i <= 10; ++i) data.push(i, i % 2 == 0);
  QuantileRule rule(data.outcomes(kTotalWeight));
  std::vector<SampledRow> rows;
  for (Rank r = 0; r < 10; ++r) rows.push_back({r, 1});
  const auto labels = relabel(rule, rows);
  // The first tenth, up to the median, up to the ninth tenth, the rest.
  const std::vector<std::size_t> expected{0, 1, 1, 1, 1, 2, 2, 2, 2, 3};
  for (std::size_t i = 0; i < 10; ++i)
    for (std::size_t c = 0; c < 4; ++c) CHECK_EQ(labels[i].in_class[c], c == expected[i] ? 1u : 0u);
  CHECK(!rule.pure(rows, labels.data()));
}

TEST(rules_quantile_ties_share_a_class) {
  Random random(3);
  for (int repeat = 0; repeat < 30; ++repeat) {
    const OutcomeData data(60, 1 + random.below(20), 0.6, random);
    const auto rows = weighted_rows(60, 4, random);
    QuantileRule rule(data.outcomes(kTotalWeight));
    const auto labels = relabel(rule, rows);
    double total = 0;
    for (const auto& row : rows) total += row.weight;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      double before = 0;  // weight of earlier times
      for (const auto& row : rows)
        if (data.time_index[row.rank] < data.time_index[rows[i].rank]) before += row.weight;
      std::size_t expected = 0;
      for (const double level : {0.1, 0.5, 0.9}) expected += before >= level * total;
      CHECK_EQ(labels[i].in_class[expected], rows[i].weight);
      CHECK_EQ(labels[i].weight(), rows[i].weight);
      CHECK_EQ(labels[i].count(), 1u);
    }
  }
  OutcomeData tied;
  for (int i = 0; i < 5; ++i) tied.push(1, true);
  QuantileRule rule(tied.outcomes(kTotalWeight));
  const std::vector<SampledRow> rows{{0, 1}, {2, 3}, {4, 1}};
  CHECK(rule.pure(rows, relabel(rule, rows).data()));
}

TEST(rules_distribution_columns_are_conditional_survival) {
  Random random(9);
  for (int repeat = 0; repeat < 30; ++repeat) {
    const OutcomeData data(60, 1 + random.below(80), 0.6, random);
    const auto rows = weighted_rows(60, 4, random);
    const Outcomes outcomes = data.outcomes(kTotalWeight);
    DistributionRule rule(outcomes);
    const auto added = stats(rule, rows);
    constexpr std::size_t kColumns = DistributionRule::kThresholds;
    // 1024 is a number of eleven bits, which leaves twenty; rho has at most twelve.
    CHECK_EQ(rule.columns().one, 0x1p12 - 1);
    std::array<std::size_t, kColumns> threshold{};
    for (std::size_t k = 0; k < kColumns; ++k) {
      while (threshold[k] + 1 < data.times.size() &&
             outcomes.survival[threshold[k]] > 1 - static_cast<double>(k + 1) / (kColumns + 1))
        ++threshold[k];
      const double p = outcomes.survival[threshold[k]];
      CHECK_NEAR(rule.columns().importance[k], p > 0 && p < 1 ? 1 / (p * (1 - p)) : 0, 1e-12);
    }
    Row total{};
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const TimeIndex time = outcomes.time_index[rows[i].rank];
      const Row columns = columns_of(rule, added[i]);
      for (std::size_t k = 0; k < kColumns; ++k) {
        double u = 1;
        if (threshold[k] >= time) u = 0;
        if (threshold[k] >= time && !outcomes.event[rows[i].rank] && outcomes.survival[time] > 0)
          u = outcomes.survival[threshold[k]] / outcomes.survival[time];
        CHECK_NEAR(columns[k] / rows[i].weight, u, 0.51 / rule.columns().one);
        total[k] += columns[k];
      }
      CHECK_EQ(added[i].weight(), rows[i].weight);
      CHECK_EQ(added[i].count(), 1u);
    }
    // The columns of a sum are the sums of the columns.
    const Row of_sum = columns_of(rule, sum(added, rows.size()));
    for (std::size_t k = 0; k < kColumns; ++k) CHECK_NEAR(of_sum[k], total[k], 1e-9);
  }
}

TEST(rules_distribution_sums_fit) {
  // The labels of all rows add up to less than 2^31, whatever the weights of a tree. Censored rows
  // just before a threshold have the largest.
  OutcomeData data;
  for (int i = 0; i < 40; ++i) data.push(i / 2, i % 2 == 0);
  for (const std::uint32_t weight : {1u, 1000u, 1u << 20, (1u << 31) / 40 - 1}) {
    DistributionRule rule(data.outcomes(40 * std::uint64_t{weight}));
    std::vector<SampledRow> rows;
    for (Rank rank = 0; rank < 40; ++rank) rows.push_back({rank, weight});
    const auto added = stats(rule, rows);
    const auto total = sum(added, 40);
    std::uint64_t all = 0;
    for (std::size_t j = 0; j < DistributionRule::kIntervals; ++j) {
      std::uint64_t in_interval = 0, rho = 0;
      for (const auto& stat : added) {
        in_interval += stat.in_interval(j);
        rho += stat.rho_sum(j);
      }
      CHECK_EQ(std::uint64_t{total.in_interval(j)}, in_interval);
      CHECK_EQ(std::uint64_t{total.rho_sum(j)}, rho);
      all += rho;
    }
    CHECK(all > 0 && all < std::uint64_t{1} << 31);
    CHECK_EQ(total.weight(), 40 * weight);
    CHECK_EQ(total.count(), 40u);
  }
}

TEST(rules_distribution_pure) {
  OutcomeData data;
  data.push(1, true);
  data.push(1, true);
  data.push(1, false);
  data.push(2, true);
  DistributionRule rule(data.outcomes(kTotalWeight));
  CHECK(rule.pure(std::vector<SampledRow>{{0, 1}, {1, 2}}, nullptr));
  CHECK(!rule.pure(std::vector<SampledRow>{{0, 1}, {2, 1}}, nullptr));
  CHECK(!rule.pure(std::vector<SampledRow>{{1, 1}, {3, 1}}, nullptr));
}

TEST(rules_distribution_gain_is_the_fall_of_the_sum_of_squares) {
  Random random(10);
  const OutcomeData data(40, 40, 0.6, random);
  const auto rows = weighted_rows(40, 4, random);
  DistributionRule rule(data.outcomes(kTotalWeight));
  const auto added = stats(rule, rows);
  const auto spread = [&](std::size_t begin, std::size_t end) {
    double result = 0;
    for (std::size_t k = 0; k < DistributionRule::kThresholds; ++k) {
      double w = 0, s = 0, squares = 0;
      for (std::size_t i = begin; i < end; ++i) {
        const double y = columns_of(rule, added[i])[k] * std::sqrt(rule.columns().importance[k]) *
                         rule.columns().one / rows[i].weight;
        w += rows[i].weight;
        s += rows[i].weight * y;
        squares += rows[i].weight * y * y;
      }
      result += squares - s * s / w;
    }
    return result;
  };
  const auto total = sum(added, rows.size());
  const auto gain = rule.gain(total);
  for (std::size_t cut = 1; cut < rows.size(); ++cut) {
    const double fall = spread(0, rows.size()) - spread(0, cut) - spread(cut, rows.size());
    CHECK_NEAR(gain(sum(added, cut)) * total.weight(), fall, 1e-6 * spread(0, rows.size()));
  }
}

TEST(rules_squared_error_gain_is_the_fall_of_the_sum_of_squares) {
  Random random(4);
  for (int repeat = 0; repeat < 50; ++repeat) {
    std::vector<std::int64_t> label(20);
    std::vector<std::uint32_t> weight(20);
    std::vector<ScalarStat> stats;
    for (std::size_t i = 0; i < 20; ++i) {
      label[i] = static_cast<std::int64_t>(random.below(2001)) - 1000;
      weight[i] = 1 + random.below(5);
      stats.push_back(ScalarStat::of(label[i], weight[i]));
    }
    const auto spread = [&](std::size_t begin, std::size_t end) {
      double w = 0, s = 0, squares = 0;
      for (std::size_t i = begin; i < end; ++i) {
        const auto y = static_cast<double>(label[i]);
        w += weight[i];
        s += weight[i] * y;
        squares += weight[i] * y * y;
      }
      return squares - s * s / w;
    };
    const ScalarStat total = sum(stats, 20);
    const SquaredErrorGain gain(total);
    for (std::size_t cut = 1; cut < 20; ++cut) {
      const double fall = spread(0, 20) - spread(0, cut) - spread(cut, 20);
      CHECK_NEAR(gain(sum(stats, cut)) * total.weight(), fall, 1e-6 * spread(0, 20));
    }
  }
}

TEST(rules_quantile_gain_is_the_fall_of_the_impurity) {
  Random random(5);
  const OutcomeData data(40, 40, 0.6, random);
  const auto rows = weighted_rows(40, 4, random);
  QuantileRule rule(data.outcomes(kTotalWeight));
  const auto labels = relabel(rule, rows);
  const auto total = sum(labels, rows.size());
  // Weighted Gini impurity of a side.
  const auto impurity = [](const auto& stat) {
    double squares = 0;
    for (const double c : stat.in_class) squares += c * c;
    return stat.weight() - squares / stat.weight();
  };
  const QuantileRule::Gain gain(total);
  double constant = 0;
  for (std::size_t cut = 1; cut < rows.size(); ++cut) {
    const auto left = sum(labels, cut);
    auto right = total;
    right -= left;
    const double difference = gain(left) + impurity(left) + impurity(right);
    if (cut == 1) constant = difference;
    CHECK_NEAR(difference, constant, 1e-9);
  }
}

template <class Rule>
static void check_weights_are_repeated_rows(std::uint64_t key) {
  Random random(key);
  for (int repeat = 0; repeat < 20; ++repeat) {
    const OutcomeData data(40, 1 + random.below(50), 0.6, random);
    const auto rows = weighted_rows(40, 4, random);
    const Repeated repeated(data, rows);
    Rule weighted_rule(data.outcomes(kTotalWeight));
    // The marginal curve belongs to the whole sample, not to the rows of the node.
    Outcomes repeated_outcomes = repeated.outcome.outcomes(kTotalWeight);
    repeated_outcomes.survival = data.survival;
    Rule repeated_rule(repeated_outcomes);
    const auto a = stats(weighted_rule, rows);
    const auto b = stats(repeated_rule, repeated.rows);
    typename Rule::Stat left_a{}, left_b{};
    const auto gain_a = weighted_rule.gain(sum(a, a.size()));
    const auto gain_b = repeated_rule.gain(sum(b, b.size()));
    std::size_t at = 0;
    for (std::size_t i = 0; i + 1 < rows.size(); ++i) {
      left_a += a[i];
      for (; at < b.size() && repeated.of[at] == i; ++at) left_b += b[at];
      CHECK_EQ(gain_a(left_a), gain_b(left_b));
      CHECK_EQ(weighted_rule.order(left_a), repeated_rule.order(left_b));
    }
    CHECK_EQ(weighted_rule.pure(rows, relabel(weighted_rule, rows).data()),
             repeated_rule.pure(repeated.rows, relabel(repeated_rule, repeated.rows).data()));
  }
}

TEST(rules_mse_weights_are_repeated_rows) { check_weights_are_repeated_rows<MseRule>(6); }
TEST(rules_logrank_weights_are_repeated_rows) { check_weights_are_repeated_rows<LogrankRule>(7); }
TEST(rules_quantile_weights_are_repeated_rows) { check_weights_are_repeated_rows<QuantileRule>(8); }
TEST(rules_distribution_weights_are_repeated_rows) {
  check_weights_are_repeated_rows<DistributionRule>(11);
}
