"""One object with all answers about some rows: what it says, and what it computes once."""

import numpy as np
import pandas as pd
import pytest

from cqrf import CensoredQuantileForest, _engine
from cqrf.datasets import make_aft
from cqrf.model import points as points_module

LEVELS = np.array([0.1, 0.5, 0.9])
TIMES = np.array([0.5, 1.0, 2.0, 4.0])
DATA = make_aft(200, random_state=0)
NEW = make_aft(30, random_state=1).X


def fit(**params):
    params = {"n_estimators": 20, "min_samples_leaf": 8, "random_state": 0} | params
    return CensoredQuantileForest(**params).fit(DATA.X, DATA.time, DATA.event)


@pytest.fixture(scope="module", params=["right", "left"])
def forest(request):
    return fit(censoring=request.param, ci_group_size=2)


@pytest.fixture
def calls(monkeypatch):
    """Names of what the engine is asked, in order."""
    names = []

    class Spy:
        def __init__(self, weights):
            self.weights = weights

        def __getattr__(self, name):
            if name not in ("rows",):
                names.append(name)
            return getattr(self.weights, name)

    of_forest = _engine.Weights.of_forest
    monkeypatch.setattr(
        points_module._engine.Weights, "of_forest", lambda *a: Spy(of_forest(*a)), raising=True
    )
    return names


class TestAnswers:
    """The methods of the forest are the same answers."""

    def test_without_a_condition(self, forest):
        law = forest.distribution(NEW)
        same = np.testing.assert_array_equal
        assert len(law) == len(NEW)
        same(law.quantile(LEVELS), forest.predict(NEW, LEVELS))
        same(law.quantile(), forest.predict(NEW))
        same(law.quantile(LEVELS, unreached="nan"), forest.predict(NEW, LEVELS, unreached="nan"))
        same(law.identified(LEVELS), forest.identified(NEW, LEVELS))
        same(law.interval(0.8), forest.predict_interval(NEW, 0.8))
        same(law.survival(TIMES), forest.predict_survival_function(NEW, TIMES))
        same(law.censoring(TIMES), forest.predict_censoring_function(NEW, TIMES))
        same(law.cumulative_hazard(TIMES), forest.predict_cumulative_hazard_function(NEW, TIMES))
        same(law.rmst(2.0), forest.predict_rmst(NEW, 2.0))
        same(law.weights().toarray(), forest.forest_weights(NEW).toarray())
        same(
            law.estimating_function(TIMES, 0.5),
            forest.estimating_function(NEW, TIMES, quantile=0.5),
        )
        for mine, theirs in zip(law.survival(), forest.predict_survival_function(NEW), strict=True):
            same(mine.y, theirs.y)

    def test_standard_errors(self, forest):
        law = forest.distribution(NEW)
        answers, std = forest.predict(NEW, LEVELS, return_std=True)
        np.testing.assert_array_equal(law.quantile_std(LEVELS), std)
        np.testing.assert_array_equal(law.quantile(LEVELS), answers)
        np.testing.assert_array_equal(
            law.quantile_interval(0.5), forest.predict_quantile_interval(NEW, 0.5)
        )
        survival, std = forest.predict_survival_function(NEW, TIMES, return_std=True)
        np.testing.assert_array_equal(law.survival_std(TIMES), std)
        np.testing.assert_array_equal(law.survival(TIMES), survival)

    def test_bounds(self):
        forest = fit().calibrate()
        law = forest.distribution(NEW)
        np.testing.assert_array_equal(law.lower_bound(0.8), forest.predict_lower_bound(NEW, 0.8))
        np.testing.assert_array_equal(law.upper_bound(0.8), forest.predict_upper_bound(NEW, 0.8))
        np.testing.assert_array_equal(
            law.interval(0.8, method="conformal"),
            forest.predict_interval(NEW, 0.8, method="conformal"),
        )

    def test_out_of_bag(self, forest):
        law = forest.oob_distribution()
        np.testing.assert_array_equal(law.quantile(LEVELS), forest.oob_predict(LEVELS))
        survival = law.survival(TIMES)
        assert survival.shape == (200, 4)
        assert (np.diff(survival, axis=1) <= 0.0).all()


class TestGivenATime:
    """T given T > a: quotients of the unconditional curves."""

    @pytest.fixture
    def after(self):
        return np.linspace(0.2, 1.5, len(NEW))

    def test_curves(self, forest, after):
        law, plain = forest.distribution(NEW, conditional_after=after), forest.distribution(NEW)
        curves = plain.survival()
        until = np.array([curve(a) for curve, a in zip(curves, after, strict=True)])[:, None]
        survival = np.stack([curve(TIMES) for curve in curves]) / until
        expected = np.where(after[:, None] >= TIMES, 1.0, survival)
        np.testing.assert_allclose(law.survival(TIMES), expected, rtol=1e-13)
        hazard = np.stack([curve(TIMES) for curve in plain.cumulative_hazard()])
        past = np.array([h(a) for h, a in zip(plain.cumulative_hazard(), after, strict=True)])
        np.testing.assert_allclose(
            law.cumulative_hazard(TIMES), np.maximum(hazard - past[:, None], 0.0), atol=1e-13
        )

    def test_quantiles(self, forest, after):
        law = forest.distribution(NEW, conditional_after=after)
        expected = forest.predict(NEW, LEVELS, conditional_after=after)
        np.testing.assert_array_equal(law.quantile(LEVELS), expected)
        if forest.censoring == "left":
            return  # step inverses of mirrored times are those of the other side of a jump
        # By the step inverse the conditional curve is at 1 - tau or below there, and above before.
        steps = law.quantile(LEVELS, interpolation="lower", unreached="nan")
        for curve, row in zip(law.survival(), steps, strict=True):
            for level, q in zip(LEVELS[~np.isnan(row)], row[~np.isnan(row)], strict=True):
                assert curve(q) <= 1.0 - level + 1e-9
                assert curve(np.nextafter(q, -np.inf)) > 1.0 - level - 1e-9

    def test_means(self, forest, after):
        law = forest.distribution(NEW, conditional_after=after)
        grid = np.linspace(0.0, 3.0, 300_001)
        curves = law.survival()
        area = [np.trapezoid(curve(grid), grid) for curve in curves]
        np.testing.assert_allclose(law.rmst(3.0), area, rtol=1e-4)
        np.testing.assert_allclose(law.mean_residual_life(3.0), law.rmst(3.0) - after, rtol=1e-14)
        assert (law.rmst(0.1) == 0.1).all()
        assert (law.mean_residual_life(0.1) == 0.0).all()

    def test_from_the_beginning_on_nothing_changes(self):
        forest = fit()
        law = forest.distribution(NEW, conditional_after=0.0)
        np.testing.assert_array_equal(
            law.survival(TIMES), [curve(TIMES) for curve in forest.distribution(NEW).survival()]
        )
        np.testing.assert_allclose(law.rmst(2.0), forest.predict_rmst(NEW, 2.0), rtol=1e-13)

    def test_what_does_not_go_with_it(self, forest):
        law = forest.distribution(NEW, conditional_after=1.0)
        for ask in (
            lambda: law.censoring(TIMES),
            lambda: law.quantile_std(),
            lambda: law.survival_std(TIMES),
            lambda: law.lower_bound(),
            lambda: law.interval(method="conformal"),
            lambda: law.estimating_function(TIMES, 0.5),
        ):
            with pytest.raises(ValueError, match="does not go with"):
                ask()
        with pytest.raises(ValueError, match="conditional_after"):
            forest.distribution(NEW).mean_residual_life(2.0)


class TestNothingTwice:
    def test_nothing_before_it_is_asked(self, forest, calls):
        forest.distribution(NEW)
        assert calls == []

    def test_quantiles_are_solved_once(self, forest, calls):
        law = forest.distribution(NEW)
        law.quantile(LEVELS)
        law.identified(LEVELS)
        law.quantile(LEVELS, unreached="inf")
        assert calls == ["quantiles"]
        law.interval(0.8)
        law.quantile(LEVELS, interpolation="lower")
        assert calls == ["quantiles"] * 3

    def test_standard_errors_solve_what_was_not_solved(self, calls):
        forest = fit(ci_group_size=2)
        forest.predict(NEW, LEVELS, return_std=True)
        # The quantiles, the error of S at them, and the quantiles of shifted levels.
        assert sorted(calls) == ["little_bags", "quantiles", "quantiles"]

    def test_leaves_are_found_once(self, forest, monkeypatch):
        found = []
        apply = points_module.TestPoints._kept_leaves.func
        monkeypatch.setattr(
            points_module.TestPoints._kept_leaves,
            "func",
            lambda self: found.append(1) or apply(self),
        )
        law = forest.distribution(NEW)
        law.quantile(LEVELS)
        law.survival(TIMES)
        law.rmst(2.0)
        assert found == [1]

    def test_kept_or_not_answers_are_the_same(self, forest, monkeypatch):
        kept = forest.distribution(NEW)
        expected = kept.quantile(LEVELS), kept.survival(TIMES), kept.rmst(2.0)
        for limit in (0, 30):  # nothing fits; bins fit and leaves do not
            monkeypatch.setattr(points_module, "_KEPT_BYTES", limit)
            law = forest.distribution(NEW)
            for mine, theirs in zip(
                (law.quantile(LEVELS), law.survival(TIMES), law.rmst(2.0)), expected, strict=True
            ):
                np.testing.assert_array_equal(mine, theirs)

    def test_what_is_kept_cannot_be_changed_by_the_caller(self, forest):
        law = forest.distribution(NEW)
        first = law.quantile(LEVELS)
        first[:] = -1.0
        law.identified(LEVELS)[:] = False
        np.testing.assert_array_equal(law.quantile(LEVELS), forest.predict(NEW, LEVELS))
        np.testing.assert_array_equal(law.identified(LEVELS), forest.identified(NEW, LEVELS))


def test_leaves_out_of_range_are_refused(forest):
    trees, target = forest.trees_, forest.target_
    bins = forest.model_.bins[:5]
    leaves = trees.engine.apply(bins, 1)
    for wrong in (-1, 10**6):
        bad = leaves.copy()
        bad[3, 7] = wrong
        with pytest.raises(ValueError, match="leaf out of range"):
            _engine.Weights.of_forest(trees.engine, target.engine, bins, 0, bad)
    with pytest.raises(ValueError, match="a row per test point"):
        _engine.Weights.of_forest(trees.engine, target.engine, bins, 0, leaves[:4])


def test_the_model_is_immutable_and_replaced_whole():
    forest = fit()
    model = forest.model_
    forest.calibrate()
    assert model.calibration is None
    assert forest.model_.trees is model.trees
    with pytest.raises(AttributeError):
        model.calibration = None


def test_conditions_are_paired_with_rows_by_their_labels():
    frame = pd.DataFrame(DATA.X, columns=[f"f{j}" for j in range(DATA.X.shape[1])])
    forest = CensoredQuantileForest(5, random_state=0).fit(frame, DATA.time, DATA.event)
    asked = frame[:10].set_axis(range(100, 110))
    after = pd.Series(1.0, index=asked.index)
    forest.distribution(asked, conditional_after=after)
    for ask in (forest.distribution, forest.predict, forest.identified, forest.predict_interval):
        with pytest.raises(ValueError, match="conditional_after"):
            ask(asked, conditional_after=after[::-1])
