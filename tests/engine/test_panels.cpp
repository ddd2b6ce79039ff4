#include "check.hpp"
#include "data.hpp"
#include "features/panels.hpp"

using namespace cqrf;
using test::FeatureData;

TEST(panels_hold_every_bin_and_zeros) {
  Random random(21);
  Monitor monitor;
  for (const std::size_t p : {1, 3, 16, 17, 40})
    for (const std::size_t n : {1, 2, 63, 64, 150})
      for (const std::size_t width : {std::size_t{1}, std::size_t{5}, kLanes}) {
        const FeatureData feature(n, p, 200, random);
        const std::vector<Bin> bins = make_panels(feature.bins.data(), n, p, width, monitor);
        CHECK_EQ(bins.size(), (p + width - 1) / width * width * n);
        const BinPanels panels{bins.data(), n, width};
        for (std::size_t f = 0; f < bins.size() / n; ++f)
          for (Rank rank = 0; rank < n; ++rank)
            CHECK_EQ(panels.column(static_cast<std::uint32_t>(f))[rank],
                     f < p ? feature.at(rank, f) : Bin{0});
      }
}

TEST(panels_can_be_stopped) {
  Random random(22);
  const FeatureData feature(10, 3, 200, random);
  Monitor stopped;
  stopped.stop();
  CHECK_THROWS(make_panels(feature.bins.data(), 10, 3, 1, stopped), Stopped);
}
