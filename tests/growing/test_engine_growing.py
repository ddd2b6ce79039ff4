"""The trees themselves, read from their arrays and held against slow searches."""

import dataclasses
import functools
import itertools
import math

import numpy as np
import pytest
import twins
from scipy import stats

from cqrf import CensoredQuantileForest, _engine

CRITERIA = ["distribution", "random", "mse", "quantile", "logrank"]
THRESHOLDS = ["auto", 1, 3, None]
NAN = np.nan
LEAF, CATEGORICAL = 1 << 16, 1 << 17
# One failure in a million for a correct engine; the seeds are fixed, so it is this once or never.
RARE = 1e-6


def mixed_sample(seed=0, n=200):
    """Two numbers, one of them often missing, a small whole number and a category."""
    rng = np.random.default_rng(seed)
    X = np.column_stack(
        [
            rng.uniform(size=n),
            np.where(rng.random(n) < 0.3, NAN, rng.uniform(size=n)),
            rng.integers(0, 4, n),
            rng.integers(0, 6, n),
        ]
    )
    T = np.exp(X[:, 0] + np.nan_to_num(X[:, 1]) + 0.3 * (X[:, 3] % 2) + 0.3 * rng.normal(size=n))
    C = rng.exponential(8.0, n)
    return X, np.ceil(20 * np.minimum(T, C)) / 20, T <= C


def grow(X, time, event=None, sample_weight=None, **parameters):
    defaults = {"n_estimators": 5, "max_samples": None, "random_state": 0}
    return CensoredQuantileForest(**(defaults | parameters)).fit(
        X, time, event, sample_weight=sample_weight
    )


def grow_mixed(**parameters):
    return grow(*mixed_sample(), categorical_features=[3], **parameters)


class Tree:
    """One tree of a forest, to be walked slowly."""

    def __init__(self, forest, index, ranks=None):
        trees = forest.trees_
        self.nodes = trees.nodes[trees.node_offset[index] : trees.node_offset[index + 1]]
        self.subsets = trees.subsets[trees.subset_offset[index] : trees.subset_offset[index + 1]]
        self.start = trees.leaf_start[trees.leaf_offset[index] : trees.leaf_offset[index + 1]]
        self.members = (trees.ranks() if ranks is None else ranks)[index]
        self.missing = trees.missing

    def leaf_members(self, leaf):
        return self.members[self.start[leaf] : self.start[leaf + 1]]

    def goes_left(self, node, bins):
        """Of every row of `bins` (n, p), whether it goes left at this node."""
        _, feature, rule, subset = (int(word) for word in self.nodes[node])
        values = bins[:, feature]
        if rule & CATEGORICAL:
            bits = self.subsets[subset]
            return np.array([bool(int(bits[v >> 6]) >> (v & 63) & 1) for v in values.tolist()])
        shift = rule >> 8 & 0xFF
        assert shift in (0, self.missing[feature])
        return (values <= self.cut(node)) | ((shift > 0) & (values == self.missing[feature]))

    def cut(self, node):
        """The last bin that goes left.

        Missing values are the bin after the last; where they go left, bins are rotated so that
        they become the first.
        """
        rule = int(self.nodes[node][2])
        return ((rule & 0xFF) + (rule >> 8 & 0xFF)) % 256

    def missing_left(self, node):
        return bool(self.goes_left(node, self.missing[None, :])[0])

    def leaf(self, node):
        """The number of a leaf."""
        return int(self.nodes[node][3])

    def walk(self, bins, ranks):
        """Yield (node, depth, ranks that reach it) for every node."""
        waiting = [(0, 0, np.asarray(ranks))]
        while waiting:
            node, depth, here = waiting.pop()
            yield node, depth, here
            if not self.is_leaf(node):
                left = self.goes_left(node, bins[here])
                child = int(self.nodes[node][0])
                waiting.append((child, depth + 1, here[left]))
                waiting.append((child + 1, depth + 1, here[~left]))

    def is_leaf(self, node):
        return bool(self.nodes[node][2] & LEAF)


def all_trees(forest):
    ranks = forest.trees_.ranks()  # of all trees: once, not once for each
    return [Tree(forest, index, ranks) for index in range(len(forest.trees_))]


def drawn(forest, index):
    """How often a tree drew every rank."""
    options = forest.model_.options
    return _engine.sample_counts(
        forest.trees_.seed, index, forest.target_.n, options.n_draws, options.replace
    )


SAMPLINGS = [{}, {"bootstrap": True}, {"max_samples": 0.5}]


class TestRouting:
    @pytest.mark.parametrize("sampling", SAMPLINGS, ids=str)
    @pytest.mark.parametrize("n_thresholds", THRESHOLDS)
    @pytest.mark.parametrize("criterion", CRITERIA)
    def test_every_rank_is_in_the_leaf_it_is_routed_to(self, criterion, n_thresholds, sampling):
        forest = grow_mixed(criterion=criterion, n_thresholds=n_thresholds, **sampling)
        n = forest.target_.n
        for tree in all_trees(forest):
            np.testing.assert_array_equal(np.sort(tree.members), np.arange(n))
            leaves = []
            for node, _, here in tree.walk(forest.model_.bins, np.arange(n)):
                if tree.is_leaf(node):
                    leaf = tree.leaf(node)
                    leaves.append(leaf)
                    # In time order, which is the order of ranks.
                    np.testing.assert_array_equal(tree.leaf_members(leaf), here)
            assert sorted(leaves) == list(range(len(tree.start) - 1))
            assert len(leaves) > 1

    def test_apply_finds_the_same_leaves(self):
        forest = grow_mixed(criterion="mse", min_samples_leaf=3)
        X = mixed_sample(seed=1)[0]
        # Values and categories that training has not seen.
        X[::5, 3] = 99
        X[::7, 0] = NAN
        bins = forest.model_.binner.bin(forest.model_.encoder.encode(X), None, 1)
        leaves = forest.apply(X)
        for index, tree in enumerate(all_trees(forest)):
            for node, _, here in tree.walk(bins, np.arange(len(X))):
                if tree.is_leaf(node):
                    assert (leaves[here, index] == tree.leaf(node)).all()

    def test_children_follow_their_parents(self):
        for tree in all_trees(grow_mixed(min_samples_leaf=1)):
            inner = [node for node in range(len(tree.nodes)) if not tree.is_leaf(node)]
            children = [int(tree.nodes[node][0]) + side for node in inner for side in (0, 1)]
            assert sorted([0, *children]) == list(range(len(tree.nodes)))
            assert all(tree.nodes[node][0] > node for node in inner)


class TestSizes:
    @pytest.mark.parametrize("sampling", SAMPLINGS, ids=str)
    @pytest.mark.parametrize("n_thresholds", THRESHOLDS)
    @pytest.mark.parametrize("criterion", CRITERIA)
    def test_leaf_and_split(self, criterion, n_thresholds, sampling):
        for leaf, split in ((1, 2), (7, 2), (3, 40)):
            forest = grow_mixed(
                criterion=criterion,
                n_thresholds=n_thresholds,
                min_samples_leaf=leaf,
                min_samples_split=split,
                **sampling,
            )
            smallest = math.inf
            for index, tree in enumerate(all_trees(forest)):
                in_bag = np.flatnonzero(drawn(forest, index))
                for node, _, here in tree.walk(forest.model_.bins, in_bag):
                    if tree.is_leaf(node):
                        smallest = min(smallest, len(here))
                    else:
                        assert len(here) >= split
            # The bound is met, not overfulfilled: trees go as far as they may.
            assert leaf <= smallest < max(2 * leaf, split)

    @pytest.mark.parametrize("criterion", CRITERIA)
    @pytest.mark.parametrize("depth", [1, 2, 5])
    def test_depth(self, criterion, depth):
        forest = grow_mixed(criterion=criterion, max_depth=depth, min_samples_leaf=1)
        for tree in all_trees(forest):
            depths = [at for _, at, _ in tree.walk(forest.model_.bins, np.arange(forest.target_.n))]
            assert max(depths) == depth

    def test_fractions_are_rounded_up(self):
        forest = grow_mixed(min_samples_leaf=0.031, min_samples_split=0.101)
        assert (forest.min_samples_leaf_, forest.min_samples_split_) == (7, 21)

    def test_copies_of_a_row_count_once(self):
        # Whatever their weights, six rows cannot be parted into leaves of four.
        X, time = np.arange(6.0)[:, None], np.arange(6.0)
        forest = grow(X, time, sample_weight=[9, 9, 9, 1, 1, 1], min_samples_leaf=4)
        assert (np.diff(forest.trees_.node_offset) == 1).all()

    @pytest.mark.parametrize(
        ("given", "expected"), [(0.5, 100), (17, 17), (None, 200), (1.0, 200), (0.001, 1)]
    )
    @pytest.mark.parametrize("bootstrap", [False, True])
    def test_number_of_draws(self, given, expected, bootstrap):
        forest = grow_mixed(max_samples=given, bootstrap=bootstrap)
        counts = np.array([drawn(forest, index) for index in range(5)])
        assert (counts.sum(axis=1) == expected).all()
        assert counts.max() <= (200 if bootstrap else 1)


class TestHonest:
    @pytest.mark.parametrize(
        "sampling", [{}, {"bootstrap": True}, {"max_samples": 0.5}, {"max_samples": 3}], ids=str
    )
    @pytest.mark.parametrize("criterion", CRITERIA)
    def test_halves(self, criterion, sampling):
        forest = grow_mixed(
            criterion=criterion, honest=True, min_samples_leaf=2, n_estimators=10, **sampling
        )
        halves = []
        for index, tree in enumerate(all_trees(forest)):
            in_bag = np.flatnonzero(drawn(forest, index))
            filling = tree.members[: tree.start[-1]]
            assert len(np.unique(filling)) == len(filling)
            assert np.isin(filling, in_bag).all()
            assert len(filling) == len(in_bag) - len(in_bag) // 2
            assert (np.diff(tree.start) > 0).all()
            growing = np.setdiff1d(in_bag, filling)
            for node, _, here in tree.walk(forest.model_.bins, np.sort(filling)):
                if tree.is_leaf(node):
                    np.testing.assert_array_equal(tree.leaf_members(tree.leaf(node)), here)
            # Pruning hands the rows of a pruned side on: sides only become larger.
            for node, _, here in tree.walk(forest.model_.bins, growing):
                if tree.is_leaf(node) and node > 0:
                    assert len(here) >= 2
            halves.append(tuple(filling))
        assert len(set(halves)) == len(halves)

    def test_pruning_happens(self):
        # A growing half of unique feature values in leaves of one: a filling row cannot be in all.
        forest = grow(*mixed_sample(), honest=True, min_samples_leaf=1, criterion="mse")
        for tree in all_trees(forest):
            assert (np.diff(tree.start) > 0).all()
            assert len(tree.start) > 10

    def test_two_rows_and_one(self):
        for n in (1, 2, 3):
            forest = grow(np.arange(n)[:, None], np.arange(n), honest=True, min_samples_leaf=1)
            assert np.isfinite(forest.predict([[0.0]])).all()

    @pytest.mark.parametrize("criterion", ["mse", "random"])
    def test_splits_see_the_growing_half_alone(self, criterion):
        X, time, event = mixed_sample()
        # Ranks as times: a change of less than one leaves the order, and so the sample, alone.
        time = np.argsort(np.argsort(time, kind="stable")).astype(float)
        options = {"honest": True, "n_estimators": 1, "criterion": criterion, "min_samples_leaf": 1}
        forest = grow(X, time, event, **options)
        tree = Tree(forest, 0)
        filling = forest.target_.order[tree.members[: tree.start[-1]]]
        # The extremes stay, since all times are measured by their range.
        extremes = [time.argmin(), time.argmax()]
        rng = np.random.default_rng(2)

        def nodes_after_moving(rows):
            moved = time.copy()
            moved[rows] += rng.uniform(0.0, 0.9, len(rows))
            return grow(X, moved, event, **options).trees_.nodes

        np.testing.assert_array_equal(
            nodes_after_moving(np.setdiff1d(filling, extremes)), forest.trees_.nodes
        )
        growing = np.setdiff1d(np.arange(200), filling)
        assert not np.array_equal(
            nodes_after_moving(np.setdiff1d(growing, extremes)), forest.trees_.nodes
        )


def labels_of(criterion, time, event, weight, sample_weight):
    """What the rows are relabelled with, (n, columns).

    `weight` is that of the rows in the node, zero outside of it; `sample_weight` is that of all
    training rows.
    """
    if criterion == "mse":
        return time[:, None]
    if criterion == "logrank":
        hazard = [
            sum(
                weight[event & (time == t)].sum() / weight[time >= t].sum()
                for t in np.unique(time[(time <= u) & (weight > 0)])
            )
            for u in time
        ]
        return (event - np.array(hazard))[:, None]
    if criterion == "quantile":
        # A class ends at the time at which the weight so far reaches its level.
        before = np.array([weight[time < u].sum() for u in time])
        number = sum((before >= level * weight.sum()).astype(int) for level in (0.1, 0.5, 0.9))
        return np.eye(4)[number]
    # The chance to survive each of ten marginal quantiles, given what is known of the row.
    t, *_, S, _, _ = twins.kaplan_meier(time, event, sample_weight)
    survival = twins.step(t, S)
    columns = []
    for k in range(10):
        q = t[np.argmax(1 - (k + 1) / 11 >= S)] if S[-1] <= 1 - (k + 1) / 11 else t[-1]
        p = survival(q)
        after = np.divide(p, survival(time), out=np.zeros(len(time)), where=survival(time) > 0)
        u = np.where(time > q, 1.0, np.where(event, 0.0, after))
        if 0 < p < 1:
            columns.append(u / np.sqrt(p * (1 - p)))
    return np.column_stack(columns)


def gain(labels, weight, left):
    """Reduction of the squared error of all columns; for classes, of their impurity."""
    centred = labels - np.average(labels, axis=0, weights=weight)
    return sum(
        ((weight[side] @ centred[side]) ** 2).sum() / weight[side].sum() for side in (left, ~left)
    )


# Labels are integers in the engine: of thirty bits, or of twelve where ten columns follow from one.
def precision(criterion):
    return 1e-3 if criterion == "distribution" else 1e-7


def numeric_splits(column):
    """Every way to part a column by a threshold, missing values on either side."""
    missing = np.isnan(column)
    values = np.unique(column[~missing])
    for value in values:
        below = ~missing & (column <= value)
        yield below
        if missing.any():
            yield below | missing


def categorical_splits(column):
    values = [*np.unique(column[~np.isnan(column)]), NAN]
    member = [np.isnan(column) if np.isnan(value) else column == value for value in values]
    member = [rows for rows in member if rows.any()]
    for chosen in itertools.product([False, True], repeat=len(member)):
        yield np.any([rows for rows, taken in zip(member, chosen, strict=True) if taken], axis=0)


def assert_best(forest, X, time, event, weight, criterion, splits, min_leaf, sample_weight=None):
    """The root of the first tree is as good as the best of all `splits` of all columns."""
    s = np.ones(len(time)) if sample_weight is None else sample_weight
    labels = labels_of(criterion, time, event, weight, s)
    in_bag = weight > 0
    candidates = [
        gain(labels, weight, left)
        for column in X.T
        for left in splits(column)
        if np.ndim(left) and min(left[in_bag].sum(), (~left)[in_bag].sum()) >= min_leaf
    ]
    bins = forest.model_.binner.bin(forest.model_.encoder.encode(X), None, 1)
    tree = Tree(forest, 0)
    assert not tree.is_leaf(0)
    chosen = tree.goes_left(0, bins)
    assert min(chosen[in_bag].sum(), (~chosen)[in_bag].sum()) >= min_leaf
    best = max(candidates)
    assert gain(labels, weight, chosen) >= best * (1 - precision(criterion))
    # The comparison has teeth: many splits are clearly worse.
    assert np.mean(np.array(candidates) < best * (1 - 10 * precision(criterion))) >= 0.5


BEST = ["distribution", "mse", "quantile", "logrank"]


class TestBestSplit:
    @staticmethod
    def stump(X, time, event, criterion, min_leaf, **parameters):
        return grow(
            X,
            time,
            event,
            n_estimators=1,
            max_depth=1,
            criterion=criterion,
            n_thresholds=None,
            min_samples_leaf=min_leaf,
            **parameters,
        )

    @staticmethod
    def outcome(seed, signal):
        rng = np.random.default_rng(seed)
        T = np.exp(signal + 0.7 * rng.normal(size=len(signal)))
        C = rng.exponential(4.0, len(signal))
        # Ties, of events with each other and with censored rows.
        return np.ceil(10 * np.minimum(T, C)) / 10, T <= C

    @pytest.mark.parametrize("min_leaf", [1, 25])
    @pytest.mark.parametrize("p", [1, 5])
    @pytest.mark.parametrize("criterion", BEST)
    def test_threshold(self, criterion, p, min_leaf):
        for seed in range(10):
            X = np.random.default_rng(seed).integers(0, 12, (90, p)).astype(float)
            time, event = self.outcome(seed, X[:, 0] / 6)
            forest = self.stump(X, time, event, criterion, min_leaf)
            assert_best(forest, X, time, event, np.ones(90), criterion, numeric_splits, min_leaf)

    @pytest.mark.parametrize("criterion", BEST)
    def test_large_node(self, criterion):
        # More rows than bins: another way through the engine's scan.
        X = np.random.default_rng(0).integers(0, 40, (700, 3)).astype(float)
        X[::9, 1] = NAN
        time, event = self.outcome(0, X[:, 0] / 20)
        forest = self.stump(X, time, event, criterion, 5)
        assert_best(forest, X, time, event, np.ones(700), criterion, numeric_splits, 5)

    @pytest.mark.parametrize("criterion", BEST)
    def test_bootstrap_and_sample_weight(self, criterion):
        for seed in range(6):
            rng = np.random.default_rng(seed)
            X = rng.integers(0, 12, (90, 2)).astype(float)
            time, event = self.outcome(seed, X[:, 0] / 6)
            weight = rng.integers(1, 4, 90).astype(float)
            forest = self.stump(X, time, event, criterion, 3, bootstrap=True, random_state=seed)
            counts = np.empty(90)
            counts[forest.target_.order] = drawn(forest, 0)
            assert_best(forest, X, time, event, counts, criterion, numeric_splits, 3)
            forest = grow(
                X,
                time,
                event,
                weight,
                n_estimators=1,
                max_depth=1,
                criterion=criterion,
                n_thresholds=None,
                min_samples_leaf=3,
            )
            assert_best(forest, X, time, event, weight, criterion, numeric_splits, 3, weight)

    @pytest.mark.parametrize("min_leaf", [1, 20])
    @pytest.mark.parametrize("criterion", BEST)
    def test_missing_values_go_to_the_better_side(self, criterion, min_leaf):
        sides = set()
        for seed in range(12):
            rng = np.random.default_rng(seed)
            X = rng.integers(0, 8, (90, 1)).astype(float)
            gone = rng.random(90) < 0.3
            time, event = self.outcome(seed, np.where(gone, seed % 3 - 1, X[:, 0] / 4))
            X[gone] = NAN
            forest = self.stump(X, time, event, criterion, min_leaf)
            assert_best(forest, X, time, event, np.ones(90), criterion, numeric_splits, min_leaf)
            sides.add(Tree(forest, 0).missing_left(0))
        assert sides == {True, False}

    # The order by mean label holds the best subset for one number per row, not for four classes.
    @pytest.mark.parametrize("missing", [False, True])
    @pytest.mark.parametrize("criterion", ["mse", "logrank"])
    def test_subset_of_categories(self, criterion, missing):
        for seed in range(12):
            rng = np.random.default_rng(seed)
            X = rng.integers(0, 5, (90, 1)).astype(float)
            time, event = self.outcome(seed, rng.normal(size=5)[X[:, 0].astype(int)])
            if missing:
                X[rng.random(90) < 0.2] = NAN
            forest = self.stump(X, time, event, criterion, 1, categorical_features=[0])
            assert_best(forest, X, time, event, np.ones(90), criterion, categorical_splits, 1)
            assert Tree(forest, 0).nodes[0][2] & CATEGORICAL

    def test_categories_in_the_order_of_their_mean_class(self):
        # Two groups of letters, one early and one late: the quantile rule tells them apart too.
        for seed in range(6):
            rng = np.random.default_rng(seed)
            X = rng.integers(0, 5, (90, 1)).astype(float)
            late = rng.permutation([True, True, False, False, False])
            time = np.where(late[X[:, 0].astype(int)], 10.0, 1.0) + rng.uniform(size=90)
            forest = self.stump(X, time, None, "quantile", 1, categorical_features=[0])
            bins = forest.model_.binner.bin(forest.model_.encoder.encode(X), None, 1)
            left = Tree(forest, 0).goes_left(0, bins)
            assert len(np.unique(time[left] > 5)) == 1
            assert len(np.unique(time[~left] > 5)) == 1

    @pytest.mark.parametrize("criterion", BEST)
    def test_it_is_the_split_of_every_node(self, criterion):
        X = np.random.default_rng(3).integers(0, 12, (150, 3)).astype(float)
        time, event = self.outcome(3, X[:, 0] / 6)
        forest = grow(
            X,
            time,
            event,
            n_estimators=1,
            criterion=criterion,
            n_thresholds=None,
            min_samples_leaf=10,
        )
        tree = Tree(forest, 0)
        n_inner = 0
        for node, _, here in tree.walk(forest.model_.bins, np.arange(150)):
            if tree.is_leaf(node):
                continue
            n_inner += 1
            rows = forest.target_.order[here]
            in_node = np.isin(np.arange(150), rows).astype(float)
            labels = labels_of(criterion, time, event, in_node, np.ones(150))[rows]
            best = max(
                gain(labels, np.ones(len(rows)), left)
                for column in X[rows].T
                for left in numeric_splits(column)
                if min(left.sum(), (~left).sum()) >= 10
            )
            chosen = gain(
                labels, np.ones(len(rows)), tree.goes_left(node, forest.model_.bins[here])
            )
            assert chosen >= best * (1 - precision(criterion))
        assert n_inner > 3


def some_cut_exists(bins, missing, categorical, min_leaf):
    """Whether a column of bins (n,) can be parted into two sides of at least min_leaf."""
    n = len(bins)
    counts = np.bincount(bins, minlength=256)
    if categorical:
        sums = {0}
        for count in counts[counts > 0]:
            sums |= {total + count for total in sums}
    else:
        below = np.cumsum(counts[:missing])
        sums = {*below.tolist(), *(below + counts[missing]).tolist()}
    return any(min_leaf <= total <= n - min_leaf for total in sums)


class TestRandomCuts:
    @pytest.mark.parametrize("sampling", SAMPLINGS, ids=str)
    @pytest.mark.parametrize("n_thresholds", [1, 3])
    @pytest.mark.parametrize("min_leaf", [1, 5, 12])
    @pytest.mark.parametrize("criterion", ["distribution", "random"])
    def test_a_node_ends_only_where_no_cut_exists(
        self, criterion, min_leaf, n_thresholds, sampling
    ):
        # Few distinct values: that a draw has to be repeated is the rule, not the exception.
        X, time, event = mixed_sample()
        X[:, :2] = np.round(3 * X[:, :2])
        forest = grow(
            X,
            time,
            event,
            criterion=criterion,
            n_thresholds=n_thresholds,
            min_samples_leaf=min_leaf,
            n_estimators=40,
            max_features=1,
            **sampling,
        )
        n_ended_early = 0
        for index, tree in enumerate(all_trees(forest)):
            in_bag = np.flatnonzero(drawn(forest, index))
            for node, _, here in tree.walk(forest.model_.bins, in_bag):
                if not tree.is_leaf(node) or len(here) < 2 * min_leaf:
                    continue
                n_ended_early += 1
                alike = len(np.unique(forest.target_.time_index[here])) == 1
                assert alike or not any(
                    some_cut_exists(forest.model_.bins[here, j], tree.missing[j], False, min_leaf)
                    for j in range(4)
                )
        # There are such nodes, so that the test is one.
        assert n_ended_early > 0

    @pytest.mark.parametrize(("min_leaf", "possible"), [(320, True), (341, True), (342, False)])
    @pytest.mark.parametrize("criterion", ["distribution", "random"])
    def test_a_node_ends_only_where_no_subset_exists(self, criterion, min_leaf, possible):
        # Only {1, 4, 16, 64, 256} makes one half of these rows, and few orders begin with it.
        sizes = [1, 2, 4, 8, 16, 32, 64, 128, 256, 171]
        column = np.repeat(np.arange(10), sizes)
        assert some_cut_exists(column, 10, True, min_leaf) == possible
        forest = grow(
            column[:, None].astype(float),
            np.random.default_rng(4).permutation(682).astype(float),
            criterion=criterion,
            categorical_features=[0],
            min_samples_leaf=min_leaf,
            n_estimators=50,
        )
        was_split = np.diff(forest.trees_.node_offset) > 1
        assert (was_split == possible).all()

    @pytest.mark.parametrize("min_leaf", [1, 30])
    @pytest.mark.parametrize("missing", [False, True])
    @pytest.mark.parametrize("criterion", ["distribution", "random"])
    def test_cuts_are_uniform(self, criterion, min_leaf, missing):
        # Values of very different frequency: it is the cuts that are equally likely, not the rows.
        counts = np.array([1, 40, 1, 1, 25, 60, 3, 3, 50, 1, 15])
        column = np.repeat(np.arange(11.0), counts)
        if missing:
            column = np.concatenate([column, np.full(20, NAN)])
        time = np.random.default_rng(5).permutation(len(column)).astype(float)
        forest = grow(
            column[:, None],
            time,
            criterion=criterion,
            n_estimators=4000,
            max_depth=1,
            min_samples_leaf=min_leaf,
        )
        cuts = [tree.cut(0) for tree in all_trees(forest)]
        n = len(column)
        below = np.cumsum(counts)
        allowed = (below >= min_leaf) & (n - below >= min_leaf)
        if missing:
            allowed |= (below + 20 >= min_leaf) & (n - below - 20 >= min_leaf)
        assert allowed.sum() >= 5
        found = np.bincount(cuts, minlength=11)
        assert found[~allowed].sum() == 0
        statistic, _ = stats.chisquare(found[allowed])
        assert statistic < stats.chi2.isf(RARE, allowed.sum() - 1)
        # Nor are they dealt out in turn.
        assert statistic > stats.chi2.ppf(RARE, allowed.sum() - 1)

    def test_the_better_of_several_cuts_is_taken(self):
        rng = np.random.default_rng(6)
        column = rng.integers(0, 20, (200, 1)).astype(float)
        time = column[:, 0] + 0.1 * rng.normal(size=200)
        gains = []
        for n_thresholds in (1, 3, 10, None):
            forest = grow(
                column,
                time,
                n_thresholds=n_thresholds,
                max_depth=1,
                n_estimators=300,
                min_samples_leaf=1,
            )
            bins = forest.model_.binner.bin(forest.model_.encoder.encode(column), None, 1)
            gains.append(
                np.mean([gain(time, np.ones(200), t.goes_left(0, bins)) for t in all_trees(forest)])
            )
        assert (np.diff(gains) > 0).all()

    def test_criterion_random_is_mse_at_one_random_cut(self):
        X, time, event = mixed_sample()
        one = grow(X, time, event, criterion="random")
        other = grow(X, time, event, criterion="mse", n_thresholds=1)
        np.testing.assert_array_equal(one.trees_.nodes, other.trees_.nodes)
        best = grow(X, time, event, criterion="random", n_thresholds=None)
        np.testing.assert_array_equal(
            best.trees_.nodes, grow(X, time, event, criterion="mse").trees_.nodes
        )


class TestMaxFeatures:
    @pytest.mark.parametrize(
        ("given", "expected"),
        [(None, 10), (1, 1), (7, 7), (0.3, 3), (1.0, 10), (0.01, 1), ("sqrt", 3), ("log2", 3)],
    )
    @pytest.mark.parametrize("criterion", ["mse", "random"])
    def test_how_many_are_examined(self, criterion, given, expected):
        # The first feature is by far the best one: it is taken if and only if it is looked at.
        rng = np.random.default_rng(7)
        X = rng.uniform(size=(60, 10))
        X[:, 0] = np.repeat([0.0, 1.0], 30)
        time = 100 * X[:, 0] + rng.uniform(size=60)
        forest = grow(
            X,
            time,
            criterion=criterion,
            max_features=given,
            max_depth=1,
            n_estimators=1000,
            min_samples_leaf=1,
        )
        assert forest.model_.options.max_features == expected
        roots = forest.trees_.nodes[forest.trees_.node_offset[:-1], 1]
        taken = int((roots == 0).sum())
        assert stats.binomtest(taken, 1000, expected / 10).pvalue > RARE

    @pytest.mark.parametrize("criterion", CRITERIA)
    def test_features_without_a_cut_are_passed_over(self, criterion):
        X = np.zeros((60, 10))
        X[:, 6] = np.arange(60)
        forest = grow(
            X,
            np.arange(60.0),
            criterion=criterion,
            max_features=1,
            max_depth=1,
            n_estimators=20,
            min_samples_leaf=1,
        )
        assert (forest.trees_.nodes[forest.trees_.node_offset[:-1], 1] == 6).all()

    def test_every_node_draws_anew(self):
        rng = np.random.default_rng(8)
        forest = grow(
            rng.uniform(size=(200, 6)), rng.uniform(size=200), max_features=1, min_samples_leaf=5
        )
        for tree in all_trees(forest):
            inner = tree.nodes[(tree.nodes[:, 2] & LEAF) == 0]
            assert len(np.unique(inner[:, 1])) >= 4


class TestManyFeatures:
    """Features are examined in groups; every place in a group must work."""

    @pytest.mark.parametrize("n_thresholds", [1, 2, None])
    @pytest.mark.parametrize("p", [4, 5, 15, 16, 17, 35])
    @pytest.mark.parametrize("criterion", ["distribution", "random"])
    def test_the_one_that_matters_is_found_anywhere(self, criterion, p, n_thresholds):
        rng = np.random.default_rng(9)
        for position in range(p):
            X = rng.uniform(size=(40, p))
            X[:, position] = rng.permutation(np.repeat([0.0, 1.0], 20))
            time = 100 * X[:, position] + rng.uniform(size=40)
            forest = grow(
                X,
                time,
                criterion=criterion,
                n_estimators=2,
                n_thresholds=n_thresholds,
                max_depth=1,
                min_samples_leaf=1,
            )
            roots = forest.trees_.nodes[forest.trees_.node_offset[:-1], 1]
            assert (roots == position).all()

    @pytest.mark.parametrize("n_thresholds", [1, 3, None])
    @pytest.mark.parametrize(("p", "max_features"), [(6, 2), (6, 3), (6, 4), (6, 5), (20, 17)])
    @pytest.mark.parametrize("criterion", ["distribution", "random"])
    def test_any_choice_of_features(self, criterion, p, max_features, n_thresholds):
        # Choices such as 3, 7, 5 look like neighbours by their ends alone.
        rng = np.random.default_rng(11)
        X = rng.integers(0, 4, (150, p)).astype(float)
        forest = grow(
            X,
            rng.exponential(size=150),
            criterion=criterion,
            n_estimators=30,
            n_thresholds=n_thresholds,
            max_features=max_features,
            min_samples_leaf=8,
        )
        for tree in all_trees(forest):
            for node, _, here in tree.walk(forest.model_.bins, np.arange(150)):
                assert len(here) >= 8
                if tree.is_leaf(node):
                    np.testing.assert_array_equal(tree.leaf_members(tree.leaf(node)), here)

    @pytest.mark.parametrize("criterion", CRITERIA)
    @pytest.mark.parametrize("max_features", [None, 5, 18, 34])
    def test_trees_of_wide_data(self, criterion, max_features):
        rng = np.random.default_rng(10)
        X = rng.uniform(size=(150, 35))
        X[rng.random((150, 35)) < 0.05] = NAN
        X[:, 20] = rng.integers(0, 5, 150)
        forest = grow(
            X,
            rng.exponential(size=150),
            rng.random(150) < 0.7,
            criterion=criterion,
            max_features=max_features,
            categorical_features=[20],
            min_samples_leaf=4,
            bootstrap=True,
        )
        for index, tree in enumerate(all_trees(forest)):
            in_bag = drawn(forest, index) > 0
            for node, _, here in tree.walk(forest.model_.bins, np.arange(150)):
                assert in_bag[here].sum() >= 4
                if tree.is_leaf(node):
                    np.testing.assert_array_equal(tree.leaf_members(tree.leaf(node)), here)


class TestSeeds:
    def test_neighbouring_seeds_share_no_tree(self):
        X, time, event = mixed_sample()
        seen = set()
        for seed in range(8):
            forest = grow(X, time, event, n_estimators=50, random_state=seed)
            seen |= {members.tobytes() for members in forest.trees_.ranks()}
        assert len(seen) == 8 * 50

    @pytest.mark.parametrize("replace", [False, True])
    def test_neighbouring_seeds_of_the_engine_share_no_sample(self, replace):
        # Below the estimator, which mixes seeds once more.
        seen = {
            _engine.sample_counts(seed, tree, 100, 50, replace).tobytes()
            for seed in (0, 1, 2, 3, 2**63 - 2, 2**63 - 1)
            for tree in range(200)
        }
        assert len(seen) == 6 * 200

    @pytest.mark.parametrize("replace", [False, True])
    def test_rows_are_drawn_alike(self, replace):
        counts = sum(
            _engine.sample_counts(9, tree, 40, 20, replace).astype(float) for tree in range(4000)
        )
        # Without replacement draws of one tree exclude each other, which shrinks the statistic.
        spread = 1.0 if replace else 0.5
        statistic, _ = stats.chisquare(counts)
        assert statistic / spread < stats.chi2.isf(RARE, 39)
        assert statistic / spread > stats.chi2.ppf(RARE, 39)

    @pytest.mark.parametrize("sampling", [*SAMPLINGS, {"honest": True}], ids=str)
    @pytest.mark.parametrize("criterion", CRITERIA)
    def test_the_number_of_threads_does_not_matter(self, criterion, sampling):
        forests = [
            grow_mixed(
                criterion=criterion,
                n_jobs=n_jobs,
                n_estimators=13,
                min_samples_leaf=3,
                max_features=2,
                **sampling,
            )
            for n_jobs in (1, 2, 3, 8)
        ]
        for other in forests[1:]:
            for field in dataclasses.fields(other.trees_):
                np.testing.assert_array_equal(
                    getattr(other.trees_, field.name), getattr(forests[0].trees_, field.name)
                )

    def test_a_tree_does_not_depend_on_the_others(self):
        few, many = grow_mixed(n_estimators=3), grow_mixed(n_estimators=11)
        np.testing.assert_array_equal(few.trees_.ranks(), many.trees_.ranks()[:3])


class TestMetamorphic:
    @pytest.mark.parametrize("criterion", CRITERIA)
    @pytest.mark.parametrize(
        "change", [np.exp, lambda x: x**3, lambda x: -1 / (x + 1), lambda x: 1e200 * x]
    )
    def test_increasing_functions_of_a_feature(self, criterion, change):
        rng = np.random.default_rng(10)
        X = rng.integers(0, 30, (200, 3)).astype(float)
        time = X[:, 0] + rng.uniform(size=200)
        Z = X.copy()
        Z[:, 0] = change(X[:, 0])
        one = grow(X, time, criterion=criterion, n_estimators=10, bootstrap=True)
        other = grow(Z, time, criterion=criterion, n_estimators=10, bootstrap=True)
        np.testing.assert_array_equal(one.trees_.nodes, other.trees_.nodes)
        np.testing.assert_array_equal(one.predict(X), other.predict(Z))

    @pytest.mark.parametrize("criterion", CRITERIA)
    def test_names_of_categories(self, criterion):
        # Renaming keeps the sorted order, so even random draws are the same.
        X, time, event = mixed_sample()
        Z = X.copy()
        Z[:, 3] = 10 * X[:, 3] + 5
        one = grow(X, time, event, categorical_features=[3], criterion=criterion)
        other = grow(Z, time, event, categorical_features=[3], criterion=criterion)
        np.testing.assert_array_equal(one.predict(X), other.predict(Z))

    @pytest.mark.parametrize("criterion", ["mse", "quantile", "logrank"])
    def test_a_feature_that_says_nothing(self, criterion):
        X, time, event = mixed_sample()
        Z = np.column_stack([X, np.zeros(200)])
        one = grow(X, time, event, criterion=criterion)
        other = grow(Z, time, event, criterion=criterion)
        np.testing.assert_array_equal(one.predict(X), other.predict(Z))

    @pytest.mark.parametrize("criterion", ["mse", "logrank", "quantile"])
    def test_the_order_of_the_features(self, criterion):
        X, time, event = mixed_sample()
        # Nodes large enough that no two features split them alike.
        options = {"criterion": criterion, "n_estimators": 1, "min_samples_split": 32}
        one = grow(X[:, :2], time, event, **options)
        other = grow(X[:, 1::-1], time, event, **options)
        np.testing.assert_array_equal(one.predict(X[:, :2]), other.predict(X[:, 1::-1]))


class TestPanels:
    """The second table of bins, which is made for wide data where it is faster."""

    @pytest.mark.parametrize("parameters", [{}, {"max_features": 0.4}, {"criterion": "mse"}])
    def test_trees_are_the_same_with_any(self, monkeypatch, parameters):
        rng = np.random.default_rng(3)
        X = rng.normal(size=(300, 50))
        X[rng.random(X.shape) < 0.05] = NAN
        forest = {}
        engine = _engine.ForestGrower
        for panels in (None, 0, 1, 5, 16):
            grower = functools.partial(engine, panels=panels)
            monkeypatch.setattr(_engine, "ForestGrower", grower)
            forest[panels] = grow(
                X, np.exp(np.nan_to_num(X[:, 0])), min_samples_leaf=5, **parameters
            )
        expected = forest.pop(None).trees_
        for each in forest.values():
            assert np.array_equal(each.trees_.nodes, expected.nodes)
            assert np.array_equal(each.trees_.ranks(), expected.ranks())

    def test_wider_ones_are_refused(self, monkeypatch):
        grower = functools.partial(_engine.ForestGrower, panels=17)
        monkeypatch.setattr(_engine, "ForestGrower", grower)
        with pytest.raises(ValueError, match="panels are too wide"):
            grow_mixed()
