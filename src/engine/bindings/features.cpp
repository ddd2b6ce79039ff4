#include <nanobind/stl/optional.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "../features/binning.hpp"
#include "arrays.hpp"

namespace cqrf::bindings {
namespace {

template <class T>
using Strided = nb::ndarray<const T, nb::ndim<2>, nb::device::cpu>;

template <class T>
Matrix<T> matrix(const Strided<T>& x) {
  return {x.data(), x.shape(0), x.shape(1), static_cast<std::ptrdiff_t>(x.stride(0)),
          static_cast<std::ptrdiff_t>(x.stride(1))};
}

// Ragged lists as one array and offsets.
template <class T, class Get>
std::pair<Output<T>, Output<std::int64_t>> flatten(const std::vector<FeatureBins>& features,
                                                   Get get) {
  std::vector<T> values;
  std::vector<std::int64_t> offset{0};
  for (const FeatureBins& feature : features) {
    values.insert(values.end(), get(feature).begin(), get(feature).end());
    offset.push_back(static_cast<std::int64_t>(values.size()));
  }
  return {to_numpy(std::move(values)), to_numpy(std::move(offset))};
}

void check_offsets(const Vector<std::int64_t>& offset, std::size_t n, std::size_t size) {
  require(offset.size() == n + 1 && offset.data()[0] == 0 &&
              offset.data()[n] == static_cast<std::int64_t>(size) &&
              std::is_sorted(offset.data(), offset.data() + n + 1),
          "bin offsets are not consistent");
}

class BinMapper {
 public:
  explicit BinMapper(std::vector<FeatureBins> features) : features_(std::move(features)) {}

  static BinMapper from_state(Vector<double> cuts, Vector<std::int64_t> cut_offset,
                              Vector<Bin> category_bins, Vector<std::int64_t> category_offset,
                              Vector<Bin> n_bins) {
    const std::size_t p = n_bins.size();
    check_offsets(cut_offset, p, cuts.size());
    check_offsets(category_offset, p, category_bins.size());
    std::vector<FeatureBins> features(p);
    for (std::size_t f = 0; f < p; ++f) {
      FeatureBins& feature = features[f];
      feature.cuts.assign(cuts.data() + cut_offset.data()[f],
                          cuts.data() + cut_offset.data()[f + 1]);
      feature.category_bins.assign(category_bins.data() + category_offset.data()[f],
                                   category_bins.data() + category_offset.data()[f + 1]);
      feature.categorical = !feature.category_bins.empty();
      feature.n_bins = n_bins.data()[f];
      for (const double cut : feature.cuts) require(std::isfinite(cut), "cuts must be finite");
      for (std::size_t i = 1; i < feature.cuts.size(); ++i)
        require(feature.cuts[i - 1] < feature.cuts[i], "cuts are not in ascending order");
      require(feature.n_bins >= 1 &&
                  (feature.categorical
                       ? feature.cuts.empty() &&
                             std::all_of(feature.category_bins.begin(), feature.category_bins.end(),
                                         [&](Bin bin) { return bin <= feature.n_bins; })
                       : feature.cuts.size() + 1 == static_cast<std::size_t>(feature.n_bins)),
              "number of bins does not agree with the cuts");
    }
    return BinMapper(std::move(features));
  }

  nb::tuple state() const {
    auto [cuts, cut_offset] =
        flatten<double>(features_, [](const FeatureBins& f) -> const auto& { return f.cuts; });
    auto [bins, bin_offset] = flatten<Bin>(
        features_, [](const FeatureBins& f) -> const auto& { return f.category_bins; });
    return nb::make_tuple(cuts, cut_offset, bins, bin_offset, n_bins());
  }

  Output<Bin> n_bins() const {
    std::vector<Bin> n;
    for (const FeatureBins& feature : features_) n.push_back(feature.missing());
    return to_numpy(std::move(n));
  }

  template <class T>
  Output<Bin> bin(Strided<T> x, std::optional<Vector<std::int64_t>> rows, int n_threads) const {
    require(x.shape(1) == features_.size(), "X has the wrong number of columns");
    const auto chosen = rows ? view(*rows) : std::span<const std::int64_t>{};
    for (const std::int64_t row : chosen)
      require(row >= 0 && row < static_cast<std::int64_t>(x.shape(0)), "row out of range");
    const std::size_t n = rows ? chosen.size() : x.shape(0);
    std::vector<Bin> out(n * x.shape(1));
    run_released([&](Monitor& monitor) {
      bin_rows(matrix(x), chosen, n, features_, out.data(), n_threads, monitor);
    });
    return to_numpy(std::move(out), {n, x.shape(1)});
  }

 private:
  std::vector<FeatureBins> features_;
};

template <class T>
BinMapper find(Strided<T> x, Vector<std::int64_t> rows, std::optional<Vector<double>> weights,
               Vector<std::int64_t> n_categories, int max_bins, int n_threads) {
  require(n_categories.size() == x.shape(1), "n_categories must have one entry per column");
  require(!weights || weights->size() == rows.size(), "weights must have one entry per row");
  require(max_bins >= 2 && max_bins <= kMaxBins, "max_bins must be in [2, 255]");
  for (const std::int64_t row : view(rows))
    require(row >= 0 && row < static_cast<std::int64_t>(x.shape(0)), "row out of range");
  const auto m = matrix(x);
  for (std::size_t f = 0; f < m.columns; ++f)
    for (std::size_t i = 0; n_categories.data()[f] > 0 && i < m.rows; ++i) {
      const auto code = static_cast<double>(m.at(i, f));
      require(!(code < 0 || code >= static_cast<double>(n_categories.data()[f])),
              "category code out of range");
    }
  std::vector<FeatureBins> features;
  run_released([&](Monitor& monitor) {
    features = find_bins(m, view(rows), weights ? view(*weights) : std::span<const double>{},
                         view(n_categories), max_bins, n_threads, monitor);
  });
  return BinMapper(std::move(features));
}

// Bins of a forest's training rows that do not come from `bin`.
void check_bins(Table<Bin> bins, Vector<Bin> missing) {
  require(bins.shape(1) == missing.size(), "bins has the wrong number of columns");
  const std::size_t p = missing.size();
  bool inside = true;
  for (std::size_t row = 0; row < bins.shape(0); ++row)
    for (std::size_t f = 0; f < p; ++f) inside &= bins.data()[row * p + f] <= missing.data()[f];
  require(inside, "bin beyond that of missing values");
}

}  // namespace

void bind_features(nb::module_& module) {
  nb::class_<BinMapper>(module, "BinMapper")
      .def_static("find", &find<double>, nb::arg("x"), nb::arg("rows"), nb::arg("weights").none(),
                  nb::arg("n_categories"), nb::arg("max_bins"), nb::arg("n_threads"))
      .def_static("find", &find<float>, nb::arg("x"), nb::arg("rows"), nb::arg("weights").none(),
                  nb::arg("n_categories"), nb::arg("max_bins"), nb::arg("n_threads"))
      .def_static("from_state", &BinMapper::from_state)
      .def("state", &BinMapper::state)
      .def("bin", &BinMapper::bin<double>, nb::arg("x"), nb::arg("rows").none(),
           nb::arg("n_threads"))
      .def("bin", &BinMapper::bin<float>, nb::arg("x"), nb::arg("rows").none(),
           nb::arg("n_threads"));

  module.def("check_bins", &check_bins, nb::arg("bins"), nb::arg("missing"),
             "Refuses bins (n, p) beyond the missing bin (p,) of their feature.");
}

}  // namespace cqrf::bindings
