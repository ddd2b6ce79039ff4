// The line of prediction: leaf of every tree -> weights by time -> (d, c) -> curve -> answer.
#pragma once

#include <algorithm>

#include "../parallel.hpp"
#include "answers.hpp"
#include "censoring.hpp"
#include "levels.hpp"
#include "sources.hpp"

namespace cqrf {

// Row blocks are the units of work: large, since the trees are read anew for each of them, but
// enough for all threads. A row is answered by one thread from its own sums, so that the
// result does not depend on the number of threads nor on the block. `make_scratch()` gives what one
// thread needs, and `each_row(i, scratch)` answers the i-th row of its `block`.
template <class Source, class MakeScratch, class EachRow>
void for_each_row(const Source& source, std::size_t most_rows, int n_threads, Monitor& monitor,
                  MakeScratch make_scratch, EachRow each_row) {
  constexpr std::size_t kFewestRows = 16;
  const std::size_t rows = source.rows();
  const std::vector<std::size_t> order = source.order();
  const std::size_t threads = static_cast<std::size_t>(std::max(1, n_threads));
  // One thread waits for no other.
  const std::size_t blocks_per_thread = threads == 1 ? 1 : 4;
  const std::size_t block_size =
      std::min(most_rows, std::max(kFewestRows, rows / (blocks_per_thread * threads)));
  const std::size_t blocks = (rows + block_size - 1) / block_size;
  const std::size_t workers = std::min(threads, blocks);
  std::vector<decltype(make_scratch())> scratch(workers);
  parallel_for(blocks, static_cast<int>(workers), monitor, [&](std::size_t item, int worker) {
    auto& own = scratch[static_cast<std::size_t>(worker)];
    if (!own) own = make_scratch();
    const std::size_t begin = item * block_size;
    const std::size_t size = std::min(rows - begin, block_size);
    source.prepare(std::span(order).subspan(begin, size), own->block);
    for (std::size_t i = 0; i < size; ++i) {
      if (monitor.stopped()) return;
      each_row(i, *own);
    }
  });
}

template <class Source, class Answer>
void predict(const Source& source, const TargetView& target, const CensoringOptions& censoring,
             const Answer& answer, std::size_t block_size, int n_threads, Monitor& monitor) {
  struct Scratch {
    WeightAccumulator weights;
    Block block;
    Curve curve;
    std::unique_ptr<CensoringCurve> censoring;
    typename Answer::Worker worker;
  };
  const auto make_scratch = [&] {
    return std::unique_ptr<Scratch>(new Scratch{WeightAccumulator(target.time_index.size()),
                                                {},
                                                {},
                                                make_censoring_curve(censoring, target),
                                                answer.worker()});
  };
  for_each_row(source, block_size, n_threads, monitor, make_scratch,
               [&](std::size_t i, Scratch& own) {
                 const std::size_t row = own.block.rows[i];
                 source.add(i, own.block, own.weights);
                 own.curve.weights = own.weights.drain();
                 if (own.curve.weights.empty()) return;
                 make_steps(target, own.curve);
                 own.censoring->apply(target, row, own.curve);
                 answer.take(row, own.curve, *own.censoring, own.worker);
               });
}

// What looks at some places of S only, with Beran's curve: leaf of every tree -> weights by ranks,
// levels or cells -> the curve around these places -> answer. `make_whole()` gives a RankCurve, a
// LevelCurve or a CellCurve.
template <class MakeWhole, class Answer>
void predict_places(const ForestSource& source, MakeWhole make_whole, const Answer& answer,
                    std::size_t block_size, int n_threads, Monitor& monitor) {
  struct Scratch {
    decltype(make_whole()) whole;
    Block block;
    Curve curve;
    typename Answer::Worker worker;
  };
  const auto make_scratch = [&] {
    return std::unique_ptr<Scratch>(new Scratch{make_whole(), {}, {}, answer.worker()});
  };
  for_each_row(source, block_size, n_threads, monitor, make_scratch,
               [&](std::size_t i, Scratch& own) {
                 if (i == 0) own.whole.expect(source.leaves(0, own.block));
                 own.whole.make(source.leaves(i, own.block));
                 if (i + 1 < own.block.rows.size())
                   own.whole.expect(source.leaves(i + 1, own.block));
                 answer.take(own.block.rows[i], own.whole, own.curve, own.worker);
               });
}

}  // namespace cqrf
