"""The estimator from outside: every method, every form of input, against slow twins."""

import copy
import dataclasses
import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
import twins
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError, UndefinedMetricWarning
from sklearn.feature_selection import SelectFromModel
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

import cqrf
from cqrf import CensoredQuantileForest, StepFunction, Surv, _engine
from cqrf.datasets import make_aft
from cqrf.metrics import concordance_index
from cqrf.metrics.curve_errors import scoring_times
from cqrf.support import blocks

LEVELS = [0.9, 0.05, 0.5, 1 / 3, 0.75]
CRITERIA = ["distribution", "random", "mse", "quantile", "logrank"]
CURVES = ["beran", "knn", "kernel", "marginal"]
RULES = [("root", "midpoint"), ("root", "lower"), ("root", "linear"), ("argmin", "midpoint")]
SMALL = {"n_estimators": 20, "min_samples_leaf": 5, "max_samples": None, "random_state": 0}
NAN = np.nan


def draw(seed=0, n=120, p=3, ties=False):
    """(X, time, event) with about a third censored."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, p))
    T = np.exp(2 * X[:, 0] + X[:, -1] + 0.4 * rng.normal(size=n))
    C = rng.exponential(12.0, n)
    time, event = np.minimum(T, C), T <= C
    if ties:
        time = np.ceil(2 * time) / 2
    return X, time, event


X, TIME, EVENT = draw()
X_TEST = draw(seed=1, n=25)[0]


@pytest.fixture(scope="module")
def forest():
    return CensoredQuantileForest(**SMALL).fit(X, TIME, EVENT)


@pytest.fixture(scope="module")
def weights(forest):
    return forest.forest_weights(X_TEST).toarray()


def fitted(time=TIME, event=EVENT, sample_weight=None, **parameters):
    model = CensoredQuantileForest(**(SMALL | parameters))
    return model.fit(X, time, event, sample_weight=sample_weight)


def assert_same_trees(one, other):
    for field in dataclasses.fields(one.trees_):
        np.testing.assert_array_equal(
            getattr(one.trees_, field.name), getattr(other.trees_, field.name), err_msg=field.name
        )


class TestShapesAndTypes:
    def test_fit_returns_the_estimator(self):
        model = CensoredQuantileForest(**SMALL)
        assert model.fit(X, TIME, EVENT) is model
        assert model.n_features_in_ == 3
        assert not hasattr(model, "feature_names_in_")
        assert len(model.trees_) == 20
        assert model.min_samples_leaf_ == 5
        assert model.min_samples_split_ == 2

    def test_cuts_per_feature(self):
        # A second cut of each feature where there are many.
        rng = np.random.default_rng(0)
        for p, expected in ((19, 1), (20, 2)):
            data = rng.uniform(size=(120, p))
            auto = CensoredQuantileForest(**SMALL).fit(data, TIME, EVENT)
            given = CensoredQuantileForest(**SMALL, n_thresholds=expected).fit(data, TIME, EVENT)
            assert_same_trees(auto, given)
            best = CensoredQuantileForest(**SMALL, criterion="mse").fit(data, TIME, EVENT)
            none = clone(best).set_params(n_thresholds=None).fit(data, TIME, EVENT)
            assert_same_trees(best, none)

    def test_predict(self, forest):
        medians = forest.predict(X_TEST)
        assert medians.shape == (25,)
        assert medians.dtype == np.float64
        assert forest.predict(X_TEST, quantiles=[0.5]).shape == (25, 1)
        table = forest.predict(X_TEST, quantiles=LEVELS)
        assert table.shape == (25, 5)
        assert table.dtype == np.float64
        np.testing.assert_array_equal(table[:, 2], medians)
        for j, level in enumerate(LEVELS):
            np.testing.assert_array_equal(forest.predict(X_TEST, level), table[:, j])

    def test_one_row(self, forest):
        assert forest.predict(X_TEST[:1]).shape == (1,)
        np.testing.assert_array_equal(forest.predict(X_TEST[3:4]), forest.predict(X_TEST)[3:4])

    def test_interval(self, forest):
        interval = forest.predict_interval(X_TEST)
        assert interval.shape == (25, 2)
        assert interval.dtype == np.float64

    def test_identified(self, forest):
        assert forest.identified(X_TEST).shape == (25,)
        assert forest.identified(X_TEST, 0.9).shape == (25,)
        flags = forest.identified(X_TEST, [0.1, 0.9])
        assert flags.shape == (25, 2)
        assert flags.dtype == np.bool_

    @pytest.mark.parametrize(
        "method",
        [
            "predict_survival_function",
            "predict_censoring_function",
            "predict_cumulative_hazard_function",
        ],
    )
    def test_curves(self, forest, method):
        functions = getattr(forest, method)(X_TEST)
        assert functions.shape == (25,)
        assert functions.dtype == object
        assert all(isinstance(function, StepFunction) for function in functions)
        on_times = getattr(forest, method)(X_TEST, return_array=True)
        assert on_times.shape == (25, len(forest.times_))
        assert on_times.dtype == np.float64
        at = getattr(forest, method)(X_TEST, times=[1.0, 2.0])
        assert at.shape == (25, 2)
        assert at.dtype == np.float64

    def test_the_rest(self, forest):
        means = forest.predict_rmst(X_TEST, 5.0)
        assert means.shape == (25,)
        assert means.dtype == np.float64
        S_n = forest.estimating_function(X_TEST, [1.0, 2.0, 3.0], 0.5)
        assert S_n.shape == (25, 3)
        assert S_n.dtype == np.float64
        assert forest.estimating_function(X_TEST, 2.0, 0.5).shape == (25, 1)
        leaves = forest.apply(X_TEST)
        assert leaves.shape == (25, 20)
        assert leaves.dtype == np.int32
        found = forest.forest_weights(X_TEST)
        assert isinstance(found, sparse.csr_array)
        assert found.shape == (25, 120)
        assert found.dtype == np.float64
        assert found.has_sorted_indices
        assert isinstance(forest.score(X_TEST, np.ones(25), np.ones(25)), float)
        risk = forest.predict_risk(X_TEST)
        assert risk.shape == (25,)
        assert risk.dtype == np.float64

    def test_oob_predict(self):
        model = fitted(bootstrap=True)
        assert model.oob_predict().shape == (120,)
        assert model.oob_predict([0.1, 0.9]).shape == (120, 2)
        assert model.oob_predict().dtype == np.float64

    def test_representative_times(self, forest):
        np.testing.assert_array_equal(forest.times_, np.unique(TIME[EVENT]))
        data, time, event = draw(n=1500, p=1)
        for censoring in ("right", "left"):
            model = CensoredQuantileForest(n_estimators=1, censoring=censoring)
            times = model.fit(data, time, event).times_
            assert times.shape == (512,)
            assert (np.diff(times) > 0).all()
            assert np.isin(times, time[event]).all()
            assert (times[0], times[-1]) == (time[event].min(), time[event].max())


class TestQuantiles:
    def test_default_quantiles(self, forest):
        model = clone(forest).set_params(default_quantiles=[0.2, 0.8]).fit(X, TIME, EVENT)
        np.testing.assert_array_equal(model.predict(X_TEST), forest.predict(X_TEST, [0.2, 0.8]))
        np.testing.assert_array_equal(
            model.identified(X_TEST), forest.identified(X_TEST, [0.2, 0.8])
        )
        np.testing.assert_array_equal(model.predict(X_TEST, 0.5), forest.predict(X_TEST))

    @pytest.mark.parametrize("interpolation", ["midpoint", "lower", "linear"])
    def test_interpolation_of_a_call_overrides_the_parameter(self, forest, interpolation):
        model = fitted(interpolation=interpolation)
        np.testing.assert_array_equal(
            forest.predict(X_TEST, LEVELS, interpolation=interpolation),
            model.predict(X_TEST, LEVELS),
        )
        # An override lasts for one call.
        assert forest.interpolation == "midpoint"
        if interpolation != "midpoint":
            assert (model.predict(X_TEST) != forest.predict(X_TEST)).any()

    def test_lower_answers_with_an_event_time(self, forest):
        answers = forest.predict(X_TEST, LEVELS, interpolation="lower", unreached="nan")
        assert np.isin(answers[~np.isnan(answers)], TIME[EVENT]).all()

    @pytest.mark.parametrize("coverage", [0.5, 0.8, 0.95])
    def test_interval_is_two_quantiles(self, forest, coverage):
        levels = [(1 - coverage) / 2, (1 + coverage) / 2]
        expected = forest.predict(X_TEST, levels, unreached="inf")
        np.testing.assert_allclose(forest.predict_interval(X_TEST, coverage), expected, rtol=1e-12)
        np.testing.assert_allclose(
            forest.predict_interval(X_TEST, coverage, unreached="clip"),
            forest.predict(X_TEST, levels),
            rtol=1e-12,
        )
        np.testing.assert_array_equal(
            np.isnan(forest.predict_interval(X_TEST, coverage, unreached="nan")),
            ~forest.identified(X_TEST, levels),
        )

    @pytest.mark.parametrize("censoring", ["right", "left"])
    def test_only_the_hidden_end_of_an_interval_is_infinite(self, censoring):
        sign = 1.0 if censoring == "right" else -1.0
        # A study that ends before even the near end is identified.
        time = np.minimum(TIME, np.quantile(TIME, 0.15))
        model = fitted(
            time=sign * time,
            event=EVENT & (time == TIME),
            censoring=censoring,
            min_samples_leaf=50,
        )
        hidden, known = (1, 0) if censoring == "right" else (0, 1)
        level = 0.25 if censoring == "right" else 0.75
        assert not model.identified(X_TEST, level).any()
        interval = model.predict_interval(X_TEST, 0.5)
        assert (interval[:, hidden] == sign * np.inf).all()
        np.testing.assert_array_equal(interval[:, known], model.predict(X_TEST, level))

    def test_interval_under_a_condition(self, forest):
        after = np.random.default_rng(3).uniform(0.0, 12.0, len(X_TEST))
        levels = [0.25, 0.75]
        low, high = forest.predict_interval(X_TEST, 0.5, conditional_after=after).T
        np.testing.assert_allclose(
            low, forest.predict(X_TEST, 0.25, conditional_after=after), rtol=1e-12
        )
        np.testing.assert_allclose(
            high,
            forest.predict(X_TEST, 0.75, conditional_after=after, unreached="inf"),
            rtol=1e-12,
        )
        known = forest.identified(X_TEST, levels, conditional_after=after)
        np.testing.assert_array_equal(
            known,
            ~np.isnan(forest.predict(X_TEST, levels, conditional_after=after, unreached="nan")),
        )
        assert (known != forest.identified(X_TEST, levels)).any()
        for ask in (forest.identified, forest.predict_interval):
            with pytest.raises(ValueError, match="conditional_after must be finite; row 24"):
                ask(X_TEST, conditional_after=np.r_[after[:-1], NAN])

    def test_interval_covers_where_the_study_ends_early(self):
        """Coverage of true times over 20 samples, within three standard errors."""
        shares, n_open = [], 0
        for seed in range(20):
            data, new = make_aft(400, random_state=seed), make_aft(400, random_state=100 + seed)
            end = np.quantile(data.time, 0.6)
            model = CensoredQuantileForest(30, min_samples_leaf=20, random_state=seed)
            model.fit(data.X, np.minimum(data.time, end), data.event & (data.time <= end))
            low, high = model.predict_interval(new.X, 0.9).T
            shares.append(np.mean((low <= new.latent) & (new.latent <= high)))
            n_open += np.isinf(high).sum()
        assert 0.5 < n_open / 8000 < 0.9
        assert np.mean(shares) > 0.9 - 3 * np.std(shares, ddof=1) / np.sqrt(20)

    @pytest.mark.parametrize("censoring", ["right", "left"])
    @pytest.mark.parametrize("curve", CURVES)
    def test_marks_stand_where_it_is_not_identified(self, curve, censoring):
        # A study that ends: whatever the curve, it knows nothing beyond the limit.
        time = np.clip(TIME, 2.0, 8.0)
        model = fitted(
            time=time, event=EVENT & (time == TIME), censoring_curve=curve, censoring=censoring
        )
        levels = [0.01, 0.5, 0.99]
        known = model.identified(X_TEST, levels)
        assert known.any()
        assert not known.all()
        clip, nan, inf = (
            model.predict(X_TEST, levels, unreached=mark) for mark in ("clip", "nan", "inf")
        )
        np.testing.assert_array_equal(np.isnan(nan), ~known)
        np.testing.assert_array_equal(np.isinf(inf), ~known)
        assert (inf[~known] == (np.inf if censoring == "right" else -np.inf)).all()
        assert np.isfinite(clip).all()
        np.testing.assert_array_equal(clip[known], nan[known])
        np.testing.assert_array_equal(clip[known], inf[known])

    def test_identified_is_where_the_curve_falls_low_enough(self, forest):
        levels = np.array([0.5, 0.9, 0.99])
        lowest = np.array([curve.y[-1] for curve in forest.predict_survival_function(X_TEST)])
        np.testing.assert_array_equal(
            forest.identified(X_TEST, levels), lowest[:, None] <= 1 - levels + 1e-12
        )

    def test_clip_is_the_largest_weighted_time(self, forest, weights):
        unknown = ~forest.identified(X_TEST, 0.99)
        assert unknown.any()
        largest = np.array([TIME[row > 0].max() for row in weights])
        np.testing.assert_array_equal(forest.predict(X_TEST, 0.99)[unknown], largest[unknown])

    @pytest.mark.parametrize("censoring", ["right", "left"])
    @pytest.mark.parametrize(("solver", "interpolation"), RULES)
    def test_conditional_after(self, solver, interpolation, censoring):
        model = fitted(solver=solver, interpolation=interpolation, censoring=censoring)
        w = model.forest_weights(X_TEST).toarray()
        after = np.random.default_rng(2).uniform(0.0, 12.0, len(X_TEST))
        answers = model.predict(X_TEST, LEVELS, conditional_after=after)
        for x in range(len(X_TEST)):
            expected = [
                twins.solve_quantile(
                    TIME,
                    EVENT,
                    w[x],
                    level,
                    solver=solver,
                    interpolation=interpolation,
                    censoring=censoring,
                    conditional_after=after[x],
                )
                for level in LEVELS
            ]
            np.testing.assert_allclose(answers[x], expected, rtol=0, atol=1e-11)
        assert (answers >= after[:, None]).all()

    def test_one_time_for_all_rows(self, forest):
        np.testing.assert_array_equal(
            forest.predict(X_TEST, LEVELS, conditional_after=3),
            forest.predict(X_TEST, LEVELS, conditional_after=np.full(25, 3.0)),
        )
        # Before all times the condition says nothing.
        np.testing.assert_array_equal(
            forest.predict(X_TEST, LEVELS, conditional_after=0.0), forest.predict(X_TEST, LEVELS)
        )

    def test_condition_beyond_all_times(self, forest):
        late = TIME.max() + 1.0
        answers = forest.predict(X_TEST, LEVELS, conditional_after=late)
        assert (answers == late).all()


class TestBeyondTheRecord:
    """What is asked where nothing is known is answered, with one warning."""

    @staticmethod
    def calls(model, time):
        return {
            "survival": lambda: model.predict_survival_function(X_TEST, times=[1.0, time, time]),
            "censoring": lambda: model.predict_censoring_function(X_TEST, times=[1.0, time, time]),
            "hazard": lambda: model.predict_cumulative_hazard_function(
                X_TEST, times=[1.0, time, time]
            ),
            "restricted mean": lambda: model.predict_rmst(X_TEST, time),
            "std": lambda: model.predict_survival_function(
                X_TEST, times=[1.0, time, time], return_std=True
            ),
        }

    @pytest.mark.parametrize("censoring", ["right", "left"])
    @pytest.mark.parametrize("what", ["survival", "censoring", "hazard", "restricted mean", "std"])
    def test_one_warning_tells_where_the_record_ends(self, what, censoring):
        model = fitted(censoring=censoring, ci_group_size=2)
        end, far = (TIME.max(), 1e6) if censoring == "right" else (TIME.min(), -1e6)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            self.calls(model, end)[what]()
            assert not caught
            self.calls(model, far)[what]()
        (warning,) = caught
        assert issubclass(warning.category, UserWarning)
        assert warning.filename == __file__
        which = "beyond the last" if censoring == "right" else "before the first"
        assert f"{which} time of the training record, {end:g}: " in str(warning.message)

    def test_nothing_is_unknown_without_censoring(self):
        model = fitted(event=None)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert (model.predict_survival_function(X_TEST, times=[1e6]) == 0.0).all()
            model.predict_rmst(X_TEST, 1e6)


@pytest.mark.filterwarnings("ignore:.*time of the training record")
class TestAgainstTwins:
    """Weights come from the forest here; what is made of them is computed slowly."""

    @pytest.mark.parametrize("ties", [False, True])
    @pytest.mark.parametrize("censoring", ["right", "left"])
    @pytest.mark.parametrize("curve", CURVES)
    @pytest.mark.parametrize(("solver", "interpolation"), RULES)
    def test_quantiles(self, solver, interpolation, curve, censoring, ties):
        data, time, event = draw(n=60, ties=ties)
        model = CensoredQuantileForest(
            **SMALL,
            censoring=censoring,
            censoring_curve=curve,
            n_neighbors=15,
            bandwidth=0.6,
            solver=solver,
            interpolation=interpolation,
        ).fit(data, time, event)
        w = model.forest_weights(X_TEST[:8]).toarray()
        answers = model.predict(X_TEST[:8], LEVELS)
        marked = model.predict(X_TEST[:8], LEVELS, unreached="nan")
        signed = time if censoring == "right" else -time
        for x in range(8):
            G = curve
            if curve == "kernel":
                G = twins.censoring_curve_kernel(data, X_TEST[x], signed, event, 0.6)
            for j, level in enumerate(LEVELS):
                arguments = {
                    "curve": G,
                    "k": 15,
                    "solver": solver,
                    "interpolation": interpolation,
                    "censoring": censoring,
                }
                expected = twins.solve_quantile(time, event, w[x], level, **arguments)
                np.testing.assert_allclose(answers[x, j], expected, rtol=0, atol=1e-11)
                expected = twins.solve_quantile(
                    time, event, w[x], level, unreached="nan", **arguments
                )
                np.testing.assert_allclose(marked[x, j], expected, rtol=0, atol=1e-11)

    @pytest.mark.parametrize("censoring", ["right", "left"])
    @pytest.mark.parametrize("curve", ["beran", "knn", "marginal"])
    @pytest.mark.parametrize(("solver", "interpolation"), RULES)
    def test_the_public_functions_give_the_same(self, solver, interpolation, curve, censoring):
        options = {
            "censoring": censoring,
            "censoring_curve": curve,
            "n_neighbors": 20,
            "solver": solver,
            "interpolation": interpolation,
        }
        model = fitted(**options)
        w = model.forest_weights(X_TEST)
        for unreached in ("clip", "nan", "inf"):
            np.testing.assert_allclose(
                cqrf.solve_quantiles(w, TIME, EVENT, LEVELS, unreached=unreached, **options),
                model.predict(X_TEST, LEVELS, unreached=unreached),
                rtol=1e-12,
            )
        curves = cqrf.survival_curves(
            w, TIME, EVENT, censoring=censoring, censoring_curve=curve, n_neighbors=20
        )
        for ours, theirs in zip(model.predict_survival_function(X_TEST), curves, strict=True):
            np.testing.assert_array_equal(ours.x, theirs.x)
            np.testing.assert_allclose(ours.y, theirs.y, rtol=0, atol=1e-12)

    @pytest.mark.parametrize("censoring", ["right", "left"])
    @pytest.mark.parametrize("curve", CURVES)
    def test_estimating_function(self, curve, censoring):
        model = fitted(censoring_curve=curve, censoring=censoring, n_neighbors=20, bandwidth=0.5)
        w = model.forest_weights(X_TEST).toarray()
        # Unsorted, and at the jumps as well as between them.
        q = np.concatenate([[7.0, 0.0, 1e6], TIME[:40], TIME[:40] + 1e-6])
        found = model.estimating_function(X_TEST, q, 0.3)
        # Mirrored it is the function of the negated times at level 1 - tau.
        sign, tau = (1, 0.3) if censoring == "right" else (-1, 0.7)
        for x in range(len(X_TEST)):
            G = {
                "beran": lambda x: twins.censoring_curve_beran(sign * TIME, EVENT, w[x]),
                "knn": lambda x: twins.censoring_curve_knn(sign * TIME, EVENT, w[x], 20),
                "kernel": lambda x: twins.censoring_curve_kernel(
                    X, X_TEST[x], sign * TIME, EVENT, 0.5
                ),
                "marginal": lambda x: twins.censoring_curve_marginal(sign * TIME, EVENT),
            }[curve](x)
            expected = [
                twins.estimating_function(sign * t, tau, sign * TIME, EVENT, w[x], G) for t in q
            ]
            np.testing.assert_allclose(found[x], expected, rtol=0, atol=1e-12)

    def test_the_root_is_where_the_estimating_function_crosses_zero(self, forest):
        for level in LEVELS:
            known = forest.identified(X_TEST, level)
            root = forest.predict(X_TEST, level, interpolation="lower")
            for x in np.flatnonzero(known):
                at, before = forest.estimating_function(
                    X_TEST[[x]], [root[x], root[x] - 1e-9], level
                )[0]
                assert at >= -1e-12
                assert before < 0

    @pytest.mark.parametrize("bandwidth", [None, 0.3, 2.0])
    def test_kernel_curve(self, bandwidth):
        model = fitted(censoring_curve="kernel", bandwidth=bandwidth)
        # Scott's rule for n rows and p features of unit variance.
        width = 120 ** (-1 / 7) if bandwidth is None else bandwidth
        grid = np.concatenate([[0.0, 1e6], TIME])
        found = model.predict_censoring_function(X_TEST, times=grid)
        for x, function in enumerate(model.predict_censoring_function(X_TEST)):
            expected = twins.censoring_curve_kernel(X, X_TEST[x], TIME, EVENT, width)(grid)
            np.testing.assert_allclose(found[x], expected, rtol=0, atol=1e-12)
            np.testing.assert_allclose(function(grid), expected, rtol=0, atol=1e-12)

    @pytest.mark.parametrize("horizon", [-1.0, 0.5, 3.0, 8.0, 1e3])
    def test_restricted_mean(self, forest, weights, horizon):
        expected = [twins.restricted_mean(TIME, EVENT, w, horizon) for w in weights]
        np.testing.assert_allclose(forest.predict_rmst(X_TEST, horizon), expected, rtol=1e-12)


@pytest.mark.filterwarnings("ignore:.*time of the training record")
class TestCurves:
    @pytest.mark.parametrize("censoring", ["right", "left"])
    @pytest.mark.parametrize("curve", CURVES)
    @pytest.mark.parametrize(
        "method",
        [
            "predict_survival_function",
            "predict_censoring_function",
            "predict_cumulative_hazard_function",
        ],
    )
    def test_arrays_are_the_functions_on_the_grid(self, method, curve, censoring):
        data, time, event = draw(ties=True)
        model = CensoredQuantileForest(
            **SMALL, censoring_curve=curve, censoring=censoring, n_neighbors=20
        ).fit(data, time, event)
        call = getattr(model, method)
        # Unsorted, with repeats, at the jumps and beside them.
        grid = np.concatenate([[5.25, -3.0, 1e6, 5.25], time[::3], time[::3] + 0.1])
        functions = call(X_TEST)
        values = call(X_TEST, times=grid)
        np.testing.assert_allclose(
            values, [function(grid) for function in functions], rtol=0, atol=1e-12
        )
        np.testing.assert_array_equal(call(X_TEST, times=grid, return_array=True), values)
        np.testing.assert_array_equal(
            call(X_TEST, return_array=True), call(X_TEST, times=model.times_)
        )

    def test_survival_and_censoring(self, forest, weights):
        grid = np.concatenate([[0.0, 1e6], TIME])
        S = forest.predict_survival_function(X_TEST, times=grid)
        G = forest.predict_censoring_function(X_TEST, times=grid)
        for x, w in enumerate(weights):
            np.testing.assert_allclose(
                S[x], twins.survival_curve(TIME, EVENT, w)(grid), rtol=0, atol=1e-12
            )
            np.testing.assert_allclose(
                G[x], twins.censoring_curve_beran(TIME, EVENT, w)(grid), rtol=0, atol=1e-12
            )

    def test_cumulative_hazard(self, forest, weights):
        H = forest.predict_cumulative_hazard_function(X_TEST, times=TIME)
        for x, w in enumerate(weights):
            t, d, _, R, *_ = twins.kaplan_meier(TIME, EVENT, w)
            expected = twins.step(t, np.cumsum(d / R), initial=0.0)(TIME)
            np.testing.assert_allclose(H[x], expected, rtol=0, atol=1e-12)

    def test_left_censoring_survival(self):
        model = fitted(censoring="left")
        w = model.forest_weights(X_TEST).toarray()
        grid = np.concatenate([[0.0, 1e6], TIME, TIME + 1e-6])
        S = model.predict_survival_function(X_TEST, times=grid)
        for x in range(len(X_TEST)):
            expected = twins.survival_curve(TIME, EVENT, w[x], censoring="left")(grid)
            np.testing.assert_allclose(S[x], expected, rtol=0, atol=1e-12)


class TestWeights:
    @pytest.mark.parametrize("honest", [False, True])
    @pytest.mark.parametrize("bootstrap", [False, True])
    @pytest.mark.parametrize("criterion", CRITERIA)
    def test_rows_sum_to_one(self, criterion, bootstrap, honest):
        model = fitted(criterion=criterion, bootstrap=bootstrap, honest=honest)
        w = model.forest_weights(X_TEST)
        np.testing.assert_allclose(w.sum(axis=1), 1.0, rtol=0, atol=1e-12)
        assert (w.data > 0).all()

    @pytest.mark.parametrize("weighted", [False, True])
    @pytest.mark.parametrize("criterion", CRITERIA)
    @pytest.mark.parametrize("sampling", [{}, {"bootstrap": True}, {"max_samples": 0.4}])
    def test_they_are_those_of_the_leaves(self, sampling, criterion, weighted):
        sample_weight = np.random.default_rng(3).uniform(0.5, 2.0, 120) if weighted else None
        model = fitted(criterion=criterion, sample_weight=sample_weight, **sampling)
        train, test = model.apply(X), model.apply(X_TEST)
        w = model.forest_weights(X_TEST).toarray()
        np.testing.assert_allclose(
            w, cqrf.leaf_weights(train, test, sample_weight).toarray(), rtol=0, atol=1e-12
        )
        np.testing.assert_allclose(
            w, twins.leaf_weights(train, test, sample_weight), rtol=0, atol=1e-12
        )

    def test_honest_weights_are_those_of_the_filling_halves(self):
        model = fitted(honest=True)
        leaves, w = model.apply(X_TEST), model.forest_weights(X_TEST).toarray()
        expected = np.zeros_like(w)
        for tree in range(20):
            for x in range(len(X_TEST)):
                rows = members(model, tree, leaves[x, tree])
                expected[x, rows] += 1 / len(rows) / 20
        np.testing.assert_allclose(w, expected, rtol=0, atol=1e-12)


def members(model, tree, leaf):
    """Training rows in a leaf."""
    trees = model.trees_
    start = trees.leaf_start[trees.leaf_offset[tree] :][leaf : leaf + 2]
    return model.target_.order[trees.ranks()[tree, start[0] : start[1]]]


class TestOutOfBag:
    @staticmethod
    def weights(model, sample_weight):
        """Slow twin (n, n): trees that drew the row, and the row itself, are left out."""
        n, n_trees = model.apply(X).shape
        options, trees = model.model_.options, model.trees_
        w = np.zeros((n, n))
        n_counted = np.zeros(n)
        leaves = model.apply(X)
        for tree in range(n_trees):
            counts = _engine.sample_counts(trees.seed, tree, n, options.n_draws, options.replace)
            drawn = np.empty(n, dtype=bool)
            drawn[model.target_.order] = counts > 0
            for row in np.flatnonzero(~drawn):
                others = members(model, tree, leaves[row, tree])
                others = others[others != row]
                if len(others):
                    n_counted[row] += 1
                    w[row, others] += sample_weight[others] / sample_weight[others].sum()
        w[n_counted == 0] = NAN
        return w / np.maximum(n_counted, 1)[:, None]

    @pytest.mark.parametrize("weighted", [False, True])
    @pytest.mark.parametrize("censoring", ["right", "left"])
    @pytest.mark.parametrize(
        "sampling",
        [
            {"bootstrap": True},
            {"bootstrap": True, "max_samples": 0.3},
            {"max_samples": 0.5},
            {"max_samples": 0.5, "honest": True},
            {"bootstrap": True, "min_samples_leaf": 1, "criterion": "mse"},
        ],
    )
    def test_against_the_twin(self, sampling, censoring, weighted):
        s = np.random.default_rng(4).uniform(0.5, 2.0, 120) if weighted else np.ones(120)
        model = fitted(censoring=censoring, sample_weight=s, **sampling)
        w = self.weights(model, s)
        assert np.isfinite(w).all()
        for interpolation in ("midpoint", "lower"):
            np.testing.assert_allclose(
                model.oob_predict(LEVELS, interpolation=interpolation),
                cqrf.solve_quantiles(
                    w, TIME, EVENT, LEVELS, censoring=censoring, interpolation=interpolation
                ),
                rtol=1e-11,
            )
        np.testing.assert_allclose(
            model.oob_predict(0.95, unreached="nan"),
            cqrf.solve_quantiles(w, TIME, EVENT, 0.95, censoring=censoring, unreached="nan"),
            rtol=1e-11,
        )

    def test_it_is_not_the_in_bag_prediction(self):
        model = fitted(bootstrap=True)
        assert (model.oob_predict() != model.predict(X)).mean() > 0.9

    def test_rows_that_every_tree_drew(self):
        model = fitted(bootstrap=True, n_estimators=2)
        w = self.weights(model, np.ones(120))
        nowhere = np.isnan(w).any(axis=1)
        assert nowhere.any()
        with pytest.warns(UserWarning, match=f"{nowhere.sum()} rows"):
            answers = model.oob_predict(LEVELS)
        np.testing.assert_array_equal(np.isnan(answers).all(axis=1), nowhere)
        np.testing.assert_array_equal(np.isnan(answers).any(axis=1), nowhere)

    @pytest.mark.parametrize("curve", ["knn", "kernel", "marginal"])
    def test_other_censoring_curves(self, curve):
        model = fitted(bootstrap=True, censoring_curve=curve, n_neighbors=20, bandwidth=0.5)
        w = self.weights(model, np.ones(120))
        answers = model.oob_predict(0.5)
        for row in range(0, 120, 5):
            G = curve
            if curve == "kernel":
                G = twins.censoring_curve_kernel(X, X[row], TIME, EVENT, 0.5)
            expected = twins.solve_quantile(TIME, EVENT, w[row], 0.5, curve=G, k=20)
            np.testing.assert_allclose(answers[row], expected, rtol=1e-11)

    def test_refused_when_every_tree_has_every_row(self, forest):
        with pytest.raises(ValueError, match="bootstrap"):
            forest.oob_predict()


class TestLeftCensoring:
    @pytest.mark.parametrize("ties", [False, True])
    @pytest.mark.parametrize("curve", CURVES)
    @pytest.mark.parametrize("criterion", CRITERIA)
    def test_it_is_right_censoring_of_the_negated_data(self, criterion, curve, ties):
        data, time, event = draw(ties=ties)
        options = SMALL | {"criterion": criterion, "censoring_curve": curve, "bootstrap": True}
        left = CensoredQuantileForest(**options, censoring="left").fit(data, time, event)
        right = CensoredQuantileForest(**options).fit(data, -time, event)
        mirrored = [1 - level for level in LEVELS]
        assert_same_trees(left, right)
        for mark in ("clip", "nan", "inf"):
            np.testing.assert_array_equal(
                left.predict(X_TEST, LEVELS, unreached=mark),
                -right.predict(X_TEST, mirrored, unreached=mark),
            )
            np.testing.assert_array_equal(
                left.oob_predict(LEVELS, unreached=mark),
                -right.oob_predict(mirrored, unreached=mark),
            )
        np.testing.assert_array_equal(
            left.identified(X_TEST, LEVELS), right.identified(X_TEST, mirrored)
        )
        np.testing.assert_array_equal(
            left.forest_weights(X_TEST).toarray(), right.forest_weights(X_TEST).toarray()
        )
        np.testing.assert_allclose(
            left.estimating_function(X_TEST, time, 0.3),
            right.estimating_function(X_TEST, -time, 0.7),
            rtol=0,
            atol=1e-15,
        )


class TestWithoutCensoring:
    @pytest.mark.parametrize("curve", ["beran", "kernel", "marginal"])
    @pytest.mark.parametrize("criterion", CRITERIA)
    def test_it_is_the_weighted_quantile(self, criterion, curve):
        model = fitted(event=None, criterion=criterion, censoring_curve=curve)
        w = model.forest_weights(X_TEST).toarray()
        order = np.argsort(TIME)
        reached = np.cumsum(w[:, order], axis=1)
        found = model.predict(X_TEST, LEVELS, interpolation="lower")
        for j, level in enumerate(LEVELS):
            first = np.argmax(reached >= level - 1e-12, axis=1)
            np.testing.assert_array_equal(found[:, j], TIME[order][first])
        assert model.identified(X_TEST, LEVELS).all()
        assert (model.predict_censoring_function(X_TEST, return_array=True) == 1.0).all()

    def test_score_is_the_crps_beside_that_of_the_empirical_law(self):
        # Nothing is censored: the continuous ranked probability score of curves that are steps.
        model = fitted(event=None)
        assert model.horizon_ == TIME.max()
        w, s = model.forest_weights(X).toarray(), np.random.default_rng(5).uniform(0.5, 2.0, 120)

        def crps(weights):
            apart = np.abs(TIME[:, None] - TIME)
            return weights @ apart.T, np.einsum("ij,jk,ik->i", weights, apart, weights) / 2

        (ours, own), (theirs, other) = crps(w), crps(np.full((120, 120), 1 / 120))
        ours, theirs = np.diag(ours) - own, np.diag(theirs) - other
        # The score looks at 128 times.
        expected = 1 - ours.mean() / theirs.mean()
        assert model.score(X, TIME) == pytest.approx(expected, abs=0.003)
        expected = 1 - (s @ ours) / (s @ theirs)
        assert model.score(X, TIME, sample_weight=s) == pytest.approx(expected, abs=0.003)


def slow_score(model, survival, time, event, sample_weight=None, horizon=None, own=None):
    """1 - IBS / IBS of Kaplan-Meier, by loops over rows and times; all as under right censoring.

    `own` are the training rows that are scored out-of-bag, each beside the curve of all others.
    """
    target = model.target_
    sign = -1.0 if target.mirrored else 1.0
    # Left censored times were the negated ones.
    train = TIME, EVENT, model_weights(model)
    h = model.horizon_ if horizon is None else horizon
    times = scoring_times(target, h)
    before = twins.censoring_before(*train)
    left_out = [[]] * len(time) if own is None else [[i] for i in own]
    curves = [twins.kaplan_meier(*(np.delete(v, rows) for v in train)) for rows in left_out]
    s = np.ones(len(time)) if sample_weight is None else sample_weight
    scores = []
    for k, at in enumerate(times):
        errors = np.zeros((len(time), 2))
        for i, (y, seen) in enumerate(zip(sign * time, event, strict=True)):
            t, *_, S, _, _ = curves[i]
            # P(T > t) is 1 - P(-T >= -t).
            reached = t < -at if target.mirrored else t <= at
            marginal = ([1.0, *S[reached]])[-1]
            marginal = 1 - marginal if target.mirrored else marginal
            weight, come = twins.known_by(sign * at, y, seen, before, including=not target.mirrored)
            later = come if target.mirrored else not come
            errors[i] = weight * (np.array([survival[i, k], marginal]) - later) ** 2
        scores.append(s @ errors / s.sum())
    ours, theirs = (twins.integral(column, times) for column in np.transpose(scores))
    return 1 - ours / theirs


def model_weights(model):
    """Sample weights of the training rows."""
    weight = model.target_.weight
    return np.ones(120) if weight is None else model.target_.by_row(weight, 0.0)


class TestScore:
    @pytest.mark.parametrize("weighted", [False, True])
    @pytest.mark.parametrize("censoring", ["right", "left"])
    @pytest.mark.parametrize("ties", [False, True])
    def test_against_the_twin(self, ties, censoring, weighted):
        sign = -1.0 if censoring == "left" else 1.0
        s = np.random.default_rng(3).uniform(0.5, 2.0, 120) if weighted else None
        model = CensoredQuantileForest(**SMALL, censoring=censoring)
        model.fit(X, sign * TIME, EVENT, sample_weight=s)
        data, time, event = draw(seed=6, n=80, ties=ties)
        s = np.random.default_rng(5).uniform(0.5, 2.0, 80) if weighted else None
        for h in (None, sign * 3.0, sign * TIME.max()):
            times = scoring_times(model.target_, model.horizon_ if h is None else h)
            survival = model.predict_survival_function(data, times=times)
            expected = slow_score(model, survival, sign * time, event, s, h)
            horizon = "auto" if h is None else h
            found = model.score(data, sign * time, event, s, horizon=horizon)
            np.testing.assert_allclose(found, expected, rtol=1e-11)
            y = Surv.from_arrays(event, sign * time)
            assert model.score(data, y, sample_weight=s, horizon=horizon) == found

    def test_times_lie_between_the_first_one_and_the_horizon(self, forest):
        times = scoring_times(forest.target_, forest.horizon_)
        assert times[0] == TIME.min()
        assert times[-1] == forest.horizon_ == twins.horizon(TIME, EVENT)
        assert 100 < len(times) <= 128
        assert np.diff(times).max() <= (times[-1] - times[0]) / 63 * (1 + 1e-12)

    def test_blocks_give_the_same_bits(self, forest, monkeypatch):
        data, time, event = draw(seed=6, n=80)
        expected, risk = forest.score(data, time, event), forest.predict_risk(data)
        monkeypatch.setattr(blocks, "_VALUES_PER_BLOCK", 1000)
        monkeypatch.setattr(blocks, "_FEWEST_ROWS", 1)
        assert forest.score(data, time, event) == expected
        np.testing.assert_array_equal(forest.predict_risk(data), risk)

    def test_out_of_bag(self):
        model = fitted(max_samples=0.6)
        times = scoring_times(model.target_, model.horizon_)
        survival = model.target_.by_row(
            model.oob_distribution().estimation.curve("survival", times), np.nan
        )
        assert np.isfinite(survival).all()
        own = np.arange(120)
        expected = slow_score(model, survival, TIME, EVENT, own=own)
        np.testing.assert_allclose(model.oob_score(), expected, rtol=1e-11)
        cut = scoring_times(model.target_, 3.0)
        survival = model.target_.by_row(
            model.oob_distribution().estimation.curve("survival", cut), np.nan
        )
        np.testing.assert_allclose(
            model.oob_score(horizon=3.0),
            slow_score(model, survival, TIME, EVENT, horizon=3.0, own=own),
            rtol=1e-11,
        )
        # Rows that were trained on flatter the forest.
        assert model.oob_score() < model.score(X, TIME, EVENT) - 0.05

    def test_out_of_bag_with_weights_and_rows_that_every_tree_drew(self):
        s = np.random.default_rng(5).uniform(0.5, 2.0, 120)
        s[3] = 0.0
        model = CensoredQuantileForest(**(SMALL | {"max_samples": 0.6, "n_estimators": 4}))
        model.fit(X, TIME, EVENT, sample_weight=s)
        times = scoring_times(model.target_, model.horizon_)
        survival = model.target_.by_row(
            model.oob_distribution().estimation.curve("survival", times), np.nan
        )
        kept = ~np.isnan(survival[:, 0])
        assert 60 < kept.sum() < 119
        rows = survival[kept], TIME[kept], EVENT[kept], s[kept]
        expected = slow_score(model, *rows, own=np.flatnonzero(kept))
        np.testing.assert_allclose(model.oob_score(), expected, rtol=1e-11)

    def test_out_of_bag_needs_rows_that_are_left_out(self, forest):
        with pytest.raises(ValueError, match="trees that leave rows out"):
            forest.oob_score()
        with pytest.raises(NotFittedError):
            CensoredQuantileForest().oob_score()
        with pytest.raises(NotFittedError):
            CensoredQuantileForest().score(X, TIME)

    def test_nothing_happens_up_to_the_horizon(self, forest):
        for h in (TIME.min(), TIME.min() - 1.0):
            with pytest.warns(UndefinedMetricWarning, match=f"horizon {h:g} .* makes no error"):
                assert np.isnan(forest.score(X_TEST, np.ones(25), np.zeros(25), horizon=h))

    def test_plain_times_are_not_taken_for_events(self, forest):
        with pytest.raises(ValueError, match=r"times alone, but.*censored: pass event"):
            forest.score(X, TIME)
        assert forest.score(X, TIME, np.ones(120)) != forest.score(X, TIME, EVENT)
        # Where nothing was censored in training, times are enough.
        assert fitted(event=None).score(X, TIME) == fitted(event=None).score(X, TIME, np.ones(120))

    @pytest.mark.parametrize(
        ("horizon", "error"), [("late", ValueError), (NAN, ValueError), (True, TypeError)]
    )
    def test_bad_horizons(self, forest, horizon, error):
        model = fitted(max_samples=0.5)
        with pytest.raises(error, match="horizon"):
            forest.score(X, TIME, EVENT, horizon=horizon)
        with pytest.raises(error, match="horizon"):
            model.oob_score(horizon=horizon)
        with pytest.raises(error, match="horizon"):
            forest.predict_risk(X, horizon=horizon)

    def test_a_horizon_beyond_the_record(self, forest):
        model = fitted(max_samples=0.5)
        for ask in (
            lambda **o: forest.score(X, TIME, EVENT, **o),
            lambda **o: model.oob_score(**o),
            lambda **o: forest.predict_risk(X, **o).sum(),
        ):
            with pytest.warns(UserWarning, match="lies beyond the training times") as caught:
                found = ask(horizon=1e6)
            assert caught[0].filename == __file__
            assert found == ask(horizon=TIME.max())


class TestRisk:
    @pytest.mark.parametrize("ties", [False, True])
    def test_against_the_twin(self, ties):
        data, time, event = draw(ties=ties)
        model = CensoredQuantileForest(**SMALL).fit(data, time, event)
        w = model.forest_weights(X_TEST).toarray()
        for horizon in ("auto", 2.0):
            h = twins.horizon(time, event) if horizon == "auto" else horizon
            expected = []
            for row in w:
                t, d, _, R, *_ = twins.kaplan_meier(time, event, row)
                expected.append(sum((d / R)[t <= min(y, h)].sum() for y in time))
            found = model.predict_risk(X_TEST, horizon=horizon)
            np.testing.assert_allclose(found, expected, rtol=1e-10)

    def test_it_is_the_number_of_events_of_a_forest_of_roots(self):
        model = fitted(min_samples_leaf=61)
        # Nelson and Aalen: as many as there are.
        risk = model.predict_risk(X_TEST, horizon=TIME.max())
        np.testing.assert_allclose(risk, EVENT.sum(), rtol=1e-12)

    def test_weights_of_the_training_rows(self):
        s = np.random.default_rng(3).integers(1, 4, 120)
        model = CensoredQuantileForest(**SMALL).fit(X, TIME, EVENT, sample_weight=s)
        w = model.forest_weights(X_TEST).toarray()
        expected = []
        for row in w:
            t, d, _, R, *_ = twins.kaplan_meier(TIME, EVENT, row)
            hazard = [(d / R)[t <= min(y, 5.0)].sum() for y in TIME]
            expected.append(120 * np.average(hazard, weights=s))
        # Rows of equal shares stand for those of unequal ones.
        found = model.predict_risk(X_TEST, horizon=5.0)
        np.testing.assert_allclose(found, expected, rtol=0.02)

    def test_higher_is_earlier(self, forest):
        data, time, event = draw(seed=6, n=80)
        risk = forest.predict_risk(data)
        assert risk.shape == (80,)
        assert risk.dtype == np.float64
        harrell = concordance_index(time, -risk, event=event, horizon=time.max())
        assert harrell > 0.7
        peer = pytest.importorskip("sksurv.metrics")
        found = peer.concordance_index_censored(event, time, risk)[0]
        assert found == pytest.approx(harrell, abs=1e-12)

    def test_many_training_rows(self):
        data, time, event = draw(n=1000)
        model = CensoredQuantileForest(**SMALL).fit(data, time, event)
        hazard = model.predict_cumulative_hazard_function(
            X_TEST, times=np.minimum(time, model.horizon_)
        )
        np.testing.assert_allclose(model.predict_risk(X_TEST), hazard.sum(axis=1), rtol=0.01)

    def test_refused(self):
        with pytest.raises(ValueError, match=r"left censoring.*predict_rmst"):
            fitted(censoring="left").predict_risk(X_TEST)
        with pytest.raises(NotFittedError):
            CensoredQuantileForest().predict_risk(X_TEST)


class TestOutcomes:
    @pytest.mark.parametrize(
        "y",
        [
            Surv.from_arrays(EVENT, TIME),
            Surv.from_arrays(EVENT, TIME, "death", "years"),
            pd.DataFrame({"event": EVENT, "time": TIME}),
            pd.DataFrame({"duration": TIME, "event": EVENT.astype(int)}),
            pl.DataFrame({"event": EVENT, "time": TIME}),
        ],
        ids=["Surv", "other names", "pandas", "pandas duration", "polars"],
    )
    def test_one_argument(self, forest, y):
        model = CensoredQuantileForest(**SMALL).fit(X, y)
        np.testing.assert_array_equal(model.predict(X_TEST, LEVELS), forest.predict(X_TEST, LEVELS))
        assert_same_trees(model, forest)
        assert model.score(X, y) == forest.score(X, TIME, EVENT)

    @pytest.mark.parametrize(
        ("time", "event"),
        [
            (TIME.tolist(), EVENT.tolist()),
            (pd.Series(TIME, index=np.arange(5, 125)), pd.Series(EVENT)),
            (pl.Series(TIME), pl.Series(EVENT)),
            (TIME, EVENT.astype(np.int8)),
            (TIME, EVENT.astype(float)),
            (np.repeat(TIME, 2)[::2], np.repeat(EVENT, 2)[::2]),
        ],
        ids=["lists", "pandas", "polars", "int8", "float", "strided"],
    )
    def test_two_arguments(self, forest, time, event):
        model = CensoredQuantileForest(**SMALL).fit(X, time, event)
        np.testing.assert_array_equal(model.predict(X_TEST, LEVELS), forest.predict(X_TEST, LEVELS))

    def test_sample_weight_is_not_taken_for_an_event(self):
        with pytest.raises(TypeError, match="positional"):
            CensoredQuantileForest(**SMALL).fit(X, TIME, EVENT, np.ones(120))

    def test_plain_numbers_are_not_censored(self):
        plain = CensoredQuantileForest(**SMALL).fit(X, TIME)
        full = CensoredQuantileForest(**SMALL).fit(X, TIME, np.ones(120, dtype=bool))
        np.testing.assert_array_equal(plain.predict(X_TEST, LEVELS), full.predict(X_TEST, LEVELS))

    def test_read_only_arrays(self, forest):
        data, time, event = X.copy(), TIME.copy(), EVENT.copy()
        for array in (data, time, event):
            array.flags.writeable = False
        model = CensoredQuantileForest(**SMALL).fit(data, time, event, sample_weight=np.ones(120))
        np.testing.assert_array_equal(model.predict(X_TEST), forest.predict(X_TEST))

    @pytest.mark.parametrize(
        ("scale", "shift"),
        [(1e-12, 0.0), (1e12, 0.0), (2.0**-200, 0.0), (2.0**200, 0.0), (1.0, -1000.0)],
    )
    @pytest.mark.parametrize("criterion", CRITERIA)
    def test_any_scale(self, criterion, scale, shift):
        reference = fitted(criterion=criterion)
        model = fitted(time=scale * TIME + shift, criterion=criterion)
        assert_same_trees(model, reference)
        expected = scale * reference.predict(X_TEST, LEVELS) + shift
        np.testing.assert_allclose(model.predict(X_TEST, LEVELS), expected, rtol=1e-12)
        np.testing.assert_allclose(
            model.predict_rmst(X_TEST, scale * 5.0 + shift),
            scale * reference.predict_rmst(X_TEST, 5.0) + shift,
            rtol=1e-12,
        )

    def test_a_power_of_two_changes_no_digit(self, forest):
        model = fitted(time=2.0**40 * TIME)
        np.testing.assert_array_equal(
            model.predict(X_TEST, LEVELS), 2.0**40 * forest.predict(X_TEST, LEVELS)
        )

    def test_log_times(self, forest):
        model = fitted(time=np.log(TIME))
        np.testing.assert_allclose(
            model.predict(X_TEST, LEVELS, interpolation="lower"),
            twin_lower(model, np.log(TIME)),
            rtol=1e-12,
        )
        assert (np.log(TIME) < 0).any()

    @pytest.mark.parametrize("dtype", [np.int64, np.int16, np.uint8, np.float32])
    def test_other_numbers(self, dtype):
        time = np.ceil(TIME).astype(dtype)
        np.testing.assert_array_equal(
            fitted(time=time).predict(X_TEST, LEVELS),
            fitted(time=time.astype(np.float64)).predict(X_TEST, LEVELS),
        )

    def test_the_widest_range_of_times(self):
        early = np.median(TIME) > TIME
        time = np.where(early, -1.5e308, 1.5e308)
        for interpolation in ("midpoint", "lower", "linear"):
            answers = fitted(time=time, interpolation=interpolation).predict(X_TEST, LEVELS)
            assert np.isfinite(answers).all()

    def test_one_row(self):
        model = CensoredQuantileForest(n_estimators=3).fit([[1.0]], [2.0], [True])
        np.testing.assert_array_equal(model.predict([[0.0], [5.0]], LEVELS), np.full((2, 5), 2.0))

    def test_all_times_alike(self):
        model = fitted(time=np.full(120, 3.0))
        assert (model.predict(X_TEST, LEVELS) == 3.0).all()


def twin_lower(model, time):
    w = model.forest_weights(X_TEST).toarray()
    return [
        [twins.solve_quantile(time, EVENT, row, level, interpolation="lower") for level in LEVELS]
        for row in w
    ]


class TestFeatures:
    @pytest.mark.parametrize(
        "convert",
        [
            np.asfortranarray,
            lambda data: np.repeat(np.repeat(data, 2, axis=0), 2, axis=1)[::2, ::2],
            lambda data: data[::-1, ::-1][::-1, ::-1],
            lambda data: data.tolist(),
            lambda data: pd.DataFrame(data, columns=["a", "b", "c"]),
            lambda data: pl.DataFrame(data, schema=["a", "b", "c"]),
        ],
        ids=["fortran", "strided", "reversed twice", "lists", "pandas", "polars"],
    )
    def test_containers(self, forest, convert):
        model = CensoredQuantileForest(**SMALL).fit(convert(X), TIME, EVENT)
        assert_same_trees(model, forest)
        np.testing.assert_array_equal(
            model.predict(convert(X_TEST), LEVELS), forest.predict(X_TEST, LEVELS)
        )

    def test_float32(self):
        narrow = X.astype(np.float32)
        wide = CensoredQuantileForest(**SMALL).fit(narrow.astype(np.float64), TIME, EVENT)
        model = CensoredQuantileForest(**SMALL).fit(narrow, TIME, EVENT)
        test = X_TEST.astype(np.float32)
        np.testing.assert_array_equal(model.predict(test), wide.predict(test.astype(np.float64)))

    def test_names(self, forest):
        frame = pd.DataFrame(X, columns=["a", "b", "c"])
        model = CensoredQuantileForest(**SMALL).fit(frame, TIME, EVENT)
        assert model.feature_names_in_.tolist() == ["a", "b", "c"]
        with pytest.raises(ValueError, match="feature names should match"):
            model.predict(frame[["b", "a", "c"]])
        with pytest.raises(ValueError, match="feature names should match"):
            model.predict(frame.rename(columns={"c": "d"}))
        with pytest.warns(UserWarning, match="does not have valid feature names"):
            model.predict(X)
        with pytest.warns(UserWarning, match="was fitted without feature names"):
            forest.predict(frame)

    def test_names_of_polars(self):
        frame = pl.DataFrame(X, schema=["a", "b", "c"])
        model = CensoredQuantileForest(**SMALL).fit(frame, TIME, EVENT)
        assert model.feature_names_in_.tolist() == ["a", "b", "c"]
        with pytest.raises(ValueError, match="feature names should match"):
            model.predict(frame.select("b", "a", "c"))

    def test_refitting_on_an_array_forgets_the_names(self):
        model = CensoredQuantileForest(**SMALL)
        model.fit(pd.DataFrame(X, columns=["a", "b", "c"]), TIME, EVENT)
        model.fit(X, TIME, EVENT)
        assert not hasattr(model, "feature_names_in_")


def categorical_sample(seed=7, n=200):
    """A text column in which every second letter means long times, and a useless number."""
    rng = np.random.default_rng(seed)
    letter = rng.choice(list("abcdef"), n)
    long = np.isin(letter, ["a", "c", "e"])
    time = np.where(long, 10.0, 1.0) + rng.uniform(size=n)
    return letter, rng.uniform(size=n), time, rng.random(n) < 0.8


class TestCategories:
    @pytest.mark.parametrize("criterion", CRITERIA)
    @pytest.mark.parametrize(
        "frame",
        [
            lambda letter, x: pd.DataFrame({"letter": pd.Categorical(letter), "x": x}),
            lambda letter, x: pd.DataFrame({"letter": letter.astype(object), "x": x}),
            lambda letter, x: pl.DataFrame({"letter": letter.tolist(), "x": x}),
            lambda letter, x: pl.DataFrame({"letter": letter.tolist(), "x": x}).with_columns(
                pl.col("letter").cast(pl.Categorical)
            ),
        ],
        ids=["pandas category", "pandas object", "polars text", "polars categorical"],
    )
    def test_by_dtype(self, frame, criterion):
        letter, x, time, event = categorical_sample()
        model = CensoredQuantileForest(**SMALL, criterion=criterion)
        model.fit(frame(letter, x), time, event)
        answers = model.predict(frame(np.array(list("abcdef")), np.full(6, 0.5)))
        np.testing.assert_array_equal(answers > 5, [True, False, True, False, True, False])
        codes = np.column_stack([np.searchsorted(list("abcdef"), letter), x])
        coded = CensoredQuantileForest(**SMALL, criterion=criterion, categorical_features=[0])
        coded.fit(codes, time, event)
        assert_same_trees(model, coded)

    @pytest.mark.parametrize("chosen", [["letter"], [0], [True, False]])
    def test_by_name_position_or_mask(self, chosen):
        letter, x, time, event = categorical_sample()
        codes = pd.DataFrame({"letter": np.searchsorted(list("abcdef"), letter), "x": x})
        numeric = CensoredQuantileForest(**SMALL).fit(codes, time, event)
        model = CensoredQuantileForest(**SMALL, categorical_features=chosen)
        model.fit(codes, time, event)
        assert model.model_.encoder.is_categorical.tolist() == [1, 0]
        assert numeric.model_.encoder.is_categorical.tolist() == [0, 0]

    def test_one_split_parts_categories_that_no_threshold_can(self):
        letter, _, time, event = categorical_sample()
        codes = np.searchsorted(list("abcdef"), letter)[:, None]
        stump = {"n_estimators": 1, "criterion": "mse", "max_depth": 1}
        model = CensoredQuantileForest(**stump, categorical_features=[0]).fit(codes, time, event)
        medians = model.predict(np.arange(6)[:, None])
        np.testing.assert_array_equal(medians > 5, [True, False, True, False, True, False])

    @pytest.mark.parametrize("criterion", CRITERIA)
    def test_unseen_is_missing(self, criterion):
        letter, x, time, event = categorical_sample()
        letter = letter.astype(object)
        letter[::7] = None
        model = CensoredQuantileForest(**SMALL, criterion=criterion)
        model.fit(pd.DataFrame({"letter": letter, "x": x}), time, event)
        test = np.linspace(0, 1, 9)
        unseen, missing, nan = (
            model.predict(
                pd.DataFrame({"letter": [value] * 9, "x": test}).astype({"letter": object})
            )
            for value in ("zebra", None, NAN)
        )
        np.testing.assert_array_equal(unseen, missing)
        np.testing.assert_array_equal(unseen, nan)

    def test_unseen_where_nothing_was_missing(self):
        letter, x, time, event = categorical_sample()
        model = CensoredQuantileForest(**SMALL)
        model.fit(pd.DataFrame({"letter": pd.Categorical(letter), "x": x}), time, event)
        test = pd.DataFrame({"letter": pd.Categorical(["zebra", "a"]), "x": [0.5, 0.5]})
        assert np.isfinite(model.predict(test)).all()

    @pytest.mark.parametrize("criterion", CRITERIA)
    def test_more_categories_than_bins(self, criterion):
        rng = np.random.default_rng(8)
        code = rng.integers(0, 700, 2000)
        time = np.where(code % 2 == 0, 10.0, 1.0) + rng.uniform(size=2000)
        model = CensoredQuantileForest(**SMALL, criterion=criterion, categorical_features=[0]).fit(
            code[:, None], time
        )
        predicted = model.predict(code[:, None])
        assert np.corrcoef(predicted, time)[0, 1] > 0.3


class TestMissingValues:
    @pytest.mark.parametrize("n_thresholds", ["auto", 1, 3, None])
    @pytest.mark.parametrize("criterion", CRITERIA)
    def test_missing_says_something(self, criterion, n_thresholds):
        rng = np.random.default_rng(9)
        data = rng.uniform(size=(200, 2))
        gone = rng.random(200) < 0.4
        time = np.where(gone, 10.0, 1.0) + rng.uniform(size=200)
        data[gone, 0] = NAN
        model = CensoredQuantileForest(**SMALL, criterion=criterion, n_thresholds=n_thresholds)
        model.fit(data, time, rng.random(200) < 0.8)
        test = np.array([[NAN, 0.5], [0.1, 0.5], [0.5, 0.5], [0.9, 0.5]])
        np.testing.assert_array_equal(model.predict(test) > 5, [True, False, False, False])

    @pytest.mark.parametrize("curve", CURVES)
    def test_missing_at_predict_only(self, forest, curve):
        model = fitted(censoring_curve=curve)
        gaps = X_TEST.copy()
        gaps[::2, 0] = NAN
        gaps[::3, 1] = NAN
        answers = model.predict(gaps, LEVELS)
        assert np.isfinite(answers).all()
        whole = ~np.isnan(gaps).any(axis=1)
        np.testing.assert_array_equal(answers[whole], model.predict(X_TEST, LEVELS)[whole])
        assert (answers[::2] != model.predict(X_TEST, LEVELS)[::2]).any()
        np.testing.assert_allclose(
            model.predict(np.full((1, 3), NAN)), model.predict(np.full((2, 3), NAN))[1:]
        )

    def test_missing_at_predict_goes_with_the_majority(self):
        data = np.arange(10.0)[:, None]
        time = np.where(data[:, 0] < 7, 1.0, 5.0) + data[:, 0] / 100
        stump = CensoredQuantileForest(
            n_estimators=1, criterion="mse", max_depth=1, min_samples_leaf=1
        )
        stump.fit(data, time)
        assert stump.predict([[0.0]]) != stump.predict([[9.0]])
        np.testing.assert_array_equal(stump.predict([[NAN]]), stump.predict([[0.0]]))
        stump.fit(9 - data, time)
        np.testing.assert_array_equal(stump.predict([[NAN]]), stump.predict([[9.0]]))

    @pytest.mark.parametrize("criterion", CRITERIA)
    def test_a_column_of_nothing(self, criterion):
        data = np.column_stack([X, np.full(120, NAN)])
        model = CensoredQuantileForest(**SMALL, criterion=criterion).fit(data, TIME, EVENT)
        test = np.column_stack([X_TEST, np.full(25, NAN)])
        filled = np.column_stack([X_TEST, np.full(25, 4.0)])
        assert np.isfinite(model.predict(test)).all()
        np.testing.assert_array_equal(model.predict(test), model.predict(filled))


def repeated(counts, *arrays):
    return tuple(np.repeat(array, counts, axis=0) for array in arrays)


def summed_over_copies(weights, counts):
    """Weights (m, sum of counts) of repeated rows, added up to (m, n)."""
    row = np.repeat(np.arange(len(counts)), counts)
    return np.stack([np.bincount(row, w, len(counts)) for w in weights])


class TestSampleWeight:
    @pytest.mark.parametrize("max_features", [None, 1])
    @pytest.mark.parametrize("n_thresholds", ["auto", 2, None])
    @pytest.mark.parametrize("criterion", CRITERIA)
    def test_whole_numbers_are_repeated_rows(self, criterion, n_thresholds, max_features):
        data, time, event = draw(n=80, ties=True)
        counts = np.random.default_rng(10).integers(1, 5, 80)
        model = CensoredQuantileForest(
            n_estimators=10,
            criterion=criterion,
            n_thresholds=n_thresholds,
            max_features=max_features,
            min_samples_split=2,
            min_samples_leaf=1,
            max_samples=None,
            random_state=0,
        )
        weighted = clone(model).fit(data, time, event, sample_weight=counts)
        copies = clone(model).fit(*repeated(counts, data, time, event))
        np.testing.assert_allclose(
            weighted.forest_weights(X_TEST).toarray(),
            summed_over_copies(copies.forest_weights(X_TEST).toarray(), counts),
            rtol=0,
            atol=1e-12,
        )
        np.testing.assert_allclose(
            weighted.predict(X_TEST, LEVELS), copies.predict(X_TEST, LEVELS), rtol=1e-11
        )
        # The weights matter: without them the forest is another one. Where there is one cut to
        # choose from and leaves are grown until rows are alike, they cannot.
        random_cuts = criterion in ("distribution", "random") and n_thresholds == "auto"
        if not random_cuts or max_features is None:
            plain = clone(model).fit(data, time, event)
            assert (plain.predict(X_TEST, LEVELS) != weighted.predict(X_TEST, LEVELS)).any()

    @pytest.mark.parametrize("criterion", CRITERIA)
    def test_one_row_that_outweighs_the_others(self, criterion):
        # All of the node lies in the lowest of the quantile rule's classes.
        data, time, counts = np.arange(3.0)[:, None], np.array([1.0, 2.0, 3.0]), [1, 1, 98]
        model = CensoredQuantileForest(
            max_samples=None,
            n_estimators=5,
            criterion=criterion,
            min_samples_leaf=1,
            random_state=0,
        )
        weighted = clone(model).fit(data, time, sample_weight=counts)
        copies = clone(model).fit(*repeated(counts, data, time))
        np.testing.assert_allclose(
            weighted.forest_weights(data).toarray(),
            summed_over_copies(copies.forest_weights(data).toarray(), counts),
            rtol=0,
            atol=1e-12,
        )

    @pytest.mark.parametrize("criterion", CRITERIA)
    def test_missing_values_and_categories_in_repeated_rows(self, criterion):
        data, time, event = draw(n=80, ties=True)
        rng = np.random.default_rng(11)
        data[rng.random(80) < 0.3, 0] = NAN
        data[:, 1] = rng.integers(0, 6, 80)
        counts = rng.integers(1, 5, 80)
        model = CensoredQuantileForest(
            max_samples=None,
            n_estimators=10,
            criterion=criterion,
            min_samples_leaf=1,
            categorical_features=[1],
            random_state=0,
        )
        weighted = clone(model).fit(data, time, event, sample_weight=counts)
        copies = clone(model).fit(*repeated(counts, data, time, event))
        # Every value here was seen in training; see the next test for those that were not.
        np.testing.assert_allclose(
            weighted.forest_weights(data).toarray(),
            summed_over_copies(copies.forest_weights(data).toarray(), counts),
            rtol=0,
            atol=1e-12,
        )

    def test_the_majority_that_a_missing_value_follows_is_weighted(self):
        # Two rows on the left, four on the right; but six copies on the left.
        data = np.arange(6.0)[:, None]
        time = np.array([1.0, 1.1, 5.0, 5.1, 5.2, 5.3])
        counts = np.array([3, 3, 1, 1, 1, 1])
        model = CensoredQuantileForest(
            n_estimators=1, criterion="mse", max_depth=1, min_samples_leaf=1, max_samples=None
        )
        weighted = clone(model).fit(data, time, sample_weight=counts)
        copies = clone(model).fit(*repeated(counts, data, time))
        assert weighted.predict([[0.0]]) != weighted.predict([[5.0]])
        np.testing.assert_array_equal(weighted.predict([[NAN]]), copies.predict([[NAN]]))

    @pytest.mark.parametrize("curve", ["beran", "kernel", "marginal"])
    @pytest.mark.parametrize("censoring", ["right", "left"])
    def test_censoring_curves_of_repeated_rows(self, curve, censoring):
        data, time, event = draw(n=80)
        counts = np.random.default_rng(10).integers(1, 5, 80)
        model = CensoredQuantileForest(
            max_samples=None,
            n_estimators=10,
            min_samples_leaf=1,
            max_depth=3,
            censoring=censoring,
            censoring_curve=curve,
            bandwidth=0.5,
            random_state=0,
        )
        weighted = clone(model).fit(data, time, event, sample_weight=counts)
        copies = clone(model).fit(*repeated(counts, data, time, event))
        np.testing.assert_allclose(
            weighted.predict(X_TEST, LEVELS), copies.predict(X_TEST, LEVELS), rtol=1e-11
        )
        np.testing.assert_allclose(
            weighted.predict_censoring_function(X_TEST, times=time),
            copies.predict_censoring_function(X_TEST, times=time),
            rtol=0,
            atol=1e-12,
        )

    @pytest.mark.parametrize("curve", CURVES)
    @pytest.mark.parametrize("criterion", CRITERIA)
    @pytest.mark.parametrize("bootstrap", [False, True])
    def test_zero_is_a_removed_row(self, criterion, curve, bootstrap):
        kept = np.random.default_rng(12).random(120) < 0.6
        options = SMALL | {
            "criterion": criterion,
            "censoring_curve": curve,
            "n_neighbors": 9,
            "bootstrap": bootstrap,
        }
        zero = CensoredQuantileForest(**options).fit(
            X, TIME, EVENT, sample_weight=kept.astype(float)
        )
        removed = CensoredQuantileForest(**options).fit(X[kept], TIME[kept], EVENT[kept])
        assert_same_trees(zero, removed)
        w = zero.forest_weights(X_TEST).toarray()
        assert w.shape == (25, 120)
        assert (w[:, ~kept] == 0).all()
        np.testing.assert_array_equal(w[:, kept], removed.forest_weights(X_TEST).toarray())
        np.testing.assert_array_equal(zero.predict(X_TEST, LEVELS), removed.predict(X_TEST, LEVELS))
        if bootstrap:
            answers = zero.oob_predict(LEVELS)
            np.testing.assert_array_equal(answers[kept], removed.oob_predict(LEVELS))
            assert np.isnan(answers[~kept]).all()

    def test_zero_takes_its_categories_away(self):
        letter, x, time, event = categorical_sample()
        kept = letter != "f"
        frame = pd.DataFrame({"letter": letter.astype(object), "x": x})
        model = CensoredQuantileForest(**SMALL)
        zero = clone(model).fit(frame, time, event, sample_weight=kept.astype(float))
        removed = clone(model).fit(frame[kept], time[kept], event[kept])
        np.testing.assert_array_equal(zero.predict(frame), removed.predict(frame))

    @pytest.mark.parametrize("factor", [2.0**-1015, 2.0**-30, 1 / 3, 7.0, 2.0**30, 2.0**1000])
    def test_only_their_ratios_count(self, factor):
        s = np.random.default_rng(13).integers(1, 5, 120).astype(float)
        one, other = fitted(sample_weight=s), fitted(sample_weight=factor * s)
        np.testing.assert_allclose(
            one.predict(X_TEST, LEVELS), other.predict(X_TEST, LEVELS), rtol=1e-11
        )

    def test_equal_weights_are_no_weights(self, forest):
        model = fitted(sample_weight=np.full(120, 0.3))
        assert_same_trees(model, forest)
        np.testing.assert_array_equal(model.predict(X_TEST), forest.predict(X_TEST))


class TestScikitLearn:
    def test_params(self):
        model = CensoredQuantileForest(n_estimators=7, criterion="mse", censoring="left")
        parameters = model.get_params()
        assert parameters["n_estimators"] == 7
        assert parameters["criterion"] == "mse"
        assert parameters["solver"] == "root"
        model.set_params(n_estimators=9, bandwidth=0.5)
        assert (model.n_estimators, model.bandwidth) == (9, 0.5)
        with pytest.raises(ValueError, match="Invalid parameter"):
            model.set_params(trees=3)
        twin = clone(model)
        assert twin.get_params() == model.get_params()

    def test_fit_changes_no_parameter(self):
        for n_jobs in (None, 2):
            model = CensoredQuantileForest(**SMALL, n_jobs=n_jobs, censoring_curve="knn")
            before = model.get_params()
            assert model.fit(X, TIME, EVENT).get_params() == before

    def test_clone_of_a_fitted_forest_is_not_fitted(self, forest):
        assert not hasattr(clone(forest), "trees_")
        np.testing.assert_array_equal(
            clone(forest).fit(X, TIME, EVENT).predict(X_TEST), forest.predict(X_TEST)
        )

    @pytest.mark.parametrize(
        "through", [lambda m: pickle.loads(pickle.dumps(m)), copy.deepcopy, copy.copy]
    )
    @pytest.mark.parametrize("curve", CURVES)
    def test_copies_predict_the_same_bits(self, curve, through):
        model = fitted(censoring_curve=curve, bootstrap=True)
        expected = model.predict(X_TEST, LEVELS)
        other = through(model)
        assert other.get_params() == model.get_params()
        assert_same_trees(other, model)
        np.testing.assert_array_equal(other.predict(X_TEST, LEVELS), expected)
        np.testing.assert_array_equal(other.oob_predict(), model.oob_predict())
        np.testing.assert_array_equal(
            other.predict_survival_function(X_TEST, return_array=True),
            model.predict_survival_function(X_TEST, return_array=True),
        )

    def test_pickle_does_not_hold_what_can_be_derived(self):
        model = fitted()
        before = len(pickle.dumps(model))
        model.predict(X_TEST)
        assert len(pickle.dumps(model)) == before

    def test_pipeline(self, forest):
        y = Surv.from_arrays(EVENT, TIME)
        pipeline = make_pipeline(StandardScaler(), CensoredQuantileForest(**SMALL)).fit(X, y)
        # Bins come from ranks, so a linear map of the features leaves the trees alone.
        np.testing.assert_array_equal(
            pipeline.predict(X_TEST, quantiles=LEVELS), forest.predict(X_TEST, LEVELS)
        )
        assert pipeline.score(X, y) == forest.score(X, y)

    def test_grid_search(self):
        y = Surv.from_arrays(EVENT, TIME)
        search = GridSearchCV(
            CensoredQuantileForest(**SMALL), {"min_samples_leaf": [2, 60]}, cv=3
        ).fit(X, y)
        assert search.best_params_ == {"min_samples_leaf": 2}
        assert np.isfinite(search.cv_results_["mean_test_score"]).all()
        np.testing.assert_array_equal(
            search.predict(X_TEST),
            CensoredQuantileForest(**(SMALL | {"min_samples_leaf": 2})).fit(X, y).predict(X_TEST),
        )

    def test_cross_val_score(self):
        y = Surv.from_arrays(EVENT, TIME)
        scores = cross_val_score(CensoredQuantileForest(**SMALL), X, y, cv=KFold(4))
        for score, (train, test) in zip(scores, KFold(4).split(X), strict=True):
            model = CensoredQuantileForest(**SMALL).fit(X[train], y[train])
            assert score == model.score(X[test], y[test])

    def test_metadata_routing(self):
        y = Surv.from_arrays(EVENT, TIME)
        s = np.random.default_rng(14).integers(0, 4, 120).astype(float)
        expected = fitted(sample_weight=s).predict(X_TEST)
        assert (expected != fitted().predict(X_TEST)).any()
        with sklearn.config_context(enable_metadata_routing=True):
            model = CensoredQuantileForest(**SMALL).set_fit_request(sample_weight=True)
            model.set_score_request(sample_weight=True)
            pipeline = Pipeline([("scale", "passthrough"), ("forest", model)])
            pipeline.fit(X, y, sample_weight=s)
            np.testing.assert_array_equal(pipeline.predict(X_TEST), expected)
            search = GridSearchCV(model, {"min_samples_leaf": [5]}, cv=3)
            search.fit(X, y, sample_weight=s)
            np.testing.assert_array_equal(search.predict(X_TEST), expected)
            scores = cross_val_score(model, X, y, cv=KFold(3), params={"sample_weight": s})
            for score, (train, test) in zip(scores, KFold(3).split(X), strict=True):
                one = CensoredQuantileForest(**SMALL).fit(
                    X[train], y[train], sample_weight=s[train]
                )
                assert score == one.score(X[test], y[test], sample_weight=s[test])

    def test_routing_asks_before_it_drops_weights(self):
        s = np.ones(120)
        with sklearn.config_context(enable_metadata_routing=True):
            search = GridSearchCV(CensoredQuantileForest(**SMALL), {"min_samples_leaf": [5]}, cv=3)
            with pytest.raises(ValueError, match="sample_weight"):
                search.fit(X, Surv.from_arrays(EVENT, TIME), sample_weight=s)

    def test_random_state_object(self):
        one = fitted(random_state=np.random.RandomState(3))
        other = fitted(random_state=np.random.RandomState(3))
        assert_same_trees(one, other)
        state = np.random.RandomState(3)
        first, second = fitted(random_state=state), fitted(random_state=state)
        assert (first.predict(X_TEST) != second.predict(X_TEST)).any()

    def test_no_random_state_means_another_forest_each_time(self):
        one, other = fitted(random_state=None), fitted(random_state=None)
        assert (one.predict(X_TEST) != other.predict(X_TEST)).any()

    def test_verbose_writes_to_standard_error(self, capsys):
        fitted(verbose=1)
        captured = capsys.readouterr()
        assert captured.out == ""
        assert "growing trees" in captured.err
        assert "20/20 100%" in captured.err
        assert captured.err.endswith("\n")
        fitted(verbose=0)
        assert capsys.readouterr().err == ""

    def test_nothing_is_warned_about(self, forest):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            fitted().predict(X_TEST, LEVELS)


class TestWarmStart:
    @pytest.mark.parametrize("criterion", CRITERIA)
    @pytest.mark.parametrize("sampling", [{}, {"bootstrap": True}, {"honest": True}])
    def test_it_grows_the_forest_of_one_larger_fit(self, sampling, criterion):
        options = {"criterion": criterion, **sampling}
        whole = fitted(**options)
        model = CensoredQuantileForest(**(SMALL | options), warm_start=True)
        for size in (1, 7, 8, 20):
            model.set_params(n_estimators=size).fit(X, TIME, EVENT)
            assert len(model.trees_) == size
        assert_same_trees(model, whole)
        np.testing.assert_array_equal(model.predict(X_TEST, LEVELS), whole.predict(X_TEST, LEVELS))

    def test_with_categories(self):
        letter, x, time, event = categorical_sample()
        frame = pd.DataFrame({"letter": pd.Categorical(letter), "x": x})
        whole = CensoredQuantileForest(**SMALL).fit(frame, time, event)
        model = CensoredQuantileForest(**(SMALL | {"n_estimators": 6}), warm_start=True)
        model.fit(frame, time, event).set_params(n_estimators=20).fit(frame, time, event)
        assert_same_trees(model, whole)
        np.testing.assert_array_equal(model.predict(frame), whole.predict(frame))

    def test_the_seed_of_the_first_fit_is_kept(self):
        model = CensoredQuantileForest(n_estimators=5, random_state=None, warm_start=True)
        model.fit(X, TIME, EVENT)
        first = model.trees_
        model.set_params(n_estimators=9).fit(X, TIME, EVENT)
        assert model.trees_.seed == first.seed
        np.testing.assert_array_equal(model.trees_.ranks()[:5], first.ranks())
        assert len(np.unique(model.trees_.ranks(), axis=0)) > 1

    def test_off_grows_anew(self):
        model = CensoredQuantileForest(**SMALL).fit(X, TIME, EVENT)
        model.set_params(n_estimators=5, random_state=1).fit(X, TIME, EVENT)
        assert_same_trees(model, fitted(n_estimators=5, random_state=1))

    @pytest.mark.parametrize(
        "change",
        [
            {"min_samples_leaf": 6},
            {"criterion": "mse"},
            {"max_depth": 2},
            {"max_features": 1},
            {"bootstrap": True},
            {"max_samples": 0.5},
            {"honest": True},
            {"n_thresholds": 2},
        ],
        ids=str,
    )
    def test_other_parameters_are_refused(self, change):
        model = CensoredQuantileForest(**SMALL, warm_start=True).fit(X, TIME, EVENT)
        model.set_params(n_estimators=30, **change)
        with pytest.raises(ValueError, match="warm_start"):
            model.fit(X, TIME, EVENT)

    @pytest.mark.parametrize("what", ["X", "time", "event", "rows", "sample_weight", "censoring"])
    def test_other_data_are_refused(self, what):
        # Symmetric times: their mirror image has the same sorted values.
        time = np.concatenate([TIME[:60], -TIME[:60]]) if what == "censoring" else TIME
        event = np.concatenate([EVENT[:60], EVENT[:60]]) if what == "censoring" else EVENT
        data = np.concatenate([X[:60], X[:60]]) if what == "censoring" else X
        s = np.random.default_rng(15).uniform(0.5, 2.0, 120)
        model = CensoredQuantileForest(**SMALL, warm_start=True).fit(
            data, time, event, sample_weight=s
        )
        model.set_params(n_estimators=30)
        if what == "X":
            data = data[:, ::-1]
        elif what == "time":
            time = time + 1.0
        elif what == "event":
            event = ~event
        elif what == "rows":
            data, time, event, s = data[:-1], time[:-1], event[:-1], s[:-1]
        elif what == "sample_weight":
            s = s[::-1]
        else:
            model.set_params(censoring="left")
        with pytest.raises(ValueError, match="warm_start"):
            model.fit(data, time, event, sample_weight=s)
        assert len(model.trees_) == 20

    def test_fewer_trees_are_refused(self):
        model = CensoredQuantileForest(**SMALL, warm_start=True).fit(X, TIME, EVENT)
        with pytest.raises(ValueError, match="n_estimators"):
            model.set_params(n_estimators=5).fit(X, TIME, EVENT)

    def test_nothing_to_do_is_warned_about(self):
        model = CensoredQuantileForest(**SMALL, warm_start=True).fit(X, TIME, EVENT)
        with pytest.warns(UserWarning, match="warm_start"):
            model.fit(X, TIME, EVENT)
        assert_same_trees(model, fitted())


class TestFrames:
    """Answers with the labels of the rows, on request."""

    @pytest.fixture(scope="class")
    def asked(self):
        frame = pd.DataFrame(X_TEST, columns=list("abc"[: X_TEST.shape[1]]))
        frame.index = [f"row {k}" for k in range(len(frame))]
        return frame

    @pytest.fixture(scope="class")
    def grown(self, asked):
        train = pd.DataFrame(X, columns=asked.columns)
        return CensoredQuantileForest(12, ci_group_size=2, random_state=0).fit(train, TIME, EVENT)

    def test_pandas(self, grown, asked):
        found = grown.predict(asked, [0.1, 0.5], as_frame=True)
        assert list(found.columns) == ["q0.1", "q0.5"]
        assert found.index.equals(asked.index)
        np.testing.assert_array_equal(found, grown.predict(asked, [0.1, 0.5]))

    def test_polars_and_one_level(self, grown, asked):
        found = grown.predict(pl.from_pandas(asked), as_frame=True)
        assert found.columns == ["q0.5"]
        np.testing.assert_array_equal(found["q0.5"], grown.predict(asked))

    def test_standard_errors(self, grown, asked):
        answers, std = grown.predict(asked, [0.25, 0.5], return_std=True, as_frame=True)
        assert list(std.columns) == list(answers.columns) == ["q0.25", "q0.5"]
        np.testing.assert_array_equal(std, grown.predict(asked, [0.25, 0.5], return_std=True)[1])

    def test_arrays_have_no_labels(self):
        with pytest.raises(TypeError, match="frame"):
            fitted().predict(X_TEST, as_frame=True)


def test_feature_importances_select_features():
    rng = np.random.default_rng(0)
    table = rng.uniform(size=(300, 4))
    time = np.exp(3 * table[:, 2] + 0.1 * rng.normal(size=300))
    model = CensoredQuantileForest(20, random_state=0).fit(table, time)
    np.testing.assert_array_equal(model.feature_importances_, model.split_importance())
    chosen = SelectFromModel(model, prefit=True).get_support()
    assert chosen.tolist() == [False, False, True, False]
    with pytest.raises(AttributeError):
        _ = CensoredQuantileForest().feature_importances_
