"""The chapters on the fit: how good the quantiles are, and how large the leaves."""

from __future__ import annotations

import numpy as np

from cqrf.app.report.charts import GREY, Axis, Chart
from cqrf.app.report.comparison import Rival, Scores
from cqrf.app.report.numerals import NOTHING, number, percent, plus_minus
from cqrf.app.report.parts import (
    CaptionedChart,
    CellTable,
    Chapter,
    ChartGrid,
    Paragraph,
    Part,
    Tiles,
)
from cqrf.app.report.predictions import MUCH_TRAINED_ON
from cqrf.app.report.subject import LEVELS, Subject
from cqrf.support.colours import BLUE, ERROR_BAR, ORANGE, PURPLE

_RIVAL_COLOURS = (GREY, ORANGE)
_DASHES = ("6 3", "2 3")


def fit_chapter(subject: Subject) -> Chapter:
    """Scores beside the baselines, calibration, coverage, identified shares."""
    scores = subject.scores
    if subject.predictions.out_of_bag:
        how = (
            f"All scores are out-of-bag: each of the {scores.n:,} rows is predicted by the trees "
            "that did not see it. Cox regression is fitted in five folds for the same reason."
        )
    elif subject.share_trained_on > MUCH_TRAINED_ON:
        how = (
            f"{percent(subject.share_trained_on)} of these {scores.n:,} rows are among those that "
            "the forest was grown from: the scores flatter it."
        )
    else:
        how = (
            f"All scores are on {scores.n:,} rows that the forest has not seen. Cox regression is "
            "fitted to these rows in five folds."
        )
    parts = [
        Paragraph(how),
        Tiles(headline(subject)),
        *_curves(subject),
        ChartGrid(
            [_loss(subject), _calibration(subject), _coverage(subject), _identified(subject)]
        ),
    ]
    return Chapter("fit", "How good is the fit?", parts)


def headline(subject: Subject) -> list[tuple[str, str]]:
    """Name the few numbers that tell how good the whole predicted curves are."""
    scores, skill = subject.scores, subject.scores.rivals[0].skill
    return [
        (
            f"of Kaplan-Meier's integrated Brier score saved, {subject.how_far}",
            plus_minus(skill.share, skill.std_error, percent),
        ),
        (f"integrated Brier score (Kaplan-Meier {number(skill.reference)})", number(scores.brier)),
        ("concordance of restricted means (0.5 is chance)", _three_digits(scores.concordance)),
    ]


def _curves(subject: Subject) -> list[Part]:
    """Scores of whole curves, side by side."""
    scores = subject.scores
    rows = [
        ("forest", number(scores.brier), NOTHING, *_order_and_log(scores), NOTHING),
        *(
            (
                rival.name,
                number(rival.skill.reference),
                plus_minus(rival.skill.share, rival.skill.std_error, percent),
                *_order_and_log(rival),
                plus_minus(rival.log_gain, rival.log_std_error, _three_digits),
            )
            for rival in scores.rivals
        ),
    ]
    head = (
        *("", "integrated Brier score", "saved by the forest", "concordance", "log score"),
        "gained by the forest",
    )
    text = (
        f"Whole curves, {subject.how_far}: {subject.words.outcomes} and predictions past it count "
        "as that. A lower Brier score is better, and a higher concordance and log score. The log "
        f"score needs no weights and holds also where {subject.words.censoring} depends on the "
        "features; ± is a standard error."
    )
    return [CellTable("Scores of whole curves", head, rows), Paragraph(text)]


def _order_and_log(scores: Scores | Rival) -> tuple[str, str]:
    return _three_digits(scores.concordance), _three_digits(scores.log_score)


def _three_digits(value: float) -> str:
    return f"{value:.3f}" if np.isfinite(value) else NOTHING


def leaf_chapter(subject: Subject) -> Chapter:
    """How the size of the leaves was chosen."""
    path = subject.forest.leaf_size_path_
    size = subject.forest.min_samples_split_
    title = "The size of the leaves"
    if path is None:
        return Chapter("leaves", title, [Paragraph(f"Nodes of {size} or more rows are split.")])
    chart = Chart(
        f"Out-of-bag loss by the size of a node that is split; smallest at {path.best}",
        Axis.around("rows of a node that is split", path.size, log=True),
        Axis.around(
            "loss", np.concatenate([path.loss - path.std_error, path.loss + path.std_error])
        ),
    )
    chart.ribbon(path.size, path.loss - path.std_error, path.loss + path.std_error, BLUE)
    chart.line(path.size, path.loss, BLUE, "out-of-bag loss", dots=True)
    chart.rule(float(path.best), f"chosen: {path.best}")
    rows = [
        (f"{s:,}", f"{loss:.5f}", f"{error:.5f}")
        for s, loss, error in zip(path.size, path.loss, path.std_error, strict=True)
    ]
    table = CellTable("Numbers: loss by size", ("rows", "loss", "standard error"), rows)
    caption = (
        "Small nodes follow the data closely, large ones average more. The loss is the squared "
        "distance of predicted probabilities, averaged over neighbouring sizes; the shade is a "
        "standard error, most of which all sizes share."
    )
    text = (
        f"Nothing was tuned by hand: nodes of {path.best} or more rows are split, the size of "
        "smallest out-of-bag loss."
    )
    return Chapter(
        "leaves", title, [Paragraph(text), ChartGrid([CaptionedChart(chart, caption, table)])]
    )


def _loss(subject: Subject) -> CaptionedChart:
    scores = subject.scores
    losses = np.concatenate([scores.loss, *(rival.loss for rival in scores.rivals)])
    chart = Chart(
        "Pinball loss of the forest and of the baselines by quantile",
        Axis("quantile", 0.0, 1.0, percent=True),
        Axis.around("pinball loss", losses, zero=True),
    )
    for rival, colour, dash in zip(scores.rivals, _RIVAL_COLOURS, _DASHES, strict=False):
        chart.line(LEVELS, rival.loss, colour, rival.name, dash=dash)
    chart.line(LEVELS, scores.loss, BLUE, "forest", width=2.8)
    rows = []
    for j, level in enumerate(LEVELS):
        cells = [percent(level), number(scores.loss[j])]
        for rival in scores.rivals:
            cells += [
                number(rival.loss[j]),
                plus_minus(rival.saving[j], rival.std_error[j], percent),
            ]
        rows.append(cells)
    head = ["quantile", "forest"]
    for rival in scores.rivals:
        head += [rival.name, "saved"]
    table = CellTable("Numbers: loss by quantile", head, rows)
    caption = (
        f"Pinball loss, {subject.how_far}: lower is better. Kaplan-Meier ignores the features, and "
        f"where all predictions lie {subject.words.past} there is nothing to lose. "
        + " ".join(_saving(rival, subject.words.past) for rival in scores.rivals)
    )
    return CaptionedChart(chart, caption, table)


def _saving(rival: Rival, past: str) -> str:
    middle = len(LEVELS) // 2
    saving, error = rival.saving[middle], rival.std_error[middle]
    if not np.isfinite(saving):
        return f"The median lies {past} for {rival.name}."
    more = "less" if saving >= 0 else "more"
    return (
        f"At the median the forest loses {percent(abs(saving))} {more} than {rival.name} "
        f"(standard error {percent(error)})."
    )


def _calibration(subject: Subject) -> CaptionedChart:
    found = subject.scores.calibration
    chart = Chart(
        subject.words.passed_title,
        Axis("quantile", 0.0, 1.0, percent=True),
        Axis(subject.words.passed, 0.0, 1.0, percent=True),
    )
    chart.diagonal()
    rows = []
    for level, observed, error, used in zip(
        found.quantiles, found.observed, found.std_error, found.n_used, strict=True
    ):
        bar = ERROR_BAR * error
        tip = f"{percent(level)} quantile: {plus_minus(observed, bar, percent)}"
        chart.dot(level, observed, BLUE, f"{tip}\n{used:,} rows", error_y=bar)
        rows.append((percent(level), percent(observed), percent(error), f"{used:,}"))
    table = CellTable(
        "Numbers: calibration",
        ("quantile", "observed", "standard error", f"rows {subject.words.within}"),
        rows,
    )
    caption = (
        f"Calibration, {subject.how_far}: {subject.words.passed_caption} Points on the line are "
        "right; bars are two standard errors. A dash in the table: too few rows are within reach."
    )
    return CaptionedChart(chart, caption, table)


def _coverage(subject: Subject) -> CaptionedChart:
    found = subject.scores.coverage
    chart = Chart(
        "Coverage of prediction intervals: nominal and observed",
        Axis(f"share of {subject.words.outcomes} inside", 0.0, 1.0, percent=True),
        Axis("", 0.0, len(found)),
        height=76 + 40 * len(found),
        names=[f"{percent(c.nominal)} interval" for c in found],
    )
    rows = []
    for k, c in enumerate(found):
        at = len(found) - k - 0.5
        chart.bar(
            (0.0, at - 0.28), (c.nominal, at + 0.28), "#dbe3ea", f"nominal {percent(c.nominal)}"
        )
        bar = ERROR_BAR * c.std_error
        tip = f"holds {plus_minus(c.observed, bar, percent)}\n{c.n_used:,} rows"
        chart.dot(c.observed, at, BLUE, tip, error_x=bar)
        rows.append(
            (
                percent(c.nominal),
                percent(c.observed),
                percent(c.std_error),
                number(c.width),
                f"{c.n_used:,}",
            )
        )
    table = CellTable(
        "Numbers: coverage",
        ("interval", "holds", "standard error", "median width", f"rows {subject.words.within}"),
        rows,
    )
    caption = (
        f"Coverage, {subject.how_far}: grey bars are what is promised, points what is held, with "
        "two standard errors. Rows whose interval has an end that the data do not reach are left "
        "out; where those are all, there is no point."
    )
    return CaptionedChart(chart, caption, table)


def _identified(subject: Subject) -> CaptionedChart:
    shares = subject.scores.identified
    chart = Chart(
        "Share of rows whose quantile the data identify, by quantile",
        Axis("quantile", 0.0, 1.0, percent=True),
        Axis("rows identified", 0.0, 1.03, percent=True),
    )
    chart.line(LEVELS, shares, PURPLE, "identified", dots=True)
    rows = [(percent(a), percent(b)) for a, b in zip(LEVELS, shares, strict=True)]
    table = CellTable("Numbers: identified", ("quantile", "rows identified"), rows)
    caption = (
        f"How far the data reach: a quantile is identified if the row's {subject.words.curve} "
        "comes to its level within the record. Elsewhere only a bound is known."
    )
    return CaptionedChart(chart, caption, table)
