"""The whole page."""

from __future__ import annotations

from collections.abc import Callable
from html import escape

import numpy as np

from cqrf import __version__
from cqrf._progress import ProgressBar
from cqrf.report.cautions import (
    Caution,
    assumptions_section,
    cautions_section,
    find_cautions,
)
from cqrf.report.charts import number, percent
from cqrf.report.data import data_section
from cqrf.report.effects import (
    effects_section,
    importance_section,
    measure_effects,
    measure_importance,
)
from cqrf.report.fit import fit_section, leaf_section
from cqrf.report.html import Section, asset, document
from cqrf.report.rows import choose_rows, portray, rows_section
from cqrf.report.subject import SHOWN, Subject, level_index

_BIBTEX = """@article{li2019censored,
  title   = {Censored Quantile Regression Forests},
  author  = {Li, Alexander Hanbo and Bradic, Jelena},
  journal = {arXiv preprint arXiv:1902.03327},
  year    = {2019}
}"""


def build_page(subject: Subject, *, verbose: int) -> tuple[str, list[Caution]]:
    """Compute everything and write the page; return it with its warnings."""
    sections: list[Section] = []
    cautions: list[Caution] = []

    def learn_features() -> None:
        importance = measure_importance(subject)
        sections.append(importance_section(subject, importance))
        order = np.argsort(-importance.mean.mean(axis=1), kind="stable")
        sections.append(effects_section(subject, measure_effects(subject, order)))

    steps: list[Callable[[], None]] = [
        lambda: cautions.extend(find_cautions(subject)),
        lambda: sections.append(cautions_section(cautions)),
        lambda: sections.append(data_section(subject)),
        lambda: sections.append(fit_section(subject)),
        lambda: sections.append(leaf_section(subject)),
        learn_features,
        lambda: sections.append(rows_section(subject, portray(subject, choose_rows(subject)))),
        lambda: sections.append(assumptions_section(subject)),
        lambda: sections.append(_cite_section()),
    ]
    with ProgressBar(len(steps), "writing the report", enabled=verbose > 0) as bar:
        for k, step in enumerate(steps):
            step()
            bar.update(k + 1)
    links = "".join(f'<li><a href="#{s.name}">{escape(s.title)}</a></li>' for s in sections)
    body = "\n".join(section.html() for section in sections)
    main = (
        f"<main><h1>{escape(subject.title)}</h1>\n{_summary(subject, cautions)}\n"
        f'<nav aria-label="Chapters"><ul>{links}</ul></nav>\n{body}\n</main>'
    )
    return document(subject.title, main, script=asset("chart.js")), cautions


def _summary(subject: Subject, cautions: list[Caution]) -> str:
    forest, scores = subject.forest, subject.scores
    medians = subject.answers.quantiles[:, level_index(0.5)]
    low, middle, high = np.nanquantile(medians, SHOWN)
    saving = scores.rivals[0].saving[level_index(0.5)]
    warned = sum(caution.kind == "warning" for caution in cautions)
    word = "warning" if warned == 1 else "warnings"
    sentence = (
        f"A censored quantile forest of {len(forest.trees_):,} trees, learned from "
        f"{forest.target_.n:,} rows. Predicted median {subject.time_name}: {number(middle)} for a "
        f"typical row, {number(low)} to {number(high)} for the middle 80% of rows. Knowing the "
        f"features saves {percent(saving)} of the loss of the median for everybody. "
    )
    if saving < 0:
        sentence = sentence.replace(f"saves {percent(saving)} of", f"adds {percent(-saving)} to")
    link = f'<a href="#warnings">{warned} {word}</a>.' if warned else "No warnings."
    return f"<p>{escape(sentence)}{link}</p>"


def _cite_section() -> Section:
    return Section(
        "cite",
        "How to cite",
        [
            "<p>The method: Alexander Hanbo Li and Jelena Bradic, <em>Censored Quantile Regression "
            "Forests</em>, arXiv:1902.03327. The program: cqrf, version "
            f"{__version__}.</p><pre>{escape(_BIBTEX)}</pre>"
        ],
    )
