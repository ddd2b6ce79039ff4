"""Without censoring the answer is that of the quantile-forest package on the same leaves.

Where its conventions differ from ours:

- By default a training row counts once for every tree that has it in the leaf
  (`weighted_leaves=False`): pooled leaves, not Meinshausen's weights. With
  `weighted_leaves=True` each tree has the same say, as in the paper's eq. rf_weight.
- Leaves hold the bootstrap sample of their tree and, by default, one row of it; with
  `bootstrap=False, max_samples_leaf=None` they hold all training rows routed to them.
- Weights are frequencies that add up to W (the sizes of the leaves, summed over trees), and the
  level q stands for the rank q (W - 1) + 1, as in NumPy's default ("type 7"). Our level tau
  stands for the rank tau W of the distribution function. So its "higher" at q is our "lower"
  at tau = (q (W - 1) + 1) / W.
- Its "lower" at q is the value of the rank below, so our "lower" at tau = q (W - 1) / W, as long
  as weights are whole numbers.
- Its "linear" runs between neighbouring ranks, so it is flat over all but one of the copies of a
  row. With equal weights, one copy each, it is our "linear" at rank tau W and our "midpoint" at
  rank tau W + 1/2. Its "midpoint" is the mean of the two neighbours, which we do not have.
"""

import numpy as np
import pytest
from quantile_forest import RandomForestQuantileRegressor

import cqrf

LEVELS = [0.03, 0.1123, 0.2717, 0.5031, 0.7511, 0.9207, 0.98]


def fitted(ties, **parameters):
    rng = np.random.default_rng(3)
    X = rng.uniform(size=(200, 3))
    y = np.exp(2 * X[:, 0]) + rng.normal(size=200)
    if ties:
        y = np.round(y)
    forest = RandomForestQuantileRegressor(
        bootstrap=False, max_samples_leaf=None, random_state=0, **parameters
    )
    forest.fit(X, y)
    X_test = rng.uniform(size=(25, 3))
    return forest, X_test, forest.apply(X), forest.apply(X_test), y


def ranks(train, test):
    """W (m,): the sizes of the leaves of each test row, summed over trees."""
    return (train[None, :, :] == test[:, None, :]).sum(axis=(1, 2))


def solve_rows(weights, y, levels, interpolation):
    """Ours at levels (m, q) that differ from row to row."""
    seen = np.ones(len(y), dtype=bool)
    return np.vstack(
        [
            cqrf.solve_quantiles(weights[[i]], y, seen, levels[i], interpolation=interpolation)
            for i in range(len(levels))
        ]
    )


@pytest.mark.parametrize("ties", [False, True])
def test_meinshausen_weights(ties):
    forest, X_test, train, test, y = fitted(
        ties, n_estimators=15, min_samples_leaf=6, max_features=1
    )
    theirs = forest.predict(X_test, quantiles=LEVELS, interpolation="higher", weighted_leaves=True)
    W = ranks(train, test)[:, None]
    ours = solve_rows(
        cqrf.leaf_weights(train, test), y, (np.array(LEVELS) * (W - 1) + 1) / W, "lower"
    )
    np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("weighted_quantile", [True, False])
def test_pooled_leaves(ties, weighted_quantile):
    forest, X_test, train, test, y = fitted(
        ties, n_estimators=15, min_samples_leaf=6, max_features=1
    )
    counts = (train[None, :, :] == test[:, None, :]).sum(axis=2).astype(float)
    W = counts.sum(axis=1)[:, None]
    for interpolation, shift in (("higher", 1), ("lower", 0)):
        theirs = forest.predict(
            X_test,
            quantiles=LEVELS,
            interpolation=interpolation,
            weighted_quantile=weighted_quantile,
        )
        ours = solve_rows(counts, y, (np.array(LEVELS) * (W - 1) + shift) / W, "lower")
        np.testing.assert_array_equal(ours, theirs)


def test_interpolations_with_equal_weights():
    # One tree: every row of the leaf has one copy.
    forest, X_test, train, test, y = fitted(False, n_estimators=1, min_samples_leaf=20)
    theirs = forest.predict(X_test, quantiles=LEVELS, interpolation="linear")
    weights = cqrf.leaf_weights(train, test)
    W = ranks(train, test)[:, None]
    rank = np.array(LEVELS) * (W - 1) + 1
    np.testing.assert_allclose(
        solve_rows(weights, y, rank / W, "linear"), theirs, rtol=0, atol=1e-11
    )
    np.testing.assert_allclose(
        solve_rows(weights, y, (rank - 0.5) / W, "midpoint"), theirs, rtol=0, atol=1e-11
    )
