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
  // Little bags: so many trees in a row draw from one half of the rows, and know no other rows. One
  // tree is no group: it draws from all.
  std::size_t group_size = 1;

  bool grouped() const { return group_size > 1; }
  // The rows that a tree draws from.
  std::size_t pool_size() const { return grouped() ? n_rows - n_rows / 2 : n_rows; }
};

// Throws std::invalid_argument unless there are rows to draw, and groups of at least one tree.
Sampling make_sampling(std::size_t n_rows, std::size_t n_draws, bool replace, bool honest,
                       std::size_t group_size);

// The rows of one tree, both lists ascending. `multiplicity` says how often each
// growing row was drawn; `filling` is empty where all training rows fill the leaves.
struct TreeRows {
  std::vector<Rank> growing;
  std::vector<std::uint32_t> multiplicity;
  std::vector<Rank> filling;
};

// A function of seed and tree, so that out-of-bag rows are drawn again instead of being stored.
// What `rows` held is overwritten, and its memory used again.
void draw_rows(const Sampling& sampling, std::uint64_t seed, std::uint64_t tree, TreeRows& rows);
TreeRows draw_rows(const Sampling& sampling, std::uint64_t seed, std::uint64_t tree);

}  // namespace cqrf
