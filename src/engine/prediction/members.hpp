// The members of all leaves, packed in two bytes each and what else it takes to tell their ranks.
//
// Ranks are divided into *blocks* of 2^15. The two bytes are the place of a rank in its block and,
// in the highest bit, whether it is an event. Up to 2^15 training rows there is one block. Beyond,
// either the block stands beside the two bytes, in one byte up to 2^23 rows and in two after that;
// or every leaf tells how many of its members, which are in order, lie in each block. Large leaves
// take less memory that way.
#pragma once

#include <cstdint>
#include <span>

#include "../index.hpp"
#include "../tree/leaves.hpp"

namespace cqrf {

inline constexpr int kPlaceBits = 15;
inline constexpr std::size_t kBlockRows = std::size_t{1} << kPlaceBits;
inline constexpr std::uint16_t kEventBit = 1u << kPlaceBits;
inline constexpr std::uint16_t kPlace = kEventBit - 1;

// How many runs of 2^shift ranks it takes for all of n > 0.
inline constexpr std::size_t n_runs(std::size_t n, int shift) { return ((n - 1) >> shift) + 1; }

inline constexpr std::size_t n_blocks(std::size_t n_rows) {
  return (n_rows + kBlockRows - 1) / kBlockRows;
}

// Bytes that hold the number of a block.
inline constexpr int block_bytes(std::size_t n_rows) {
  return n_rows <= kBlockRows ? 0 : n_blocks(n_rows) <= 256 ? 1 : 2;
}

// The members of a leaf: `size` places from `first` on.
struct Leaf {
  std::size_t number;  // of the leaf, in the whole forest
  std::size_t first;
  std::size_t size;
};

struct PackedMembers {
  std::span<const std::uint16_t> low;           // (B, per_tree)
  std::span<const std::uint8_t> block;          // (B, per_tree) bits 0 to 7 of the block, or empty
  std::span<const std::uint8_t> block_high;     // (B, per_tree) bits 8 to 15, or empty
  std::span<const std::uint16_t> block_counts;  // (leaves, n_blocks), or empty
  std::size_t per_tree = 0;
  std::size_t n_blocks = 1;

  bool counted() const { return !block_counts.empty(); }
  std::span<const std::uint16_t> counts(const Leaf& leaf) const {
    return block_counts.subspan(leaf.number * n_blocks, n_blocks);
  }
  std::size_t block_of(std::size_t at) const {
    if (block.empty()) return 0;
    return block[at] | (block_high.empty() ? std::size_t{0} : std::size_t{block_high[at]} << 8);
  }

  // Calls each(block, members) for the members of a leaf, by the blocks that they lie in.
  template <class Each>
  void for_each_run(const Leaf& leaf, Each each) const {
    const std::uint16_t* from = low.data() + leaf.first;
    if (counted()) {
      const auto numbers = counts(leaf);
      for (std::size_t number = 0; number < n_blocks; ++number) {
        each(number, std::span(from, numbers[number]));
        from += numbers[number];
      }
    } else if (block.empty()) {
      each(std::size_t{0}, std::span(from, leaf.size));
    } else {
      for (std::size_t begin = 0; begin < leaf.size;) {
        const std::size_t number = block_of(leaf.first + begin);
        std::size_t end = begin + 1;
        while (end < leaf.size && block_of(leaf.first + end) == number) ++end;
        each(number, std::span(from + begin, end - begin));
        begin = end;
      }
    }
  }

  // Writes the ranks of a leaf to `out`, which has room for them.
  void unpack(const Leaf& leaf, Rank* out) const;
};

// Where the members of one tree are packed to.
struct MemberRoom {
  std::uint16_t* low;
  std::uint8_t* block;                    // or null
  std::uint8_t* block_high;               // or null
  std::uint16_t* block_counts = nullptr;  // (leaves, n_blocks), or null

  // Packs the rows that fill a tree; event: (n,) by rank.
  void fill(const Tree& tree, const FilledLeaves& filled,
            std::span<const std::uint8_t> event) const;

  void put(std::size_t at, Rank rank, bool event) const {
    low[at] = static_cast<std::uint16_t>((rank & kPlace) | (event ? kEventBit : 0));
    if (block) block[at] = static_cast<std::uint8_t>(rank >> kPlaceBits);
    if (block_high) block_high[at] = static_cast<std::uint8_t>(rank >> (kPlaceBits + 8));
  }
};

}  // namespace cqrf
