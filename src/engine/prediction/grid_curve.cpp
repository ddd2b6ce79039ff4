#include "grid_curve.hpp"

#include <algorithm>
#include <array>

#include "../prefetch.hpp"

namespace cqrf {
namespace {

// Cells that are looked into together have no more ranks than that, most of which have no weight.
constexpr std::size_t kLongestRun = 16384;

// The leaves of a test point together have at least so many members in a cell, in the mean.
constexpr std::size_t kFewestMembers = 64;

// What cells leave open adds up over all of them, of which there are more than quantiles need: as
// if there were fewer rows.
constexpr double kShareOfRows = 0.75;

}  // namespace

Grid::Grid(const TargetView& target, std::span<const std::size_t> ranks, bool any_censored)
    : bounds(cells_between(target.time_index.size(), ranks)), censored(any_censored) {
  for (std::size_t k = 0; k + 1 < bounds.size(); ++k)
    n_times.push_back(target.time_of(bounds[k + 1] - 1) - target.time_of(bounds[k]) + 1);
}

bool Grid::pays(const Forest& forest) const {
  const std::size_t n_cells = n_times.size();
  const std::size_t members = forest.members.low.size();
  return n_cells * forest.n_leaves() <= members &&
         kFewestMembers * n_cells * forest.n_leaves() <= forest.n_trees() * members;
}

GridCurve::GridCurve(const Forest& forest, const TargetView& target, const Grid& grid)
    : forest_(forest),
      target_(target),
      grid_(grid),
      isa_(isa()),
      own_(grid.bounds, grid.censored),
      gathered_(forest, cells()),
      behind_(n_cells()),
      factor_(n_cells()),
      before_(n_cells() + 1) {
  if (!grid.whole) counts_.emplace(grid.bounds, grid.censored);
}

void GridCurve::make(const LeafId* leaves) {
  next_.begin(leaves, forest_, grid_.whole.get());
  if (counts_) own_.write(forest_, leaves, *counts_);
  const std::size_t trees = forest_.n_trees();
  found_.resize(trees);
  for (std::size_t t = 0; t < trees; ++t)
    found_[t] = grid_.whole ? cells().find(forest_, t, leaves[t]) : own_.find_written(forest_, t);
}

void GridCurve::survival_after(std::span<const std::size_t> ranks, double* survival) {
  cells().add_up(isa_, found_, sums_);
  double after = 0;
  for (std::size_t k = n_cells(); k-- > 0;) {
    behind_[k] = after;
    after += double{sums_.all[k]};
  }
  for (std::size_t k = 0; k < n_cells(); ++k)
    factor_[k] = grid_.n_times[k] == 1 ? fall_factor(behind_[k] + double{sums_.censored[k]},
                                                     Cells::events(sums_, k), 0, 0)
                                       : Cells::sum(sums_, k).factor(behind_[k]);
  multiply();
  if (grid_.censored) settle_doubts();
  next_.ask(forest_, grid_.whole.get());
  std::size_t cell = 0;
  for (std::size_t j = 0; j < ranks.size(); ++j) {
    while (grid_.bounds[cell] < ranks[j]) ++cell;
    survival[j] = before_[cell];
  }
}

void GridCurve::multiply() {
  double survival = 1;
  for (std::size_t k = 0; k < n_cells(); ++k) {
    before_[k] = survival;
    survival *= factor_[k];
  }
  before_.back() = survival;
}

// Looks into the cells in which the order of events and censorings matters.
void GridCurve::settle_doubts() {
  const auto& bounds = grid_.bounds;
  const std::size_t typical = typical_cell();
  look_into(std::array{CellRun{{typical, typical + 1}}});
  const double rows = kShareOfRows * rows_by_weight();
  next_.ask(forest_, grid_.whole.get());
  doubtful_.clear();
  for (std::size_t k = 0; k < n_cells(); ++k) {
    if (k == typical || !in_doubt(k, rows)) continue;
    // Cells next to each other are looked into together.
    const bool joins = bounds[k] % kBlockRows != 0 && !doubtful_.empty() &&
                       bounds[k + 1] - bounds[doubtful_.back().cells.begin] <= kLongestRun;
    add_cell(k, joins, doubtful_);
  }
  if (!doubtful_.empty()) look_into(doubtful_);
  multiply();
}

// One whose rows tell how many there are to a unit of weight: the lightest one that is not lighter
// than the mean and has some 500 members, so that no more have to be read; or the heaviest.
std::size_t GridCurve::typical_cell() const {
  constexpr double kEnough = 512;
  double members = 0;
  for (const Cells::Found& leaf : found_) members += 1 / double{leaf.share};
  const double sum = behind_[0] + double{sums_.all[0]};
  const double least = sum * std::max(1 / static_cast<double>(n_cells()), kEnough / members);
  std::size_t best = 0;
  for (std::size_t k = 1; k < n_cells(); ++k) {
    const bool lighter = sums_.all[k] < sums_.all[best];
    if (lighter ? sums_.all[k] >= least : sums_.all[best] < least) best = k;
  }
  return best;
}

// Whether the order of events and censorings in a cell matters. At a single time it is known.
bool GridCurve::in_doubt(std::size_t cell, double rows) const {
  const std::size_t times = grid_.n_times[cell];
  return times > 1 &&
         Cells::sum(sums_, cell)
             .order_matters(behind_[cell], before_[cell], rows, static_cast<double>(times));
}

// How many rows there are to a unit of weight, in the cell that was looked into last.
double GridCurve::rows_by_weight() const {
  double sum = 0;
  double squares = 0;
  for (std::size_t i = 0; i < weights_.size; ++i) {
    const double weight = weights_.weight[i];
    sum += weight;
    squares += weight * weight;
  }
  return sum / squares;
}

// Makes the factors of some cells exact.
void GridCurve::look_into(std::span<const CellRun> runs) {
  for (const auto& [cells, places] : runs) {
    const Rank begin = grid_.bounds[cells.begin];
    prefetch(target_.event.data() + begin, grid_.bounds[cells.end] - begin);
  }
  gathered_.clear();
  gathered_.gather(found_, runs);
  for (const CellRun& run : runs) make_exact(run.cells);
}

// The same of cells that were gathered.
void GridCurve::make_exact(Range cells) {
  const Rank begin = grid_.bounds[cells.begin];
  const std::size_t size = grid_.bounds[cells.end] - begin;
  const MemberRun run = gathered_.run(cells.begin);
  weights_.size = 0;
  add_up(isa_, target_.event, std::span(run.low, run.size), run.share, size, begin, weight_,
         weights_);
  window_.make(isa_, target_, weights_, 1, behind_[cells.end - 1]);
  ends_.assign(grid_.bounds.begin() + static_cast<std::ptrdiff_t>(cells.begin + 1),
               grid_.bounds.begin() + static_cast<std::ptrdiff_t>(cells.end + 1));
  survival_.resize(ends_.size());
  window_.survival_after(ends_, survival_.data());
  double before = 1;
  for (std::size_t k = 0; k < ends_.size(); ++k) {
    factor_[cells.begin + k] = before > 0 ? survival_[k] / before : 0;
    before = survival_[k];
  }
}

}  // namespace cqrf
