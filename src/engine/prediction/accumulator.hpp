// Weights on the training rows, gathered in any order and read back in time order.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

#include "../index.hpp"

namespace cqrf {

// A bitmap of the touched ranks makes reading cost the number of weights, not the number of rows,
// and no sort is needed.
class WeightAccumulator {
 public:
  explicit WeightAccumulator(std::size_t n_rows)
      : weight_(n_rows, 0.0), touched_((n_rows + 63) / 64, 0) {}

  void add(Rank rank, double weight) {
    weight_[rank] += weight;
    touched_[rank >> 6] |= std::uint64_t{1} << (rank & 63);
  }

  // Calls visit(rank, weight) for the touched ranks in ascending order and forgets them.
  template <class Visit>
  void drain(Visit visit) {
    for (std::size_t word = 0; word < touched_.size(); ++word) {
      std::uint64_t bits = touched_[word];
      if (bits == 0) continue;
      touched_[word] = 0;
      for (; bits != 0; bits &= bits - 1) {
        const auto rank = static_cast<Rank>(word * 64 + static_cast<std::size_t>(std::countr_zero(bits)));
        visit(rank, weight_[rank]);
        weight_[rank] = 0;
      }
    }
  }

 private:
  std::vector<double> weight_;
  std::vector<std::uint64_t> touched_;
};

}  // namespace cqrf
