// The line of prediction: leaf of every tree -> weights by time -> (d, c) -> curve -> answer.
#pragma once

#include <algorithm>

#include "../parallel.hpp"
#include "answers.hpp"
#include "censoring.hpp"
#include "sources.hpp"

namespace cqrf {

// Row blocks are the units of work. A row is answered by one thread from its own sums, so that the
// result does not depend on the number of threads nor on the block.
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
  const std::size_t rows = source.rows();
  const std::size_t blocks = (rows + block_size - 1) / block_size;
  const std::size_t workers =
      std::min<std::size_t>(static_cast<std::size_t>(std::max(1, n_threads)), blocks);
  std::vector<std::unique_ptr<Scratch>> scratch(workers);
  parallel_for(blocks, static_cast<int>(workers), monitor, [&](std::size_t item, int worker) {
    auto& own = scratch[static_cast<std::size_t>(worker)];
    if (!own)
      own.reset(new Scratch{WeightAccumulator(target.time_index.size()),
                            {},
                            {},
                            make_censoring_curve(censoring, target),
                            answer.worker()});
    const std::size_t begin = item * block_size;
    const std::size_t end = std::min(rows, begin + block_size);
    source.prepare(begin, end, own->block);
    for (std::size_t row = begin; row < end; ++row) {
      if (monitor.stopped()) return;
      source.add(row, own->block, own->weights);
      own->curve.weights = own->weights.drain();
      if (own->curve.weights.empty()) continue;
      make_steps(target, own->curve);
      own->censoring->apply(target, row, own->curve);
      answer.take(row, own->curve, *own->censoring, own->worker);
    }
  });
}

}  // namespace cqrf
