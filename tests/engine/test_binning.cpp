#include <algorithm>
#include <limits>
#include <numeric>

#include "check.hpp"
#include "columns.hpp"
#include "features/binning.hpp"
#include "random.hpp"

using namespace cqrf;

namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kTiny = std::numeric_limits<double>::denorm_min();
constexpr double kHuge = std::numeric_limits<double>::max();

std::vector<std::int64_t> all_rows(std::size_t n) {
  std::vector<std::int64_t> rows(n);
  std::iota(rows.begin(), rows.end(), 0);
  return rows;
}

template <class T>
FeatureBins bins_of(const std::vector<T>& values, int max_bins = 255,
                    const std::vector<double>& weights = {}, std::int64_t n_categories = 0) {
  Monitor monitor;
  const auto x = dense(values, values.size(), 1);
  return find_bins(x, all_rows(values.size()), weights, std::vector{n_categories}, max_bins, 1,
                   monitor)[0];
}

std::vector<double> random_values(std::size_t n, std::uint64_t key) {
  Random random(key);
  std::vector<double> values(n);
  for (double& v : values) v = static_cast<double>(random.next() >> 11) * 0x1p-53;
  return values;
}

// A value has the bin whose cuts bound it; cuts ascend strictly.
void check_bins(const FeatureBins& bins, const std::vector<double>& values) {
  CHECK(std::ranges::adjacent_find(bins.cuts, std::greater_equal<>()) == bins.cuts.end());
  CHECK_EQ(bins.n_bins, static_cast<int>(bins.cuts.size()) + 1);
  for (const double value : values) {
    const std::size_t bin = bins.bin(value);
    if (std::isnan(value)) {
      CHECK_EQ(bin, static_cast<std::size_t>(bins.n_bins));
      continue;
    }
    CHECK(bin == 0 || bins.cuts[bin - 1] < value);
    CHECK(bin == bins.cuts.size() || value <= bins.cuts[bin]);
  }
}

}  // namespace

TEST(binning_few_values_have_a_bin_each) {
  const std::vector<double> values{3, 1, 2, 2, 3, 7};
  const FeatureBins bins = bins_of(values);
  CHECK(bins.cuts == (std::vector<double>{1.5, 2.5, 5}));
  CHECK_EQ(bins.n_bins, 4);
  CHECK_EQ(bins.bin(2), 1);
  CHECK_EQ(bins.bin(100), 3);
  CHECK_EQ(bins.bin(-100), 0);
  CHECK_EQ(bins.bin(1.5), 0);
  CHECK_EQ(bins.bin(kNaN), 4);
  check_bins(bins, values);
}

TEST(binning_constant_and_empty_features_have_one_bin) {
  for (const auto& values : {std::vector<double>{5, 5, 5}, std::vector<double>{kNaN, kNaN},
                             std::vector<double>{1}, std::vector<double>{0.0, -0.0}}) {
    const FeatureBins bins = bins_of(values);
    CHECK(bins.cuts.empty());
    CHECK_EQ(bins.n_bins, 1);
    CHECK_EQ(bins.bin(5), 0);
    CHECK_EQ(bins.bin(kNaN), 1);
  }
}

TEST(binning_as_many_values_as_bins) {
  for (const int max_bins : {2, 3, 16, 255}) {
    std::vector<double> values(static_cast<std::size_t>(max_bins));
    std::iota(values.begin(), values.end(), 0.0);
    CHECK_EQ(bins_of(values, max_bins).n_bins, max_bins);
    values.push_back(max_bins);
    const FeatureBins bins = bins_of(values, max_bins);
    CHECK_EQ(bins.n_bins, max_bins);
    check_bins(bins, values);
  }
}

TEST(binning_many_values_share_bins_evenly) {
  for (const int max_bins : {2, 7, 64, 255}) {
    const auto values = random_values(5000, static_cast<std::uint64_t>(max_bins));
    const FeatureBins bins = bins_of(values, max_bins);
    CHECK_EQ(bins.n_bins, max_bins);
    check_bins(bins, values);
    std::vector<int> count(static_cast<std::size_t>(max_bins), 0);
    for (const double v : values) ++count[bins.bin(v)];
    for (const int c : count) CHECK(std::abs(c - 5000.0 / max_bins) <= 1);
  }
}

TEST(binning_heavy_value_uses_up_its_quantiles) {
  // 700 zeros, then 1 to 300, in ten bins: seven tenths are gone, the cuts that are left divide
  // the rest evenly.
  std::vector<double> values(700, 0.0);
  for (int i = 1; i <= 300; ++i) values.push_back(i);
  CHECK(bins_of(values, 10).cuts == (std::vector<double>{0.5, 100.5, 200.5}));
}

TEST(binning_heavy_ties) {
  // Nine in ten values are one: no quantile is spent twice on it, and its bin holds it alone.
  auto values = random_values(1000, 3);
  for (std::size_t i = 0; i < values.size(); ++i)
    if (i % 10 != 0) values[i] = 0.5;
  const FeatureBins bins = bins_of(values, 50);
  check_bins(bins, values);
  CHECK(bins.n_bins >= 5 && bins.n_bins <= 50);
  // Four categories of numbers, more distinct values than bins.
  Random random(4);
  for (double& v : values) v = random.below(4) == 0 ? random.below(300) : random.below(3);
  check_bins(bins_of(values, 20), values);
}

TEST(binning_property_loop) {
  Random random(5);
  for (int repeat = 0; repeat < 200; ++repeat) {
    std::vector<double> values(1 + random.below(400));
    const std::uint32_t distinct = 1 + random.below(500);
    const double scale = std::exp2(static_cast<double>(random.below(2000)) - 1000);
    for (double& v : values) {
      v = (random.below(distinct) - distinct / 2.0) * scale;
      if (random.below(10) == 0) v = kNaN;
    }
    const int max_bins = 2 + static_cast<int>(random.below(254));
    const FeatureBins bins = bins_of(values, max_bins);
    CHECK(bins.n_bins >= 1 && bins.n_bins <= max_bins);
    check_bins(bins, values);
    for (const double cut : bins.cuts)
      check_bins(bins, {cut, std::nextafter(cut, kHuge), std::nextafter(cut, -kHuge)});
  }
}

TEST(binning_extreme_values_stay_apart) {
  const std::vector<std::vector<double>> cases{
      {-kHuge, kHuge},
      {kHuge, std::nextafter(kHuge, 0)},
      {1, std::nextafter(1, 2), std::nextafter(std::nextafter(1, 2), 2)},
      {0, kTiny, 2 * kTiny, 3 * kTiny, 4 * kTiny},
      {-kTiny, 0, kTiny},
      {-3 * kTiny, -2 * kTiny, -kTiny},
      {-kHuge, -1, -kTiny, 0, kTiny, 1, kHuge}};
  for (const auto& values : cases) {
    const FeatureBins bins = bins_of(values);
    check_bins(bins, values);
    CHECK_EQ(bins.n_bins, static_cast<int>(values.size()));
    for (const double cut : bins.cuts) CHECK(std::isfinite(cut));
  }
}

TEST(binning_infinities_met_at_prediction) {
  const FeatureBins bins = bins_of(std::vector<double>{1, 2, 3});
  CHECK_EQ(bins.bin(std::numeric_limits<double>::infinity()), 2);
  CHECK_EQ(bins.bin(-std::numeric_limits<double>::infinity()), 0);
}

TEST(binning_float_and_double_agree) {
  Random random(6);
  std::vector<float> floats(2000);
  for (float& v : floats) v = static_cast<float>(random.below(5000)) * 0.001f;
  floats[3] = std::numeric_limits<float>::denorm_min();
  floats[4] = std::numeric_limits<float>::max();
  floats[5] = std::numeric_limits<float>::quiet_NaN();
  const std::vector<double> doubles(floats.begin(), floats.end());
  const FeatureBins a = bins_of(floats);
  const FeatureBins b = bins_of(doubles);
  CHECK(a.cuts == b.cuts);
  Monitor monitor;
  std::vector<Bin> from_float(2000), from_double(2000);
  bin_rows(dense(floats, 2000, 1), {}, {a}, from_float.data(), 2, monitor);
  bin_rows(dense(doubles, 2000, 1), {}, {b}, from_double.data(), 2, monitor);
  CHECK(from_float == from_double);
}

TEST(binning_weight_is_a_repeated_row) {
  Random random(7);
  for (const std::uint32_t distinct : {5u, 100u, 2000u}) {
    std::vector<double> values(300), weights(300), repeated;
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = random.below(distinct);
      const std::uint32_t times = 1 + random.below(20);
      weights[i] = times;
      repeated.insert(repeated.end(), times, values[i]);
    }
    CHECK(bins_of(values, 32, weights).cuts == bins_of(repeated, 32).cuts);
  }
}

TEST(binning_categories) {
  const FeatureBins bins = bins_of(std::vector<double>{0, 3, 3, kNaN, 1}, 255, {}, 5);
  CHECK(bins.categorical);
  CHECK_EQ(bins.n_bins, 3);
  CHECK_EQ(bins.bin(0), 0);
  CHECK_EQ(bins.bin(1), 1);
  CHECK_EQ(bins.bin(3), 2);
  // Codes 2 and 4 are never seen: as unknown as those outside.
  for (const double unknown : {kNaN, -1.0, 2.0, 4.0, 5.0, 1e300, -1e300})
    CHECK_EQ(bins.bin(unknown), 3);
}

TEST(binning_category_codes) {
  // A negative code is a missing one; one beyond the categories is a mistake.
  CHECK_EQ(bins_of(std::vector<std::int8_t>{0, -1, 1, -1}, 255, {}, 2).n_bins, 2);
  CHECK_THROWS(bins_of(std::vector<double>{0, 2}, 255, {}, 2), std::invalid_argument);
}

TEST(binning_categories_all_missing) {
  const FeatureBins bins = bins_of(std::vector<double>{kNaN, kNaN}, 255, {}, 2);
  CHECK_EQ(bins.n_bins, 1);
  for (const double value : {kNaN, 0.0, 1.0}) CHECK_EQ(bins.bin(value), 1);
}

TEST(binning_rare_categories_share_the_last_bin) {
  // Category c is seen c + 1 times: the last ones are the most frequent.
  std::vector<double> codes;
  for (int c = 0; c < 10; ++c) codes.insert(codes.end(), static_cast<std::size_t>(c + 1), c);
  const FeatureBins bins = bins_of(codes, 4, {}, 10);
  CHECK_EQ(bins.n_bins, 4);
  CHECK_EQ(bins.bin(9), 0);
  CHECK_EQ(bins.bin(8), 1);
  CHECK_EQ(bins.bin(7), 2);
  for (int c = 0; c < 7; ++c) CHECK_EQ(bins.bin(c), 3);
  CHECK_EQ(bins.bin(10), 4);
  // Weights count, not rows.
  const std::vector<double> three{0, 1, 2}, weights{1, 5, 3};
  const FeatureBins weighted = bins_of(three, 2, weights, 3);
  CHECK_EQ(weighted.bin(1), 0);
  CHECK_EQ(weighted.bin(0), 1);
  CHECK_EQ(weighted.bin(2), 1);
}

TEST(binning_more_categories_than_bytes) {
  std::vector<double> codes(1000);
  std::iota(codes.begin(), codes.end(), 0.0);
  const FeatureBins bins = bins_of(codes, 255, {}, 1000);
  CHECK_EQ(bins.n_bins, 255);
  // All are equally frequent: the first keep a bin of their own.
  CHECK_EQ(bins.bin(0), 0);
  CHECK_EQ(bins.bin(253), 253);
  CHECK_EQ(bins.bin(254), 254);
  CHECK_EQ(bins.bin(999), 254);
  CHECK_EQ(bins.bin(kNaN), 255);
}

TEST(binning_layouts_agree) {
  constexpr std::size_t n = 2100;
  constexpr std::size_t p = 3;
  auto rows_first = random_values(n * p, 8);
  for (std::size_t i = 0; i < rows_first.size(); ++i)
    if (i % 3 != 1) rows_first[i] = 0;
  std::vector<double> columns_first(n * p), backwards(n * p);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t f = 0; f < p; ++f) {
      columns_first[f * n + i] = rows_first[i * p + f];
      backwards[n * p - 1 - (i * p + f)] = rows_first[i * p + f];
    }
  const auto a = dense(rows_first, n, p);
  const auto b = dense(columns_first, n, p, 1, n);
  const auto c = dense(std::span(backwards).last(1), n, p, -static_cast<std::ptrdiff_t>(p), -1);
  const Compressed stored(columns_first, n, p);
  const SparseFeatures d = stored.features();
  const std::vector<std::int64_t> numeric(p, 0);
  std::vector<std::int64_t> order = all_rows(n);
  std::reverse(order.begin() + 7, order.end());
  order.resize(n - 5);
  std::vector<double> weights(order.size());
  for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = 1.0 / static_cast<double>(i + 3);
  for (const auto& weight : {std::vector<double>{}, weights}) {
    std::vector<std::vector<Bin>> binned;
    for (const Features* x : std::initializer_list<const Features*>{&a, &b, &c, &d}) {
      Monitor monitor;
      const auto features = find_bins(*x, order, weight, numeric, 8, 2, monitor);
      std::vector<Bin> out(order.size() * p);
      bin_rows(*x, order, features, out.data(), 2, monitor);
      binned.push_back(out);
      for (std::size_t i = 0; i < order.size(); ++i)
        for (std::size_t f = 0; f < p; ++f)
          CHECK_EQ(out[i * p + f],
                   features[f].bin(rows_first[static_cast<std::size_t>(order[i]) * p + f]));
    }
    for (const auto& each : binned) CHECK(each == binned[0]);
  }
}

TEST(binning_chosen_rows) {
  const std::vector<double> values{10, 20, 30, 40};
  const auto x = dense(values, 4, 1);
  const std::vector<std::int64_t> rows{3, 1};
  Monitor monitor;
  const auto features =
      find_bins(x, std::span(rows), {}, std::vector<std::int64_t>{0}, 255, 1, monitor);
  CHECK(features[0].cuts == std::vector<double>{30});
  std::vector<Bin> out(2);
  bin_rows(x, rows, features, out.data(), 1, monitor);
  CHECK(out == (std::vector<Bin>{1, 0}));
  const std::vector<std::int64_t> twice{3, 1, 3};
  CHECK_THROWS(bin_rows(x, twice, features, out.data(), 1, monitor), std::invalid_argument);
  CHECK_THROWS(find_bins(x, twice, {}, std::vector<std::int64_t>{0}, 255, 1, monitor),
               std::invalid_argument);
}

TEST(binning_threads_and_blocks_agree) {
  constexpr std::size_t n = 2500;
  constexpr std::size_t p = 5;
  const auto values = random_values(n * p, 9);
  const auto x = dense(values, n, p);
  const std::vector<std::int64_t> numeric(p, 0);
  std::vector<Bin> expected;
  for (const int n_threads : {1, 2, 8}) {
    Monitor monitor;
    const auto features = find_bins(x, all_rows(n), {}, numeric, 100, n_threads, monitor);
    std::vector<Bin> out(n * p);
    bin_rows(x, {}, features, out.data(), n_threads, monitor);
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t f = 0; f < p; ++f)
        CHECK_EQ(out[i * p + f], features[f].bin(values[i * p + f]));
    if (expected.empty()) expected = out;
    CHECK(out == expected);
  }
}

TEST(binning_more_rows_than_the_cuts_need) {
  constexpr std::size_t n = 200'003;
  // Ascending values: evenly spaced rows have evenly spaced values.
  std::vector<double> values(n), weights(n, 2.0);
  std::iota(values.begin(), values.end(), 0.0);
  const FeatureBins bins = bins_of(values, 10);
  CHECK_EQ(bins.n_bins, 10);
  for (std::size_t j = 0; j < bins.cuts.size(); ++j)
    CHECK_NEAR(bins.cuts[j], n * static_cast<double>(j + 1) / 10, 3);
  CHECK(bins_of(values, 10, weights).cuts == bins.cuts);
  // A category of the very last row is counted all the same.
  std::vector<double> codes(n, 0);
  codes[n - 2] = codes[n - 1] = 2;
  codes[7] = 1;
  const FeatureBins categories = bins_of(codes, 2, {}, 3);
  CHECK_EQ(categories.bin(0), 0);
  CHECK_EQ(categories.bin(2), 1);
  codes[7] = 2;
  codes[n - 3] = codes[n - 4] = codes[n - 5] = codes[n - 6] = 1;
  std::vector<double> heavy(n, 1e-9);
  heavy[n - 1] = 1e9;
  CHECK_EQ(bins_of(codes, 2, heavy, 3).bin(2), 0);
}

TEST(binning_stops) {
  const auto values = random_values(100, 1);
  Monitor monitor;
  monitor.stop();
  CHECK_THROWS(find_bins(dense(values, 100, 1), all_rows(100), {}, std::vector<std::int64_t>{0}, 8,
                         1, monitor),
               Stopped);
}
