// Asking memory for what is soon to be read.
#pragma once

namespace cqrf {

// Without the empty assembly, functions that do nothing else have no effect, and compilers drop
// their calls.
inline void prefetch(const void* at) {
  __builtin_prefetch(at);
  asm volatile("");
}

}  // namespace cqrf
