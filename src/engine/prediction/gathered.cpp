#include "gathered.hpp"

#include <algorithm>
#include <cstring>

namespace cqrf {
namespace {

constexpr std::size_t kTogether = 32;
// Leaves lie far apart in memory: the next ones are on their way while one is copied.
constexpr std::size_t kAhead = 6;

}  // namespace

// Writes up to 32 numbers behind the last member of a run.
struct GatheredMembers::Copy {
  template <Isa>
  CQRF_KERNEL static void run(GatheredMembers& self, std::span<const Leaf> leaves,
                              std::span<const std::uint32_t> cells) {
    const std::span<const std::uint16_t> members = self.forest_.members.low;
    for (std::size_t t = 0; t < leaves.size(); ++t) {
      if (t + kAhead < leaves.size())
        for (const std::uint32_t cell : cells)
          __builtin_prefetch(members.data() + leaves[t + kAhead].first +
                             self.cells_.begin(leaves[t + kAhead], cell));
      const Leaf& leaf = leaves[t];
      const float one = 1.0f / static_cast<float>(leaf.size);
      for (const std::uint32_t cell : cells) {
        Run& to = self.runs_[cell];
        std::uint16_t* low = self.low_.data() + to.begin + to.size;
        float* share = self.share_.data() + to.begin + to.size;
        std::size_t begin = leaf.first + self.cells_.begin(leaf, cell);
        const std::size_t end = leaf.first + self.cells_.end(leaf, cell);
        to.size += end - begin;
        do {
          const std::size_t count =
              begin + kTogether <= members.size() ? kTogether : members.size() - begin;
          if (count == kTogether) [[likely]]
            std::memcpy(low, members.data() + begin, kTogether * sizeof(std::uint16_t));
          else
            std::memcpy(low, members.data() + begin, count * sizeof(std::uint16_t));
          std::fill_n(share, kTogether, one);
          low += kTogether;
          share += kTogether;
          begin += kTogether;
        } while (begin < end);
      }
    }
  }
};

void GatheredMembers::gather(std::span<const Leaf> leaves, std::span<const std::uint32_t> cells) {
  for (const std::uint32_t cell : cells) {
    runs_[cell] = {end_, 0};
    for (const Leaf& leaf : leaves) end_ += cells_.end(leaf, cell) - cells_.begin(leaf, cell);
    end_ += kTogether;
  }
  if (low_.size() < end_) {
    low_.resize(end_);
    share_.resize(end_);
  }
  dispatch<Copy>(isa_, *this, leaves, cells);
}

}  // namespace cqrf
