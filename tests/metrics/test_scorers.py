"""Brier scores and Uno's concordance against formulas and peers; scorers in model selection."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
import twins
from lifelines import KaplanMeierFitter
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from cqrf import CensoredQuantileForest, Surv
from cqrf.data.outcome import Target
from cqrf.metrics import (
    SCORERS,
    brier_score,
    brier_skill_score,
    censored_interval_coverage,
    censored_log_score,
    censored_pinball_loss,
    concordance_index,
    concordance_index_ipcw,
    d2_censored_pinball_score,
    integrated_brier_score,
    make_quantile_scorer,
    quantile_calibration,
)
from cqrf.metrics.curve_errors import kaplan_meier_survival, log_score_times, scoring_times

LEVELS = [0.25, 0.5]


def draw(seed=0, n=120):
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, 3))
    T = np.exp(2 * X[:, 0] + 0.4 * rng.normal(size=n))
    C = rng.exponential(8.0, n)
    return X, np.minimum(T, C), T <= C


X, TIME, EVENT = draw()
Y = Surv.from_arrays(EVENT, TIME)
X_TEST, T_TEST, E_TEST = draw(1, 60)
Y_TEST = Surv.from_arrays(E_TEST, T_TEST)
# scikit-survival refuses test times beyond the training data.
INSIDE = np.less(T_TEST, TIME.max())
GRID = np.quantile(TIME[EVENT], [0.1, 0.3, 0.5, 0.7])


@pytest.fixture(scope="module")
def forest():
    return CensoredQuantileForest(20, min_samples_leaf=5, random_state=0).fit(X, TIME, EVENT)


class TestBrier:
    def slow(self, survival, times, time, event, train):
        before = twins.censoring_before(*train)
        return np.array(
            [
                twins.brier(time, event, curve, t, before).mean()
                for t, curve in zip(times, survival.T, strict=True)
            ]
        )

    def test_against_the_twin(self, forest):
        survival = forest.predict_survival_function(X_TEST, times=GRID)
        expected = self.slow(survival, GRID, T_TEST, E_TEST, (TIME, EVENT))
        found = brier_score(Y_TEST, survival, GRID, train=forest.target_)
        np.testing.assert_allclose(found, expected, rtol=1e-12)
        options = {"event": E_TEST, "train": (TIME, EVENT)}
        np.testing.assert_allclose(
            integrated_brier_score(T_TEST, survival, GRID, **options),
            twins.integral(expected, GRID),
            rtol=1e-12,
        )
        # With a Kaplan-Meier curve that is computed elsewhere.
        peer = KaplanMeierFitter().fit(TIME, EVENT).survival_function_at_times(GRID).to_numpy()
        reference = self.slow(np.tile(peer, (60, 1)), GRID, T_TEST, E_TEST, (TIME, EVENT))
        np.testing.assert_allclose(
            brier_skill_score(T_TEST, survival, GRID, **options),
            1 - twins.integral(expected, GRID) / twins.integral(reference, GRID),
            rtol=1e-12,
        )

    def test_ties_with_the_grid(self):
        # Events at t have come by then; who is censored at t is later. Both are so in G.
        time = np.ceil(2 * T_TEST) / 2
        grid = np.unique(time)[1:5]
        survival = np.random.default_rng(0).random((60, 4))
        expected = self.slow(survival, grid, time, E_TEST, (time, E_TEST))
        found = brier_score(time, survival, grid, event=E_TEST)
        np.testing.assert_allclose(found, expected, rtol=1e-12)

    def test_whole_sample_weights_repeat_rows(self, forest):
        survival = forest.predict_survival_function(X_TEST, times=GRID)
        counts = np.random.default_rng(0).integers(0, 3, 60)
        at = np.repeat(np.arange(60), counts)
        np.testing.assert_allclose(
            brier_score(Y_TEST, survival, GRID, train=Y, sample_weight=counts),
            brier_score(Y_TEST[at], survival[at], GRID, train=Y),
            rtol=1e-12,
        )

    def test_left_censoring_is_the_mirror_image(self, forest):
        survival = forest.predict_survival_function(X_TEST, times=GRID)
        mirrored = brier_score(
            -T_TEST, 1 - survival, -GRID, event=E_TEST, train=(-TIME, EVENT), censoring="left"
        )
        # No time of the data is on the grid's edge, where the inequality would turn strict.
        grid = GRID + 1e-9
        expected = brier_score(T_TEST, survival, grid, event=E_TEST, train=(TIME, EVENT))
        shifted = brier_score(
            -T_TEST, 1 - survival, -grid, event=E_TEST, train=(-TIME, EVENT), censoring="left"
        )
        np.testing.assert_allclose(shifted, expected, rtol=1e-12)
        assert mirrored.shape == (4,)

    def test_without_censoring_it_is_the_squared_error(self):
        survival = np.random.default_rng(0).random((60, 4))
        expected = np.mean((survival - (T_TEST[:, None] > GRID)) ** 2, axis=0)
        np.testing.assert_allclose(brier_score(T_TEST, survival, GRID), expected, rtol=1e-12)

    def test_beyond_the_horizon(self):
        time, event = [1.0, 2.0, 3.0, 4.0], [True, True, True, False]
        survival = np.full((4, 3), 0.5)
        with pytest.warns(UndefinedMetricWarning, match=r"beyond the horizon 4\.0"):
            found = brier_score(time, survival, [1.5, 2.5, 5.0], event=event)
        np.testing.assert_array_equal(np.isnan(found), [False, False, True])
        assert integrated_brier_score(time, survival, [1.5, 2.5, 5.0], event=event) == 0.25
        skill = brier_skill_score(time, survival, [1.5, 2.5, 5.0], event=event)
        assert skill == brier_skill_score(time, survival[:, :2], [1.5, 2.5], event=event)
        with pytest.warns(UndefinedMetricWarning, match=r"beyond the horizon 2\.0"):
            found = brier_score(time, survival, [1.5, 2.5, 5.0], event=event, horizon=2.0)
        np.testing.assert_array_equal(np.isnan(found), [False, True, True])
        for score in integrated_brier_score, brier_skill_score:
            with pytest.warns(UndefinedMetricWarning, match=f"{score.__name__}.*fewer than two"):
                assert np.isnan(score(time, survival, [2.5, 5.0, 6.0], event=event))
            with pytest.warns(UndefinedMetricWarning, match="there is no event"):
                assert np.isnan(score(time, survival, [1.5, 2.5, 5.0], event=[False] * 4))
        with pytest.warns(UndefinedMetricWarning, match="there is no event"):
            assert np.isnan(brier_score(time, survival[:, :1], [1.0], event=[False] * 4)).all()

    def test_left_censored_times_before_the_horizon(self):
        time, event = [-1.0, -2.0, -3.0, -4.0], [True, True, True, False]
        with pytest.warns(UndefinedMetricWarning, match=r"beyond the horizon -4\.0"):
            found = brier_score(
                time, np.full((4, 2), 0.5), [-5.0, -2.5], event=event, censoring="left"
            )
        np.testing.assert_array_equal(np.isnan(found), [True, False])

    @pytest.mark.parametrize(
        ("survival", "times", "match"),
        [
            (np.full((60, 4), 1.5), GRID, "survival must lie between 0 and 1; row 0"),
            (np.full((60, 3), 0.5), GRID, "survival must have shape"),
            (np.full((60, 4), 0.5), GRID[::-1], "ascending"),
            (np.full((60, 1), 0.5), GRID[:1], "at least two"),
            (np.full((60, 4), 0.5), [1, 2, 3, np.nan], "times contains NaN"),
            (np.full((60, 4), 0.5), [1, 2, 3, np.inf], "times contains inf"),
            (np.full((60, 4), np.nan), GRID, "survival must not be NaN; row 0"),
            (np.full((60, 4), -np.inf), GRID, "survival must lie between 0 and 1; row 0"),
        ],
    )
    def test_bad_input(self, survival, times, match):
        for score in integrated_brier_score, brier_skill_score, censored_log_score:
            with pytest.raises(ValueError, match=match):
                score(Y_TEST, survival, times)

    def test_against_scikit_survival(self, forest):
        metrics = pytest.importorskip("sksurv.metrics")
        survival, y = forest.predict_survival_function(X_TEST[INSIDE], times=GRID), Y_TEST[INSIDE]
        _, theirs = metrics.brier_score(Y, y, survival, GRID)
        np.testing.assert_allclose(brier_score(y, survival, GRID, train=Y), theirs, rtol=1e-12)
        np.testing.assert_allclose(
            integrated_brier_score(y, survival, GRID, train=Y),
            metrics.integrated_brier_score(Y, y, survival, GRID),
            rtol=1e-12,
        )


class TestBrierSkill:
    @pytest.mark.parametrize("censoring", ["right", "left"])
    def test_kaplan_meier_saves_nothing(self, censoring):
        sign = 1.0 if censoring == "right" else -1.0
        train = Target.from_outcome(sign * TIME, EVENT, censoring=censoring)
        curve = np.tile(kaplan_meier_survival(train, np.sort(sign * GRID)), (60, 1))
        options = {"event": E_TEST, "train": train, "censoring": censoring}
        assert brier_skill_score(sign * T_TEST, curve, np.sort(sign * GRID), **options) == 0.0
        # Certainty that is right is all there is to save.
        truth = (sign * T_TEST[:, None] > np.sort(sign * GRID)) * 1.0
        assert brier_skill_score(sign * T_TEST, truth, np.sort(sign * GRID), **options) <= 1.0

    @pytest.mark.parametrize("horizon", ["auto", "middle"])
    @pytest.mark.parametrize("weighted", [False, True])
    @pytest.mark.parametrize("censoring", ["right", "left"])
    def test_is_the_score_of_the_forest(self, censoring, weighted, horizon):
        sign = 1.0 if censoring == "right" else -1.0
        s = np.random.default_rng(3).uniform(0.5, 2.0, 120) if weighted else None
        model = CensoredQuantileForest(
            20, min_samples_leaf=5, censoring=censoring, random_state=0
        ).fit(X, sign * TIME, EVENT, sample_weight=s)
        s = np.random.default_rng(4).uniform(0.5, 2.0, 60) if weighted else None
        h = sign * 4.0 if horizon == "middle" else model.horizon_
        times = scoring_times(model.target_, h)
        assert (times[-1] if sign > 0 else times[0]) == h
        assert (times[0] if sign > 0 else times[-1]) == sign * TIME.min()
        found = model.score(
            X_TEST, sign * T_TEST, E_TEST, s, horizon="auto" if horizon == "auto" else h
        )
        expected = brier_skill_score(
            sign * T_TEST,
            np.clip(model.predict_survival_function(X_TEST, times=times), 0.0, 1.0),
            times,
            event=E_TEST,
            train=model.target_,
            sample_weight=s,
            censoring=censoring,
            horizon=h,
        )
        np.testing.assert_allclose(found, expected, rtol=1e-12)
        assert 0.0 < found < 1.0

    def test_nothing_to_save(self):
        # All events at one time, before which everybody is certain to be alive.
        time, event = np.full(8, 2.0), np.ones(8)
        with pytest.warns(UndefinedMetricWarning, match="makes no error"):
            found = brier_skill_score(time, np.full((8, 2), 0.5), [0.5, 1.0], event=event)
        assert np.isnan(found)


class TestLogScore:
    def slow(self, time, event, survival, times, weight, left=False):
        """The cases of the docstring; under left censoring those of its mirror image."""
        total = 0.0
        for y, seen, S, w in zip(time, event, survival, weight, strict=True):
            if left:
                S, t, y = 1 - S[::-1], -times[::-1], -y
            else:
                t = times
            S = np.array([1.0, *S[1:]])
            if y > t[-1]:
                p = S[-1]
            elif seen:
                k = next(k for k in range(1, len(t)) if y <= t[k])
                p = S[k - 1] - S[k]
            else:
                p = np.interp(y, t, S)
            total += w * np.log(max(p, 1e-4))
        return total / sum(weight)

    @pytest.mark.parametrize("weighted", [False, True])
    @pytest.mark.parametrize("censoring", ["right", "left"])
    def test_against_the_twin(self, forest, censoring, weighted):
        left = censoring == "left"
        s = np.random.default_rng(0).uniform(0.5, 2.0, 60) if weighted else None
        survival = forest.predict_survival_function(X_TEST, times=GRID)
        weight = np.ones(60) if s is None else s
        for event in (E_TEST, ~E_TEST, np.ones(60, dtype=bool), np.zeros(60, dtype=bool)):
            expected = self.slow(T_TEST, event, survival, GRID, weight, left)
            found = censored_log_score(
                T_TEST, survival, GRID, event=event, sample_weight=s, censoring=censoring
            )
            np.testing.assert_allclose(found, expected, rtol=1e-12)

    def test_left_censoring_is_the_mirror_image(self, forest):
        survival = forest.predict_survival_function(X_TEST, times=GRID)
        found = censored_log_score(
            -T_TEST, 1 - survival[:, ::-1], -GRID[::-1], event=E_TEST, censoring="left"
        )
        expected = censored_log_score(T_TEST, survival, GRID, event=E_TEST)
        np.testing.assert_allclose(found, expected, rtol=1e-12)

    def test_rows_at_the_times(self):
        survival = np.tile([0.9, 0.5, 0.2], (6, 1))
        time = np.array([1.0, 2.0, 3.0, 1.0, 2.0, 3.0])
        event = np.array([True] * 3 + [False] * 3)
        for i, p in enumerate([0.5, 0.5, 0.3, 1.0, 0.5, 0.2]):
            row = censored_log_score(
                time[i : i + 1], survival[:1], [1.0, 2.0, 3.0], event=event[i : i + 1]
            )
            np.testing.assert_allclose(row, np.log(p), rtol=1e-12)

    def test_floor(self):
        # What was said to be impossible costs 9.2, and not infinity.
        found = censored_log_score([1.5], [[1.0, 1.0]], [1.0, 2.0], event=[True])
        np.testing.assert_allclose(found, np.log(1e-4), rtol=1e-12)
        # Rounding may let a curve rise.
        rising = [[1.0, 0.5, np.nextafter(0.5, 1)]]
        found = censored_log_score([2.5], rising, [1.0, 2.0, 3.0], event=[True])
        np.testing.assert_allclose(found, np.log(1e-4), rtol=1e-12)

    def test_no_event_is_needed(self):
        found = censored_log_score(T_TEST, np.full((60, 2), 0.5), [99.0, 100.0], event=[0] * 60)
        assert found == 0.0

    def test_bad_input(self):
        survival = np.full((60, 4), 0.5)
        with pytest.raises(ValueError, match="censoring"):
            censored_log_score(Y_TEST, survival, GRID, censoring="both")
        with pytest.raises(ValueError, match="sample_weight"):
            censored_log_score(Y_TEST, survival, GRID, sample_weight=-np.ones(60))
        with pytest.raises(ValueError, match="event == 2"):
            censored_log_score(T_TEST, survival, GRID, event=E_TEST + 1)


class TestUno:
    def slow(self, predicted, time, event, v, w, horizon=np.inf):
        above = below = 0.0
        for i in range(len(time)):
            for j in range(len(time)):
                later = time[j] > time[i] or (time[j] == time[i] and not event[j])
                if event[i] and i != j and later and time[i] <= horizon:
                    pair = v[i] ** 2 * w[i] * w[j]
                    below += pair
                    above += pair * (
                        (predicted[i] < predicted[j]) + (predicted[i] == predicted[j]) / 2
                    )
        return above / below

    @pytest.mark.parametrize("ties", [False, True])
    def test_against_the_twin(self, ties):
        rng = np.random.default_rng(3)
        time = np.ceil(2 * T_TEST) / 2 if ties else T_TEST
        predicted = np.round(T_TEST + rng.normal(size=60), 0 if ties else 9)
        before = twins.censoring_before(TIME, EVENT)
        v = np.array([seen / before(t) for t, seen in zip(time, E_TEST, strict=True)])
        w = rng.integers(1, 4, 60)
        for horizon in ("auto", 4.0, TIME.max()):
            h = twins.horizon(TIME, EVENT) if horizon == "auto" else horizon
            expected = self.slow(predicted, time, E_TEST, v, w, h)
            options = {"horizon": horizon, "sample_weight": w}
            found = concordance_index_ipcw(time, predicted, event=E_TEST, train=Y, **options)
            np.testing.assert_allclose(found, expected, rtol=1e-12)
            mirrored = options | {"horizon": horizon if horizon == "auto" else -horizon}
            np.testing.assert_allclose(
                concordance_index_ipcw(
                    -time,
                    -predicted,
                    event=E_TEST,
                    train=(-TIME, EVENT),
                    censoring="left",
                    **mirrored,
                ),
                expected,
                rtol=1e-12,
            )

    def test_without_censoring_it_is_harrells(self):
        predicted = X_TEST[:, 0]
        assert concordance_index_ipcw(T_TEST, predicted) == concordance_index(T_TEST, predicted)

    def test_nothing_to_compare(self):
        with pytest.warns(UndefinedMetricWarning, match="concordance_index_ipcw"):
            assert np.isnan(concordance_index_ipcw(T_TEST, T_TEST, event=np.zeros(60)))

    def test_against_scikit_survival(self, forest):
        metrics = pytest.importorskip("sksurv.metrics")
        predicted, y = forest.predict(X_TEST[INSIDE]), Y_TEST[INSIDE]
        for tau in (None, 5.0):
            theirs = metrics.concordance_index_ipcw(Y, y, -predicted, tau=tau)[0]
            horizon = TIME.max() if tau is None else tau
            found = concordance_index_ipcw(y, predicted, train=Y, horizon=horizon)
            np.testing.assert_allclose(found, theirs, rtol=1e-12)


class TestConcordanceOfLimits:
    def test_left_censored_values_are_ranked_above_the_horizon(self):
        rng = np.random.default_rng(0)
        X = rng.uniform(size=(400, 2))
        value = np.exp(X[:, 0] + 0.2 * rng.normal(size=400))
        time, event = np.maximum(value, 1.3), value > 1.3
        y = Surv.from_arrays(event, time)
        forest = CensoredQuantileForest(50, censoring="left", random_state=0).fit(X[:200], y[:200])
        # One limit for all: E[min(T, h)] is the same for everybody.
        assert forest.horizon_ == 1.3
        for name in ("concordance", "concordance_ipcw"):
            assert SCORERS[name](forest, X[200:], y[200:]) > 0.75


class TestFewRows:
    def test_nothing_is_said_of_hardly_an_interval(self, forest):
        # At a horizon that few intervals reach.
        early = make_quantile_scorer("coverage", horizon=float(np.quantile(TIME, 0.02)))
        with pytest.warns(UndefinedMetricWarning, match="hardly a prediction"):
            assert np.isnan(early(forest, X_TEST, Y_TEST))

    def test_one_row_does_not_judge_a_level(self):
        class Fixed(BaseEstimator):
            """One row of sixty has its 90% time within the horizon."""

            def predict(self, X, quantiles, unreached):
                late = np.where(np.arange(len(X)) == 0, 1.0, np.inf)
                return np.column_stack([np.full(len(X), 3.0), late])

        scorer = make_quantile_scorer("neg_calibration_error", quantiles=[0.5, 0.9])
        found = quantile_calibration(T_TEST, np.full(60, 3.0), 0.5)
        assert scorer(Fixed(), X_TEST, T_TEST) == pytest.approx(-abs(found.observed[0] - 0.5))
        alone = make_quantile_scorer("neg_calibration_error", quantiles=[0.5, 0.9])
        with pytest.warns(UndefinedMetricWarning, match="hardly a prediction"):
            assert np.isnan(alone(Fixed(), X_TEST[:9], T_TEST[:9]))

    def test_where_all_times_are_the_same_nothing_is_explained(self):
        with pytest.warns(UndefinedMetricWarning, match="all times are the same"):
            found = d2_censored_pinball_score([5.0, 5.0], [5.0, 5.0], 0.5)
        assert np.isnan(found)


class TestScorers:
    @pytest.mark.parametrize("moved", ["X", "event", "sample_weight"])
    def test_rows_are_paired_by_their_labels(self, forest, moved):
        given = {"X": pd.DataFrame(X_TEST), "y": pd.Series(T_TEST), "event": pd.Series(E_TEST)}
        given["sample_weight"] = pd.Series(np.ones(60))
        given[moved] = given[moved].iloc[::-1]
        with pytest.raises(ValueError, match="have row labels in another order"):
            make_quantile_scorer("concordance")(forest, **given)

    def expected(self, name, model, horizon, s):
        options = {"train": model.target_, "horizon": horizon, "sample_weight": s}
        h = model.horizon_ if horizon == "auto" else horizon
        quantiles = model.predict(X_TEST, LEVELS)
        if name == "brier_skill":
            return model.score(X_TEST, Y_TEST, sample_weight=s, horizon=horizon)
        if name in ("neg_integrated_brier_score", "censored_log_score"):
            log = name == "censored_log_score"
            times = (log_score_times if log else scoring_times)(model.target_, h)
            curves = np.clip(model.predict_survival_function(X_TEST, times=times), 0, 1), times
            if log:
                return censored_log_score(Y_TEST, *curves, sample_weight=s)
            return -integrated_brier_score(Y_TEST, *curves, **options)
        if name == "neg_pinball_loss":
            return -censored_pinball_loss(Y_TEST, quantiles, LEVELS, **options)
        if name == "d2":
            return d2_censored_pinball_score(Y_TEST, quantiles, LEVELS, **options)
        if name == "concordance":
            return concordance_index(Y_TEST, model.predict_rmst(X_TEST, h), **options)
        if name == "concordance_ipcw":
            return concordance_index_ipcw(Y_TEST, model.predict_rmst(X_TEST, h), **options)
        if name == "neg_calibration_error":
            quantiles = model.predict(X_TEST, LEVELS, unreached="inf")
            found = quantile_calibration(Y_TEST, quantiles, LEVELS, **options)
            return -np.abs(found.observed - LEVELS).mean()
        ends = model.predict_interval(X_TEST, 0.8, unreached="inf")
        closed = np.isfinite(ends).all(axis=1)
        options["sample_weight"] = None if s is None else s[closed]
        share = censored_interval_coverage(Y_TEST[closed], *ends[closed].T, **options)
        return share if name == "coverage" else -abs(share - 0.8)

    @pytest.mark.parametrize("horizon", ["auto", 5.0])
    @pytest.mark.parametrize("weighted", [False, True])
    @pytest.mark.parametrize("name", SCORERS)
    def test_scores_are_those_of_the_metrics(self, forest, name, weighted, horizon):
        scorer = make_quantile_scorer(name, quantiles=LEVELS, coverage=0.8, horizon=horizon)
        s = np.random.default_rng(0).uniform(0.5, 2.0, 60) if weighted else None
        expected = self.expected(name, forest, horizon, s)
        found = scorer(forest, X_TEST, Y_TEST, sample_weight=s)
        np.testing.assert_allclose(found, expected, rtol=1e-12)
        assert scorer(forest, X_TEST, T_TEST, event=E_TEST, sample_weight=s) == found

    def test_answers_that_the_data_do_not_reach_are_not_judged(self):
        # A study that ends before most events: half of the medians are clipped to its end.
        end = np.quantile(TIME, 0.5)
        y = Surv.from_arrays(EVENT & (end >= TIME), np.minimum(TIME, end))
        model = CensoredQuantileForest(20, min_samples_leaf=10, random_state=0).fit(X, y)
        y_test = Surv.from_arrays(E_TEST & (end >= T_TEST), np.minimum(T_TEST, end))
        reached = model.identified(X_TEST, 0.5)
        assert 0.2 < reached.mean() < 0.8
        found = make_quantile_scorer("neg_calibration_error", quantiles=0.5)
        expected = quantile_calibration(
            y_test[reached], model.predict(X_TEST[reached], 0.5), 0.5, train=model.target_
        )
        np.testing.assert_allclose(
            found(model, X_TEST, y_test), -abs(expected.observed[0] - 0.5), rtol=1e-12
        )
        both = model.identified(X_TEST, [0.25, 0.75]).all(axis=1)
        assert 0 < both.sum() < 60
        expected = censored_interval_coverage(
            y_test[both], *model.predict_interval(X_TEST[both], 0.5).T, train=model.target_
        )
        found = make_quantile_scorer("coverage", coverage=0.5)
        np.testing.assert_allclose(found(model, X_TEST, y_test), expected, rtol=1e-12)

    def test_concordance_does_not_rank_by_medians_that_tie(self):
        # A study that ends before most events: nearly all medians are its end.
        end = np.quantile(TIME, 0.3)
        y = Surv.from_arrays(EVENT & (end >= TIME), np.minimum(TIME, end))
        model = CensoredQuantileForest(20, min_samples_leaf=5, random_state=0).fit(X, y)
        seen, time = E_TEST & (end >= T_TEST), np.minimum(T_TEST, end)
        assert (model.predict(X_TEST) == end).mean() > 0.5
        by_medians = concordance_index(time, model.predict(X_TEST), event=seen)
        assert SCORERS["concordance"](model, X_TEST, time, event=seen) > by_medians + 0.05

    def test_the_training_censoring_curve_is_remembered(self, forest):
        # Two test rows alone know nothing of the censoring.
        scorer = make_quantile_scorer("neg_pinball_loss")
        late = int(np.flatnonzero(EVENT)[np.argsort(TIME[EVENT])[len(TIME[EVENT]) // 2]])
        both = np.array([late, int(np.flatnonzero(EVENT)[np.argmin(TIME[EVENT])])])
        v = 1 / np.vectorize(twins.censoring_before(TIME, EVENT))(TIME[both])
        assert forest.horizon_ == twins.horizon(TIME, EVENT) > TIME[both].max()
        cut = np.minimum(forest.predict(X[both]), forest.horizon_)
        loss = np.abs(TIME[both] - cut) / 2
        np.testing.assert_allclose(
            scorer(forest, X[both], Y[both]), -(v @ loss) / v.sum(), rtol=1e-12
        )
        assert v[0] != v[1]

    @pytest.mark.filterwarnings("ignore:One or more of the test scores are non-finite")
    @pytest.mark.filterwarnings("ignore:coverage is undefined")
    @pytest.mark.parametrize("censoring", ["right", "left"])
    def test_all_at_once_in_a_search(self, censoring):
        y = Y if censoring == "right" else Surv.from_arrays(EVENT, -TIME)
        # Of so few rows hardly an interval of 95% ends within the horizon.
        narrow = {
            name: make_quantile_scorer(name, coverage=0.9)
            for name in ("coverage", "neg_coverage_error")
        }
        search = GridSearchCV(
            make_pipeline(StandardScaler(), CensoredQuantileForest(10, random_state=0)),
            {"censoredquantileforest__min_samples_leaf": [5, 60]},
            scoring=SCORERS | narrow,
            refit="brier_skill",
            cv=3,
        )
        search.set_params(estimator__censoredquantileforest__censoring=censoring)
        search.fit(X, y)
        # Without splits every interval ends where the record does, beyond the horizon.
        judged = [name for name in SCORERS if "coverage" not in name]
        for name in SCORERS:
            assert np.isfinite(search.cv_results_[f"mean_test_{name}"][0]), name
            assert np.isfinite(search.cv_results_[f"mean_test_{name}"][1]) == (name in judged)
        assert search.best_params_ == {"censoredquantileforest__min_samples_leaf": 5}
        for name in sorted(set(judged) - {"neg_calibration_error"}):
            better, worse = search.cv_results_[f"mean_test_{name}"]
            assert better > worse, name
        # A search is an estimator too.
        assert SCORERS["d2"](search, X_TEST, Y_TEST) <= 1

    def test_folds_without_any_event(self):
        event, time = EVENT.copy(), TIME.copy()
        # All of the first fold were censored early: nothing of them is known later.
        event[:40], time[:40] = False, TIME[:40] / 100
        y = Surv.from_arrays(event, time)
        for name in SCORERS:
            scorer = make_quantile_scorer(name)
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                scores = [
                    cross_val_score(
                        CensoredQuantileForest(10, min_samples_leaf=5, random_state=0),
                        X,
                        y,
                        scoring=scorer,
                        cv=KFold(3),
                    )
                    for _ in range(2)
                ]
            undefined = [w for w in caught if w.category is UndefinedMetricWarning]
            # All rows have a likelihood; of no weight at all the mean error is zero.
            defined = {"neg_integrated_brier_score", "censored_log_score"}
            assert len(undefined) == (name not in defined), name
            assert np.isnan(scores[0][0]) == (name not in defined), name
            assert np.isfinite(scores[0][1:]).all()
            np.testing.assert_array_equal(*scores)

    def test_a_horizon_beyond_the_record(self, forest):
        scorer = make_quantile_scorer("d2", horizon=1e3)
        with pytest.warns(UserWarning, match=r"horizon=1000\.0 lies beyond the training times"):
            found = scorer(forest, X_TEST, Y_TEST)
        assert found == make_quantile_scorer("d2", horizon=TIME.max())(forest, X_TEST, Y_TEST)

    @pytest.mark.parametrize("name", ["d2", "neg_pinball_loss"])
    def test_a_search_is_told_of_levels_beyond_the_horizon(self, name):
        # A study that ends long before the medians, which are the default level.
        end = np.quantile(TIME, 0.3)
        y = Surv.from_arrays(EVENT & (end >= TIME), np.minimum(TIME, end))
        scorer = make_quantile_scorer(name)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            search = GridSearchCV(
                CensoredQuantileForest(10, random_state=0),
                {"min_samples_split": [60, 200]},
                scoring=scorer,
                cv=2,
            ).fit(X, y)
        # As good as the forest without splits.
        assert np.ptp(search.cv_results_["mean_test_score"]) == 0.0
        texts = [str(w.message) for w in caught if w.category is UndefinedMetricWarning]
        assert len(texts) == 1
        assert texts[0].startswith(f"{name} says nothing of the levels 0.5: all predictions")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            low = make_quantile_scorer(name, quantiles=0.1)
            cross_val_score(search.best_estimator_, X, y, scoring=low, cv=2)

    def test_frames_and_other_estimators(self):
        frame = pd.DataFrame(X, columns=list("abc"))
        y = pd.DataFrame({"event": EVENT, "time": TIME})
        model = CensoredQuantileForest(10, min_samples_leaf=5, random_state=0)
        scores = cross_validate(model, frame, y, scoring=SCORERS, cv=3)
        assert np.isfinite(scores["test_d2"]).all()

        class Constant(BaseEstimator):
            """An estimator that keeps no outcomes."""

            def predict(self, X, quantiles):
                return np.full((len(X), len(quantiles)), 2.0)

        found = make_quantile_scorer("neg_pinball_loss")(Constant(), X_TEST, Y_TEST)
        expected = -censored_pinball_loss(Y_TEST, np.full(60, 2.0), 0.5)
        assert found == expected
        nothing = Surv.from_arrays([False] * 60, T_TEST)
        with pytest.warns(UndefinedMetricWarning):
            assert np.isnan(make_quantile_scorer("d2")(Constant(), X_TEST, nothing))

    def test_a_scorer_is_a_value(self):
        scorer = make_quantile_scorer("d2", quantiles=0.5, horizon=3)
        assert scorer == make_quantile_scorer("d2", quantiles=[0.5], horizon=3)
        assert scorer != SCORERS["d2"]
        assert repr(SCORERS["d2"]) == (
            "QuantileScorer(metric='d2', quantiles=None, coverage=0.95, horizon='auto')"
        )
        assert clone(scorer, safe=False) == scorer
        assert pickle.loads(pickle.dumps(scorer)) == scorer
        assert make_quantile_scorer() == SCORERS["brier_skill"]

    @pytest.mark.parametrize(
        ("arguments", "error", "match"),
        [
            ({"metric": "accuracy"}, ValueError, "metric must be one of"),
            ({"quantiles": [0.5, 1.0]}, ValueError, "quantiles"),
            ({"coverage": 1.0}, ValueError, "coverage"),
            ({"horizon": "late"}, ValueError, "horizon"),
            ({"horizon": np.inf}, ValueError, "horizon"),
            ({"horizon": np.nan}, ValueError, "horizon"),
            ({"horizon": True}, TypeError, "horizon"),
            ({"horizon": None}, TypeError, "horizon"),
        ],
    )
    def test_bad_arguments(self, arguments, error, match):
        with pytest.raises(error, match=match):
            make_quantile_scorer(**arguments)
