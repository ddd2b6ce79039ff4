"""What docs/guide/coming_from.md says of scikit-survival and lifelines."""

import inspect
import re
import warnings
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from lifelines import CoxPHFitter, KaplanMeierFitter, WeibullAFTFitter
from lifelines.utils import concordance_index as lifelines_concordance
from sklearn.model_selection import cross_val_score

import cqrf
from cqrf import CensoredQuantileForest, StepFunction, Surv
from cqrf.datasets import make_aft
from cqrf.metrics import concordance_index

PAGE = Path(__file__).parents[2] / "docs" / "guide" / "coming_from.md"
TRAIN, NEW = make_aft(200, rate=0.1, random_state=0), make_aft(200, rate=0.1, random_state=1)
Y, Y_NEW = Surv.from_arrays(TRAIN.event, TRAIN.time), Surv.from_arrays(NEW.event, NEW.time)


def frame(data):
    return pd.DataFrame({"x": data.X[:, 0], "time": data.time, "event": data.event})


@pytest.fixture(scope="module")
def forest():
    return CensoredQuantileForest(50, random_state=0).fit(TRAIN.X, TRAIN.time, TRAIN.event)


@pytest.fixture(scope="module")
def ensemble():
    return pytest.importorskip("sksurv.ensemble")


@pytest.fixture(scope="module")
def metrics():
    return pytest.importorskip("sksurv.metrics")


@pytest.fixture(scope="module")
def peer(ensemble):
    return ensemble.RandomSurvivalForest(20, random_state=0).fit(TRAIN.X, Y)


def test_code_of_the_page_runs(peer):
    names = {
        "X": frame(TRAIN)[["x"]],
        "time": TRAIN.time,
        "event": TRAIN.event,
        "frame": frame(TRAIN).rename(columns={"time": "weeks", "event": "arrested"}),
        "X_new": frame(NEW)[["x"]],
        "new_time": NEW.time,
        "new_event": NEW.event,
        "cross_val_score": cross_val_score,
        "CensoredQuantileForest": partial(CensoredQuantileForest, 20, random_state=0),
    }
    blocks = re.findall(r"^```py\n(.*?)^```", PAGE.read_text(), re.M | re.S)
    assert len(blocks) == 3
    for block in blocks:
        exec(block, names)


def test_recipes_of_the_page_grow_forests():
    text = PAGE.read_text()
    recipes = re.findall(r"^\| .* \| `(criterion=.*)` \|$", text, re.M)
    assert len(recipes) == 3
    for recipe in recipes:
        forest = eval(f"CensoredQuantileForest(5, {recipe})")
        assert forest.fit(TRAIN.X, Y).predict(NEW.X).shape == (200,)


class TestScikitSurvival:
    def test_parameters(self, ensemble):
        rows = re.findall(r"^\| `(\w+)` \| `(\w+)` \|.*\|.*\|$", PAGE.read_text(), re.M)
        assert len(rows) == 10
        ours = inspect.signature(CensoredQuantileForest).parameters
        theirs = inspect.signature(ensemble.RandomSurvivalForest).parameters
        assert {name for name, _ in rows} <= set(ours)
        assert {name for _, name in rows} <= set(theirs)

    def test_outcomes_are_interchangeable(self, peer, forest):
        util = pytest.importorskip("sksurv.util")
        theirs = util.Surv.from_arrays(TRAIN.event, TRAIN.time)
        assert theirs.dtype == Y.dtype
        np.testing.assert_array_equal(theirs, Y)
        again = CensoredQuantileForest(50, random_state=0).fit(TRAIN.X, theirs)
        np.testing.assert_array_equal(again.predict(NEW.X), forest.predict(NEW.X))

    def test_its_predict_is_a_risk_and_ours_a_time(self, peer, forest, metrics):
        harrell = metrics.concordance_index_censored
        assert harrell(NEW.event, NEW.time, peer.predict(NEW.X))[0] > 0.7
        assert harrell(NEW.event, NEW.time, forest.predict(NEW.X))[0] < 0.3
        assert harrell(NEW.event, NEW.time, forest.predict_risk(NEW.X))[0] > 0.7
        assert metrics.cumulative_dynamic_auc(Y, Y_NEW, forest.predict_risk(NEW.X), [3.0])[1] > 0.7

    def test_its_risk_is_the_sum_of_its_cumulative_hazards(self, peer):
        hazards = peer.predict_cumulative_hazard_function(NEW.X, return_array=True)
        at_events = hazards[:, peer.is_event_time_]
        np.testing.assert_allclose(peer.predict(NEW.X), at_events.sum(axis=1))

    def test_scorers_that_ask_predict_have_the_wrong_sign(self, forest, metrics):
        wrapped = metrics.as_concordance_index_ipcw_scorer(CensoredQuantileForest(50))
        assert wrapped.fit(TRAIN.X, Y).score(NEW.X, Y_NEW) < 0.3

        def harrell(forest, X, y):
            risk = forest.predict_risk(X)
            return metrics.concordance_index_censored(y["event"], y["time"], risk)[0]

        scores = cross_val_score(CensoredQuantileForest(50), TRAIN.X, Y, scoring=harrell, cv=3)
        assert scores.min() > 0.7

    def test_scorers_that_ask_for_curves_work_as_they_are(self, metrics):
        times = np.quantile(NEW.time, [0.2, 0.4, 0.6])
        wrapped = metrics.as_integrated_brier_score_scorer(
            CensoredQuantileForest(50, random_state=0), times=times
        )
        score = wrapped.fit(TRAIN.X, Y).score(NEW.X, Y_NEW)
        curves = wrapped.predict_survival_function(NEW.X)
        estimate = np.array([curve(times) for curve in curves])
        assert score == -metrics.integrated_brier_score(Y, Y_NEW, estimate, times)

    def test_domains_of_step_functions(self, peer, forest):
        functions = pytest.importorskip("sksurv.functions")
        theirs = functions.StepFunction(np.array([1.0, 2.0]), np.array([0.5, 0.25]))
        ours = StepFunction(x=[1.0, 2.0], y=[0.5, 0.25])
        np.testing.assert_array_equal(theirs([1.0, 1.5, 2.0]), ours([1.0, 1.5, 2.0]))
        # Before its first time it has the value at that time.
        assert (theirs(0.0), ours(0.0)) == (0.5, 1.0)
        with pytest.raises(ValueError, match="must be within"):
            theirs(2.5)
        assert ours(2.5) == 0.25
        curve = peer.predict_survival_function(NEW.X[:1])[0]
        assert curve.domain == (0.0, TRAIN.time.max())
        assert curve(0.0) == curve.y[0]

    def test_columns_of_arrays(self, peer, forest):
        assert peer.unique_times_.tolist() == np.unique(TRAIN.time).tolist()
        assert forest.times_.tolist() == np.unique(TRAIN.time[TRAIN.event]).tolist()
        for model, times in ((peer, peer.unique_times_), (forest, forest.times_)):
            array = model.predict_survival_function(NEW.X, return_array=True)
            assert array.shape == (200, len(times))

    def test_importance_is_not_there(self, peer):
        with pytest.raises(NotImplementedError):
            _ = peer.feature_importances_

    def test_score_is_a_concordance(self, peer, metrics):
        harrell = metrics.concordance_index_censored(NEW.event, NEW.time, peer.predict(NEW.X))[0]
        assert peer.score(NEW.X, Y_NEW) == harrell

    def test_events_come_before_censorings(self):
        nonparametric = pytest.importorskip("sksurv.nonparametric")
        time, event = np.array([1.0, 1.0, 2.0]), np.array([True, False, True])
        _, survival = nonparametric.kaplan_meier_estimator(event, time)
        (curve,) = cqrf.survival_curves(np.ones((1, 3)), time, event)
        np.testing.assert_allclose(survival, curve([1.0, 2.0]))


class TestLifelines:
    def test_percentiles_run_the_other_way(self):
        # p is what is left of the survival curve: 0.9 is the time by which a tenth has gone.
        for p in (0.9, 0.75, 0.5, 0.4):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                theirs = KaplanMeierFitter().fit(TRAIN.time, TRAIN.event).percentile(p)
            ours = cqrf.solve_quantiles(
                np.ones((1, 200)), TRAIN.time, TRAIN.event, 1 - p, interpolation="lower"
            )
            assert ours == theirs
        for fitter in (WeibullAFTFitter(), CoxPHFitter()):
            model = fitter.fit(frame(TRAIN), "time", "event")
            early, late = (model.predict_percentile(frame(NEW), p=p) for p in (0.9, 0.5))
            assert (early < late).all()
            np.testing.assert_array_equal(late, model.predict_median(frame(NEW)))

    def test_levels_of_the_forest_are_those_of_a_weibull_fit(self, forest):
        model = WeibullAFTFitter().fit(frame(TRAIN), "time", "event")
        left = model.predict_percentile(frame(NEW), p=0.9)
        np.testing.assert_allclose(
            [model.predict_survival_function(frame(NEW)[:1], times=[left[0]]).iloc[0, 0]], [0.9]
        )
        # The forest's 10% times are nearer to p = 0.9 than to p = 0.1 for every new row.
        ours = forest.predict(NEW.X, quantiles=0.1)
        other = model.predict_percentile(frame(NEW), p=0.1)
        assert (abs(ours - left) < abs(ours - other)).all()

    def test_what_is_not_reached_is_infinite_there(self, forest):
        time, event = [1.0, 2.0, 3.0], [True, False, False]
        assert KaplanMeierFitter().fit(time, event).median_survival_time_ == np.inf
        weights = np.ones((1, 3))
        assert cqrf.solve_quantiles(weights, time, event, 0.5) == 3.0
        assert cqrf.solve_quantiles(weights, time, event, 0.5, unreached="inf") == np.inf

    def test_conditional_times_are_what_is_left(self, forest):
        model = WeibullAFTFitter().fit(frame(TRAIN), "time", "event")
        after = np.full(200, 2.0)
        left = model.predict_percentile(frame(NEW), p=0.5, conditional_after=after)
        # S(2 + left) is half of S(2).
        curve = model.predict_survival_function(frame(NEW)[:1], times=[2.0, 2.0 + left[0]])
        np.testing.assert_allclose(curve.iloc[1, 0] / curve.iloc[0, 0], 0.5)
        assert (left < 2.0).any()
        # Ours is the time itself, counted from zero.
        assert (forest.predict(NEW.X, 0.5, conditional_after=2.0) >= 2.0).all()

    def test_concordance_wants_times(self, forest):
        times = forest.predict(NEW.X)
        theirs = lifelines_concordance(NEW.time, times, NEW.event)
        options = {"event": NEW.event, "horizon": NEW.time.max()}
        assert theirs == concordance_index(NEW.time, times, **options)
        model = CoxPHFitter().fit(frame(TRAIN), "time", "event")
        hazard = model.predict_partial_hazard(frame(NEW))
        assert lifelines_concordance(NEW.time, hazard, NEW.event) < 0.3
        assert lifelines_concordance(NEW.time, -hazard, NEW.event) > 0.7
        assert lifelines_concordance(NEW.time, -forest.predict_risk(NEW.X), NEW.event) > 0.7

    def test_curves_are_columns_and_lines(self, forest):
        model = CoxPHFitter().fit(frame(TRAIN), "time", "event")
        theirs = model.predict_survival_function(frame(NEW)[:5], times=[1.0, 2.0])
        assert theirs.shape == (2, 5)
        assert forest.predict_survival_function(NEW.X[:5], times=[1.0, 2.0]).shape == (5, 2)
        # Between observed times its Cox curve is a straight line, ours a step.
        low, high = np.sort(TRAIN.time)[50:52]
        times = [low, (low + high) / 2, high]
        theirs = model.predict_cumulative_hazard(frame(NEW)[:1], times=times)[0].to_numpy()
        assert theirs[1] == pytest.approx((theirs[0] + theirs[2]) / 2)
        assert theirs[0] < theirs[1]
        ours = forest.predict_survival_function(NEW.X[:1], times=times)[0]
        assert ours[0] == ours[1]

    def test_score_is_a_likelihood(self):
        model = CoxPHFitter().fit(frame(TRAIN), "time", "event")
        assert model.score(frame(NEW)) == model.score(frame(NEW), scoring_method="log_likelihood")
        assert model.score(frame(NEW)) < 0.0
