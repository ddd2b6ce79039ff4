// Runs every test, or those whose name contains the first argument; with two further arguments k
// and n, every n-th of these from the k-th on.
#include <cstdlib>
#include <exception>
#include <string_view>

#include "check.hpp"

namespace {

bool passes(const cqrf::test::Test& test) {
  cqrf::test::failed_checks = 0;
  try {
    test.run();
  } catch (const std::exception& error) {
    cqrf::test::fail(test.name, 0, "threw: ", error.what());
  } catch (...) {
    cqrf::test::fail(test.name, 0, "threw");
  }
  if (cqrf::test::failed_checks == 0) return true;
  std::cerr << "FAILED " << test.name << ": " << cqrf::test::failed_checks << " checks\n";
  return false;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view filter = argc > 1 ? argv[1] : "";
  const int part = argc > 3 ? std::atoi(argv[2]) : 0;
  const int parts = argc > 3 ? std::atoi(argv[3]) : 1;
  int number = 0;
  int passed = 0;
  int failed = 0;
  for (const auto& test : cqrf::test::all_tests()) {
    if (std::string_view(test.name).find(filter) == std::string_view::npos) continue;
    if (number++ % parts != part) continue;
    ++(passes(test) ? passed : failed);
  }
  std::cout << passed << " passed, " << failed << " failed\n";
  return failed > 0 || passed == 0;
}
