#include "simd.hpp"

#include <cstdint>
#include <stdexcept>
#include <vector>

#include "check.hpp"
#include "isas.hpp"

using namespace cqrf;
using test::each_isa;

namespace {

struct SumOfSquares {
  template <Isa kIsa>
  CQRF_KERNEL static std::uint64_t run(const std::uint32_t* values, std::size_t n, int& seen) {
    seen = static_cast<int>(kIsa);
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < n; ++i) sum += std::uint64_t{values[i]} * values[i];
    return sum;
  }
};

}  // namespace

TEST(simd_the_forced_variant_runs_and_all_agree) {
  std::vector<std::uint32_t> values;
  std::uint64_t expected = 0;
  for (std::uint32_t i = 0; i < 1000; ++i) {
    values.push_back(i * 2654435761u);
    expected += std::uint64_t{values.back()} * values.back();
  }
  each_isa([&](Isa forced) {
    int seen = -1;
    CHECK_EQ(dispatch<SumOfSquares>(isa(), values.data(), values.size(), seen), expected);
    CHECK_EQ(seen, static_cast<int>(forced));
  });
}

TEST(simd_names) {
  for (const Isa one : {Isa::kPortable, Isa::kAvx2, Isa::kAvx512})
    CHECK(isa_named(name(one)) == one);
  CHECK_THROWS(isa_named("sse9"), std::invalid_argument);
  CHECK_THROWS(isa_named(""), std::invalid_argument);
}

TEST(simd_what_the_machine_lacks_is_refused) {
  const Isa before = isa();
  for (const Isa one : {Isa::kAvx2, Isa::kAvx512})
    if (one > offered_isa()) CHECK_THROWS(force_isa(one), std::invalid_argument);
  CHECK(isa() == before);
  force_isa(Isa::kPortable);
  CHECK(isa() == Isa::kPortable);
  force_isa(before);
}
