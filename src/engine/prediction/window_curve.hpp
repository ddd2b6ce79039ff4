// S in a window of time, from the weights of its ranks.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "../prefetch.hpp"
#include "../simd.hpp"
#include "curve.hpp"
#include "inverse.hpp"
#include "rank_weights.hpp"

namespace cqrf {

class WindowCurve {
 public:
  // Where S falls to a probability: places among the ranks, from the jump of S before the one at
  // which it does to the jump after that.
  struct Place {
    bool before = false;  // whether the window has to begin earlier,
    bool after = false;   // or to end later
    std::size_t begin = 0;
    std::size_t end = 0;
    std::size_t crossing = kNoJump;
  };

  // `survival` is S before the window, `behind` the weight behind it. The room of the weights is
  // set to zero.
  void make(Isa isa, const TargetView& target, RankWeights& weights, double survival,
            double behind);

  // Sets S after the first `ranks[j]` ranks of all, for every j; ascending.
  void survival_after(std::span<const std::size_t> ranks, double* survival);
  // The sum of values, by ranks of all, at the jumps of S, times its falls there.
  double sum_of_falls(std::span<const double> values) const;
  double survival_behind() const { return survival_.back(); }
  // The place among the ranks at which S falls to a probability, if it is above that before the
  // window: a jump, if there is one up to it. Where it does not fall so far, the last jump, or
  // kNoJump if no weight comes behind the window. Quickest if it is not far behind a chunk.
  std::size_t crossing(double probability, std::size_t chunk = 0);
  // Asks memory for the times at a place and around it.
  void expect_times(std::size_t crossing) const {
    const std::size_t end = std::min(crossing + 2, weights_->size);
    for (std::size_t i = std::max<std::size_t>(crossing, 1) - 1; i < end; ++i)
      prefetch(&target_->times[time_index(i)]);
  }
  // Where S falls to a probability.
  Place find(double probability, std::size_t chunk = 0);
  // Sets a curve to its part at a place. A first step without weight tells S before it.
  void part(const Place& place, Curve& curve);

  // Where S falls to a level, which it crosses at a place, or its last time if that is kNoJump. No
  // times are tied.
  QuantileFound solve(double level, std::size_t crossing, Interpolation interpolation) {
    if (crossing == kNoJump) return {time(weights_->size - 1), false};
    return {inverse(*this, crossing, level, interpolation), true};
  }

  // What inverse() asks for, by places among the ranks, where no times are tied.
  double survival(std::size_t i) { return survival_in(i / kChunk)[i % kChunk]; }
  double before(std::size_t i) { return i % kChunk == 0 ? survival_[i / kChunk] : survival(i - 1); }
  double time(std::size_t i) const { return target_->times[time_index(i)]; }
  double first_time() const { return time(0); }
  std::size_t jump_before(std::size_t i) const {
    while (i-- > 0)
      if (jumps(i)) return i;
    return kNoJump;
  }
  std::size_t jump_from(std::size_t i) const {
    for (; i < weights_->size; ++i)
      if (jumps(i)) return i;
    return kNoJump;
  }

  // Factors are computed for chunks of so many ranks.
  static constexpr std::size_t kChunk = 64;

 private:
  TimeIndex time_index(std::size_t i) const { return target_->time_of(weights_->rank(i)); }
  bool tied(std::size_t i, std::size_t j) const {
    return target_->has_ties() && time_index(i) == time_index(j);
  }
  bool jumps(std::size_t i) const { return weights_->is_event(i); }
  bool falls_to(double probability) const { return survival_.back() <= probability; }
  // How many ranks a chunk has, in whole vectors.
  std::size_t length(std::size_t chunk) const;
  // S after each rank of a chunk.
  const float* survival_in(std::size_t chunk) {
    if (!asked_[chunk]) make_survival_in(chunk);
    return after_.data() + chunk * kChunk;
  }
  void make_survival_in(std::size_t chunk);

  Isa isa_ = Isa::kPortable;
  const TargetView* target_ = nullptr;
  const RankWeights* weights_ = nullptr;
  bool first_;  // whether no weight comes before the window
  double behind_;
  // By its ranks, in whole chunks.
  std::vector<float> factor_;     // by which S falls
  std::vector<double> survival_;  // (chunks + 1,) S before each
  std::vector<float> after_;      // S after each rank, of chunks that were asked for
  std::vector<std::uint8_t> asked_;
};

}  // namespace cqrf
