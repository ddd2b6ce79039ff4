"""Weighted Kaplan-Meier curves against lifelines.

lifelines too lets events come before censorings at the same time. It subtracts weights from
those at risk as time goes on, and where the rest is not exactly zero at a last event it leaves
that step out; weights that are binary fractions keep its arithmetic exact.
"""

import warnings

import numpy as np
import pytest
from lifelines import KaplanMeierFitter

import cqrf


def draw(seed, ties):
    rng = np.random.default_rng(seed)
    n = 60
    time = rng.integers(1, 12, n) * 0.5 if ties else rng.exponential(size=n)
    event = rng.random(n) < rng.choice([0.3, 0.6, 0.9])
    event[0] = True
    weights = rng.integers(0, 64, (4, n)) / 64
    weights[0] = 1.0
    return time, event, weights


def lifelines_curve(time, event, weights, grid):
    used = weights > 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it warns that the weights are no counts
        peer = KaplanMeierFitter().fit(time[used], event[used], weights=weights[used])
        return peer.survival_function_at_times(grid).to_numpy()


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("seed", range(8))
def test_survival(seed, ties):
    time, event, weights = draw(seed, ties)
    grid = np.concatenate([np.unique(time), np.linspace(0, time.max() + 1, 50)])
    for row, survival in zip(weights, cqrf.survival_curves(weights, time, event), strict=True):
        peer = lifelines_curve(time, event, row, grid)
        np.testing.assert_allclose(survival(grid), peer, rtol=0, atol=1e-10)


@pytest.mark.parametrize("seed", range(8))
def test_censoring_by_flipped_events(seed):
    # Without ties the curve of C is that of T with the roles exchanged, and S G is the weight
    # that is left.
    time, event, weights = draw(seed, ties=False)
    S = cqrf.survival_curves(weights, time, event)
    G = cqrf.survival_curves(weights, time, ~event)
    for i, row in enumerate(weights):
        peer = lifelines_curve(time, ~event, row, time)
        np.testing.assert_allclose(G[i](time), peer, rtol=0, atol=1e-10)
        after = np.array([row[time > t].sum() for t in time]) / row.sum()
        np.testing.assert_allclose(S[i](time) * G[i](time), after, rtol=0, atol=1e-10)


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_lower_quantiles_are_its_percentiles(seed, ties):
    # Its percentile(p) is the first time with S <= p, infinite where there is none.
    time, event, weights = draw(seed, ties)
    levels = [0.11, 0.37, 0.52, 0.83]
    answer = cqrf.solve_quantiles(
        weights, time, event, levels, interpolation="lower", unreached="inf"
    )
    for i, row in enumerate(weights):
        used = row > 0
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            peer = KaplanMeierFitter().fit(time[used], event[used], weights=row[used])
            expected = [peer.percentile(1 - level) for level in levels]
        np.testing.assert_array_equal(answer[i], expected)
