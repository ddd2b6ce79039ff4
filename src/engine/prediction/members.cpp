#include "members.hpp"

#include <algorithm>

namespace cqrf {

void PackedMembers::unpack(const Leaf& leaf, Rank* out) const {
  const std::uint16_t* const from = low.data() + leaf.first;
  // Loops of their own, which the compiler turns into vector code.
  for (std::size_t i = 0; i < leaf.size; ++i) out[i] = from[i] & kPlace;
  if (counted()) {
    Rank base = 0;
    for (const std::uint16_t count : counts(leaf)) {
      for (std::size_t i = 0; i < count; ++i) out[i] += base;
      out += count;
      base += static_cast<Rank>(kBlockRows);
    }
    return;
  }
  if (block.empty()) return;
  const std::uint8_t* const above = block.data() + leaf.first;
  for (std::size_t i = 0; i < leaf.size; ++i) out[i] |= Rank{above[i]} << kPlaceBits;
  if (block_high.empty()) return;
  const std::uint8_t* const highest = block_high.data() + leaf.first;
  for (std::size_t i = 0; i < leaf.size; ++i) out[i] |= Rank{highest[i]} << (kPlaceBits + 8);
}

void MemberRoom::fill(const Tree& tree, const FilledLeaves& filled,
                      std::span<const std::uint8_t> event) const {
  std::vector<std::uint32_t> next = first_places(tree);
  const auto pack = [to = *this, event](std::size_t at, Rank rank) {
    to.put(at, rank, event[rank]);
  };
  if (!block_counts) return place_members(filled, next, pack);
  // Block after block: the places that leaves have moved on are the counts.
  const std::size_t blocks = n_blocks(event.size());
  std::size_t begin = 0;
  for (std::size_t b = 0; b < blocks; ++b) {
    const auto rest = filled.rows.subspan(begin);
    const auto last = std::ranges::lower_bound(rest, static_cast<Rank>((b + 1) * kBlockRows));
    const auto size = static_cast<std::size_t>(last - rest.begin());
    const std::vector<std::uint32_t> before = next;
    place_members({rest.first(size), filled.leaf_of.subspan(begin, size)}, next, pack);
    for (std::size_t leaf = 0; leaf < next.size(); ++leaf)
      block_counts[leaf * blocks + b] = static_cast<std::uint16_t>(next[leaf] - before[leaf]);
    begin += size;
  }
}

}  // namespace cqrf
