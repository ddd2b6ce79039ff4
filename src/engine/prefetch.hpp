// Asking memory for what is soon to be read.
#pragma once

#include <cstddef>

namespace cqrf {

// Without the empty assembly, functions that do nothing else have no effect, and compilers drop
// their calls.
inline void prefetch(const void* at) {
  __builtin_prefetch(at);
  asm volatile("");
}

inline void prefetch(const void* from, std::size_t bytes) {
  constexpr std::size_t kCacheLine = 64;
  for (std::size_t i = 0; i < bytes; i += kCacheLine) prefetch(static_cast<const char*>(from) + i);
}

}  // namespace cqrf
