#include "arrays.hpp"

NB_MODULE(_engine, module) {
  module.doc() = "Loops of cqrf: binning, growing, routing, accumulating, solving.";
  cqrf::bindings::bind_features(module);
  cqrf::bindings::bind_growing(module);
  cqrf::bindings::bind_outcome(module);
  cqrf::bindings::bind_prediction(module);
}
