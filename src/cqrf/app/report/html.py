"""Pieces of the page: figures with the table behind them, tables, paragraphs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from importlib.resources import files

from cqrf.app.report.charts import Chart


@dataclass(frozen=True)
class Table:
    """Cells as text.

    Attributes
    ----------
    caption : str
    head : sequence of str
    body : sequence of sequences of str
        The first cell of a line is its name.
    """

    caption: str
    head: Sequence[str]
    body: Sequence[Sequence[str]]

    def html(self) -> str:
        """Write the table; it scrolls where it is wider than the page."""
        head = "".join(f'<th scope="col">{escape(cell)}</th>' for cell in self.head)
        lines = "".join(
            f'<tr><th scope="row">{escape(line[0])}</th>'
            + "".join(f"<td>{escape(cell)}</td>" for cell in line[1:])
            + "</tr>"
            for line in self.body
        )
        # The script shows the hint where the table is wider than the page.
        return (
            '<p class="more" hidden>wider than the page: scroll sideways →</p>'
            f'<div class="wide" tabindex="0" role="region" aria-label="{escape(self.caption)}">'
            f"<table><thead><tr>{head}</tr></thead><tbody>{lines}</tbody></table></div>"
        )


@dataclass(frozen=True)
class Section:
    """A chapter of the page.

    Attributes
    ----------
    name : str
        Its anchor.
    title : str
    parts : list of str
        HTML.
    """

    name: str
    title: str
    parts: list[str] = field(default_factory=list)

    def html(self) -> str:
        """Write the chapter."""
        body = "\n".join(self.parts)
        return f'<section id="{self.name}"><h2>{escape(self.title)}</h2>\n{body}\n</section>'


def paragraph(text: str) -> str:
    """Write a paragraph of plain text."""
    return f"<p>{escape(text)}</p>"


def figure(chart: Chart, caption: str, table: Table | None = None) -> str:
    """Write a chart, its legend, its caption and the table behind it."""
    legend = chart.legend()
    keys = "".join(
        f'<button type="button" data-line="{at}" aria-pressed="true">'
        f'<svg width="26" height="10" aria-hidden="true"><line x1="1" x2="25" y1="5" y2="5" '
        f'stroke="{colour}" stroke-width="3" stroke-dasharray="{dash}"/></svg>'
        f"{escape(name)}</button>"
        for at, (name, colour, dash) in enumerate(legend)
    )
    numbers = ""
    if table is not None:
        numbers = f"<details><summary>{escape(table.caption)}</summary>{table.html()}</details>"
    return (
        f"<figure>{f'<div class=legend>{keys}</div>' if len(legend) > 1 else ''}{chart.svg()}"
        f"<figcaption>{escape(caption)}</figcaption>{numbers}</figure>"
    )


def grid(figures: Sequence[str]) -> str:
    """Put figures side by side where there is room."""
    return f'<div class="figures">{"".join(figures)}</div>'


def tiles(facts: Sequence[tuple[str, str]]) -> str:
    """Write a few numbers large."""
    inner = "".join(
        f"<div><b>{escape(value)}</b><span>{escape(name)}</span></div>" for name, value in facts
    )
    return f'<div class="tiles">{inner}</div>'


def asset(name: str) -> str:
    """Read a style sheet or a script that ships with the package."""
    return files("cqrf.app.report").joinpath("assets", name).read_text(encoding="utf-8")


def document(title: str, body: str, *, script: str, head: str = "", nonce: str = "") -> str:
    """Write a whole page with its style and script inside; it asks no server for anything."""
    allowed = f' nonce="{nonce}"' if nonce else ""
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,">
{head}<title>{escape(title)}</title>
<style{allowed}>{asset("page.css")}</style>
</head>
<body>
{body}
<script{allowed}>{script}</script>
</body>
</html>
"""
