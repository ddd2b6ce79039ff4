"""Scores of censored predictions: against other packages, slow twins, and known laws."""

import doctest
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import twins
from hypothesis import given, settings
from hypothesis import strategies as st
from lifelines import KaplanMeierFitter
from lifelines.utils import concordance_index as lifelines_concordance
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.metrics import d2_pinball_score, mean_pinball_loss

from cqrf import CensoredQuantileForest, Surv, solve_quantiles
from cqrf.metrics import (
    _curves,
    _quantiles,
    _ranking,
    _scorers,
    censored_interval_coverage,
    censored_pinball_loss,
    censoring_weights,
    concordance_index,
    d2_censored_pinball_score,
    interval_coverage,
    pinball_loss,
    quantile_calibration,
)
from cqrf.target import Target

LEVELS = np.array([0.1, 0.5, 0.9])
CLOSE = {"rtol": 1e-12, "atol": 1e-14}
# The same examples on every machine and in every run.
fast = settings(max_examples=100, deadline=None, derandomize=True)


def draw(seed, n=60, ties=False, censored=0.4):
    """Random (time, event, predicted (n, 3)); with `ties` the times are a few whole numbers."""
    rng = np.random.default_rng(seed)
    time = rng.integers(1, 9, n) * 1.0 if ties else rng.gamma(2.0, 1.0, n)
    event = rng.random(n) >= censored
    event[rng.integers(n)] = True
    predicted = np.sort(rng.integers(1, 9, (n, 3)) * 1.0 if ties else rng.gamma(2.0, 1.0, (n, 3)))
    return time, event, predicted


def slow_weights(time, event, train_time, train_event, left=False, beyond="drop"):
    """delta / G(Y-), one row after the other; infinite ones are dropped or clipped."""
    sign = -1.0 if left else 1.0
    t, *_, G, _ = twins.kaplan_meier(sign * train_time, train_event, np.ones(len(train_time)))
    weights = []
    for y, seen in zip(sign * time, event, strict=True):
        g = ([1.0, *G[t < y]])[-1]
        if g == 0.0:
            g = min([1.0, *G[G > 0]]) if beyond == "clip" else np.inf
        weights.append(1 / g if seen else 0.0)
    return np.array(weights)


def slow_loss(time, predicted, levels, weights):
    total = np.zeros(len(levels))
    for y, row, w in zip(time, predicted, weights, strict=True):
        for j, (q, tau) in enumerate(zip(row, levels, strict=True)):
            total[j] += w * (tau * (y - q) if y >= q else (1 - tau) * (q - y))
    return total / np.sum(weights)


class TestPinballLoss:
    @pytest.mark.parametrize("weighted", [False, True])
    @pytest.mark.parametrize("seed", range(5))
    def test_is_scikit_learns(self, seed, weighted):
        time, _, predicted = draw(seed, ties=seed % 2 == 1)
        s = np.random.default_rng(seed).integers(0, 4, 60) if weighted else None
        each = [
            mean_pinball_loss(time, q, alpha=level, sample_weight=s)
            for level, q in zip(LEVELS, predicted.T, strict=True)
        ]
        found = pinball_loss(time, predicted, LEVELS, sample_weight=s, multioutput="raw_values")
        np.testing.assert_allclose(found, each, **CLOSE)
        average = pinball_loss(time, predicted, LEVELS, sample_weight=s)
        assert isinstance(average, float)
        np.testing.assert_allclose(average, np.mean(each), **CLOSE)

    def test_one_level(self):
        time, _, predicted = draw(0)
        one = pinball_loss(time, predicted[:, 0], 0.1)
        assert one == pinball_loss(time, predicted[:, :1], [0.1])
        raw = pinball_loss(time, predicted[:, 0], 0.1, multioutput="raw_values")
        np.testing.assert_array_equal(raw, [one])
        assert pinball_loss(time, time, 0.3) == 0.0

    def test_any_container(self):
        time, _, predicted = draw(0)
        expected = pinball_loss(time, predicted, LEVELS)
        frame = pd.DataFrame(predicted)
        assert pinball_loss(pd.Series(time), frame, LEVELS.tolist()) == expected
        assert pinball_loss(time.tolist(), pl.from_pandas(frame), LEVELS) == expected
        assert pinball_loss(time, frame.astype(object), LEVELS) == expected

    def test_huge_weights(self):
        assert pinball_loss([1.0, 7.0], [0.0, 0.0], 0.5, sample_weight=[8e307, 8e307]) == 2.0


class TestCensoringWeights:
    @pytest.mark.parametrize("left", [False, True])
    @pytest.mark.parametrize("ties", [False, True])
    def test_slow_twin(self, ties, left):
        time, event, _ = draw(1, ties=ties)
        train_time, train_event, _ = draw(2, n=30, ties=ties)
        target = Target.from_outcome(train_time, train_event, censoring="left" if left else "right")
        expected = slow_weights(time, event, train_time, train_event, left, beyond="clip")
        np.testing.assert_allclose(censoring_weights(time, event, target), expected, **CLOSE)

    def test_weights_of_the_sample_itself_are_the_jumps_of_kaplan_meier(self):
        time, event, _ = draw(3, ties=True)
        weights = censoring_weights(time, event, Target.from_outcome(time, event))
        t, *_, S, _, _ = twins.kaplan_meier(time, event, np.ones(60))
        for u, s in zip(t, S, strict=True):
            np.testing.assert_allclose(weights[time <= u].sum() / 60, 1 - s, **CLOSE)


class TestCensoredPinballLoss:
    @pytest.mark.parametrize("beyond", ["drop", "clip"])
    @pytest.mark.parametrize("censoring", ["right", "left"])
    @pytest.mark.parametrize("ties", [False, True])
    @pytest.mark.parametrize("seed", range(4))
    def test_slow_twin(self, seed, ties, censoring, beyond):
        time, event, predicted = draw(seed, ties=ties)
        # So few training rows that some test rows lie beyond their reach.
        train = draw(seed + 10, n=15, ties=ties)[:2]
        train[1][[np.argmin(train[0]), np.argmax(train[0])]] = False
        options = {"event": event, "censoring": censoring, "multioutput": "raw_values"}
        for outcome, argument in ((time, event), None), (train, train):
            v = slow_weights(time, event, *outcome, censoring == "left", beyond)
            found = censored_pinball_loss(
                time, predicted, LEVELS, train=argument, beyond=beyond, **options
            )
            np.testing.assert_allclose(found, slow_loss(time, predicted, LEVELS, v), **CLOSE)

    def test_rows_beyond_reach(self):
        train = Surv.from_arrays([True, True, False], [1.0, 2.0, 3.0])
        time, predicted = np.array([1.0, 3.0, 4.0]), np.zeros(3)
        # G is 1 up to 3 and 0 from there on: G(3-) = 1, and G(4-) = 0.
        assert censored_pinball_loss(time, predicted, 0.5, train=train) == 1.0
        clipped = censored_pinball_loss(time, predicted, 0.5, train=train, beyond="clip")
        np.testing.assert_allclose(clipped, 4 / 3, **CLOSE)
        with pytest.warns(UndefinedMetricWarning, match="uncensored"):
            assert np.isnan(censored_pinball_loss([9.0], [1.0], 0.5, train=train))

    @pytest.mark.parametrize("seed", range(3))
    def test_without_censoring(self, seed):
        time, _, predicted = draw(seed)
        expected = pinball_loss(time, predicted, LEVELS)
        for event in (None, np.ones(60)):
            found = censored_pinball_loss(time, predicted, LEVELS, event=event)
            np.testing.assert_allclose(found, expected, **CLOSE)

    def test_any_outcome(self):
        time, event, predicted = draw(4)
        train_time, train_event, _ = draw(5)
        expected = censored_pinball_loss(
            time, predicted, LEVELS, event=event, train=(train_time, train_event)
        )
        makers = [
            Surv.from_arrays,
            lambda e, t: pd.DataFrame({"event": e, "time": t}),
            lambda e, t: pl.DataFrame({"event": e, "duration": t}),
        ]
        for make in makers:
            y, train = make(event, time), make(train_event, train_time)
            assert censored_pinball_loss(y, predicted, LEVELS, train=train) == expected
        y = Surv.from_arrays(event, time)
        for train in (
            (pd.Series(train_time), train_event.tolist()),
            (pl.Series(train_time), pl.Series(train_event)),
            Target.from_outcome(train_time, train_event),
        ):
            assert censored_pinball_loss(y, predicted, LEVELS, train=train) == expected
        # Two plain numbers are times, not a pair of arrays.
        assert censored_pinball_loss([1.0, 2.0], [0.0, 0.0], 0.5, train=(5.0, 6.0)) == 0.75

    @pytest.mark.parametrize("censoring", ["right", "left"])
    def test_horizon(self, censoring):
        time, event, predicted = draw(6)
        left = censoring == "left"
        h = 2.0
        cut = np.maximum if left else np.minimum
        reached = time <= h if left else time >= h
        v = slow_weights(cut(time, h), event | reached, time, event, left)
        found = censored_pinball_loss(
            time,
            predicted,
            LEVELS,
            event=event,
            censoring=censoring,
            horizon=h,
            multioutput="raw_values",
        )
        expected = slow_loss(cut(time, h), cut(predicted, h), LEVELS, v)
        np.testing.assert_allclose(found, expected, **CLOSE)
        # Every row is either known or censored before: the weights sum to n.
        np.testing.assert_allclose(v.sum(), 60, **CLOSE)

    def test_far_horizon_changes_nothing(self):
        time, event, predicted = draw(7)
        assert censored_pinball_loss(
            time, predicted, LEVELS, event=event, horizon=1e6
        ) == censored_pinball_loss(time, predicted, LEVELS, event=event)

    def test_nothing_but_censored_rows(self):
        for multioutput, shape in ("uniform_average", ()), ("raw_values", (3,)):
            with pytest.warns(UndefinedMetricWarning, match="uncensored") as caught:
                found = censored_pinball_loss(
                    [1.0, 2.0], np.ones((2, 3)), LEVELS, event=[0, 0], multioutput=multioutput
                )
            assert np.shape(found) == shape
            assert np.isnan(found).all()
            assert caught[0].filename == __file__


class TestD2:
    @pytest.mark.parametrize("weighted", [False, True])
    @pytest.mark.parametrize("seed", range(5))
    def test_without_censoring_is_scikit_learns(self, seed, weighted):
        time, _, predicted = draw(seed, ties=seed % 2 == 1)
        s = np.random.default_rng(seed).uniform(0.5, 2.0, 60) if weighted else None
        each = [
            d2_pinball_score(time, q, alpha=level, sample_weight=s)
            for level, q in zip(LEVELS, predicted.T, strict=True)
        ]
        options = {"sample_weight": s}
        found = d2_censored_pinball_score(
            time, predicted, LEVELS, multioutput="raw_values", **options
        )
        np.testing.assert_allclose(found, each, **CLOSE)
        found = d2_censored_pinball_score(time, predicted, LEVELS, **options)
        np.testing.assert_allclose(found, np.mean(each), **CLOSE)

    @pytest.mark.parametrize("censoring", ["right", "left"])
    @pytest.mark.parametrize("seed", range(5))
    def test_is_relative_to_kaplan_meier(self, seed, censoring):
        time, event, predicted = draw(seed, ties=seed % 2 == 1)
        last = time == (time.min() if censoring == "left" else time.max())
        event[last] = True
        marginal = solve_quantiles(
            np.ones((1, 60)), time, event, LEVELS, censoring=censoring, interpolation="lower"
        )
        options = {"event": event, "censoring": censoring, "multioutput": "raw_values"}
        loss = censored_pinball_loss(time, predicted, LEVELS, **options)
        base = censored_pinball_loss(time, np.repeat(marginal, 60, axis=0), LEVELS, **options)
        found = d2_censored_pinball_score(time, predicted, LEVELS, **options)
        np.testing.assert_allclose(found, 1 - loss / base, **CLOSE)

    @pytest.mark.parametrize("horizon", [None, 2.0])
    def test_no_constant_is_better_than_zero(self, horizon):
        time, event, _ = draw(8)
        event[np.argmax(time)] = False
        scores = [
            d2_censored_pinball_score(
                time,
                np.full((60, 3), constant),
                LEVELS,
                event=event,
                horizon=horizon,
                multioutput="raw_values",
            )
            for constant in time
        ]
        best = np.max(scores, axis=0)
        assert (best <= 1e-12).all()
        np.testing.assert_allclose(best, 0.0, atol=1e-12)
        assert d2_censored_pinball_score(time, time, 0.5, event=event, horizon=horizon) == 1.0

    @pytest.mark.parametrize("censoring", ["right", "left"])
    @pytest.mark.parametrize("weighted", [False, True])
    @pytest.mark.parametrize("levels", [0.5, [0.2, 0.7]])
    def test_is_the_score_of_the_forest(self, levels, weighted, censoring):
        rng = np.random.default_rng(9)
        X, (time, event, _) = rng.uniform(size=(60, 2)), draw(9)
        X_test, (y, seen, _) = rng.uniform(size=(80, 2)), draw(10, n=80)
        event[[np.argmin(time), np.argmax(time)]] = False
        seen[[np.argmin(y), np.argmax(y)]] = True
        y[[np.argmin(y), np.argmax(y)]] = time.min() / 2, time.max() * 2
        s = rng.uniform(0.5, 2.0, 80) if weighted else None
        forest = CensoredQuantileForest(
            10,
            min_samples_leaf=5,
            default_quantiles=levels,
            censoring=censoring,
            random_state=0,
        ).fit(X, time, event)
        options = {
            "event": seen,
            "train": forest.target_,
            "sample_weight": s,
            "censoring": censoring,
        }
        predicted = forest.predict(X_test)
        score = forest.score(X_test, y, seen, s)
        clipped = d2_censored_pinball_score(y, predicted, levels, beyond="clip", **options)
        assert clipped == score
        # One test row lies beyond the reach of training; without it the two rules are one.
        assert d2_censored_pinball_score(y, predicted, levels, **options) != score
        inside = (y >= time.min()) & (y <= time.max())
        options |= {"event": seen[inside], "sample_weight": s[inside] if weighted else None}
        dropped = d2_censored_pinball_score(y[inside], predicted[inside], levels, **options)
        expected = forest.score(
            X_test[inside], y[inside], seen[inside], s[inside] if weighted else None
        )
        assert dropped == expected

    def test_nothing_but_censored_rows(self):
        with pytest.warns(UndefinedMetricWarning, match="uncensored"):
            assert np.isnan(d2_censored_pinball_score([1.0, 2.0], [1.0, 1.0], 0.5, event=[0, 0]))


class TestCoverage:
    def test_share_inside(self):
        time = [1.0, 2.0, 3.0, 4.0]
        assert interval_coverage(time, 1.0, 4.0) == 1.0  # both ends belong to it
        assert interval_coverage(time, 1.5, np.inf) == 0.75
        assert interval_coverage(time, [2, 2, 2, 2], [1, 1, 1, 1]) == 0.0  # crossed: empty
        found = interval_coverage(time, 0, 2.5, sample_weight=[3, 0, 1, 2])
        assert found == 0.5

    @pytest.mark.parametrize("censoring", ["right", "left"])
    @pytest.mark.parametrize("ties", [False, True])
    def test_slow_twin(self, ties, censoring):
        time, event, predicted = draw(11, ties=ties)
        train = draw(12, n=15, ties=ties)[:2]
        lower, _, upper = predicted.T
        inside = (lower <= time) & (time <= upper)
        for outcome, argument in ((time, event), None), (train, train):
            v = slow_weights(time, event, *outcome, censoring == "left")
            found = censored_interval_coverage(
                time, lower, upper, event=event, train=argument, censoring=censoring
            )
            np.testing.assert_allclose(found, v @ inside / v.sum(), **CLOSE)

    def test_without_censoring(self):
        time, _, predicted = draw(13)
        lower, _, upper = predicted.T
        assert censored_interval_coverage(time, lower, upper) == interval_coverage(
            time, lower, upper
        )

    def test_nothing_but_censored_rows(self):
        with pytest.warns(UndefinedMetricWarning, match="uncensored"):
            assert np.isnan(censored_interval_coverage([1.0], 0.0, 2.0, event=[0]))


def slow_concordance(time, event, predicted, weights):
    above = below = 0.0
    for i in range(len(time)):
        for j in range(len(time)):
            later = time[j] > time[i] or (time[j] == time[i] and not event[j])
            if event[i] and later:
                w = weights[i] * weights[j]
                above += w * (predicted[i] < predicted[j]) + w * (predicted[i] == predicted[j]) / 2
                below += w
    return above / below


class TestConcordance:
    @pytest.mark.parametrize("n_predictions", [2, 5, 1000])
    @pytest.mark.parametrize("n_times", [3, 20, 10**6])
    def test_is_that_of_lifelines(self, n_times, n_predictions):
        compared = 0
        for seed in range(60):
            rng = np.random.default_rng(seed)
            n = int(rng.integers(2, 60))
            time = rng.integers(0, n_times, n) - 2.0
            predicted = rng.integers(0, n_predictions, n) / 4 - 1
            event = rng.random(n) < rng.choice([0.2, 0.6, 1.0])
            try:
                expected = lifelines_concordance(time, predicted, event)
            except ZeroDivisionError:
                with pytest.warns(UndefinedMetricWarning, match="compared"):
                    assert np.isnan(concordance_index(time, predicted, event=event))
                continue
            assert concordance_index(time, predicted, event=event) == expected
            assert concordance_index(Surv.from_arrays(event, time), predicted) == expected
            mirrored = concordance_index(-time, -predicted, event=event, censoring="left")
            assert mirrored == expected
            compared += 1
        assert compared > 40

    @pytest.mark.parametrize("seed", range(20))
    def test_is_that_of_scikit_survival(self, seed):
        peer = pytest.importorskip("sksurv.metrics")
        # Its scores are risks, larger for earlier events, and tied when closer than 1e-8.
        rng = np.random.default_rng(seed)
        time, predicted = rng.integers(0, 12, 50) * 1.0, rng.integers(0, 12, 50) / 4
        event = rng.random(50) < 0.6
        expected = peer.concordance_index_censored(event, time, -predicted)[0]
        np.testing.assert_allclose(
            concordance_index(time, predicted, event=event), expected, **CLOSE
        )

    @pytest.mark.parametrize("seed", range(6))
    def test_slow_twin_with_weights(self, seed):
        rng = np.random.default_rng(seed)
        time, event, predicted = draw(seed, n=40, ties=True)
        weights = rng.uniform(0.0, 1e6, 40) * (rng.random(40) < 0.8)
        weights[np.argmin(time)] = 1.0
        found = concordance_index(time, predicted[:, 0], event=event, sample_weight=weights)
        expected = slow_concordance(time, event, predicted[:, 0], weights)
        np.testing.assert_allclose(found, expected, **CLOSE)

    def test_extremes(self):
        rng = np.random.default_rng(0)
        time = rng.permutation(200) * 1.0
        s = rng.uniform(size=200)
        for weights in (None, s):
            assert concordance_index(time, time, sample_weight=weights) == 1.0
            assert concordance_index(time, -time, sample_weight=weights) <= 1e-15
            assert concordance_index(time, np.zeros(200), sample_weight=weights) == 0.5
        assert concordance_index([1, 2, 3], [-np.inf, 0.0, np.inf]) == 1.0

    @pytest.mark.parametrize(
        ("time", "event"),
        [([1, 2], [0, 0]), ([2, 2], [1, 1]), ([1, 2], [0, 1]), ([1], [1])],
        ids=["no event", "one time", "censored first", "one row"],
    )
    def test_nothing_to_compare(self, time, event):
        with pytest.warns(UndefinedMetricWarning, match="compared"):
            assert np.isnan(concordance_index(time, time, event=event))

    @pytest.mark.parametrize("ties", [False, True])
    def test_many_rows(self, ties):
        time, event, predicted = draw(0, n=100_000, ties=ties)
        # Five billion pairs: counted one by one they would outlast the test's time limit.
        found = concordance_index(time, predicted[:, 0], event=event)
        assert abs(found - 0.5) < 0.01


def slow_calibration(time, event, predicted, row_weight, train=None, left=False):
    """The ratio of the docstring, from loops; a row counts `row_weight`, in G as well."""
    sign = -1.0 if left else 1.0
    outcome = (time, event, row_weight) if train is None else train
    t, *_, G, _ = twins.kaplan_meier(sign * outcome[0], outcome[1], outcome[2])
    above = below = 0.0
    for y, seen, q, w in zip(sign * time, event, sign * predicted, row_weight, strict=True):
        z = y < q if left else y <= q
        at_q = ([1.0, *(G[t < q] if left else G[t <= q])])[-1]
        if at_q == 0 or (z and not seen):
            continue
        v = w / (([1.0, *G[t < y]])[-1] if z else at_q)
        above, below = above + v * z, below + v
    return 1 - above / below if left else above / below


def derivatives(function, n, step=1e-4):
    """Central differences of a function of n row weights, at ones."""
    out = []
    for i in range(n):
        up, down = np.ones(n), np.ones(n)
        up[i] += step
        down[i] -= step
        out.append((function(up) - function(down)) / (2 * step))
    return np.array(out)


class TestCalibration:
    @pytest.mark.parametrize("left", [False, True])
    @pytest.mark.parametrize("ties", [False, True])
    @pytest.mark.parametrize("seed", range(3))
    def test_slow_twin(self, seed, ties, left):
        time, event, predicted = draw(seed, n=25, ties=ties)
        train = *draw(seed + 20, n=20, ties=ties)[:2], np.ones(20)
        options = {"event": event, "censoring": "left" if left else "right"}
        own = quantile_calibration(time, predicted, LEVELS, **options)
        other = quantile_calibration(time, predicted, LEVELS, train=train[:2], **options)
        np.testing.assert_array_equal(own.quantiles, LEVELS)
        for j, q in enumerate(predicted.T):

            def same(w, q=q):
                return slow_calibration(time, event, q, w, left=left)

            def test_rows(w, q=q):
                return slow_calibration(time, event, q, w, train, left=left)

            def training_rows(w, q=q):
                return slow_calibration(time, event, q, np.ones(25), (*train[:2], w), left=left)

            np.testing.assert_allclose(own.observed[j], same(np.ones(25)), **CLOSE)
            np.testing.assert_allclose(other.observed[j], test_rows(np.ones(25)), **CLOSE)
            # The infinitesimal jackknife, by differences.
            by_rows = derivatives(same, 25)
            np.testing.assert_allclose(own.std_error[j] ** 2, by_rows @ by_rows, rtol=1e-6)
            first, second = derivatives(test_rows, 25), derivatives(training_rows, 20)
            np.testing.assert_allclose(
                other.std_error[j] ** 2, first @ first + second @ second, rtol=1e-6
            )

    @pytest.mark.parametrize("ties", [False, True])
    @pytest.mark.parametrize("seed", range(4))
    def test_a_constant_gets_kaplan_meier_and_greenwood(self, seed, ties):
        time, event, _ = draw(seed, ties=ties)
        event[time == time.max()] = seed % 2 == 0
        at = np.quantile(time, [0.1, 0.3, 0.5, 0.8])
        at[2] = np.sort(time)[30]
        found = quantile_calibration(time, np.tile(at, (60, 1)), [0.1, 0.3, 0.5, 0.8], event=event)
        peer = KaplanMeierFitter().fit(time, event)
        np.testing.assert_allclose(
            found.observed, 1 - peer.survival_function_at_times(at).to_numpy(), **CLOSE
        )
        t, d, _, R, S, *_ = twins.kaplan_meier(time, event, np.ones(60))
        for u, error in zip(at, found.std_error, strict=True):
            k = t <= u
            greenwood = S[k][-1] ** 2 * np.sum(d[k] / (60 * R[k] * (R[k] - d[k])))
            np.testing.assert_allclose(error**2, greenwood, rtol=1e-9)
        np.testing.assert_array_equal(found.n_used, 60)

    @pytest.mark.parametrize("censoring", ["right", "left"])
    def test_without_censoring(self, censoring):
        time, _, predicted = draw(5, ties=True)
        found = quantile_calibration(time, predicted, LEVELS, censoring=censoring)
        share = (time[:, None] <= predicted).mean(axis=0)
        np.testing.assert_allclose(found.observed, share, **CLOSE)
        np.testing.assert_allclose(found.std_error, np.sqrt(share * (1 - share) / 60), **CLOSE)

    def test_predictions_beyond_reach_are_left_out(self):
        time, event = [1.0, 2.0, 3.0, 4.0], [True, True, True, False]
        found = quantile_calibration(time, [2.0, 2.0, 2.0, 4.0], 0.5, event=event)
        assert found.n_used == [3]
        np.testing.assert_allclose(found.observed, [2 / 3])
        with pytest.warns(UndefinedMetricWarning, match="no row"):
            found = quantile_calibration(time, np.full(4, np.inf), 0.5, event=event)
        assert np.isnan([found.observed, found.std_error]).all()
        assert found.n_used == [0]
        # When the last time is an event, nothing is beyond reach.
        assert quantile_calibration(time, np.full(4, np.inf), 0.5).observed == [1.0]

    def test_nothing_but_censored_rows(self):
        with pytest.warns(UndefinedMetricWarning, match="no row"):
            assert np.isnan(quantile_calibration([1.0], [1.0], 0.5, event=[0]).observed)
        found = quantile_calibration([5.0], [1.0], 0.5, event=[0], train=[1.0, 2.0, 9.0])
        assert found.observed == [0.0]

    def test_weights_of_training_rows(self):
        time, event, predicted = draw(6, ties=True)
        train_time, train_event, _ = draw(7, ties=True)
        counts = np.random.default_rng(7).integers(1, 4, 60)
        found, expected = (
            quantile_calibration(time, predicted, LEVELS, event=event, train=train)
            for train in (
                Target.from_outcome(train_time, train_event, counts),
                (np.repeat(train_time, counts), np.repeat(train_event, counts)),
            )
        )
        np.testing.assert_allclose(found.observed, expected.observed, **CLOSE)
        # Rows that count twice are surer than one row of weight two.
        assert (found.std_error > expected.std_error).all()

    def test_frozen(self):
        found = quantile_calibration([1.0, 2.0], [1.0, 2.0], 0.5)
        with pytest.raises(AttributeError):
            found.observed = 1.0


@st.composite
def samples(draw):
    """(time, event, predicted (n, 3)) with ties; binary fractions, so that scaling is exact."""
    n = draw(st.integers(2, 25))
    time = draw(st.lists(st.integers(-9, 9), min_size=n, max_size=n))
    event = draw(st.lists(st.booleans(), min_size=n, max_size=n))
    event[draw(st.integers(0, n - 1))] = True
    rows = st.lists(st.integers(-9, 9), min_size=3, max_size=3)
    predicted = draw(st.lists(rows, min_size=n, max_size=n))
    return np.array(time) / 4, np.array(event), np.array(predicted) / 4


def all_scores(time, event, predicted, levels=LEVELS, sample_weight=None, **options):
    """(losses, everything that has no unit, standard errors of calibration)."""
    weighted = {"event": event, "sample_weight": sample_weight, **options}
    raw = {"multioutput": "raw_values"}
    lower, middle, upper = predicted.min(axis=1), predicted[:, 1], predicted.max(axis=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UndefinedMetricWarning)
        losses = [
            censored_pinball_loss(time, predicted, levels, **weighted, **raw),
            pinball_loss(time, predicted, levels, sample_weight=sample_weight, **raw),
        ]
        others = [
            *d2_censored_pinball_score(time, predicted, levels, **weighted, **raw),
            censored_interval_coverage(time, lower, upper, **weighted),
            interval_coverage(time, lower, upper, sample_weight=sample_weight),
            concordance_index(time, middle, **weighted),
        ]
        calibration = quantile_calibration(time, predicted, levels, event=event, **options)
    return np.concatenate(losses), np.array(others), calibration


class TestProperties:
    @fast
    @given(samples(), st.randoms(use_true_random=False))
    def test_order_of_rows(self, sample, random):
        time, event, predicted = sample
        shuffled = np.array(random.sample(range(len(time)), len(time)))
        first = all_scores(time, event, predicted)
        second = all_scores(time[shuffled], event[shuffled], predicted[shuffled])
        for a, b in zip(first[:2], second[:2], strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(first[2].observed, second[2].observed, atol=1e-12)
        np.testing.assert_allclose(first[2].std_error, second[2].std_error, atol=1e-7)

    @fast
    @given(samples(), st.sampled_from([0.25, 2.0, 1024.0]))
    def test_unit_of_time(self, sample, unit):
        time, event, predicted = sample
        first = all_scores(time, event, predicted)
        second = all_scores(unit * time, event, unit * predicted)
        np.testing.assert_array_equal(second[0], unit * first[0])
        np.testing.assert_array_equal(second[1], first[1])
        np.testing.assert_array_equal(second[2].observed, first[2].observed)
        np.testing.assert_array_equal(second[2].std_error, first[2].std_error)

    @fast
    @given(samples(), st.sampled_from([-8.0, 3.0, 64.0]))
    def test_origin_of_time(self, sample, origin):
        time, event, predicted = sample
        first = all_scores(time, event, predicted)
        second = all_scores(time + origin, event, predicted + origin)
        for a, b in zip(first[:2], second[:2], strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)
        np.testing.assert_array_equal(second[2].observed, first[2].observed)

    @fast
    @given(samples(), st.data())
    def test_weights_are_repeated_rows(self, sample, data):
        time, event, predicted = sample
        n = len(time)
        counts = np.array(data.draw(st.lists(st.integers(0, 3), min_size=n, max_size=n)))
        # At least two rows, since D2 is not defined for one.
        counts[np.argmax(event)] += 2
        first = all_scores(time, event, predicted, sample_weight=counts)
        rows = np.repeat(np.arange(n), counts)
        second = all_scores(time[rows], event[rows], predicted[rows])
        for a, b in zip(first[:2], second[:2], strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)

    @fast
    @given(samples(), st.booleans())
    def test_left_censoring_is_the_mirror_image(self, sample, clip):
        time, event, predicted = sample
        train = (time[::2], event[::2] | ~event[::2].any())
        levels = np.array([0.25, 0.5, 0.75])
        for score in censored_pinball_loss, d2_censored_pinball_score:
            options = {"event": event, "beyond": "clip" if clip else "drop"}
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UndefinedMetricWarning)
                right = score(time, predicted, levels, train=train, **options)
                left = score(
                    -time,
                    -predicted,
                    1 - levels,
                    train=(-train[0], train[1]),
                    censoring="left",
                    **options,
                )
            np.testing.assert_allclose(right, left, rtol=1e-9, atol=1e-12)

    @fast
    @given(samples())
    def test_ranges(self, sample):
        losses, others, calibration = all_scores(*sample)
        assert (losses >= 0).all()
        assert not (others > 1 + 1e-12).any()
        assert not (others[3:] < 0).any()
        known = ~np.isnan(calibration.observed)
        assert ((calibration.observed >= 0) & (calibration.observed <= 1))[known].all()
        assert (calibration.std_error >= 0)[known].all()


class TestLargeSamples:
    """log T = X + e, with C independent of both, and the true quantiles as predictions.

    Seeds are fixed. Of a difference that is zero, fewer than one mean in 10,000 lies four standard
    errors away.
    """

    REPLICATIONS = 200
    N = 400
    CLEAR = 4.0

    @staticmethod
    def draw(seed, n=N):
        rng = np.random.default_rng(seed)
        x = rng.uniform(0.0, 2.0, n)
        # T is bounded and some rows are never censored: hardly any T lies beyond reach.
        T = np.exp(x + rng.uniform(-0.5, 0.5, n))
        C = np.where(rng.random(n) < 0.4, np.inf, rng.exponential(3.0, n))
        predicted = np.exp(x[:, None] + LEVELS - 0.5)
        return T, C, predicted

    def in_standard_errors(self, differences):
        differences = np.array(differences)
        return differences.mean(axis=0) / (
            differences.std(axis=0, ddof=1) / np.sqrt(len(differences))
        )

    @pytest.mark.parametrize("censoring", ["right", "left"])
    @pytest.mark.parametrize("apart", [False, True])
    def test_calibration_is_consistent(self, apart, censoring):
        observed, errors, naive = [], [], []
        for seed in range(self.REPLICATIONS):
            T, C, predicted = self.draw(seed)
            levels, train = LEVELS, None
            if apart:
                train_T, train_C, _ = self.draw(10_000 + seed)
                train = np.minimum(train_T, train_C), train_T <= train_C
            Y, event = np.minimum(T, C), T <= C
            if censoring == "left":
                Y, predicted, levels = -Y, -predicted, 1 - LEVELS
                train = None if train is None else (-train[0], train[1])
            found = quantile_calibration(
                Y, predicted, levels, event=event, train=train, censoring=censoring
            )
            observed.append(found.observed - levels)
            errors.append(found.std_error)
            naive.append((Y[:, None] <= predicted).mean(axis=0) - levels)
        assert (np.abs(self.in_standard_errors(observed)) < self.CLEAR).all()
        assert (np.abs(self.in_standard_errors(naive)) > 5 * self.CLEAR).all()
        # A standard deviation of r numbers has a relative error of 1 / sqrt(2 r).
        ratio = np.mean(errors, axis=0) / np.std(observed, axis=0, ddof=1)
        assert (np.abs(ratio - 1) < self.CLEAR / np.sqrt(2 * self.REPLICATIONS)).all()

    def test_calibration_where_late_times_are_never_seen(self):
        # All studies end at 3, and many T are larger: only some predictions are within reach.
        observed, used = [], []
        for seed in range(self.REPLICATIONS):
            T, C, predicted = self.draw(seed)
            C = np.minimum(C, 3.0)
            found = quantile_calibration(
                np.minimum(T, C), predicted, LEVELS, event=T <= C, train=None
            )
            observed.append(found.observed - LEVELS)
            used.append(found.n_used)
        assert (np.abs(self.in_standard_errors(observed)) < self.CLEAR).all()
        assert (np.mean(used, axis=0) < 0.9 * self.N).all()

    def test_wrong_quantiles_are_noticed(self):
        T, C, predicted = self.draw(0, n=4000)
        found = quantile_calibration(np.minimum(T, C), 0.9 * predicted, LEVELS, event=T <= C)
        assert ((LEVELS - found.observed) / found.std_error > self.CLEAR).all()

    def test_weighted_means_are_those_without_censoring(self):
        differences, naive = [], []
        for seed in range(self.REPLICATIONS):
            T, C, predicted = self.draw(seed)
            Y, event = np.minimum(T, C), T <= C
            lower, _, upper = predicted.T
            raw = {"multioutput": "raw_values"}
            truth = np.array(
                [
                    *pinball_loss(T, predicted, LEVELS, **raw),
                    *pinball_loss(np.minimum(T, 4), np.minimum(predicted, 4), LEVELS, **raw),
                    interval_coverage(T, lower, upper),
                ]
            )
            found = [
                *censored_pinball_loss(Y, predicted, LEVELS, event=event, **raw),
                *censored_pinball_loss(Y, predicted, LEVELS, event=event, horizon=4, **raw),
                censored_interval_coverage(Y, lower, upper, event=event),
            ]
            differences.append(found - truth)
            naive.append(pinball_loss(Y, predicted, LEVELS) - truth[:3].mean())
        assert (np.abs(self.in_standard_errors(differences)) < self.CLEAR).all()
        assert np.abs(self.in_standard_errors(naive)) > 5 * self.CLEAR


TIME, EVENT, PREDICTED = draw(0, n=10)


def changed(array, index, value):
    copy = np.array(array, dtype=float)
    copy[index] = value
    return copy


class TestBadInput:
    @pytest.mark.parametrize(
        "score",
        [
            pinball_loss,
            censored_pinball_loss,
            d2_censored_pinball_score,
            quantile_calibration,
        ],
    )
    @pytest.mark.parametrize(
        ("arguments", "exception", "words"),
        [
            ((changed(TIME, 3, np.nan), PREDICTED, LEVELS), ValueError, "y.*NaN.*[Rr]ow 3"),
            ((TIME, changed(PREDICTED, (4, 1), np.nan), LEVELS), ValueError, "y_pred.*row 4"),
            ((TIME, PREDICTED[:9], LEVELS), ValueError, "y_pred.*10 rows.* 9"),
            ((TIME, PREDICTED, LEVELS[:2]), ValueError, r"y_pred.*\(10, 2\).*\(10, 3\)"),
            ((TIME, PREDICTED[:, 0], LEVELS), ValueError, r"y_pred.*\(10, 3\).*\(10,\)"),
            ((TIME, PREDICTED, 0.5), ValueError, r"y_pred.*\(10,\).*\(10, 3\)"),
            ((TIME, 1.0, 0.5), ValueError, r"y_pred.*\(10,\).*\(\)"),
            ((TIME, PREDICTED > 1, LEVELS), TypeError, "y_pred.*bool"),
            ((TIME, PREDICTED.astype(str), LEVELS), ValueError, "y_pred.*text"),
            ((TIME, PREDICTED, [0.1, 0.5, 1.0]), ValueError, "quantiles.*position 2"),
            ((TIME, PREDICTED, "median"), TypeError, "quantiles"),
            (([], [], 0.5), ValueError, "y.*empty"),
        ],
    )
    def test_predictions(self, score, arguments, exception, words):
        with pytest.raises(exception, match=words):
            score(*arguments)

    @pytest.mark.parametrize(
        "score", [pinball_loss, censored_pinball_loss, d2_censored_pinball_score]
    )
    def test_infinite_predictions_have_no_loss(self, score):
        with pytest.raises(ValueError, match="y_pred must be finite; row 2 has inf"):
            score(TIME, changed(PREDICTED, (2, 2), np.inf), LEVELS)
        with pytest.raises(ValueError, match=r"multioutput.*variance"):
            score(TIME, PREDICTED, LEVELS, multioutput="variance_weighted")
        with pytest.raises(ValueError, match="sample_weight"):
            score(TIME, PREDICTED, LEVELS, sample_weight=-TIME)

    @pytest.mark.parametrize(
        "score",
        [
            lambda y, **o: censored_pinball_loss(y, PREDICTED, LEVELS, **o),
            lambda y, **o: d2_censored_pinball_score(y, PREDICTED, LEVELS, **o),
            lambda y, **o: quantile_calibration(y, PREDICTED, LEVELS, **o),
            lambda y, **o: censored_interval_coverage(y, TIME, TIME, **o),
        ],
        ids=["loss", "d2", "calibration", "coverage"],
    )
    @pytest.mark.parametrize(
        ("options", "exception", "words"),
        [
            ({"event": EVENT[:9]}, ValueError, "event"),
            ({"event": EVENT + 1}, ValueError, "event == 2"),
            ({"censoring": "both"}, ValueError, "censoring.*both"),
            ({"train": changed(TIME, 1, np.inf)}, ValueError, "train.*Row 1"),
            ({"train": (TIME, EVENT[:9])}, ValueError, "train.*event"),
            ({"train": (TIME, np.zeros(10))}, ValueError, "train.*never"),
            ({"train": TIME > 1}, TypeError, "train.*booleans"),
            ({"train": pd.DataFrame({"a": TIME, "b": TIME})}, ValueError, "train.*columns"),
            (
                {"train": Target.from_outcome(TIME, EVENT, censoring="left")},
                ValueError,
                "train is left censored.*right",
            ),
        ],
    )
    def test_outcomes(self, score, options, exception, words):
        with pytest.raises(exception, match=words):
            score(TIME, **options)

    @pytest.mark.parametrize(
        ("options", "exception", "words"),
        [
            ({"beyond": "ignore"}, ValueError, "beyond.*ignore"),
            ({"horizon": np.nan}, ValueError, "horizon"),
            ({"horizon": "late"}, TypeError, "horizon.*late"),
            ({"horizon": True}, TypeError, "horizon"),
        ],
    )
    def test_options(self, options, exception, words):
        for score in censored_pinball_loss, d2_censored_pinball_score:
            with pytest.raises(exception, match=words):
                score(TIME, PREDICTED, LEVELS, **options)

    @pytest.mark.parametrize("score", [interval_coverage, censored_interval_coverage])
    def test_intervals(self, score):
        with pytest.raises(ValueError, match=r"lower.*row 5"):
            score(TIME, changed(TIME, 5, np.nan), TIME)
        with pytest.raises(ValueError, match="upper has 9"):
            score(TIME, TIME, TIME[:9])
        with pytest.raises(ValueError, match=r"upper must have shape \(10,\)"):
            score(TIME, TIME, PREDICTED)
        with pytest.raises(TypeError, match="upper"):
            score(TIME, TIME, True)

    def test_concordance(self):
        with pytest.raises(ValueError, match=r"predicted_time.*row 5"):
            concordance_index(TIME, changed(TIME, 5, np.nan))
        with pytest.raises(ValueError, match="predicted_time"):
            concordance_index(TIME, PREDICTED)
        with pytest.raises(ValueError, match="censoring"):
            concordance_index(TIME, TIME, censoring="up")
        with pytest.raises(ValueError, match="sample_weight"):
            concordance_index(TIME, TIME, sample_weight=np.zeros(10))
        with pytest.raises(TypeError, match="y_true"):
            pinball_loss(Surv.from_arrays(EVENT, TIME), PREDICTED, LEVELS)


@pytest.mark.filterwarnings("ignore:some test times lie beyond the reach")
def test_examples():
    parts = [_curves, _quantiles, _ranking, _scorers]
    results = [doctest.testmod(part) for part in parts]
    assert sum(result.attempted for result in results) > 10
    assert all(result.failed == 0 for result in results)
