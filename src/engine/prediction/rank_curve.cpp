#include "rank_curve.hpp"

#include <algorithm>

#include "level_kernels.hpp"

namespace cqrf {

void RankCurve::make(const LeafId* leaves) {
  constexpr std::size_t kAhead = 2;
  const std::size_t trees = forest_.n_trees();
  const std::size_t n = forest_.n_rows;
  if (weight_.empty()) weight_.assign(n, 0.0f);
  // Where leaves begin is read from memory: all of them at once, not each between additions.
  leaves_.resize(trees);
  std::size_t members = 0;
  for (std::size_t t = 0; t < trees; ++t) {
    leaves_[t] = forest_.leaf(t, leaves[t]);
    members += leaves_[t].size;
    if (forest_.members.counted()) cqrf::prefetch(forest_.members.counts(leaves_[t]).data());
  }
  for (std::size_t t = 0; t < std::min(kAhead, trees); ++t) forest_.prefetch(leaves_[t]);
  for (std::size_t t = 0; t < trees; ++t) {
    if (t + kAhead < trees) forest_.prefetch(leaves_[t + kAhead]);
    const Leaf& leaf = leaves_[t];
    const float share = 1.0f / static_cast<float>(leaf.size);
    forest_.members.for_each_run(leaf, [&](std::size_t block, std::span<const std::uint16_t> low) {
      float* const weight = weight_.data() + block * kBlockRows;
      unrolled(low.size(), [=](std::size_t i) { weight[low[i] & kPlace] += share; });
    });
  }
  weights_.size = 0;
  weights_.make_room(std::min(n, members));
  drain(isa_, target_.event, weight_.data(), n, 0, weights_);
  whole_.make(isa_, target_, weights_, 1, 0);
}

void RankCurve::look_at(std::span<const double> probabilities) {
  probabilities_ = probabilities;
  crossings_.resize(probabilities.size());
  std::size_t chunk = 0;
  for (std::size_t k = 0; k < probabilities.size(); ++k) {
    crossings_[k] = whole_.crossing(probabilities[k] + kLevelTolerance, chunk);
    if (crossings_[k] == kNoJump) continue;
    chunk = crossings_[k] / WindowCurve::kChunk;
    // All of them are on their way before the first one is read.
    whole_.expect_times(crossings_[k]);
  }
}

}  // namespace cqrf
