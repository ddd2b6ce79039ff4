#include "search/bin_counts.hpp"

#include <vector>

#include "check.hpp"
#include "isas.hpp"
#include "random.hpp"

using namespace cqrf;
using test::each_isa;

TEST(bin_counts_are_those_of_a_loop_on_every_isa) {
  Random random(1);
  for (int repeat = 0; repeat < 300; ++repeat) {
    const std::size_t n = 1 + random.below(repeat % 2 ? 10 : 600);
    const std::size_t stride = 1 + random.below(2);
    // Few bins in some of the lanes, in all of them, in none.
    std::array<std::uint32_t, kLanes> n_bins;
    for (std::uint32_t& bins : n_bins)
      bins = repeat % 3 == 0 || (repeat % 3 == 1 && random.below(2)) ? 1 + random.below(17)
                                                                     : 1 + random.below(256);
    std::vector<Lanes> bins(n * stride);
    for (Lanes& row : bins)
      for (std::size_t lane = 0; lane < kLanes; ++lane)
        row.bin[lane] = static_cast<Bin>(random.below(n_bins[lane]));
    const LaneRows rows{bins.data(), stride};
    const std::uint32_t lanes = 1 + random.below((1u << kLanes) - 1);
    each_isa([&](Isa isa) {
      // One object for several nodes: nothing of the last one may be left.
      BinCounts counts;
      for (const std::size_t size : {n, (n + 1) / 2}) {
        counts.start(rows, size, lane_extremes(isa, rows, size).highest, lanes);
        for (std::size_t lane = 0; lane < kLanes; ++lane) {
          if (!(lanes >> lane & 1)) continue;
          std::array<std::uint32_t, kBinCells> expected{};
          for (std::size_t i = 0; i < size; ++i) ++expected[rows[i].bin[lane]];
          counts.count(lane, static_cast<Bin>(n_bins[lane] - 1));
          for (std::size_t bin = 0; bin < n_bins[lane]; ++bin) CHECK_EQ(counts[bin], expected[bin]);
        }
      }
    });
  }
}
