// More members than 32 bits count, in address space that no memory stands behind.
#include <sys/mman.h>

#include "check.hpp"
#include "prediction/forest.hpp"

using namespace cqrf;

TEST(index_members_beyond_thirty_two_bits) {
  constexpr std::size_t kPerTree = kMaxRows - 1;
  constexpr std::size_t kTrees = 5;
  constexpr std::size_t kBytes = kPerTree * kTrees * sizeof(std::uint16_t);
  static_assert(kPerTree * kTrees > std::size_t{1} << 32);
  void* const mapped =
      mmap(nullptr, kBytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) return;  // a system that gives no such address space
  const auto* low = static_cast<const std::uint16_t*>(mapped);
  // Every tree has two leaves, of all rows but three and of three.
  std::vector<std::uint32_t> leaf_start;
  std::vector<std::int64_t> leaf_offset{0};
  for (std::size_t t = 0; t < kTrees; ++t) {
    for (const std::size_t start : {std::size_t{0}, kPerTree - 3, kPerTree})
      leaf_start.push_back(static_cast<std::uint32_t>(start));
    leaf_offset.push_back(static_cast<std::int64_t>(leaf_start.size()));
  }
  Forest forest{};
  forest.leaf_start = leaf_start;
  forest.leaf_offset = leaf_offset;
  // Counted by blocks: the three of the second leaf lie in the last one.
  constexpr std::size_t kBlocks = n_blocks(kPerTree);
  std::vector<std::uint16_t> counts(2 * kTrees * kBlocks, 0);
  for (std::size_t t = 0; t < kTrees; ++t) counts[(2 * t + 2) * kBlocks - 1] = 3;
  forest.members = {{low, kPerTree * kTrees}, {}, {}, counts, kPerTree, kBlocks};
  std::vector<Rank> room;
  for (std::size_t t = 0; t < kTrees; ++t) {
    const Leaf first = forest.leaf(t, 0);
    CHECK_EQ(first.number, 2 * t);
    CHECK_EQ(first.first, t * kPerTree);
    CHECK_EQ(first.size, kPerTree - 3);
    const Leaf last = forest.leaf(t, 1);
    CHECK_EQ(last.number, 2 * t + 1);
    CHECK_EQ(last.first + last.size, (t + 1) * kPerTree);
    forest.prefetch(last);
    const auto members = forest.leaf_members(t, 1, room);
    CHECK_EQ(members.size(), 3u);
    CHECK_EQ(members[2], static_cast<Rank>((kBlocks - 1) * kBlockRows));
  }
  munmap(mapped, kBytes);
}
