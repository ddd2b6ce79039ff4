#include "leaf_size.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <utility>

#include "../random.hpp"
#include "../sampling/sampler.hpp"

namespace cqrf {

LeafSizeScorer::LeafSizeScorer(const TrainingData& data, const GrowOptions& options,
                               std::vector<std::uint32_t> sizes, std::vector<Rank> rows)
    : data_(data),
      options_(options),
      indicators_(data.outcomes),
      sizes_(std::move(sizes)),
      rows_(std::move(rows)),
      answers_(rows_.size() * sizes_.size()),
      n_trees_(rows_.size(), 0) {
  // An answer is the mean of all rows but one.
  if (data.sampling.grouped()) throw std::invalid_argument("leaf sizes need ungrouped trees");
  if (sizes_.empty() || !std::is_sorted(sizes_.begin(), sizes_.end()))
    throw std::invalid_argument("sizes must be ascending");
  for (const Rank row : rows_)
    if (row >= data.sampling.n_rows) throw std::invalid_argument("row out of range");
  options_.min_samples_split = sizes_.front();
}

LeafSizeScorer::Sums& LeafSizeScorer::Sums::operator+=(const Sums& other) {
  growing += other.growing;
  weight += other.weight;
  for (std::size_t k = 0; k < columns.size(); ++k) columns[k] += other.columns[k];
  return *this;
}

LeafSizeScorer::Sums LeafSizeScorer::sums_of(std::span<const Rank> members) const {
  Sums sums;
  for (const Rank rank : members) {
    const double w = weight(rank);
    const Columns columns = indicators_.of(rank);
    sums.weight += w;
    for (std::size_t k = 0; k < columns.size(); ++k) sums.columns[k] += w * columns[k];
  }
  return sums;
}

LeafSizeScorer::Scored LeafSizeScorer::grow(Scratch& scratch, std::uint64_t tree_index,
                                            Monitor& monitor) const {
  if (!scratch.grower) {
    scratch.grower = make_grower(data_, options_);
    scratch.members.resize(members_per_tree(data_.sampling));
  }
  Scored scored;
  scored.tree = scratch.grower->grow(tree_index, scratch.members.data(), monitor);
  const std::vector<Node>& nodes = scored.tree.nodes;
  scored.nodes.resize(nodes.size());

  const TreeRows drawn = draw_rows(data_.sampling, options_.seed, tree_index);
  scored.drawn.assign(data_.sampling.n_rows, false);
  for (const Rank rank : drawn.filling) scored.drawn[rank] = true;
  for (const Rank rank : drawn.growing) scored.drawn[rank] = true;
  std::vector<std::uint32_t> growing(scored.tree.leaf_start.size() - 1, 0);
  find_leaves(
      nodes.data(), scored.tree.subsets.data(), drawn.growing.size(),
      [&](std::size_t i) { return data_.features.row(drawn.growing[i]); },
      [&](std::size_t, LeafId leaf) { ++growing[leaf]; });

  // Children follow their parents: one backward pass adds up.
  for (std::size_t id = nodes.size(); id-- > 0;) {
    const Node& node = nodes[id];
    Sums& sums = scored.nodes[id];
    if (!node.leaf()) {
      sums += scored.nodes[node.child];
      sums += scored.nodes[node.child + 1];
      continue;
    }
    const std::uint32_t* start = scored.tree.leaf_start.data() + node.index;
    sums = sums_of(std::span(scratch.members).subspan(start[0], start[1] - start[0]));
    sums.growing = growing[node.index];
  }
  return scored;
}

void LeafSizeScorer::add_answers(std::size_t row, const Scored& scored) {
  const Rank rank = rows_[row];
  if (scored.drawn[rank]) return;
  ++n_trees_[row];
  // An honest leaf is filled with drawn rows: this one is not among them.
  const double own_weight = data_.sampling.honest ? 0 : weight(rank);
  Columns own = indicators_.of(rank);
  for (double& column : own) column *= own_weight;

  const Bin* bins = data_.features.row(rank);
  std::size_t waiting = sizes_.size();  // the larger sizes have been answered
  for (NodeId at = 0; waiting > 0;) {
    const Node& node = scored.tree.nodes[at];
    const Sums& sums = scored.nodes[at];
    const double share = 1 / (sums.weight - own_weight);
    for (; waiting > 0 && (node.leaf() || sums.growing < sizes_[waiting - 1]); --waiting) {
      Columns& answers = answers_[row * sizes_.size() + waiting - 1];
      for (std::size_t k = 0; k < own.size(); ++k) answers[k] += (sums.columns[k] - own[k]) * share;
    }
    at = node.child + !goes_left(node, bins[node.feature], scored.tree.subsets.data());
  }
}

void LeafSizeScorer::add_trees(std::uint64_t first, std::size_t count, int n_threads,
                               Monitor& monitor) {
  const auto workers = static_cast<std::size_t>(std::max(1, n_threads));
  if (scratch_.size() < workers) scratch_.resize(workers);
  std::vector<Scored> scored(count);
  parallel_for(count, n_threads, monitor, [&](std::size_t item, int worker) {
    scored[item] = grow(scratch_[static_cast<std::size_t>(worker)], first + item, monitor);
  });
  // Row by row, each through the trees in their order.
  constexpr std::size_t kBlock = 64;
  parallel_for((rows_.size() + kBlock - 1) / kBlock, n_threads, monitor,
               [&](std::size_t block, int) {
                 const std::size_t end = std::min(rows_.size(), (block + 1) * kBlock);
                 for (const Scored& tree : scored)
                   for (std::size_t row = block * kBlock; row < end; ++row) add_answers(row, tree);
               });
}

std::vector<double> LeafSizeScorer::losses() const {
  std::vector<double> losses(answers_.size(), std::numeric_limits<double>::quiet_NaN());
  for (std::size_t row = 0; row < rows_.size(); ++row) {
    if (n_trees_[row] == 0) continue;
    const Columns own = indicators_.of(rows_[row]);
    for (std::size_t at = row * sizes_.size(); at < (row + 1) * sizes_.size(); ++at) {
      double loss = 0;
      for (std::size_t k = 0; k < own.size(); ++k) {
        const double difference = answers_[at][k] / n_trees_[row] - own[k];
        loss += difference * difference;
      }
      losses[at] = loss;
    }
  }
  return losses;
}

}  // namespace cqrf
