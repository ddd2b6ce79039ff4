#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <variant>

#include "../prediction/calibration.hpp"
#include "../prediction/grid_curve.hpp"
#include "../prediction/little_bags.hpp"
#include "../prediction/permuted.hpp"
#include "../prediction/predict.hpp"
#include "../random.hpp"
#include "../sampling/sampler.hpp"
#include "arrays.hpp"

namespace cqrf::bindings {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// The training outcomes, checked once.
class Target {
 public:
  Target(Vector<double> times, Vector<TimeIndex> time_index, Vector<std::uint8_t> event,
         std::optional<Vector<double>> weight, Vector<std::int64_t> order)
      : times_(times), time_index_(time_index), event_(event), weight_(weight), order_(order) {
    const std::size_t n = time_index.size();
    require(n > 0 && n < kMaxRows && event.size() == n && order.size() == n &&
                (!weight || weight->size() == n),
            "outcomes differ in length");
    check_times(view(times));
    check_ranks(view(time_index), view(event), times.size());
    if (weight)
      for (const double w : view(*weight))
        require(w > 0 && std::isfinite(w), "weights must be positive and finite");
    view_ = {view(times_), view(time_index_), view(event_),
             weight_ ? view(*weight_) : std::span<const double>{}, view(order_)};
    censored_ = std::ranges::find(view_.event, std::uint8_t{0}) != view_.event.end();
  }

  Target(const Target&) = delete;  // the views point into the members

  const TargetView& get() const { return view_; }
  bool censored() const { return censored_; }

  // Made when it is first asked for.
  std::span<const float> order_in_levels(int shift) const {
    const std::lock_guard lock(order_mutex_);
    auto& order = order_in_levels_[shift];
    if (order.empty()) order = cqrf::order_in_levels(view_.event, shift);
    return order;
  }

 private:
  static void check_times(std::span<const double> times) {
    for (const double time : times) require(std::isfinite(time), "times must be finite");
    for (std::size_t k = 1; k < times.size(); ++k)
      require(times[k - 1] < times[k], "times are not in ascending order");
  }

  // Ranks are in time order, events before censorings at the same time, and no time is without.
  static void check_ranks(std::span<const TimeIndex> index, std::span<const std::uint8_t> event,
                          std::size_t n_times) {
    require(index.front() == 0 && std::size_t{index.back()} + 1 == n_times,
            "time index does not cover the times");
    for (const std::uint8_t seen : event) require(seen <= 1, "events must be 0 or 1");
    for (std::size_t r = 1; r < index.size(); ++r) {
      // Modulo 2^32 a step back is a long step forward.
      const TimeIndex step = index[r] - index[r - 1];
      require(step <= 1, "time index is not sorted or leaves a time out");
      require(step == 1 || event[r] <= event[r - 1], "a censoring comes before an event");
    }
  }

  Vector<double> times_;
  Vector<TimeIndex> time_index_;
  Vector<std::uint8_t> event_;
  std::optional<Vector<double>> weight_;
  Vector<std::int64_t> order_;
  TargetView view_;
  bool censored_;
  mutable std::mutex order_mutex_;
  mutable std::map<int, std::vector<float>> order_in_levels_;  // by shift
};

// The fitted trees, checked once.
class BoundForest {
 public:
  BoundForest(Table<std::uint32_t> nodes, Vector<std::int64_t> node_offset,
              Table<std::uint64_t> subsets, Vector<std::int64_t> subset_offset,
              Vector<std::uint32_t> leaf_start, Vector<std::int64_t> leaf_offset,
              Table<std::uint16_t> low, std::optional<Table<std::uint8_t>> block,
              std::optional<Table<std::uint8_t>> block_high,
              std::optional<Table<std::uint16_t>> block_counts, Vector<Bin> missing,
              Vector<std::uint8_t> event, const std::optional<nb::callable>& progress)
      : nodes_(nodes),
        node_offset_(node_offset),
        subsets_(subsets),
        subset_offset_(subset_offset),
        leaf_start_(leaf_start),
        leaf_offset_(leaf_offset),
        low_(low),
        block_(block),
        block_high_(block_high),
        block_counts_(block_counts),
        missing_(missing) {
    require(nodes.shape(1) == 4 && subsets.shape(1) == 4, "forest arrays: shape");
    require(missing.size() > 0, "forest arrays: no features");
    // What is there is not empty: the engine tells the forms of members apart by that.
    const auto like_low = [&](const auto& array) {
      return !array || (array->shape(0) == low.shape(0) && array->shape(1) == low.shape(1));
    };
    require(like_low(block) && like_low(block_high), "forest arrays: number of block bytes");
    require(!block_counts || block_counts->size() > 0, "forest arrays: number of block counts");
    // A node is four 32-bit words and a set of bins four 64-bit words: the same bytes.
    forest_ = {{reinterpret_cast<const Node*>(nodes_.data()), nodes_.shape(0)},
               view(node_offset_),
               {reinterpret_cast<const BinSet*>(subsets_.data()), subsets_.shape(0)},
               view(subset_offset_),
               view(leaf_start_),
               view(leaf_offset_),
               {view(low_), view(block_), view(block_high_), view(block_counts_), low_.shape(1),
                block_counts_ ? block_counts_->shape(1) : n_blocks(event.size())},
               view(missing_),
               event.size()};
    const nb::gil_scoped_release release;
    forest_.validate(view(event), [&](std::size_t done) {
      const nb::gil_scoped_acquire acquire;
      if (PyErr_CheckSignals() != 0) throw nb::python_error();
      if (progress) (*progress)(done);
    });
    cells_fit_ = Cells::fit(forest_);
  }

  BoundForest(const BoundForest&) = delete;

  const Forest& get() const { return forest_; }
  bool cells_fit() const { return cells_fit_; }

  // What leaves hold by at most so many cells, made when it is first asked for; null where that
  // does not pay.
  std::shared_ptr<const Cells> cells(std::size_t most, bool censored, int n_threads,
                                     Monitor& monitor) const {
    const auto lock = lock_cells(monitor);
    if (most_cells_ != most) {
      cells_ = Cells::make(forest_, most, censored, n_threads, monitor);
      most_cells_ = most;
    }
    return cells_;
  }
  // Sets what leaves hold by the cells of a grid, which so many test points ask for. It is made
  // when as many have as a tree has leaves, in the mean: until then, no leaf is likely to be asked
  // for again. Only that of the last grid is kept.
  void set_cells(Grid& grid, std::size_t test_points, int n_threads, Monitor& monitor) const {
    const auto lock = lock_cells(monitor);
    if (grid_bounds_ != grid.bounds) {
      grid_cells_ = nullptr;
      grid_bounds_ = grid.bounds;
      grid_points_ = 0;
    }
    grid_points_ += test_points;
    if (!grid_cells_ && grid_points_ * forest_.n_trees() >= forest_.n_leaves())
      grid_cells_ =
          std::make_shared<const Cells>(forest_, grid.bounds, grid.censored, n_threads, monitor);
    grid.whole = grid_cells_;
  }
  // What they take.
  std::size_t cells_bytes() const {
    const std::lock_guard lock(cells_mutex_);
    return (cells_ ? cells_->bytes() : 0) + (grid_cells_ ? grid_cells_->bytes() : 0);
  }

  // The leaf of every row in every tree, (m, B).
  Output<std::int32_t> apply(Table<Bin> bins, int n_threads) const {
    require(bins.shape(1) == forest_.n_features(), "bins has the wrong number of columns");
    const std::size_t rows = bins.shape(0);
    const std::size_t trees = forest_.n_trees();
    std::vector<std::int32_t> leaves(rows * trees);
    run_released([&](Monitor& monitor) {
      constexpr std::size_t kBlock = 256;
      const auto order = in_given_order(rows);
      parallel_for((rows + kBlock - 1) / kBlock, n_threads, monitor, [&](std::size_t item, int) {
        Block block;
        const std::size_t begin = item * kBlock;
        const std::size_t size = std::min(rows - begin, kBlock);
        find_leaves(forest_, bins.data(), std::span(order).subspan(begin, size), block);
        std::copy(block.leaves.begin(), block.leaves.end(),
                  leaves.begin() + static_cast<std::ptrdiff_t>(begin * trees));
      });
    });
    return to_numpy(std::move(leaves), {rows, trees});
  }

  // The members of all leaves, (B, members per tree); zero where a tree has fewer.
  Output<Rank> ranks() const {
    const std::size_t room = forest_.members.per_tree;
    std::vector<Rank> ranks(forest_.n_trees() * room, 0);
    for (std::size_t t = 0; t < forest_.n_trees(); ++t)
      for (LeafId id = 0; id < forest_.n_leaves(t); ++id) {
        const Leaf leaf = forest_.leaf(t, id);
        forest_.members.unpack(leaf, ranks.data() + leaf.first);
      }
    return to_numpy(std::move(ranks), {forest_.n_trees(), room});
  }

 private:
  // Another thread that makes cells may take seconds.
  std::unique_lock<std::timed_mutex> lock_cells(Monitor& monitor) const {
    std::unique_lock lock(cells_mutex_, std::defer_lock);
    while (!lock.try_lock_for(Monitor::kInterval))
      if (monitor.stopped()) throw Stopped{};
    return lock;
  }

  Table<std::uint32_t> nodes_;
  Vector<std::int64_t> node_offset_;
  Table<std::uint64_t> subsets_;
  Vector<std::int64_t> subset_offset_;
  Vector<std::uint32_t> leaf_start_;
  Vector<std::int64_t> leaf_offset_;
  Table<std::uint16_t> low_;
  std::optional<Table<std::uint8_t>> block_;
  std::optional<Table<std::uint8_t>> block_high_;
  std::optional<Table<std::uint16_t>> block_counts_;
  Vector<Bin> missing_;
  Forest forest_;
  bool cells_fit_;
  mutable std::timed_mutex cells_mutex_;
  mutable std::shared_ptr<const Cells> cells_;
  mutable std::size_t most_cells_ = 0;
  mutable CellBounds grid_bounds_;  // of the last grid, and what leaves hold there, or null
  mutable std::shared_ptr<const Cells> grid_cells_;
  mutable std::size_t grid_points_ = 0;  // test points that asked for it
};

// How G is estimated, with the arrays that it needs.
struct Censoring {
  std::string kind;
  std::size_t n_neighbors;
  std::optional<Table<double>> train_points;
  std::optional<Table<double>> test_points;

  CensoringOptions options(std::size_t n_train, std::size_t n_test) const {
    CensoringOptions options{kind, n_neighbors, {}, {}, 0, true};
    if (kind == "knn") require(n_neighbors > 0, "n_neighbors must be positive");
    if (kind == "kernel") {
      require(train_points && test_points && train_points->shape(1) == test_points->shape(1) &&
                  train_points->shape(0) == n_train && test_points->shape(0) == n_test,
              "kernel points have the wrong shape");
      options.train_points = view(*train_points);
      options.test_points = view(*test_points);
      options.n_coordinates = train_points->shape(1);
    }
    return options;
  }
};

// The weights of a number of test points on the training rows, computed row by row on demand,
// and the answers that can be made of them.
class Weights {
 public:
  using Source = std::variant<ForestSource, OutOfBagSource, PermutedSource, MatrixSource>;

  Weights(const Weights&) = delete;

  // resolution: the most levels that times are divided into, or 0 for exact answers.
  // leaves: what `apply` has found for these bins.
  static std::unique_ptr<Weights> of_forest(const BoundForest& forest, const Target& target,
                                            Table<Bin> bins, std::size_t resolution,
                                            std::optional<Table<std::int32_t>> leaves) {
    check(forest, target, bins);
    if (leaves) check_leaves(forest.get(), *leaves, bins.shape(0));
    auto self = std::unique_ptr<Weights>(new Weights(target));
    self->bins_ = bins;
    self->leaves_ = leaves;
    self->resolution_ = resolution;
    self->forest_ = &forest;
    std::span<const LeafId> found;
    if (leaves) found = {reinterpret_cast<const LeafId*>(leaves->data()), leaves->size()};
    self->source_.emplace(ForestSource(forest.get(), target.get(), view(*self->bins_), found));
    return self;
  }

  static std::unique_ptr<Weights> out_of_bag(const BoundForest& forest, const Target& target,
                                             Table<Bin> bins, std::uint64_t seed,
                                             std::size_t n_draws, bool replace,
                                             std::size_t group_size) {
    check(forest, target, bins);
    const std::size_t n = target.get().time_index.size();
    require(bins.shape(0) == n, "bins must be those of the training rows");
    const Sampling sampling = make_sampling(n, n_draws, replace, false, group_size);
    auto self = std::unique_ptr<Weights>(new Weights(target));
    self->bins_ = bins;
    const std::size_t words = (n + 63) / 64;
    self->in_bag_.assign(forest.get().n_trees() * words, 0);
    for (std::size_t t = 0; t < forest.get().n_trees(); ++t)
      for (const Rank rank : draw_rows(sampling, seed, t).growing)
        self->in_bag_[t * words + (rank >> 6)] |= std::uint64_t{1} << (rank & 63);
    self->source_.emplace(
        OutOfBagSource(forest.get(), target.get(), view(*self->bins_), self->in_bag_));
    return self;
  }

  // Of out-of-bag weights: of the rows `ranks` with the values of the rows `donors` in the permuted
  // features.
  std::unique_ptr<Weights> permuted(Vector<std::uint8_t> permuted, Vector<Rank> ranks,
                                    Vector<Rank> donors) const {
    const auto* rows = std::get_if<OutOfBagSource>(&*source_);
    require(rows != nullptr, "only out-of-bag weights can be permuted");
    require(permuted.size() == rows->forest().n_features(),
            "permuted must have one flag per feature");
    require(ranks.size() == donors.size(), "ranks and donors differ in length");
    for (const std::uint8_t flag : view(permuted)) require(flag <= 1, "flags must be 0 or 1");
    for (const auto& list : {ranks, donors})
      for (const Rank rank : view(list)) require(rank < rows->rows(), "rank out of range");
    auto self = std::unique_ptr<Weights>(new Weights(target_));
    self->permuted_ = permuted;
    self->ranks_ = ranks;
    self->donors_ = donors;
    self->source_.emplace(
        PermutedSource(*rows, view(*self->permuted_), view(*self->ranks_), view(*self->donors_)));
    return self;
  }

  static std::unique_ptr<Weights> of_matrix(const Target& target, Vector<std::int64_t> indptr,
                                            Vector<std::int64_t> indices, Vector<double> values) {
    const std::size_t n = target.get().time_index.size();
    require(indptr.size() > 0 && indptr.data()[0] == 0 &&
                indptr.data()[indptr.size() - 1] == static_cast<std::int64_t>(indices.size()) &&
                indices.size() == values.size() &&
                std::is_sorted(indptr.data(), indptr.data() + indptr.size()),
            "sparse weights are not consistent");
    for (const std::int64_t column : view(indices))
      require(column >= 0 && column < static_cast<std::int64_t>(n), "column out of range");
    auto self = std::unique_ptr<Weights>(new Weights(target));
    self->rank_.resize(n);
    for (std::size_t r = 0; r < n; ++r) {
      const std::int64_t row = target.get().order[r];
      require(row >= 0 && row < static_cast<std::int64_t>(n), "order out of range");
      self->rank_[static_cast<std::size_t>(row)] = static_cast<Rank>(r);
    }
    self->indptr_ = indptr;
    self->indices_ = indices;
    self->values_ = values;
    self->source_.emplace(MatrixSource(view(*self->indptr_), view(*self->indices_),
                                       view(*self->values_), self->rank_));
    return self;
  }

  std::size_t rows() const {
    return std::visit([](const auto& source) { return source.rows(); }, *source_);
  }

  // levels: one row for all test points, or one for each.
  nb::tuple quantiles(Table<double> levels, std::optional<Vector<double>> after,
                      const Censoring& censoring, const std::string& solver,
                      const std::string& interpolation, bool mirrored, int n_threads,
                      std::size_t block_size) const {
    const std::size_t m = rows();
    const std::size_t n_levels = levels.shape(1);
    require(levels.shape(0) == 1 || levels.shape(0) == m, "levels must have one row, or one each");
    require(!after || after->size() == rows(), "conditional_after must have one entry per row");
    std::vector<double> answers(m * n_levels, kNaN);
    std::vector<std::uint8_t> identified(m * n_levels, 0);
    const SolveOptions options{parse_solver(solver), parse_interpolation(interpolation), mirrored};
    const QuantileAnswer answer{target_.get(), options,        view(levels),     n_levels,
                                view(after),   answers.data(), identified.data()};
    const bool argmin = options.solver == Solver::kArgmin;
    if (!on_levels(censoring) || argmin || after)
      run(answer, censoring, n_threads, block_size, argmin);
    else
      run_in_places(answer, n_threads, block_size);
    return nb::make_tuple(to_numpy(std::move(answers), {m, n_levels}),
                          to_numpy(std::move(identified), {m, n_levels}));
  }

  // Mean squares between and within groups of trees of what moves S at the times, (m, q) each.
  nb::tuple little_bags(Table<double> times, bool left_limit, std::size_t group_size, int n_threads,
                        std::size_t block_size) const {
    const auto* source = std::get_if<ForestSource>(&*source_);
    const std::size_t m = rows();
    require(source && times.shape(0) == m, "one row of times per test point is needed");
    require(group_size > 1 && source->n_trees() % group_size == 0, "groups are not complete");
    std::vector<double> between(times.size(), kNaN);
    std::vector<double> noise(times.size(), kNaN);
    const std::size_t q = times.shape(1);
    run(LittleBagsAnswer{target_.get(), *source, group_size, view(times), q, left_limit,
                         between.data(), noise.data()},
        Censoring{"beran", 0, {}, {}}, n_threads, block_size, false);
    return nb::make_tuple(to_numpy(std::move(between), {m, q}), to_numpy(std::move(noise), {m, q}));
  }

  Output<double> grid(const std::string& which, Vector<double> times, bool left_limit,
                      const Censoring& censoring, int n_threads, std::size_t block_size) const {
    const auto ascending = view(times);
    require(std::is_sorted(ascending.begin(), ascending.end()), "grid is not sorted");
    std::vector<double> values(rows() * times.size(), kNaN);
    const bool few = times.size() <= 16 * kFewPlaces && parse_which(which) == Which::kSurvival;
    if (few && on_levels(censoring)) {
      const LevelGridAnswer answer(target_.get(), ascending, left_limit, values.data());
      run_on_grid(answer, n_threads, block_size);
    } else {
      run(GridAnswer{target_.get(), parse_which(which), ascending, left_limit, values.data()},
          censoring, n_threads, block_size);
    }
    const std::size_t m = rows();
    return to_numpy(std::move(values), {m, times.size()});
  }

  Output<double> restricted_mean(double horizon, bool mirrored, const Censoring& censoring,
                                 int n_threads, std::size_t block_size) const {
    std::vector<double> means(rows(), kNaN);
    const auto answer = [&](const Levels* levels) {
      return LevelMeanAnswer(target_.get(), levels, horizon, mirrored, means.data());
    };
    if (!on_levels(censoring)) {
      run(RestrictedMeanAnswer{target_.get(), horizon, mirrored, means.data()}, censoring,
          n_threads, block_size);
    } else {
      const bool with_cells = !mirrored && target_.censored() && !ranks_pay();
      const auto cells = with_cells ? cells_of_forest(n_threads) : nullptr;
      if (!cells && few_ranks()) {
        run_on_ranks(answer(nullptr), n_threads, block_size);
      } else {
        const Levels levels = levels_with(cells.get());
        run_on_levels(answer(&levels), levels, n_threads, block_size);
      }
    }
    return to_numpy(std::move(means));
  }

  // The level at which every row comes to its own time, (m,), and how much it counts in every class
  // of levels, (m, classes).
  nb::tuple calibration(Vector<double> times, std::size_t n_classes, double least_censoring,
                        const Censoring& censoring, int n_threads, std::size_t block_size) const {
    const std::size_t m = rows();
    require(times.size() == m, "one time per row is needed");
    std::vector<double> levels(m, kNaN);
    std::vector<double> weights(m * n_classes, kNaN);
    run(CalibrationAnswer{target_.get(), view(times), n_classes, least_censoring, levels.data(),
                          weights.data()},
        censoring, n_threads, block_size);
    return nb::make_tuple(to_numpy(std::move(levels)),
                          to_numpy(std::move(weights), {m, n_classes}));
  }

  // (indptr, time index, S, G, G everywhere): the steps of all rows, one after the other.
  nb::tuple curves(const Censoring& censoring, int n_threads, std::size_t block_size) const {
    std::vector<CurveAnswer::Row> found(rows());
    run(CurveAnswer{found}, censoring, n_threads, block_size);
    std::vector<std::int64_t> indptr{0};
    std::vector<TimeIndex> time;
    std::vector<double> survival, g, everywhere;
    for (auto& row : found) {
      time.insert(time.end(), row.time.begin(), row.time.end());
      survival.insert(survival.end(), row.survival.begin(), row.survival.end());
      g.insert(g.end(), row.censoring.begin(), row.censoring.end());
      everywhere.insert(everywhere.end(), row.everywhere.begin(), row.everywhere.end());
      indptr.push_back(static_cast<std::int64_t>(time.size()));
      row = {};
    }
    return nb::make_tuple(to_numpy(std::move(indptr)), to_numpy(std::move(time)),
                          to_numpy(std::move(survival)), to_numpy(std::move(g)),
                          to_numpy(std::move(everywhere)));
  }

  // CSR with the original rows as columns: (indptr, indices, values); rows sum to one.
  nb::tuple matrix(int n_threads, std::size_t block_size) const {
    std::vector<std::vector<RankWeight>> found(rows());
    run(WeightAnswer{found}, Censoring{"beran", 0, {}, {}}, n_threads, block_size);
    std::vector<std::int64_t> indptr{0};
    std::vector<std::int64_t> indices;
    std::vector<double> values;
    for (auto& row : found) {
      for (const auto& [rank, weight] : row) {
        indices.push_back(target_.get().order[rank]);
        values.push_back(weight);
      }
      indptr.push_back(static_cast<std::int64_t>(indices.size()));
      row = {};
    }
    return nb::make_tuple(to_numpy(std::move(indptr)), to_numpy(std::move(indices)),
                          to_numpy(std::move(values)));
  }

 private:
  explicit Weights(const Target& target) : target_(target) {}

  // Quantiles that are always few; probabilities take less to look at.
  static constexpr std::size_t kFewPlaces = 16;

  std::size_t n_rows() const { return target_.get().time_index.size(); }

  static void check(const BoundForest& forest, const Target& target, const Table<Bin>& bins) {
    require(forest.get().n_rows == target.get().time_index.size(),
            "forest and outcomes differ in rows");
    require(bins.shape(1) == forest.get().n_features(), "bins has the wrong number of columns");
  }

  static void check_leaves(const Forest& forest, const Table<std::int32_t>& leaves,
                           std::size_t n_rows) {
    const std::size_t trees = forest.n_trees();
    require(leaves.shape(0) == n_rows && leaves.shape(1) == trees,
            "leaves must have a row per test point and a column per tree");
    for (std::size_t row = 0; row < n_rows; ++row)
      for (std::size_t t = 0; t < trees; ++t) {
        // A negative number becomes a large one.
        const auto leaf = static_cast<LeafId>(leaves.data()[row * trees + t]);
        require(leaf < forest.n_leaves(t), "leaf out of range");
      }
  }

  static Solver parse_solver(const std::string& name) {
    if (name == "root") return Solver::kRoot;
    if (name == "argmin") return Solver::kArgmin;
    throw std::invalid_argument("unknown solver: " + name);
  }

  static Interpolation parse_interpolation(const std::string& name) {
    if (name == "midpoint") return Interpolation::kMidpoint;
    if (name == "lower") return Interpolation::kLower;
    if (name == "linear") return Interpolation::kLinear;
    throw std::invalid_argument("unknown interpolation: " + name);
  }

  static Which parse_which(const std::string& name) {
    if (name == "survival") return Which::kSurvival;
    if (name == "censoring") return Which::kCensoring;
    if (name == "at_risk_after") return Which::kAfter;
    if (name == "cumulative_hazard") return Which::kHazard;
    throw std::invalid_argument("unknown curve: " + name);
  }

  // Whether S may be looked at in some places, of rows that count alike, with Beran's curve.
  bool on_levels(const Censoring& censoring) const {
    return resolution_ > 0 && censoring.kind == "beran" && target_.get().weight.empty() &&
           std::holds_alternative<ForestSource>(*source_);
  }

  bool few_ranks() const { return n_rows() <= kMostRanksForFew; }
  // Whether S at all ranks is as soon known as in some places: there are few of them, and leaves
  // have few members.
  bool ranks_pay() const {
    const Forest& forest = forest_->get();
    const std::size_t members = forest.members.low.size() / forest.n_leaves() * forest.n_trees();
    return few_ranks() && members <= kMostMembersForRanks;
  }

  template <class MakeWhole, class Answer>
  void run_places(MakeWhole make_whole, const Answer& answer, int n_threads,
                  std::size_t block_size) const {
    require(block_size > 0, "block_size must be positive");
    run_released([&](Monitor& monitor) {
      predict_places(std::get<ForestSource>(*source_), make_whole, answer, block_size, n_threads,
                     monitor);
    });
  }

  template <class Answer>
  void run_on_ranks(const Answer& answer, int n_threads, std::size_t block_size) const {
    run_places([&] { return RankCurve(forest_->get(), target_.get()); }, answer, n_threads,
               block_size);
  }

  // Levels of the cells, or, where there are none, of all ranks.
  Levels levels_with(const Cells* cells) const {
    const int shift = cells ? cells->level_shift() : level_shift(n_rows(), resolution_);
    return {shift, cells, target_.order_in_levels(shift)};
  }

  std::shared_ptr<const Cells> cells_of_forest(int n_threads) const {
    std::shared_ptr<const Cells> cells;
    run_released([&](Monitor& monitor) {
      const std::size_t most = std::max<std::size_t>(1, resolution_ >> kChunkBits);
      cells = forest_->cells(most, target_.censored(), n_threads, monitor);
    });
    return cells;
  }

  template <class Answer>
  void run_on_levels(const Answer& answer, const Levels& levels, int n_threads,
                     std::size_t block_size) const {
    run_places([&] { return LevelCurve(forest_->get(), target_.get(), levels); }, answer, n_threads,
               block_size);
  }

  // Survival probabilities from cells between the times, or, where leaves are small, from all ranks
  // or on levels.
  void run_on_grid(const LevelGridAnswer& answer, int n_threads, std::size_t block_size) const {
    if (ranks_pay()) return run_on_ranks(answer, n_threads, block_size);
    Grid grid(target_.get(), answer.ranks(), target_.censored());
    if (!forest_->cells_fit() || !grid.pays(forest_->get())) {
      if (few_ranks()) return run_on_ranks(answer, n_threads, block_size);
      return run_on_levels(answer, levels_with(nullptr), n_threads, block_size);
    }
    run_released([&](Monitor& monitor) { forest_->set_cells(grid, rows(), n_threads, monitor); });
    run_places([&] { return GridCurve(forest_->get(), target_.get(), grid); }, answer, n_threads,
               block_size);
  }

  // Quantiles from all ranks, where there are not too many of them, or on cells or levels of time.
  void run_in_places(const QuantileAnswer& answer, int n_threads, std::size_t block_size) const {
    const bool few = answer.n_levels <= std::max(kFewPlaces, n_rows() / 4096);
    const bool censored = target_.censored();
    std::shared_ptr<const Cells> cells;
    if (few && !(censored && ranks_pay())) cells = cells_of_forest(n_threads);
    if (cells && !censored)
      run_places([&] { return CellCurve(forest_->get(), target_.get(), *cells); }, answer,
                 n_threads, block_size);
    else if (!cells && n_rows() <= (few ? kMostRanksForFew : kMostRanksForMany))
      run_on_ranks(answer, n_threads, block_size);
    else
      run_on_levels(answer, levels_with(cells.get()), n_threads, block_size);
  }

  template <class Answer>
  void run(const Answer& answer, const Censoring& censoring, int n_threads, std::size_t block_size,
           bool needs_censoring = true) const {
    require(block_size > 0, "block_size must be positive");
    auto options = censoring.options(target_.get().time_index.size(), rows());
    options.needs_censoring = needs_censoring;
    run_released([&](Monitor& monitor) {
      std::visit(
          [&](const auto& source) {
            predict(source, target_.get(), options, answer, block_size, n_threads, monitor);
          },
          *source_);
    });
  }

  const Target& target_;
  std::optional<Table<Bin>> bins_;
  std::optional<Table<std::int32_t>> leaves_;
  std::optional<Vector<std::int64_t>> indptr_;
  std::optional<Vector<std::int64_t>> indices_;
  std::optional<Vector<double>> values_;
  std::vector<Rank> rank_;
  std::vector<std::uint64_t> in_bag_;
  std::optional<Vector<std::uint8_t>> permuted_;
  std::optional<Vector<Rank>> ranks_;
  std::optional<Vector<Rank>> donors_;
  std::optional<Source> source_;
  std::size_t resolution_ = 0;
  const BoundForest* forest_ = nullptr;
};

}  // namespace

void bind_prediction(nb::module_& module) {
  nb::class_<Target>(module, "Target")
      .def(nb::init<Vector<double>, Vector<TimeIndex>, Vector<std::uint8_t>,
                    std::optional<Vector<double>>, Vector<std::int64_t>>(),
           nb::arg("times"), nb::arg("time_index"), nb::arg("event"), nb::arg("weight").none(),
           nb::arg("order"));

  nb::class_<BoundForest>(module, "Forest")
      .def(nb::init<Table<std::uint32_t>, Vector<std::int64_t>, Table<std::uint64_t>,
                    Vector<std::int64_t>, Vector<std::uint32_t>, Vector<std::int64_t>,
                    Table<std::uint16_t>, std::optional<Table<std::uint8_t>>,
                    std::optional<Table<std::uint8_t>>, std::optional<Table<std::uint16_t>>,
                    Vector<Bin>, Vector<std::uint8_t>, const std::optional<nb::callable>&>(),
           nb::arg("nodes"), nb::arg("node_offset"), nb::arg("subsets"), nb::arg("subset_offset"),
           nb::arg("leaf_start"), nb::arg("leaf_offset"), nb::arg("low"), nb::arg("block").none(),
           nb::arg("block_high").none(), nb::arg("block_counts").none(), nb::arg("missing"),
           nb::arg("event"), nb::arg("progress").none() = nb::none(),
           "Checks the arrays; `progress` is called with the number of trees that are done.")
      .def("apply", &BoundForest::apply, nb::arg("bins"), nb::arg("n_threads"))
      .def("ranks", &BoundForest::ranks)
      .def_prop_ro("cells_bytes", &BoundForest::cells_bytes,
                   nb::call_guard<nb::gil_scoped_release>(),
                   "Memory of what leaves hold by cells of time; 0 while no prediction used them.");

  nb::class_<Censoring>(module, "Censoring")
      .def(nb::init<std::string, std::size_t, std::optional<Table<double>>,
                    std::optional<Table<double>>>(),
           nb::arg("kind"), nb::arg("n_neighbors") = 0, nb::arg("train_points").none() = nb::none(),
           nb::arg("test_points").none() = nb::none());

  nb::class_<Weights>(module, "Weights")
      .def_static("of_forest", &Weights::of_forest, nb::arg("forest"), nb::arg("target"),
                  nb::arg("bins"), nb::arg("resolution") = 0, nb::arg("leaves").none() = nb::none(),
                  nb::keep_alive<0, 1>(), nb::keep_alive<0, 2>())
      .def_static("out_of_bag", &Weights::out_of_bag, nb::arg("forest"), nb::arg("target"),
                  nb::arg("bins"), nb::arg("seed"), nb::arg("n_draws"), nb::arg("replace"),
                  nb::arg("group_size") = 1, nb::keep_alive<0, 1>(), nb::keep_alive<0, 2>())
      .def_static("of_matrix", &Weights::of_matrix, nb::arg("target"), nb::arg("indptr"),
                  nb::arg("indices"), nb::arg("values"), nb::keep_alive<0, 1>())
      .def("permuted", &Weights::permuted, nb::arg("permuted"), nb::arg("ranks"), nb::arg("donors"),
           nb::keep_alive<0, 1>())
      .def_prop_ro("rows", &Weights::rows)
      .def("quantiles", &Weights::quantiles, nb::arg("levels"), nb::arg("after").none(),
           nb::arg("censoring"), nb::arg("solver"), nb::arg("interpolation"), nb::arg("mirrored"),
           nb::arg("n_threads"), nb::arg("block_size"))
      .def("little_bags", &Weights::little_bags, nb::arg("times"), nb::arg("left_limit"),
           nb::arg("group_size"), nb::arg("n_threads"), nb::arg("block_size"))
      .def("grid", &Weights::grid, nb::arg("which"), nb::arg("times"), nb::arg("left_limit"),
           nb::arg("censoring"), nb::arg("n_threads"), nb::arg("block_size"))
      .def("restricted_mean", &Weights::restricted_mean, nb::arg("horizon"), nb::arg("mirrored"),
           nb::arg("censoring"), nb::arg("n_threads"), nb::arg("block_size"))
      .def("calibration", &Weights::calibration, nb::arg("times"), nb::arg("n_classes"),
           nb::arg("least_censoring"), nb::arg("censoring"), nb::arg("n_threads"),
           nb::arg("block_size"))
      .def("curves", &Weights::curves, nb::arg("censoring"), nb::arg("n_threads"),
           nb::arg("block_size"))
      .def("matrix", &Weights::matrix, nb::arg("n_threads"), nb::arg("block_size"));
}

}  // namespace cqrf::bindings
