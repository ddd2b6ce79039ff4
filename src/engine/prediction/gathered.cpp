#include "gathered.hpp"

#include <algorithm>
#include <cstring>

#include "../prefetch.hpp"

namespace cqrf {
namespace {

constexpr std::size_t kTogether = 32;

}  // namespace

// Writes up to 32 numbers behind the last member of a run.
struct GatheredMembers::Copy {
  template <Isa>
  CQRF_KERNEL static void run(GatheredMembers& self) {
    const std::span<const std::uint16_t> members = self.forest_.members.low;
    std::uint16_t* low = self.low_.data() + self.end_;
    float* share = self.share_.data() + self.end_;
    for (const Piece& piece : self.pieces_) {
      std::size_t from = piece.begin;
      std::size_t i = 0;
      do {
        if (from + kTogether <= members.size()) [[likely]]
          std::memcpy(low + i, members.data() + from, kTogether * sizeof(std::uint16_t));
        else
          std::memcpy(low + i, members.data() + from,
                      (members.size() - from) * sizeof(std::uint16_t));
        std::fill_n(share + i, kTogether, piece.share);
        i += kTogether;
        from += kTogether;
      } while (i < piece.size);
      low += piece.size;
      share += piece.size;
    }
  }
};

void GatheredMembers::gather(std::span<const Cells::Found> leaves,
                             std::span<const std::uint32_t> cells) {
  const std::uint16_t* const members = forest_.members.low.data();
  pieces_.resize(cells.size() * leaves.size());
  Piece* to = pieces_.data();
  std::size_t end = end_;
  for (const std::uint32_t cell : cells) {
    const std::size_t begin = end;
    for (const Cells::Found& leaf : leaves) {
      const Cells::Run run = cells_.run(leaf, cell);
      *to = {leaf.first + run.begin, static_cast<std::uint32_t>(run.size), leaf.share};
      // Leaves lie far apart in memory: all are on their way before the first one is copied.
      prefetch(members + to->begin);
      prefetch(members + to->begin + to->size);
      end += run.size;
      ++to;
    }
    runs_[cell] = {begin, end - begin};
  }
  if (low_.size() < end + kTogether) {
    low_.resize(end + kTogether);
    share_.resize(end + kTogether);
  }
  dispatch<Copy>(isa_, *this);
  end_ = end;
}

}  // namespace cqrf
