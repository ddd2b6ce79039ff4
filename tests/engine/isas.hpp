// Every instruction set that the machine offers, one after the other.
#pragma once

#include "simd.hpp"

namespace cqrf::test {

// Calls visit(isa) with that one forced; afterwards kernels use what they used before.
template <class Visit>
void each_isa(Visit visit) {
  const Isa before = isa();
  for (const Isa one : {Isa::kPortable, Isa::kAvx2, Isa::kAvx512}) {
    if (one > offered_isa()) continue;
    force_isa(one);
    visit(one);
  }
  force_isa(before);
}

}  // namespace cqrf::test
