// Which size of leaves suits the data: the out-of-bag loss of every size of a grid, from trees that
// are grown once.
//
// A tree that stops at nodes of fewer than s rows is the upper part of one that goes on: streams
// belong to nodes. So the node that answers for a row at size s is the first on its way down that
// has fewer than s growing rows. Its answer is the mean of the survival indicators of its members,
// the row itself left out; answers are averaged over the trees that did not draw the row, and
// compared with the row's own indicators by squared error. (Of an honest tree, branches that no row
// fills have been cut, so that its sizes are those of smaller trees nearly, not exactly.)
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "../parallel.hpp"
#include "../rules/indicators.hpp"
#include "../tree/grower.hpp"

namespace cqrf {

class LeafSizeScorer {
 public:
  // sizes: ascending, the smallest one is that of `options.min_samples_split`. rows: those whose
  // loss is computed. `data` must outlive this object.
  LeafSizeScorer(const TrainingData& data, const GrowOptions& options,
                 std::vector<std::uint32_t> sizes, std::vector<Rank> rows);
  LeafSizeScorer(const LeafSizeScorer&) = delete;  // workers own their growers

  // Grows the trees [first, first + count) and adds their answers. The sums do not depend on how
  // the trees are divided into calls, nor on the number of threads.
  void add_trees(std::uint64_t first, std::size_t count, int n_threads, Monitor& monitor);

  // (rows, sizes); NaN for rows that every tree has drawn.
  std::vector<double> losses() const;

 private:
  using Columns = SurvivalIndicators::Columns;

  struct Sums {
    std::uint32_t growing = 0;  // distinct rows that grew the node
    double weight = 0;          // of its members
    Columns columns{};          // their weighted indicators

    Sums& operator+=(const Sums& other);
  };
  // The tree with what is known of each of its nodes.
  struct Scored {
    Tree tree;
    std::vector<Sums> nodes;
    std::vector<bool> drawn;  // by rank
  };

  // What a worker keeps between trees.
  struct Scratch {
    std::unique_ptr<TreeGrower> grower;
    std::vector<Rank> members;
  };

  Scored grow(Scratch& scratch, std::uint64_t tree_index, Monitor& monitor) const;
  Sums sums_of(std::span<const Rank> members) const;
  void add_answers(std::size_t row, const Scored& scored);
  double weight(Rank rank) const { return data_.weight.empty() ? 1.0 : data_.weight[rank]; }

  const TrainingData& data_;
  GrowOptions options_;
  SurvivalIndicators indicators_;
  std::vector<std::uint32_t> sizes_;
  std::vector<Rank> rows_;
  std::vector<Columns> answers_;        // (rows, sizes) summed over trees
  std::vector<std::uint32_t> n_trees_;  // (rows,) that answered
  std::vector<Scratch> scratch_;        // by worker
};

}  // namespace cqrf
