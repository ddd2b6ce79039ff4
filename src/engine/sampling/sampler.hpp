// How rows are sampled for a tree.
#pragma once

#include <cstdint>
#include <vector>

#include "../index.hpp"
#include "../random.hpp"

namespace cqrf {

struct Sampling {
  std::size_t n_rows;   // training rows
  std::size_t n_draws;  // rows drawn for a tree
  bool replace;         // bootstrap; otherwise a subsample without replacement
  bool honest;          // half of the drawn rows split, the other half fills the leaves
};

// The rows of one tree, both lists ascending. `multiplicity` says how often each
// growing row was drawn; `filling` is empty unless the tree is honest.
struct TreeRows {
  std::vector<Rank> growing;
  std::vector<std::uint32_t> multiplicity;
  std::vector<Rank> filling;
};

// A function of the key alone, so that out-of-bag rows are drawn again instead of being stored.
TreeRows draw_rows(const Sampling& sampling, std::uint64_t tree_key);

}  // namespace cqrf
