#include <nanobind/stl/optional.h>

#include <optional>

#include "../outcome/ranks.hpp"
#include "arrays.hpp"

namespace cqrf::bindings {
namespace {

nb::tuple rank(Vector<double> time, Vector<bool> event, std::optional<Vector<bool>> kept,
               bool mirrored) {
  require(time.size() < kMaxRows && event.size() == time.size() &&
              (!kept || kept->size() == time.size()),
          "outcomes differ in length");
  RankedOutcome ranked;
  {
    const nb::gil_scoped_release release;
    ranked = rank_outcome(view(time), view(event), kept ? view(*kept) : std::span<const bool>{},
                          mirrored);
  }
  return nb::make_tuple(to_numpy(std::move(ranked.times)), to_numpy(std::move(ranked.time_index)),
                        to_numpy(std::move(ranked.event)), to_numpy(std::move(ranked.order)));
}

Output<double> curve(Vector<TimeIndex> time_index, Vector<std::uint8_t> event,
                     std::optional<Vector<double>> weight, std::size_t n_times, bool of_censoring) {
  require(event.size() == time_index.size() && (!weight || weight->size() == event.size()),
          "outcomes differ in length");
  for (const TimeIndex k : view(time_index)) require(k < n_times, "time index out of range");
  return to_numpy(kaplan_meier(view(time_index), view(event),
                               weight ? view(*weight) : std::span<const double>{}, n_times,
                               of_censoring));
}

}  // namespace

void bind_outcome(nb::module_& module) {
  module.def("rank_outcome", &rank, nb::arg("time"), nb::arg("event"), nb::arg("kept").none(),
             nb::arg("mirrored"), "Sorts outcomes: (times, time index, event, order).");
  module.def("kaplan_meier", &curve, nb::arg("time_index"), nb::arg("event"),
             nb::arg("weight").none(), nb::arg("n_times"), nb::arg("of_censoring"),
             "The curve of all rows at the distinct times, (n_times,).");
}

}  // namespace cqrf::bindings
