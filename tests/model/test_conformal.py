"""Conformal bounds: the levels at which the forest's quantiles hold, under censoring."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
import twins
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from cqrf import CensoredQuantileForest, Surv
from cqrf.datasets import make_aft, make_sine
from cqrf.solving.options import AnswerOptions

TRAIN = make_aft(150, random_state=0)
HELD_OUT = make_aft(120, rate=0.15, random_state=1)
TEST = make_aft(50, random_state=2).X
OPTIONS = {"min_samples_leaf": 10, "random_state": 0}


def grow(data=TRAIN, n_trees=20, **parameters):
    forest = CensoredQuantileForest(n_trees, **OPTIONS | parameters)
    return forest.fit(data.X, data.time, data.event)


FOREST = grow().calibrate(HELD_OUT.X, HELD_OUT.time, HELD_OUT.event)


def own_levels(estimation, time):
    """sup{a : q_a(x) <= time} of every row, by bisection."""
    low, high = np.zeros(len(time)), np.ones(len(time))
    for _ in range(50):
        middle = (low + high) / 2
        q, identified = estimation.quantiles(
            middle[:, None], solver="root", interpolation="midpoint"
        )
        reached = identified[:, 0] & (q[:, 0] <= time)
        low, high = np.where(reached, middle, low), np.where(reached, high, middle)
    # The solver takes levels that differ by rounding for equal.
    return np.round(low, 11)


def assert_of_the_formula(found, estimation, time, event):
    """Compare a calibration with that of rows that all have an answer."""
    level = own_levels(estimation, time)
    curves = estimation.survival_functions()

    def weight(i, a):
        # Weights change from class to class of 200 levels.
        middle = (min(int(a * 200), 199) + 0.5) / 200
        q = np.interp(middle, *midpoints(curves[i]))
        before = estimation.curve("censoring", np.array([np.nextafter(q, -np.inf)]))[i, 0]
        return 1 / max(before, 0.05)

    at, below, above = twins.calibration(level, weight, event)
    np.testing.assert_allclose(found.level, at, atol=1e-9)
    np.testing.assert_allclose(found.below, below, rtol=1e-9)
    np.testing.assert_allclose(found.above, above, rtol=1e-9)
    assert found.n_rows == len(time)


def midpoints(s):
    """Levels and times of the inverted curve; one time for all levels where S does not fall."""
    before = np.concatenate([[1.0], s.y[:-1]])
    jump = before > s.y
    if not jump.any():
        return [0.0], s.x[[-1]]
    return 1 - (before + s.y)[jump] / 2, s.x[jump]


CURVES = ["beran", "knn", "kernel", "marginal"]


@pytest.mark.parametrize("curve", CURVES)
def test_calibration_is_that_of_the_formula(curve):
    forest = grow(censoring_curve=curve)
    data = make_aft(30, rate=0.15, random_state=5)
    forest.calibrate(data.X, data.time, data.event)
    assert_of_the_formula(
        forest.calibration_, forest.distribution(data.X).estimation, data.time, data.event
    )
    assert not forest.calibration_.out_of_bag


@pytest.mark.parametrize("curve", CURVES)
def test_rows_that_every_tree_has_drawn_do_not_count(curve):
    data = make_aft(60, rate=0.15, random_state=5)
    forest = grow(data, n_trees=15, censoring_curve=curve).calibrate()
    target, estimation = forest.target_, forest.oob_distribution().estimation
    known = np.flatnonzero([len(s.x) > 0 for s in estimation.survival_functions()])
    assert 30 < len(known) < 60
    # Those alone, as rows of their own.
    weights = estimation.weights.permuted(
        np.zeros(1, dtype=np.uint8), known.astype(np.uint32), known.astype(np.uint32)
    )
    points = None if forest.model_.kernel is None else forest.model_.kernel.points[known]
    time, event = target.times[target.time_index][known], target.event[known] == 1
    options = AnswerOptions.from_params(forest.get_params(), target.n)
    estimation = forest.model_.estimation(weights, options, points)
    assert_of_the_formula(forest.calibration_, estimation, time, event)
    assert forest.calibration_.out_of_bag


def test_times_as_far_apart_as_numbers_can_be():
    time = np.repeat([-1.7e308, 1.7e308], 30)
    forest = CensoredQuantileForest(20, min_samples_leaf=30, random_state=0)
    forest.fit(np.zeros((60, 1)), time).calibrate(np.zeros((3, 1)), [-0.85e308, 0.0, 0.85e308])
    # Through the midpoints of two jumps by one half.
    np.testing.assert_allclose(forest.calibration_.level, [0.375, 0.5, 0.625])


@settings(max_examples=40, deadline=None)
@given(n=st.integers(5, 60), coverage=st.floats(0.3, 0.97), seed=st.integers(0, 2**31))
def test_without_censoring_it_is_split_conformal_prediction(n, coverage, seed):
    rng = np.random.default_rng(seed)
    X = rng.uniform(0, 2, (n, 1))
    T = np.exp(X[:, 0] + 0.3 * rng.normal(size=n))
    forest = FOREST_OF_EVENTS
    forest.calibrate(X, T)
    level = own_levels(forest.distribution(X).estimation, T)
    # The k-th smallest of n and one more that may be anywhere.
    k = int(np.floor((1 - coverage) * (n + 1) + 1e-9))
    bound = forest.predict_lower_bound(TEST, coverage)
    ranked = np.sort(level)
    if k == 0 or ranked[k - 1] == 0:
        # Even the lowest quantile fails too often, or there are too few rows to tell.
        assert k == 0 or (bound == -np.inf).all()
    else:
        np.testing.assert_allclose(bound, forest.predict(TEST, ranked[k - 1]), rtol=1e-6)
    high = forest.predict_upper_bound(TEST, coverage)
    if k == 0 or ranked[n - k] > 1 - 1e-12:
        assert (high == np.inf).all()
    else:
        np.testing.assert_allclose(high, forest.predict(TEST, ranked[n - k]), rtol=1e-6)


FOREST_OF_EVENTS = CensoredQuantileForest(20, **OPTIONS).fit(TRAIN.X, TRAIN.latent)


def test_interval_has_the_bounds_of_half_the_miss():
    interval = FOREST.predict_interval(TEST, 0.8, method="conformal")
    np.testing.assert_array_equal(interval[:, 0], FOREST.predict_lower_bound(TEST, 0.9))
    np.testing.assert_array_equal(interval[:, 1], FOREST.predict_upper_bound(TEST, 0.9))
    assert interval.shape == (50, 2)
    assert (interval[:, 0] < interval[:, 1]).all()
    plain = FOREST.predict_interval(TEST, 0.8)
    np.testing.assert_array_equal(plain, FOREST.predict(TEST, [0.1, 0.9], unreached="inf"))


def test_more_coverage_is_a_wider_interval():
    lower = [FOREST.predict_lower_bound(TEST, c) for c in (0.5, 0.8, 0.9, 0.95)]
    upper = [FOREST.predict_upper_bound(TEST, c) for c in (0.5, 0.8, 0.9, 0.95)]
    assert (np.diff(lower, axis=0) <= 0).all()
    assert (np.diff(upper, axis=0) >= 0).all()


def test_left_censoring_is_the_mirror_image():
    left = CensoredQuantileForest(20, censoring="left", **OPTIONS)
    left.fit(TRAIN.X, -TRAIN.time, TRAIN.event)
    left.calibrate(HELD_OUT.X, -HELD_OUT.time, HELD_OUT.event)
    for a, b in (("lower", "upper"), ("upper", "lower")):
        right_bound = getattr(FOREST, f"predict_{a}_bound")(TEST, 0.85)
        left_bound = getattr(left, f"predict_{b}_bound")(TEST, 0.85)
        np.testing.assert_allclose(left_bound, -right_bound, rtol=1e-9)
    np.testing.assert_allclose(
        left.predict_interval(TEST, 0.99, method="conformal"),
        -FOREST.predict_interval(TEST, 0.99, method="conformal")[:, ::-1],
        rtol=1e-9,
    )


def test_what_is_not_identified_is_infinite():
    train, rows = (make_aft(150, rate=0.8, random_state=seed) for seed in (0, 1))
    forest = grow(train).calibrate(rows.X, rows.time, rows.event)
    interval = forest.predict_interval(TEST, 0.98, method="conformal")
    assert (interval[:, 1] == np.inf).all()
    clipped = forest.predict_interval(TEST, 0.98, method="conformal", unreached="clip")
    assert np.isfinite(clipped[:, 1]).all()
    marked = forest.predict_interval(TEST, 0.98, method="conformal", unreached="nan")
    assert np.isnan(marked[:, 1]).all()
    assert np.isfinite(forest.predict_lower_bound(TEST, 0.9)).all()


def test_out_of_bag():
    forest = grow(n_trees=200).calibrate()
    assert forest.calibration_.out_of_bag
    assert forest.calibration_.n_rows == 150
    level = forest.calibration_.lower_level(0.1)
    np.testing.assert_array_equal(
        forest.predict_lower_bound(TEST, 0.9), forest.predict(TEST, level)
    )
    # The rows themselves are missed as often as they may be.
    missed = TRAIN.latent < forest.oob_predict(level)
    assert 0.02 < missed.mean() < 0.18


def test_rows_without_an_out_of_bag_answer_are_left_out():
    forest = grow(n_trees=3).calibrate()
    assert 10 < forest.calibration_.n_rows < 80


@pytest.mark.parametrize("n_jobs", [2, 3])
def test_threads_do_not_matter(n_jobs):
    for data in (HELD_OUT, None):
        rows = () if data is None else (data.X, data.time, data.event)
        one = grow(n_jobs=1, n_trees=60).calibrate(*rows)
        many = grow(n_jobs=n_jobs, n_trees=60).calibrate(*rows)
        np.testing.assert_array_equal(
            one.predict_interval(TEST, method="conformal"),
            many.predict_interval(TEST, method="conformal"),
        )


def test_outcomes_in_every_form():
    frame = pd.DataFrame(TRAIN.X, columns=["x"])
    forest = CensoredQuantileForest(20, **OPTIONS).fit(frame, TRAIN.time, TRAIN.event)
    expected = FOREST.predict_lower_bound(TEST)
    rows = pd.DataFrame(HELD_OUT.X, columns=["x"])
    outcome = Surv.from_arrays(HELD_OUT.event, HELD_OUT.time)
    for X in (rows, pl.DataFrame({"x": HELD_OUT.X[:, 0]})):
        forest.calibrate(X, outcome)
        found = forest.predict_lower_bound(pl.DataFrame({"x": TEST[:, 0]}))
        np.testing.assert_array_equal(found, expected)
    y = pd.DataFrame({"event": HELD_OUT.event, "time": HELD_OUT.time})
    np.testing.assert_array_equal(
        forest.calibrate(rows, y).predict_lower_bound(pd.DataFrame(TEST, columns=["x"])), expected
    )


def test_copies_keep_the_calibration(tmp_path):
    FOREST.save(tmp_path / "model.cqrf")
    loaded = CensoredQuantileForest.load(tmp_path / "model.cqrf")
    for copy in (pickle.loads(pickle.dumps(FOREST)), loaded):
        np.testing.assert_array_equal(
            copy.predict_interval(TEST, 0.7, method="conformal"),
            FOREST.predict_interval(TEST, 0.7, method="conformal"),
        )
        assert copy.calibration_.n_rows == 120
        assert copy.calibration_.out_of_bag is False
    loaded.save(tmp_path / "again.cqrf")
    assert (tmp_path / "again.cqrf").read_bytes() == (tmp_path / "model.cqrf").read_bytes()


def test_fit_forgets_the_calibration():
    forest = grow().calibrate(HELD_OUT.X, HELD_OUT.time, HELD_OUT.event)
    forest.fit(TRAIN.X, TRAIN.time, TRAIN.event)
    assert forest.calibration_ is None
    assert not hasattr(clone(FOREST), "calibration_")


class TestBadInput:
    def test_no_calibration(self):
        forest = grow()
        for ask in (
            lambda: forest.predict_lower_bound(TEST),
            lambda: forest.predict_upper_bound(TEST),
            lambda: forest.predict_interval(TEST, method="conformal"),
        ):
            with pytest.raises(ValueError, match="call calibrate first"):
                ask()

    @pytest.mark.parametrize(
        ("rows", "reason"),
        [
            ((HELD_OUT.X, HELD_OUT.time[:-1]), "differ in length"),
            ((HELD_OUT.X, HELD_OUT.time, HELD_OUT.event[:-1]), "differ in length"),
            ((HELD_OUT.X, HELD_OUT.time, np.zeros(120, dtype=bool)), "never True"),
            ((HELD_OUT.X, None), "y is None"),
            ((None, HELD_OUT.time), "need X"),
            ((np.ones((120, 2)), HELD_OUT.time), "features"),
        ],
    )
    def test_rows_that_do_not_fit_leave_the_old_calibration(self, rows, reason):
        before = FOREST.calibration_
        with pytest.raises(ValueError, match=reason):
            FOREST.calibrate(*rows)
        assert FOREST.calibration_ is before

    def test_no_rows_out_of_bag(self):
        with pytest.raises(ValueError, match="leave rows out"):
            grow(max_samples=None).calibrate()

    @pytest.mark.parametrize("coverage", [0.0, 1.0, np.nan])
    def test_coverage(self, coverage):
        for ask in (FOREST.predict_lower_bound, FOREST.predict_upper_bound):
            with pytest.raises(ValueError, match="coverage must lie"):
                ask(TEST, coverage)

    def test_condition(self):
        with pytest.raises(ValueError, match="conditional_after does not go with method"):
            FOREST.predict_interval(TEST, method="conformal", conditional_after=1.0)

    def test_names(self):
        with pytest.raises(ValueError, match="method must be one of"):
            FOREST.predict_interval(TEST, method="bootstrap")
        for method in ("forest", "conformal"):
            with pytest.raises(ValueError, match="unreached must be one of"):
                FOREST.predict_interval(TEST, method=method, unreached="zero")


class TestCoverage:
    """Over 40 replications; three standard errors over them, and the +1/n of the new row."""

    @staticmethod
    def covered(make, coverage=0.9, bound="lower", n=400, **parameters):
        shares = []
        for seed in range(40):
            data, test = make(n, seed), make(500, 1000 + seed)
            half = n // 2
            forest = CensoredQuantileForest(40, random_state=seed, **parameters)
            forest.fit(data.X[:half], data.time[:half], data.event[:half])
            forest.calibrate(data.X[half:], data.time[half:], data.event[half:])
            if bound == "lower":
                shares.append(test.latent >= forest.predict_lower_bound(test.X, coverage))
            else:
                ends = forest.predict_interval(test.X, coverage, method="conformal")
                shares.append((ends[:, 0] <= test.latent) & (test.latent <= ends[:, 1]))
        return np.mean(shares), 3 * np.std(np.mean(shares, axis=1)) / np.sqrt(40)

    def test_lower_bounds(self):
        share, error = self.covered(lambda n, s: make_aft(n, rate=0.24, random_state=s))
        assert abs(share - 0.9) < error + 1 / 200

    def test_intervals(self):
        share, error = self.covered(
            lambda n, s: make_sine(n, random_state=s), coverage=0.8, bound="both"
        )
        assert abs(share - 0.8) < error + 2 / 200

    def test_wrong_quantiles_with_the_right_censoring_curve(self):
        # A forest that never splits knows no x, but the kernel curve of the censoring time does.
        # Rows with later times are censored earlier: without weights the share is 0.62.
        def make(n, seed):
            return make_aft(n, rate=0.3, dependent_censoring=True, random_state=seed)

        share, error = self.covered(
            make, coverage=0.5, min_samples_split=10**6, censoring_curve="kernel"
        )
        assert abs(share - 0.5) < error + 1 / 200

    def test_right_quantiles_with_the_wrong_censoring_curve(self):
        # Censoring depends on x, which the marginal curve does not know.
        def make(n, seed):
            return make_aft(n, rate=0.3, dependent_censoring=True, random_state=seed)

        share, error = self.covered(make, n=800, censoring_curve="marginal")
        assert abs(share - 0.9) < error + 1 / 400
