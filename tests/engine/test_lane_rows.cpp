#include "search/lane_rows.hpp"

#include <algorithm>
#include <vector>

#include "check.hpp"
#include "isas.hpp"
#include "random.hpp"

using namespace cqrf;
using test::each_isa;

namespace {

std::vector<Lanes> some_rows(std::size_t n, std::uint32_t n_bins, Random& random) {
  std::vector<Lanes> rows(n);
  for (Lanes& row : rows)
    for (Bin& bin : row.bin) bin = static_cast<Bin>(random.below(n_bins));
  return rows;
}

}  // namespace

TEST(lane_rows_extremes_and_counts_on_every_isa) {
  Random random(1);
  for (const std::size_t stride : {1, 2, 3})
    // Fewer rows than a register holds, and more than a byte can count.
    for (const std::size_t n : {1, 2, 3, 4, 5, 7, 8, 251, 252, 253, 256, 260, 1000})
      for (const std::uint32_t n_bins : {1u, 3u, 256u}) {
        const auto bins = some_rows(n * stride, n_bins, random);
        const LaneRows rows{bins.data() + stride - 1, stride};
        const Lanes cuts = some_rows(1, n_bins, random)[0];
        each_isa([&](Isa isa) {
          const LaneExtremes found = lane_extremes(isa, rows, n);
          std::array<std::uint32_t, kLanes> counts;
          counts.fill(99);
          lane_counts(isa, rows, n, cuts, counts);
          for (std::size_t lane = 0; lane < kLanes; ++lane) {
            Bin lowest = 255, highest = 0;
            std::uint32_t count = 0;
            for (std::size_t i = 0; i < n; ++i) {
              const Bin bin = bins[i * stride + stride - 1].bin[lane];
              lowest = std::min(lowest, bin);
              highest = std::max(highest, bin);
              count += bin <= cuts.bin[lane];
            }
            CHECK_EQ(found.lowest.bin[lane], lowest);
            CHECK_EQ(found.highest.bin[lane], highest);
            CHECK_EQ(counts[lane], count);
          }
        });
      }
}
