"""Displays: what they draw, that they keep it, and how they follow scikit-learn's conventions."""

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.exceptions import NotFittedError

from cqrf import CensoredQuantileForest, plot
from cqrf.app.report.subject import COLOURS
from cqrf.metrics import quantile_calibration
from cqrf.plot import (
    CalibrationDisplay,
    EstimatingFunctionDisplay,
    ImportanceDisplay,
    LeafSizePathDisplay,
    NeighborsDisplay,
    QuantileFanDisplay,
    SurvivalCurvesDisplay,
)
from cqrf.plot.style import GREY
from cqrf.support.colours import BLUE, GREEN, RED, ROWS, colour_of_level

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
from matplotlib import pyplot as plt  # noqa: E402
from matplotlib.colors import to_hex  # noqa: E402

LEVELS = [0.1, 0.5, 0.9]


def draw(seed=0, n=400):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": rng.uniform(20, 80, n).round(),
            "kind": rng.choice(["a", "b", "c"], n),
            "dose": rng.integers(0, 2, n),
        }
    )
    T = np.exp(frame["age"] / 40 + (frame["kind"] == "a") + 0.4 * rng.normal(size=n))
    C = rng.exponential(12.0, n)
    return frame, np.minimum(T, C).to_numpy(), (T <= C).to_numpy()


X, TIME, EVENT = draw()


@pytest.fixture(scope="module")
def forest():
    return CensoredQuantileForest(40, default_quantiles=LEVELS, random_state=0).fit(X, TIME, EVENT)


@pytest.fixture(scope="module")
def left():
    model = CensoredQuantileForest(40, censoring="left", default_quantiles=LEVELS, random_state=0)
    return model.fit(X, -TIME, EVENT)


@pytest.fixture(autouse=True)
def close():
    yield
    plt.close("all")


DISPLAYS = {
    "survival": lambda model, ax: SurvivalCurvesDisplay.from_estimator(model, X[:3], ax=ax),
    "crowd": lambda model, ax: SurvivalCurvesDisplay.from_estimator(model, X[:300], ax=ax),
    "fan": lambda model, ax: QuantileFanDisplay.from_estimator(model, X[:5], "age", ax=ax),
    "calibration": lambda model, ax: CalibrationDisplay.from_estimator(
        model, X, -TIME if model.censoring == "left" else TIME, EVENT, ax=ax
    ),
    "importance": lambda model, ax: ImportanceDisplay.from_estimator(
        model, n_repeats=1, random_state=0, ax=ax
    ),
    "equation": lambda model, ax: EstimatingFunctionDisplay.from_estimator(model, X[:3], ax=ax),
    "equations": lambda model, ax: EstimatingFunctionDisplay.from_estimator(model, X[:300], ax=ax),
    "path": lambda model, ax: LeafSizePathDisplay.from_estimator(model, ax=ax),
    "neighbors": lambda model, ax: NeighborsDisplay.from_estimator(model, X.iloc[0], ax=ax),
}


class TestConventions:
    @pytest.mark.parametrize("name", DISPLAYS)
    @pytest.mark.parametrize("side", ["right", "left"])
    def test_axes(self, name, side, forest, left):
        model = forest if side == "right" else left
        display = DISPLAYS[name](model, None)
        assert display.figure_ is display.ax_.figure
        assert display.ax_.get_xlabel()
        # Text that does not fit would be cut or overlap: every size must at least lay itself out.
        for size in ((3.0, 2.2), (9.0, 6.0)):
            display.figure_.set_size_inches(size)
            display.figure_.canvas.draw()
        figure, ax = plt.subplots()
        given = DISPLAYS[name](model, ax)
        assert given.ax_ is ax
        assert given.figure_ is figure
        assert given.plot() is given
        assert given.ax_ is not ax

    def test_every_display_is_here(self):
        assert {name for name in plot.__all__ if name.endswith("Display")} == set(plot.__all__)
        for name in plot.__all__:
            assert hasattr(getattr(plot, name), "from_estimator")

    def test_matplotlib_is_imported_when_something_is_drawn(self):
        subprocess.run(
            [sys.executable, "-c", "import sys, cqrf.plot; assert 'matplotlib' not in sys.modules"],
            check=True,
        )

    def test_missing_extra(self):
        code = (
            "import sys; sys.modules['matplotlib.pyplot'] = None\n"
            "from cqrf.plot import SurvivalCurvesDisplay as D\n"
            "try: D.from_predictions([1.0], [[0.5]])\n"
            "except ImportError as error: print(error)"
        )
        said = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
        assert said.stdout.decode() == "cqrf.plot needs matplotlib: pip install 'cqrf[plot]'\n"

    def test_not_fitted(self):
        for name in DISPLAYS:
            with pytest.raises(NotFittedError):
                DISPLAYS[name](CensoredQuantileForest(), None)
        assert plt.get_fignums() == []


class TestColours:
    def test_a_quantile_has_one_colour_everywhere(self, forest):
        expected = [colour_of_level(level) for level in LEVELS]
        fan = QuantileFanDisplay.from_estimator(forest, X[:5], "age", quantiles=LEVELS)
        assert [line.get_color() for line in fan.lines_[:3]] == expected
        neighbors = NeighborsDisplay.from_estimator(forest, X.iloc[0], quantiles=LEVELS)
        assert [line.get_color() for line in neighbors.quantiles_] == expected
        curves = SurvivalCurvesDisplay.from_estimator(forest, X[:3], quantiles=[0.1, 0.5])
        for marks, known in zip(curves.marks_, curves.identified, strict=True):
            colours = [to_hex(colour).upper() for colour in marks.get_facecolor()]
            assert colours == [colour for colour, k in zip(expected, known, strict=False) if k]
        # No row is taken for one.
        assert not {colour.upper() for colour in ROWS} & set(expected)
        # Whichever levels are drawn beside it.
        for levels in (LEVELS, [0.5, 0.9], [0.9, 0.1, 0.5]):
            found = forest.oob_importance(levels, n_repeats=1, random_state=0)
            lines = ImportanceDisplay(found).plot().lines_
            colours = {
                level: line.lines[0].get_color()
                for level, line in zip(found.quantiles, lines, strict=True)
            }
            assert colours == {level: colour_of_level(level) for level in levels}
        assert list(COLOURS) == expected

    def test_levels_between_are_mixed(self):
        levels = np.arange(1, 200) / 200
        colours = [colour_of_level(level) for level in levels]
        assert len(set(colours)) == len(levels)
        assert [colour_of_level(level) for level in (0.1, 0.5, 0.9)] == [BLUE, GREEN, RED]
        assert all(len(colour) == 7 and int(colour[1:], 16) >= 0 for colour in colours)


def limits():
    """A forest whose values are measured from their median on."""
    limit = np.median(TIME)
    model = CensoredQuantileForest(10, censoring="left", min_samples_leaf=40, random_state=0)
    return model.fit(X, np.maximum(TIME, limit), limit <= TIME)


class TestWords:
    def test_limits_are_not_times(self, left, forest):
        for model, words in ((left, ("value", "measured", "below")), (forest, ("time", "event"))):
            curves = SurvivalCurvesDisplay.from_estimator(model, X[:3])
            assert curves.ax_.get_xlabel() == f"{words[0]} t"
            near = NeighborsDisplay.from_estimator(model, X.iloc[0])
            assert words[0] in near.ax_.get_xlabel()
            assert near.events_.get_label().startswith(words[1])
        roots = EstimatingFunctionDisplay.from_estimator(limits(), X[:1], 0.1)
        assert roots.ax_.get_legend().get_texts()[0].get_text().startswith("row 0: below ")

    def test_a_record_of_limits_ends_on_the_left(self):
        display = SurvivalCurvesDisplay.from_estimator(limits(), X[:1], quantiles=[0.1, 0.9])
        (bar,) = [line for line in display.ax_.lines if line.get_marker() == "|"]
        assert bar.get_xdata()[0] == display.curves[0].x[0]


class TestSurvivalCurves:
    def test_few(self, forest):
        display = SurvivalCurvesDisplay.from_estimator(forest, X[:3], labels=["x", "y", "z"])
        curves = forest.predict_survival_function(X[:3])
        quantiles, known = forest.predict(X[:3]), forest.identified(X[:3])
        assert [line.get_label() for line in display.lines_] == ["x", "y", "z"]
        for k in range(3):
            np.testing.assert_array_equal(display.lines_[k].get_xdata()[1:], curves[k].x)
            np.testing.assert_array_equal(display.lines_[k].get_ydata()[1:], curves[k].y)
            assert display.lines_[k].get_ydata()[0] == 1
            at = display.marks_[k].get_offsets()[:, 0]
            np.testing.assert_array_equal(at, quantiles[k][known[k]])
        assert len({line.get_color() for line in display.lines_}) == 3
        assert display.ax_.get_xlim()[0] == 0

    def test_many(self, forest):
        display = SurvivalCurvesDisplay.from_estimator(forest, X[:300])
        assert len(display.lines_) == 301
        assert len(display.bands_) == 1
        assert display.marks_ == []
        grid = display.lines_[-1].get_xdata()
        values = forest.predict_survival_function(X[:300], times=grid)
        np.testing.assert_allclose(
            display.lines_[-1].get_ydata(), np.median(values, axis=0), atol=1e-12
        )

    def test_confidence_bands_of_a_forest_with_groups(self, forest):
        model = CensoredQuantileForest(
            40, ci_group_size=2, min_samples_leaf=20, random_state=0
        ).fit(X, TIME, EVENT)
        display = SurvivalCurvesDisplay.from_estimator(model, X[:3], confidence=0.9)
        survival, std = model.predict_survival_function(X[:3], return_std=True)
        for row, (low, high) in enumerate(display.bands):
            # 1.645 is the 95% quantile of the normal distribution.
            np.testing.assert_allclose(
                low.y, np.maximum(survival[row] - 1.645 * std[row], 0), atol=1e-3
            )
            np.testing.assert_allclose(
                high.y, np.minimum(survival[row] + 1.645 * std[row], 1), atol=1e-3
            )
        assert len(display.bands_) == 3
        with pytest.raises(ValueError, match="ci_group_size"):
            SurvivalCurvesDisplay.from_estimator(forest, X[:3], confidence=0.9)
        with pytest.raises(ValueError, match="confidence"):
            SurvivalCurvesDisplay.from_estimator(model, X[:3], confidence=2.0)

    def test_given_curves_with_bands(self):
        survival = np.array([[0.8, 0.4, 0.2], [0.9, 0.8, 0.7]])
        display = SurvivalCurvesDisplay.from_predictions(
            [1.0, 2.0, 3.0], survival, lower=survival - 0.1, upper=survival + 0.1, quantiles=0.5
        )
        np.testing.assert_array_equal(display.marks[display.identified], [2.0])
        np.testing.assert_array_equal(display.identified, [[True], [False]])
        assert len(display.bands_) == 2
        one = SurvivalCurvesDisplay.from_predictions([1.0, 2.0], [0.5, 0.2])
        assert len(one.lines_) == 1
        assert one.ax_.get_legend() is None

    @pytest.mark.parametrize(
        ("arguments", "error", "match"),
        [
            (([1.0, 2.0], [[0.5]]), ValueError, "survival must have shape"),
            (([2.0, 1.0], [[0.5, 0.4]]), ValueError, "ascending"),
            (([1.0], [[0.5]], {"quantiles": 2}), ValueError, "quantiles"),
            (([1.0], [[0.5]], {"labels": ["a", "b"]}), ValueError, "labels has 2 entries"),
            (([1.0], [[0.5]], {"lower": [[0.4]]}), ValueError, "together"),
            (
                ([1.0], [[0.5]], {"lower": [[0.4]], "upper": [[1, 2]]}),
                ValueError,
                "upper must have shape",
            ),
        ],
    )
    def test_bad_input(self, arguments, error, match):
        *positional, keywords = arguments if isinstance(arguments[-1], dict) else (*arguments, {})
        with pytest.raises(error, match=match):
            SurvivalCurvesDisplay.from_predictions(*positional, **keywords)
        assert plt.get_fignums() == []


class TestFan:
    @pytest.mark.parametrize("container", [lambda f: f, pl.from_pandas, pa.Table.from_pandas])
    def test_it_draws_the_effect_of_the_feature(self, forest, container):
        rows = container(X[:7])
        display = QuantileFanDisplay.from_estimator(forest, rows, "age", quantiles=[0.9, 0.5, 0.1])
        effect = display.effect
        np.testing.assert_array_equal(effect.values, np.unique(X[:7]["age"]))
        np.testing.assert_array_equal(effect.levels, [0.1, 0.5, 0.9])
        for k, value in enumerate(effect.values):
            mean = forest.predict_survival_function(
                X[:7].assign(age=value), effect.quantiles[k, [0, 1]]
            ).mean(axis=0)
            # The curve jumps, by less than this, across its level.
            np.testing.assert_allclose(mean, [0.9, 0.5], atol=0.06)
        np.testing.assert_array_equal(display.lines_[1].get_ydata(), effect.quantiles[:, 1])
        assert len(display.bands_) == 1

    def test_categories(self, forest):
        display = QuantileFanDisplay.from_estimator(forest, X[:7], "kind")
        assert display.effect.values.tolist() == ["a", "b", "c"]
        assert [text.get_text() for text in display.ax_.get_xticklabels()] == ["a", "b", "c"]
        # The times of the first kind are longer.
        assert display.effect.quantiles[0, 2] > 1.5 * display.effect.quantiles[1, 2]

    def test_bounds_are_dotted(self):
        # Of the old, half have had no event at the end of the study.
        end = np.quantile(TIME, 0.6)
        model = CensoredQuantileForest(40, random_state=0)
        model.fit(X, np.minimum(TIME, end), EVENT & (end >= TIME))
        display = QuantileFanDisplay.from_estimator(model, X[:7], "age", quantiles=[0.1, 0.5])
        known = display.effect.identified[:, 1]
        assert 0 < known.sum() < len(known)
        late, dotted = display.lines_[-2:]
        np.testing.assert_array_equal(np.isnan(late.get_ydata()), ~known)
        assert dotted.get_linestyle() == ":"
        assert (dotted.get_ydata()[~known] == end).all()

    def test_an_indicator_has_two_ticks(self, forest):
        display = QuantileFanDisplay.from_estimator(forest, X[:7], "dose")
        assert [text.get_text() for text in display.ax_.get_xticklabels()] == ["0", "1"]

    def test_arrays_and_one_row(self):
        numbers = X[["age", "dose"]].to_numpy().astype(int)
        model = CensoredQuantileForest(10, min_samples_leaf=5, random_state=0)
        model.fit(numbers, TIME, EVENT)
        display = QuantileFanDisplay.from_estimator(model, numbers[:1], 0, grid_resolution=9)
        effect = display.effect
        assert len(effect.values) == 9
        rows = np.column_stack([effect.values, np.full(9, numbers[0, 1])])
        known = model.identified(rows, effect.levels)
        np.testing.assert_array_equal(effect.identified, known)
        np.testing.assert_allclose(
            effect.quantiles[known], model.predict(rows, effect.levels)[known], rtol=1e-12
        )
        assert effect.name == "x0"

    def test_text_in_an_array(self):
        table = X[["kind", "age"]].to_numpy()
        model = CensoredQuantileForest(10, min_samples_leaf=5, categorical_features=[0])
        display = QuantileFanDisplay.from_estimator(model.fit(table, TIME), table[:4], 0)
        assert display.effect.values.tolist() == ["a", "b", "c"]

    @pytest.mark.filterwarnings("error")
    def test_one_level_has_a_name(self, forest):
        for level, name in ((0.5, "median"), (0.9, "quantile 0.9")):
            display = QuantileFanDisplay.from_estimator(forest, X[:3], "dose", quantiles=level)
            assert [text.get_text() for text in display.ax_.get_legend().get_texts()] == [name]

    def test_many_rows_are_thinned(self, forest):
        display = QuantileFanDisplay.from_estimator(forest, X, "dose", quantiles=0.5)
        rows = np.unique(np.linspace(0, 399, 100).round().astype(int))
        thinned = QuantileFanDisplay.from_estimator(forest, X.iloc[rows], "dose", quantiles=0.5)
        np.testing.assert_array_equal(display.effect.quantiles, thinned.effect.quantiles)

    @pytest.mark.parametrize(
        ("arguments", "error", "match"),
        [
            ({"feature": "weight"}, ValueError, "feature holds 'weight'"),
            ({"feature": 3}, ValueError, "0 to 2"),
            ({"feature": 0, "quantiles": [0]}, ValueError, "quantiles"),
            ({"feature": 0, "grid_resolution": 1}, ValueError, "grid_resolution"),
        ],
    )
    def test_bad_input(self, forest, arguments, error, match):
        with pytest.raises(error, match=match):
            QuantileFanDisplay.from_estimator(forest, X[:3], **arguments)

    def test_a_constant_feature(self):
        table = np.column_stack([X["age"], np.ones(400)])
        model = CensoredQuantileForest(5, min_samples_leaf=5).fit(table, TIME)
        with pytest.raises(ValueError, match="'x1' does not vary"):
            QuantileFanDisplay.from_estimator(model, table, 1)


class TestCalibration:
    def test_levels(self, forest):
        display = CalibrationDisplay.from_estimator(
            forest, X, TIME, EVENT, quantiles=[0.5, 0.1], name="in-sample"
        )
        expected = quantile_calibration(
            TIME, forest.predict(X, [0.5, 0.1]), [0.5, 0.1], event=EVENT, train=forest.target_
        )
        np.testing.assert_array_equal(display.calibration.observed, expected.observed)
        points = display.line_.lines[0]
        np.testing.assert_array_equal(points.get_xdata(), [0.1, 0.5])
        np.testing.assert_array_equal(points.get_ydata(), expected.observed[::-1])
        assert display.ax_.get_legend().get_texts()[0].get_text() == "in-sample"

    @pytest.mark.filterwarnings("ignore:quantile_calibration is undefined")
    def test_what_the_data_do_not_reach_is_not_judged(self):
        # Without splits the late quantiles lie beyond the end of the study.
        end = np.quantile(TIME, 0.4)
        model = CensoredQuantileForest(10, min_samples_leaf=len(X), random_state=0)
        model.fit(X, np.minimum(TIME, end), EVENT & (end >= TIME))
        display = CalibrationDisplay.from_estimator(
            model, X, np.minimum(TIME, end), EVENT & (end >= TIME), quantiles=[0.1, 0.9]
        )
        np.testing.assert_array_equal(display.calibration.n_used, [len(X), 0])
        assert abs(display.calibration.observed[0] - 0.1) < 0.02

    def test_from_predictions(self):
        time, event = [1.0, 2.0, 3.0, 4.0], [True, True, False, True]
        display = CalibrationDisplay.from_predictions(
            time, [[1.5, 3.5]] * 4, [0.25, 0.75], event=event
        )
        np.testing.assert_array_equal(display.calibration.observed, [0.25, 0.5])
        # Four rows tell little.
        assert len(display.line_.lines[0].get_xdata()) == 0
        np.testing.assert_array_equal(display.faint_.lines[0].get_ydata(), [0.25, 0.5])
        assert display.faint_.lines[0].get_color() == GREY

    def test_levels_that_hardly_a_row_reaches_are_grey(self):
        predicted = np.tile([1.0, 99.0], (len(TIME), 1))
        predicted[0, 1] = 2.0
        display = CalibrationDisplay.from_predictions(TIME, predicted, [0.2, 0.9], event=EVENT)
        np.testing.assert_array_equal(display.calibration.n_used, [len(TIME), 1])
        np.testing.assert_array_equal(display.line_.lines[0].get_xdata(), [0.2])
        np.testing.assert_array_equal(display.faint_.lines[0].get_xdata(), [0.9])


class TestImportance:
    def test_order_and_errors(self, forest):
        found = forest.oob_importance([0.25, 0.5, 0.75], random_state=0)
        display = ImportanceDisplay(found).plot()
        assert len(display.lines_) == 3
        horizon = f"(horizon {forest.horizon_:g})"
        assert display.ax_.get_xlabel() == f"increase of the out-of-bag loss {horizon}"
        names = [text.get_text() for text in display.ax_.get_yticklabels()]
        assert names == [found.feature_names[j] for j in display.order_]
        assert names[-1] == "dose"
        np.testing.assert_array_equal(
            display.lines_[1].lines[0].get_xdata(), found.mean[display.order_, 1]
        )

    def test_shares_of_the_score(self, forest):
        found = forest.oob_importance(random_state=0)
        display = ImportanceDisplay(found).plot()
        assert len(display.lines_) == 1
        np.testing.assert_array_equal(
            display.lines_[0].lines[0].get_xdata(), found.mean[display.order_]
        )
        np.testing.assert_array_equal(display.order_, np.argsort(-found.mean))
        assert display.ax_.get_xlabel() == f"score lost without it (horizon {forest.horizon_:g})"
        assert display.ax_.get_legend() is None
        assert display.ax_.xaxis.get_major_formatter()(0.125) == "12.5%"

    def test_no_more_than_there_is_room_for(self, forest):
        found = forest.oob_importance(0.5, n_repeats=1, random_state=0)
        display = ImportanceDisplay(found).plot(max_features=2)
        assert len(display.order_) == 2
        assert display.ax_.get_ylabel() == "2 of 3 features"
        many = type(found)(
            [f"x{j}" for j in range(300)],
            found.quantiles,
            *np.zeros((2, 300)),
            np.zeros((1, 300)),
            found.horizon,
        )
        drawn = [
            len(ImportanceDisplay(many).plot(plt.subplots(figsize=size)[1]).order_)
            for size in ((3, 2), (8, 6))
        ]
        assert 5 < drawn[0] < drawn[1] < 40
        with pytest.raises(ValueError, match="max_features"):
            ImportanceDisplay(found).plot(max_features=0)


class TestEquation:
    def test_values_and_roots(self, forest):
        display = EstimatingFunctionDisplay.from_estimator(forest, X[:3], 0.25)
        np.testing.assert_array_equal(display.roots, forest.predict(X[:3], 0.25))
        np.testing.assert_array_equal(
            display.values, forest.estimating_function(X[:3], display.q, 0.25)
        )
        for k, line in enumerate(display.lines_):
            np.testing.assert_array_equal(line.get_ydata(), display.values[k])
            assert display.roots_[k].get_xdata()[0] == display.roots[k]

    def test_bounds_are_open(self, forest):
        row = int(np.argmin(forest.identified(X, 0.995)))
        display = EstimatingFunctionDisplay.from_estimator(forest, X[row : row + 1], 0.995)
        assert display.roots_[0].get_markerfacecolor() == "white"

    def test_one_level(self, forest):
        with pytest.raises(ValueError, match="quantile must be one number"):
            EstimatingFunctionDisplay.from_estimator(forest, X[:3], [0.5])


def test_leaf_size_path(forest):
    display = LeafSizePathDisplay.from_estimator(forest)
    path = forest.leaf_size_path_
    np.testing.assert_array_equal(display.line_.get_xdata(), path.size)
    np.testing.assert_array_equal(display.line_.get_ydata(), path.loss)
    assert display.best_.get_xdata()[0] == forest.min_samples_split_
    given = CensoredQuantileForest(2, min_samples_leaf=5).fit(X, TIME)
    with pytest.raises(ValueError, match="no leaf-size path"):
        LeafSizePathDisplay.from_estimator(given)


def test_neighbors(forest):
    display = NeighborsDisplay.from_estimator(forest, X.iloc[3], quantiles=[0.5, 0.51, 0.99])
    found = forest.explain(X.iloc[3])
    np.testing.assert_array_equal(display.events_.get_ydata(), found.weights[found.event])
    np.testing.assert_array_equal(display.censored_.get_xdata(), found.time[~found.event])
    assert display.quantiles_[0].get_xdata()[0] == forest.predict(X[3:4], 0.5)[0]
    # Lines that are close together share a name.
    assert "0.5, 0.51" in [text.get_text() for text in display.ax_.texts]


@pytest.mark.parametrize("heaviest", [0.004, 0.0178, 0.06, 0.13, 0.5, 1.0])
def test_weights_of_neighbors_are_written_where_they_are(forest, heaviest):
    found = forest.explain(X.iloc[3])
    found = replace(found, weights=found.weights * (heaviest / found.weights[0]))
    axis = NeighborsDisplay(found).plot().ax_.yaxis
    axis.axes.figure.canvas.draw()
    written = [float(label.get_text().rstrip("%")) for label in axis.get_ticklabels()]
    np.testing.assert_allclose(written, 100 * axis.get_ticklocs(), atol=1e-9)
