#include <cmath>
#include <limits>
#include <numeric>
#include <stdexcept>

#include "check.hpp"
#include "columns.hpp"

using namespace cqrf;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

template <class T>
void check_type() {
  const std::vector<T> values{std::numeric_limits<T>::lowest(), T{0}, T{1}, T{7},
                              std::numeric_limits<T>::max()};
  // Contiguous, and every second one: two ways of reading.
  for (const std::size_t step : {1, 2}) {
    const std::size_t n = (values.size() + step - 1) / step;
    const auto x = dense(values, n, 1, static_cast<std::ptrdiff_t>(step), 1);
    std::vector<double> read(n), gathered(n);
    std::vector<std::int64_t> rows(n);
    std::iota(rows.begin(), rows.end(), 0);
    x.read(0, 0, n, read.data());
    x.gather(0, rows, gathered.data());
    for (std::size_t i = 0; i < n; ++i) CHECK_EQ(read[i], static_cast<double>(values[i * step]));
    CHECK(read == gathered);
    double last;
    x.read(0, n - 1, 1, &last);
    CHECK_EQ(last, static_cast<double>(values[(n - 1) * step]));
  }
}

}  // namespace

TEST(columns_of_every_type) {
  check_type<std::int8_t>();
  check_type<std::int16_t>();
  check_type<std::int32_t>();
  check_type<std::int64_t>();
  check_type<std::uint8_t>();
  check_type<std::uint16_t>();
  check_type<std::uint32_t>();
  check_type<std::uint64_t>();
  check_type<float>();
  check_type<double>();
}

TEST(columns_sparse_reads_like_dense) {
  constexpr std::size_t n = 9;
  const std::vector<double> columns{0, 0, 5, 0, kNaN, 0, 0, 0, 2,   // some
                                    0, 0, 0, 0, 0,    0, 0, 0, 0,   // none
                                    1, 2, 3, 4, 5,    6, 7, 8, 9};  // all
  const Compressed stored(columns, n, 3);
  const auto thin = stored.features();
  const auto full = dense(columns, n, 3, 1, n);
  const auto same = [](const std::vector<double>& a, const std::vector<double>& b) {
    for (std::size_t i = 0; i < a.size(); ++i)
      if (a[i] != b[i] && !(std::isnan(a[i]) && std::isnan(b[i]))) return false;
    return true;
  };
  for (std::size_t f = 0; f < 3; ++f) {
    for (std::size_t begin = 0; begin < n; ++begin)
      for (std::size_t count = 1; begin + count <= n; ++count) {
        std::vector<double> a(count), b(count);
        thin.read(f, begin, count, a.data());
        full.read(f, begin, count, b.data());
        CHECK(same(a, b));
      }
    for (const auto& rows : {std::vector<std::int64_t>{0, 2, 8}, {4}, {1, 3, 4, 5}}) {
      std::vector<double> a(rows.size()), b(rows.size());
      thin.gather(f, rows, a.data());
      full.gather(f, rows, b.data());
      CHECK(same(a, b));
    }
  }
}

TEST(columns_what_is_not_stored) {
  Compressed stored({0, 4, 0}, 3, 1);
  stored.implicit = {7};
  std::vector<double> read(3);
  stored.features().read(0, 0, 3, read.data());
  CHECK(read == (std::vector<double>{7, 4, 7}));
}

TEST(columns_first_infinity) {
  constexpr std::size_t n = 3000;
  Monitor monitor;
  std::vector<double> columns(n * 3, kNaN);
  CHECK(!dense(columns, n, 3, 1, n).first_infinite(2, monitor));
  // The first column that has any, and there the first row, whoever finds it.
  columns[2 * n + 4] = kInfinity;
  columns[n + 2500] = -kInfinity;
  columns[n + 2999] = kInfinity;
  for (const int n_threads : {1, 2, 8}) {
    const auto cell = dense(columns, n, 3, 1, n).first_infinite(n_threads, monitor);
    CHECK(cell && cell->column == 1 && cell->row == 2500 && cell->value == -kInfinity);
    const auto stored = Compressed(columns, n, 3);
    const auto thin = stored.features().first_infinite(n_threads, monitor);
    CHECK(thin && thin->column == 1 && thin->row == 2500 && thin->value == -kInfinity);
  }
  CHECK(!dense(std::vector<std::int64_t>(10, 1), 10, 1).first_infinite(1, monitor));
}

TEST(columns_sparse_refuses) {
  const auto refused = [](auto change) {
    Compressed stored({0, 4, 5, 1, 0, 2}, 3, 2);
    change(stored);
    CHECK_THROWS(stored.features(), std::invalid_argument);
  };
  refused([](auto& s) { s.indices[1] = 3; });
  refused([](auto& s) { s.indices[0] = -1; });
  refused([](auto& s) { std::swap(s.indices[0], s.indices[1]); });
  refused([](auto& s) { s.indices[1] = s.indices[0]; });
  refused([](auto& s) { s.indptr[1] = 9; });
  refused([](auto& s) { s.indptr[0] = 1; });
  refused([](auto& s) { s.indptr.back() = 3; });
  refused([](auto& s) { s.implicit.pop_back(); });
}
