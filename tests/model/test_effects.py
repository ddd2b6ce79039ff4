"""The effect of a feature: quantiles of the averaged survival curve."""

import numpy as np
import pandas as pd
import pytest

from cqrf import CensoredQuantileForest
from cqrf.model.effects import encoded_matrix, feature_effect, spread

LEVELS = np.array([0.005, 0.05, 0.25, 0.5, 0.75, 0.95, 0.995])


def draw(n=300, seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"x": rng.uniform(size=n), "kind": rng.choice(["a", "b", "c"], n)})
    T = np.exp(X["x"] + (X["kind"] == "a") + 0.4 * rng.normal(size=n)).to_numpy()
    C = np.minimum(rng.exponential(6.0, n), 5.0)
    return X, np.minimum(T, C), T <= C


X, TIME, EVENT = draw()


def fitted(**parameters):
    forest = CensoredQuantileForest(30, min_samples_leaf=10, random_state=0, **parameters)
    return forest.fit(X, -TIME if parameters.get("censoring") == "left" else TIME, EVENT)


def effect_of(forest, rows, feature, values):
    points = forest.distribution(rows).points
    matrix = encoded_matrix(points.features, forest.model_.encoder)
    values = np.asarray(values, dtype=np.float64)
    return feature_effect(forest.model_, points.options, matrix, feature, values, LEVELS)


def midpoint_quantiles(times, curve, before):
    """Invert the line through the middles of the steps of a curve, as DESIGN says."""
    steps = np.concatenate([[before], curve])
    falls = np.flatnonzero(steps[:-1] - steps[1:] > 1e-12)
    middles = (steps[falls] + steps[falls + 1]) / 2.0
    found = np.interp(-(1.0 - LEVELS), -middles, times[falls])
    known = (curve[-1] - 1e-12 <= 1.0 - LEVELS) & (before + 1e-12 >= 1.0 - LEVELS)
    return found, known


@pytest.mark.parametrize("censoring", ["right", "left"])
def test_quantiles_are_those_of_the_averaged_curve(censoring):
    forest = fitted(censoring=censoring)
    rows = X[:40]
    found = effect_of(forest, rows, 0, [0.1, 0.9])
    times = forest.times_
    just_before = np.nextafter(times[0], -np.inf)
    seen = set()
    for k, value in enumerate([0.1, 0.9]):
        table = rows.assign(x=value)
        curve = forest.predict_survival_function(table, times).mean(axis=0)
        before = forest.predict_survival_function(table, [just_before]).mean()
        expected, known = midpoint_quantiles(times, curve, before)
        np.testing.assert_array_equal(found.identified[k], known)
        np.testing.assert_allclose(found.quantiles[k][known], expected[known], rtol=1e-9)
        end = -TIME.max() if censoring == "left" else TIME.max()
        assert (found.quantiles[k][~known] == end).all()
        seen |= set(known.tolist())
    assert seen == {True, False}


@pytest.mark.parametrize("interpolation", ["midpoint", "lower", "linear"])
@pytest.mark.parametrize("censoring", ["right", "left"])
def test_of_one_row_it_is_its_prediction(censoring, interpolation):
    forest = fitted(censoring=censoring, interpolation=interpolation)
    for row in range(5):
        table = X[row : row + 1]
        found = effect_of(forest, table, 0, table["x"])
        known = forest.identified(table, LEVELS)
        np.testing.assert_array_equal(found.identified, known)
        predicted = forest.predict(table, LEVELS)
        if interpolation == "linear":
            # A line to the first event begins at the first time with weight, which no curve tells.
            known[:, LEVELS > 0.9 if censoring == "left" else LEVELS < 0.1] = False
        np.testing.assert_allclose(found.quantiles[known], predicted[known], rtol=1e-12)


def test_categories_have_their_names():
    found = effect_of(fitted(), X[:30], 1, [2, 0])
    assert (found.name, found.values.tolist()) == ("kind", ["c", "a"])
    assert found.quantiles[1, 3] > 1.5 * found.quantiles[0, 3]


def test_a_category_that_nobody_knows_is_missing():
    forest = fitted()
    table = X[:3].assign(kind=["a", "z", None])
    matrix = encoded_matrix(forest.encode(table), forest.model_.encoder)
    np.testing.assert_array_equal(matrix[:, 1], [0.0, np.nan, np.nan])
    some = encoded_matrix(forest.encode(table), forest.model_.encoder, np.array([2, 0]))
    np.testing.assert_array_equal(some, matrix[[2, 0]])


def test_the_rows_that_are_given_stay_as_they_are():
    forest = fitted()
    points = forest.distribution(X[:5]).points
    matrix = encoded_matrix(points.features, forest.model_.encoder)
    before = matrix.copy()
    feature_effect(forest.model_, points.options, matrix, 0, np.array([0.5]), LEVELS)
    np.testing.assert_array_equal(matrix, before)


def test_rows_are_spread_evenly():
    assert spread(5, 9).tolist() == [0, 1, 2, 3, 4]
    assert spread(9, 3).tolist() == [0, 4, 8]
