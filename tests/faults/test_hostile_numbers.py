"""Numbers at the edge of what floating point and the index types hold."""

import numpy as np
import pytest

from cqrf import CensoredQuantileForest, _engine

TINY = 5e-324
HUGE = np.finfo(np.float64).max
LEVELS = [0.1, 0.5, 0.9]
CRITERIA = ["distribution", "random", "mse", "quantile", "logrank"]


def check(forest, X, time):
    """Answers are finite, between the smallest and the largest time, and ascend with the level."""
    low, high = np.min(time), np.max(time)
    for interpolation in ("midpoint", "lower", "linear"):
        answers = forest.predict(X, LEVELS, interpolation=interpolation)
        assert np.isfinite(answers).all()
        assert ((answers >= low) & (answers <= high)).all()
        assert (np.diff(answers, axis=1) >= 0).all()
    survival = forest.predict_survival_function(X, return_array=True)
    assert ((survival >= 0) & (survival <= 1)).all()
    np.testing.assert_allclose(forest.forest_weights(X).sum(axis=1), 1.0)


def draw(n=120, p=3, seed=0):
    rng = np.random.default_rng(seed)
    return rng, rng.uniform(size=(n, p)), rng.uniform(size=n) < 0.7


TIMES = {
    "subnormal": lambda rng, n: rng.integers(1, 50, n) * TINY,
    "huge": lambda rng, n: rng.uniform(0.5, 1.0, n) * HUGE,
    "all sizes": lambda rng, n: 10.0 ** rng.uniform(-320, 308, n),
    "both signs": lambda rng, n: rng.choice([-HUGE, -1.0, -TINY, 0.0, TINY, 1.0, HUGE], n),
    "next to each other": lambda rng, n: 1.0 + rng.integers(0, 9, n) * np.finfo(float).eps,
    "constant": lambda rng, n: np.full(n, 3.0),
    "constant and huge": lambda rng, n: np.full(n, HUGE),
}


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("draw_times", TIMES.values(), ids=TIMES.keys())
def test_times(draw_times, criterion):
    rng, X, event = draw()
    time = draw_times(rng, len(X))
    event[np.argmax(time)] = True
    for censoring in ("right", "left"):
        forest = CensoredQuantileForest(
            10, criterion=criterion, censoring=censoring, random_state=0
        ).fit(X, time, event)
        check(forest, X, time)


FEATURES = {
    "subnormal": lambda rng, X: np.round(40 * X) * TINY,
    "huge": lambda rng, X: (X - 0.5) * HUGE,
    "all sizes": lambda rng, X: np.sign(X - 0.5) * 10.0 ** (620 * X - 315),
    "zeros of both signs": lambda rng, X: np.where(X < 0.5, -0.0, 0.0),
    "all equal": lambda rng, X: np.full_like(X, 7.0),
    "all missing": lambda rng, X: np.full_like(X, np.nan),
    "single precision at its end": lambda rng, X: ((X - 0.5) * 6.8e38).astype(np.float32),
}


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("change", FEATURES.values(), ids=FEATURES.keys())
def test_features(change, criterion):
    rng, X, event = draw()
    time = 1.0 + X[:, 0] + rng.uniform(size=len(X))
    with np.errstate(over="ignore"):
        X = change(rng, X)
    forest = CensoredQuantileForest(10, criterion=criterion, random_state=0).fit(X, time, event)
    check(forest, X, time)


@pytest.mark.parametrize(
    "weights", [[TINY, HUGE / 200], [1.0, TINY], [1e-200, 1e200], [TINY, TINY]]
)
def test_weights(weights):
    _, X, event = draw()
    time = 1.0 + X[:, 0]
    forest = CensoredQuantileForest(10, random_state=0)
    forest.fit(X, time, event, sample_weight=np.resize(weights, len(X)))
    answers = forest.predict(X, LEVELS)
    assert np.isfinite(answers).all()


def test_ten_thousand_columns():
    _, X, event = draw(60, 10_000)
    time = 1.0 + X[:, 17]
    for criterion in ("distribution", "mse"):
        forest = CensoredQuantileForest(3, criterion=criterion, random_state=0)
        check(forest.fit(X, time, event), X[:5], time)


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("parameters", [{}, {"bootstrap": True}, {"honest": True}], ids=str)
def test_one_row(criterion, parameters):
    forest = CensoredQuantileForest(5, criterion=criterion, random_state=0, **parameters)
    forest.fit([[1.0, 2.0]], [3.0], [True])
    np.testing.assert_array_equal(forest.predict([[0.0, 0.0], [9.0, np.nan]]), [3.0, 3.0])


@pytest.mark.parametrize("n", [65_535, 65_536, 65_537, 70_000])
def test_more_distinct_times_than_sixteen_bits_count(n):
    # One leaf: the quantiles are those of all the times, each of which occurs once. Exactly, since
    # sums by levels of time may be on the other side of the level by their last bits.
    time = np.arange(1.0, n + 1)
    X = np.zeros((n, 1))
    forest = CensoredQuantileForest(
        1, min_samples_split=n + 1, max_samples=1.0, interpolation="lower", time_resolution=None
    ).fit(X, time)
    assert len(forest.target_.times) == n
    np.testing.assert_array_equal(
        forest.predict(X[:1], [0.25, 0.5, 1 - 1 / n])[0], [np.ceil(n / 4), np.ceil(n / 2), n - 1]
    )


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ((_engine.MAX_ROWS, 1), r"X has 2147483648 rows; a forest can have at most 2147483647"),
        ((1, _engine.MAX_FEATURES), r"X has 4294967296 columns"),
    ],
)
def test_more_than_can_be_counted_is_refused_before_any_work(shape, message):
    # On paper: a view that repeats one byte.
    X = np.broadcast_to(np.zeros(1, dtype=np.uint8), shape)
    y = np.broadcast_to(1.0, shape[0])
    with pytest.raises(ValueError, match=message):
        CensoredQuantileForest().fit(X, y)
