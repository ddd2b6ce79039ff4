// What a search for a cut sees of a node, and what it answers.
#pragma once

#include <limits>
#include <span>

#include "../rules/rule.hpp"
#include "../tree/tree.hpp"

namespace cqrf {

// The binned training features, row-major: the bins of a row share a cache line.
struct BinnedFeatures {
  const Bin* bins;                          // (n, p)
  std::size_t n_features;                   // p
  std::span<const Bin> missing;             // (p,) the missing bin = the number of value bins
  std::span<const std::uint8_t> categorical;  // (p,)

  const Bin* row(Rank rank) const { return bins + std::size_t{rank} * n_features; }
};

template <class Stat>
struct NodeView {
  const BinnedFeatures& features;
  std::span<const SampledRow> rows;  // in time order
  const Stat* labels;                // parallel to rows
  Stat total;                        // their sum
  std::uint32_t min_leaf;            // distinct rows that each side must have

  bool admissible(std::uint32_t left_count) const {
    return left_count >= min_leaf && total.count - left_count >= min_leaf;
  }
};

struct Split {
  double gain = -std::numeric_limits<double>::infinity();
  std::uint32_t feature = 0;
  bool categorical = false;
  bool missing_left = false;
  Bin bin = 0;      // numeric: bins up to this one go left
  BinSet left{};    // categorical: these bins go left

  bool found() const { return gain > -std::numeric_limits<double>::infinity(); }
};

}  // namespace cqrf
