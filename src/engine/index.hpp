// The index types of the engine, stated once.
#pragma once

#include <cstddef>
#include <cstdint>

namespace cqrf {

// The position of a training row in time order (its rank). Fewer than 2^31 training rows.
using Rank = std::uint32_t;
// An index into the distinct observed times.
using TimeIndex = std::uint32_t;
// A binned feature value; the bin after the last value bin of a feature holds missing values.
using Bin = std::uint8_t;
// Nodes and leaves are counted within one tree, so 32 bits hold them for any number of trees.
using NodeId = std::uint32_t;
using LeafId = std::uint32_t;

inline constexpr std::size_t kMaxRows = std::size_t{1} << 31;
// 255 value bins and one for missing values fill a byte.
inline constexpr int kMaxBins = 255;
inline constexpr int kBinCells = 256;

}  // namespace cqrf
