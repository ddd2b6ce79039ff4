#include "grower.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <stdexcept>

#include "../random.hpp"
#include "../rules/distribution.hpp"
#include "../rules/logrank.hpp"
#include "../rules/mse.hpp"
#include "../rules/quantile.hpp"
#include "../search/best.hpp"
#include "../search/random.hpp"
#include "../search/score_intervals.hpp"

namespace cqrf {
namespace {

constexpr std::uint64_t kNodeStream = 0x5a13;
constexpr LeafId kNoLeaf = std::numeric_limits<LeafId>::max();

// Rows carry their bins as far as moving them costs less than finding them again.
std::size_t carried_lanes(std::size_t n_features) {
  constexpr std::size_t kMostLanes = 2;
  const std::size_t lanes = (n_features + kLanes - 1) / kLanes;
  return lanes <= kMostLanes ? lanes : 0;
}

// One grower serves all rules: the rule relabels and scores, the search proposes cuts.
template <class Rule, class Search>
class Grower final : public TreeGrower {
 public:
  using Stat = typename Rule::Stat;
  using Label = typename Rule::Label;

  Grower(const TrainingData& data, const GrowOptions& options)
      : data_(data),
        options_(options),
        rule_(data.outcomes),
        search_(options.n_thresholds),
        carried_(carried_lanes(data.features.n_features)),
        padded_(data.features, data.sampling.n_rows),
        feature_order_(data.features.n_features),
        all_rows_(data.sampling.honest || data.sampling.grouped() ? 0 : data.sampling.n_rows) {
    std::iota(all_rows_.begin(), all_rows_.end(), Rank{0});
  }

  Tree grow(std::uint64_t tree_index, Monitor& monitor) override {
    const std::uint64_t key = tree_key(options_.seed, tree_index);
    draw_rows(data_.sampling, options_.seed, tree_index, drawn_);
    start(drawn_);
    Tree tree;
    split_all(tree, child_key(key, kNodeStream), monitor);
    if (!drawn_.filling.empty()) {
      prune_empty(tree, data_.features, drawn_.filling);
      leaf_of_.assign(drawn_.filling.size(), kNoLeaf);
    }
    route(tree, filled().rows);
    count_members(tree, leaf_of_);
    return tree;
  }

  FilledLeaves filled() const override {
    return {drawn_.filling.empty() ? all_rows_ : drawn_.filling, leaf_of_};
  }

 private:
  // The rows of a tree; those of a node stand together, in time order, with their labels and,
  // where there are few features, their bins.
  struct Rows {
    std::vector<SampledRow> row;
    std::vector<Label> label;
    std::vector<Lanes> bins;

    void resize(std::size_t n, std::size_t lanes) {
      row.resize(n);
      label.resize(n);
      bins.resize(n * lanes);
    }
  };

  // A node that waits to be split: [begin, end) of the rows of its side.
  struct Open {
    NodeId id;
    std::size_t begin;
    std::size_t end;
    std::uint32_t depth;
    // Streams belong to nodes, not to the order in which they are visited.
    std::uint64_t key;
    Stat total;  // of the labels; where the rule relabels every node, not used
  };

  // Children are written to the other side, so that a partition moves every row once.
  Rows& side(std::uint32_t depth) { return sides_[depth % 2]; }

  void start(const TreeRows& drawn) {
    for (Rows& rows : sides_) rows.resize(drawn.growing.size(), carried_);
    Rows& root = side(0);
    for (std::size_t i = 0; i < drawn.growing.size(); ++i) {
      const Rank rank = drawn.growing[i];
      const std::uint32_t weight = data_.weight.empty() ? 1 : data_.weight[rank];
      root.row[i] = {rank, weight * drawn.multiplicity[i]};
      for (std::size_t block = 0; block < carried_; ++block)
        root.bins[i * carried_ + block] = load_lanes(padded_.row(rank) + block * kLanes);
    }
    if constexpr (!Rule::kPerNode) rule_.relabel(root.row, root.label.data());
    leaf_of_.assign(data_.sampling.n_rows, kNoLeaf);
  }

  void split_all(Tree& tree, std::uint64_t root_key, Monitor& monitor) {
    tree.nodes.push_back({});
    const Rows& root = side(0);
    std::vector<Open> open{{0, 0, root.row.size(), 0, root_key, sum(root.row, root.label)}};
    LeafId leaves = 0;
    while (!open.empty()) {
      if (monitor.stopped()) throw Stopped{};
      const Open node = open.back();
      open.pop_back();
      const Split<Rule> split = find_split(node);
      if (!split.found()) {
        const Rows& rows = side(node.depth);
        for (std::size_t i = node.begin; i < node.end; ++i) leaf_of_[rows.row[i].rank] = leaves;
        tree.nodes[node.id] = Node::make_leaf(node.id, leaves++);
        continue;
      }
      const auto child = static_cast<NodeId>(tree.nodes.size());
      tree.nodes[node.id] = make_node(split, child, tree);
      tree.nodes.resize(tree.nodes.size() + 2);
      const std::size_t middle = node.begin + split.left_sum.count();
      partition(node, middle, tree.nodes[node.id], tree.subsets.data());
      Stat right = node.total;
      right -= split.left_sum;
      const std::uint32_t depth = node.depth + 1;
      open.push_back({child + 1, middle, node.end, depth, child_key(node.key, 1), right});
      open.push_back({child, node.begin, middle, depth, child_key(node.key, 0), split.left_sum});
    }
  }

  static Stat sum(std::span<const SampledRow> rows, std::span<const Label> labels) {
    Stat total{};
    for (std::size_t i = 0; i < rows.size(); ++i) Rule::add(total, labels[i], rows[i]);
    return total;
  }

  Split<Rule> find_split(const Open& node) {
    Split<Rule> best;
    const std::size_t size = node.end - node.begin;
    if (size < options_.min_samples_split || size < 2 * std::size_t{options_.min_samples_leaf} ||
        node.depth >= options_.max_depth)
      return best;
    const std::span rows = std::span(side(node.depth).row).subspan(node.begin, size);
    const std::span labels = std::span(side(node.depth).label).subspan(node.begin, size);
    if constexpr (Rule::kPerNode) rule_.relabel(rows, labels.data());
    if (rule_.pure(rows, labels.data())) return best;
    const Stat total = Rule::kPerNode ? sum(rows, labels) : node.total;
    LaneRows carried;
    if (carried_ > 0) carried = {side(node.depth).bins.data() + node.begin * carried_, carried_};
    const NodeView<Rule> view{
        rule_, data_.features, rows, labels.data(), total, options_.min_samples_leaf, carried};

    Random random(node.key);
    const std::size_t p = feature_order_.size();
    std::size_t examined = std::min<std::size_t>(options_.max_features, p);
    draw_features(examined, random);
    search_.examine(view, std::span(feature_order_).first(examined), random, best);
    // As in scikit-learn, the search goes on past max_features until some cut is admissible.
    for (; !best.found() && examined < p; ++examined) {
      const auto remaining = static_cast<std::uint32_t>(p - examined);
      std::swap(feature_order_[examined], feature_order_[examined + random.below(remaining)]);
      search_.examine(view, std::span(feature_order_).subspan(examined, 1), random, best);
    }
    return best;
  }

  // The first `size` of feature_order_ become a random choice. It starts from the natural order,
  // so that a node's choice depends on its own stream alone.
  void draw_features(std::size_t size, Random& random) {
    const std::size_t p = feature_order_.size();
    std::iota(feature_order_.begin(), feature_order_.end(), 0u);
    if (size == p) return;
    for (std::size_t i = 0; i < size; ++i)
      std::swap(feature_order_[i],
                feature_order_[i + random.below(static_cast<std::uint32_t>(p - i))]);
  }

  Node make_node(const Split<Rule>& split, NodeId child, Tree& tree) const {
    const Bin missing = data_.features.missing[split.feature];
    if (!split.categorical)
      return Node::make_cut(child, split.feature, split.bin, missing, split.missing_left);
    tree.subsets.push_back(split.left);
    if (split.missing_left) insert(tree.subsets.back(), missing);
    return Node::make_categorical(child, split.feature,
                                  static_cast<std::uint32_t>(tree.subsets.size() - 1));
  }

  // Stable, so that the rows of every node stay in time order; labels that belong to the row move
  // with it. The right child begins at `middle`.
  void partition(const Open& open, std::size_t middle, const Node& node, const BinSet* subsets) {
    switch (carried_) {
      case 0:
        return partition<0>(open, middle, node, subsets);
      case 1:
        return partition<1>(open, middle, node, subsets);
      default:
        return partition<2>(open, middle, node, subsets);
    }
  }

  template <std::size_t Carried>
  void partition(const Open& open, std::size_t middle, const Node& node, const BinSet* subsets) {
    const Rows& from = side(open.depth);
    Rows& to = side(open.depth + 1);
    const BinColumn column = data_.features.column(node.feature);
    std::size_t left = open.begin;
    std::size_t right = middle;
    // Copies, which no store of the loop can change.
    const SampledRow* const from_row = from.row.data();
    const Label* const from_label = from.label.data();
    const Lanes* const from_bins = from.bins.data();
    SampledRow* const to_row = to.row.data();
    Label* const to_label = to.label.data();
    Lanes* const to_bins = to.bins.data();
    const Node copy = node;
    for (std::size_t i = open.begin; i < open.end; ++i) {
      const SampledRow row = from_row[i];
      bool goes;
      if constexpr (Carried == 0) {
        if (i + kPrefetchAhead < open.end)
          __builtin_prefetch(column.at(from_row[i + kPrefetchAhead].rank));
        goes = goes_left(copy, column[row.rank], subsets);
      } else {
        const Lanes& lanes = from_bins[i * Carried + copy.feature / kLanes];
        goes = goes_left(copy, lanes.bin[copy.feature % kLanes], subsets);
      }
      const std::size_t at = goes ? left : right;
      to_row[at] = row;
      for (std::size_t block = 0; block < Carried; ++block)
        to_bins[at * Carried + block] = from_bins[i * Carried + block];
      if constexpr (!Rule::kPerNode) to_label[at] = from_label[i];
      left += goes;
      right += !goes;
    }
  }

  // Fills leaf_of_ for the rows that did not grow the tree.
  void route(const Tree& tree, std::span<const Rank> rows) {
    waiting_.resize(rows.size());
    std::size_t n_waiting = 0;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      waiting_[n_waiting] = static_cast<std::uint32_t>(i);
      n_waiting += leaf_of_[i] == kNoLeaf;
    }
    find_leaves(
        tree.nodes.data(), tree.subsets.data(), n_waiting,
        [&](std::size_t i) { return data_.features.row(rows[waiting_[i]]); },
        [&](std::size_t i, LeafId leaf) { leaf_of_[waiting_[i]] = leaf; });
  }

  const TrainingData& data_;
  GrowOptions options_;
  Rule rule_;
  Search search_;
  std::size_t carried_;  // sixteen lanes each
  PaddedRows padded_;
  TreeRows drawn_;
  std::array<Rows, 2> sides_;
  std::vector<std::uint32_t> feature_order_;
  std::vector<Rank> all_rows_;
  std::vector<LeafId> leaf_of_;
  std::vector<std::uint32_t> waiting_;
};

template <class Rule>
std::unique_ptr<TreeGrower> with_rule(const TrainingData& data, const GrowOptions& options) {
  if (options.n_thresholds > 0)
    return std::make_unique<Grower<Rule, RandomSearch<Rule>>>(data, options);
  return std::make_unique<Grower<Rule, BestSearch<Rule>>>(data, options);
}

}  // namespace

std::unique_ptr<TreeGrower> make_grower(const TrainingData& data, const GrowOptions& options) {
  if (options.criterion == "distribution") return with_rule<DistributionRule>(data, options);
  if (options.criterion == "mse") return with_rule<MseRule>(data, options);
  if (options.criterion == "quantile") return with_rule<QuantileRule>(data, options);
  if (options.criterion == "logrank") return with_rule<LogrankRule>(data, options);
  throw std::invalid_argument("unknown criterion: " + options.criterion);
}

std::size_t panel_width(std::size_t n_rows, std::size_t n_features, const GrowOptions& options) {
  // So long a column stays in the first cache while a node reads it. Of a longer one, every row of
  // a small node needs a cache line of its own, where a row of the table has it for all features.
  constexpr std::size_t kMostRows = std::size_t{1} << 15;
  if (carried_lanes(n_features) > 0) return 0;
  const bool in_order = options.n_thresholds > 0 && options.max_features >= n_features;
  if (in_order) return kLanes;
  return n_rows <= kMostRows ? 1 : 0;
}

std::size_t members_per_tree(const Sampling& sampling) {
  if (!sampling.honest) return sampling.pool_size();
  const std::size_t distinct = std::min(sampling.pool_size(), sampling.n_draws);
  return distinct - distinct / 2;
}

}  // namespace cqrf
