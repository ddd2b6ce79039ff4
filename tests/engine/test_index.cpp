// More members than 32 bits count, in address space that no memory stands behind.
#include <sys/mman.h>

#include "check.hpp"
#include "prediction/forest.hpp"

using namespace cqrf;

TEST(index_members_beyond_thirty_two_bits) {
  constexpr std::size_t kPerTree = kMaxRows - 1;
  constexpr std::size_t kTrees = 5;
  constexpr std::size_t kBytes = kPerTree * kTrees * sizeof(Rank);
  static_assert(kPerTree * kTrees > std::size_t{1} << 32);
  void* const mapped =
      mmap(nullptr, kBytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) return;  // a system that gives no such address space
  const auto* members = static_cast<const Rank*>(mapped);
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
  forest.members = {members, kPerTree * kTrees};
  forest.members_per_tree = kPerTree;
  for (std::size_t t = 0; t < kTrees; ++t) {
    CHECK_EQ(forest.leaf_members(t, 0).data() - members, static_cast<long>(t * kPerTree));
    CHECK_EQ(forest.leaf_members(t, 0).size(), kPerTree - 3);
    const auto last = forest.leaf_members(t, 1);
    CHECK_EQ(last.data() + last.size() - members, static_cast<long>((t + 1) * kPerTree));
    CHECK_EQ(last[2], 0u);
  }
  munmap(mapped, kBytes);
}
