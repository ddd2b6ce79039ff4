"""Predictions on levels of time: what they look at, they know to 1e-4 in probability."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cqrf import CensoredQuantileForest, _engine
from cqrf.solving.options import levels_of_time

TAUS = np.array([0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99])
BOUND = 1e-4


def draw(n, *, seed, ties=None, censored=0.4):
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, 3))
    time = np.exp(X[:, 0] + 0.5 * rng.normal(size=n))
    limit = np.quantile(time, 1.0 - censored / 2.0) * rng.uniform(0.5, 1.5, size=n)
    if censored == 0.0:
        limit = np.inf
    event = time <= limit
    time = np.minimum(time, limit)
    if ties is not None:
        time = np.ceil(time * ties) / ties
    return X, time, event


def fit(n, *, seed=0, ties=None, censored=0.4, **params):
    X, time, event = draw(n, seed=seed, ties=ties, censored=censored)
    given = {"n_estimators": 20, "min_samples_leaf": 20, "random_state": 0, **params}
    return CensoredQuantileForest(**given).fit(X, time, event)


def fit_left(n, **params):
    """The same data mirrored, so that times are censored on the left."""
    X, time, event = draw(n, seed=0)
    return CensoredQuantileForest(censoring="left", random_state=0, **params).fit(X, -time, event)


def jumps(curve):
    """Times at which S falls, and S before and after it does."""
    before = np.concatenate([[1.0], curve.y[:-1]])
    falls = curve.y < before
    return curve.x[falls], before[falls], curve.y[falls]


def probability_at(times, curve, interpolation):
    """The curve that quantiles invert, at some times."""
    at, before, after = jumps(curve)
    return np.interp(times, at, (before + after) / 2.0 if interpolation == "midpoint" else after)


def check_quantiles(forest, X, resolution, interpolation="midpoint"):
    forest.set_params(interpolation=interpolation, time_resolution=None)
    exact = forest.predict(X, TAUS, unreached="nan")
    curves = forest.predict_survival_function(X)
    forest.set_params(time_resolution=resolution)
    found = forest.predict(X, TAUS, unreached="nan")
    for row, curve in enumerate(curves):
        for level, (one, other) in enumerate(zip(exact[row], found[row], strict=True)):
            if np.isnan(one) or np.isnan(other):
                # Identified or not: the curve ends within the bound of the level.
                if np.isnan(one) != np.isnan(other):
                    assert abs(curve.y[-1] - (1.0 - TAUS[level])) < BOUND
                continue
            if interpolation == "lower":
                at, before, after = jumps(curve)
                k = np.searchsorted(at, other)
                assert at[k] == other
                assert after[k] - BOUND <= 1.0 - TAUS[level] <= before[k] + BOUND
                continue
            expected, reached = probability_at([one, other], curve, interpolation)
            assert abs(expected - reached) < BOUND


@pytest.mark.parametrize("resolution", [1, 16, 200, 1000, 10_000])
@pytest.mark.parametrize("ties", [None, 50, 4])
def test_quantiles(resolution, ties):
    forest = fit(3000, ties=ties)
    check_quantiles(forest, draw(40, seed=1)[0], resolution)


@pytest.mark.parametrize("interpolation", ["midpoint", "lower", "linear"])
@pytest.mark.parametrize("ties", [None, 4])
def test_interpolations(interpolation, ties):
    forest = fit(3000, ties=ties)
    check_quantiles(forest, draw(40, seed=1)[0], 300, interpolation)


@pytest.mark.parametrize("censored", [0.0, 0.9])
def test_no_censoring_and_hardly_any_event(censored):
    check_quantiles(fit(3000, censored=censored), draw(40, seed=1)[0], 300)


@settings(max_examples=25, deadline=None)
@given(
    n=st.integers(100, 2000),
    leaf=st.integers(1, 60),
    trees=st.integers(1, 30),
    ties=st.sampled_from([None, 1, 3, 100]),
    resolution=st.integers(1, 4000),
    seed=st.integers(0, 2**31),
)
def test_any_forest(n, leaf, trees, ties, resolution, seed):
    forest = fit(n, seed=seed, ties=ties, n_estimators=trees, min_samples_leaf=leaf)
    check_everything(forest, draw(5, seed=seed + 1)[0], resolution)


def test_left_censoring():
    forest = fit_left(3000, n_estimators=20, min_samples_leaf=20)
    new = draw(40, seed=1)[0]
    levels = TAUS[1:-1]
    on_levels = forest.set_params(time_resolution=300).predict(new, levels)
    exact = forest.set_params(time_resolution=None).predict(new, levels)
    mirrored = fit(3000, criterion=forest.criterion)
    right = mirrored.set_params(time_resolution=300).predict(new, 1.0 - levels[::-1])
    np.testing.assert_allclose(on_levels, -right[:, ::-1], rtol=1e-9)
    assert np.median(np.abs(on_levels - exact)) < 1e-3


@pytest.mark.parametrize("leaf", [2, 3000], ids=["bytes", "counts"])
def test_many_blocks_of_ranks(leaf):
    """Beyond 2**15 rows a member's block is a byte beside it, or told by counts."""
    forest = fit(70_000, n_estimators=3, min_samples_leaf=leaf, max_features=1)
    assert (forest.trees_.block_counts is None) == (leaf == 2)
    check_quantiles(forest, draw(20, seed=1)[0], 8192)
    check_survival(forest, draw(20, seed=1)[0], 8192)


def check_survival(forest, X, resolution):
    observed = forest.target_.times
    times = np.concatenate([[0.0], np.quantile(observed, np.linspace(0.0, 1.0, 50)), [1e9]])
    times = np.concatenate([times, observed[::97][:50]])
    exact = forest.set_params(time_resolution=None).predict_survival_function(X, times=times)
    found = forest.set_params(time_resolution=resolution).predict_survival_function(X, times=times)
    assert np.abs(found - exact).max() < BOUND


def check_means(forest, X, resolution):
    """At most 1e-4 of the distance between the first time and the horizon, or the last time."""
    times = np.sort(forest.target_.times * (-1.0 if forest.target_.mirrored else 1.0))
    first, last = times[0], times[-1]
    middle = times[times.shape[0] // 3]
    for horizon in (first - 1.0, first, middle, last, last + 1.0, 1e9, -1e9):
        exact = forest.set_params(time_resolution=None).predict_rmst(X, horizon)
        found = forest.set_params(time_resolution=resolution).predict_rmst(X, horizon)
        # What S leaves counts as far as the horizon; mirrored, as far as the first time.
        span = (last if forest.target_.mirrored else max(last, horizon)) - first
        assert np.abs(found - exact).max() <= BOUND * span + 1e-15 * abs(horizon)


def check_everything(forest, X, resolution):
    check_quantiles(forest, X, resolution)
    check_survival(forest, X, resolution)
    check_means(forest, X, resolution)


@pytest.mark.parametrize("resolution", [1, 16, 145, 1000, 10_000])
@pytest.mark.parametrize("ties", [None, 4])
@pytest.mark.parametrize("censored", [0.0, 0.4])
def test_restricted_means(resolution, ties, censored):
    check_means(fit(3000, ties=ties, censored=censored), draw(40, seed=1)[0], resolution)


@pytest.mark.parametrize("resolution", [145, 1000])
def test_restricted_means_of_left_censored_times(resolution):
    X, time, event = draw(3000, seed=0)
    forest = CensoredQuantileForest(
        n_estimators=20, min_samples_leaf=20, censoring="left", random_state=0
    ).fit(X, 10.0 - time, event)
    check_means(forest, draw(40, seed=1)[0], resolution)


@pytest.mark.parametrize("scale", [1e-200, 1e-60, 1e60, 1e200])
def test_restricted_means_of_any_scale(scale):
    X, time, event = draw(1000, seed=0)
    forest = CensoredQuantileForest(5, min_samples_leaf=50, random_state=0)
    forest.fit(X, time * scale, event)
    horizon = 2.0 * scale
    exact = forest.set_params(time_resolution=None).predict_rmst(X[:20], horizon)
    found = forest.set_params(time_resolution=100).predict_rmst(X[:20], horizon)
    assert np.abs(found - exact).max() < BOUND * horizon


def test_a_horizon_far_behind_all_times():
    """Nothing is left of S there: the horizon does not move the mean."""
    forest = fit(2000, censored=0.0, time_resolution=200)
    X = draw(20, seed=1)[0]
    last = float(forest.target_.times[-1])
    np.testing.assert_array_equal(forest.predict_rmst(X, 1e300), forest.predict_rmst(X, last))


@pytest.mark.parametrize(("n", "distinct"), [(16_384, 256), (40_000, 5000)])
def test_times_that_are_levels(n, distinct):
    """Events come first at every time, so that the errors of all levels have the same sign."""
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(n, 1))
    time = 1.0 + rng.permutation(np.arange(n) * distinct // n)
    forest = CensoredQuantileForest(1, min_samples_leaf=n // 3, random_state=0)
    forest.fit(X, time, rng.random(n) < 0.5)
    check_survival(forest, X[:2], 256 if distinct == 256 else 8192)
    check_quantiles(forest, X[:2], 256 if distinct == 256 else 8192)


@pytest.mark.parametrize("resolution", [1, 16, 200, 1000, 10_000])
@pytest.mark.parametrize("ties", [None, 4])
def test_survival_at_times(resolution, ties):
    check_survival(fit(3000, ties=ties), draw(40, seed=1)[0], resolution)


@pytest.fixture
def each_isa():
    """Force all instructions that the processor has, one after the other."""
    best = _engine.isa()

    def forced():
        for name in ("portable", "avx2", "avx512"):
            try:
                _engine.force_isa(name)
            except ValueError:
                continue
            yield name

    yield forced
    _engine.force_isa(best)


def test_answers_do_not_depend_on_threads_or_instructions(each_isa):
    forest = fit(5000).set_params(time_resolution=500)
    X = draw(200, seed=1)[0]
    times = np.quantile(forest.target_.times, np.linspace(0.1, 0.9, 30))

    def answers():
        return np.hstack(
            [forest.predict(X, TAUS), forest.predict_survival_function(X, times=times)]
        )

    expected = answers()
    np.testing.assert_array_equal(forest.set_params(n_jobs=2).predict(X, TAUS), expected[:, :7])
    for _ in each_isa():
        np.testing.assert_array_equal(answers(), expected)


def fit_large_leaves(n=40_000, **params):
    """Leaves so large that they are worth cells, and too many rows to look at all of them."""
    return fit(n, **{"n_estimators": 4, "min_samples_leaf": 700, "n_jobs": 2, **params})


def uses_cells(forest):
    # At most two bytes per member, and what the last vector reads behind them.
    members = forest.trees_.members.size
    return 0 < forest.trees_.engine.cells_bytes <= 2 * members + 64


@pytest.mark.parametrize("ties", [None, 100])
@pytest.mark.parametrize(("leaf", "cells"), [(250, False), (1_000, True)])
def test_few_rows_with_many_members(leaf, cells, ties):
    """Cells, if the leaves of a row have more members than ranks are worth, whatever is asked."""
    X = draw(40, seed=1)[0]
    asked = {
        "quantiles": lambda forest: check_quantiles(forest, X, 8192),
        "survival": lambda forest: check_survival(forest, X, 8192),
        "means": lambda forest: check_means(forest, X, 8192),
    }
    for what, check in asked.items():
        forest = fit(9_000, ties=ties, n_estimators=40, min_samples_leaf=leaf)
        check(forest)
        assert (forest.trees_.engine.cells_bytes > 0) == cells, what


RESOLUTION = 12_000


class TestGrid:
    """Survival probabilities from what leaves hold between the times that are asked for."""

    TREES = 10
    LEAVES = 40  # at most, of a tree of fit()

    def fit(self, **params):
        return fit_large_leaves(**{"n_estimators": self.TREES, **params})

    def times(self, forest, size=50):
        return np.quantile(forest.target_.times, np.linspace(0.02, 0.98, size))

    @pytest.mark.parametrize("ties", [None, 100, 4])
    @pytest.mark.parametrize("censored", [0.0, 0.4, 0.8])
    @pytest.mark.parametrize("size", [1, 20, 50])
    def test_survival(self, ties, censored, size):
        forest = self.fit(ties=ties, censored=censored)
        X = draw(2 * self.LEAVES, seed=1)[0]
        times = self.times(forest, size)
        exact = forest.set_params(time_resolution=None).predict_survival_function(X, times=times)
        forest.set_params(time_resolution=8192)
        found = forest.predict_survival_function(X, times=times)
        assert forest.trees_.engine.cells_bytes > 0
        assert np.abs(found - exact).max() < BOUND
        if censored == 0.0:  # sums of shares in single precision
            assert np.abs(found - exact).max() < 1e-6

    def test_what_was_asked_before_makes_no_difference(self):
        """Few rows are answered without the records of all leaves, and alike."""
        forest = self.fit()
        X = draw(2 * self.LEAVES, seed=1)[0]
        times = self.times(forest)
        one = [forest.predict_survival_function(row, times=times) for row in X[:5, None]]
        assert forest.trees_.engine.cells_bytes == 0
        every = forest.predict_survival_function(X, times=times)
        held = forest.trees_.engine.cells_bytes
        assert held > 0
        np.testing.assert_array_equal(np.concatenate(one), every[:5])
        np.testing.assert_array_equal(
            forest.predict_survival_function(X[:5], times=times), every[:5]
        )
        # Other times take their place.
        for _ in range(2):
            forest.predict_survival_function(X, times=self.times(forest, 90))
            assert held < forest.trees_.engine.cells_bytes < 3 * held
        np.testing.assert_array_equal(forest.predict_survival_function(X, times=times), every)

    def test_records_are_made_when_rows_add_up(self):
        forest = self.fit()
        X = draw(4, seed=1)[0]
        asked = 0
        leaves = forest.trees_.leaf_start.shape[0] / self.TREES - 1
        while forest.trees_.engine.cells_bytes == 0:
            forest.predict_survival_function(X, times=self.times(forest))
            asked += 4
        assert leaves <= asked < leaves + 4

    @pytest.mark.parametrize("censored", [0.0, 0.4])
    def test_threads_and_instructions(self, censored, each_isa):
        forest = self.fit(censored=censored)
        X = draw(2 * self.LEAVES, seed=1)[0]
        times = self.times(forest)
        expected = forest.set_params(n_jobs=1).predict_survival_function(X, times=times)
        for _ in each_isa():
            for n_jobs in (1, 2):
                again = self.fit(censored=censored, n_jobs=n_jobs)
                found = again.predict_survival_function(X, times=times)
                np.testing.assert_array_equal(found, expected)

    def test_small_leaves_have_none(self):
        forest = fit(40_000, n_estimators=2, min_samples_leaf=20)
        check_survival(forest, draw(50, seed=1)[0], 8192)
        assert forest.trees_.engine.cells_bytes == 0

    def test_left_censored_times(self):
        X, time, event = draw(40_000, seed=0)
        left = CensoredQuantileForest(10, min_samples_leaf=700, censoring="left", random_state=0)
        left.fit(X, -time, event)
        new = draw(2 * self.LEAVES, seed=1)[0]
        times = np.sort(-self.times(self.fit()))
        exact = left.set_params(time_resolution=None).predict_survival_function(new, times=times)
        found = left.set_params(time_resolution=8192).predict_survival_function(new, times=times)
        assert left.trees_.engine.cells_bytes > 0
        assert np.abs(found - exact).max() < BOUND

    def test_at_once_from_threads(self):
        """Grids of several threads take turns in the place of the last one."""
        forest = self.fit(n_jobs=1)
        X = draw(2 * self.LEAVES, seed=1)[0]
        grids = [self.times(forest, size) for size in (3, 20, 50)]
        expected = [forest.predict_survival_function(X, times=times) for times in grids]

        def ask(k):
            return forest.predict_survival_function(X, times=grids[k % 3])

        with ThreadPoolExecutor(4) as pool:
            for k, found in enumerate(pool.map(ask, range(24))):
                np.testing.assert_array_equal(found, expected[k % 3])


class TestCells:
    @pytest.mark.parametrize("interpolation", ["midpoint", "lower", "linear"])
    @pytest.mark.parametrize("ties", [None, 100, 4])
    def test_quantiles(self, interpolation, ties):
        forest = fit_large_leaves(ties=ties)
        assert forest.trees_.engine.cells_bytes == 0
        check_quantiles(forest, draw(40, seed=1)[0], RESOLUTION, interpolation)
        assert uses_cells(forest)

    @pytest.mark.parametrize(("n", "leaf"), [(1024, 100), (3000, 300), (40_000, 2000)])
    @pytest.mark.parametrize("ties", [None, 10])
    def test_no_censoring(self, n, leaf, ties):
        forest = fit_large_leaves(n, ties=ties, censored=0.0, min_samples_leaf=leaf)
        check_quantiles(forest, draw(40, seed=1)[0], n)
        assert uses_cells(forest)

    @pytest.mark.parametrize("censored", [0.7, 1.2])
    def test_heavy_censoring(self, censored):
        forest = fit_large_leaves(censored=censored)
        check_quantiles(forest, draw(100, seed=1)[0], RESOLUTION)
        assert uses_cells(forest)

    def test_nothing_but_censoring(self):
        X, time, _ = draw(40_000, seed=0)
        forest = CensoredQuantileForest(2, min_samples_leaf=10_000, time_resolution=RESOLUTION)
        forest.set_params(criterion="random", random_state=0).fit(X, time, np.arange(40_000) == 7)
        found = forest.predict(X[:20], TAUS, unreached="nan")
        exact = forest.set_params(time_resolution=None).predict(X[:20], TAUS, unreached="nan")
        assert uses_cells(forest)
        np.testing.assert_array_equal(found, exact)

    def test_left_censoring(self):
        forest = fit_left(40_000, n_estimators=4, min_samples_leaf=700)
        new = draw(40, seed=1)[0]
        levels = TAUS[1:-1]
        on_levels = forest.set_params(time_resolution=RESOLUTION).predict(new, levels)
        assert uses_cells(forest)
        mirrored = fit_large_leaves(criterion=forest.criterion, time_resolution=RESOLUTION)
        right = mirrored.predict(new, 1.0 - levels[::-1])
        np.testing.assert_allclose(on_levels, -right[:, ::-1], rtol=1e-9)

    def test_many_quantiles(self):
        """Sixteen at least, and as many more as there are rows for them."""
        forest = fit_large_leaves()
        X = draw(20, seed=1)[0]
        many = np.linspace(0.05, 0.95, 16)
        curves = forest.predict_survival_function(X)
        found = forest.set_params(time_resolution=RESOLUTION).predict(X, many, unreached="nan")
        assert uses_cells(forest)
        for row, curve in enumerate(curves):
            known = ~np.isnan(found[row])
            reached = probability_at(found[row][known], curve, "midpoint")
            assert known.any()
            assert np.abs(reached - (1.0 - many[known])).max() < BOUND

    def test_resolution_may_change(self):
        """Cells are made anew for it, and what was asked before is answered as before."""
        forest = fit_large_leaves()
        X = draw(20, seed=1)[0]
        answers = {}
        for resolution in (RESOLUTION, 4096, RESOLUTION, 100, RESOLUTION, 4096):
            found = forest.set_params(time_resolution=resolution).predict(X, TAUS)
            assert uses_cells(forest) == (resolution > 100)
            np.testing.assert_array_equal(found, answers.setdefault(resolution, found))

    def test_small_leaves_have_none(self):
        forest = fit(3000, censored=0.0, time_resolution=3000, min_samples_leaf=4)
        forest.predict(draw(5, seed=1)[0], TAUS)
        assert forest.trees_.engine.cells_bytes == 0

    @settings(max_examples=20, deadline=None)
    @given(
        n=st.integers(2048, 8000),
        share=st.floats(0.1, 0.6),
        trees=st.integers(1, 6),
        ties=st.sampled_from([None, 1, 3, 30, 300]),
        censored=st.sampled_from([0.0, 0.2, 0.4, 0.8]),
        seed=st.integers(0, 2**31),
    )
    def test_any_forest(self, n, share, trees, ties, censored, seed):
        forest = fit(
            n,
            seed=seed,
            ties=ties,
            censored=censored,
            n_estimators=trees,
            min_samples_leaf=int(share * n),
        )
        check_everything(forest, draw(5, seed=seed + 1)[0], n)

    def test_threads_and_instructions(self, each_isa):
        forest = fit_large_leaves(time_resolution=RESOLUTION)
        X = draw(200, seed=1)[0]
        expected = forest.predict(X, TAUS)
        for _ in each_isa():
            for n_jobs in (1, 2, 3, 8):
                forget_engines(forest)
                found = forest.set_params(n_jobs=n_jobs).predict(X, TAUS)
                assert uses_cells(forest)
                np.testing.assert_array_equal(found, expected)
        np.testing.assert_array_equal(
            np.stack([forest.predict(x[None], TAUS)[0] for x in X[:40]]), expected[:40]
        )

    @pytest.mark.parametrize("n_jobs", [1, 2])
    def test_many_threads_ask_first(self, n_jobs):
        """Whoever comes first makes the cells; with another resolution they are made anew."""
        forest = fit_large_leaves(n_jobs=n_jobs, time_resolution=RESOLUTION)
        other = fit_large_leaves(n_jobs=n_jobs, time_resolution=4096)
        other.model_ = replace(other.model_, trees=forest.trees_)
        X = draw(30, seed=1)[0]
        expected = [one.predict(X, TAUS) for one in (forest, other)]
        for _ in range(5):
            forget_engines(forest, other)
            start = threading.Barrier(8)

            def ask(thread, start=start):
                start.wait()
                one = (forest, other)[thread % 2]
                return [one.predict(X, TAUS) for _ in range(5)]

            with ThreadPoolExecutor(8) as pool:
                for thread, answers in enumerate(pool.map(ask, range(8))):
                    for found in answers:
                        np.testing.assert_array_equal(found, expected[thread % 2])


def forget_engines(*forests):
    """As if they had just been fitted or loaded."""
    for forest in forests:
        for record in (forest.trees_, forest.target_):
            record.__dict__.pop("engine", None)


def test_one_answer_does_not_depend_on_the_others():
    forest = fit(5000).set_params(time_resolution=500)
    X = draw(50, seed=1)[0]
    together = forest.predict(X, [0.1, 0.9])
    np.testing.assert_array_equal(
        np.stack([forest.predict(x[None], [0.1, 0.9])[0] for x in X]), together
    )


@pytest.mark.parametrize("n", [2000, 40_000])
@pytest.mark.parametrize("censored", [0.0, 0.4])
@pytest.mark.parametrize("ties", [None, 20])
def test_many_quantiles(n, censored, ties):
    """All ranks are looked at: nothing but single precision is lost."""
    forest = fit(n, n_estimators=40, censored=censored, ties=ties)
    X = draw(30, seed=1)[0]
    many = np.linspace(0.01, 0.99, 99)
    exact = forest.set_params(time_resolution=None).predict(X, many, unreached="nan")
    curves = forest.predict_survival_function(X)
    found = forest.set_params(time_resolution=100).predict(X, many, unreached="nan")
    for row, curve in enumerate(curves):
        known = ~np.isnan(exact[row]) & ~np.isnan(found[row])
        assert known.mean() > 0.3
        errors = np.subtract(
            *(probability_at(each[row][known], curve, "midpoint") for each in (found, exact))
        )
        assert np.abs(errors).max() < 1e-5
        last = curve.y[-1]
        assert (
            np.abs(1.0 - many[np.isnan(exact[row]) != np.isnan(found[row])] - last).max(initial=0.0)
            < 1e-5
        )


def test_what_is_exact_in_any_case():
    forest = fit(2000, n_estimators=80, time_resolution=100)
    X = draw(30, seed=1)[0]
    horizon = float(np.median(forest.target_.times))

    def exact_answers():
        yield forest.forest_weights(X).toarray()
        yield forest.predict(X, 0.9, conditional_after=horizon)
        yield forest.oob_predict(0.5)

    on_levels = list(exact_answers())
    forest.set_params(time_resolution=None)
    for found, expected in zip(on_levels, exact_answers(), strict=True):
        np.testing.assert_array_equal(found, expected)


class TestParameter:
    def test_auto(self):
        assert levels_of_time("auto", 2**13) == 0
        assert levels_of_time("auto", 2**13 + 1) == 2**13
        assert levels_of_time("auto", 10**6, 2**13 - 1.0) == 0
        assert levels_of_time(None, 10**6) == 0
        assert levels_of_time(77, 1000) == 77
        assert levels_of_time(2**70, 1000) == 1000

    @pytest.mark.parametrize("value", [0, -3, 1.5, "fine", True])
    def test_refused(self, value):
        with pytest.raises((TypeError, ValueError), match="time_resolution"):
            fit(100, time_resolution=value)
