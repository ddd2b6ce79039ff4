// Allocation that fails on request: the test program's own operator new.
#pragma once

#include <functional>

namespace cqrf::test {

enum class Shortage { kOnce, kForGood };

// Calls `work` again and again: the first, the second, ... allocation fails (and with kForGood all
// that come after it), in growing steps, until there are no more to fail. Every call must end
// normally or with std::bad_alloc. Returns how many saw an allocation fail.
int fail_allocations(Shortage shortage, const std::function<void()>& work);

}  // namespace cqrf::test
