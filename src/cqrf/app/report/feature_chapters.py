r"""The chapters on the features: which matter, and what each does to the 10, 50 and 90% times.

The effect of a feature is read off standardised curves: everybody is given the value v of it, and
the survival curves are averaged,

.. math:: \bar S(t; v) = \frac1m \sum_i S(t \mid x_i \text{ with } x_{ij} = v),

whose quantiles are shown. Where the averaged curve does not fall far enough, or begins below the
level under left censoring, there is only a bound: the end of the record.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from cqrf.app.report.charts import Axis, Chart
from cqrf.app.report.numerals import bounded, number, percent, plus_minus
from cqrf.app.report.parts import CellTable, Chapter, Figure, Figures, Headed, Paragraph, Part
from cqrf.app.report.predictions import encoded_law
from cqrf.app.report.subject import COLOURS, SHOWN, Subject
from cqrf.model.importance import Importance
from cqrf.support.colours import BLUE

Array = NDArray[np.float64]

# Test points for all effects together, and the most rows and values of one.
_BUDGET = 12_000
_MAX_ROWS, _MIN_ROWS = 200, 25
_VALUES, _MAX_CATEGORIES = 10, 12
_TIMES = 256
# Features that are drawn; further ones would fill a page that nobody reads.
_MAX_DRAWN = 30
# Rows that importance is measured on are bounded through the number of repeats.
_REPEATED_BELOW = 20_000


@dataclass(frozen=True, eq=False)
class Effect:
    """What a feature does.

    Attributes
    ----------
    feature : int
    values : ndarray of shape (g,)
        Values, or codes of categories.
    times : ndarray of shape (g, 3)
        The 10, 50 and 90% times of the averaged curves; NaN where they are not reached.
    counts : ndarray of shape (g,)
        Rows with the category, or about the value.
    """

    feature: int
    values: Array
    times: Array
    counts: NDArray[np.int64]


def measure_importance(subject: Subject) -> Importance:
    """Measure the importance of the features for the whole curves, out-of-bag."""
    repeats = 3 if subject.forest.target_.n < _REPEATED_BELOW else 1
    return subject.forest.oob_importance(n_repeats=repeats, random_state=0, horizon=subject.horizon)


def measure_effects(subject: Subject, order: NDArray[np.int64]) -> list[Effect]:
    """Effects of the features, in the given order."""
    drawn = order[:_MAX_DRAWN]
    per_feature = _BUDGET // max(1, len(drawn))
    m = int(np.clip(per_feature // _VALUES, _MIN_ROWS, min(_MAX_ROWS, subject.n)))
    rows = np.unique(np.linspace(0, subject.n - 1, min(m, subject.n)).round().astype(int))
    # Spread over the predicted medians, so that the sample is like the whole.
    base = subject.matrix[np.argsort(subject.predictions.quantiles[:, 9], kind="stable")[rows]]
    return [_effect(subject, int(j), base) for j in drawn]


def _effect(subject: Subject, j: int, base: Array) -> Effect:
    column = subject.matrix[:, j]
    known = column[~np.isnan(column)]
    if j in subject.categories:
        codes, counts = np.unique(known, return_counts=True)
        top = np.argsort(-counts, kind="stable")[:_MAX_CATEGORIES]
        values, counts = codes[top], counts[top]
    else:
        # Between the 2.5 and 97.5% points: at the edges there are no rows to learn from.
        steps = np.linspace(0.025, 0.975, _VALUES)
        values = np.unique(np.quantile(known, steps, method="nearest")) if len(known) else known
        nearest = np.abs(known[:, None] - values[None, :]).argmin(axis=1) if len(values) else []
        counts = np.bincount(nearest, minlength=len(values))
    points = np.repeat(base[None, :, :], len(values), axis=0)
    points[:, :, j] = values[:, None]
    times = subject.forest.times_
    times = times[np.unique(np.linspace(0, len(times) - 1, _TIMES).round().astype(int))]
    if not len(values):
        return Effect(j, values, np.empty((0, len(SHOWN))), counts)
    # How high the curve is before the first time: under left censoring that may be below a level.
    times = np.concatenate([[np.nextafter(times[0], -np.inf)], times])
    flat = np.asfortranarray(points.reshape(-1, subject.p))
    curves = encoded_law(subject.forest, flat).curve("survival", times)
    mean = curves.reshape(len(values), len(base), len(times)).mean(axis=1)
    at = np.array([[_first_below(times, curve, 1.0 - q) for q in SHOWN] for curve in mean])
    return Effect(j, values, at, counts)


def _first_below(times: Array, curve: Array, level: float) -> float:
    """Time at which an averaged curve falls to a level, linear between grid times, or NaN."""
    below = np.flatnonzero(curve <= level + 1e-12)
    if not len(below):
        return float("nan")
    k = int(below[0])
    if k == 0:
        return float("nan")
    drop = curve[k - 1] - curve[k]
    part = (curve[k - 1] - level) / drop if drop > 0 else 1.0
    return float(times[k - 1] + part * (times[k] - times[k - 1]))


def importance_chapter(subject: Subject, importance: Importance) -> Chapter:
    """Features by importance, with error bars."""
    mean, error = importance.mean, importance.std_error
    order = np.argsort(-mean, kind="stable")
    drawn = order[:_MAX_DRAWN]
    chart = Chart(
        "Importance of the features: share of the score that is lost without each",
        Axis.around(
            "score lost",
            np.concatenate([mean - 2 * error, mean + 2 * error]),
            zero=True,
            percent=True,
        ),
        Axis("", 0.0, len(drawn)),
        height=70 + 24 * len(drawn),
        names=[subject.names[j] for j in drawn],
    )
    chart.rule(0.0)
    for k, j in enumerate(drawn):
        tip = f"{subject.names[j]}\n{plus_minus(mean[j], 2 * error[j], percent)}"
        chart.dot(float(mean[j]), len(drawn) - k - 0.5, BLUE, tip, error_x=float(2 * error[j]))
    rows = [(subject.names[j], plus_minus(mean[j], error[j], percent)) for j in order]
    table = CellTable("Numbers: importance ± standard error", ("feature", "score lost"), rows)
    caption = (
        "How much of Kaplan-Meier's integrated Brier score is lost, out-of-bag and "
        f"{subject.how_far}, when a feature is shuffled; bars are two standard errors. Features "
        "that say the same thing share their importance."
    )
    figures = Figures([Figure(chart, caption, table)])
    return Chapter("importance", "Which features matter", [figures])


def effects_chapter(subject: Subject, effects: list[Effect]) -> Chapter:
    """Draw what each feature does to the times."""
    parts: list[Part] = [
        Paragraph(
            "Each chart gives everybody the same value of one feature and shows "
            f"{subject.words.effect.format(subject.time_name)}, all else as "
            "it is. It tells what the forest has learned, not what would happen if the feature "
            "were changed."
        )
    ]
    finite = np.concatenate([e.times.ravel() for e in effects]) if effects else np.array([])
    draw = partial(_draw, subject, Axis.around(subject.time_name, finite, zero=not subject.left))
    parts.append(Figures([draw(effect) for effect in effects if len(effect.values)]))
    if subject.p > _MAX_DRAWN:
        parts.append(Paragraph(f"The {_MAX_DRAWN} most important of {subject.p} are shown."))
    return Chapter("effects", "What each feature does", parts)


def _draw(subject: Subject, y: Axis, effect: Effect) -> Headed:
    j, name = effect.feature, subject.names[effect.feature]
    reached = ~np.isnan(effect.times)
    cells = [subject.cell(j, value) for value in effect.values]
    if j in subject.categories:
        chart = _draw_categories(subject, y, effect, cells)
    else:
        chart = Chart(
            f"Effect of {name} on the 10, 50 and 90% {subject.words.quantiles}",
            Axis.along(name, effect.values),
            y,
        )
        for q, (label, colour) in enumerate(zip(_labels(subject, effect), COLOURS, strict=True)):
            dash = ("2 3", "", "6 3")[q]
            if reached[:, q].any():
                chart.line(effect.values, effect.times[:, q], colour, label, dash=dash, dots=True)
            else:
                chart.key(label, colour, dash)
    rows = [
        (cell, *(_effect_text(subject, t) for t in times), f"{count:,}")
        for cell, times, count in zip(cells, effect.times, effect.counts, strict=True)
    ]
    table = CellTable(f"Numbers: {name}", (name, "10%", "50%", "90%", "rows near"), rows)
    bound = _effect_text(subject, np.nan)
    caption = "" if reached.all() else f"Where a line or a point is missing, it lies {bound}."
    return Headed(name, Figure(chart, caption, table))


def _draw_categories(subject: Subject, y: Axis, effect: Effect, cells: list[str]) -> Chart:
    name = subject.names[effect.feature]
    count = len(cells)
    chart = Chart(
        f"Effect of {name} on the 10, 50 and 90% {subject.words.quantiles}",
        y,
        Axis("", 0.0, count),
        height=72 + max(24 * count, 60),
        names=cells,
    )
    labels = _labels(subject, effect)
    keys = [chart.key(label, colour) for label, colour in zip(labels, COLOURS, strict=True)]
    for k, cell in enumerate(cells):
        for q, (level, colour) in enumerate(zip(SHOWN, COLOURS, strict=True)):
            value = float(effect.times[k, q])
            tip = f"{cell}: {level:.0%} {subject.words.quantile} {number(value)}"
            chart.dot(value, count - k - 0.5, colour, tip, key=keys[q])
    return chart


def _effect_text(subject: Subject, time: float) -> str:
    """Write a quantile of an averaged curve; where it has none, the end of the record."""
    observed = subject.forest.target_.observed
    known = bool(np.isfinite(time))
    end = float(observed.min() if subject.left else observed.max())
    return bounded(time if known else end, known, subject.words)


def _labels(subject: Subject, effect: Effect) -> list[str]:
    """Name the quantiles of a chart; one that is nowhere to be seen has its bound with it."""
    bound = _effect_text(subject, np.nan)
    return [
        f"{level:.0%} {subject.words.quantile}{f': {bound}' if np.isnan(times).all() else ''}"
        for level, times in zip(SHOWN, effect.times.T, strict=True)
    ]
