"""Assumptions and warnings in plain words, each from a number that the page also shows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from cqrf.app.report.cox import Cox, design
from cqrf.app.report.numerals import number, percent
from cqrf.app.report.parts import Chapter, Paragraph, Part
from cqrf.app.report.subject import Subject, level_index
from cqrf.data.outcome import Target

# A kind of test gives a false warning in one of a hundred reports; where a report makes several
# tests of a kind, the level is divided by their number.
_CHANCE = 0.01
# A forest without splits is the Kaplan-Meier curve, but for the last digits.
_ROUNDING = 1e-9
# Parts of the data with fewer rows than this are not judged.
_MIN_REGION = 30
# A part of the data is heavily censored if more than this share of its rows is.
_HEAVY = 0.8
# A quantile that fewer rows than this share identify is a warning, else a note.
_MANY_UNKNOWN = 0.5


@dataclass(frozen=True)
class Caution:
    """Something that a reader should know.

    Attributes
    ----------
    kind : {"warning", "note", "good"}
    title, text : str
    """

    kind: Literal["warning", "note", "good"]
    title: str
    text: str


@dataclass(frozen=True)
class CautionList(Part):
    """Cautions one below the other, with a heading if it is not empty."""

    macro: ClassVar = "caution_list"

    heading: str
    cautions: list[Caution]


def find_cautions(subject: Subject) -> list[Caution]:
    """Look for everything that may mislead."""
    found = [
        *_few_events(subject),
        *_no_skill(subject),
        *_unidentified(subject),
        *_heavy_regions(subject),
        *_informative_missingness(subject),
        *_dependent_censoring(subject),
        *_miscalibrated(subject),
        *_suspicious_features(subject),
    ]
    if not any(caution.kind == "warning" for caution in found):
        found.insert(0, Caution("good", "No warning", "Nothing that was looked for was found."))
    return sorted(found, key=lambda caution: ["good", "warning", "note"].index(caution.kind))


def cautions_chapter(cautions: list[Caution]) -> Chapter:
    """Write the warnings, and below them the notes."""
    notes = [caution for caution in cautions if caution.kind == "note"]
    parts = [CautionList("", [caution for caution in cautions if caution.kind != "note"])]
    if notes:
        parts.append(CautionList("Notes", notes))
    return Chapter("warnings", "Warnings", parts)


def assumptions_chapter(subject: Subject) -> Chapter:
    """Say what is taken for granted."""
    texts = [
        "Rows are independent of each other. If several rows belong to one person or machine, "
        "errors are larger than shown.",
        subject.words.assumption,
        f"Scores (loss, calibration, coverage) assume more: that {subject.words.censoring} does "
        "not depend on the features either. Predictions and the log score do not need it.",
        "The future is like the data: the same kind of rows, measured in the same way.",
        "Effects and importance describe the forest's predictions. They are not causes.",
    ]
    return Chapter("assumptions", "What is assumed", [Paragraph(text) for text in texts])


def _few_events(subject: Subject) -> Iterator[Caution]:
    events = int(subject.event.sum())
    if events < 10 * subject.p or events < 50:
        yield Caution(
            "warning" if events < 50 else "note",
            subject.words.few_events,
            f"{events} {subject.words.events_counted} for {subject.p} features. Extreme quantiles "
            "and single effects rest on few rows.",
        )


def _no_skill(subject: Subject) -> Iterator[Caution]:
    for rival in subject.scores.rivals:
        saving, error = rival.skill.share, rival.skill.std_error
        if saving < -2 * error - _ROUNDING:
            yield Caution(
                "warning",
                f"{rival.name} does better",
                f"The forest's integrated Brier score, {subject.how_far}, is {percent(-saving)} "
                f"larger. Use {rival.name}, or ask what the forest lacks.",
            )
        elif saving < 2 * error + _ROUNDING and rival.name == "Kaplan-Meier":
            yield Caution(
                "warning",
                "The forest gains little from the features",
                f"It saves {percent(saving)} of the integrated Brier score of one curve for "
                f"everybody, {subject.how_far}, with a standard error of {percent(error)}."
                + _what_others_gain(subject),
            )


def _what_others_gain(subject: Subject) -> str:
    """Name the baselines that gain more."""
    everybody, *others = subject.scores.rivals
    gains = {
        rival.name: 1.0 - rival.skill.reference / everybody.skill.reference for rival in others
    }
    return "".join(
        f" {name} saves {percent(gain)}."
        for name, gain in gains.items()
        if gain > max(everybody.skill.share, 0.0)
    )


def _unidentified(subject: Subject) -> Iterator[Caution]:
    shares = {level: subject.scores.identified[level_index(level)] for level in (0.1, 0.5, 0.9)}
    for level, share in shares.items():
        if share < 1.0 - 0.05:
            yield Caution(
                "warning" if share < _MANY_UNKNOWN else "note",
                f"The {level:.0%} {subject.words.quantile} is not identified for "
                f"{percent(1.0 - share)} of the rows",
                f"{subject.words.out_of_reach} What stands there is a bound, not an estimate; the "
                "columns named identified say where.",
            )


def _heavy_regions(subject: Subject) -> Iterator[Caution]:
    overall = 1.0 - float(subject.event.mean())
    found = []
    for j, name in enumerate(subject.names):
        for label, inside in _regions(subject, j):
            size = int(inside.sum())
            share = 1.0 - float(subject.event[inside].mean()) if size else 0.0
            if size >= _MIN_REGION and share > max(_HEAVY, overall + 0.1):
                found.append((share, size, f"{name} {label}"))
    for share, size, where in sorted(found, reverse=True)[:4]:
        yield Caution(
            "warning",
            f"{subject.words.heavily_censored} where {where}",
            f"{percent(share)} of these {size:,} rows are {subject.words.censored}, against "
            f"{percent(overall)} of all. {subject.words.far_quantiles} cannot be learned there.",
        )


def _regions(subject: Subject, j: int) -> Iterator[tuple[str, NDArray[np.bool_]]]:
    """Divide the rows at the quartiles of a number, or by category; missing values are a part."""
    values = subject.matrix[:, j]
    missing = np.isnan(values)
    if missing.any():
        yield "is missing", missing
    if j in subject.categories:
        for code in np.unique(values[~missing]):
            yield f"is {subject.cell(j, code)}", values == code
        return
    if not (~missing).any():
        return
    cuts = np.unique(np.quantile(values[~missing], [0.25, 0.5, 0.75]))
    for low, high in zip([-np.inf, *cuts], [*cuts, np.inf], strict=True):
        inside = (values > low) & (values <= high)
        if low == -np.inf:
            yield f"is at most {subject.cell(j, high)}", inside
        elif high == np.inf:
            yield f"is above {subject.cell(j, low)}", inside
        else:
            yield f"is in ({subject.cell(j, low)}, {subject.cell(j, high)}]", inside


def _informative_missingness(subject: Subject) -> Iterator[Caution]:
    """Log-rank tests of the time, and of the censoring, between missing and present values."""
    missing = np.isnan(subject.matrix)
    counts = missing.sum(axis=0)
    columns = [j for j in range(subject.p) if 10 <= counts[j] <= subject.n - 10]
    for j in columns:
        for event, what in (
            (subject.event, subject.words.other_outcomes),
            (~subject.event, subject.words.other_censoring),
        ):
            if not event.any():
                continue
            target = Target.from_outcome(subject.time, event, None, subject.censoring)  # type: ignore[arg-type]
            p_value = likelihood_ratio_p(missing[:, j].astype(np.float64)[:, None], target)
            if p_value < _CHANCE / (2 * len(columns)):
                yield Caution(
                    "warning",
                    f"Missing values of {subject.names[j]} are informative",
                    f"The {counts[j]:,} rows without it {what} ({_p(p_value)}). Ask why it is "
                    f"missing: {subject.words.missing_later}",
                )


def _dependent_censoring(subject: Subject) -> Iterator[Caution]:
    if (~subject.event).sum() < 20:
        return
    Z = design(subject.matrix, subject.forest.model_.encoder.n_categories)
    target = Target.from_outcome(subject.time, ~subject.event, None, subject.censoring)  # type: ignore[arg-type]
    p_value = likelihood_ratio_p(Z, target)
    if p_value < _CHANCE:
        yield Caution(
            "warning",
            f"{subject.words.censoring.capitalize()} depends on the features",
            f"{subject.words.censoring_differs} between kinds of "
            f"rows ({_p(p_value)}). The forest accounts for it; the scores on this page, which "
            f"weight all rows by one curve of {subject.words.censoring}, do so only in part: read "
            "Brier scores, losses, calibration and coverage with care, and look at the log score, "
            "which needs no weights.",
        )


def likelihood_ratio_p(Z: NDArray[np.float64], target: Target) -> float:
    """p-value of the hypothesis that the columns of Z have no effect in a Cox model."""
    model = Cox.fit(Z, target, ridge=1e-3)
    ratio = max(0.0, 2.0 * (model.log_likelihood - model.null_log_likelihood))
    return float(stats.chi2.sf(ratio, Z.shape[1]))


def _p(value: float) -> str:
    return f"p = {value:.1g}" if value > 1e-10 else "p below 1e-10"


def _miscalibrated(subject: Subject) -> Iterator[Caution]:
    """Quantiles q of which neither P(T < q) nor P(T <= q), nor what lies between, is the level."""
    found, below = subject.scores.calibration, subject.scores.strictly_below
    levels = found.quantiles
    by_chance = np.sqrt(levels * (1.0 - levels) / np.maximum(found.n_used, 1))
    error = np.fmax(found.std_error, by_chance)
    away = np.maximum(levels - found.observed, below - levels)
    bad = (away > 0.05) & (away > 3 * error) & (found.n_used >= _MIN_REGION)
    if bad.any():
        k = int(np.argmax(np.where(bad, away, 0.0)))
        if below[k] > levels[k]:
            share = f"{percent(below[k])} of the rows lie below"
        else:
            share = f"{percent(found.observed[k])} of the rows lie at or below"
        yield Caution(
            "warning",
            "Some quantiles are off",
            f"{share} their predicted {percent(levels[k])} {subject.words.quantile} "
            f"(standard error {percent(error[k])}). "
            f"Where {subject.words.censoring} depends on the features, this estimate is doubtful "
            "itself.",
        )


def _suspicious_features(subject: Subject) -> Iterator[Caution]:
    for j, name in enumerate(subject.names):
        values = subject.matrix[:, j]
        known = ~np.isnan(values)
        distinct = len(np.unique(values[known]))
        if distinct <= 1:
            yield Caution("note", f"{name} has one value", "It cannot tell rows apart.")
        elif j in subject.categories and distinct > 0.5 * subject.n and subject.n > 20:
            yield Caution(
                "warning",
                f"{name} looks like an identifier",
                f"It has {distinct:,} different values in {subject.n:,} rows. Leave it out.",
            )
        elif j not in subject.categories and (known & subject.event).sum() > 20:
            used = known & subject.event
            if min(np.ptp(values[used]), np.ptp(subject.time[used])) == 0.0:
                continue
            rank = abs(float(stats.spearmanr(values[used], subject.time[used]).statistic))
            if rank > 0.95:
                yield Caution(
                    "warning",
                    f"{name} almost tells the outcome",
                    f"Its rank correlation with {subject.time_name} is {number(rank)} "
                    f"{subject.words.known_before}",
                )
