"""Answers do not depend on threads, on blocks of rows, nor on who else is asking."""

import dataclasses
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from cqrf import CensoredQuantileForest

LEVELS = np.array([0.05, 0.5, 0.9])
CURVES = ["beran", "knn", "kernel", "marginal"]

pytestmark = pytest.mark.filterwarnings("ignore:.*time of the training record")


def draw(n, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, 5))
    X[rng.random(n) < 0.1, 1] = np.nan
    X[:, 4] = rng.integers(0, 5, n)
    T = np.exp(X[:, 0] + 0.5 * rng.normal(size=n))
    C = rng.exponential(4.0, n)
    return X, np.minimum(T, C), T <= C


X, TIME, EVENT = draw(400)
# More rows than a block has, and no multiple of it.
X_TEST = draw(333, seed=1)[0]


def fitted(**parameters):
    defaults = {
        "n_estimators": 30,
        "min_samples_leaf": 5,
        "bootstrap": True,
        "categorical_features": [4],
        "random_state": 0,
    }
    return CensoredQuantileForest(**(defaults | parameters)).fit(X, TIME, EVENT)


def everything(forest):
    """All that a forest answers, as arrays."""
    grid = np.array([2.0, 0.1, 1.0, 9.0])
    weights = forest.forest_weights(X_TEST)
    after = np.linspace(0.0, 3.0, len(X_TEST))
    functions = [
        *forest.predict_survival_function(X_TEST[:70]),
        *forest.predict_censoring_function(X_TEST[:70]),
    ]
    return [
        forest.predict(X_TEST, LEVELS),
        forest.predict(X_TEST, LEVELS, conditional_after=after, unreached="nan"),
        forest.predict_interval(X_TEST),
        forest.identified(X_TEST, LEVELS),
        forest.predict_survival_function(X_TEST, times=grid),
        forest.predict_censoring_function(X_TEST, times=grid),
        forest.predict_cumulative_hazard_function(X_TEST, times=grid),
        forest.predict_rmst(X_TEST, 2.0),
        forest.estimating_function(X_TEST, grid, 0.3),
        forest.apply(X_TEST),
        weights.data,
        weights.indices,
        weights.indptr,
        forest.oob_predict(LEVELS),
        np.array([forest.score(X_TEST, np.arange(len(X_TEST)), np.ones(len(X_TEST)))]),
        *(function.x for function in functions),
        *(function.y for function in functions),
    ]


def assert_identical(one, other):
    for a, b in zip(one, other, strict=True):
        assert a.dtype == b.dtype
        assert a.shape == b.shape
        assert a.tobytes() == b.tobytes()


def assert_same_trees(one, other):
    for field in dataclasses.fields(one.trees_):
        np.testing.assert_array_equal(
            getattr(one.trees_, field.name), getattr(other.trees_, field.name), err_msg=field.name
        )


@pytest.mark.parametrize("criterion", ["distribution", "random", "mse", "quantile", "logrank"])
def test_fit(criterion):
    serial = fitted(criterion=criterion, n_jobs=1)
    for n_jobs in (1, 2, 3, 8, -1, None):
        other = fitted(criterion=criterion, n_jobs=n_jobs)
        assert_same_trees(serial, other)
        np.testing.assert_array_equal(serial.model_.bins, other.model_.bins)


@pytest.mark.parametrize("curve", CURVES)
def test_predictions(curve):
    forest = fitted(censoring_curve=curve, n_jobs=1)
    serial = everything(forest)
    for n_jobs in (1, 2, 3, 8):
        assert_identical(everything(forest.set_params(n_jobs=n_jobs)), serial)


@pytest.mark.parametrize("sampling", [{"honest": True}, {"bootstrap": False, "max_samples": 0.5}])
def test_fit_and_predictions(sampling):
    serial = everything(fitted(n_jobs=1, **sampling))
    for n_jobs in (2, 3, 8):
        assert_identical(everything(fitted(n_jobs=n_jobs, **sampling)), serial)


@pytest.mark.parametrize("curve", CURVES)
def test_blocks(curve):
    estimation = fitted(censoring_curve=curve).distribution(X_TEST).estimation
    grid = np.array([2.0, 0.1, 1.0, 9.0])

    def answers(**changes):
        changed = dataclasses.replace(estimation, **changes)
        quantiles = changed.quantiles(LEVELS, solver="root", interpolation="midpoint")
        curves = [changed.curve(which, grid) for which in ("survival", "censoring")]
        weights = changed.weights.matrix(changed.n_threads, changed.block_size)
        functions = changed.survival_functions()
        return [
            *quantiles,
            *curves,
            *weights,
            changed.restricted_mean(2.0),
            *(function.y for function in functions),
        ]

    reference = answers()
    for n_threads in (1, 3):
        for block_size in (1, 7, 64, 100, len(X_TEST), 10_000):
            assert_identical(answers(n_threads=n_threads, block_size=block_size), reference)


def test_one_row_at_a_time():
    forest = fitted()
    together = forest.predict(X_TEST, LEVELS)
    for row in range(0, len(X_TEST), 11):
        assert forest.predict(X_TEST[[row]], LEVELS).tobytes() == together[[row]].tobytes()


def test_repeats():
    forest = fitted(n_jobs=2)
    first = everything(forest)
    for _ in range(3):
        assert_identical(everything(forest), first)
    assert_identical(everything(fitted(n_jobs=2)), first)


@pytest.mark.parametrize("curve", CURVES)
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_eight_threads_ask_one_forest(curve, n_jobs):
    forest = fitted(censoring_curve=curve, n_jobs=n_jobs)
    serial = everything(forest)
    # As if it had just been fitted or loaded: the engine's objects are made by whoever comes first.
    for record in (forest.trees_, forest.target_, forest.model_.binner):
        record.__dict__.pop("engine", None)
    start = threading.Barrier(8)

    def ask(_):
        start.wait()
        return everything(forest)

    with ThreadPoolExecutor(8) as pool:
        for answers in pool.map(ask, range(8)):
            assert_identical(answers, serial)


def test_forests_grown_at_once():
    serial = [fitted(random_state=seed) for seed in range(8)]
    start = threading.Barrier(8)

    def grow(seed):
        start.wait()
        return fitted(random_state=seed, n_jobs=2)

    with ThreadPoolExecutor(8) as pool:
        for one, other in zip(serial, pool.map(grow, range(8)), strict=True):
            assert_same_trees(one, other)
