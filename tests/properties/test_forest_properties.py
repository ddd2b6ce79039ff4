"""Properties of whole forests that hold for any data."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cqrf import CensoredQuantileForest

# Binary fractions as levels make 1 - (1 - tau) exact.
LEVELS = [1 / 64, 1 / 8, 1 / 4, 1 / 2, 3 / 4, 7 / 8, 63 / 64]
# The same examples on every machine and in every run.
fast = settings(max_examples=50, deadline=None, derandomize=True)

criteria = st.sampled_from(["distribution", "random", "mse", "quantile", "logrank"])
curves = st.sampled_from(["beran", "knn", "kernel", "marginal"])

pytestmark = pytest.mark.filterwarnings("ignore:.*time of the training record")


@st.composite
def samples(draw, distinct=False):
    """(X (n, p), time (n,), event (n,)): times are multiples of 1/64, so that sums are exact."""
    n = draw(st.integers(2, 30))
    p = draw(st.integers(1, 3))
    feature = st.one_of(st.integers(0, 4), st.just(np.nan))
    X = draw(st.lists(st.lists(feature, min_size=p, max_size=p), min_size=n, max_size=n))
    time = draw(st.lists(st.integers(-99, 99), min_size=n, max_size=n, unique=distinct))
    event = draw(st.lists(st.booleans(), min_size=n, max_size=n))
    event[draw(st.integers(0, n - 1))] = True
    return np.array(X, dtype=float), np.array(time) / 64, np.array(event)


@st.composite
def forests(draw, curves=curves):
    """Forests that have not been fitted yet; n is at least two, so that k = 2 is not too many."""
    return CensoredQuantileForest(
        n_estimators=4,
        criterion=draw(criteria),
        n_thresholds=draw(st.sampled_from(["auto", 1, None])),
        min_samples_leaf=draw(st.integers(1, 4)),
        max_features=draw(st.sampled_from([None, 1])),
        bootstrap=draw(st.booleans()),
        honest=draw(st.booleans()),
        censoring=draw(st.sampled_from(["right", "left"])),
        censoring_curve=draw(curves),
        n_neighbors=2,
        solver="root",
        interpolation=draw(st.sampled_from(["midpoint", "lower", "linear"])),
        random_state=draw(st.integers(0, 9)),
    )


def test_points(X):
    """The training rows and points that training has not seen."""
    return np.vstack([X, np.full((1, X.shape[1]), 2.5), np.full((1, X.shape[1]), np.nan)])


test_points.__test__ = False


@fast
@given(samples(), forests(), st.booleans())
def test_weights_sum_to_one(sample, forest, weighted):
    X, time, event = sample
    sample_weight = np.arange(1, len(X) + 1) if weighted else None
    weights = forest.fit(X, time, event, sample_weight=sample_weight).forest_weights(test_points(X))
    np.testing.assert_allclose(weights.sum(axis=1), 1.0, rtol=0, atol=1e-12)
    assert (weights.data > 0).all()


@fast
@given(samples(), forests())
def test_curves_fall_and_stay_between_zero_and_one(sample, forest):
    X, time, event = sample
    forest.fit(X, time, event)
    grid = np.concatenate([[-9.0], np.unique(time), [9.0]])
    for method in ("predict_survival_function", "predict_censoring_function"):
        values = getattr(forest, method)(test_points(X), times=grid)
        assert (np.diff(values, axis=1) <= 0).all()
        assert values.min() >= 0
        assert values.max() <= 1
    hazard = forest.predict_cumulative_hazard_function(test_points(X), times=grid)
    assert (np.diff(hazard, axis=1) >= 0).all()
    assert hazard.min() >= 0


@fast
@given(samples(), forests())
def test_quantiles_grow_with_the_level(sample, forest):
    X, time, event = sample
    forest.fit(X, time, event)
    answers = forest.predict(test_points(X), LEVELS)
    assert (np.diff(answers, axis=1) >= -1e-12).all()
    assert answers.min() >= time.min()
    assert answers.max() <= time.max()
    # Censored data leave one end open, and one end only.
    known = forest.identified(test_points(X), LEVELS).astype(int)
    steps = np.diff(known, axis=1)
    assert (steps <= 0).all() if forest.censoring == "right" else (steps >= 0).all()


@fast
@given(samples(), forests(), st.integers(-40, 40))
def test_scaling_time(sample, forest, exponent):
    X, time, event = sample
    factor = 2.0**exponent
    before = forest.fit(X, time, event).predict(test_points(X), LEVELS)
    mean = forest.predict_rmst(test_points(X), 0.5)
    forest.fit(X, factor * time, event)
    np.testing.assert_array_equal(forest.predict(test_points(X), LEVELS), factor * before)
    np.testing.assert_array_equal(forest.predict_rmst(test_points(X), factor * 0.5), factor * mean)


@fast
@given(samples(), forests(), st.integers(-1000, 1000))
def test_shifting_time(sample, forest, shift):
    X, time, event = sample
    before = forest.fit(X, time, event).predict(test_points(X), LEVELS)
    weights = forest.forest_weights(test_points(X)).toarray()
    forest.fit(X, time + shift, event)
    np.testing.assert_array_equal(forest.forest_weights(test_points(X)).toarray(), weights)
    after = forest.predict(test_points(X), LEVELS)
    if forest.interpolation == "lower":
        np.testing.assert_array_equal(after, before + shift)
    # An interpolated time is rounded in another place.
    np.testing.assert_allclose(after, before + shift, rtol=0, atol=1e-12 * (abs(shift) + 2))


# Among equal weights the nearest neighbours are chosen by row, so they depend on the order.
@fast
@given(
    samples(distinct=True),
    forests(curves=st.sampled_from(["beran", "kernel", "marginal"])),
    st.randoms(use_true_random=False),
)
def test_the_order_of_rows_does_not_matter(sample, forest, random):
    X, time, event = sample
    order = list(range(len(X)))
    random.shuffle(order)
    answers = forest.fit(X, time, event).predict(test_points(X), LEVELS)
    weights = forest.forest_weights(test_points(X)).toarray()
    # Rows are drawn by the rank of their time: bootstraps and halves are the same, too.
    forest.fit(X[order], time[order], event[order])
    np.testing.assert_array_equal(forest.predict(test_points(X), LEVELS), answers)
    np.testing.assert_array_equal(
        forest.forest_weights(test_points(X)).toarray(), weights[:, order]
    )


@fast
@given(samples(), forests(curves=st.just("beran")))
def test_what_is_left_is_the_product_of_both_curves(sample, forest):
    X, time, event = sample
    forest.set_params(censoring="right").fit(X, time, event)
    estimation = forest.distribution(test_points(X)).estimation
    grid = np.concatenate([[-9.0], np.unique(time), np.unique(time) + 1 / 128, [9.0]])
    S, G, P = (
        estimation.curve(which, grid) for which in ("survival", "censoring", "at_risk_after")
    )
    np.testing.assert_allclose(P, S * G, rtol=0, atol=1e-12)
    weights = forest.forest_weights(test_points(X)).toarray()
    after = time[None, :] > grid[:, None]
    np.testing.assert_allclose(P, weights @ after.T, rtol=0, atol=1e-12)


@fast
@given(samples(), forests(), st.integers(-110, 110))
def test_conditional_quantiles_lie_beyond_the_condition(sample, forest, after):
    X, time, event = sample
    forest.fit(X, time, event)
    answers = forest.predict(test_points(X), LEVELS, conditional_after=after / 64)
    assert (answers >= after / 64).all()
    if after / 64 < time.min():
        np.testing.assert_allclose(
            answers, forest.predict(test_points(X), LEVELS), rtol=0, atol=1e-12
        )


@fast
@given(samples(), forests(), st.integers(-110, 110), st.integers(0, 50))
def test_restricted_means_grow_with_the_horizon(sample, forest, horizon, step):
    X, time, event = sample
    forest.fit(X, time, event)
    low, high = (forest.predict_rmst(test_points(X), at / 64) for at in (horizon, horizon + step))
    assert (low <= horizon / 64 + 1e-12).all()
    assert (low <= high + 1e-12).all()
    assert (high <= low + step / 64 + 1e-12).all()
