#include <array>
#include <set>

#include "check.hpp"
#include "random.hpp"

using namespace cqrf;

// The inverse of mix, from SplitMix64's constants: a bijection has one.
static std::uint64_t unmix(std::uint64_t z) {
  const auto unshift = [](std::uint64_t x, int by) {
    std::uint64_t result = x;
    for (int shift = by; shift < 64; shift += by) result = x ^ (result >> by);
    return result;
  };
  z = unshift(z, 31) * 0x319642b2d24d8ec3ull;
  z = unshift(z, 27) * 0x96de1b173f119089ull;
  return unshift(z, 30);
}

TEST(random_mix_is_a_bijection) {
  CHECK_EQ(mix(0), 0u);
  for (std::uint64_t i = 0; i < 20000; ++i) {
    const std::uint64_t z = i * 0xd1342543de82ef95ull + 1;
    CHECK_EQ(unmix(mix(z)), z);
    CHECK_EQ(unmix(mix(i)), i);
    CHECK_EQ(unmix(mix(~i)), ~i);
  }
}

TEST(random_below_is_uniform) {
  for (const std::uint32_t n : {2u, 3u, 7u, 100u, 255u}) {
    Random random(n);
    std::vector<int> count(n, 0);
    const double draws = 200.0 * n;
    for (int i = 0; i < static_cast<int>(draws); ++i) {
      const std::uint32_t value = random.below(n);
      CHECK(value < n);
      if (value < n) ++count[value];
    }
    double chi_square = 0;
    for (const int c : count) chi_square += (c - 200.0) * (c - 200.0) / 200.0;
    // Six standard deviations above the mean of chi-square.
    CHECK(chi_square < n - 1 + 6 * std::sqrt(2.0 * n));
  }
}

TEST(random_below_has_no_bias_for_large_n) {
  // With the remainder of 32 bits by 3 * 2^30, the lowest quarter would come up twice as often.
  constexpr std::uint32_t n = 3u << 30;
  Random random(1);
  int low = 0;
  for (int i = 0; i < 30000; ++i) {
    const std::uint32_t value = random.below(n);
    CHECK(value < n);
    low += value < (1u << 30);
  }
  CHECK_NEAR(low, 10000, 6 * std::sqrt(30000 * 2.0 / 9));
}

TEST(random_below_one_is_zero) {
  Random random(5);
  for (int i = 0; i < 100; ++i) CHECK_EQ(random.below(1), 0u);
  CHECK(random.below(0xffffffffu) < 0xffffffffu);
}

TEST(random_tree_keys_of_neighbouring_seeds_differ) {
  std::set<std::uint64_t> keys;
  for (std::uint64_t seed = 0; seed < 100; ++seed)
    for (std::uint64_t tree = 0; tree < 200; ++tree) keys.insert(tree_key(seed, tree));
  CHECK_EQ(keys.size(), 100u * 200u);
}

TEST(random_streams_differ) {
  std::set<std::uint64_t> numbers;
  std::size_t expected = 0;
  for (std::uint64_t branch = 0; branch < 50; ++branch) {
    Random random(child_key(tree_key(0, 0), branch));
    for (int i = 0; i < 100; ++i, ++expected) numbers.insert(random.next());
  }
  CHECK_EQ(numbers.size(), expected);
}

TEST(random_same_key_same_stream) {
  Random a(child_key(7, 3));
  Random b(child_key(7, 3));
  for (int i = 0; i < 100; ++i) CHECK_EQ(a.next(), b.next());
}
