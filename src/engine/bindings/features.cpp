#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <tuple>

#include "../features/binning.hpp"
#include "arrays.hpp"

namespace cqrf::bindings {
namespace {

using Numbers = nb::ndarray<nb::ro, nb::device::cpu>;

Number number_type(const Numbers& array) {
  const auto is = [&]<class T>(T) { return array.dtype() == nb::dtype<T>(); };
  if (is(double{})) return Number::kFloat64;
  if (is(float{})) return Number::kFloat32;
  if (is(std::int64_t{})) return Number::kInt64;
  if (is(std::int32_t{})) return Number::kInt32;
  if (is(std::int16_t{})) return Number::kInt16;
  if (is(std::int8_t{})) return Number::kInt8;
  if (is(std::uint64_t{})) return Number::kUint64;
  if (is(std::uint32_t{})) return Number::kUint32;
  if (is(std::uint16_t{})) return Number::kUint16;
  if (is(std::uint8_t{}) || is(bool{})) return Number::kUint8;
  throw std::invalid_argument("features must be numbers of a native type");
}

Column column(const Numbers& array, std::size_t axis, std::ptrdiff_t offset) {
  const auto size = static_cast<std::ptrdiff_t>(array.itemsize());
  return {static_cast<const std::byte*>(array.data()) + offset * size,
          static_cast<std::ptrdiff_t>(array.stride(axis)) * size, number_type(array)};
}

// Features with the arrays that they are read from.
class BoundFeatures {
 public:
  static BoundFeatures of_matrix(Numbers x) {
    require(x.ndim() == 2, "a matrix has two dimensions");
    std::vector<Column> columns(x.shape(1));
    for (std::size_t f = 0; f < columns.size(); ++f)
      columns[f] =
          column(x, 0, static_cast<std::ptrdiff_t>(f) * static_cast<std::ptrdiff_t>(x.stride(1)));
    return {std::make_unique<DenseFeatures>(std::move(columns), x.shape(0)), {x}};
  }

  static BoundFeatures of_columns(std::vector<Numbers> arrays) {
    require(!arrays.empty(), "features have at least one column");
    std::vector<Column> columns;
    for (const Numbers& array : arrays) {
      require(array.ndim() == 1 && array.size() == arrays[0].size(), "columns differ in length");
      columns.push_back(column(array, 0, 0));
    }
    const std::size_t rows = arrays[0].size();
    return {std::make_unique<DenseFeatures>(std::move(columns), rows), std::move(arrays)};
  }

  static BoundFeatures of_sparse(Vector<std::int64_t> indptr, Vector<std::int32_t> indices,
                                 Numbers values, Vector<double> implicit, std::size_t n_rows) {
    require(values.ndim() == 1 && values.size() == indices.size(), "one value per index is needed");
    return {std::make_unique<SparseFeatures>(view(indptr), view(indices), column(values, 0, 0),
                                             view(implicit), n_rows),
            {Numbers(indptr), Numbers(indices), values, Numbers(implicit)}};
  }

  const Features& get() const { return *features_; }

  std::pair<std::size_t, std::size_t> shape() const {
    return {features_->rows(), features_->columns()};
  }

  std::optional<std::tuple<std::size_t, std::size_t, double>> first_infinite(int n_threads) const {
    std::optional<Cell> cell;
    run_released([&](Monitor& monitor) { cell = features_->first_infinite(n_threads, monitor); });
    if (!cell) return std::nullopt;
    return std::tuple{cell->row, cell->column, cell->value};
  }

  Output<double> column_values(std::size_t f) const {
    require(f < features_->columns(), "column out of range");
    std::vector<double> values(features_->rows());
    features_->read(f, 0, values.size(), values.data());
    return to_numpy(std::move(values));
  }

 private:
  BoundFeatures(std::unique_ptr<Features> features, std::vector<Numbers> arrays)
      : features_(std::move(features)), arrays_(std::move(arrays)) {}

  std::unique_ptr<Features> features_;
  std::vector<Numbers> arrays_;
};

void check_rows(const Vector<std::int64_t>& rows, std::size_t n_rows) {
  for (const std::int64_t row : view(rows))
    require(row >= 0 && row < static_cast<std::int64_t>(n_rows), "row out of range");
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

  Output<Bin> bin(const BoundFeatures& x, std::optional<Vector<std::int64_t>> rows,
                  int n_threads) const {
    const std::size_t p = features_.size();
    require(x.get().columns() == p, "X has the wrong number of columns");
    if (rows) {
      require(rows->size() > 0, "no rows are given");
      check_rows(*rows, x.get().rows());
    }
    const std::size_t n = rows ? rows->size() : x.get().rows();
    // Not set to zero first: the threads that write it also bring it into memory.
    auto out = std::make_unique_for_overwrite<Bin[]>(n * p);
    run_released([&](Monitor& monitor) {
      bin_rows(x.get(), rows ? view(*rows) : std::span<const std::int64_t>{}, features_, out.get(),
               n_threads, monitor);
    });
    Bin* const owned = out.release();
    nb::capsule owner(owned, [](void* memory) noexcept { delete[] static_cast<Bin*>(memory); });
    return Output<Bin>(owned, {n, p}, owner);
  }

 private:
  std::vector<FeatureBins> features_;
};

BinMapper find(const BoundFeatures& x, Vector<std::int64_t> rows,
               std::optional<Vector<double>> weights, Vector<std::int64_t> n_categories,
               int max_bins, int n_threads) {
  require(n_categories.size() == x.get().columns(), "n_categories must have one entry per column");
  require(!weights || weights->size() == rows.size(), "weights must have one entry per row");
  require(max_bins >= 2 && max_bins <= kMaxBins, "max_bins must be in [2, 255]");
  check_rows(rows, x.get().rows());
  std::vector<FeatureBins> features;
  run_released([&](Monitor& monitor) {
    features = find_bins(x.get(), view(rows), weights ? view(*weights) : std::span<const double>{},
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
  nb::class_<BoundFeatures>(module, "Features")
      .def_static("of_matrix", &BoundFeatures::of_matrix, nb::arg("x"))
      .def_static("of_columns", &BoundFeatures::of_columns, nb::arg("columns"))
      .def_static("of_sparse", &BoundFeatures::of_sparse, nb::arg("indptr"), nb::arg("indices"),
                  nb::arg("values"), nb::arg("implicit"), nb::arg("n_rows"))
      .def_prop_ro("shape", &BoundFeatures::shape)
      .def("first_infinite", &BoundFeatures::first_infinite, nb::arg("n_threads"))
      .def("column", &BoundFeatures::column_values, nb::arg("column"));

  nb::class_<BinMapper>(module, "BinMapper")
      .def_static("find", &find, nb::arg("x"), nb::arg("rows"), nb::arg("weights").none(),
                  nb::arg("n_categories"), nb::arg("max_bins"), nb::arg("n_threads"))
      .def_static("from_state", &BinMapper::from_state)
      .def("state", &BinMapper::state)
      .def("bin", &BinMapper::bin, nb::arg("x"), nb::arg("rows").none(), nb::arg("n_threads"));

  module.def("check_bins", &check_bins, nb::arg("bins"), nb::arg("missing"),
             "Refuses bins (n, p) beyond the missing bin (p,) of their feature.");
}

}  // namespace cqrf::bindings
