"""Importance against slow twins and in all forms of input; scikit-learn's own tools."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import twins
from sklearn.exceptions import NotFittedError
from sklearn.inspection import partial_dependence, permutation_importance

import cqrf
from cqrf import CensoredQuantileForest, Importance, Surv, _engine
from cqrf.datasets import make_aft
from cqrf.metrics import censored_pinball_loss, integrated_brier_score
from cqrf.metrics.curve_errors import scoring_times
from cqrf.model import importance
from cqrf.solving.options import AnswerOptions
from cqrf.support import blocks

LEVELS = [0.9, 0.25]
N = 150


def draw(seed=0):
    """(X, time, event): a number with gaps, a category, a number of few values, a constant."""
    rng = np.random.default_rng(seed)
    X = np.column_stack(
        [rng.uniform(size=N), rng.integers(0, 6, N), rng.integers(0, 3, N), np.zeros(N)]
    )
    X[rng.random(N) < 0.1, 0] = np.nan
    T = np.exp(np.nan_to_num(X[:, 0]) + 0.3 * (X[:, 1] % 3) + 0.3 * rng.normal(size=N))
    C = rng.exponential(6.0, N)
    return X, np.minimum(T, C), T <= C


X, TIME, EVENT = draw()


def fitted(sample_weight=None, **parameters):
    defaults = {
        "n_estimators": 15,
        "min_samples_leaf": 4,
        "max_samples": 0.6,
        "categorical_features": [1],
        "random_state": 0,
    }
    model = CensoredQuantileForest(**(defaults | parameters))
    return model.fit(X, TIME, EVENT, sample_weight=sample_weight)


def out_of_bag_weights(model, data, sample_weight):
    """Weights (n, n) of rows that have the values `data`, by the trees that left them out."""
    trees, options, order = model.trees_, model.model_.options, model.target_.order
    leaves = model.apply(data)
    w = np.zeros((N, N))
    for tree in range(len(trees)):
        counts = _engine.sample_counts(trees.seed, tree, N, options.n_draws, options.replace)
        starts = trees.leaf_start[trees.leaf_offset[tree] : trees.leaf_offset[tree + 1]]
        for rank in np.flatnonzero(counts == 0):
            row = order[rank]
            leaf = leaves[row, tree]
            others = order[trees.ranks()[tree, starts[leaf] : starts[leaf + 1]]]
            others = others[others != row]
            if others.size:
                w[row, others] += sample_weight[others] / sample_weight[others].sum()
    return w


def quantile_losses(model, sample_weight, **solving):
    """Pinball losses (n, q) from weights, and the weights of the rows in their mean."""
    censoring, h = model.censoring, model.horizon_
    cut = np.maximum if censoring == "left" else np.minimum

    def losses(w):
        q = cqrf.solve_quantiles(w, TIME, EVENT, LEVELS, censoring=censoring, **solving)
        error = cut(TIME, h)[:, None] - cut(q, h)
        return np.maximum(np.array(LEVELS) * error, (np.array(LEVELS) - 1) * error), q

    weight = sample_weight * cqrf.metrics.censoring_weights(TIME, EVENT, model.target_)
    base, q = losses(out_of_bag_weights(model, X, sample_weight))
    np.testing.assert_allclose(
        weight @ base / weight.sum(),
        censored_pinball_loss(
            Surv.from_arrays(EVENT, TIME),
            q,
            LEVELS,
            train=model.target_,
            sample_weight=sample_weight,
            censoring=censoring,
            multioutput="raw_values",
        ),
        rtol=1e-12,
    )
    return lambda w: losses(w)[0], weight


def survival_at(times, w, censoring):
    """P(T > t) of weights (n, n) at times (g,), shape (n, g)."""
    curves = cqrf.survival_curves(w, TIME, EVENT, censoring=censoring)
    return np.array([curve(times) for curve in curves])


def curve_losses(model, sample_weight):
    """Shares (n, 1) of the score of Kaplan-Meier that rows lose, and their weights."""
    left = model.censoring == "left"
    sign = -1.0 if left else 1.0
    times = scoring_times(model.target_, model.horizon_, 48)
    before = twins.censoring_before(sign * TIME, EVENT, sample_weight)
    known = [
        [twins.known_by(sign * t, y, seen, before, including=not left) for t in times]
        for y, seen in zip(sign * TIME, EVENT, strict=True)
    ]
    weight, come = np.moveaxis(np.array(known), 2, 0)

    def errors(w):
        S = survival_at(times, w, model.censoring)
        squares = weight * (S - (come == left)) ** 2
        return np.array([twins.integral(row, times) for row in squares])

    # Of everybody but the row itself.
    everybody = np.tile(sample_weight, (N, 1))
    np.fill_diagonal(everybody, 0.0)
    reference = np.average(errors(everybody), weights=sample_weight)
    return lambda w: errors(w)[:, None] / reference, sample_weight


def slow_importance(model, columns, n_repeats, seed, sample_weight, loss, weight):
    """(repeats, std_error) of one group of columns, by predicting whole permuted tables."""
    order = model.target_.order
    base = loss(out_of_bag_weights(model, X, sample_weight))
    random = np.random.RandomState(seed)
    increases = []
    for _ in range(n_repeats):
        donors = random.permutation(N)
        data = X.copy()
        for j in columns:
            data[order, j] = X[order[donors], j]
        increases.append(loss(out_of_bag_weights(model, data, sample_weight)) - base)
    share = weight / weight.sum()
    by_row = np.mean(increases, axis=0)
    spread = by_row - share @ by_row
    std_error = np.sqrt(((share[:, None] * spread) ** 2).sum(axis=0))
    return np.array([share @ d for d in increases]), std_error


class TestPermutation:
    @pytest.mark.parametrize(
        ("parameters", "weighted"),
        [
            ({}, False),
            ({"bootstrap": True, "max_samples": None}, True),
            ({"censoring": "left"}, False),
            ({"censoring": "left", "honest": True}, True),
            ({"solver": "argmin", "interpolation": "lower"}, False),
        ],
    )
    def test_against_the_twin(self, parameters, weighted):
        s = np.random.default_rng(4).uniform(0.5, 2.0, N) if weighted else np.ones(N)
        model = fitted(s if weighted else None, **parameters)
        groups = {"a": [0], "b": [1], "c": [2], "constant": [3], "all": [2, 0, 1]}
        options = {"groups": groups, "n_repeats": 3, "random_state": 7}
        solving = {"solver": model.solver, "interpolation": model.interpolation}
        for levels, (loss, weight) in (
            (LEVELS, quantile_losses(model, s, **solving)),
            (None, curve_losses(model, s)),
        ):
            found = model.oob_importance(levels, **options)
            assert found.feature_names == list(groups)
            assert found.horizon == model.horizon_
            for j, columns in enumerate(groups.values()):
                repeats, std_error = slow_importance(model, columns, 3, 7, s, loss, weight)
                if levels is None:
                    repeats, std_error = repeats[:, 0], std_error[0]
                np.testing.assert_allclose(found.repeats[:, j], repeats, rtol=1e-9, atol=1e-12)
                np.testing.assert_allclose(found.std_error[j], std_error, rtol=1e-9, atol=1e-12)
            np.testing.assert_array_equal(found.mean, found.repeats.mean(axis=0))
            assert (found.repeats[:, 3] == 0).all()
            assert (found.std_error[3] == 0).all()

    @pytest.mark.parametrize("censoring", ["right", "left"])
    def test_by_default_it_is_the_drop_of_the_out_of_bag_score(self, censoring, monkeypatch):
        model = fitted(censoring=censoring)
        loss, weight = curve_losses(model, np.ones(N))
        # Differences of losses are taken at fewer times than the score.
        before = 1 - np.mean(loss(out_of_bag_weights(model, X, weight)))
        assert before == pytest.approx(model.oob_score(), abs=0.005)
        few = model.oob_importance(n_repeats=1, random_state=7)
        monkeypatch.setattr(importance, "_N_TIMES", 128)
        many = model.oob_importance(n_repeats=1, random_state=7)
        np.testing.assert_allclose(few.mean, many.mean, rtol=0.03, atol=0.002)
        # At the same times they agree: the score of the rows as they are, less that of a forest
        # whose training rows have the first feature of others, answered by the same trees.
        donors = np.random.RandomState(7).permutation(N)
        order, data = model.target_.order, X.copy()
        data[order, 0] = X[order[donors], 0]
        times = scoring_times(model.target_, model.horizon_)

        def error(table):
            S = survival_at(times, out_of_bag_weights(model, table, np.ones(N)), censoring)
            options = {"event": EVENT, "train": model.target_, "censoring": censoring}
            return integrated_brier_score(TIME, S.clip(0, 1), times, **options)

        worse = error(data) / error(X) - 1.0
        np.testing.assert_allclose((1 - model.oob_score()) * worse, many.mean[0], rtol=1e-9)

    def test_up_to_a_horizon(self):
        model = fitted()
        for levels in None, 0.5:
            near = model.oob_importance(levels, horizon=1.2, random_state=0)
            assert near.horizon == 1.2
            far = model.oob_importance(levels, random_state=0)
            assert far.horizon == model.horizon_ == twins.horizon(TIME, EVENT)
            assert (near.mean[:3] != far.mean[:3]).all()
            same = model.oob_importance(levels, horizon=model.horizon_, random_state=0)
            np.testing.assert_array_equal(same.repeats, far.repeats)
        with pytest.warns(UserWarning, match="lies beyond the training times"):
            assert model.oob_importance(n_repeats=1, horizon=1e6).horizon == TIME.max()
        # Where nothing happens there is nothing to lose.
        assert not model.oob_importance(horizon=TIME.min()).mean.any()

    def test_covariates_of_the_kernel_are_permuted_too(self):
        # Only the literal minimum looks at G, which then depends on the permuted values.
        model = fitted(censoring_curve="kernel", solver="argmin", bandwidth=0.5)
        found = model.oob_importance(0.5, n_repeats=1, random_state=3)
        order, kernel = model.target_.order, model.model_.kernel
        donors = np.random.RandomState(3).permutation(N)
        data = X.copy()
        data[order, 1] = X[order[donors], 1]
        predicted = []
        for table in (X, data):
            w = out_of_bag_weights(model, table, np.ones(N))[order]
            permuted = _engine.Weights.of_matrix(model.target_.engine, *_sparse(w))
            points = kernel.transform(model.model_.encoder.encode(table))[order]
            options = AnswerOptions.from_params(model.get_params(), N)
            estimation = model.model_.estimation(permuted, options, points)
            solved, _ = estimation.quantiles(
                np.array([0.5]), solver="argmin", interpolation="midpoint"
            )
            predicted.append(solved)
        weight, h = (
            cqrf.metrics.censoring_weights(TIME, EVENT, model.target_)[order],
            model.horizon_,
        )
        cut = np.minimum(TIME[order], h)
        error = [np.abs(cut - np.minimum(q[:, 0], h)) / 2 for q in predicted]
        np.testing.assert_allclose(
            found.mean[1], weight @ (error[1] - error[0]) / weight.sum(), rtol=1e-9
        )

    def test_shapes_and_defaults(self):
        model = fitted(default_quantiles=[0.2, 0.5, 0.8])
        found = model.oob_importance(random_state=0)
        assert isinstance(found, Importance)
        assert found.feature_names == ["x0", "x1", "x2", "x3"]
        assert found.quantiles is None
        assert found.mean.shape == found.std_error.shape == (4,)
        assert found.repeats.shape == (5, 4)
        several = model.oob_importance([0.2, 0.5, 0.8], random_state=0)
        np.testing.assert_array_equal(several.quantiles, [0.2, 0.5, 0.8])
        assert several.mean.shape == several.std_error.shape == (4, 3)
        assert several.repeats.shape == (5, 4, 3)
        one = model.oob_importance(0.5, n_repeats=2, random_state=0)
        np.testing.assert_array_equal(one.quantiles, [0.5])
        assert one.mean.shape == one.std_error.shape == (4,)
        assert one.repeats.shape == (2, 4)
        np.testing.assert_allclose(one.repeats, several.repeats[:2, :, 1], rtol=1e-12, atol=1e-15)
        listed = model.oob_importance([0.5], n_repeats=2, random_state=0)
        assert listed.mean.shape == (4, 1)
        np.testing.assert_array_equal(listed.repeats[:, :, 0], one.repeats)

    def test_a_feature_does_not_depend_on_the_others_asked_for(self):
        model = fitted()
        every = model.oob_importance(0.5, random_state=0)
        alone = model.oob_importance(0.5, groups={"second": [1]}, random_state=0)
        np.testing.assert_array_equal(alone.repeats[:, 0], every.repeats[:, 1])

    @pytest.mark.parametrize("library", [pd, pl])
    def test_frames(self, library):
        names = ["age", "kind", "stage", "constant"]
        columns = dict(zip(names, X.T, strict=True))
        parameters = {"n_estimators": 15, "min_samples_leaf": 4, "max_samples": 0.6}
        model = CensoredQuantileForest(
            **parameters, categorical_features=["kind"], random_state=0
        ).fit(library.DataFrame(columns), TIME, EVENT)
        found = model.oob_importance(0.5, random_state=0)
        assert found.feature_names == names
        np.testing.assert_array_equal(found.mean, fitted().oob_importance(0.5, random_state=0).mean)
        by_name = model.oob_importance(0.5, groups={"both": ["stage", "age"]}, random_state=0)
        by_position = model.oob_importance(0.5, groups={"both": [0, 2]}, random_state=0)
        np.testing.assert_array_equal(by_name.repeats, by_position.repeats)

    def test_threads_and_repeats(self):
        model = fitted(n_jobs=1)
        expected = model.oob_importance(LEVELS, random_state=0)
        curves = model.oob_importance(random_state=0)
        for n_jobs in (2, 5):
            model.set_params(n_jobs=n_jobs)
            for levels, same in (LEVELS, expected), (None, curves):
                found = model.oob_importance(levels, random_state=0)
                np.testing.assert_array_equal(found.repeats, same.repeats)
                np.testing.assert_array_equal(found.std_error, same.std_error)

    def test_blocks_give_the_same_bits(self, monkeypatch):
        model = fitted()
        expected = [model.oob_importance(levels, random_state=0) for levels in (None, 0.5)]
        monkeypatch.setattr(blocks, "_VALUES_PER_BLOCK", 1000)
        monkeypatch.setattr(blocks, "_FEWEST_ROWS", 1)
        for levels, same in zip((None, 0.5), expected, strict=True):
            found = model.oob_importance(levels, random_state=0)
            np.testing.assert_array_equal(found.repeats, same.repeats)

    def test_rows_that_no_tree_left_out_do_not_count(self):
        model = fitted(n_estimators=2, max_samples=0.9)
        for levels in None, 0.5:
            found = model.oob_importance(levels, random_state=0)
            assert np.isfinite(found.repeats).all()
            assert np.isfinite(found.std_error).all()

    def test_standard_errors_tell_noise_from_signal(self):
        data = make_aft(1000, n_features=5, n_noise=5, random_state=0)
        model = CensoredQuantileForest(n_estimators=100, random_state=0)
        found = model.fit(data.X, data.time, data.event).oob_importance(0.5, random_state=0)
        z = found.mean / found.std_error
        assert (z[1:5] > 5).all()
        assert (np.abs(z[5:]) < 4).all()

    @pytest.mark.parametrize(
        ("arguments", "error", "match"),
        [
            ({"quantiles": 1.5}, ValueError, "quantiles"),
            ({"n_repeats": 0}, ValueError, "n_repeats"),
            ({"n_repeats": 2.0}, TypeError, "n_repeats"),
            ({"horizon": "late"}, ValueError, "horizon"),
            ({"horizon": np.nan}, ValueError, "horizon"),
            ({"horizon": True}, TypeError, "horizon"),
            ({"random_state": "x"}, ValueError, "seed"),
            ({"groups": [[0]]}, TypeError, "groups"),
            ({"groups": {}}, ValueError, "groups is empty"),
            ({"groups": {"a": []}}, ValueError, r"groups\['a'\] is empty"),
            ({"groups": {"a": 0}}, TypeError, r"groups\['a'\]"),
            ({"groups": {"a": "x0"}}, TypeError, r"groups\['a'\]"),
            ({"groups": {"a": ["x0"]}}, ValueError, "no names"),
            ({"groups": {"a": [4]}}, ValueError, "0 to 3"),
            ({"groups": {"a": [-1]}}, ValueError, "0 to 3"),
            ({"groups": {"a": [True]}}, TypeError, "positions"),
            ({"groups": {"a": [1, 1]}}, ValueError, "twice"),
        ],
    )
    def test_bad_input(self, arguments, error, match):
        with pytest.raises(error, match=match):
            fitted().oob_importance(**arguments)

    def test_refused_where_nothing_is_out_of_bag(self):
        with pytest.raises(ValueError, match="trees that leave rows out"):
            fitted(max_samples=None).oob_importance()
        with pytest.raises(NotFittedError):
            CensoredQuantileForest().oob_importance()


def _sparse(w):
    indptr = np.arange(N + 1, dtype=np.int64) * N
    return indptr, np.tile(np.arange(N, dtype=np.int64), N), w.ravel()


class TestSplits:
    @pytest.mark.parametrize("honest", [False, True])
    def test_against_the_twin(self, honest):
        model = fitted(honest=honest)
        trees = model.trees_
        passed = np.zeros(4)

        def rows_below(tree, node):
            child, feature, rule, index = trees.nodes[trees.node_offset[tree] + node]
            if rule >> 16 & 1:
                start = trees.leaf_start[trees.leaf_offset[tree] :]
                return int(start[index + 1]) - int(start[index])
            rows = rows_below(tree, child) + rows_below(tree, child + 1)
            passed[feature] += rows
            return rows

        for tree in range(len(trees)):
            rows_below(tree, 0)
        np.testing.assert_allclose(model.split_importance(), passed / passed.sum(), rtol=1e-12)
        assert model.split_importance()[3] == 0

    def test_forest_of_roots(self):
        model = fitted(min_samples_leaf=N // 2 + 1)
        np.testing.assert_array_equal(model.split_importance(), np.zeros(4))

    def test_not_fitted(self):
        with pytest.raises(NotFittedError):
            CensoredQuantileForest().split_importance()


class TestScikitLearn:
    def test_permutation_importance(self):
        y = Surv.from_arrays(EVENT, TIME)
        model = fitted()
        found = permutation_importance(model, X, y, n_repeats=3, random_state=0)
        assert found.importances.shape == (4, 3)
        assert found.importances_mean[3] == 0
        assert found.importances_mean[0] > 0.05
        assert found.importances_mean[:3].min() > 0
        frame = pd.DataFrame(X, columns=list("abcd"))
        model = CensoredQuantileForest(n_estimators=10, random_state=0).fit(frame, y)
        assert permutation_importance(model, frame, y, n_repeats=2).importances.shape == (4, 2)

    def test_partial_dependence_of_a_quantile(self):
        model = fitted(default_quantiles=0.9)
        found = partial_dependence(model, X[:40], [2], kind="both", custom_values={2: [0.0, 2.0]})
        expected = X[:40].copy()
        for k, value in enumerate((0.0, 2.0)):
            expected[:, 2] = value
            answers = model.predict(expected, 0.9)
            np.testing.assert_allclose(found["individual"][0, :, k], answers, rtol=1e-12)
            np.testing.assert_allclose(found["average"][0, k], answers.mean(), rtol=1e-12)
