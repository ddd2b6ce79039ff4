"""Scores of censored predictions: against other packages, slow twins, and known laws."""

import inspect
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
from scipy.stats import norm
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.metrics import d2_pinball_score, mean_pinball_loss

from cqrf import Surv, metrics, solve_quantiles
from cqrf.data.outcome import Target
from cqrf.metrics import (
    brier_score,
    brier_skill_score,
    censored_interval_coverage,
    censored_log_score,
    censored_pinball_loss,
    censoring_weights,
    concordance_index,
    concordance_index_ipcw,
    d2_censored_pinball_score,
    integrated_brier_score,
    interval_coverage,
    pinball_loss,
    quantile_calibration,
)
from cqrf.metrics.horizon import auto_horizon

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


def slow_horizon(train, left=False):
    """The automatic horizon, in the sign of the times."""
    time, event = train[:2]
    return -twins.horizon(-time, event) if left else twins.horizon(time, event)


def slow_weights(time, event, train, horizon, left=False):
    """The weights of min(T, h), one row after the other."""
    sign = -1.0 if left else 1.0
    before = twins.censoring_before(sign * train[0], train[1])
    return np.array(
        [
            twins.cut_weight(y, seen, sign * horizon, before)
            for y, seen in zip(sign * time, event, strict=True)
        ]
    )


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
        train = draw(2, n=30, ties=ties)[:2]
        target = Target.from_outcome(*train, censoring="left" if left else "right")
        last = train[0].min() if left else train[0].max()
        for horizon in ("auto", 2.0, last):
            h = slow_horizon(train, left) if horizon == "auto" else horizon
            expected = slow_weights(time, event, train, h, left)
            found = censoring_weights(time, event, target, horizon)
            np.testing.assert_allclose(found, expected, **CLOSE)

    def test_weights_of_the_sample_itself_are_the_jumps_of_kaplan_meier(self):
        time, event, _ = draw(3, ties=True)
        t, *_, S, _, _ = twins.kaplan_meier(time, event, np.ones(60))
        for h in (4.0, time.max()):
            weights = censoring_weights(time, event, Target.from_outcome(time, event), h)
            for u, s in zip(t[t < h], S[t < h], strict=True):
                np.testing.assert_allclose(weights[time <= u].sum() / 60, 1 - s, **CLOSE)
            # The rows that are at risk at h have the rest.
            np.testing.assert_allclose(weights.sum(), 60, **CLOSE)


class TestCensoredPinballLoss:
    @pytest.mark.parametrize("horizon", ["auto", 2.0, "last"])
    @pytest.mark.parametrize("censoring", ["right", "left"])
    @pytest.mark.parametrize("ties", [False, True])
    @pytest.mark.parametrize("seed", range(4))
    def test_slow_twin(self, seed, ties, censoring, horizon):
        time, event, predicted = draw(seed, ties=ties)
        left = censoring == "left"
        cut = np.maximum if left else np.minimum
        # So few training rows that some test rows lie beyond them.
        train = draw(seed + 10, n=15, ties=ties)[:2]
        train[1][[np.argmin(train[0]), np.argmax(train[0])]] = False
        options = {"event": event, "censoring": censoring, "multioutput": "raw_values"}
        for outcome, argument in ((time, event), None), (train, train):
            last = outcome[0].min() if left else outcome[0].max()
            given = last if horizon == "last" else horizon
            h = slow_horizon(outcome, left) if horizon == "auto" else given
            v = slow_weights(time, event, outcome, h, left)
            found = censored_pinball_loss(
                time, predicted, LEVELS, train=argument, horizon=given, **options
            )
            expected = slow_loss(cut(time, h), cut(predicted, h), LEVELS, v)
            np.testing.assert_allclose(found, expected, **CLOSE)

    def test_rows_at_risk_at_the_horizon_are_known(self):
        train = Surv.from_arrays([True, False, True, True], [1.0, 2.0, 3.0, 4.0])
        time, predicted = np.array([1.0, 3.0, 4.0, 9.0]), np.zeros(4)
        seen = [True, False, False, True]
        options = {"event": seen, "train": train}
        # G(1-) = 1, and G(3-) = G(4-) = 2/3. The second row is censored at the horizon 3.
        found = censored_pinball_loss(time, predicted, 0.5, horizon=3.0, **options)
        np.testing.assert_allclose(found, (1 + 3 * 1.5 * 3) / (1 + 3 * 1.5) / 2, **CLOSE)
        # It is censored before 4, the last time of the record.
        for horizon in ("auto", 4.0):
            found = censored_pinball_loss(time, predicted, 0.5, horizon=horizon, **options)
            np.testing.assert_allclose(found, (1 + 2 * 1.5 * 4) / (1 + 2 * 1.5) / 2, **CLOSE)
        with pytest.warns(UndefinedMetricWarning, match="no row is known at the horizon"):
            assert np.isnan(censored_pinball_loss([2.0], [1.0], 0.5, event=[0], train=train))

    @pytest.mark.parametrize("seed", range(3))
    def test_without_censoring(self, seed):
        time, _, predicted = draw(seed)
        # The horizon is the largest time.
        expected = pinball_loss(time, np.minimum(predicted, time.max()), LEVELS)
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

    def test_predictions_beyond_the_horizon_are_alike(self):
        time, event, predicted = draw(6)
        for sign, censoring in (1.0, "right"), (-1.0, "left"):
            options = {"event": event, "censoring": censoring, "horizon": sign * 2.0}
            losses = {
                censored_pinball_loss(
                    sign * time,
                    sign * np.where(predicted > 2.0, beyond, predicted),
                    LEVELS if censoring == "right" else 1 - LEVELS,
                    **options,
                )
                for beyond in (2.0, 3.0, np.inf)
            }
            assert len(losses) == 1

    @pytest.mark.parametrize("score", [censored_pinball_loss, d2_censored_pinball_score])
    def test_horizon_beyond_the_record(self, score):
        time, event, predicted = draw(7)
        for sign, censoring in (1.0, "right"), (-1.0, "left"):
            arguments = sign * time, sign * predicted, LEVELS
            options = {"event": event, "censoring": censoring}
            last = sign * time.max()
            with pytest.warns(UserWarning, match=f"horizon=.*which end at {last}") as caught:
                found = score(*arguments, horizon=sign * 1e6, **options)
            assert caught[0].filename == __file__
            assert found == score(*arguments, horizon=last, **options)

    def test_nothing_but_censored_rows(self):
        for multioutput, shape in ("uniform_average", ()), ("raw_values", (3,)):
            with pytest.warns(UndefinedMetricWarning, match="no row is known") as caught:
                found = censored_pinball_loss(
                    [1.0, 2.0], np.ones((2, 3)), LEVELS, event=[0, 0], multioutput=multioutput
                )
            assert np.shape(found) == shape
            assert np.isnan(found).all()
            assert caught[0].filename == __file__

    def test_plain_times_are_not_taken_for_events(self):
        time, event, predicted = draw(4)
        with pytest.raises(ValueError, match=r"times alone, but.*censored: pass event"):
            censored_pinball_loss(time, predicted, LEVELS, train=(time, event))
        # Where nothing was censored in training, they are.
        train = time, np.ones(60)
        assert censored_pinball_loss(time, predicted, LEVELS, train=train) == censored_pinball_loss(
            time, predicted, LEVELS, event=np.ones(60), train=train
        )

    @pytest.mark.parametrize("score", [censored_pinball_loss, d2_censored_pinball_score])
    def test_levels_beyond_the_horizon_are_named(self, score):
        time, event, predicted = draw(6)
        predicted[:, 1:] = [4.0, np.inf]
        predicted[0, 1] = 1.0
        with pytest.warns(
            UndefinedMetricWarning, match=r"levels 0\.9: all .* horizon 2$"
        ) as caught:
            score(time, predicted, LEVELS, event=event, horizon=2.0)
        assert caught[0].filename == __file__
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            score(time, predicted[:, :2], LEVELS[:2], event=event, horizon=2.0)


class TestD2:
    @pytest.mark.parametrize("weighted", [False, True])
    @pytest.mark.parametrize("seed", range(5))
    def test_without_censoring_is_scikit_learns(self, seed, weighted):
        time, _, predicted = draw(seed, ties=seed % 2 == 1)
        s = np.random.default_rng(seed).uniform(0.5, 2.0, 60) if weighted else None
        # The horizon is the largest time.
        each = [
            d2_pinball_score(time, np.minimum(q, time.max()), alpha=level, sample_weight=s)
            for level, q in zip(LEVELS, predicted.T, strict=True)
        ]
        options = {"sample_weight": s}
        found = d2_censored_pinball_score(
            time, predicted, LEVELS, multioutput="raw_values", **options
        )
        np.testing.assert_allclose(found, each, **CLOSE)
        found = d2_censored_pinball_score(time, predicted, LEVELS, **options)
        np.testing.assert_allclose(found, np.mean(each), **CLOSE)

    @pytest.mark.filterwarnings("ignore:.*says nothing of the levels")
    @pytest.mark.parametrize("horizon", ["auto", "middle", "last"])
    @pytest.mark.parametrize("censoring", ["right", "left"])
    @pytest.mark.parametrize("seed", range(5))
    def test_is_relative_to_kaplan_meier(self, seed, censoring, horizon):
        time, event, predicted = draw(seed, ties=seed % 2 == 1)
        at = {"middle": np.median(time), "last": (np.min if censoring == "left" else np.max)(time)}
        event[time == at["last"]] = True
        marginal = solve_quantiles(
            np.ones((1, 60)), time, event, LEVELS, censoring=censoring, interpolation="lower"
        )
        options = {"event": event, "censoring": censoring, "multioutput": "raw_values"}
        options["horizon"] = at.get(horizon, "auto")
        loss = censored_pinball_loss(time, predicted, LEVELS, **options)
        base = censored_pinball_loss(time, np.repeat(marginal, 60, axis=0), LEVELS, **options)
        found = d2_censored_pinball_score(time, predicted, LEVELS, **options)
        np.testing.assert_allclose(found, 1 - loss / base, **CLOSE)

    @pytest.mark.filterwarnings("ignore:.*says nothing of the levels")
    @pytest.mark.parametrize("horizon", ["auto", 2.0, "last"])
    def test_no_constant_is_better_than_zero(self, horizon):
        time, event, _ = draw(8)
        event[np.argmax(time)] = False
        options = {"event": event, "horizon": time.max() if horizon == "last" else horizon}
        scores = [
            d2_censored_pinball_score(
                time, np.full((60, 3), constant), LEVELS, multioutput="raw_values", **options
            )
            for constant in time
        ]
        best = np.max(scores, axis=0)
        assert (best <= 1e-12).all()
        np.testing.assert_allclose(best, 0.0, atol=1e-12)
        assert d2_censored_pinball_score(time, time, 0.5, **options) == 1.0

    def test_levels_that_the_record_identifies(self):
        # A study that ends for all: 10% and 25% of T lie before the horizon, 75% never do.
        rng = np.random.default_rng(9)
        x = rng.uniform(0.0, 1.0, 400)
        T, levels = np.exp(x + 0.2 * rng.normal(size=400)), np.array([0.1, 0.25, 0.99])
        y, event = np.minimum(T, 2.0), T <= 2.0
        predicted = np.exp(x[:, None] + 0.2 * norm.ppf(levels))
        early, middle, _ = d2_censored_pinball_score(
            y, predicted, levels, event=event, multioutput="raw_values"
        )
        assert early > 0.2
        assert middle > 0.4
        # There the best constant is the horizon itself, and lengthening T changes nothing.
        longer = predicted * [1.0, 1.0, 10.0]
        options = {"event": event, "multioutput": "raw_values"}
        with pytest.warns(UndefinedMetricWarning, match=r"says nothing of the levels 0\.99:"):
            found = d2_censored_pinball_score(y, longer, levels, **options)
        assert found[2] <= 0.0
        np.testing.assert_array_equal(found[:2], [early, middle])
        used = quantile_calibration(y, predicted, levels, event=event).n_used
        np.testing.assert_array_equal(used, (predicted <= 2.0).sum(axis=0))
        assert used[2] < used[0] / 4

    def test_nothing_but_censored_rows(self):
        with pytest.warns(UndefinedMetricWarning, match="no row is known"):
            assert np.isnan(d2_censored_pinball_score([1.0, 2.0], [1.0, 1.0], 0.5, event=[0, 0]))


class TestCoverage:
    def test_share_inside(self):
        time = [1.0, 2.0, 3.0, 4.0]
        assert interval_coverage(time, 1.0, 4.0) == 1.0  # both ends belong to it
        assert interval_coverage(time, 1.5, np.inf) == 0.75
        assert interval_coverage(time, [2, 2, 2, 2], [1, 1, 1, 1]) == 0.0  # crossed: empty
        found = interval_coverage(time, 0, 2.5, sample_weight=[3, 0, 1, 2])
        assert found == 0.5

    @pytest.mark.parametrize("open_ends", ["none", "some", "all"])
    @pytest.mark.parametrize("censoring", ["right", "left"])
    @pytest.mark.parametrize("ties", [False, True])
    @pytest.mark.parametrize("horizon", ["auto", "middle"])
    def test_slow_twin(self, horizon, ties, censoring, open_ends):
        time, event, predicted = draw(11, ties=ties)
        train = draw(12, n=15, ties=ties)[:2]
        left = censoring == "left"
        lower, _, upper = predicted.T.copy()
        rows = {"none": [], "some": np.arange(0, 60, 4), "all": np.arange(60)}[open_ends]
        (lower if left else upper)[rows] = -np.inf if left else np.inf
        # The other end may be open too, for half of them.
        (upper if left else lower)[rows[::2]] = np.inf if left else -np.inf
        s = np.random.default_rng(11).integers(1, 4, 60)
        for outcome, argument in ((time, event), None), (train, train):
            middle = 1.0 if left else 4.0
            h = slow_horizon(outcome, left) if horizon == "auto" else middle
            # With weights, those of `train` would be others than those of the twin.
            weight = s if argument is not None else np.ones(60)
            found = censored_interval_coverage(
                time,
                lower,
                upper,
                event=event,
                train=argument,
                censoring=censoring,
                horizon="auto" if horizon == "auto" else middle,
                sample_weight=weight,
            )
            expected = slow_coverage(time, event, lower, upper, outcome, h, weight, left)
            np.testing.assert_allclose(found, expected, **CLOSE)

    def test_rows_that_are_censored_at_the_end_lie_beyond_it(self):
        time, event = [1.0, 2.0, 3.0], [True, False, True]
        assert censored_interval_coverage(time, 0.0, 2.0, event=event) == 1 / 3
        mirrored = {"event": event, "censoring": "left"}
        assert censored_interval_coverage([-1.0, -2.0, -3.0], -2.0, 0.0, **mirrored) == 1 / 3

    def test_one_sided_intervals_are_judged_at_their_finite_end(self):
        time, event, _ = draw(14)
        above = 1.0 - quantile_calibration(time, np.full(60, 1.0), 0.5, event=event).observed
        found = censored_interval_coverage(time, 1.0, np.inf, event=event)
        # No time is 1: nothing hangs on which side has it.
        np.testing.assert_allclose(found, above[0], **CLOSE)
        below = censored_interval_coverage(time, -np.inf, 1.0, event=event)
        np.testing.assert_allclose(below, 1 - above[0], **CLOSE)
        # An interval that begins beyond the horizon is not judged.
        with pytest.warns(UndefinedMetricWarning, match="no interval ends within"):
            assert np.isnan(censored_interval_coverage(time, 99.0, np.inf, event=event))

    def test_without_censoring(self):
        time, _, predicted = draw(13)
        lower, _, upper = predicted.T
        within = upper <= time.max()
        assert censored_interval_coverage(time, lower, upper) == interval_coverage(
            time[within], lower[within], upper[within]
        )

    def test_nothing_but_censored_rows(self):
        with pytest.warns(UndefinedMetricWarning, match="no interval ends within"):
            assert np.isnan(censored_interval_coverage([1.0], 0.0, 2.0, event=[0]))


def slow_coverage(time, event, lower, upper, train, horizon, row_weight, left):
    """The ratio of the docstring, in a loop over rows that are mirrored one by one."""
    sign = -1.0 if left else 1.0
    before = twins.censoring_before(sign * train[0], train[1])
    above = below = 0.0
    for y, seen, a, b, w in zip(sign * time, event, lower, upper, row_weight, strict=True):
        first, last = (-b, -a) if left else (a, b)
        at = first if np.isinf(last) else last
        if at > sign * horizon:
            continue
        v, come = twins.known_by(at, y, seen, before, including=not np.isinf(last))
        # Whatever is not over at the beginning of an open interval lies in it.
        inside = not come if np.isinf(last) else come and y >= first
        above, below = above + w * v * inside, below + w * v
    return above / below


def slow_concordance(time, event, predicted, weights, horizon=np.inf):
    above = below = 0.0
    for i in range(len(time)):
        for j in range(len(time)):
            later = time[j] > time[i] or (time[j] == time[i] and not event[j])
            if event[i] and later and time[i] <= horizon:
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
            options = {"event": event, "horizon": time.max()}
            try:
                expected = lifelines_concordance(time, predicted, event)
            except ZeroDivisionError:
                with pytest.warns(UndefinedMetricWarning, match="compared"):
                    assert np.isnan(concordance_index(time, predicted, **options))
                continue
            assert concordance_index(time, predicted, **options) == expected
            y = Surv.from_arrays(event, time)
            assert concordance_index(y, predicted, horizon=time.max()) == expected
            options |= {"horizon": -time.max(), "censoring": "left"}
            assert concordance_index(-time, -predicted, **options) == expected
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
            concordance_index(time, predicted, event=event, horizon=time.max()), expected, **CLOSE
        )

    @pytest.mark.parametrize("seed", range(6))
    def test_slow_twin_with_weights(self, seed):
        rng = np.random.default_rng(seed)
        time, event, predicted = draw(seed, n=40, ties=True)
        weights = rng.uniform(0.0, 1e6, 40) * (rng.random(40) < 0.8)
        weights[np.argmin(time)] = 1.0
        options = {"event": event, "sample_weight": weights}
        auto = twins.horizon(time, event, weights)
        for horizon, h in ("auto", auto), (4.0, 4.0), (time[weights > 0].max(),) * 2:
            found = concordance_index(time, predicted[:, 0], horizon=horizon, **options)
            expected = slow_concordance(time, event, predicted[:, 0], weights, h)
            np.testing.assert_allclose(found, expected, **CLOSE)

    def test_horizon_of_training_outcomes(self):
        time, event, predicted = draw(0)
        train = draw(1, n=30)[:2]
        found = concordance_index(time, predicted[:, 0], event=event, train=train)
        h = slow_horizon(train)
        expected = slow_concordance(time, event, predicted[:, 0], np.ones(60), h)
        np.testing.assert_allclose(found, expected, **CLOSE)
        assert found == concordance_index(time, predicted[:, 0], event=event, horizon=h)

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


def slow_calibration(time, event, predicted, row_weight, horizon, train=None, left=False):
    """The ratio of the docstring, from loops; a row counts `row_weight`, in G as well."""
    sign = -1.0 if left else 1.0
    outcome = (time, event, row_weight) if train is None else train
    before = twins.censoring_before(sign * outcome[0], outcome[1], outcome[2])
    above = below = 0.0
    for y, seen, q, w in zip(sign * time, event, sign * predicted, row_weight, strict=True):
        if q <= sign * horizon:
            # T <= q unless -T < -q.
            v, come = twins.known_by(q, y, seen, before, including=not left)
            above, below = above + w * v * (come != left), below + w * v
    return above / below


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
        s = np.random.default_rng(seed).integers(1, 4, 25) * 1.0
        own = quantile_calibration(time, predicted, LEVELS, **options)
        other = quantile_calibration(time, predicted, LEVELS, train=train[:2], **options)
        weighted = quantile_calibration(
            time, predicted, LEVELS, train=train[:2], sample_weight=s, **options
        )
        np.testing.assert_array_equal(own.quantiles, LEVELS)
        h_own, h_other = slow_horizon((time, event), left), slow_horizon(train, left)
        for found, h in (own, h_own), (other, h_other), (weighted, h_other):
            used = predicted >= h if left else predicted <= h
            np.testing.assert_array_equal(found.n_used, used.sum(axis=0))
        for j, q in enumerate(predicted.T):

            def same(w, q=q):
                return slow_calibration(time, event, q, w, h_own, left=left)

            def test_rows(w, q=q):
                return slow_calibration(time, event, q, w, h_other, train, left=left)

            def training_rows(w, q=q, own=None):
                own = np.ones(25) if own is None else own
                return slow_calibration(time, event, q, own, h_other, (*train[:2], w), left=left)

            np.testing.assert_allclose(own.observed[j], same(np.ones(25)), **CLOSE)
            np.testing.assert_allclose(other.observed[j], test_rows(np.ones(25)), **CLOSE)
            np.testing.assert_allclose(weighted.observed[j], test_rows(s), **CLOSE)
            # The infinitesimal jackknife, by differences.
            by_rows = derivatives(same, 25)
            np.testing.assert_allclose(own.std_error[j] ** 2, by_rows @ by_rows, rtol=1e-6)
            first, second = derivatives(test_rows, 25), derivatives(training_rows, 20)
            np.testing.assert_allclose(
                other.std_error[j] ** 2, first @ first + second @ second, rtol=1e-6
            )
            # A share of a row's weight, not one more row.
            first = derivatives(lambda w, f=test_rows: f(s * w), 25)
            second = derivatives(lambda w, f=training_rows: f(w, own=s), 20)
            np.testing.assert_allclose(
                weighted.std_error[j] ** 2, first @ first + second @ second, rtol=1e-6
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

    @pytest.mark.parametrize("s", [None, 1.0 + np.arange(60) % 3])
    def test_rows_that_all_agree_are_not_certain(self, s):
        time, _, _ = draw(5)
        found = quantile_calibration(
            time, np.tile([0.0, time.max()], (60, 1)), [0.1, 0.9], sample_weight=s
        )
        np.testing.assert_array_equal(found.observed, [0.0, 1.0])
        m = 60 if s is None else s.sum() ** 2 / (s**2).sum()
        expected = np.sqrt(2.0 / (m + 4.0) * (m + 2.0) / (m + 4.0) / m)
        np.testing.assert_allclose(found.std_error, expected, **CLOSE)
        # Like the share of 60 rows of which one or two disagree.
        assert np.sqrt(1 / 60 * 59 / 60 / 60) < expected < np.sqrt(4 / 60 * 56 / 60 / 60)

    def test_errors_next_to_certainty_hold_what_they_promise(self):
        # Three errors around the estimate; where all of 30 rows agreed there were none.
        rng, inside = np.random.default_rng(0), []
        for _ in range(300):
            time = rng.random(30)
            found = quantile_calibration(time, np.full(30, 0.03), 0.03)
            inside.append(abs(found.observed[0] - 0.03) <= 3 * found.std_error[0])
        assert np.mean(inside) > 0.95

    @pytest.mark.parametrize("censoring", ["right", "left"])
    def test_without_censoring(self, censoring):
        time, _, predicted = draw(5, ties=True)
        found = quantile_calibration(time, predicted, LEVELS, censoring=censoring)
        share = (time[:, None] <= predicted).mean(axis=0)
        np.testing.assert_allclose(found.observed, share, **CLOSE)
        np.testing.assert_allclose(found.std_error, np.sqrt(share * (1 - share) / 60), **CLOSE)

    def test_predictions_beyond_the_horizon_are_left_out(self):
        time, event = [1.0, 2.0, 3.0, 4.0], [True, True, True, False]
        found = quantile_calibration(time, [2.0, 2.0, 2.0, 4.5], 0.5, event=event)
        assert found.n_used == [3]
        np.testing.assert_allclose(found.observed, [2 / 3])
        # A row that is censored at its prediction is known to be later.
        found = quantile_calibration(time, [2.0, 2.0, 2.0, 4.0], 0.5, event=event)
        assert found.n_used == [4]
        np.testing.assert_allclose(found.observed, [1 / 2])
        found = quantile_calibration(time, [1.0, 2.0, 2.0, 4.0], 0.5, event=event, horizon=1.5)
        assert (found.n_used, found.observed) == ([1], [1.0])
        with pytest.warns(UndefinedMetricWarning, match="no row"):
            found = quantile_calibration(time, np.full(4, np.inf), 0.5, event=event)
        assert np.isnan([found.observed, found.std_error]).all()
        assert found.n_used == [0]
        # Nothing is known of times beyond the last one, not even if that is an event.
        with pytest.warns(UndefinedMetricWarning, match="no row"):
            assert np.isnan(quantile_calibration(time, np.full(4, np.inf), 0.5).observed)

    def test_nothing_but_censored_rows(self):
        with pytest.warns(UndefinedMetricWarning, match="no row"):
            assert np.isnan(quantile_calibration([1.0], [1.0], 0.5, event=[0]).observed)
        found = quantile_calibration([5.0], [1.0], 0.5, event=[0], train=[1.0, 2.0, 9.0])
        assert found.observed == [0.0]

    def test_weights_of_training_rows(self):
        time, event, predicted = draw(6, ties=True)
        train_time, train_event, _ = draw(7, ties=True)
        counts = np.random.default_rng(7).integers(1, 4, 60)
        # The automatic horizon counts rows.
        found, expected = (
            quantile_calibration(time, predicted, LEVELS, event=event, train=train, horizon=6.0)
            for train in (
                Target.from_outcome(train_time, train_event, counts),
                (np.repeat(train_time, counts), np.repeat(train_event, counts)),
            )
        )
        np.testing.assert_allclose(found.observed, expected.observed, **CLOSE)
        # Rows that count twice are surer than one row of weight two.
        assert (found.std_error > expected.std_error).all()

    def test_weights_of_rows(self):
        time, event, predicted = draw(6, ties=True)
        counts = np.random.default_rng(8).integers(0, 4, 60)
        rows = np.repeat(np.arange(60), counts)
        for train in None, draw(7, ties=True)[:2]:
            options = {"train": train, "horizon": 6.0}
            found = quantile_calibration(
                time, predicted, LEVELS, event=event, sample_weight=counts, **options
            )
            expected = quantile_calibration(
                time[rows], predicted[rows], LEVELS, event=event[rows], **options
            )
            np.testing.assert_allclose(found.observed, expected.observed, **CLOSE)
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


# Between the times of `samples`: at a time of the data the mirror image of P(T > t) is P(T >= t).
GRID = np.arange(-9, 9) / 4 + 1 / 8


def survival_at(grid, predicted):
    """Curves (n, g) that fall by a third at each of the predictions (n, 3)."""
    return (predicted[:, None, :] > grid[:, None]).mean(axis=2)


def all_scores(time, event, predicted, levels=LEVELS, grid=GRID, sample_weight=None, **options):
    """(what has a unit, what has none, calibration)."""
    weighted = {"event": event, "sample_weight": sample_weight, **options}
    raw = {"multioutput": "raw_values"}
    lower, middle, upper = predicted.min(axis=1), predicted[:, 1], predicted.max(axis=1)
    curves = survival_at(grid, predicted), grid
    log = {name: weighted[name] for name in weighted if name not in ("train", "horizon")}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UndefinedMetricWarning)
        losses = [
            censored_pinball_loss(time, predicted, levels, **weighted, **raw),
            pinball_loss(time, predicted, levels, sample_weight=sample_weight, **raw),
        ]
        others = [
            *d2_censored_pinball_score(time, predicted, levels, **weighted, **raw),
            brier_skill_score(time, *curves, **weighted),
            censored_log_score(time, *curves, **log),
            censored_interval_coverage(time, lower, upper, **weighted),
            censored_interval_coverage(time, lower, np.inf, **weighted),
            censored_interval_coverage(time, -np.inf, upper, **weighted),
            interval_coverage(time, lower, upper, sample_weight=sample_weight),
            concordance_index(time, middle, **weighted),
            concordance_index_ipcw(time, middle, **weighted),
            integrated_brier_score(time, *curves, **weighted),
        ]
        brier = brier_score(time, *curves, **weighted)
        calibration = quantile_calibration(time, predicted, levels, **weighted)
    return np.concatenate(losses), np.concatenate([others, brier]), calibration


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
        second = all_scores(unit * time, event, unit * predicted, grid=unit * GRID)
        np.testing.assert_array_equal(second[0], unit * first[0])
        np.testing.assert_array_equal(second[1], first[1])
        np.testing.assert_array_equal(second[2].observed, first[2].observed)
        np.testing.assert_array_equal(second[2].std_error, first[2].std_error)

    @fast
    @given(samples(), st.sampled_from([-8.0, 3.0, 64.0]))
    def test_origin_of_time(self, sample, origin):
        time, event, predicted = sample
        first = all_scores(time, event, predicted)
        second = all_scores(time + origin, event, predicted + origin, grid=GRID + origin)
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
        rows = np.repeat(np.arange(n), counts)
        # The automatic horizon counts rows.
        options = {"horizon": data.draw(st.sampled_from(time[rows].tolist()))}
        first = all_scores(time, event, predicted, sample_weight=counts, **options)
        second = all_scores(time[rows], event[rows], predicted[rows], **options)
        for a, b in zip(first[:2], second[:2], strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(first[2].observed, second[2].observed, rtol=1e-9, atol=1e-12)

    @fast
    @given(samples(), st.booleans(), st.data())
    def test_left_censoring_is_the_mirror_image(self, sample, apart, data):
        time, event, predicted = sample
        levels = np.array([0.25, 0.5, 0.75])
        train = (time[::2], event[::2] | ~event[::2].any()) if apart else (time, event)
        horizon = data.draw(st.sampled_from(["auto", *train[0].tolist()]))
        right = all_scores(time, event, predicted, levels, train=train, horizon=horizon)
        left = all_scores(
            -time,
            event,
            -predicted,
            1 - levels,
            # With P(T > t) from below upwards.
            grid=-GRID[::-1],
            train=(-train[0], train[1]),
            horizon=horizon if horizon == "auto" else -horizon,
            censoring="left",
        )
        np.testing.assert_allclose(right[0], left[0], rtol=1e-9, atol=1e-12)
        mirrored = right[1].copy()
        # One-sided intervals and curves are reversed.
        mirrored[[6, 7]] = mirrored[[7, 6]]
        mirrored[-len(GRID) :] = mirrored[-len(GRID) :][::-1]
        np.testing.assert_allclose(mirrored, left[1], rtol=1e-9, atol=1e-12)

    @fast
    @given(samples())
    def test_ranges(self, sample):
        losses, others, calibration = all_scores(*sample)
        assert (losses >= 0).all()
        assert not (others > 1 + 1e-12).any()
        assert others[4] <= 0
        assert not (others[5:] < 0).any()
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
        raw = {"multioutput": "raw_values"}
        for seed in range(self.REPLICATIONS):
            T, C, predicted = self.draw(seed)
            Y, event = np.minimum(T, C), T <= C
            lower, _, upper = predicted.T
            row = []
            for horizon in "auto", 4.0, 8.0:
                # The slow twin of it is compared in test_horizon.py.
                h = auto_horizon(Target.from_outcome(Y, event)) if horizon == "auto" else horizon
                within = upper <= h
                truth = np.array(
                    [
                        *pinball_loss(np.minimum(T, h), np.minimum(predicted, h), LEVELS, **raw),
                        interval_coverage(T[within], lower[within], upper[within]),
                    ]
                )
                options = {"event": event, "horizon": horizon}
                found = [
                    *censored_pinball_loss(Y, predicted, LEVELS, **options, **raw),
                    censored_interval_coverage(Y, lower, upper, **options),
                ]
                row.extend(found - truth)
            differences.append(row)
            naive.append(pinball_loss(Y, predicted, LEVELS) - pinball_loss(T, predicted, LEVELS))
        assert (np.abs(self.in_standard_errors(differences)) < self.CLEAR).all()
        assert np.abs(self.in_standard_errors(naive)) > 5 * self.CLEAR


TIME, EVENT, PREDICTED = draw(0, n=10)
TIMES = np.array([1.0, 2.0, 3.0])
CURVES = np.full((10, 3), 0.5)
EVERY_SCORE = {
    "loss": lambda y, **o: censored_pinball_loss(y, PREDICTED, LEVELS, **o),
    "d2": lambda y, **o: d2_censored_pinball_score(y, PREDICTED, LEVELS, **o),
    "calibration": lambda y, **o: quantile_calibration(y, PREDICTED, LEVELS, **o),
    "coverage": lambda y, **o: censored_interval_coverage(y, TIME, TIME, **o),
    "concordance": lambda y, **o: concordance_index(y, TIME, **o),
    "uno": lambda y, **o: concordance_index_ipcw(y, TIME, **o),
    "brier": lambda y, **o: brier_score(y, CURVES, TIMES, **o),
    "integrated": lambda y, **o: integrated_brier_score(y, CURVES, TIMES, **o),
    "skill": lambda y, **o: brier_skill_score(y, CURVES, TIMES, **o),
}


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
        with pytest.raises(ValueError, match="y_pred must be finite; row 2 has -inf"):
            score(TIME, changed(PREDICTED, (2, 2), -np.inf), LEVELS)
        left = {} if score is pinball_loss else {"censoring": "left"}
        with pytest.raises(ValueError, match="y_pred must be finite; row 2 has inf"):
            score(TIME, changed(PREDICTED, (2, 2), np.inf), LEVELS, **left)
        with pytest.raises(ValueError, match=r"multioutput.*variance"):
            score(TIME, PREDICTED, LEVELS, multioutput="variance_weighted")
        with pytest.raises(ValueError, match="sample_weight"):
            score(TIME, PREDICTED, LEVELS, sample_weight=-TIME)

    @pytest.mark.parametrize("score", EVERY_SCORE.values(), ids=EVERY_SCORE)
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

    @pytest.mark.parametrize("score", EVERY_SCORE.values(), ids=EVERY_SCORE)
    @pytest.mark.parametrize(
        ("options", "exception", "words"),
        [
            ({"horizon": np.nan}, ValueError, "horizon must be finite.*nan"),
            ({"horizon": np.inf}, ValueError, "horizon must be finite.*inf"),
            ({"horizon": "late"}, ValueError, "horizon.*late"),
            ({"horizon": True}, TypeError, "horizon.*True"),
            ({"horizon": None}, TypeError, "horizon.*None"),
            ({"horizon": [1.0]}, TypeError, "horizon"),
        ],
    )
    def test_horizon(self, score, options, exception, words):
        with pytest.raises(exception, match=words):
            score(TIME, **options)

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


# What the public scores take by rows, in pandas with labels.
BY_ROWS = {
    **{name: pd.Series(TIME) for name in ("time", "y", "y_true", "y_pred", "predicted_time")},
    **{name: pd.Series(TIME) for name in ("lower", "upper")},
    "event": pd.Series(EVENT),
    "survival": pd.DataFrame({0.5: 0.75, 1.0: 0.25}, index=range(10)),
    "sample_weight": pd.Series(1.0, index=range(10)),
}
OTHERS = {"quantiles": 0.5, "times": [0.5, 1.0], "training": Target.from_outcome(TIME, EVENT)}
SCORES = [score for name in metrics.__all__ if inspect.isfunction(score := getattr(metrics, name))]


@pytest.mark.parametrize(
    ("score", "moved"),
    [
        (score, name)
        for score in SCORES
        for name in list(inspect.signature(score).parameters)[1:]
        if name in BY_ROWS
    ],
)
def test_rows_are_paired_by_their_labels(score, moved):
    given = {
        name: value
        for name, value in (BY_ROWS | OTHERS).items()
        if name in inspect.signature(score).parameters
    }
    score(**given)
    with pytest.raises(ValueError, match=f"^{moved} and .* have row labels in another order"):
        score(**given | {moved: given[moved].iloc[::-1]})


def test_rows_of_training_outcomes_are_paired_by_their_labels():
    train = BY_ROWS["y"], BY_ROWS["event"].iloc[::-1]
    with pytest.raises(ValueError, match="train: event and y have row labels in another order"):
        concordance_index(TIME, TIME, event=EVENT, train=train)
