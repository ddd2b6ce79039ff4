"""What the report draws, displays draw too: from the same records, with the same numbers."""

import re

import numpy as np
import pytest

from cqrf import CensoredQuantileForest
from cqrf.app.report.feature_chapters import (
    effects_chapter,
    importance_chapter,
    measure_effects,
    measure_importance,
)
from cqrf.app.report.fit_chapter import fit_chapter, leaf_chapter
from cqrf.app.report.numerals import NOTHING, number, percent
from cqrf.app.report.parts import CaptionedChart, CellTable, Chapter, ChartGrid, Headed
from cqrf.app.report.subject import Subject
from cqrf.datasets import load_congress
from cqrf.plot import (
    CalibrationDisplay,
    ImportanceDisplay,
    LeafSizePathDisplay,
    QuantileFanDisplay,
)

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
from matplotlib import pyplot as plt  # noqa: E402


@pytest.fixture(scope="module")
def subject():
    data = load_congress()
    forest = CensoredQuantileForest(30, random_state=0).fit(data.X, data.time, data.event)
    return Subject.from_data(forest, data.X, data.time, data.event, "t", "years")


@pytest.fixture(autouse=True)
def close():
    yield
    plt.close("all")


def tables(part):
    """All tables of a chapter, in order."""
    match part:
        case Chapter():
            return [table for piece in part.parts for table in tables(piece)]
        case ChartGrid():
            return [table for chart in part.charts for table in tables(chart)]
        case Headed():
            return tables(part.chart)
        case CaptionedChart():
            return [] if part.table is None else [part.table]
        case CellTable():
            return [part]
    return []


def table_of(chapter, caption):
    (found,) = [table for table in tables(chapter) if re.fullmatch(caption, table.caption)]
    return found


def test_calibration(subject):
    table = table_of(fit_chapter(subject), "Numbers: calibration")
    found = subject.scores.calibration
    line = CalibrationDisplay(found).plot().line_
    shown = [row[1] for row in table.body if row[1] != NOTHING]
    assert shown == [percent(y) for y in line.lines[0].get_ydata()]
    (bars,) = line.lines[2]
    half = [np.ptp(segment[:, 1]) / 2 for segment in bars.get_segments()]
    np.testing.assert_allclose(half, 2 * found.std_error[found.judged])


def test_importance(subject):
    importance = measure_importance(subject)
    table = table_of(importance_chapter(subject, importance), "Numbers: importance .*")
    display = ImportanceDisplay(importance).plot()
    names = [text.get_text() for text in display.ax_.get_yticklabels()]
    assert [row[0] for row in table.body] == names
    drawn = display.lines_[0].lines[0].get_xdata()
    assert [row[1].split(" ")[0] for row in table.body] == [percent(x) for x in drawn]


def test_leaf_size_path(subject):
    table = table_of(leaf_chapter(subject), "Numbers: loss by size")
    display = LeafSizePathDisplay.from_estimator(subject.forest)
    assert [row[1] for row in table.body] == [f"{y:.5f}" for y in display.line_.get_ydata()]


def test_effects(subject):
    effects = measure_effects(subject, np.arange(subject.p))
    chapter = effects_chapter(subject, effects)
    for found in effects:
        effect = found.effect
        table = table_of(chapter, f"Numbers: {effect.name}")
        display = QuantileFanDisplay(effect).plot()
        for k, level in enumerate(effect.levels):
            assert level == [0.1, 0.5, 0.9][k]
            shown = [row[1 + k].removeprefix("beyond ") for row in table.body]
            assert shown == [number(t) for t in effect.quantiles[:, k]]
            if effect.values.dtype.kind == "f":
                drawn = display.lines_[-1 if level == 0.9 else k].get_ydata()
                np.testing.assert_array_equal(drawn, effect.quantiles[:, k])


def test_effects_of_the_same_rows_are_the_same_numbers(subject):
    data = load_congress()
    fan = QuantileFanDisplay.from_estimator(subject.forest, data.X, "entry_year", quantiles=0.5)
    year = subject.names.index("entry_year")
    (found,) = measure_effects(subject, np.array([year]))
    # Of other samples of rows; both are about the same.
    at = np.searchsorted(fan.effect.values, found.effect.values)
    np.testing.assert_array_equal(fan.effect.values[at], found.effect.values)
    medians = found.effect.quantiles[:, 1]
    np.testing.assert_allclose(fan.effect.quantiles[at, 0], medians, rtol=0.15)
