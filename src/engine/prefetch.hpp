// Asking memory for what is soon to be read.
#pragma once

#include <cstddef>

namespace cqrf {

inline constexpr std::size_t kCacheLine = 64;

// To the second cache: it waits for more lines at once than the first. Without the empty assembly,
// functions that do nothing else have no effect, and compilers drop their calls.
inline void prefetch(const void* at) {
  constexpr int kSecond = 2;
  __builtin_prefetch(at, 0, kSecond);
  asm volatile("");
}

inline void prefetch(const void* from, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; i += kCacheLine) prefetch(static_cast<const char*>(from) + i);
}

}  // namespace cqrf
