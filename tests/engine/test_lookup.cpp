// Members that are gathered by cells, and the weights of single ranks, against plain filters.
#include "prediction/lookup.hpp"

#include "check.hpp"
#include "isas.hpp"
#include "planted.hpp"

using namespace cqrf;
using test::each_isa;
using test::OutcomeData;
using test::Planted;
using test::Planting;

namespace {

Cells make_cells(const Planted& planted, int shift) {
  Monitor monitor;
  return Cells(planted.forest, shift, planted.censored(), 1, monitor);
}

// The members of some leaves in a run of cells, in the order of the leaves.
void check_run(const Planted& planted, const std::vector<LeafId>& ids, int shift,
               const CellRun& wanted, const MemberRun& run) {
  const auto within = [](Range range, std::size_t at) {
    return range.begin <= at && at < range.end;
  };
  std::size_t i = 0;
  for (const auto& ranks : planted.members(ids))
    for (const Rank rank : ranks) {
      if (!within(wanted.cells, rank >> shift) || !within(wanted.places, rank % kBlockRows))
        continue;
      CHECK(i < run.size);
      if (i >= run.size) return;
      CHECK_EQ(std::size_t{run.low[i]} % kBlockRows, rank % kBlockRows);
      CHECK_EQ(run.low[i] >> kPlaceBits, planted.outcome.event[rank]);
      CHECK_EQ(run.share[i], 1.0f / static_cast<float>(ranks.size()));
      ++i;
    }
  CHECK_EQ(run.size, i);
}

// All cells in runs of so many, or less at the end of a block.
std::vector<CellRun> in_runs(const Cells& cells, std::size_t length) {
  const std::size_t per_block = kBlockRows >> cells.shift();
  std::vector<CellRun> all;
  for (std::size_t k = 0; k < cells.size(); ++k) add_cell(k, k % per_block % length != 0, all);
  return all;
}

enum class Form { kOneBlock, kBytes, kCounted };

// Three thousand rows, or some more than a block has.
Planted& planted_in(Form form, std::uint32_t n_leaves, Random& random) {
  static std::unique_ptr<Planted> planted;
  const std::size_t n = form == Form::kOneBlock ? 3000 : kBlockRows + 700;
  planted = std::make_unique<Planted>(OutcomeData(n, 500, 0.5, random), 4, n_leaves,
                                      Planting::kByTime, random);
  if (form == Form::kCounted) planted->arrays.count_blocks();
  planted->forest = planted->arrays.view();
  return *planted;
}

void check_weights(const Planted& planted, const std::vector<LeafId>& ids, const RankLookup& lookup,
                   const std::vector<std::size_t>& wanted, int shift, double tolerance) {
  const auto expected = planted.weights(ids);
  const std::size_t size = std::size_t{1} << shift;
  std::vector<bool> known((expected.size() - 1) / size + 1, false);
  for (const std::size_t level : wanted) known[level] = true;
  std::size_t wrong = 0;
  for (std::size_t level = 0; level < known.size(); ++level)
    wrong += lookup.known(level) != known[level];
  CHECK_EQ(wrong, 0u);
  for (const std::size_t level : wanted)
    for (std::size_t rank = level * size; rank < std::min(expected.size(), (level + 1) * size);
         ++rank)
      CHECK_NEAR(lookup.weight(rank), expected[rank], tolerance);
}

// Weights are sums of four shares of at most one, in single precision.
constexpr double kRounding = 4 * 0x1p-24;

// Few levels, neighbouring ones and many; the first and the last level; what was found before
// stays.
const std::vector<std::vector<std::size_t>> kRounds{
    {5}, {0, 7, 6}, {4, 22, 24, 26, 28, 30, 32, 34, 36, 38, 40, 42, 44, 46, 21}, {2, 1}};

void look_up_in_rounds(const Planted& planted, RankLookup& lookup, int shift, Random& random,
                       double tolerance) {
  const auto ids = planted.some_leaves(random);
  const auto leaves = planted.leaves(ids);
  const std::size_t last = (planted.outcome.size() - 1) >> shift;
  std::vector<std::size_t> wanted;
  lookup.clear();
  for (const auto& round : kRounds) {
    for (const std::size_t level : round) {
      lookup.want(level);
      lookup.want(last - level);
      wanted.push_back(level);
      wanted.push_back(last - level);
    }
    CHECK(lookup.waiting());
    lookup.look_up(leaves);
    CHECK(!lookup.waiting());
    lookup.want(round.front());
    CHECK(!lookup.waiting());
    check_weights(planted, ids, lookup, wanted, shift, tolerance);
  }
}

}  // namespace

// In two steps, in any order of cells, one and several together; with the last leaf of the last
// tree, behind which there is nothing to read.
TEST(gathered_are_the_members_of_cells) {
  Random random(1);
  for (const std::uint32_t n_leaves : {1, 2, 20, 90})
    for (const Form form : {Form::kOneBlock, Form::kCounted})
      for (const int shift : {5, 8}) {
        const Planted& planted = planted_in(form, n_leaves, random);
        const Cells cells = make_cells(planted, shift);
        each_isa([&](Isa) {
          GatheredMembers gathered(planted.forest, cells);
          CHECK_EQ(gathered.cell_shift(), shift);
          for (int point = 0; point < 2; ++point) {
            gathered.clear();
            const auto ids = planted.some_leaves(random);
            const std::size_t end = cells.size();
            const std::vector<CellRun> first{{{end - 1, end}}, {{0, 1}}, {{3, 5}}};
            const std::vector<CellRun> second{
                {{2, 3}}, {{end - 3, end - 1}}, {{1, 2}}, {{7, 9}}, {{5, 6}}};
            gathered.gather(planted.found(cells, ids), first);
            gathered.gather(planted.found(cells, ids), second);
            for (const auto& some : {first, second})
              for (const CellRun& run : some)
                for (std::size_t cell = run.cells.begin; cell < run.cells.end; ++cell) {
                  CHECK_EQ(gathered.first_of_run(cell), run.cells.begin);
                  check_run(planted, ids, shift, run, gathered.run(cell));
                }
          }
        });
      }
}

// From none to all of a cell of 128 rows, and whole and broken runs of 32 among them.
TEST(gathered_runs_of_any_length) {
  Random random(5);
  std::vector<std::vector<Rank>> leaves(2);
  for (Rank rank = 0; rank < 129 * 128; ++rank) leaves[rank % 128 < rank / 128].push_back(rank);
  const Planted planted(OutcomeData(129 * 128, 500, 0.5, random), leaves);
  const Cells cells = make_cells(planted, 7);
  GatheredMembers gathered(planted.forest, cells);
  for (const LeafId leaf : {0u, 1u}) {
    gathered.clear();
    gathered.gather(planted.found(cells, {leaf}), in_runs(cells, 1));
    for (std::size_t k = 0; k < cells.size(); ++k) {
      CHECK_EQ(gathered.run(k).size, leaf == 1 ? k : 128 - k);
      check_run(planted, {leaf}, 7, {{k, k + 1}}, gathered.run(k));
    }
  }
}

// The first, the last and any members of cells, of which leaves have from none to more than 32.
TEST(gathered_are_the_members_between_places) {
  Random random(6);
  for (const std::uint32_t n_leaves : {1, 5, 90})
    for (const Form form : {Form::kOneBlock, Form::kCounted}) {
      const int shift = 8;
      const Planted& planted = planted_in(form, n_leaves, random);
      const Cells cells = make_cells(planted, shift);
      std::vector<CellRun> runs;
      for (std::size_t k = 0; k < cells.size(); ++k) {
        const std::size_t first = (k << shift) % kBlockRows;
        const std::size_t begin = k % 3 == 0 ? 0 : random.below(1 << shift);
        const std::size_t length = k % 3 == 1 ? 1 << shift : random.below(1 << shift);
        runs.push_back({{k, k + 1}, {first + begin, first + begin + length}});
      }
      each_isa([&](Isa) {
        GatheredMembers gathered(planted.forest, cells);
        const auto ids = planted.some_leaves(random);
        gathered.gather(planted.found(cells, ids), runs);
        for (std::size_t k = 0; k < cells.size(); ++k)
          check_run(planted, ids, shift, runs[k], gathered.run(k));
      });
    }
}

// Leaves by time, every one of which ends before the last cell: their last reads are short.
TEST(gathered_behind_the_last_member) {
  Random random(2);
  std::vector<std::vector<Rank>> leaves(2);
  for (Rank rank = 0; rank < 2048; ++rank) leaves[rank < 40].push_back(rank);
  const Planted planted(OutcomeData(2048, 2048, 0.5, random), leaves);
  const Cells cells = make_cells(planted, 3);
  GatheredMembers gathered(planted.forest, cells);
  gathered.gather(planted.found(cells, {1}), in_runs(cells, 1));
  for (std::size_t k = 0; k < cells.size(); ++k)
    check_run(planted, {1}, 3, {{k, k + 1}}, gathered.run(k));
}

TEST(lookup_among_all_members) {
  Random random(3);
  for (const Form form : {Form::kOneBlock, Form::kBytes, Form::kCounted})
    for (const std::uint32_t n_leaves : {1, 6, 90}) {
      const Planted& planted = planted_in(form, n_leaves, random);
      for (const int shift : {0, 3, form == Form::kOneBlock ? 5 : 9})
        each_isa([&](Isa) {
          RankLookup lookup(planted.forest, shift, nullptr);
          for (int point = 0; point < 2; ++point)
            look_up_in_rounds(planted, lookup, shift, random, kRounding);
        });
    }
}

TEST(lookup_among_gathered_members) {
  Random random(4);
  for (const Form form : {Form::kOneBlock, Form::kBytes, Form::kCounted})
    for (const std::uint32_t n_leaves : {1, 6, 90}) {
      const Planted& planted = planted_in(form, n_leaves, random);
      const int shift = form == Form::kOneBlock ? 4 : 7;
      // Cells of 2, 8 and 64 levels.
      for (const int bits : {1, 3, 6}) {
        const Cells cells = make_cells(planted, shift + bits);
        each_isa([&](Isa) {
          GatheredMembers gathered(planted.forest, cells);
          RankLookup lookup(planted.forest, shift, &gathered);
          const auto ids = planted.some_leaves(random);
          const auto leaves = planted.leaves(ids);
          gathered.gather(planted.found(cells, ids), in_runs(cells, 1 + random.below(3)));
          std::vector<std::size_t> wanted;
          for (const auto& round : kRounds) {
            for (const std::size_t level : round) lookup.want(level);
            wanted.insert(wanted.end(), round.begin(), round.end());
            lookup.look_up(leaves);
            check_weights(planted, ids, lookup, wanted, shift, kRounding);
          }
        });
      }
    }
}
