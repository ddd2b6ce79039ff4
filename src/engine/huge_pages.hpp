// Memory for large arrays that are read here and there, in large pages where the system has them:
// of small ones, most reads would have to look for their page first.
#pragma once

#include <cstddef>
#include <new>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace cqrf {

template <class T>
struct HugePages {
  using value_type = T;
  static constexpr std::size_t kPage = std::size_t{1} << 21;

  HugePages() = default;
  template <class Other>
  HugePages(const HugePages<Other>&) {}

  T* allocate(std::size_t n) {
    const std::size_t bytes = n * sizeof(T);
    void* const at = ::operator new(bytes, alignment(bytes));
#if defined(__linux__) && defined(MADV_HUGEPAGE)
    // The system may not have them: no difference but speed.
    if (bytes >= kPage) ::madvise(at, bytes, MADV_HUGEPAGE);
#endif
    return static_cast<T*>(at);
  }
  void deallocate(T* at, std::size_t n) { ::operator delete(at, alignment(n * sizeof(T))); }

  bool operator==(const HugePages&) const = default;

 private:
  static std::align_val_t alignment(std::size_t bytes) {
    return std::align_val_t{bytes < kPage ? alignof(T) : kPage};
  }
};

}  // namespace cqrf
