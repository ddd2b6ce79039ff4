// A test harness in one page: TEST registers a function, CHECK* note failures and go on.
#pragma once

#include <cmath>
#include <iostream>
#include <vector>

namespace cqrf::test {

struct Test {
  const char* name;
  void (*run)();
};

inline std::vector<Test>& all_tests() {
  static std::vector<Test> tests;
  return tests;
}

inline int failed_checks = 0;  // of the test that runs

// The first failures tell; a property loop could print thousands.
template <class... What>
void fail(const char* file, int line, const What&... what) {
  constexpr int kShown = 5;
  if (++failed_checks > kShown) return;
  std::cerr << file << ':' << line << ": ";
  (std::cerr << ... << what) << '\n';
}

inline bool near(double a, double b, double tolerance) {
  return a == b || std::abs(a - b) <= tolerance || (std::isnan(a) && std::isnan(b));
}

}  // namespace cqrf::test

#define TEST(name)                                                     \
  static void test_##name();                                           \
  [[maybe_unused]] static const bool registered_##name =               \
      (cqrf::test::all_tests().push_back({#name, test_##name}), true); \
  static void test_##name()

#define CHECK(condition)                                                             \
  do {                                                                               \
    if (!(condition)) cqrf::test::fail(__FILE__, __LINE__, "not true: " #condition); \
  } while (false)

// Unary plus prints bytes as numbers.
#define CHECK_EQ(a, b)                                                                        \
  do {                                                                                        \
    const auto a_ = (a);                                                                      \
    const auto b_ = (b);                                                                      \
    if (!(a_ == b_)) cqrf::test::fail(__FILE__, __LINE__, #a " = ", +a_, ", " #b " = ", +b_); \
  } while (false)

#define CHECK_NEAR(a, b, tolerance)                                          \
  do {                                                                       \
    const double a_ = (a);                                                   \
    const double b_ = (b);                                                   \
    if (!cqrf::test::near(a_, b_, tolerance))                                \
      cqrf::test::fail(__FILE__, __LINE__, #a " = ", a_, ", " #b " = ", b_); \
  } while (false)

#define CHECK_THROWS(expression, Exception)                                             \
  do {                                                                                  \
    bool thrown_ = false;                                                               \
    try {                                                                               \
      static_cast<void>(expression);                                                    \
    } catch (const Exception&) {                                                        \
      thrown_ = true;                                                                   \
    }                                                                                   \
    if (!thrown_) cqrf::test::fail(__FILE__, __LINE__, #expression ": no " #Exception); \
  } while (false)
