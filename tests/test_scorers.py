"""Brier scores and Uno's concordance against formulas and peers; scorers in model selection."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
import twins
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from cqrf import CensoredQuantileForest, Surv
from cqrf.metrics import (
    SCORERS,
    brier_score,
    censored_interval_coverage,
    censored_pinball_loss,
    concordance_index,
    concordance_index_ipcw,
    integrated_brier_score,
    make_quantile_scorer,
    quantile_calibration,
)

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


def censoring_before(at, time, event, *, strictly):
    """G(at-) or G(at), from the product formula."""
    t, *_, G, _ = twins.kaplan_meier(time, event, np.ones(len(time)))
    index = np.searchsorted(t, at, side="left" if strictly else "right")
    return np.concatenate([[1.0], G])[index]


class TestBrier:
    def slow(self, survival, times, time, event, train_time, train_event):
        scores = []
        for k, t in enumerate(times):
            total = 0.0
            for i in range(len(time)):
                if time[i] <= t and event[i]:
                    g = censoring_before(time[i], train_time, train_event, strictly=True)
                    total += survival[i, k] ** 2 / g
                elif time[i] > t:
                    g = censoring_before(t, train_time, train_event, strictly=False)
                    total += (1 - survival[i, k]) ** 2 / g
            scores.append(total / len(time))
        return np.array(scores)

    def test_against_the_twin(self, forest):
        survival = forest.predict_survival_function(X_TEST, times=GRID)
        expected = self.slow(survival, GRID, T_TEST, E_TEST, TIME, EVENT)
        found = brier_score(Y_TEST, survival, GRID, train=forest.target_)
        np.testing.assert_allclose(found, expected, rtol=1e-12)
        area = np.sum((expected[1:] + expected[:-1]) / 2 * np.diff(GRID)) / (GRID[-1] - GRID[0])
        np.testing.assert_allclose(
            integrated_brier_score(T_TEST, survival, GRID, event=E_TEST, train=(TIME, EVENT)),
            area,
            rtol=1e-12,
        )

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

    def test_beyond_reach(self):
        time, event = [1.0, 2.0, 3.0, 4.0], [True, True, True, False]
        survival = np.full((4, 3), 0.5)
        with pytest.warns(UndefinedMetricWarning, match="beyond reach"):
            found = brier_score(time, survival, [1.5, 2.5, 5.0], event=event)
        np.testing.assert_array_equal(np.isnan(found), [False, False, True])
        assert integrated_brier_score(time, survival, [1.5, 2.5, 5.0], event=event) == 0.25
        with pytest.warns(UndefinedMetricWarning, match="fewer than two"):
            assert np.isnan(integrated_brier_score(time, survival, [2.5, 5.0, 6.0], event=event))
        with pytest.warns(UndefinedMetricWarning):
            assert np.isnan(brier_score(time, survival[:, :1], [1.0], event=[False] * 4)).all()

    @pytest.mark.parametrize(
        ("survival", "times", "match"),
        [
            (np.full((60, 4), 1.5), GRID, "survival must lie between 0 and 1; row 0"),
            (np.full((60, 3), 0.5), GRID, "survival must have shape"),
            (np.full((60, 4), 0.5), GRID[::-1], "ascending"),
            (np.full((60, 1), 0.5), GRID[:1], "at least two"),
            (np.full((60, 4), 0.5), [1, 2, 3, np.nan], "times contains NaN"),
        ],
    )
    def test_bad_input(self, survival, times, match):
        with pytest.raises(ValueError, match=match):
            integrated_brier_score(Y_TEST, survival, times)

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


class TestUno:
    def slow(self, predicted, time, event, v, w, horizon=np.inf):
        above = below = 0.0
        for i in range(len(time)):
            for j in range(len(time)):
                later = time[j] > time[i] or (time[j] == time[i] and not event[j])
                if event[i] and i != j and later and time[i] < horizon:
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
        v = np.where(E_TEST, 1 / censoring_before(time, TIME, EVENT, strictly=True), 0.0)
        w = rng.integers(1, 4, 60)
        for horizon in (None, 4.0):
            expected = self.slow(predicted, time, E_TEST, v, w, horizon or np.inf)
            options = {"horizon": horizon, "beyond": "clip", "sample_weight": w}
            found = concordance_index_ipcw(time, predicted, event=E_TEST, train=Y, **options)
            np.testing.assert_allclose(found, expected, rtol=1e-12)
            mirrored = options | {"horizon": None if horizon is None else -horizon}
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
            found = concordance_index_ipcw(y, predicted, train=Y, horizon=tau)
            np.testing.assert_allclose(found, theirs, rtol=1e-12)


class TestScorers:
    def expected(self, name, model):
        options = {"train": model.target_}
        quantiles = model.predict(X_TEST, LEVELS)
        central = model.predict(X_TEST, LEVELS[0])
        if name == "neg_pinball_loss":
            return -censored_pinball_loss(Y_TEST, quantiles, LEVELS, beyond="clip", **options)
        if name == "d2":
            return model.set_params(default_quantiles=LEVELS).score(X_TEST, Y_TEST)
        if name == "concordance":
            return concordance_index(Y_TEST, central)
        if name == "concordance_ipcw":
            return concordance_index_ipcw(Y_TEST, central, beyond="clip", **options)
        if name == "neg_calibration_error":
            found = quantile_calibration(Y_TEST, quantiles, LEVELS, **options)
            return -np.abs(found.observed - LEVELS).mean()
        low, high = model.predict_interval(X_TEST, 0.8).T
        share = censored_interval_coverage(Y_TEST, low, high, beyond="clip", **options)
        return share if name == "coverage" else -abs(share - 0.8)

    @pytest.mark.parametrize("name", sorted(set(SCORERS) - {"neg_integrated_brier_score"}))
    def test_scores_are_those_of_the_metrics(self, forest, name):
        model = pickle.loads(pickle.dumps(forest))
        scorer = make_quantile_scorer(name, quantiles=LEVELS, coverage=0.8)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            found = scorer(forest, X_TEST, Y_TEST)
        np.testing.assert_allclose(found, self.expected(name, model), rtol=1e-12)

    def test_integrated_brier_score(self, forest):
        scorer = make_quantile_scorer("neg_integrated_brier_score", horizon=4.0)
        times = np.minimum(TIME[EVENT], 4.0)
        times = np.unique(np.quantile(times, np.linspace(0, 1, 100), method="nearest"))
        assert times[-1] == 4.0
        survival = np.clip(forest.predict_survival_function(X_TEST, times=times), 0, 1)
        np.testing.assert_allclose(
            scorer(forest, X_TEST, Y_TEST),
            -integrated_brier_score(Y_TEST, survival, times, train=Y),
            rtol=1e-12,
        )

    def test_the_training_censoring_curve_is_remembered(self, forest):
        # One test row alone knows nothing of the censoring.
        scorer = make_quantile_scorer("neg_pinball_loss")
        late = int(np.flatnonzero(EVENT)[np.argsort(TIME[EVENT])[len(TIME[EVENT]) // 2]])
        both = np.array([late, int(np.flatnonzero(EVENT)[np.argmin(TIME[EVENT])])])
        v = 1 / censoring_before(TIME[both], TIME, EVENT, strictly=True)
        loss = np.abs(TIME[both] - forest.predict(X[both])) / 2
        np.testing.assert_allclose(
            scorer(forest, X[both], Y[both]), -(v @ loss) / v.sum(), rtol=1e-12
        )
        assert v[0] != v[1]

    @pytest.mark.parametrize("censoring", ["right", "left"])
    def test_all_at_once_in_a_search(self, censoring):
        y = Y if censoring == "right" else Surv.from_arrays(EVENT, -TIME)
        search = GridSearchCV(
            make_pipeline(StandardScaler(), CensoredQuantileForest(10, random_state=0)),
            {"censoredquantileforest__min_samples_leaf": [5, 60]},
            scoring=SCORERS,
            refit="d2",
            cv=3,
        )
        search.set_params(estimator__censoredquantileforest__censoring=censoring)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            search.fit(X, y)
        for name in SCORERS:
            assert np.isfinite(search.cv_results_[f"mean_test_{name}"]).all(), name
        assert search.best_params_ == {"censoredquantileforest__min_samples_leaf": 5}
        for name in sorted(set(SCORERS) - {"coverage", "neg_calibration_error"}):
            better, worse = search.cv_results_[f"mean_test_{name}"]
            assert better > worse or "coverage" in name
        # A search is an estimator too.
        assert SCORERS["d2"](search, X_TEST, Y_TEST) <= 1

    def test_folds_without_any_event(self):
        event = EVENT.copy()
        event[:40] = False
        y = Surv.from_arrays(event, TIME)
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
            expected = {"neg_integrated_brier_score": 0, "neg_calibration_error": 0}.get(name, 1)
            assert len(undefined) == expected, name
            assert np.isnan(scores[0][0]) == (expected == 1), name
            assert np.isfinite(scores[0][1:]).all()
            np.testing.assert_array_equal(*scores)

    def test_it_warns_once_of_times_beyond_reach(self, forest):
        late = Surv.from_arrays([True, True], [1e3, 2.0])
        scorer = make_quantile_scorer("d2")
        with pytest.warns(UserWarning, match="beyond the reach"):
            scorer(forest, X[:2], late)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            again = scorer(forest, X[:2], late)
            assert pickle.loads(pickle.dumps(scorer))(forest, X[:2], late) == again
        with pytest.warns(UserWarning, match="beyond the reach"):
            make_quantile_scorer("d2")(forest, X[:2], late)

    def test_frames_and_other_estimators(self):
        frame = pd.DataFrame(X, columns=list("abc"))
        y = pd.DataFrame({"event": EVENT, "time": TIME})
        model = CensoredQuantileForest(10, min_samples_leaf=5, random_state=0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            scores = cross_validate(model, frame, y, scoring=SCORERS, cv=3)
        assert np.isfinite(scores["test_d2"]).all()

        class Constant(BaseEstimator):
            """An estimator that keeps no outcomes."""

            def predict(self, X, quantiles):
                return np.full((len(X), len(quantiles)), 2.0)

        found = make_quantile_scorer("neg_pinball_loss")(Constant(), X_TEST, Y_TEST)
        expected = -censored_pinball_loss(Y_TEST, np.full(60, 2.0), 0.5, beyond="clip")
        assert found == expected
        nothing = Surv.from_arrays([False] * 60, T_TEST)
        with pytest.warns(UndefinedMetricWarning):
            assert np.isnan(make_quantile_scorer("d2")(Constant(), X_TEST, nothing))

    def test_a_scorer_is_a_value(self):
        scorer = make_quantile_scorer("d2", quantiles=0.5, horizon=3)
        assert scorer == make_quantile_scorer("d2", quantiles=[0.5], horizon=3)
        assert scorer != SCORERS["d2"]
        assert repr(SCORERS["d2"]) == (
            "QuantileScorer(metric='d2', quantiles=None, coverage=0.9, horizon=None)"
        )
        assert clone(scorer, safe=False) == scorer

    @pytest.mark.parametrize(
        ("arguments", "error", "match"),
        [
            ({"metric": "accuracy"}, ValueError, "metric must be one of"),
            ({"quantiles": [0.5, 1.0]}, ValueError, "quantiles"),
            ({"coverage": 1.0}, ValueError, "coverage"),
            ({"horizon": "late"}, TypeError, "horizon"),
            ({"horizon": np.inf}, ValueError, "horizon"),
        ],
    )
    def test_bad_arguments(self, arguments, error, match):
        with pytest.raises(error, match=match):
            make_quantile_scorer(**arguments)
