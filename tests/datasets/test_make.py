"""Simulated data: the quantiles that they state are those that they have."""

import numpy as np
import pytest
from scipy.stats import binomtest

from cqrf import datasets

LEVELS = np.array([0.1, 0.5, 0.9])
MODELS = [
    # simulator, arguments, features, share censored at the default or stated rate
    (datasets.make_aft, {}, 1, 0.22),
    (datasets.make_aft, {"rate": 0.2}, 1, 0.45),
    (datasets.make_aft, {"n_features": 5}, 5, 0.22),
    (datasets.make_aft, {"n_features": 5, "n_noise": 20}, 25, 0.22),
    (datasets.make_aft, {"n_features": 5, "dependent_censoring": True}, 5, 0.23),
    (datasets.make_sine, {}, 1, 0.26),
    (datasets.make_manifold, {}, 5, 0.09),
    (datasets.make_manifold, {"rate": 0.045}, 5, 0.25),
    (datasets.make_heteroscedastic, {}, 40, 0.18),
    (datasets.make_location_scale, {}, 5, 0.29),
    (datasets.make_crossing, {}, 5, 0.26),
]


@pytest.mark.parametrize(("make", "arguments", "p", "censored"), MODELS)
def test_what_is_drawn(make, arguments, p, censored):
    n = 20_000
    data = make(n, random_state=0, **arguments)
    assert data.X.shape == (n, p)
    assert data.time.shape == data.event.shape == data.latent.shape == (n,)
    assert data.event.dtype == bool
    np.testing.assert_array_equal(data.time[data.event], data.latent[data.event])
    assert (data.time[~data.event] < data.latent[~data.event]).all()
    # Half a percent of rounding in the stated share, and the chance of the draw.
    error = np.sqrt(censored * (1 - censored) / n)
    assert abs(1 - data.event.mean() - censored) < 0.005 + 4 * error


@pytest.mark.parametrize(("make", "arguments", "p", "censored"), MODELS)
def test_true_quantiles(make, arguments, p, censored):
    data = make(20_000, random_state=1, **arguments)
    below = data.latent[:, None] <= data.quantile(data.X, LEVELS)
    # In each half of the first feature, so that quantiles are right where the law changes.
    middle = np.median(data.X[:, 0])
    for rows in (data.X[:, 0] <= middle, data.X[:, 0] > middle):
        for level, share in zip(LEVELS, below[rows].T, strict=True):
            assert binomtest(int(share.sum()), len(share), level).pvalue > 1e-5


@pytest.mark.parametrize(("make", "arguments", "p", "censored"), MODELS)
def test_seeds(make, arguments, p, censored):
    first, again = (make(50, random_state=3, **arguments) for _ in range(2))
    other = make(50, random_state=4, **arguments)
    for name in ("X", "time", "event", "latent"):
        np.testing.assert_array_equal(first[name], again[name])
    assert (first.X != other.X).all()


def test_dependent_censoring_depends_on_the_features():
    data = datasets.make_aft(20_000, n_features=5, dependent_censoring=True, random_state=0)
    late = data.X[:, 4] > 1
    assert (~data.event[late]).mean() > 2 * (~data.event[~late]).mean()


def test_bad_arguments():
    with pytest.raises(ValueError, match="n_features must be 1 or 5"):
        datasets.make_aft(10, n_features=2)
    with pytest.raises(ValueError, match="n_samples"):
        datasets.make_sine(0)
    with pytest.raises(ValueError, match="between 0 and 1"):
        datasets.make_sine(10).quantile([[0.0]], [1.0])
