"""Standard errors from groups of trees that know one half of the rows each."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
import twins
from scipy.stats import norm, t

from cqrf import CensoredQuantileForest, _engine
from cqrf.datasets import make_aft
from cqrf.model.little_bags import positive_part

LEVELS = [0.1, 0.5, 0.9]
DATA = make_aft(80, random_state=0)
TEST = np.linspace(0.1, 1.9, 5)[:, None]


def grow(data=DATA, n_trees=30, group_size=3, sample_weight=None, **parameters):
    options = {"min_samples_leaf": 5, "random_state": 0} | parameters
    forest = CensoredQuantileForest(n_trees, ci_group_size=group_size, **options)
    return forest.fit(data.X, data.time, data.event, sample_weight=sample_weight)


def tree_weights(forest, x, sample_weight=None):
    """Weights (B, n) of every tree at one test point, from its leaves."""
    trees, order = forest.trees_, forest.target_.order
    leaves = forest.apply(x[None])[0]
    weights = np.zeros((len(trees), len(order)))
    for b, leaf in enumerate(leaves):
        start = trees.leaf_start[trees.leaf_offset[b] :][leaf : leaf + 2]
        rows = order[trees.ranks()[b, start[0] : start[1]]]
        w = np.ones(len(rows)) if sample_weight is None else sample_weight[rows]
        weights[b, rows] = w / w.sum()
    return weights


def rows_of(forest, tree):
    """The training rows that fill the leaves of a tree."""
    trees = forest.trees_
    end = trees.leaf_start[trees.leaf_offset[tree + 1] - 1]
    return frozenset(forest.target_.order[trees.ranks()[tree, :end]].tolist())


class TestGroups:
    def test_trees_of_a_group_know_one_half_of_the_rows(self):
        forest = grow(bootstrap=False)
        rows = [rows_of(forest, tree) for tree in range(30)]
        assert {len(r) for r in rows} == {40}
        assert all(rows[tree] == rows[tree - tree % 3] for tree in range(30))
        assert len(set(rows)) == 10

    def test_halves_are_drawn_anew_and_evenly(self):
        forest = grow(n_trees=1200, group_size=2, max_depth=1)
        counts = np.zeros(80)
        for tree in range(0, 1200, 2):
            counts[list(rows_of(forest, tree))] += 1
        # Binomial(600, 1/2) in 80 cells that add up: chi-square with 79 degrees of freedom.
        assert 45 < np.sum((counts - 300) ** 2 / 150) < 125

    @pytest.mark.parametrize("options", [{}, {"bootstrap": True}, {"max_samples": 0.3}])
    def test_trees_draw_within_the_half(self, options):
        forest = grow(**options)
        n_draws = forest.model_.options.n_draws
        assert n_draws == {"{}": 36}.get(str(options), 12 if "max_samples" in options else 40)
        for tree in range(30):
            counts = _engine.sample_counts(
                forest.trees_.seed, tree, 80, n_draws, forest.model_.options.replace, 3
            )
            assert counts.sum() == n_draws
            assert set(forest.target_.order[counts > 0]) <= rows_of(forest, tree)

    def test_honest_trees_fill_with_half_of_what_they_draw(self):
        forest = grow(honest=True)
        rows = [rows_of(forest, tree) for tree in range(30)]
        assert {len(r) for r in rows} == {18}
        assert all(len(rows[tree] | rows[tree - tree % 3]) <= 40 for tree in range(30))
        assert len(set(rows)) == 30

    def test_out_of_bag_rows_are_those_not_drawn(self):
        forest = grow(n_trees=18)
        n, leaves = 80, forest.apply(DATA.X)
        weights = np.zeros((n, n))
        for tree in range(18):
            counts = _engine.sample_counts(forest.trees_.seed, tree, n, 36, False, 3)
            drawn = set(forest.target_.order[counts > 0].tolist())
            for row in set(range(n)) - drawn:
                same = leaves[:, tree] == leaves[row, tree]
                others = [i for i in rows_of(forest, tree) if same[i] and i != row]
                weights[row, others] += 1 / len(others)
        expected = [twins.solve_quantile(DATA.time, DATA.event, w, 0.5) for w in weights[:20]]
        np.testing.assert_allclose(forest.oob_predict(0.5)[:20], expected, rtol=1e-12)

    def test_warm_start_grows_the_same_groups(self):
        whole = grow()
        forest = grow(n_trees=12, warm_start=True).set_params(n_estimators=30)
        forest.fit(DATA.X, DATA.time, DATA.event)
        np.testing.assert_array_equal(
            forest.predict(TEST, LEVELS, return_std=True),
            whole.predict(TEST, LEVELS, return_std=True),
        )

    def test_leaf_size_is_chosen(self):
        forest = grow(min_samples_leaf=None)
        assert forest.leaf_size_path_ is not None
        assert forest.predict(TEST).shape == (5,)

    def test_one_row(self):
        forest = CensoredQuantileForest(4, ci_group_size=2, random_state=0).fit([[1.0]], [2.0])
        answers, std = forest.predict([[1.0]], return_std=True)
        assert answers == [2.0]
        assert std == [0.0]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("honest", [False, True])
def test_variances_are_those_of_the_formula(weighted, honest):
    data = make_aft(60, rate=0.2, random_state=3)
    # Ties between events, and of events with censored rows.
    data.time = np.ceil(data.time * 3) / 3
    weight = np.random.default_rng(0).uniform(0.2, 2.0, 60) if weighted else None
    forest = grow(data, sample_weight=weight, honest=honest, min_samples_leaf=5)
    times = np.array([[1.0, 2.0, 2.5, 4.0, 9.0]] * len(TEST))
    estimation = forest.distribution(TEST).estimation
    found = estimation.weights.little_bags(times, False, 3, 1, 64)
    for i, x in enumerate(TEST):
        per_tree = tree_weights(forest, x, weight)
        for j, at in enumerate(times[i]):
            expected = twins.little_bags(per_tree, 3, data.time, data.event, at)
            np.testing.assert_allclose(
                [found[0][i, j], found[1][i, j]], expected, rtol=1e-3, atol=1e-9
            )


def test_variance_is_kept_positive_by_the_formula():
    rng = np.random.default_rng(0)
    between, noise = rng.exponential(size=(2, 40))
    found = positive_part(between, noise, 12)
    for b, n, v in zip(between, noise, found, strict=True):
        law = norm(b - n, max(b, n) * np.sqrt(2 / 12))
        mean = law.expect(lb=0.0, conditional=True)
        assert v == pytest.approx(mean, rel=1e-5)
    assert positive_part(np.zeros(1), np.zeros(1), 12) == 0.0


def survival_std(forest, x, at):
    b, n = twins.little_bags(tree_weights(forest, x), 3, DATA.time, DATA.event, at)
    return np.sqrt(positive_part(np.array(b), np.array(n), 10) + b / 10)


def test_standard_errors_of_survival_probabilities():
    forest = grow()
    times = [2.0, 6.0, 3.0]
    values, std = forest.predict_survival_function(TEST, times, return_std=True)
    np.testing.assert_array_equal(values, forest.predict_survival_function(TEST, times))
    for i, x in enumerate(TEST):
        expected = [survival_std(forest, x, at) for at in times]
        np.testing.assert_allclose(std[i], expected, rtol=1e-3, atol=1e-9)
    _, on_grid = forest.predict_survival_function(TEST, return_std=True)
    assert on_grid.shape == (5, len(forest.times_))


def test_quantile_interval_goes_between_shifted_levels():
    forest = grow(min_samples_leaf=15)
    for level, confidence in ((0.5, 0.95), (0.3, 0.8)):
        interval = forest.predict_quantile_interval(TEST, level, confidence)
        answers, std = forest.predict(TEST, level, return_std=True)
        for i, x in enumerate(TEST):
            sigma = survival_std(forest, x, answers[i])
            shift = t.ppf((1 + confidence) / 2, 9) * sigma
            wanted = forest.predict(x[None], [level - shift, level + shift], unreached="inf")[0]
            np.testing.assert_allclose(interval[i], wanted, rtol=1e-3)
            ends = forest.predict(x[None], [level - sigma, level + sigma])[0]
            assert std[i] == pytest.approx((ends[1] - ends[0]) / 2, rel=1e-2)


def test_shapes():
    forest = grow()
    answers, std = forest.predict(TEST, LEVELS, return_std=True)
    np.testing.assert_array_equal(answers, forest.predict(TEST, LEVELS))
    assert std.shape == (5, 3)
    assert (std > 0).all()
    answers, std = forest.predict(TEST, 0.5, return_std=True)
    assert answers.shape == std.shape == (5,)
    assert forest.predict_quantile_interval(TEST).shape == (5, 2)


def test_left_censoring_is_the_mirror_image():
    right = grow()
    left = CensoredQuantileForest(
        30, ci_group_size=3, min_samples_leaf=5, random_state=0, censoring="left"
    ).fit(DATA.X, -DATA.time, DATA.event)
    a, std_a = right.predict(TEST, [0.2, 0.5], return_std=True)
    b, std_b = left.predict(TEST, [0.8, 0.5], return_std=True)
    np.testing.assert_allclose(a, -b, rtol=1e-12)
    np.testing.assert_allclose(std_a, std_b, rtol=1e-9)
    np.testing.assert_allclose(
        right.predict_quantile_interval(TEST, 0.3),
        -left.predict_quantile_interval(TEST, 0.7)[:, ::-1],
        rtol=1e-9,
    )
    # P(-T > -t) = 1 - P(T >= t): times between the observed ones, where both limits agree.
    times = np.array([2.01234, 4.56789])
    np.testing.assert_allclose(
        right.predict_survival_function(TEST, times, return_std=True)[1],
        left.predict_survival_function(TEST, -times, return_std=True)[1],
        rtol=1e-9,
    )


def test_open_ends_are_infinite():
    forest = grow(make_aft(200, rate=0.6, random_state=1))
    open_above = ~forest.identified(TEST, 0.95)
    assert 0 < open_above.sum() < len(TEST)
    interval = forest.predict_quantile_interval(TEST, 0.95)
    assert np.isinf(interval[open_above]).all()
    assert np.isnan(forest.predict(TEST, 0.95, return_std=True)[1][open_above]).all()
    assert (forest.predict_quantile_interval(TEST, 0.001)[:, 0] == -np.inf).all()


@pytest.mark.parametrize("n_jobs", [2, 3])
def test_threads_do_not_matter(n_jobs):
    one, many = grow(n_jobs=1), grow(n_jobs=n_jobs)
    X = make_aft(300, random_state=9).X
    for ask in (
        lambda f: f.predict(X, LEVELS, return_std=True),
        lambda f: f.predict_quantile_interval(X, 0.4),
        lambda f: f.predict_survival_function(X, [2.0, 5.0], return_std=True),
    ):
        np.testing.assert_array_equal(ask(one), ask(many))


def test_frames_and_copies(tmp_path):
    forest = CensoredQuantileForest(12, ci_group_size=3, min_samples_leaf=10, random_state=0)
    frame = pd.DataFrame(DATA.X, columns=["x"])
    forest.fit(frame, DATA.time, DATA.event)
    expected = forest.predict(frame, LEVELS, return_std=True)
    np.testing.assert_array_equal(
        forest.predict(pl.DataFrame({"x": DATA.X[:, 0]}), LEVELS, return_std=True), expected
    )
    forest.save(tmp_path / "model.cqrf")
    loaded = CensoredQuantileForest.load(tmp_path / "model.cqrf")
    for copy in (pickle.loads(pickle.dumps(forest)), loaded):
        np.testing.assert_array_equal(copy.predict(frame, LEVELS, return_std=True), expected)
        assert copy.ci_group_size == 3


class TestBadInput:
    @pytest.mark.parametrize("value", [0, -1, 2.0, None, True])
    def test_group_size(self, value):
        with pytest.raises((ValueError, TypeError), match="ci_group_size"):
            grow(group_size=value)

    def test_incomplete_group(self):
        with pytest.raises(ValueError, match="n_estimators must be a multiple of ci_group_size=4"):
            grow(group_size=4)

    def test_no_groups(self):
        forest = grow(group_size=1)
        for ask in (
            lambda: forest.predict(TEST, return_std=True),
            lambda: forest.predict_survival_function(TEST, [1.0], return_std=True),
            lambda: forest.predict_quantile_interval(TEST),
        ):
            with pytest.raises(ValueError, match="ci_group_size"):
                ask()

    def test_one_group(self):
        with pytest.raises(ValueError, match="two groups"):
            grow(n_trees=3).predict(TEST, return_std=True)

    def test_other_curves(self):
        forest = grow(censoring_curve="marginal")
        with pytest.raises(ValueError, match='censoring_curve="beran"'):
            forest.predict(TEST, return_std=True)

    def test_conditions(self):
        with pytest.raises(ValueError, match="conditional_after"):
            grow().predict(TEST, conditional_after=1.0, return_std=True)

    def test_arguments(self):
        forest = grow()
        with pytest.raises(ValueError, match="return_std"):
            forest.predict(TEST, return_std="yes")
        with pytest.raises(ValueError, match="quantile must be one number"):
            forest.predict_quantile_interval(TEST, [0.1, 0.5])
        with pytest.raises(ValueError, match="confidence must lie"):
            forest.predict_quantile_interval(TEST, 0.5, 1.0)
        with pytest.raises(TypeError, match="confidence must be a number"):
            forest.predict_quantile_interval(TEST, 0.5, "high")
