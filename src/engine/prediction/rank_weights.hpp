// Ranks that have weight, moved together.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "../index.hpp"
#include "../simd.hpp"

namespace cqrf {

// Ranks that have weight, in order, and how much. There is room for more.
struct RankWeights {
  static constexpr std::size_t kRoom = 64;
  // Set in the ranks of events; ranks are less (index.hpp). One array for it is less to write.
  static constexpr Rank kEventBit = Rank{1} << 31;

  std::size_t size = 0;
  std::vector<Rank> marked;  // ranks, with kEventBit
  std::vector<float> weight;

  Rank rank(std::size_t i) const { return marked[i] & ~kEventBit; }
  bool is_event(std::size_t i) const { return (marked[i] & kEventBit) != 0; }

  void make_room(std::size_t n) {
    if (marked.size() >= n + kRoom) return;
    marked.resize(2 * (n + kRoom));
    weight.resize(marked.size());
  }
};

// Moves weights other than zero, of n ranks from `first` on, behind the others. event: (ranks,).
void drain(Isa isa, std::span<const std::uint8_t> event, float* weight, std::size_t n, Rank first,
           RankWeights& to);
// The same, of what some members, all of them among these ranks of one block, add to their weights:
// `share` each. `weight` is scratch, zero before and after.
void add_up(Isa isa, std::span<const std::uint8_t> event, std::span<const std::uint16_t> low,
            const float* share, std::size_t n, Rank first, std::vector<float>& weight,
            RankWeights& to);

}  // namespace cqrf
