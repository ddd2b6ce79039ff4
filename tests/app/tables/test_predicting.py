"""Answers to a block of rows: times of their own, left censoring, rounding."""

import io

import numpy as np
import pandas as pd
import pytest

from cqrf import CensoredQuantileForest
from cqrf.app.tables import open_input
from cqrf.app.tables.predicting import PredictOptions, predict_blocks, rounded


@pytest.fixture(scope="module", params=["right", "left"])
def censoring(request):
    return request.param


@pytest.fixture(scope="module")
def data(censoring):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"x": rng.uniform(size=80)})
    T = rng.exponential(1.0 + X["x"])
    C = rng.exponential(2.0, 80)
    time = np.minimum(T, C)
    return X, time if censoring == "right" else 10.0 - time, T <= C


@pytest.fixture(scope="module")
def forest(data, censoring):
    options = {"censoring": censoring, "min_samples_leaf": 10, "random_state": 0}
    return CensoredQuantileForest(10, **options).fit(*data)


def ask(forest, table, **options):
    stream = io.BytesIO(table.to_csv(index=False).encode())
    (answer,) = predict_blocks(forest, open_input(stream), PredictOptions(**options))
    return answer


def test_survival_given_times_of_their_own(forest, data):
    X, time, _ = data
    table = X.assign(so_far=np.round(time / 2, 1))
    answer = ask(forest, table, survival=(0.5, 9.0), after="so_far")
    for row, after in enumerate(table["so_far"]):
        grid = [0.5, 9.0, after]
        half, nine, until = forest.predict_survival_function(X.iloc[[row]], grid)[0]
        for name, t, s in (("s0.5", 0.5, half), ("s9", 9.0, nine)):
            expected = 1.0 if t <= after else s / until if until > 0.0 else np.nan
            np.testing.assert_allclose(answer[name][row], expected, rtol=1e-13)


def test_nothing_is_said_where_nobody_is_left(forest, data):
    answer = ask(forest, data[0], quantiles=(0.5,), survival=(1e6, 2e6), after="1e6")
    assert (answer["s1e+06"] == 1.0).all()
    left = forest.predict_survival_function(data[0], [1e6])[:, 0] > 0.0
    np.testing.assert_array_equal(np.isnan(answer["s2e+06"]), ~left)


def test_identified_given_a_time(forest, data):
    X, time, _ = data
    after = np.linspace(time.min() - 1.0, time.max(), len(X))
    found = forest.identified(X, [0.02, 0.98], conditional_after=after)
    plain = forest.predict(X, [0.02, 0.98], conditional_after=after, unreached="nan")
    np.testing.assert_array_equal(found, ~np.isnan(plain))
    assert 0 < found.sum() < found.size
    alone = forest.identified(X, 0.9, conditional_after=1.0)
    assert alone.shape == (len(X),)


def test_what_stands_for_ends_that_are_not_reached(forest, data):
    answer = ask(forest, data[0], quantiles=(0.02, 0.98), interval=0.96)
    side = "lower" if forest.censoring == "left" else "upper"
    name, quantile = f"{side}0.96", "q0.02" if side == "lower" else "q0.98"
    known = answer[f"{name}_identified"]
    assert 0 < known.sum() < len(known)
    assert np.isfinite(answer[quantile]).all()
    np.testing.assert_array_equal(np.isinf(answer[name]), ~known)
    np.testing.assert_array_equal(answer[name][known], answer[quantile][known])
    same = ask(forest, data[0], quantiles=(0.02, 0.98), interval=0.96, unreached="clip")
    np.testing.assert_array_equal(same[name], answer[quantile])


def test_rounding_is_that_of_decimal_numbers():
    rng = np.random.default_rng(0)
    values = np.concatenate([rng.normal(size=500) * 10.0 ** rng.uniform(-12, 12, 500), [0.0]])
    for digits in (1, 3, 9):
        expected = [float(f"{value:.{digits}g}") for value in values]
        np.testing.assert_array_equal(rounded(values, digits), expected)
    extreme = np.array([np.inf, -np.inf, np.nan, 1e-300, 1e300, 5e-324])
    np.testing.assert_array_equal(rounded(extreme, 3), extreme)
