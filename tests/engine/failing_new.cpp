#include "failing_new.hpp"

#include <atomic>
#include <cstdlib>
#include <new>

namespace {

// Allocations until one fails; none does while it is below zero.
std::atomic<long> until_failure{-1};
std::atomic<bool> for_good{false};
std::atomic<bool> failed{false};

bool fails() {
  if (failed.load(std::memory_order_relaxed)) return for_good.load(std::memory_order_relaxed);
  if (until_failure.load(std::memory_order_relaxed) < 0) return false;
  if (until_failure.fetch_sub(1) != 0) return false;
  failed = true;
  return true;
}

void set(long countdown, bool lasting) {
  until_failure = -1;
  for_good = lasting;
  failed = false;
  until_failure = countdown;
}

}  // namespace

// All of them: the address sanitizer brings its own for those that are left out.
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return fails() ? nullptr : std::malloc(size == 0 ? 1 : size);
}
void* operator new(std::size_t size) {
  if (void* memory = operator new(size, std::nothrow)) return memory;
  throw std::bad_alloc();
}
void* operator new[](std::size_t size) { return operator new(size); }
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept {
  return operator new(size, std::nothrow);
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }

namespace cqrf::test {

// Loops allocate alike: after so many allocations not each of them is tried.
constexpr long kSteps = 25;

int fail_allocations(Shortage shortage, const std::function<void()>& work) {
  int failures = 0;
  for (long countdown = 0;; countdown += 1 + countdown / kSteps, ++failures) {
    set(countdown, shortage == Shortage::kForGood);
    try {
      work();
    } catch (const std::bad_alloc&) {
    }
    const bool reached = failed;
    set(-1, false);
    if (!reached) return failures;
  }
}

}  // namespace cqrf::test
