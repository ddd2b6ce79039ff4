"""Plain times, events and weights in scikit-learn's model selection, by metadata routing."""

import numpy as np
import pytest
import sklearn
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score, cross_validate
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from cqrf import CensoredQuantileForest
from cqrf.metrics import SCORERS, make_quantile_scorer

N = 120
FOLDS = KFold(3)


def draw():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(N, 2))
    T = np.exp(2 * X[:, 0] + 0.4 * rng.normal(size=N))
    C = rng.exponential(8.0, N)
    return X, np.minimum(T, C), T <= C, rng.uniform(0.5, 2.0, N)


X, TIME, EVENT, WEIGHT = draw()
METADATA = {"event": EVENT, "sample_weight": WEIGHT}
NAMES = sorted(SCORERS)


@pytest.fixture(autouse=True)
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


def forest(**parameters):
    return CensoredQuantileForest(10, min_samples_leaf=5, random_state=0, **parameters)


def asking(estimator):
    return estimator.set_fit_request(event=True, sample_weight=True)


def asked(name):
    return make_quantile_scorer(name).set_score_request(event=True, sample_weight=True)


def by_hand(score, *, weighted=True):
    """Scores of the folds, with a forest fitted and scored on each."""
    scores = []
    for train, test in FOLDS.split(X):
        fit, judge = (
            {"event": EVENT[rows], "sample_weight": WEIGHT[rows] if weighted else None}
            for rows in (train, test)
        )
        model = forest().fit(X[train], TIME[train], **fit)
        scores.append(score(model, X[test], TIME[test], **judge))
    return scores


class TestPlainTimes:
    @pytest.mark.parametrize("name", NAMES)
    def test_a_scorer(self, name):
        found = cross_val_score(
            asking(forest()),
            X,
            TIME,
            scoring=asked(name),
            cv=FOLDS,
            params=METADATA,
            error_score="raise",
        )
        np.testing.assert_array_equal(found, by_hand(SCORERS[name]))
        assert np.isfinite(found).all()

    def test_the_default_score(self):
        model = asking(forest()).set_score_request(event=True, sample_weight=True)
        options = {"cv": FOLDS, "params": METADATA, "error_score": "raise"}
        found = cross_val_score(model, X, TIME, **options)
        expected = by_hand(CensoredQuantileForest.score)
        np.testing.assert_array_equal(found, expected)
        np.testing.assert_allclose(expected, by_hand(SCORERS["brier_skill"]), rtol=1e-12)

    def test_events_without_weights(self):
        model = forest().set_fit_request(event=True).set_score_request(event=True)
        found = cross_val_score(model, X, TIME, cv=FOLDS, params={"event": EVENT})
        np.testing.assert_array_equal(found, by_hand(CensoredQuantileForest.score, weighted=False))

    def test_many_scorers_at_once(self):
        found = cross_validate(
            asking(forest()),
            X,
            TIME,
            scoring={name: asked(name) for name in NAMES},
            cv=FOLDS,
            params=METADATA,
            error_score="raise",
        )
        for name in NAMES:
            np.testing.assert_array_equal(found[f"test_{name}"], by_hand(SCORERS[name]))

    def test_another_name_for_the_event(self):
        model = forest().set_fit_request(event="dead")
        scorer = make_quantile_scorer().set_score_request(event="dead")
        found = cross_val_score(model, X, TIME, scoring=scorer, cv=FOLDS, params={"dead": EVENT})
        np.testing.assert_array_equal(found, by_hand(SCORERS["brier_skill"], weighted=False))

    @pytest.mark.parametrize("several", [False, True])
    def test_a_search(self, several):
        # Without splits no interval ends within the horizon: its coverage is not defined.
        names = [name for name in NAMES if "coverage" not in name]
        scoring = {name: asked(name) for name in names} if several else asked("brier_skill")
        search = GridSearchCV(
            asking(forest()),
            {"min_samples_leaf": [5, 60]},
            scoring=scoring,
            refit="brier_skill" if several else True,
            cv=FOLDS,
            error_score="raise",
        ).fit(X, TIME, **METADATA)
        assert search.best_params_ == {"min_samples_leaf": 5}
        expected = np.mean(by_hand(SCORERS["brier_skill"]))
        assert search.best_score_ == pytest.approx(expected, rel=1e-12)
        expected = asking(forest()).fit(X, TIME, **METADATA).predict(X)
        np.testing.assert_array_equal(search.predict(X), expected)

    def test_a_search_by_the_default_score(self):
        model = asking(forest()).set_score_request(event=True, sample_weight=True)
        search = GridSearchCV(model, {"min_samples_leaf": [5, 60]}, cv=FOLDS, error_score="raise")
        search.fit(X, TIME, **METADATA)
        expected = np.mean(by_hand(CensoredQuantileForest.score))
        assert search.best_score_ == pytest.approx(expected, rel=1e-12)
        score = search.score(X, TIME, **METADATA)
        assert score == search.best_estimator_.score(X, TIME, EVENT, WEIGHT)

    @pytest.mark.parametrize("scoring", ["default", "scorer", "several"])
    def test_in_a_pipeline(self, scoring):
        if scoring == "default" and tuple(map(int, sklearn.__version__.split(".")[:2])) < (1, 8):
            pytest.skip("the score of a pipeline takes weights since scikit-learn 1.8")
        model = asking(forest()).set_score_request(event=True, sample_weight=True)
        given = {
            "default": None,
            "scorer": asked("d2"),
            "several": {name: asked(name) for name in ("d2", "brier_skill")},
        }[scoring]
        found = cross_validate(
            Pipeline([("same", "passthrough"), ("forest", model)]),
            X,
            TIME,
            scoring=given,
            cv=FOLDS,
            params=METADATA,
            error_score="raise",
        )
        if scoring == "default":
            expected = by_hand(CensoredQuantileForest.score)
            np.testing.assert_array_equal(found["test_score"], expected)
        else:
            key = "test_score" if scoring == "scorer" else "test_d2"
            np.testing.assert_array_equal(found[key], by_hand(SCORERS["d2"]))

    def test_a_search_over_a_pipeline(self):
        scaler = StandardScaler().set_fit_request(sample_weight=False)
        search = GridSearchCV(
            make_pipeline(scaler, asking(forest())),
            {"censoredquantileforest__min_samples_leaf": [5, 60]},
            scoring={"brier": asked("brier_skill"), "log": asked("censored_log_score")},
            refit="brier",
            cv=FOLDS,
            error_score="raise",
        ).fit(X, TIME, **METADATA)
        assert search.best_params_ == {"censoredquantileforest__min_samples_leaf": 5}
        assert np.isfinite(search.cv_results_["mean_test_log"]).all()


REFUSED = r"times alone, but.*set_score_request\(event=True\)"


class TestEventsThatDoNotReachTheScore:
    """Plain times are not to be scored as if nothing had been censored."""

    def test_by_the_default_score(self):
        model = forest().set_fit_request(event=True).set_score_request(event=False)
        with pytest.raises(ValueError, match=REFUSED):
            cross_val_score(model, X, TIME, cv=FOLDS, params={"event": EVENT}, error_score="raise")
        # By itself scikit-learn scores such folds as NaN, and says why.
        with pytest.warns(UserWarning, match="times alone"):
            found = cross_val_score(model, X, TIME, cv=FOLDS, params={"event": EVENT})
        assert np.isnan(found).all()

    @pytest.mark.parametrize("name", NAMES)
    def test_by_a_scorer(self, name):
        scorer = make_quantile_scorer(name).set_score_request(event=False)
        model = forest().set_fit_request(event=True)
        options = {"cv": FOLDS, "params": {"event": EVENT}, "error_score": "raise"}
        for scoring in scorer, {"one": scorer, "two": asked("d2")}:
            with pytest.raises(ValueError, match=REFUSED):
                cross_validate(model, X, TIME, scoring=scoring, **options)

    def test_in_a_search_over_a_pipeline(self):
        search = GridSearchCV(
            make_pipeline(StandardScaler(), forest().set_fit_request(event=True)),
            {"censoredquantileforest__min_samples_leaf": [5, 60]},
            scoring=make_quantile_scorer().set_score_request(event=False),
            cv=FOLDS,
            error_score="raise",
        )
        with pytest.raises(ValueError, match=REFUSED):
            search.fit(X, TIME, event=EVENT)

    def test_scikit_learn_asks_where_nothing_was_said(self):
        model = forest().set_fit_request(event=True)
        for scoring in None, make_quantile_scorer():
            with pytest.raises(UnsetMetadataPassedError, match="event"):
                cross_val_score(
                    model,
                    X,
                    TIME,
                    scoring=scoring,
                    cv=FOLDS,
                    params={"event": EVENT},
                    error_score="raise",
                )

    def test_without_routing(self):
        with sklearn.config_context(enable_metadata_routing=False):
            model = forest().fit(X, TIME, EVENT)
            for score in (model.score, lambda X, y: SCORERS["d2"](model, X, y)):
                with pytest.raises(ValueError, match="times alone"):
                    score(X, TIME)


def test_requests_do_not_change_a_scorer():
    scorer = SCORERS["d2"]
    asking_scorer = scorer.set_score_request(event=True)
    assert asking_scorer.get_metadata_routing().score.requests == {
        "event": True,
        "sample_weight": None,
    }
    assert scorer.get_metadata_routing().score.requests == {"event": None, "sample_weight": None}
    assert asking_scorer.metric == "d2"
