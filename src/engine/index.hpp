// The index types of the engine, stated once: what each counts, and how far.
//
//   what                              type          limit
//   training rows, ranks, draws       Rank          2^31 - 1, refused by fit beyond it
//   distinct times                    TimeIndex     no more than rows
//   nodes of one tree                 NodeId        2 rows - 1
//   leaves of one tree, leaf starts   LeafId        rows; apply hands them out as int32
//   features                          FeatureId     2^32 - 1, refused by fit beyond it
//   bins of one feature               Bin           255 and one for missing values
//   nodes, subsets, leaf starts and   int64,        memory: 2^31 rows in each of 2^32 trees
//   members of all trees              std::size_t   would still be counted
//
// Within a tree 32 bits are enough, and half the memory; over all trees they are not: 22 million
// rows in 100 trees are more than 2^31 members.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

namespace cqrf {

// The position of a training row in time order.
using Rank = std::uint32_t;
// An index into the distinct observed times.
using TimeIndex = std::uint32_t;
// A binned feature value; the bin after the last value bin of a feature holds missing values.
using Bin = std::uint8_t;
// Counted within one tree.
using NodeId = std::uint32_t;
using LeafId = std::uint32_t;
using FeatureId = std::uint32_t;

// Fewer rows than this.
inline constexpr std::size_t kMaxRows = std::size_t{1} << 31;
// Fewer features than this.
inline constexpr std::size_t kMaxFeatures = std::size_t{1} << 32;
// 255 value bins and one for missing values fill a byte.
inline constexpr int kMaxBins = 255;
inline constexpr int kBinCells = 256;

template <class Index>
constexpr bool holds(std::size_t last) {
  return last <= std::size_t{std::numeric_limits<Index>::max()};
}

static_assert(holds<Rank>(kMaxRows - 1) && holds<TimeIndex>(kMaxRows - 1));
static_assert(holds<NodeId>(2 * (kMaxRows - 1)), "a tree has one leaf more than splits");
static_assert(holds<std::uint32_t>(kMaxRows), "where the members of the last leaf end");
static_assert(holds<std::int32_t>(kMaxRows - 1), "leaf numbers as apply returns them");
static_assert(holds<FeatureId>(kMaxFeatures - 1));
static_assert(holds<Bin>(kMaxBins) && kBinCells == kMaxBins + 1);
static_assert(sizeof(std::size_t) == 8, "members of all trees are counted in 64 bits");

}  // namespace cqrf
