"""Kaplan-Meier curves without a row against slow ones of the other rows."""

import numpy as np
import pytest
import twins

from cqrf.data.outcome import Target
from cqrf.metrics.curve_errors import kaplan_meier_survival
from cqrf.metrics.left_out import reference_curves, reference_quantiles

LEVELS = np.array([0.05, 0.1, 0.25, 0.5, 0.75, 0.95])
WEIGHTS = {
    "none": lambda rng, n: np.ones(n),
    "any": lambda rng, n: rng.uniform(0.2, 3.0, n),
    "whole": lambda rng, n: rng.integers(1, 3, n) * 1.0,
    # One row or two outweigh all others together.
    "dominating": lambda rng, n: 10.0 ** rng.integers(-5, 1, n),
}


@pytest.mark.parametrize("censoring", ["right", "left"])
@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("kind", WEIGHTS)
def test_are_those_of_the_other_rows(kind, ties, censoring):
    sign = 1.0 if censoring == "right" else -1.0
    rng = np.random.default_rng(0)
    for share in (0.3, 0.7, 1.0) * 4:
        n = int(rng.integers(2, 14))
        time = sign * (rng.integers(1, 8, n) if ties else rng.exponential(size=n))
        event, weight = rng.random(n) < share, WEIGHTS[kind](rng, n)
        event[0] = True
        target = Target.from_outcome(time, event, weight, censoring)
        times = np.sort(np.concatenate([time - 0.01, time, time + 0.01]))
        curves = target.by_row(reference_curves(target, times), np.nan)
        quantiles = target.by_row(reference_quantiles(target, LEVELS), np.nan)
        for i in range(n):
            rest = np.arange(n) != i
            others = time[rest], event[rest], weight[rest]
            curve = twins.survival_curve(*others, censoring=censoring)
            np.testing.assert_allclose(curves[i], [curve(t) for t in times], atol=1e-10)
            expected = [twins.solve_quantile(*others, q, censoring=censoring) for q in LEVELS]
            np.testing.assert_allclose(quantiles[i], expected, atol=1e-10)


def test_one_row_leaves_no_other():
    target = Target.from_outcome(np.array([2.0]), np.array([True]))
    np.testing.assert_array_equal(reference_curves(target, np.array([1.0, 2.0, 3.0])), 1.0)
    np.testing.assert_array_equal(reference_quantiles(target, LEVELS), 2.0)


def test_many_weights_are_rounded_by_less_than_a_hundredth_of_a_row():
    rng = np.random.default_rng(0)
    time, event = rng.exponential(size=3000), rng.random(3000) < 0.7
    target = Target.from_outcome(time, event, rng.uniform(0.5, 2.0, 3000))
    times = np.quantile(time, np.linspace(0.0, 0.9, 20))
    found, all_rows = reference_curves(target, times), kaplan_meier_survival(target, times)
    ranks = np.arange(0, 3000, 150)
    exact = []
    for i in ranks:
        rest = target.take(np.flatnonzero(np.arange(3000) != i))
        exact.append(kaplan_meier_survival(rest, times))
    moved = np.abs(np.array(exact) - all_rows).max()
    np.testing.assert_allclose(found[ranks], exact, atol=moved / 100)
