// Kernels for the instructions that a processor has, chosen while the program runs.
//
// A kernel is a class with one body, which is compiled once per instruction set:
//
//   struct Sum {
//     template <Isa kIsa>
//     CQRF_KERNEL static std::uint64_t run(const std::uint32_t* values, std::size_t n) { ... }
//   };
//   ... dispatch<Sum>(isa(), values, n) ...
//
// The body is plain C++ that compilers turn into vector instructions; they may use whatever the
// set offers, and nothing else changes. Where they do not find the instruction, the body asks
// `if constexpr (kIsa == Isa::kAvx512)` and calls a function that is marked CQRF_AVX512 and uses
// intrinsics. Every variant must give the same bits: integers, or floating-point operations in
// the same order (contraction is off). Ask isa() once per tree or block, not once per row.
#pragma once

#include <string_view>

#if defined(__x86_64__) && defined(__GNUC__)
#define CQRF_X86 1
#define CQRF_AVX2 __attribute__((target("avx2,bmi,bmi2,popcnt")))
// GCC must be told to use the whole width. Clang does so by itself, and drops an attribute with a
// word that it does not know.
#if defined(__clang__)
#define CQRF_WIDTH ""
#else
#define CQRF_WIDTH "prefer-vector-width=512,"
#endif
#define CQRF_AVX512 \
  __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq," CQRF_WIDTH "bmi,bmi2,popcnt")))
#else
#define CQRF_X86 0
#define CQRF_AVX2
#define CQRF_AVX512
#endif
#define CQRF_KERNEL __attribute__((always_inline)) inline

namespace cqrf {

enum class Isa { kPortable, kAvx2, kAvx512 };

// The best that processor and operating system offer.
Isa offered_isa();

// What kernels run on: the one that was forced, else the one that the environment variable
// CQRF_ISA names (it is read once), else the best. Throws std::invalid_argument where the variable
// names none, or one that the machine lacks.
Isa isa();

// Throws std::invalid_argument where the machine lacks it. Trees and answers do not depend on it.
void force_isa(Isa isa);

// "portable", "avx2", "avx512".
std::string_view name(Isa isa);
// Throws std::invalid_argument where there is no such name.
Isa isa_named(std::string_view name);

namespace simd {

template <class Kernel, class... Arguments>
CQRF_AVX2 decltype(auto) run_avx2(Arguments&... arguments) {
  return Kernel::template run<Isa::kAvx2>(arguments...);
}

template <class Kernel, class... Arguments>
CQRF_AVX512 decltype(auto) run_avx512(Arguments&... arguments) {
  return Kernel::template run<Isa::kAvx512>(arguments...);
}

}  // namespace simd

template <class Kernel, class... Arguments>
decltype(auto) dispatch([[maybe_unused]] Isa isa, Arguments&&... arguments) {
#if CQRF_X86
  if (isa == Isa::kAvx512) return simd::run_avx512<Kernel>(arguments...);
  if (isa == Isa::kAvx2) return simd::run_avx2<Kernel>(arguments...);
#endif
  return Kernel::template run<Isa::kPortable>(arguments...);
}

}  // namespace cqrf
