#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>

#include "../prediction/members.hpp"
#include "../random.hpp"
#include "../tree/grower.hpp"
#include "../tuning/leaf_size.hpp"
#include "arrays.hpp"

namespace cqrf::bindings {
namespace {

// The exponent of the lowest bit that is set: 0 for odd numbers, 2 for 12, -1 for 0.5.
int lowest_bit(double value) {
  int exponent;
  const auto mantissa = static_cast<std::uint64_t>(std::ldexp(std::frexp(value, &exponent), 53));
  return exponent - 53 + std::countr_zero(mantissa);
}

// Sample weights as integers: times a power of two, the smallest that makes all of them whole, or,
// where a tree's weights would then add up to more than `most`, the largest that does not.
std::vector<std::uint32_t> integer_weights(std::span<const double> weights,
                                           const Sampling& sampling, double most) {
  const double largest = *std::max_element(weights.begin(), weights.end());
  const double draws = static_cast<double>(std::max(sampling.n_rows, sampling.n_draws));
  int exponent = std::numeric_limits<int>::min();
  for (const double weight : weights) exponent = std::max(exponent, -lowest_bit(weight));
  exponent = std::min(exponent, static_cast<int>(std::floor(std::log2(most / draws / largest))));
  std::vector<std::uint32_t> scaled;
  scaled.reserve(weights.size());
  for (const double weight : weights)
    scaled.push_back(
        std::max(1u, static_cast<std::uint32_t>(std::lround(std::ldexp(weight, exponent)))));
  // A common factor would change nothing but the rounding of scores.
  std::uint32_t common = 0;
  for (const std::uint32_t weight : scaled) common = std::gcd(common, weight);
  for (std::uint32_t& weight : scaled) weight /= common;
  return scaled;
}

// Grows trees by index. Owns references to its arrays, and scratch for every worker.
class ForestGrower {
 public:
  ForestGrower(Table<Bin> bins, Vector<Bin> missing, Vector<std::uint8_t> categorical,
               Vector<double> times, Vector<TimeIndex> time_index, Vector<std::uint8_t> event,
               Vector<double> survival, std::optional<Vector<double>> weight, GrowOptions options,
               std::size_t n_draws, bool replace, bool honest, std::size_t group_size,
               std::optional<std::size_t> panels)
      : arrays_{bins, missing, categorical, times, time_index, event, survival}, options_(options) {
    const std::size_t n = bins.shape(0);
    require(n > 0 && n < kMaxRows, "number of rows out of range");
    require(bins.shape(1) < kMaxFeatures, "number of features out of range");
    require(
        missing.size() == bins.shape(1) && categorical.size() == bins.shape(1) && bins.shape(1) > 0,
        "one missing bin per feature is needed");
    require(time_index.size() == n && event.size() == n && times.size() > 0 &&
                survival.size() == times.size(),
            "one outcome per row is needed");
    for (const TimeIndex k : view(time_index)) require(k < times.size(), "time index out of range");
    data_.sampling = make_sampling(n, n_draws, replace, honest, group_size);
    require(options.min_samples_leaf > 0, "min_samples_leaf must be positive");
    data_.features = {bins.data(), bins.shape(1), view(missing), view(categorical)};
    data_.outcomes = {view(times), view(time_index), view(event), view(survival),
                      replace ? n_draws : n};
    if (weight) {
      require(weight->size() == n, "one weight per row is needed");
      // The rule of many columns needs bits for itself: eleven, fewer where there are so many rows
      // that their weights would have no more than four.
      const double draws = static_cast<double>(std::max(n, n_draws));
      const double most = options.criterion == "distribution"
                              ? std::max(0x1p19, std::min(0x1p24, 16 * draws))
                              : 0x1p30;
      weight_ = integer_weights(view(*weight), data_.sampling, most);
      data_.weight = weight_;
      data_.outcomes.total_weight =
          replace ? n_draws * *std::max_element(weight_.begin(), weight_.end())
                  : std::accumulate(weight_.begin(), weight_.end(), std::uint64_t{0});
    }
    const std::size_t p = bins.shape(1);
    const std::size_t width = panels.value_or(panel_width(n, p, options_));
    require(width <= kLanes, "panels are too wide");
    if (width > 0) {
      run_released(
          [&](Monitor& monitor) { panels_ = make_panels(bins.data(), n, p, width, monitor); });
      data_.features.panels = {panels_.data(), n, width};
    }
    growers_.push_back(make_grower(data_, options_));
  }

  ForestGrower(const ForestGrower&) = delete;  // the views point into the members

  const TrainingData& data() const { return data_; }
  const GrowOptions& options() const { return options_; }

  std::size_t members_per_tree() const { return cqrf::members_per_tree(data_.sampling); }

  // Trees [first, first + count); their members are written to the rows of the last three arrays.
  // Returns nodes, subsets and leaf starts, tree after tree, each with its number per tree; and the
  // counts of members by block, (leaves, n_blocks), where they are needed and no room is given for
  // the blocks.
  nb::tuple grow(std::uint64_t first, std::size_t count, int n_threads, Room<std::uint16_t> low,
                 std::optional<Room<std::uint8_t>> block,
                 std::optional<Room<std::uint8_t>> block_high) {
    const std::size_t room = members_per_tree();
    const int bytes = block_bytes(data_.sampling.n_rows);
    const bool counted = bytes > 0 && !block && !block_high;
    require(counted || (block.has_value() == (bytes > 0) && block_high.has_value() == (bytes > 1)),
            "members have the wrong number of bytes");
    const auto fits = [&](const auto& array) {
      return array.shape(0) == count && array.shape(1) == room;
    };
    require(fits(low) && (!block || fits(*block)) && (!block_high || fits(*block_high)),
            "members have the wrong shape");
    const std::size_t blocks = n_blocks(data_.sampling.n_rows);
    std::vector<Tree> trees(count);
    std::vector<std::vector<std::uint16_t>> counts(counted ? count : 0);
    while (growers_.size() < static_cast<std::size_t>(std::max(1, n_threads)))
      growers_.push_back(nullptr);
    run_released([&](Monitor& monitor) {
      parallel_for(count, n_threads, monitor, [&](std::size_t t, int worker) {
        auto& grower = growers_[static_cast<std::size_t>(worker)];
        if (!grower) grower = make_grower(data_, options_);
        trees[t] = grower->grow(first + t, monitor);
        const auto row = [&](const auto& array) { return array.data() + t * room; };
        MemberRoom to{row(low), block ? row(*block) : nullptr,
                      block_high ? row(*block_high) : nullptr};
        if (counted) {
          counts[t].resize((trees[t].leaf_start.size() - 1) * blocks);
          to.block_counts = counts[t].data();
        }
        to.fill(trees[t], grower->filled(), data_.outcomes.event);
      });
    });
    nb::object all_counts = nb::none();
    if (counted) {
      std::vector<std::uint16_t> all;
      for (const auto& each : counts) all.insert(all.end(), each.begin(), each.end());
      const std::size_t leaves = all.size() / blocks;
      all_counts = nb::cast(to_numpy(std::move(all), {leaves, blocks}));
    }
    return nb::make_tuple(pack(trees), all_counts);
  }

 private:
  struct Arrays {
    Table<Bin> bins;
    Vector<Bin> missing;
    Vector<std::uint8_t> categorical;
    Vector<double> times;
    Vector<TimeIndex> time_index;
    Vector<std::uint8_t> event;
    Vector<double> survival;
  };

  // Frees the trees, one by one.
  static nb::tuple pack(std::vector<Tree>& trees) {
    std::vector<std::uint32_t> nodes;
    std::vector<std::uint64_t> subsets;
    std::vector<std::uint32_t> leaf_start;
    std::vector<std::int64_t> n_nodes, n_subsets, n_starts;
    const auto total = [&](auto of) {
      std::size_t sum = 0;
      for (const Tree& tree : trees) sum += (tree.*of).size();
      return sum;
    };
    nodes.reserve(4 * total(&Tree::nodes));
    subsets.reserve(4 * total(&Tree::subsets));
    leaf_start.reserve(total(&Tree::leaf_start));
    for (Tree& each : trees) {
      const Tree tree = std::move(each);
      for (const Node& node : tree.nodes)
        nodes.insert(nodes.end(), {node.child, node.feature, node.rule, node.index});
      for (const BinSet& set : tree.subsets) subsets.insert(subsets.end(), set.begin(), set.end());
      leaf_start.insert(leaf_start.end(), tree.leaf_start.begin(), tree.leaf_start.end());
      n_nodes.push_back(static_cast<std::int64_t>(tree.nodes.size()));
      n_subsets.push_back(static_cast<std::int64_t>(tree.subsets.size()));
      n_starts.push_back(static_cast<std::int64_t>(tree.leaf_start.size()));
    }
    const std::size_t total_nodes = nodes.size() / 4;
    const std::size_t total_subsets = subsets.size() / 4;
    return nb::make_tuple(
        to_numpy(std::move(nodes), {total_nodes, 4}), to_numpy(std::move(n_nodes)),
        to_numpy(std::move(subsets), {total_subsets, 4}), to_numpy(std::move(n_subsets)),
        to_numpy(std::move(leaf_start)), to_numpy(std::move(n_starts)));
  }

  Arrays arrays_;
  GrowOptions options_;
  std::vector<std::uint32_t> weight_;
  std::vector<Bin> panels_;
  TrainingData data_;
  std::vector<std::unique_ptr<TreeGrower>> growers_;
};

// How many members of every leaf lie in each block of ranks, (leaves, n_blocks).
Output<std::uint16_t> count_blocks(Table<std::uint8_t> block,
                                   std::optional<Table<std::uint8_t>> block_high,
                                   Vector<std::uint32_t> leaf_start,
                                   Vector<std::int64_t> leaf_offset, std::size_t n_blocks,
                                   int n_threads) {
  const std::size_t trees = block.shape(0);
  const std::size_t room = block.shape(1);
  const auto start = view(leaf_start);
  const auto offset = view(leaf_offset);
  require(offset.size() == trees + 1 && offset.front() == 0 &&
              offset.back() == static_cast<std::int64_t>(start.size()) &&
              std::adjacent_find(offset.begin(), offset.end(), std::greater_equal<>()) ==
                  offset.end() &&
              (!block_high || block_high->size() == block.size()),
          "leaf offsets do not go with the trees");
  const std::uint8_t* const low = block.data();
  const std::uint8_t* const high = block_high ? block_high->data() : nullptr;
  const std::size_t leaves = start.size() - trees;
  std::vector<std::uint16_t> counts(leaves * n_blocks, 0);
  run_released([&](Monitor& monitor) {
    parallel_for(trees, n_threads, monitor, [&](std::size_t t, int) {
      std::uint16_t* to = counts.data() + (static_cast<std::size_t>(offset[t]) - t) * n_blocks;
      for (auto leaf = offset[t]; leaf + 1 < offset[t + 1]; ++leaf, to += n_blocks) {
        const std::size_t end = start[static_cast<std::size_t>(leaf + 1)];
        require(end <= room, "leaf starts are out of range");
        for (std::size_t i = start[static_cast<std::size_t>(leaf)]; i < end; ++i) {
          const std::size_t at = t * room + i;
          const std::size_t found = low[at] | (high ? std::size_t{high[at]} << 8 : std::size_t{0});
          require(found < n_blocks, "block out of range");
          ++to[found];
        }
      }
    });
  });
  return to_numpy(std::move(counts), {leaves, n_blocks});
}

// The losses of leaf sizes, for the data and options of a grower.
class BoundLeafSizeScorer {
 public:
  BoundLeafSizeScorer(const ForestGrower& grower, Vector<std::uint32_t> sizes, Vector<Rank> rows)
      : n_rows_(rows.size()),
        n_sizes_(sizes.size()),
        scorer_(grower.data(), grower.options(), {view(sizes).begin(), view(sizes).end()},
                {view(rows).begin(), view(rows).end()}) {}

  void add_trees(std::uint64_t first, std::size_t count, int n_threads) {
    run_released([&](Monitor& monitor) { scorer_.add_trees(first, count, n_threads, monitor); });
  }

  Output<double> losses() const { return to_numpy(scorer_.losses(), {n_rows_, n_sizes_}); }

 private:
  std::size_t n_rows_;
  std::size_t n_sizes_;
  LeafSizeScorer scorer_;
};

}  // namespace

void bind_growing(nb::module_& module) {
  nb::class_<ForestGrower>(module, "ForestGrower")
      .def(
          "__init__",
          [](ForestGrower* self, Table<Bin> bins, Vector<Bin> missing,
             Vector<std::uint8_t> categorical, Vector<double> times, Vector<TimeIndex> time_index,
             Vector<std::uint8_t> event, Vector<double> survival,
             std::optional<Vector<double>> weight, const std::string& criterion, int n_thresholds,
             std::uint32_t min_samples_split, std::uint32_t min_samples_leaf,
             std::uint32_t max_depth, std::uint32_t max_features, std::uint64_t seed,
             std::size_t n_draws, bool replace, bool honest, std::size_t group_size,
             std::optional<std::size_t> panels) {
            const GrowOptions options{
                criterion,    n_thresholds, min_samples_split, min_samples_leaf, max_depth,
                max_features, seed};
            new (self) ForestGrower(bins, missing, categorical, times, time_index, event, survival,
                                    weight, options, n_draws, replace, honest, group_size, panels);
          },
          nb::kw_only(), nb::arg("bins"), nb::arg("missing"), nb::arg("categorical"),
          nb::arg("times"), nb::arg("time_index"), nb::arg("event"), nb::arg("survival"),
          nb::arg("weight").none(), nb::arg("criterion"), nb::arg("n_thresholds"),
          nb::arg("min_samples_split"), nb::arg("min_samples_leaf"), nb::arg("max_depth"),
          nb::arg("max_features"), nb::arg("seed"), nb::arg("n_draws"), nb::arg("replace"),
          nb::arg("honest"), nb::arg("group_size") = 1, nb::arg("panels") = nb::none())
      .def_prop_ro("members_per_tree", &ForestGrower::members_per_tree)
      .def("grow", &ForestGrower::grow, nb::arg("first"), nb::arg("count"), nb::arg("n_threads"),
           nb::arg("low"), nb::arg("block").none(), nb::arg("block_high").none());

  nb::class_<BoundLeafSizeScorer>(module, "LeafSizeScorer")
      .def(nb::init<const ForestGrower&, Vector<std::uint32_t>, Vector<Rank>>(), nb::arg("grower"),
           nb::arg("sizes"), nb::arg("rows"), nb::keep_alive<1, 2>())
      .def("add_trees", &BoundLeafSizeScorer::add_trees, nb::arg("first"), nb::arg("count"),
           nb::arg("n_threads"))
      .def("losses", &BoundLeafSizeScorer::losses);

  module.def("count_blocks", &count_blocks, nb::arg("block"), nb::arg("block_high").none(),
             nb::arg("leaf_start"), nb::arg("leaf_offset"), nb::arg("n_blocks"),
             nb::arg("n_threads"));

  module.def(
      "sample_counts",
      [](std::uint64_t seed, std::uint64_t tree, std::size_t n_rows, std::size_t n_draws,
         bool replace, std::size_t group_size) {
        const TreeRows drawn =
            draw_rows(make_sampling(n_rows, n_draws, replace, false, group_size), seed, tree);
        std::vector<std::uint32_t> counts(n_rows, 0);
        for (std::size_t i = 0; i < drawn.growing.size(); ++i)
          counts[drawn.growing[i]] = drawn.multiplicity[i];
        return to_numpy(std::move(counts));
      },
      nb::arg("seed"), nb::arg("tree"), nb::arg("n_rows"), nb::arg("n_draws"), nb::arg("replace"),
      nb::arg("group_size") = 1, "How often a tree draws each rank, (n_rows,) uint32.");
}

}  // namespace cqrf::bindings
