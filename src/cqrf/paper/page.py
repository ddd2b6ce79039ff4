"""One self-contained HTML page of all results."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

from cqrf import __version__
from cqrf.paper.experiment import Experiment, Picture, Verdict
from cqrf.paper.settings import Settings
from cqrf.paper.tables import Table


@dataclass(frozen=True)
class Section:
    """What is shown of one experiment."""

    experiment: Experiment
    replications: int
    pictures: Sequence[Picture]
    tables: Sequence[Table]
    verdicts: Sequence[Verdict]


def save_pictures(sections: Sequence[Section], folder: Path) -> None:
    """Write every figure as PNG and SVG."""
    folder.mkdir(parents=True, exist_ok=True)
    for section in sections:
        for picture in section.pictures:
            for suffix in ("png", "svg"):
                picture.figure.savefig(folder / f"{picture.name}.{suffix}")


def write_page(sections: Sequence[Section], settings: Settings, figures: Path, path: Path) -> None:
    """Write the page; the figures, which `save_pictures` has written, are copied into it."""
    kind = "quick run" if settings.quick else "full run"
    links = "\n".join(
        f'<li><a href="#{s.experiment.name}">{escape(s.experiment.title)}</a> {_summary(s)}</li>'
        for s in sections
    )
    body = "\n".join(_section(section, figures) for section in sections)
    path.write_text(
        f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Censored Quantile Regression Forests, rerun</title>
<style>{_STYLE}</style>
</head>
<body>
<main>
<h1>Censored Quantile Regression Forests, rerun</h1>
<p>Every experiment of the paper by Li and Bradic, and some beyond it, run by
<code>cqrf paper</code> {__version__}: {kind}, {settings.reps} replications, {settings.trees} trees,
seed {settings.seed}. Verdicts are computed from the numbers below them.</p>
<nav><ul>
{links}
</ul></nav>
{body}
</main>
</body>
</html>
""",
        encoding="utf-8",
    )


def _summary(section: Section) -> str:
    yes = sum(v.supported is True for v in section.verdicts)
    return f"<small>{yes} of {len(section.verdicts)} claims supported</small>"


def _section(section: Section, figures: Path) -> str:
    parts = [
        f'<section id="{section.experiment.name}">',
        f"<h2>{escape(section.experiment.title)}</h2>",
        f"<p><small>Paper: {escape(section.experiment.section)}. "
        f"{section.replications} replications.</small></p>",
        '<ul class="verdicts">',
        *(_verdict(verdict) for verdict in section.verdicts),
        "</ul>",
        *(_picture(picture, figures) for picture in section.pictures),
        *(_table(table) for table in section.tables),
        "</section>",
    ]
    return "\n".join(parts)


def _verdict(verdict: Verdict) -> str:
    word, kind = {True: ("supported", "yes"), False: ("not supported", "no")}.get(
        verdict.supported,  # type: ignore[arg-type]
        ("cannot be told", "open"),
    )
    owner = "ours" if verdict.ours else "paper"
    return (
        f'<li><span class="{kind}">{word}</span> <em>{owner}:</em> {escape(verdict.claim)} '
        f"<small>{escape(verdict.evidence)}</small></li>"
    )


def _picture(picture: Picture, figures: Path) -> str:
    data = base64.b64encode((figures / f"{picture.name}.png").read_bytes()).decode("ascii")
    caption = escape(picture.caption)
    return (
        f'<figure><img alt="{caption}" src="data:image/png;base64,{data}">'
        f"<figcaption>{caption}</figcaption></figure>"
    )


def _table(table: Table) -> str:
    head = "".join(f"<th>{escape(cell)}</th>" for cell in table.head)
    lines = "\n".join(
        "<tr>"
        + f"<th>{escape(line[0])}</th>"
        + "".join(f"<td>{escape(cell)}</td>" for cell in line[1:])
        + "</tr>"
        for line in table.body
    )
    return (
        f"<details><summary>{escape(table.caption)}</summary>"
        f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{lines}</tbody></table>'
        "</div></details>"
    )


_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; color: #222; margin: 0; }
main { max-width: 70rem; margin: 0 auto; padding: 1rem; }
h2 { border-top: 1px solid #ddd; padding-top: 1.5rem; margin-top: 2.5rem; }
img { max-width: 100%; height: auto; }
figure { margin: 1rem 0; }
figcaption, small { color: #555; }
.verdicts { list-style: none; padding: 0; }
.verdicts li { margin: .4rem 0; }
.verdicts span { border-radius: .3rem; padding: .05rem .5rem; font-size: .85rem; }
.yes { background: #d3efe0; color: #10502f; }
.no { background: #fbdcd2; color: #7c2410; }
.open { background: #eee; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: .85rem; font-variant-numeric: tabular-nums; }
th, td { padding: .2rem .6rem; text-align: right; white-space: nowrap; }
tbody th { text-align: left; font-weight: normal; }
tr:nth-child(even) { background: #f6f6f6; }
summary { cursor: pointer; margin: .3rem 0; }
@media print { details { display: block; } }
"""
