#include "check.hpp"
#include "lanes.hpp"
#include "random.hpp"

using namespace cqrf;

TEST(lanes_agree_with_loops) {
  Random random(1);
  for (int repeat = 0; repeat < 500; ++repeat) {
    // Unaligned on purpose; few values, so that bytes are often equal.
    std::array<Bin, kLanes + 3> bytes{};
    const std::uint32_t range = repeat % 2 ? 256 : 4;
    for (Bin& b : bytes) b = static_cast<Bin>(random.below(range));
    const Lanes a = load_lanes(bytes.data());
    const Lanes b = load_lanes(bytes.data() + 3);
    const std::uint32_t passed = at_most(a, b);
    const Lanes low = lanes_of(lower(vector_of(a), vector_of(b)));
    const Lanes high = lanes_of(higher(vector_of(a), vector_of(b)));
    const Lanes below = lanes_of(where_at_most(vector_of(a), vector_of(b)));
    for (std::size_t j = 0; j < kLanes; ++j) {
      CHECK_EQ(a.bin[j], bytes[j]);
      CHECK_EQ((passed >> j) & 1, bytes[j] <= bytes[j + 3] ? 1u : 0u);
      CHECK_EQ(low.bin[j], std::min(bytes[j], bytes[j + 3]));
      CHECK_EQ(high.bin[j], std::max(bytes[j], bytes[j + 3]));
      CHECK_EQ(below.bin[j], bytes[j] <= bytes[j + 3] ? 255 : 0);
    }
    CHECK_EQ(passed >> kLanes, 0u);
  }
}

TEST(lanes_flags_become_bits) {
  Random random(2);
  for (int repeat = 0; repeat < 200; ++repeat) {
    std::array<std::uint8_t, kLanes + 1> flags{};
    std::uint64_t expected = 0;
    for (std::size_t j = 0; j < kLanes; ++j) {
      if (random.below(2) == 0) continue;
      flags[j + 1] = kFlag;
      expected |= std::uint64_t{1} << j;
    }
    CHECK_EQ(flag_bits(flags.data() + 1), expected);
  }
}
