"""Small pieces of HTML for notebooks: tables in the reader's own colours, no scripts."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

_STYLE = (
    "<style>.cqrf{display:flex;flex-wrap:wrap;gap:.4em 2.5em;align-items:flex-start;margin:.4em 0}"
    ".cqrf-title{font-weight:600;flex-basis:100%}"
    ".cqrf table{border-collapse:collapse;font-size:.92em;margin:0}"
    ".cqrf th,.cqrf td{padding:.1em .6em;text-align:right;border:0;background:none}"
    ".cqrf th{font-weight:600;border-bottom:1px solid #8888}"
    ".cqrf .cqrf-label{text-align:left;padding-left:0;opacity:.75}"
    ".cqrf .cqrf-note{font-size:.85em;opacity:.75;margin:.2em 0 0;max-width:22em}"
    "</style>"
)


def page(title: str, *parts: str) -> str:
    """Join parts under a title; they stand side by side where there is room."""
    return f'{_STYLE}<div class="cqrf"><div class="cqrf-title">{escape(title)}</div>' + (
        "".join(f"<div>{part}</div>" for part in parts if part) + "</div>"
    )


def table(
    lines: Sequence[Sequence[str]],
    columns: Sequence[str] | None = None,
    *,
    note: str = "",
    bars: tuple[int, Sequence[float]] | None = None,
) -> str:
    """Make a table of text.

    Parameters
    ----------
    lines : sequence of sequence of str
        Cells. Without `columns`, the first cell of a line is its label.
    columns : sequence of str, optional
        Heads of the columns.
    note : str, default=""
        A line below the table.
    bars : (int, sequence of float), optional
        A column, and for each of its cells how much of it is shaded, in percent.

    Returns
    -------
    str
    """
    html = ["<table>"]
    if columns is not None:
        html.append(f"<tr>{''.join(f'<th>{escape(name)}</th>' for name in columns)}</tr>")
    for i, line in enumerate(lines):
        html.append("<tr>")
        for j, cell in enumerate(line):
            attribute = ""
            if columns is None and j == 0:
                attribute = ' class="cqrf-label"'
            elif bars is not None and j == bars[0]:
                shade = f"linear-gradient(to left,#0072B255 {bars[1][i]:.0f}%,transparent 0)"
                attribute = f' style="background:{shade}"'
            html.append(f"<td{attribute}>{escape(cell)}</td>")
        html.append("</tr>")
    html.append("</table>")
    if note:
        html.append(f'<p class="cqrf-note">{escape(note)}</p>')
    return "".join(html)
