"""The chapter on single rows: their curve, their quantiles, and the training rows behind them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from cqrf.app.report.charts import GREY, Axis, Chart
from cqrf.app.report.numerals import bounded, number, percent
from cqrf.app.report.parts import CaptionedChart, CellTable, Chapter, Paragraph, Part
from cqrf.app.report.predictions import encoded_law
from cqrf.app.report.subject import COLOURS, SHOWN, Subject, level_index
from cqrf.model.explain import outcomes_by_row
from cqrf.solving.curves import StepFunction
from cqrf.solving.solve import solve_quantiles, survival_curves
from cqrf.support.colours import INDIGO
from cqrf.support.words import Words

Array = NDArray[np.float64]

# The rows that are shown lie at these shares of the ranked predicted medians.
_AT = (0.05, 0.35, 0.65, 0.95)
_NEIGHBOURS = 8


@dataclass(frozen=True, eq=False)
class Portrait:
    """One row.

    Attributes
    ----------
    row : int
    weights : ndarray of shape (n_train,)
        Weights of the training rows; the row itself has none.
    curve : StepFunction
        Survival curve.
    quantiles, identified : ndarray of shape (3,)
    """

    row: int
    weights: Array
    curve: StepFunction
    quantiles: Array
    identified: NDArray[np.bool_]


def choose_rows(subject: Subject) -> list[int]:
    """Choose some rows from early to late, and one whose median is not identified."""
    at = level_index(0.5)
    middle = subject.predictions.quantiles[:, at]
    answered = np.flatnonzero(~np.isnan(middle))
    ranked = answered[np.argsort(middle[answered], kind="stable")]
    rows = [int(ranked[round(share * (len(ranked) - 1))]) for share in _AT]
    unknown = [int(i) for i in ranked if not subject.predictions.identified[i, at]]
    return list(dict.fromkeys(rows + unknown[-1:]))


def portray(subject: Subject, rows: list[int]) -> list[Portrait]:
    """Find the weights of some rows, and the curves that follow from them."""
    forest = subject.forest
    time, event = outcomes_by_row(forest.target_)
    weights = encoded_law(forest, subject.matrix[rows]).weights().toarray()
    if subject.is_training:
        # What a row's own outcome says about it is not a prediction.
        weights[np.arange(len(rows)), rows] = 0.0
    weights /= weights.sum(axis=1, keepdims=True)
    kept = ~np.isnan(time)
    arguments = (weights[:, kept], time[kept], event[kept])
    censoring = subject.censoring
    curves = survival_curves(*arguments, censoring=censoring)
    bounds = solve_quantiles(*arguments, SHOWN, censoring=censoring)
    marked = solve_quantiles(*arguments, SHOWN, censoring=censoring, unreached="nan")
    return [
        Portrait(row, weights[k], curves[k], bounds[k], ~np.isnan(marked[k]))
        for k, row in enumerate(rows)
    ]


def rows_chapter(subject: Subject, portraits: list[Portrait]) -> Chapter:
    """Show rows one by one."""
    intro = (
        "The prediction for a row is made of training rows that are like it, each with a weight. "
        f"Here are rows from {subject.words.rising}."
    )
    if subject.is_training:
        intro += " A row has no weight in its own prediction."
    parts: list[Part] = [Paragraph(intro), *(_row(subject, portrait) for portrait in portraits)]
    return Chapter("rows", "Row by row", parts)


def curve_chart(
    title: str,
    time_name: str,
    curve: StepFunction,
    quantiles: Array,
    identified: NDArray[np.bool_],
    overall: StepFunction | None,
    low: float,
    high: float,
    *,
    words: Words,
) -> Chart:
    """Draw a survival curve with its 10, 50 and 90% times; rings are bounds."""
    chart = Chart(
        title,
        Axis(time_name, low, high),
        Axis(words.share_beyond, 0.0, 1.03, percent=True),
    )
    for name, function, colour, dash in (
        ("all rows (Kaplan-Meier)", overall, GREY, "6 3"),
        ("this row", curve, INDIGO, ""),
    ):
        if function is not None:
            x = np.concatenate([[low], function.x[function.x > low]])
            chart.line(x, function(x), colour, name, step=True, dash=dash)
    tips = [
        f"{level:.0%} {words.quantile}: {bounded(float(time), bool(known), words)}"
        for level, time, known in zip(SHOWN, quantiles, identified, strict=True)
    ]
    bounds = "\n".join(tip for tip, known in zip(tips, identified, strict=True) if not known)
    rings = 0
    for level, colour, time, known, tip in zip(
        SHOWN, COLOURS, quantiles, identified, tips, strict=True
    ):
        key = chart.key(f"{level:.0%}", colour)
        if known:
            chart.dot(float(time), 1.0 - level, colour, tip, key=key)
        else:
            # A bound is drawn at the end of the curve, which has not fallen to its level.
            height = float(curve(np.array([time]))[0])
            chart.dot(float(time), height, colour, bounds, ring=rings, key=key)
            rings += 1
    return chart


def time_range(time: Array) -> tuple[float, float]:
    """Find the ends of the time axis of curves."""
    low, high = float(np.nanmin(time)), float(np.nanmax(time))
    low = min(low, 0.0) if low >= 0 else low
    return low, high + 0.02 * (high - low or 1.0)


def overall_curve(subject: Subject) -> StepFunction:
    """Kaplan-Meier curve of all training rows."""
    time, event = outcomes_by_row(subject.forest.target_)
    kept = ~np.isnan(time)
    weights = np.full((1, int(kept.sum())), 1.0 / kept.sum())
    curve: StepFunction = survival_curves(
        weights, time[kept], event[kept], censoring=subject.censoring
    )[0]
    return curve


@dataclass(frozen=True)
class RowView(Part):
    """What the page shows of one row."""

    macro: ClassVar = "row_view"

    heading: str
    features: str
    chart: CaptionedChart
    table: CellTable


def _row(subject: Subject, portrait: Portrait) -> RowView:
    i = portrait.row
    seen = bool(subject.event[i])
    words = subject.words
    outcome = (words.event_at if seen else words.censored_at).format(number(subject.time[i]))
    time, event = outcomes_by_row(subject.forest.target_)
    low, high = time_range(np.append(time, subject.time))
    chart = curve_chart(
        f"{words.curve.capitalize()} of row {i + 1}",
        subject.time_name,
        portrait.curve,
        portrait.quantiles,
        portrait.identified,
        overall_curve(subject),
        low,
        high,
        words=words,
    )
    chart.rule(float(subject.time[i]), words.event if seen else words.censored)
    times = ", ".join(
        f"{level:.0%}: {bounded(float(value), bool(known), words)}"
        for level, value, known in zip(SHOWN, portrait.quantiles, portrait.identified, strict=True)
    )
    effective = 1.0 / float((portrait.weights**2).sum())
    behind = np.argsort(-portrait.weights, kind="stable")[:_NEIGHBOURS]
    behind = behind[portrait.weights[behind] > 0.0]
    features = _by_importance(subject)[:8]
    lines = [_neighbour(subject, j, portrait, time, event, features) for j in behind]
    table = CellTable(
        f"Training rows behind it, first of about {effective:.0f}",
        ("row", "weight", subject.time_name, "", *(subject.names[j] for j in features)),
        lines,
    )
    own = "; ".join(f"{subject.names[j]} {subject.cell(j, subject.matrix[i, j])}" for j in features)
    caption = f"Predicted {subject.time_name}: {times}. Observed: {outcome}."
    return RowView(f"Row {i + 1}", own, CaptionedChart(chart, caption), table)


def _by_importance(subject: Subject) -> list[int]:
    shares = subject.forest.split_importance()
    return [int(j) for j in np.argsort(-shares, kind="stable")]


def _neighbour(
    subject: Subject,
    j: int,
    portrait: Portrait,
    time: Array,
    event: NDArray[np.bool_],
    features: list[int],
) -> tuple[str, ...]:
    cells: tuple[str, ...] = ()
    if subject.is_training:
        cells = tuple(subject.cell(k, subject.matrix[j, k]) for k in features)
    else:
        cells = ("",) * len(features)
    return (
        str(j + 1),
        percent(float(portrait.weights[j])),
        number(float(time[j])),
        subject.words.event if event[j] else subject.words.censored,
        *cells,
    )
