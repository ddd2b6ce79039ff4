// Members in two bytes: what is packed is unpacked, and what is damaged is refused.
#include <algorithm>
#include <stdexcept>
#include <string>

#include "check.hpp"
#include "data.hpp"

using namespace cqrf;
using test::ForestData;

namespace {

std::vector<std::uint8_t> random_events(std::size_t n, Random& random) {
  std::vector<std::uint8_t> event(n);
  for (auto& e : event) e = static_cast<std::uint8_t>(random.below(2));
  return event;
}

// Distinct ranks below n in order: the first and the last of every block, and some between.
std::vector<Rank> some_ranks(std::size_t n, std::size_t between, Random& random) {
  std::vector<Rank> ranks;
  for (std::size_t first = 0; first < n; first += kBlockRows) {
    ranks.push_back(static_cast<Rank>(first));
    ranks.push_back(static_cast<Rank>(std::min(first + kBlockRows, n) - 1));
  }
  for (std::size_t i = 0; i < between; ++i)
    ranks.push_back(random.below(static_cast<std::uint32_t>(n)));
  std::sort(ranks.begin(), ranks.end());
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  return ranks;
}

// One split and two leaves; every third of the given ranks is in the first leaf.
ForestData stump(std::vector<Rank> ranks, std::vector<std::uint8_t> event) {
  test::TrainingSet seed(4, 1, 3, 1);
  ForestData forest(seed, seed.everything(), test::grow_options("mse", 0), 0);
  forest.nodes = {Node::make_cut(1, 0, 1, 3, false), Node::make_leaf(1, 0), Node::make_leaf(2, 1)};
  forest.node_offset = {0, 3};
  forest.subset_offset = {0, 0};
  forest.event = std::move(event);
  forest.members_per_tree = ranks.size();
  std::vector<Rank> order;
  for (std::size_t i = 0; i < ranks.size(); i += 3) order.push_back(ranks[i]);
  forest.leaf_start = {0, static_cast<std::uint32_t>(order.size()),
                       static_cast<std::uint32_t>(ranks.size())};
  forest.leaf_offset = {0, 3};
  for (std::size_t i = 0; i < ranks.size(); ++i)
    if (i % 3) order.push_back(ranks[i]);
  forest.append_members(order);
  return forest;
}

constexpr std::size_t kBlocks = 3;
constexpr std::size_t kRows = (kBlocks - 1) * kBlockRows + 100;

// A tree that is not honest has all ranks.
ForestData three_blocks(bool counted) {
  Random random(7);
  std::vector<Rank> ranks(kRows);
  for (std::size_t i = 0; i < kRows; ++i) ranks[i] = static_cast<Rank>(i);
  ForestData forest = stump(ranks, random_events(kRows, random));
  if (counted) forest.count_blocks();
  return forest;
}

// An honest tree with few of the rows of more blocks than a byte counts.
ForestData many_blocks(bool counted) {
  Random random(8);
  const std::size_t rows = 258 * kBlockRows + 5;
  const std::vector<Rank> ranks = some_ranks(rows, 1000, random);
  ForestData forest = stump(ranks, random_events(rows, random));
  if (counted) forest.count_blocks();
  return forest;
}

template <class Make, class Corrupt>
void check_rejected(int line, Make make, bool counted, const std::string& reason, Corrupt corrupt) {
  ForestData forest = make(counted);
  corrupt(forest);
  try {
    forest.validate();
  } catch (const std::invalid_argument& error) {
    if (std::string(error.what()).find(reason) == std::string::npos)
      test::fail(__FILE__, line, "refused with ", error.what(), " instead of ", reason);
    return;
  }
  test::fail(__FILE__, line, "corrupted members were accepted");
}
#define CHECK_REJECTED(make, counted, reason, statement) \
  check_rejected(__LINE__, make, counted, reason, [](ForestData& f) { statement; })

constexpr bool kBytes = false;
constexpr bool kCounts = true;

}  // namespace

TEST(members_number_of_blocks) {
  CHECK_EQ(n_blocks(1), 1u);
  CHECK_EQ(n_blocks(kBlockRows), 1u);
  CHECK_EQ(n_blocks(kBlockRows + 1), 2u);
  CHECK_EQ(n_blocks(kMaxRows - 1), 1u << 16);
  CHECK_EQ(block_bytes(kBlockRows), 0);
  CHECK_EQ(block_bytes(kBlockRows + 1), 1);
  CHECK_EQ(block_bytes(256 * kBlockRows), 1);
  CHECK_EQ(block_bytes(256 * kBlockRows + 1), 2);
  CHECK_EQ(block_bytes(kMaxRows - 1), 2);
}

// Packed with as many bytes as the rows need, and as counts: the same ranks and events come back.
TEST(members_unpack_what_was_packed) {
  Random random(1);
  for (const std::size_t rows :
       {std::size_t{1}, std::size_t{50}, kBlockRows - 1, kBlockRows, kBlockRows + 1,
        3 * kBlockRows - 2, 256 * kBlockRows, 256 * kBlockRows + 1, 300 * kBlockRows + 17}) {
    const std::vector<Rank> ranks = some_ranks(rows, 200, random);
    const std::vector<std::uint8_t> event = random_events(rows, random);
    ForestData forest = stump(ranks, event);
    CHECK_EQ(forest.block.empty(), rows <= kBlockRows);
    CHECK_EQ(forest.block_high.empty(), rows <= 256 * kBlockRows);
    for (const bool counted : {false, true}) {
      if (counted) forest.count_blocks();
      const PackedMembers members = forest.view().members;
      CHECK_EQ(members.counted(), counted);
      for (std::uint32_t id = 0; id < 2; ++id) {
        const Leaf leaf = forest.view().leaf(0, id);
        std::vector<Rank> expected;
        for (std::size_t i = 0; i < ranks.size(); ++i)
          if ((i % 3 == 0) == (id == 0)) expected.push_back(ranks[i]);
        // As large as it must be: the address sanitizer sees a write behind it.
        std::vector<Rank> found(leaf.size);
        members.unpack(leaf, found.data());
        CHECK(found == expected);
        for (std::size_t i = 0; i < found.size(); ++i) {
          const std::size_t at = leaf.first + i;
          CHECK_EQ(members.low[at] >> kPlaceBits, event[found[i]]);
          if (!counted) CHECK_EQ(members.block_of(at), found[i] / kBlockRows);
        }
      }
    }
  }
}

// Rows in the order of their ranks are packed leaf after leaf, with a block for each or counted.
TEST(members_are_filled_in_the_order_of_rows) {
  Random random(2);
  for (const std::size_t rows : {std::size_t{50}, kBlockRows, kBlockRows + 1, 3 * kBlockRows - 2,
                                 256 * kBlockRows + 1, 300 * kBlockRows + 17}) {
    std::vector<Rank> ranks = some_ranks(rows, 200, random);
    // Some blocks are empty.
    std::erase_if(ranks, [](Rank rank) { return rank / kBlockRows % 5 == 3; });
    ForestData expected = stump(ranks, random_events(rows, random));
    Tree tree;
    tree.nodes = expected.nodes;
    std::vector<LeafId> leaf_of;
    for (std::size_t i = 0; i < ranks.size(); ++i) leaf_of.push_back(i % 3 == 0 ? 0 : 1);
    count_members(tree, leaf_of);
    CHECK(tree.leaf_start == expected.leaf_start);
    std::vector<std::uint16_t> low(expected.low.size());
    std::vector<std::uint8_t> block(expected.block.size());
    std::vector<std::uint8_t> high(expected.block_high.size());
    MemberRoom room{low.data(), block.empty() ? nullptr : block.data(),
                    high.empty() ? nullptr : high.data()};
    room.fill(tree, {ranks, leaf_of}, expected.event);
    CHECK(low == expected.low);
    CHECK(block == expected.block);
    CHECK(high == expected.block_high);
    expected.count_blocks();
    std::vector<std::uint16_t> counts(expected.block_counts.size());
    std::fill(low.begin(), low.end(), std::uint16_t{0});
    room = {low.data(), nullptr, nullptr, counts.data()};
    room.fill(tree, {ranks, leaf_of}, expected.event);
    CHECK(low == expected.low);
    CHECK(counts == expected.block_counts);
  }
}

// A room larger than a leaf is not read beyond it, and not made smaller.
TEST(members_of_leaves_of_many_sizes) {
  const ForestData data = three_blocks(kCounts);
  const Forest forest = data.view();
  std::vector<Rank> room;
  CHECK_EQ(forest.leaf_members(0, 1, room).size(), kRows - (kRows + 2) / 3);
  const auto first = forest.leaf_members(0, 0, room);
  CHECK_EQ(first.size(), (kRows + 2) / 3);
  for (std::size_t i = 0; i < first.size(); ++i) CHECK_EQ(first[i], 3 * i);
}

TEST(members_of_several_blocks_are_valid) {
  for (const bool counted : {kBytes, kCounts}) {
    three_blocks(counted).validate();
    many_blocks(counted).validate();
  }
}

// A whole block in one leaf is one more than 15 bits count.
TEST(members_of_a_whole_block) {
  ForestData forest = three_blocks(kBytes);
  forest.nodes = {Node::make_leaf(0, 0)};
  forest.node_offset = {0, 1};
  forest.leaf_start = {0, static_cast<std::uint32_t>(kRows)};
  forest.leaf_offset = {0, 2};
  forest.low.clear();
  forest.block.clear();
  std::vector<Rank> ranks(kRows);
  for (std::size_t i = 0; i < kRows; ++i) ranks[i] = static_cast<Rank>(i);
  forest.append_members(ranks);
  forest.count_blocks();
  CHECK_EQ(forest.block_counts[0], kBlockRows);
  forest.validate();
  std::vector<Rank> room;
  CHECK(std::ranges::equal(forest.view().leaf_members(0, 0, room), ranks));
}

TEST(members_rejected_events) {
  for (const bool counted : {kBytes, kCounts}) {
    CHECK_REJECTED(three_blocks, counted, "event", f.low[5] ^= kEventBit);
    CHECK_REJECTED(three_blocks, counted, "event", f.low.back() ^= kEventBit);
    CHECK_REJECTED(three_blocks, counted, "event", f.event[kBlockRows + 1] ^= 1);
    CHECK_REJECTED(three_blocks, counted, "event", f.event.back() = 2);
    CHECK_REJECTED(many_blocks, counted, "event", f.low[100] ^= kEventBit);
  }
}

TEST(members_rejected_blocks) {
  CHECK_REJECTED(three_blocks, kBytes, "out of range", f.block.back() = kBlocks);
  CHECK_REJECTED(three_blocks, kBytes, "out of range", f.block[0] = 255);
  CHECK_REJECTED(three_blocks, kBytes, "not in order", f.block[0] = 2);
  // In range, but beyond the last row, which has the place 99 of the last block.
  CHECK_REJECTED(three_blocks, kBytes, "out of range",
                 f.low.back() = static_cast<std::uint16_t>(100 | (f.low.back() & kEventBit)));
  CHECK_REJECTED(three_blocks, kCounts, "out of range",
                 f.low.back() = static_cast<std::uint16_t>(100 | (f.low.back() & kEventBit)));
  CHECK_REJECTED(many_blocks, kBytes, "out of range", f.block_high.back() = 2);
  CHECK_REJECTED(many_blocks, kBytes, "not in order", f.block_high[0] = 1);
}

TEST(members_rejected_counts) {
  CHECK_REJECTED(three_blocks, kCounts, "block counts", f.block_counts[0] += 1);
  CHECK_REJECTED(three_blocks, kCounts, "block counts", f.block_counts[0] = 0);
  CHECK_REJECTED(three_blocks, kCounts, "block counts", f.block_counts.back() = 0xffff);
  // Unpacking would write far beyond the leaf.
  CHECK_REJECTED(three_blocks, kCounts, "block counts",
                 std::fill(f.block_counts.begin(), f.block_counts.end(), std::uint16_t{0xffff}));
  // The sum is right, but members go to a block where they are not in order.
  CHECK_REJECTED(three_blocks, kCounts, "not in order", {
    f.block_counts[0] -= 1;
    f.block_counts[1] += 1;
  });
  CHECK_REJECTED(three_blocks, kCounts, "out of range", {
    f.block_counts[1] -= 40;
    f.block_counts[2] += 40;
  });
  CHECK_REJECTED(three_blocks, kCounts, "number of block counts", f.block_counts.pop_back());
  CHECK_REJECTED(three_blocks, kCounts, "number of block counts", f.block_counts.push_back(0));
}

TEST(members_rejected_arrays) {
  CHECK_REJECTED(three_blocks, kBytes, "number of block bytes", f.block.clear());
  CHECK_REJECTED(three_blocks, kBytes, "number of block bytes", f.block.pop_back());
  CHECK_REJECTED(three_blocks, kBytes, "number of block bytes", f.block.push_back(0));
  CHECK_REJECTED(three_blocks, kBytes, "number of block bytes", f.block_high = f.block);
  CHECK_REJECTED(three_blocks, kCounts, "number of block bytes", f.block_counts.clear());
  CHECK_REJECTED(three_blocks, kCounts, "number of block bytes", f.block.assign(f.low.size(), 0));
  CHECK_REJECTED(many_blocks, kBytes, "number of block bytes", f.block_high.clear());
  CHECK_REJECTED(many_blocks, kBytes, "number of block bytes", f.block.clear());
  CHECK_REJECTED(many_blocks, kCounts, "number of block bytes", f.block_high.assign(1, 0));
  // Few rows need neither.
  const auto one_block = [](bool) {
    Random random(3);
    return stump(some_ranks(300, 400, random), random_events(400, random));
  };
  one_block(false).validate();
  CHECK_REJECTED(one_block, kBytes, "number of block bytes", f.block.assign(f.low.size(), 0));
  CHECK_REJECTED(one_block, kBytes, "single block", f.count_blocks());
}

TEST(members_rejected_number_of_blocks) {
  for (const bool counted : {kBytes, kCounts}) {
    const ForestData data = three_blocks(counted);
    Forest forest = data.view();
    for (const std::size_t wrong : {kBlocks - 1, kBlocks + 1, std::size_t{0}}) {
      forest.members.n_blocks = wrong;
      CHECK_THROWS(forest.validate(data.event), std::invalid_argument);
    }
  }
}
