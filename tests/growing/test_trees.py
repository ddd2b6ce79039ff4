"""Members of leaves in as few bytes as tell them, against NumPy that is written to be read."""

import copy
import pickle

import numpy as np
import pytest

from cqrf import CensoredQuantileForest, _engine
from cqrf.growing import grow as growing
from cqrf.growing import options
from cqrf.growing.trees import Members, Trees
from cqrf.solving.options import levels_of_time

BLOCK = 2**15
ARRAYS = ("members", "members_block", "members_block_high", "block_counts")


def stump(ranks, n, split, seed=0):
    """A tree with two leaves, whose members are the ranks before a position and those after it."""
    event = np.random.default_rng(seed).integers(0, 2, n).astype(np.uint8)
    ranks = np.concatenate([np.sort(ranks[:split]), np.sort(ranks[split:])]).astype(np.uint32)
    leaf_start = np.array([0, split, len(ranks)], dtype=np.uint32)
    leaf_offset = np.array([0, 3], dtype=np.int64)
    return ranks[None], event, leaf_start, leaf_offset


def trees_of(members, event, leaf_start, leaf_offset):
    leaf = 2**16 + 255
    return Trees(
        nodes=np.array([[1, 0, 1, 0], [1, 0, leaf, 0], [2, 0, leaf, 1]], dtype=np.uint32),
        node_offset=np.array([0, 3]),
        subsets=np.zeros((0, 4), dtype=np.uint64),
        subset_offset=np.array([0, 0]),
        leaf_start=leaf_start,
        leaf_offset=leaf_offset,
        **vars(members),
        event=event,
        missing=np.array([3], dtype=np.uint8),
        seed=0,
    )


def counts_twin(ranks, leaf_start, n):
    """How many members of each leaf of one tree lie in each block."""
    return np.array(
        [
            [np.sum(leaf // BLOCK == block) for block in range(-(-n // BLOCK))]
            for leaf in np.split(ranks[0], leaf_start[1:-1])
        ],
        dtype=np.uint16,
    )


# Around the numbers of rows at which one block, and one byte for blocks, are no longer enough.
@pytest.mark.parametrize("n", [1000, BLOCK, BLOCK + 1, 5 * BLOCK + 3, 256 * BLOCK, 256 * BLOCK + 1])
@pytest.mark.parametrize("split", [1, 400])
def test_members_are_packed_and_unpacked(n, split):
    rng = np.random.default_rng(n)
    drawn = np.concatenate([[0, n - 1], 1 + rng.choice(n - 2, 900, replace=False)])
    ranks, event, leaf_start, leaf_offset = stump(rng.permutation(drawn), n, split)
    packed = Members.of(ranks, event)
    np.testing.assert_array_equal(packed.members, ranks % BLOCK + BLOCK * event[ranks].astype(int))
    assert packed.members.dtype == np.uint16
    assert (packed.members_block is None) == (n <= BLOCK)
    if packed.members_block is not None:
        np.testing.assert_array_equal(packed.members_block, ranks // BLOCK % 256)
    assert (packed.members_block_high is None) == (n <= 256 * BLOCK)
    if packed.members_block_high is not None:
        np.testing.assert_array_equal(packed.members_block_high, ranks // BLOCK // 256)
    trees = trees_of(packed, event, leaf_start, leaf_offset)
    np.testing.assert_array_equal(trees.ranks(), ranks, strict=True)
    np.testing.assert_array_equal(trees.sizes(), [len(drawn)])
    if n > BLOCK:
        counts = _engine.count_blocks(
            *packed.rows(0, 1)[1:], leaf_start, leaf_offset, -(-n // BLOCK), 2
        )
        np.testing.assert_array_equal(counts, counts_twin(ranks, leaf_start, n), strict=True)
        counted = Members(packed.members, None, None, counts)
        trees = trees_of(counted, event, leaf_start, leaf_offset)
        np.testing.assert_array_equal(trees.ranks(), ranks, strict=True)


def test_only_members_of_leaves_are_packed():
    ranks = np.array([[0, 2, 0, 0], [1, 2, 3, 0]], dtype=np.uint32)
    event = np.ones(40_000, dtype=np.uint8)
    packed = Members.zeros(3, 4, len(event))
    packed.take(ranks, event, np.array([2, 3], dtype=np.uint32))
    expected = BLOCK + np.array([[0, 2], [1, 2]])
    np.testing.assert_array_equal(packed.members[:2, :2], expected)
    assert packed.members[1, 2] == BLOCK + 3
    assert packed.members[0, 2:].tolist() == [0, 0]
    assert packed.members[1, 3] == 0
    assert not packed.members[2].any()


@pytest.mark.parametrize(("n_leaves", "counted"), [(1, True), (99, True), (100, False)])
def test_the_smaller_form_is_chosen(n_leaves, counted):
    # Two blocks of two bytes for each leaf, or one byte for each of 400 members.
    n, room = BLOCK + 1, 400
    packed = Members.of(np.arange(room, dtype=np.uint32)[None], np.ones(n, dtype=np.uint8))
    starts = np.append(np.arange(n_leaves), room).astype(np.uint32)
    found = packed.counted(starts, np.array([0, n_leaves + 1]), n, 1)
    assert (found.block_counts is not None) == counted
    assert (found.members_block is None) == counted
    assert found.members is packed.members


def test_two_bytes_for_each_member_are_replaced_sooner():
    n, room = 256 * BLOCK + 1, 2056
    packed = Members.of(np.arange(room, dtype=np.uint32)[None], np.ones(n, dtype=np.uint8))
    for n_leaves, counted in ((7, True), (8, False)):
        starts = np.append(np.arange(n_leaves), room).astype(np.uint32)
        found = packed.counted(starts, np.array([0, n_leaves + 1]), n, 1)
        assert (found.block_counts is not None) == counted
        assert (found.members_block_high is None) == counted


def test_one_block_is_not_counted():
    packed = Members.of(np.arange(50, dtype=np.uint32)[None], np.ones(50, dtype=np.uint8))
    assert packed.counted(np.array([0, 50], dtype=np.uint32), np.array([0, 2]), 50, 1) is packed


def count(block=None, high=None, start=(0, 1, 4), offset=(0, 3), n_blocks=3):
    block = np.array([[0, 2, 1, 0]], dtype=np.uint8) if block is None else block
    return _engine.count_blocks(
        block, high, np.array(start, dtype=np.uint32), np.array(offset, dtype=np.int64), n_blocks, 1
    )


def test_counts_by_hand():
    np.testing.assert_array_equal(count(), [[1, 0, 0], [1, 1, 1]])
    high = np.array([[0, 0, 1, 0]], dtype=np.uint8)
    found = count(high=high, n_blocks=300)
    assert found.sum() == 4
    assert [found[0, 0], found[1, 0], found[1, 2], found[1, 257]] == [1, 1, 1, 1]


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        ({"offset": (0, 2)}, "leaf offsets"),
        ({"offset": (1, 3)}, "leaf offsets"),
        ({"offset": (0, 3, 3)}, "leaf offsets"),
        ({"offset": ()}, "leaf offsets"),
        ({"start": (0, 1, 4), "offset": (0, 0, 3)}, "leaf offsets"),
        ({"block": np.zeros((2, 2), np.uint8), "offset": (0, 3, 3)}, "leaf offsets"),
        ({"high": np.zeros((1, 3), np.uint8)}, "leaf offsets"),
        ({"start": (0, 1, 5)}, "out of range"),
        ({"start": (0, 2**32 - 1, 4)}, "out of range"),
        ({"n_blocks": 2}, "block out of range"),
        ({"n_blocks": 0}, "block out of range"),
        ({"high": np.ones((1, 4), np.uint8)}, "block out of range"),
    ],
)
def test_counts_of_what_does_not_go_together(wrong, reason):
    with pytest.raises(ValueError, match=reason):
        count(**wrong)


@pytest.mark.parametrize("wrong", [{"block": np.zeros(4, np.uint8)}, {"n_blocks": -1}])
def test_counts_of_other_types(wrong):
    with pytest.raises(TypeError):
        count(**wrong)


def draw(n=40_000, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, 2))
    T = X[:, 0] + rng.exponential(size=n)
    C = rng.exponential(3.0, n)
    return X, np.minimum(T, C), T <= C


# Large leaves count their members, small ones tell the block of each.
FORMS = {"counts": {"min_samples_leaf": 2000}, "bytes": {"min_samples_leaf": 1}}


@pytest.fixture(scope="module", params=FORMS)
def grown(request):
    params = {"max_samples": 0.3, "random_state": 3, "n_jobs": 2} | FORMS[request.param]
    forest = CensoredQuantileForest(4, **params).fit(*draw())
    assert (forest.trees_.block_counts is not None) == (request.param == "counts")
    assert (forest.trees_.members_block is None) == (request.param == "counts")
    return forest


def assert_same_trees(found, expected):
    for name in (*ARRAYS, "nodes", "leaf_start"):
        one, other = getattr(found.trees_, name), getattr(expected.trees_, name)
        assert (one is None) == (other is None)
        if one is not None:
            np.testing.assert_array_equal(one, other, strict=True)


SHAPES = {
    "plain": {},
    "bootstrap": {"criterion": "mse", "bootstrap": True},
    "honest": {"honest": True, "bootstrap": True},
    "groups": {"ci_group_size": 2},
}


@pytest.mark.parametrize("shape", SHAPES)
def test_counts_while_leaves_are_filled(shape, monkeypatch):
    params = {"min_samples_leaf": 1500, "random_state": 3, "n_jobs": 2} | SHAPES[shape]
    forest = CensoredQuantileForest(4, **params).fit(*draw())
    in_batches = CensoredQuantileForest(4, verbose=1, **params).fit(*draw())
    # Not sure beforehand that leaves are few: counted when all are there.
    monkeypatch.setattr(growing, "counts_are_smaller", lambda *_: False)
    later = CensoredQuantileForest(4, **params).fit(*draw())
    assert forest.trees_.block_counts is not None
    assert_same_trees(in_batches, forest)
    assert_same_trees(later, forest)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("leaf", [1, 7, 600])
def test_no_tree_has_more_leaves(shape, leaf):
    n = 500
    params = {"min_samples_leaf": leaf, "random_state": 0} | SHAPES[shape]
    forest = CensoredQuantileForest(20, **params).fit(*draw(n))
    n_leaves = np.diff(forest.trees_.leaf_offset) - 1
    most = options.most_leaves(forest.model_.options, n)
    assert n_leaves.max() <= most
    # And not many more are allowed for.
    assert most <= max(1, n // leaf)


def test_every_row_is_in_one_leaf(grown):
    # The leaf that a training row is sent to holds it.
    X, y, _ = draw()
    trees, target = grown.trees_, grown.target_
    leaves = grown.apply(X[target.order])
    for t, ranks in enumerate(trees.ranks()):
        np.testing.assert_array_equal(np.sort(ranks), np.arange(len(y)))
        start = trees.leaf_start[trees.leaf_offset[t] : trees.leaf_offset[t + 1]]
        holds = np.repeat(np.arange(len(start) - 1), np.diff(start))
        np.testing.assert_array_equal(leaves[ranks, t], holds)
    packed = trees.members >> 15
    np.testing.assert_array_equal(packed, target.event[trees.ranks()])


def test_warm_start_grows_the_same_trees(grown):
    forest = CensoredQuantileForest(**grown.get_params()).set_params(n_estimators=2)
    forest.set_params(warm_start=True, n_jobs=1).fit(*draw())
    forest.set_params(n_estimators=4).fit(*draw())
    assert_same_trees(forest, grown)


def test_pickles_and_files_keep_the_form(grown, tmp_path):
    X = draw(20, seed=1)[0]
    grown.save(tmp_path / "model.cqrf")
    for twin in (
        pickle.loads(pickle.dumps(grown)),
        copy.deepcopy(grown),
        CensoredQuantileForest.load(tmp_path / "model.cqrf"),
    ):
        assert_same_trees(twin, grown)
        np.testing.assert_array_equal(twin.predict(X), grown.predict(X))
    CensoredQuantileForest.load(tmp_path / "model.cqrf").save(tmp_path / "again.cqrf")
    assert (tmp_path / "again.cqrf").read_bytes() == (tmp_path / "model.cqrf").read_bytes()


def test_warm_start_of_honest_trees_leaves_no_bits_behind_their_leaves():
    # A bootstrap sample has fewer distinct rows than there is room for.
    X, y, event = draw(300)
    forest = CensoredQuantileForest(
        4, honest=True, bootstrap=True, min_samples_leaf=3, random_state=0
    ).fit(X, y, event)
    assert (forest.trees_.sizes() < forest.trees_.members.shape[1]).all()
    other = CensoredQuantileForest(**forest.get_params()).set_params(n_estimators=2)
    other.set_params(warm_start=True).fit(X, y, event)
    other.set_params(n_estimators=4).fit(X, y, event)
    assert_same_trees(other, forest)


@pytest.mark.parametrize(
    ("given", "n", "levels"),
    [
        ("auto", 8192, 0),
        ("auto", 8193, 8192),
        (None, 10**6, 0),
        (100, 10**6, 100),
        (np.int64(7), 10**6, 7),
        (10**30, 10**6, 10**6),
    ],
)
def test_levels_of_time(given, n, levels):
    assert levels_of_time(given, n) == levels


@pytest.mark.parametrize(
    ("given", "error", "reason"),
    [
        ("full", ValueError, "time_resolution must be one of"),
        (0, ValueError, "time_resolution must be at least 1"),
        (-5, ValueError, "time_resolution must be at least 1"),
        (True, TypeError, "time_resolution must be an integer or None"),
        (512.0, TypeError, "time_resolution must be an integer or None"),
        ([512], TypeError, "time_resolution must be an integer or None"),
    ],
)
def test_time_resolution_that_is_refused(given, error, reason):
    X, y, event = draw(50)
    forest = CensoredQuantileForest(2, random_state=0)
    with pytest.raises(error, match=reason):
        forest.set_params(time_resolution=given).fit(X, y, event)
    assert not hasattr(forest, "trees_")
    forest.set_params(time_resolution=None).fit(X, y, event)
    with pytest.raises(error, match=reason):
        forest.set_params(time_resolution=given).predict(X)


def test_a_time_resolution_beyond_all_numbers():
    X, y, event = draw(50)
    forest = CensoredQuantileForest(2, random_state=0, time_resolution=2**100).fit(X, y, event)
    found = forest.predict(X)
    np.testing.assert_array_equal(found, forest.set_params(time_resolution=50).predict(X))
