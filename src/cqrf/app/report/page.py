"""The whole page."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from cqrf import __version__
from cqrf.app.report.cautions import (
    Caution,
    assumptions_chapter,
    cautions_chapter,
    find_cautions,
)
from cqrf.app.report.data_chapter import data_chapter
from cqrf.app.report.feature_chapters import (
    effects_chapter,
    importance_chapter,
    measure_effects,
    measure_importance,
)
from cqrf.app.report.fit_chapter import fit_chapter, leaf_chapter
from cqrf.app.report.markup import document
from cqrf.app.report.numerals import bounded, percent
from cqrf.app.report.parts import Chapter, Part
from cqrf.app.report.row_chapter import choose_rows, portray, rows_chapter
from cqrf.app.report.subject import SHOWN, Subject, level_index
from cqrf.support.progress import ProgressBar

_BIBTEX = """@article{li2019censored,
  title   = {Censored Quantile Regression Forests},
  author  = {Li, Alexander Hanbo and Bradic, Jelena},
  journal = {arXiv preprint arXiv:1902.03327},
  year    = {2019}
}"""


def build_page(subject: Subject, *, verbose: int) -> tuple[str, list[Caution]]:
    """Compute everything and write the page; return it with its warnings."""
    chapters: list[Chapter] = []
    cautions: list[Caution] = []

    def learn_features() -> None:
        importance = measure_importance(subject)
        chapters.append(importance_chapter(subject, importance))
        order = np.argsort(-importance.mean, kind="stable")
        chapters.append(effects_chapter(subject, measure_effects(subject, order)))

    steps: list[Callable[[], None]] = [
        lambda: cautions.extend(find_cautions(subject)),
        lambda: chapters.append(cautions_chapter(cautions)),
        lambda: chapters.append(data_chapter(subject)),
        lambda: chapters.append(fit_chapter(subject)),
        lambda: chapters.append(leaf_chapter(subject)),
        learn_features,
        lambda: chapters.append(rows_chapter(subject, portray(subject, choose_rows(subject)))),
        lambda: chapters.append(assumptions_chapter(subject)),
        lambda: chapters.append(_cite_chapter()),
    ]
    with ProgressBar(len(steps), "writing the report", enabled=verbose > 0) as bar:
        for k, step in enumerate(steps):
            step()
            bar.update(k + 1)
    page = document(
        "report/page.html",
        subject.title,
        summary=_summary(subject),
        counted=_counted(cautions),
        chapters=chapters,
    )
    return page, cautions


def _summary(subject: Subject) -> str:
    forest, scores = subject.forest, subject.scores
    low, middle, high = _medians(subject)
    span = low if low == high else f"{low} to {high}"
    sentence = (
        f"A censored quantile forest of {len(forest.trees_):,} trees, learned from "
        f"{forest.target_.n:,} rows. Predicted median {subject.time_name}: {middle} for a "
        f"typical row, {span} for the middle 80% of rows. "
    )
    skill = scores.rivals[0].skill
    if np.isfinite(skill.share):
        verb, of = ("saves", "of") if skill.share >= 0 else ("adds", "to")
        sentence += (
            f"Knowing the features {verb} {percent(abs(skill.share))} (standard error "
            f"{percent(skill.std_error)}) {of} the integrated Brier score of one curve for "
            f"everybody, {subject.how_far}; concordance {scores.concordance:.2f}. "
        )
    return sentence


def _medians(subject: Subject) -> list[str]:
    """Write the 10, 50 and 90% points of the rows' predicted medians, or bounds of these points."""
    at = level_index(0.5)
    answered = ~np.isnan(subject.predictions.quantiles[:, at])
    medians = subject.predictions.quantiles[answered, at]
    # Where only a bound is known, the median may lie anywhere beyond it. A point is known if it is
    # the same when all such medians are moved to infinity.
    farthest = -np.inf if subject.left else np.inf
    moved = np.where(subject.predictions.identified[answered, at], medians, farthest)
    points = [np.quantile(values, SHOWN, method="inverted_cdf") for values in (medians, moved)]
    return [
        bounded(float(near), bool(near == far), subject.words)
        for near, far in zip(*points, strict=True)
    ]


def _counted(cautions: list[Caution]) -> str:
    """Count warnings, and notes if there are any."""
    counts = {
        kind: sum(caution.kind == kind for caution in cautions) for kind in ("warning", "note")
    }
    texts = [f"{n or 'No'} {kind}{'' if n == 1 else 's'}" for kind, n in counts.items()]
    return " and ".join(texts if counts["note"] else texts[:1])


@dataclass(frozen=True)
class Citation(Part):
    """The paper and the program."""

    macro: ClassVar = "citation"

    version: str
    bibtex: str


def _cite_chapter() -> Chapter:
    return Chapter("cite", "How to cite", [Citation(__version__, _BIBTEX)])
