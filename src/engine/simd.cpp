#include "simd.hpp"

#include <array>
#include <atomic>
#include <cstdlib>
#include <stdexcept>
#include <string>

namespace cqrf {
namespace {

constexpr std::array<std::string_view, 3> kNames{"portable", "avx2", "avx512"};
constexpr int kUndecided = -1;
std::atomic<int> chosen{kUndecided};

Isa checked(Isa isa) {
  if (isa > offered_isa())
    throw std::invalid_argument("this machine has no " + std::string(name(isa)) +
                                " instructions; the best it has is " +
                                std::string(name(offered_isa())));
  return isa;
}

Isa from_environment() {
  const char* wanted = std::getenv("CQRF_ISA");
  if (wanted == nullptr || *wanted == '\0') return offered_isa();
  try {
    return checked(isa_named(wanted));
  } catch (const std::invalid_argument& error) {
    throw std::invalid_argument(std::string("environment variable CQRF_ISA: ") + error.what());
  }
}

}  // namespace

Isa offered_isa() {
#if CQRF_X86
  // The compiler's runtime asks the operating system, too, whether it saves the wide registers.
  const bool bits = __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") &&
                    __builtin_cpu_supports("popcnt") && __builtin_cpu_supports("avx2");
  if (bits && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq"))
    return Isa::kAvx512;
  if (bits) return Isa::kAvx2;
#endif
  return Isa::kPortable;
}

Isa isa() {
  int known = chosen.load(std::memory_order_relaxed);
  if (known == kUndecided) {
    // Another thread, or force_isa, may have been first.
    const int found = static_cast<int>(from_environment());
    if (chosen.compare_exchange_strong(known, found)) known = found;
  }
  return static_cast<Isa>(known);
}

void force_isa(Isa isa) { chosen = static_cast<int>(checked(isa)); }

std::string_view name(Isa isa) { return kNames[static_cast<std::size_t>(isa)]; }

Isa isa_named(std::string_view name) {
  for (std::size_t i = 0; i < kNames.size(); ++i)
    if (kNames[i] == name) return static_cast<Isa>(i);
  throw std::invalid_argument("there are no instructions named '" + std::string(name) +
                              "'; choose portable, avx2 or avx512");
}

}  // namespace cqrf
