"""The chapter on the data: censoring over time, and missing values."""

from __future__ import annotations

from functools import partial

import numpy as np

from cqrf.app.report.charts import Axis, Chart
from cqrf.app.report.numerals import NOTHING, bounded, number, percent
from cqrf.app.report.parts import (
    CaptionedChart,
    CellTable,
    Chapter,
    ChartGrid,
    FoldedTable,
    Paragraph,
    Part,
    Tiles,
)
from cqrf.app.report.subject import Subject
from cqrf.solving.solve import solve_quantiles
from cqrf.support.colours import BLUE, ORANGE, RED

_BINS = 24


def data_chapter(subject: Subject) -> Chapter:
    """Show who was followed how long, and what is missing."""
    event, words = subject.event, subject.words
    missing = np.isnan(subject.matrix).mean(axis=0)
    facts = [
        ("rows", f"{subject.n:,}"),
        ("features", f"{subject.p}"),
        (words.events_seen, f"{event.sum():,}"),
        (words.censored, percent(1.0 - event.mean())),
        (f"median {subject.time_name}, all rows (Kaplan-Meier)", _median(subject)),
        ("cells missing", percent(float(missing.mean()))),
    ]
    parts: list[Part] = [
        Tiles(facts),
        Paragraph(words.one_bound.format(subject.time_name)),
        ChartGrid([_over_time(subject), _kaplan_meier(subject)]),
    ]
    if missing.any():
        parts.append(_missing(subject, missing))
    parts.append(_features(subject, missing))
    return Chapter("data", "The data", parts)


def _median(subject: Subject) -> str:
    """Median of the record: where the Kaplan-Meier curve falls to one half, or a bound."""
    target = subject.target
    solve = partial(
        solve_quantiles,
        np.full((1, target.n), 1.0 / target.n),
        target.observed,
        target.event == 1,
        0.5,
        censoring=subject.censoring,
        interpolation="lower",
    )
    bound, marked = solve(), solve(unreached="nan")
    return bounded(float(bound[0]), not np.isnan(marked[0]), subject.words)


def _over_time(subject: Subject) -> CaptionedChart:
    """Rows with an event and censored ones, stacked, along time."""
    time, event, words = subject.time, subject.event, subject.words
    edges = np.linspace(time.min(), time.max(), _BINS + 1)
    if edges[0] == edges[-1]:
        edges = np.array([edges[0] - 0.5, edges[0] + 0.5])
    seen, _ = np.histogram(time[event], edges)
    censored, _ = np.histogram(time[~event], edges)
    chart = Chart(
        f"Rows by {subject.time_name}: {words.events} and {words.censored}",
        Axis(subject.time_name, edges[0], edges[-1]),
        Axis.around("rows", seen + censored, zero=True),
    )
    keys = chart.key(words.events, BLUE), chart.key(words.censored, ORANGE)
    rows = []
    for low, high, a, b in zip(edges[:-1], edges[1:], seen, censored, strict=True):
        span = f"{number(low)} to {number(high)}"
        tip = f"{span}\n{a} {words.events}, {b} {words.censored}"
        gap = 0.06 * (high - low)
        chart.bar((low + gap, 0.0), (high - gap, float(a)), BLUE, tip, keys[0])
        chart.bar((low + gap, float(a)), (high - gap, float(a + b)), ORANGE, tip, keys[1])
        share = percent(b / (a + b)) if a + b else NOTHING
        rows.append((span, str(a), str(b), share))
    head = (subject.time_name, words.events, words.censored, words.share_censored)
    table = CellTable(f"Numbers: rows by {subject.time_name}", head, rows)
    return CaptionedChart(chart, words.rows_caption, table)


def _kaplan_meier(subject: Subject) -> CaptionedChart:
    """Kaplan-Meier curves of the event and of the censoring."""
    times, survival, censoring = subject.marginal
    words = subject.words
    chart = Chart(
        f"{words.two_curves}, by {subject.time_name}",
        Axis.around(subject.time_name, np.append(times, 0.0 if times[0] >= 0 else times[0])),
        Axis(words.probability, 0.0, 1.03, percent=True),
    )
    starts = times[0] if subject.left else min(0.0, float(times[0]))
    at = np.concatenate([[starts], times])
    first = (survival[0], censoring[0]) if subject.left else (1.0, 1.0)
    chart.line(at, np.concatenate([[first[0]], survival]), BLUE, words.event_curve, step=True)
    chart.line(
        at,
        np.concatenate([[first[1]], censoring]),
        ORANGE,
        words.censoring_curve,
        step=True,
        dash="6 3",
    )
    picks = np.unique(np.linspace(0, len(times) - 1, 20).round().astype(int))
    table = CellTable(
        "Numbers: the two curves",
        (subject.time_name, words.event_curve, words.censoring_curve),
        [(number(times[k]), percent(survival[k]), percent(censoring[k])) for k in picks],
    )
    return CaptionedChart(
        chart,
        f"Kaplan-Meier curves of all rows together. {words.curves_caption}",
        table,
    )


def _missing(subject: Subject, missing: np.ndarray) -> ChartGrid:
    word = subject.words.censored
    order = [j for j in np.argsort(-missing, kind="stable") if missing[j] > 0][:20]
    chart = Chart(
        "Share of missing values of the features that have some",
        Axis("share of rows missing", 0.0, min(1.0, float(missing.max()) * 1.1), percent=True),
        Axis("", 0.0, len(order)),
        height=70 + 24 * len(order),
        names=[subject.names[j] for j in order],
    )
    rows = []
    for k, j in enumerate(order):
        at = len(order) - k - 0.5
        absent = np.isnan(subject.matrix[:, j])
        tip = f"{subject.names[j]}: {absent.sum():,} rows, {percent(missing[j])}"
        chart.bar((0.0, at - 0.32), (float(missing[j]), at + 0.32), RED, tip)
        rows.append(
            (
                subject.names[j],
                f"{absent.sum():,}",
                percent(missing[j]),
                percent(1.0 - subject.event[absent].mean()),
                percent(1.0 - subject.event[~absent].mean()) if not absent.all() else NOTHING,
            )
        )
    table = CellTable(
        "Numbers: missing values",
        ("feature", "missing", "share", f"{word} if missing", f"{word} if not"),
        rows,
    )
    caption = "Missing values need no filling in: a tree sends them to the side that fits better."
    return ChartGrid([CaptionedChart(chart, caption, table)])


def _features(subject: Subject, missing: np.ndarray) -> FoldedTable:
    rows = []
    for j, name in enumerate(subject.names):
        values = subject.matrix[:, j]
        known = values[~np.isnan(values)]
        if not len(known):
            rows.append((name, "empty", NOTHING, NOTHING, NOTHING, percent(missing[j])))
        elif j in subject.categories:
            codes, counts = np.unique(known.astype(int), return_counts=True)
            top = int(np.argmax(counts))
            common = f"{subject.cell(j, codes[top])} ({percent(counts[top] / subject.n)})"
            rows.append(
                (name, f"{len(codes)} categories", NOTHING, common, NOTHING, percent(missing[j]))
            )
        else:
            low, middle, high = np.quantile(known, [0.0, 0.5, 1.0])
            rows.append(
                (
                    name,
                    "number",
                    subject.cell(j, low),
                    subject.cell(j, middle),
                    subject.cell(j, high),
                    percent(missing[j]),
                )
            )
    head = ("feature", "kind", "smallest", "median or commonest", "largest", "missing")
    return FoldedTable(CellTable("All features", head, rows))
