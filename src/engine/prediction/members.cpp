#include "members.hpp"

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

}  // namespace cqrf
