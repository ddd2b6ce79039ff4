"""The chapters on the features: which matter, and what each does to the 10, 50 and 90% times."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cqrf.app.report.charts import Axis, Chart
from cqrf.app.report.numerals import bounded, number, percent, plus_minus
from cqrf.app.report.parts import (
    CaptionedChart,
    CellTable,
    Chapter,
    ChartGrid,
    Headed,
    Paragraph,
    Part,
)
from cqrf.app.report.predictions import answer_options
from cqrf.app.report.subject import COLOURS, SHOWN, Subject, level_index
from cqrf.model.effects import FeatureEffect, feature_effect, spread
from cqrf.model.importance import Importance
from cqrf.support.colours import BLUE, ERROR_BAR

Array = NDArray[np.float64]

# Rows that are predicted for all effects together; rows and values of one effect.
_BUDGET = 12_000
_MAX_ROWS, _MIN_ROWS = 200, 25
_VALUES, _MAX_CATEGORIES = 10, 12
# Most features that are drawn.
_MAX_DRAWN = 30
# With more training rows than this, a feature is shuffled once instead of three times.
_REPEATED_BELOW = 20_000


@dataclass(frozen=True, eq=False)
class CountedEffect:
    """What a feature does, and for how many rows.

    Attributes
    ----------
    effect : FeatureEffect
        The 10, 50 and 90% quantiles.
    counts : ndarray of shape (g,)
        Rows with the category, or about the value.
    """

    effect: FeatureEffect
    counts: NDArray[np.int64]


def measure_importance(subject: Subject) -> Importance:
    """Measure the importance of the features for the whole curves, out-of-bag."""
    repeats = 3 if subject.forest.target_.n < _REPEATED_BELOW else 1
    return subject.forest.oob_importance(n_repeats=repeats, random_state=0, horizon=subject.horizon)


def measure_effects(subject: Subject, order: NDArray[np.int64]) -> list[CountedEffect]:
    """Effects of the features, in the given order."""
    drawn = order[:_MAX_DRAWN]
    per_feature = _BUDGET // max(1, len(drawn))
    m = int(np.clip(per_feature // _VALUES, _MIN_ROWS, min(_MAX_ROWS, subject.n)))
    # A sample at equal steps of the predicted medians is much like all rows.
    medians = subject.predictions.quantiles[:, level_index(0.5)]
    rows = subject.matrix[np.argsort(medians, kind="stable")[spread(subject.n, m)]]
    return [_effect(subject, int(j), rows) for j in drawn]


def _effect(subject: Subject, j: int, rows: Array) -> CountedEffect:
    column = subject.matrix[:, j]
    known = column[~np.isnan(column)]
    if j in subject.categories:
        codes, counts = np.unique(known, return_counts=True)
        top = np.argsort(-counts, kind="stable")[:_MAX_CATEGORIES]
        values, counts = codes[top], counts[top]
    elif len(known):
        # Between the 2.5 and 97.5% points: at the edges there are no rows to learn from.
        steps = np.linspace(0.025, 0.975, _VALUES)
        values = np.unique(np.quantile(known, steps, method="nearest"))
        nearest = np.abs(known[:, None] - values[None, :]).argmin(axis=1)
        counts = np.bincount(nearest, minlength=len(values))
    else:
        values, counts = known, np.empty(0, dtype=np.int64)
    model, options = subject.forest.model_, answer_options(subject.forest)
    effect = feature_effect(model, options, rows, j, values, np.array(SHOWN))
    return CountedEffect(effect, counts)


def importance_chapter(subject: Subject, importance: Importance) -> Chapter:
    """Features by importance, with error bars."""
    mean, error = importance.mean, importance.std_error
    bar = ERROR_BAR * error
    order = np.argsort(-mean, kind="stable")
    drawn = order[:_MAX_DRAWN]
    chart = Chart(
        "Importance of the features: share of the score that is lost without each",
        Axis.around(
            "score lost",
            np.concatenate([mean - bar, mean + bar]),
            zero=True,
            percent=True,
        ),
        Axis("", 0.0, len(drawn)),
        height=70 + 24 * len(drawn),
        names=[subject.names[j] for j in drawn],
    )
    chart.rule(0.0)
    for k, j in enumerate(drawn):
        tip = f"{subject.names[j]}\n{plus_minus(mean[j], bar[j], percent)}"
        chart.dot(float(mean[j]), len(drawn) - k - 0.5, BLUE, tip, error_x=float(bar[j]))
    rows = [(subject.names[j], plus_minus(mean[j], error[j], percent)) for j in order]
    table = CellTable("Numbers: importance ± standard error", ("feature", "score lost"), rows)
    caption = (
        "How much of Kaplan-Meier's integrated Brier score is lost, out-of-bag and "
        f"{subject.how_far}, when a feature is shuffled; bars are two standard errors. Features "
        "that say the same thing share their importance."
    )
    figures = ChartGrid([CaptionedChart(chart, caption, table)])
    return Chapter("importance", "Which features matter", [figures])


def effects_chapter(subject: Subject, effects: list[CountedEffect]) -> Chapter:
    """Draw what each feature does to the times."""
    parts: list[Part] = [
        Paragraph(
            "Each chart gives everybody the same value of one feature and shows "
            f"{subject.words.effect.format(subject.time_name)}, all else as "
            "it is. It tells what the forest has learned, not what would happen if the feature "
            "were changed."
        )
    ]
    reached = [found.effect.quantiles[found.effect.identified] for found in effects]
    y = Axis.around(subject.time_name, np.concatenate([*reached, []]), zero=not subject.left)
    parts.append(ChartGrid([_draw(subject, y, found) for found in effects if len(found.counts)]))
    if subject.p > _MAX_DRAWN:
        parts.append(Paragraph(f"The {_MAX_DRAWN} most important of {subject.p} are shown."))
    return Chapter("effects", "What each feature does", parts)


def _draw(subject: Subject, y: Axis, found: CountedEffect) -> Headed:
    effect = found.effect
    categories = effect.feature in subject.categories
    cells = [
        str(value) if categories else subject.cell(effect.feature, value)
        for value in effect.values.tolist()
    ]
    if categories:
        chart = _draw_categories(subject, y, effect, cells)
    else:
        chart = Chart(
            f"Effect of {effect.name} on the 10, 50 and 90% {subject.words.quantiles}",
            Axis.along(effect.name, effect.values),
            y,
        )
        for q, (label, colour) in enumerate(zip(_labels(subject, effect), COLOURS, strict=True)):
            dash = ("2 3", "", "6 3")[q]
            if effect.identified[:, q].any():
                times = _points(effect)[:, q]
                chart.line(effect.values, times, colour, label, dash=dash, dots=True)
            else:
                chart.key(label, colour, dash)
    rows = []
    for cell, times, known, count in zip(
        cells, effect.quantiles.tolist(), effect.identified.tolist(), found.counts, strict=True
    ):
        texts = (bounded(*pair, subject.words) for pair in zip(times, known, strict=True))
        rows.append((cell, *texts, f"{count:,}"))
    head = (effect.name, "10%", "50%", "90%", "rows near")
    table = CellTable(f"Numbers: {effect.name}", head, rows)
    caption = ""
    if not effect.identified.all():
        caption = f"Where a line or a point is missing, it lies {_bound(subject, effect)}."
    return Headed(effect.name, CaptionedChart(chart, caption, table))


def _draw_categories(subject: Subject, y: Axis, effect: FeatureEffect, cells: list[str]) -> Chart:
    count = len(cells)
    chart = Chart(
        f"Effect of {effect.name} on the 10, 50 and 90% {subject.words.quantiles}",
        y,
        Axis("", 0.0, count),
        height=72 + max(24 * count, 60),
        names=cells,
    )
    labels = _labels(subject, effect)
    keys = [chart.key(label, colour) for label, colour in zip(labels, COLOURS, strict=True)]
    for k, (cell, times) in enumerate(zip(cells, _points(effect), strict=True)):
        for level, colour, key, time in zip(SHOWN, COLOURS, keys, times.tolist(), strict=True):
            tip = f"{cell}: {level:.0%} {subject.words.quantile} {number(time)}"
            chart.dot(time, count - k - 0.5, colour, tip, key=key)
    return chart


def _points(effect: FeatureEffect) -> Array:
    """Quantiles that are drawn, shape (g, 3): NaN where only a bound is known."""
    return np.where(effect.identified, effect.quantiles, np.nan)


def _bound(subject: Subject, effect: FeatureEffect) -> str:
    """Write the bound that all quantiles have which are not identified."""
    return bounded(float(effect.quantiles[~effect.identified][0]), False, subject.words)


def _labels(subject: Subject, effect: FeatureEffect) -> list[str]:
    """Name the quantiles of a chart; a name tells the bound if only that is known anywhere."""
    return [
        f"{level:.0%} {subject.words.quantile}"
        + ("" if known.any() else f": {_bound(subject, effect)}")
        for level, known in zip(SHOWN, effect.identified.T, strict=True)
    ]
