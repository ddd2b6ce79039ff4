// Arrays across the seam, and long calls that Ctrl-C can end.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "../parallel.hpp"

namespace cqrf::bindings {

namespace nb = nanobind;

template <class T>
using Vector = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Table = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
// An array to be filled.
template <class T>
using Room = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class T>
using Output = nb::ndarray<nb::numpy, T>;

template <class Array>
auto view(const Array& array) {
  return std::span(array.data(), array.size());
}

// Nothing, where there is no array.
template <class Array>
auto view(const std::optional<Array>& array) {
  return array ? view(*array) : decltype(view(*array)){};
}

// The message stays as it is written: a string, made for every row that is checked, would cost more
// than the check.
inline void require(bool condition, const char* message) {
  if (!condition) throw std::invalid_argument(message);
}

// A NumPy array that owns the vector's memory.
template <class T>
Output<T> to_numpy(std::vector<T>&& values, std::initializer_list<std::size_t> shape) {
  auto* owned = new std::vector<T>(std::move(values));
  nb::capsule owner(owned, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return Output<T>(owned->data(), shape, owner);
}

template <class T>
Output<T> to_numpy(std::vector<T>&& values) {
  const std::size_t size = values.size();
  return to_numpy(std::move(values), {size});
}

// Runs `work(monitor)` without the interpreter lock; a signal handler that raises ends it.
template <class Work>
void run_released(Work work) {
  bool stopped = false;
  {
    const nb::gil_scoped_release release;
    Monitor monitor([] {
      const nb::gil_scoped_acquire acquire;
      return PyErr_CheckSignals() != 0;
    });
    try {
      work(monitor);
    } catch (const Stopped&) {
      stopped = true;
    }
  }
  if (stopped) throw nb::python_error();
}

void bind_features(nb::module_& module);
void bind_growing(nb::module_& module);
void bind_outcome(nb::module_& module);
void bind_prediction(nb::module_& module);

}  // namespace cqrf::bindings
