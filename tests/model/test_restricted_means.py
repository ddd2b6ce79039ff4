"""`predict_rmst` beside the area under the curve that `predict_survival_function` returns."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
import twins

from cqrf import CensoredQuantileForest

# Exact; on all ranks or levels, and by cells where leaves are large.
RESOLUTIONS = [None, 30, 1000]
BOUND = 1e-4


def draw(n, *, seed):
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, 3))
    time = 1.0 + np.exp(X[:, 0] + 0.5 * rng.normal(size=n))
    limit = rng.uniform(2.0, 6.0, size=n)
    return X, np.minimum(time, limit), time <= limit


X_NEW = draw(20, seed=1)[0]


@cache
def fitted(censoring, *, n=3000, leaf=20, ends=False, far=None):
    """A forest; left-censored times are the others mirrored.

    Where the record ends with events, curves reach their end; one time may be far from the others.
    """
    X, time, event = draw(n, seed=0)
    if ends:
        event |= time > np.quantile(time, 0.8)
    if far is not None:
        extreme = np.argmax(time)
        time[extreme], event[extreme] = far, True
    return CensoredQuantileForest(
        20, censoring=censoring, min_samples_leaf=leaf, random_state=0
    ).fit(X, time if censoring == "right" else 7.0 - time, event)


def means(forest, horizon, resolution):
    return forest.set_params(time_resolution=resolution).predict_rmst(X_NEW, horizon)


def record(forest):
    return np.sort(forest.target_.times * (-1.0 if forest.target_.mirrored else 1.0))


def areas(forest, horizon):
    start = record(forest)[0]
    curves = forest.set_params(time_resolution=None).predict_survival_function(X_NEW)
    return np.array([twins.area_mean(curve, start, horizon) for curve in curves])


@pytest.mark.parametrize("resolution", RESOLUTIONS)
@pytest.mark.parametrize("leaf", [20, 600])
@pytest.mark.parametrize("censoring", ["right", "left"])
def test_area_under_the_curve(censoring, leaf, resolution):
    forest = fitted(censoring, leaf=leaf)
    times = record(forest)
    first, last = times[0], times[-1]
    for horizon in (first - 5.0, first, *np.quantile(times, [0.001, 0.01, 0.1, 0.5]), last, 9.0):
        error = np.abs(means(forest, horizon, resolution) - areas(forest, horizon)).max()
        assert error <= (1e-13 if resolution is None else BOUND * (last - first))


def test_left_censored_mass_below_a_points_own_times():
    """The curve of a point may end before the record begins; it is carried on to there."""
    forest = fitted("left")
    curves = forest.set_params(time_resolution=None).predict_survival_function(X_NEW)
    carried = [S.initial < 1.0 and S.x[0] > record(forest)[0] for S in curves]
    assert any(carried)
    first_times = np.array([S.x[0] for S in curves])
    before = np.array([means(forest, t, None)[i] for i, t in enumerate(first_times)])
    # The slope between is that probability, not one.
    start = record(forest)[0]
    initial = np.array([S.initial for S in curves])
    np.testing.assert_allclose(before, start + initial * (first_times - start), rtol=1e-12)


@pytest.mark.parametrize("resolution", RESOLUTIONS)
@pytest.mark.parametrize("leaf", [20, 600])
@pytest.mark.parametrize("ends", [True, False])
@pytest.mark.parametrize("censoring", ["right", "left"])
def test_horizons_beyond_the_record(censoring, ends, leaf, resolution):
    forest = fitted(censoring, leaf=leaf, ends=ends)
    curves = forest.set_params(time_resolution=None).predict_survival_function(X_NEW)
    rest = np.array([S.y[-1] for S in curves])
    none_left = rest == 0.0
    assert none_left.any() if ends or censoring == "left" else (rest > 0.0).any()
    to_last = means(forest, record(forest)[-1], resolution)
    for horizon in (1e17, 1e300):
        found = means(forest, horizon, resolution)
        np.testing.assert_array_equal(found[none_left], to_last[none_left])
        error = np.abs(found / horizon - rest)[~none_left]
        assert error.max(initial=0.0) < (1e-15 if resolution is None else BOUND)
        np.testing.assert_array_equal(means(forest, -horizon, resolution), np.full(20, -horizon))


@pytest.mark.parametrize("n", [3000, 70_000])
@pytest.mark.parametrize("censoring", ["right", "left"])
def test_one_time_far_from_all_others(censoring, n):
    """It takes no digits from the means of points that have no weight on it."""
    forest = fitted(censoring, n=n, leaf=n // 100, far=1e17)
    exact = means(forest, 1e17, None)
    without = np.abs(exact) < 10.0
    assert without.any()
    for resolution in RESOLUTIONS[1:]:
        error = means(forest, 1e17, resolution) - exact
        assert np.abs(error[without]).max() < BOUND * 10.0


@pytest.mark.parametrize("horizon", [np.nan, np.inf, -np.inf])
def test_a_horizon_is_finite(horizon):
    with pytest.raises(ValueError, match="horizon"):
        fitted("right").predict_rmst(X_NEW, horizon)
