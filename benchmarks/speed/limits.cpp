// What this machine can do at best, in the patterns that growing and predicting have.
//
//   limits [seconds per measurement]     prints lines "name value"; nanoseconds, or GB/s
//
// One thread. Each loop is the least that the pattern needs: no forest can be faster with the same
// pattern, only with another one.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <random>
#include <vector>

namespace {

double seconds_per_measurement = 0.2;
volatile std::uint64_t sink;  // keeps the compiler from leaving the work out

// The least of five measurements, in nanoseconds per unit; run() does `units` of them.
template <class Run>
double nanoseconds(double units, Run run) {
  using Clock = std::chrono::steady_clock;
  run();
  std::array<double, 5> found;
  for (double& each : found) {
    const auto start = Clock::now();
    double elapsed = 0;
    double done = 0;
    do {
      run();
      done += units;
      elapsed = std::chrono::duration<double>(Clock::now() - start).count();
    } while (elapsed < seconds_per_measurement / 5);
    each = 1e9 * elapsed / done;
  }
  return *std::min_element(found.begin(), found.end());
}

void print(const char* name, double value) { std::printf("%s %.4f\n", name, value); }

// A cycle through all cache lines of an array, in random order: every read waits for the last one.
double read_latency(std::size_t bytes) {
  constexpr std::size_t kLine = 64 / sizeof(std::uint32_t);
  const std::size_t lines = bytes / 64;
  std::vector<std::uint32_t> order(lines);
  std::iota(order.begin(), order.end(), 0u);
  std::shuffle(order.begin() + 1, order.end(), std::mt19937(1));
  std::vector<std::uint32_t> next(lines * kLine);
  for (std::size_t i = 0; i < lines; ++i)
    next[order[i] * kLine] = order[(i + 1) % lines] * static_cast<std::uint32_t>(kLine);
  constexpr std::size_t kSteps = 1 << 16;
  std::uint32_t at = 0;
  return nanoseconds(kSteps, [&] {
    for (std::size_t i = 0; i < kSteps; ++i) at = next[at];
    sink = at;
  });
}

double bandwidth(std::size_t bytes) {
  std::vector<std::uint64_t> data(bytes / 8, 1);
  const double per_byte = nanoseconds(static_cast<double>(bytes), [&] {
    std::uint64_t sum = 0;
    for (const std::uint64_t each : data) sum += each;
    sink = sum;
  });
  return 1.0 / per_byte;
}

// Rows of `Features` bytes in order; each byte chooses the cell of its histogram to which the
// row's label and a count of one are added. Nanoseconds per addition.
double histogram_addition() {
  constexpr std::size_t kRows = 1 << 14;
  constexpr std::size_t kFeatures = 4;
  struct Cell {
    std::int64_t label;
    std::int64_t count;
  };
  std::vector<std::uint8_t> bins(kRows * kFeatures);
  std::vector<std::int32_t> labels(kRows);
  std::mt19937 random(1);
  for (auto& bin : bins) bin = static_cast<std::uint8_t>(random());
  for (auto& label : labels) label = static_cast<std::int32_t>(random() >> 4);
  std::vector<Cell> cells(kFeatures * 256);
  return nanoseconds(kRows * kFeatures, [&] {
    for (std::size_t i = 0; i < kRows; ++i)
      for (std::size_t j = 0; j < kFeatures; ++j) {
        Cell& cell = cells[j * 256 + bins[i * kFeatures + j]];
        cell.label += labels[i];
        cell.count += 1;
      }
    sink = static_cast<std::uint64_t>(cells[0].label);
  });
}

// A row's ten labels are added to one of sixteen sums. Nanoseconds per label.
double label_addition() {
  constexpr std::size_t kRows = 1 << 14;
  constexpr std::size_t kLabels = 10;
  using Labels = std::array<std::int32_t, kLabels>;
  std::vector<Labels> labels(kRows);
  std::vector<std::uint8_t> pattern(kRows);
  std::mt19937 random(1);
  for (auto& row : labels)
    for (auto& label : row) label = static_cast<std::int32_t>(random() & 0xff);
  for (auto& each : pattern) each = static_cast<std::uint8_t>(random() & 15);
  std::array<Labels, 16> sums{};
  return nanoseconds(kRows * kLabels, [&] {
    sums = {};
    for (std::size_t i = 0; i < kRows; ++i)
      for (std::size_t k = 0; k < kLabels; ++k) sums[pattern[i]][k] += labels[i][k];
    sink = static_cast<std::uint64_t>(sums[0][0]);
  });
}

// Leaves of ascending random ranks, whose weights are added up in an array of n numbers.
double member_addition(std::size_t n) {
  constexpr std::size_t kLeaf = 200;
  constexpr std::size_t kLeaves = 500;
  std::vector<std::uint32_t> members(kLeaf * kLeaves);
  std::mt19937 random(1);
  for (auto& each : members) each = static_cast<std::uint32_t>(random() % n);
  for (std::size_t leaf = 0; leaf < kLeaves; ++leaf)
    std::sort(members.begin() + static_cast<std::ptrdiff_t>(leaf * kLeaf),
              members.begin() + static_cast<std::ptrdiff_t>((leaf + 1) * kLeaf));
  std::vector<double> weight(n);
  return nanoseconds(kLeaf * kLeaves, [&] {
    for (const std::uint32_t rank : members) weight[rank] += 0.01;
    sink = static_cast<std::uint64_t>(weight[0]);
  });
}

// Short counts on a grid of times, summed: what a prediction costs if leaves are stored so.
// Nanoseconds per entry.
double grid_addition() {
  constexpr std::size_t kGrid = 512;
  constexpr std::size_t kLeaves = 1 << 10;
  std::vector<std::uint16_t> counts(kGrid * kLeaves, 1);
  std::vector<std::uint32_t> sum(kGrid);
  return nanoseconds(kGrid * kLeaves, [&] {
    for (std::size_t leaf = 0; leaf < kLeaves; ++leaf)
      for (std::size_t t = 0; t < kGrid; ++t) sum[t] += counts[leaf * kGrid + t];
    sink = sum[0];
  });
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1) seconds_per_measurement = std::atof(argv[1]);
  constexpr std::size_t kKiB = 1024;
  print("latency_16KiB", read_latency(16 * kKiB));
  print("latency_512KiB", read_latency(512 * kKiB));
  print("latency_8MiB", read_latency(8192 * kKiB));
  print("latency_256MiB", read_latency(256 * 1024 * kKiB));
  print("bandwidth_8MiB", bandwidth(8192 * kKiB));
  print("bandwidth_256MiB", bandwidth(256 * 1024 * kKiB));
  print("histogram_addition", histogram_addition());
  print("label_addition", label_addition());
  print("member_addition_20000", member_addition(20'000));
  print("member_addition_100000", member_addition(100'000));
  print("member_addition_1000000", member_addition(1'000'000));
  print("grid_addition", grid_addition());
}
