#include "panels.hpp"

#include <algorithm>

namespace cqrf {

std::vector<Bin> make_panels(const Bin* rows, std::size_t n, std::size_t p, std::size_t width,
                             Monitor& monitor) {
  // So few rows at a time that their cache lines are still at hand for the next panel.
  constexpr std::size_t kRows = 64;
  std::vector<Bin> bins((p + width - 1) / width * width * n);
  for (std::size_t begin = 0; begin < n; begin += kRows) {
    if (monitor.stopped()) throw Stopped{};
    const std::size_t end = std::min(n, begin + kRows);
    for (std::size_t first = 0; first < p; first += width) {
      Bin* const panel = bins.data() + first * n;
      const std::size_t size = std::min(width, p - first);
      for (std::size_t i = begin; i < end; ++i)
        for (std::size_t j = 0; j < size; ++j) panel[i * width + j] = rows[i * p + first + j];
    }
  }
  return bins;
}

}  // namespace cqrf
