// Nodes of few rows: which rows stand left of a cut is a few bits, and what follows from them is
// worked out once for all features.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <limits>
#include <vector>

#include "node.hpp"

namespace cqrf {

template <class Rule>
class RowSubsets {
 public:
  using Stat = typename Rule::Stat;
  // Beyond, adding up the parts of a subset takes as long as adding up the rows of four cuts.
  static constexpr std::size_t kMostRows = 32;

  // Takes the labels of a node of at most kMostRows rows, of which about `n_cuts` cuts are to be
  // scored.
  void start(const NodeView<Rule>& node, std::size_t n_cuts) {
    n_rows_ = node.rows.size();
    for (std::size_t first = 0; first < n_rows_; first += kPart) {
      Stat* const sums = &sums_[first / kPart * kParts];
      sums[0] = Stat{};
      const std::size_t subsets = std::size_t{1} << std::min(kPart, n_rows_ - first);
      for (std::size_t subset = 1; subset < subsets; ++subset) {
        sums[subset] = sums[subset & (subset - 1)];
        node.add(sums[subset], first + static_cast<std::size_t>(std::countr_zero(subset)));
      }
    }
    // Worth its while where subsets come up again.
    remembers_ = n_rows_ < kMostRows && (std::size_t{1} << n_rows_) <= n_cuts;
    if (remembers_) scores_.assign(std::size_t{1} << n_rows_, kUnknown);
  }

  Stat sum(std::uint32_t subset) const {
    Stat total = sums_[subset % kParts];
    for (std::size_t part = 1; part * kPart < n_rows_; ++part)
      total += sums_[part * kParts + (subset >> part * kPart) % kParts];
    return total;
  }

  double score(const NodeView<Rule>& node, std::uint32_t left) {
    if (!remembers_) return node.gain(sum(left));
    double& known = scores_[left];
    if (known == kUnknown) known = node.gain(sum(left));
    return known;
  }

 private:
  static constexpr std::size_t kPart = 4;
  static constexpr std::size_t kParts = std::size_t{1} << kPart;
  static constexpr double kUnknown = -std::numeric_limits<double>::infinity();

  std::size_t n_rows_ = 0;
  bool remembers_ = false;
  std::array<Stat, kMostRows / kPart * kParts> sums_{};
  std::vector<double> scores_;
};

}  // namespace cqrf
