#include <nanobind/stl/string.h>

#include "../index.hpp"
#include "../simd.hpp"
#include "arrays.hpp"

NB_MODULE(_engine, module) {
  using namespace cqrf;
  module.doc() = "Loops of cqrf: binning, growing, routing, accumulating, solving.";
  bindings::bind_features(module);
  bindings::bind_growing(module);
  bindings::bind_outcome(module);
  bindings::bind_prediction(module);

  module.attr("MAX_ROWS") = kMaxRows;
  module.attr("MAX_FEATURES") = kMaxFeatures;

  module.def(
      "isa", [] { return std::string(name(isa())); },
      "The instructions that kernels use: 'portable', 'avx2' or 'avx512'.");
  module.def(
      "force_isa", [](const std::string& name) { force_isa(isa_named(name)); },
      nanobind::arg("name"),
      "For tests: makes kernels use these instructions; ValueError where the machine lacks them.");

  module.def(
      "fail_in_worker",
      [](const std::string& fault, int after) {
        bindings::require(fault == "memory" || fault == "error", "there is no such fault");
        fail_in_worker(fault == "memory" ? Fault::kMemory : Fault::kError, after);
      },
      nanobind::arg("fault"), nanobind::arg("after"),
      "For tests: makes a worker thread fail, after so many that do not; never if negative.");
}
