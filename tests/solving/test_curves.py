"""Curves as functions: by hand, and against the values on a grid."""

import numpy as np
import pytest

from cqrf import CensoredQuantileForest
from cqrf.solving.curves import StepFunction, step_functions

TIMES = np.array([0.05, 0.3, 0.7, 1.0, 2.0, 40.0])


def draw(n=60):
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(n, 2))
    T = np.exp(X[:, 0] + rng.normal(size=n))
    C = rng.exponential(3.0, n)
    return X, np.minimum(T, C).round(1) + 0.1, T <= C


@pytest.mark.parametrize(("x", "y"), [([1.0], [1.0, 2.0]), ([[1.0]], [[1.0]])])
def test_shapes_must_agree(x, y):
    with pytest.raises(ValueError, match="one-dimensional and of one length"):
        StepFunction(x=x, y=y)


def test_times_must_ascend():
    with pytest.raises(ValueError, match="ascending"):
        StepFunction(x=[2.0, 1.0], y=[0.5, 0.2])


def test_by_hand():
    survival = StepFunction(x=[1.0, 2.0, 4.0], y=[0.8, 0.4, 0.0])
    np.testing.assert_array_equal(survival([0.0, 1.0, 1.5, 2.0, 4.0]), [1.0, 0.8, 0.8, 0.4, 0.0])
    hazard = survival.cumulative_hazard()
    np.testing.assert_allclose(hazard([0.0, 1.0, 2.0, 4.0]), [0.0, 0.2, 0.7, 1.7])
    # P(-T > t) = P(T < -t)
    mirror = survival.reflected()
    np.testing.assert_allclose(
        mirror([-5.0, -4.0, -2.0, -1.5, -1.0, 0.0]), [1, 0.6, 0.2, 0.2, 0, 0]
    )


def test_function_without_times():
    nothing = StepFunction(x=[], y=[])
    assert nothing(3.0) == 1.0
    assert nothing.cumulative_hazard()(3.0) == 0.0
    assert step_functions([nothing]).shape == (1,)


@pytest.mark.parametrize("curve", ["beran", "knn", "kernel", "marginal"])
@pytest.mark.parametrize("censoring", ["right", "left"])
def test_functions_and_grid_agree(curve, censoring):
    X, time, event = draw()
    forest = CensoredQuantileForest(
        5, censoring=censoring, censoring_curve=curve, min_samples_leaf=5, random_state=0
    ).fit(X, time, event)
    for ask in (
        forest.predict_survival_function,
        forest.predict_censoring_function,
        forest.predict_cumulative_hazard_function,
    ):
        functions = ask(X[:4])
        values = np.stack([function(TIMES) for function in functions])
        np.testing.assert_allclose(ask(X[:4], times=TIMES), values, atol=1e-12)


def test_beyond_a_time_it_is_a_quotient():
    survival = StepFunction(x=[1.0, 2.0, 3.0], y=[0.8, 0.4, 0.1])
    given = survival.beyond(1.5)
    np.testing.assert_allclose(given([0.0, 1.5, 1.9, 2.0, 9.0]), [1.0, 1.0, 1.0, 0.5, 0.125])
    # A jump at the time itself has happened.
    np.testing.assert_allclose(survival.beyond(2.0)([2.0, 3.0]), [1.0, 0.25])
    np.testing.assert_array_equal(survival.beyond(0.0).y, survival.y)


def test_beyond_the_last_of_a_curve_nothing_is_known():
    given = StepFunction(x=[1.0, 2.0], y=[0.5, 0.0]).beyond(2.0)
    np.testing.assert_array_equal(given([0.0, 2.0, 2.1]), [1.0, 1.0, np.nan])


def test_integral_is_the_area_between_two_times():
    survival = StepFunction(x=[1.0, 2.0], y=[0.5, 0.25])
    assert survival.integral(0.0, 4.0) == 1.0 + 0.5 + 2 * 0.25
    assert survival.integral(0.5, 1.0) == 0.5
    assert survival.integral(1.0, 1.5) == 0.25
    assert survival.integral(3.0, 3.0) == 0.0
