#include "sampler.hpp"

#include <stdexcept>

namespace cqrf {
namespace {

// Groups have numbers of their own: the key of a group is that of no tree's stream.
enum Stream : std::uint64_t { kDraw = 0x5a11, kHalves = 0x5a12, kGroup = 0x5a14 };

// `take` of the `size` items in order, every subset equally likely (selection sampling).
template <class Take, class Leave>
void select(std::size_t size, std::size_t take, Random& random, Take on_take, Leave on_leave) {
  for (std::size_t i = 0; i < size; ++i) {
    if (random.below(static_cast<std::uint32_t>(size - i)) < take) {
      on_take(i);
      --take;
    } else {
      on_leave(i);
    }
  }
}

// Draws from the first `n` ranks.
void draw_distinct(const Sampling& sampling, std::size_t n, std::uint64_t key, TreeRows& out) {
  Random random(child_key(key, kDraw));
  if (sampling.replace) {
    std::vector<std::uint32_t>& count = out.multiplicity;
    count.assign(n, 0);
    for (std::size_t i = 0; i < sampling.n_draws; ++i)
      ++count[random.below(static_cast<std::uint32_t>(n))];
    // Written without branches, which a bootstrap would mispredict every third time.
    out.growing.resize(n);
    std::size_t distinct = 0;
    for (std::size_t r = 0; r < n; ++r) {
      const std::uint32_t drawn = count[r];
      out.growing[distinct] = static_cast<Rank>(r);
      count[distinct] = drawn;
      distinct += drawn > 0;
    }
    out.growing.resize(distinct);
    count.resize(distinct);
    return;
  }
  out.growing.clear();
  out.growing.reserve(sampling.n_draws);
  if (sampling.n_draws == n) {
    for (std::size_t r = 0; r < n; ++r) out.growing.push_back(static_cast<Rank>(r));
  } else {
    select(
        n, sampling.n_draws, random,
        [&](std::size_t r) { out.growing.push_back(static_cast<Rank>(r)); }, [](std::size_t) {});
  }
  out.multiplicity.assign(out.growing.size(), 1);
}

// The half of the rows that a group of trees knows, ascending.
std::vector<Rank> group_half(const Sampling& sampling, std::uint64_t seed, std::uint64_t group) {
  std::vector<Rank> half;
  half.reserve(sampling.pool_size());
  Random random(child_key(tree_key(seed, group), kGroup));
  select(
      sampling.n_rows, sampling.pool_size(), random,
      [&](std::size_t r) { half.push_back(static_cast<Rank>(r)); }, [](std::size_t) {});
  return half;
}

}  // namespace

Sampling make_sampling(std::size_t n_rows, std::size_t n_draws, bool replace, bool honest,
                       std::size_t group_size) {
  const Sampling sampling{n_rows, n_draws, replace, honest, group_size};
  if (n_rows == 0 || n_draws == 0 || n_draws >= kMaxRows || group_size == 0 ||
      (!replace && n_draws > sampling.pool_size()))
    throw std::invalid_argument("number of draws out of range");
  return sampling;
}

void draw_rows(const Sampling& sampling, std::uint64_t seed, std::uint64_t tree, TreeRows& drawn) {
  const std::uint64_t key = tree_key(seed, tree);
  drawn.filling.clear();
  draw_distinct(sampling, sampling.pool_size(), key, drawn);
  if (sampling.grouped()) {
    const std::vector<Rank> half = group_half(sampling, seed, tree / sampling.group_size);
    for (Rank& rank : drawn.growing) rank = half[rank];
    if (!sampling.honest) drawn.filling = half;
  }
  if (!sampling.honest) return;
  // One row cannot be halved: it grows (a single leaf) and fills.
  if (drawn.growing.size() < 2) {
    drawn.filling = drawn.growing;
    return;
  }
  TreeRows halves;
  Random random(child_key(key, kHalves));
  select(
      drawn.growing.size(), drawn.growing.size() / 2, random,
      [&](std::size_t i) {
        halves.growing.push_back(drawn.growing[i]);
        halves.multiplicity.push_back(drawn.multiplicity[i]);
      },
      [&](std::size_t i) { halves.filling.push_back(drawn.growing[i]); });
  drawn = std::move(halves);
}

TreeRows draw_rows(const Sampling& sampling, std::uint64_t seed, std::uint64_t tree) {
  TreeRows drawn;
  draw_rows(sampling, seed, tree, drawn);
  return drawn;
}

}  // namespace cqrf
