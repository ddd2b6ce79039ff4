"""Importance against slow twins and in all forms of input; scikit-learn's own tools."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.inspection import partial_dependence, permutation_importance

import cqrf
from cqrf import CensoredQuantileForest, Importance, Surv, _engine
from cqrf.datasets import make_aft
from cqrf.metrics import censored_pinball_loss

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
    trees, options, order = model.trees_, model._options, model.target_.order
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


def slow_importance(model, columns, n_repeats, seed, sample_weight, **solving):
    """(repeats, std_error) of one group of columns, by predicting whole permuted tables."""
    order, censoring = model.target_.order, model.censoring

    def losses(data):
        q = cqrf.solve_quantiles(
            out_of_bag_weights(model, data, sample_weight),
            TIME,
            EVENT,
            LEVELS,
            censoring=censoring,
            **solving,
        )
        error = TIME[:, None] - q
        return np.maximum(np.array(LEVELS) * error, (np.array(LEVELS) - 1) * error), q

    base, q = losses(X)
    weight = sample_weight * cqrf.metrics.censoring_weights(TIME, EVENT, model.target_)
    np.testing.assert_allclose(
        weight @ base / weight.sum(),
        censored_pinball_loss(
            Surv.from_arrays(EVENT, TIME),
            q,
            LEVELS,
            train=model.target_,
            sample_weight=sample_weight,
            censoring=censoring,
            beyond="clip",
            multioutput="raw_values",
        ),
        rtol=1e-12,
    )
    random = np.random.RandomState(seed)
    increases = []
    for _ in range(n_repeats):
        donors = random.permutation(N)
        data = X.copy()
        for j in columns:
            data[order, j] = X[order[donors], j]
        increases.append(losses(data)[0] - base)
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
        found = model.oob_importance(LEVELS, groups=groups, n_repeats=3, random_state=7)
        assert found.feature_names == list(groups)
        solving = {"solver": model.solver, "interpolation": model.interpolation}
        for j, columns in enumerate(groups.values()):
            repeats, std_error = slow_importance(model, columns, 3, 7, s, **solving)
            np.testing.assert_allclose(found.repeats[:, j], repeats, rtol=1e-9, atol=1e-12)
            np.testing.assert_allclose(found.std_error[j], std_error, rtol=1e-9, atol=1e-12)
        np.testing.assert_array_equal(found.mean, found.repeats.mean(axis=0))
        assert (found.repeats[:, 3] == 0).all()
        assert (found.std_error[3] == 0).all()

    def test_covariates_of_the_kernel_are_permuted_too(self):
        # Only the literal minimum looks at G, which then depends on the permuted values.
        model = fitted(censoring_curve="kernel", solver="argmin", bandwidth=0.5)
        found = model.oob_importance(0.5, n_repeats=1, random_state=3)
        order, kernel = model.target_.order, model._kernel
        donors = np.random.RandomState(3).permutation(N)
        data = X.copy()
        data[order, 1] = X[order[donors], 1]
        predicted = []
        for table in (X, data):
            w = out_of_bag_weights(model, table, np.ones(N))[order]
            permuted = _engine.Weights.of_matrix(model.target_.engine, *_sparse(w))
            points = kernel.transform(model._encoder.encode(table))[order]
            predicted.append(
                model._solve(
                    model._with_censoring(permuted, points), np.array([0.5]), None, None, "clip"
                )
            )
        weight = cqrf.metrics.censoring_weights(TIME, EVENT, model.target_)[order]
        error = [np.abs(TIME[order] - q[:, 0]) / 2 for q in predicted]
        np.testing.assert_allclose(
            found.mean[1, 0], weight @ (error[1] - error[0]) / weight.sum(), rtol=1e-9
        )

    def test_shapes_and_defaults(self):
        model = fitted(default_quantiles=[0.2, 0.5, 0.8])
        found = model.oob_importance(random_state=0)
        assert isinstance(found, Importance)
        assert found.feature_names == ["x0", "x1", "x2", "x3"]
        np.testing.assert_array_equal(found.quantiles, [0.2, 0.5, 0.8])
        assert found.mean.shape == found.std_error.shape == (4, 3)
        assert found.repeats.shape == (5, 4, 3)
        one = model.oob_importance(0.5, n_repeats=2, random_state=0)
        assert one.mean.shape == (4, 1)
        np.testing.assert_allclose(one.repeats, found.repeats[:2, :, 1:2], rtol=1e-12, atol=1e-15)

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
        for n_jobs in (2, 5):
            found = model.set_params(n_jobs=n_jobs).oob_importance(LEVELS, random_state=0)
            np.testing.assert_array_equal(found.repeats, expected.repeats)
            np.testing.assert_array_equal(found.std_error, expected.std_error)

    def test_rows_that_no_tree_left_out_do_not_count(self):
        model = fitted(n_estimators=2, max_samples=0.9)
        found = model.oob_importance(0.5, random_state=0)
        assert np.isfinite(found.repeats).all()

    def test_standard_errors_tell_noise_from_signal(self):
        data = make_aft(1000, n_features=5, n_noise=5, random_state=0)
        model = CensoredQuantileForest(n_estimators=100, random_state=0)
        found = model.fit(data.X, data.time, data.event).oob_importance(0.5, random_state=0)
        z = (found.mean / found.std_error)[:, 0]
        assert (z[1:5] > 5).all()
        assert (np.abs(z[5:]) < 4).all()

    @pytest.mark.parametrize(
        ("arguments", "error", "match"),
        [
            ({"quantiles": 1.5}, ValueError, "quantiles"),
            ({"n_repeats": 0}, ValueError, "n_repeats"),
            ({"n_repeats": 2.0}, TypeError, "n_repeats"),
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
