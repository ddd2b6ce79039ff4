// Random numbers: one stream per (seed, tree) and, inside a tree, one per node.
#pragma once

#include <cstdint>

namespace cqrf {

inline constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15ull;

// A bijection of 64 bits in which every input bit moves every output bit (SplitMix64's finaliser).
inline std::uint64_t mix(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}

// The seed is mixed before the tree index enters: with `seed + tree` neighbouring seeds would
// share almost all of their trees.
inline std::uint64_t tree_key(std::uint64_t seed, std::uint64_t tree) {
  return mix(mix(seed + kGolden) + kGolden * (tree + 1));
}

// Streams that must not depend on each other's length: sampling, honest halves, nodes. The constant
// (digits of pi) keeps the keys of a stream's children apart from its own numbers.
inline std::uint64_t child_key(std::uint64_t key, std::uint64_t branch) {
  return mix((key ^ 0x243f6a8885a308d3ull) + kGolden * (branch + 1));
}

class Random {
 public:
  explicit Random(std::uint64_t key) : state_(key) {}

  std::uint64_t next() { return mix(state_ += kGolden); }

  // Uniform on {0, ..., n - 1} without bias; n > 0.
  std::uint32_t below(std::uint32_t n) {
    std::uint64_t product = (next() >> 32) * n;
    if (static_cast<std::uint32_t>(product) < n) {
      const std::uint32_t threshold = static_cast<std::uint32_t>(-n) % n;
      while (static_cast<std::uint32_t>(product) < threshold) product = (next() >> 32) * n;
    }
    return static_cast<std::uint32_t>(product >> 32);
  }

 private:
  std::uint64_t state_;
};

}  // namespace cqrf
