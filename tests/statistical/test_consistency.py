"""The forest estimates quantiles of T, not of what was observed of it.

The model is the paper's one-dimensional accelerated failure time model,

    log T = X + e,   X ~ U(0, 2),   e ~ N(0, 0.3^2),   C ~ Exp(0.08),

with about a fifth of the rows censored. Seeds are fixed; thresholds are numbers of standard
errors over the replications, so that a correct forest would pass with almost any other seed.
"""

import numpy as np
import pytest
from scipy import stats

from cqrf import CensoredQuantileForest

pytestmark = pytest.mark.slow

REPLICATIONS = 10
SIGMA = 0.3
# Of a difference that is zero, fewer than one mean in 300 is this many standard errors away (t
# with 9 degrees of freedom); the differences that are tested below lie between 5 and 21.
CLEAR = 4.0
GRID = np.linspace(0.02, 1.98, 99)[:, None]


def draw(seed, n):
    rng = np.random.default_rng(seed)
    X = rng.uniform(0.0, 2.0, (n, 1))
    T = np.exp(X[:, 0] + SIGMA * rng.normal(size=n))
    C = rng.exponential(1 / 0.08, n)
    return X, T, C


def true_quantile(x, level):
    return np.exp(x[:, 0] + SIGMA * stats.norm.ppf(level))


def grow(seed, X, time, event=None, **parameters):
    return CensoredQuantileForest(100, random_state=seed, **parameters).fit(X, time, event)


def error(forest, level=0.5):
    """Mean absolute deviation from the true quantile."""
    return np.abs(forest.predict(GRID, level) - true_quantile(GRID, level)).mean()


def in_standard_errors(differences):
    differences = np.asarray(differences)
    return differences.mean() / (differences.std(ddof=1) / np.sqrt(len(differences)))


@pytest.mark.parametrize("criterion", ["distribution", "random", "mse", "quantile", "logrank"])
def test_far_better_than_taking_censored_times_for_events(criterion):
    ours, naive, oracle = [], [], []
    for seed in range(REPLICATIONS):
        X, T, C = draw(seed, 1000)
        Y = np.minimum(T, C)
        ours.append(error(grow(seed, X, Y, T <= C, criterion=criterion)))
        naive.append(error(grow(seed, X, Y, criterion=criterion)))
        oracle.append(error(grow(seed, X, T, criterion=criterion)))
    assert in_standard_errors(np.subtract(naive, ours)) > CLEAR
    # Most of what censoring takes away is given back, though not all of it.
    assert in_standard_errors(np.subtract(naive, ours) - np.subtract(ours, oracle)) > CLEAR
    assert np.mean(ours) < 0.6 * np.mean(naive)


@pytest.mark.parametrize("curve", ["beran", "knn", "kernel", "marginal"])
@pytest.mark.parametrize("solver", ["root", "argmin"])
def test_every_curve_and_solver(curve, solver):
    differences = []
    for seed in range(REPLICATIONS):
        X, T, C = draw(seed, 1000)
        Y = np.minimum(T, C)
        forest = grow(seed, X, Y, T <= C, censoring_curve=curve, solver=solver)
        differences.append(error(grow(seed, X, Y)) - error(forest))
    assert in_standard_errors(differences) > CLEAR


@pytest.mark.parametrize("level", [0.25, 0.5, 0.75])
def test_more_data_are_better(level):
    differences = []
    for seed in range(REPLICATIONS):
        errors = []
        for n in (250, 4000):
            X, T, C = draw(seed, n)
            errors.append(error(grow(seed, X, np.minimum(T, C), T <= C), level))
        differences.append(errors[0] - errors[1])
    assert in_standard_errors(differences) > CLEAR


@pytest.mark.parametrize("censored_by", ["chance", "a limit that depends on X"])
def test_coverage(censored_by):
    levels = [0.1, 0.5, 0.9]
    covered, below, naively_below = [], [], []
    for seed in range(REPLICATIONS):
        X, T, C = draw(seed, 2000)
        if censored_by != "chance":
            C = C * np.exp(X[:, 0] - 1)
        Y = np.minimum(T, C)
        forest = grow(seed, X, Y, T <= C)
        X_new, T_new, _ = draw(1000 + seed, 2000)
        low, high = forest.predict_interval(X_new, coverage=0.8).T
        covered.append(np.mean((low <= T_new) & (T_new <= high)))
        for model, shares in ((forest, below), (grow(seed, X, Y), naively_below)):
            shares.append((T_new[:, None] <= model.predict(X_new, levels)).mean(axis=0))

    def is_right(shares, nominal):
        # Leaves of some sixty rows blur the quantiles by a hundredth or two; the rest is chance.
        allowed = 0.02 + CLEAR * np.std(shares, ddof=1) / np.sqrt(REPLICATIONS)
        assert allowed < 0.05
        return abs(np.mean(shares) - nominal) < allowed

    assert is_right(covered, 0.8)
    for j, level in enumerate(levels):
        assert is_right(np.array(below)[:, j], level)
        off, naively_off = (np.abs(np.array(s)[:, j] - level) for s in (below, naively_below))
        assert in_standard_errors(naively_off - off) > CLEAR


def test_out_of_bag_is_as_good_as_new_data():
    differences = []
    for seed in range(REPLICATIONS):
        X, T, C = draw(seed, 1000)
        forest = grow(seed, X, np.minimum(T, C), T <= C, bootstrap=True)
        X_new, T_new, _ = draw(1000 + seed, 1000)
        out_of_bag = np.abs(T - forest.oob_predict()).mean()
        fresh = np.abs(T_new - forest.predict(X_new)).mean()
        in_bag = np.abs(T - forest.predict(X)).mean()
        differences.append([out_of_bag - fresh, out_of_bag - in_bag])
    differences = np.array(differences)
    assert abs(in_standard_errors(differences[:, 0])) < CLEAR
    assert in_standard_errors(differences[:, 1]) > CLEAR


def test_left_censoring_at_detection_limits():
    differences = []
    for seed in range(REPLICATIONS):
        X, T, _ = draw(seed, 1000)
        limit = np.random.default_rng(seed).choice([1.5, 3.0, 4.5], len(T))
        Y = np.maximum(T, limit)
        # Quantiles below every limit are not identified; from 1.5 on they are.
        points = GRID[GRID[:, 0] > 0.9]
        target = true_quantile(points, 0.5)
        forest = grow(seed, X, Y, limit <= T, censoring="left")
        ours, naive = (
            np.abs(model.predict(points) - target).mean() for model in (forest, grow(seed, X, Y))
        )
        differences.append(naive - ours)
    assert in_standard_errors(differences) > CLEAR
