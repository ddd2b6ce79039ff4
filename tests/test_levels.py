"""Predictions on levels of time: what they look at, they know to 1e-4 in probability."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cqrf import CensoredQuantileForest, _engine
from cqrf._estimation import levels_of_time

TAUS = np.array([0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99])
BOUND = 1e-4


def draw(n, *, seed, ties=None, censored=0.4):
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, 3))
    time = np.exp(X[:, 0] + 0.5 * rng.normal(size=n))
    limit = np.quantile(time, 1.0 - censored / 2.0) * rng.uniform(0.5, 1.5, size=n)
    event = time <= limit
    time = np.minimum(time, limit)
    if ties is not None:
        time = np.ceil(time * ties) / ties
    return X, time, event


def fit(n, *, seed=0, ties=None, censored=0.4, **params):
    X, time, event = draw(n, seed=seed, ties=ties, censored=censored)
    given = {"n_estimators": 20, "min_samples_leaf": 20, "random_state": 0, **params}
    return CensoredQuantileForest(**given).fit(X, time, event)


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
    check_quantiles(forest, draw(5, seed=seed + 1)[0], resolution)


def test_left_censoring():
    X, time, event = draw(3000, seed=0)
    forest = CensoredQuantileForest(
        n_estimators=20, min_samples_leaf=20, censoring="left", random_state=0
    ).fit(X, -time, event)
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


@pytest.mark.parametrize("resolution", [1, 16, 200, 1000, 10_000])
@pytest.mark.parametrize("ties", [None, 4])
def test_survival_at_times(resolution, ties):
    check_survival(fit(3000, ties=ties), draw(40, seed=1)[0], resolution)


def test_answers_do_not_depend_on_threads_or_instructions():
    forest = fit(5000).set_params(time_resolution=500)
    X = draw(200, seed=1)[0]
    times = np.quantile(forest.target_.times, np.linspace(0.1, 0.9, 30))

    def answers():
        return np.hstack(
            [forest.predict(X, TAUS), forest.predict_survival_function(X, times=times)]
        )

    expected = answers()
    np.testing.assert_array_equal(forest.set_params(n_jobs=2).predict(X, TAUS), expected[:, :7])
    best = _engine.isa()
    try:
        for name in ("portable", "avx2", "avx512"):
            try:
                _engine.force_isa(name)
            except ValueError:
                continue
            np.testing.assert_array_equal(answers(), expected)
    finally:
        _engine.force_isa(best)


def test_one_answer_does_not_depend_on_the_others():
    forest = fit(5000).set_params(time_resolution=500)
    X = draw(50, seed=1)[0]
    together = forest.predict(X, [0.1, 0.9])
    np.testing.assert_array_equal(
        np.stack([forest.predict(x[None], [0.1, 0.9])[0] for x in X]), together
    )


def test_what_is_exact_in_any_case():
    forest = fit(2000, n_estimators=80, time_resolution=100)
    X = draw(30, seed=1)[0]
    many = np.linspace(0.01, 0.99, 99)
    horizon = float(np.median(forest.target_.times))

    def exact_answers():
        yield forest.forest_weights(X).toarray()
        yield forest.predict(X, many)
        yield forest.predict(X, 0.9, conditional_after=horizon)
        yield forest.predict_rmst(X, horizon)
        yield forest.oob_predict(0.5)

    on_levels = list(exact_answers())
    forest.set_params(time_resolution=None)
    for found, expected in zip(on_levels, exact_answers(), strict=True):
        np.testing.assert_array_equal(found, expected)


class TestParameter:
    def test_auto(self):
        assert levels_of_time("auto", 2**15) == 0
        assert levels_of_time("auto", 2**15 + 1) == 2**13
        assert levels_of_time("auto", 10**6, 2**13 - 1.0) == 0
        assert levels_of_time(None, 10**6) == 0
        assert levels_of_time(77, 1000) == 77
        assert levels_of_time(2**70, 1000) == 1000

    @pytest.mark.parametrize("value", [0, -3, 1.5, "fine", True])
    def test_refused(self, value):
        with pytest.raises((TypeError, ValueError), match="time_resolution"):
            fit(100, time_resolution=value)
