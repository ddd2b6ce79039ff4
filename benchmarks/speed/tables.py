"""Tables in Markdown that can be read in a terminal as well."""

from __future__ import annotations


def table(rows: list[list[str]]) -> str:
    """Align the cells; the first row is the header."""
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    lines = [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |"
        for row in rows
    ]
    rule = "|" + "|".join("-" * (width + 2) for width in widths) + "|"
    return "\n".join([lines[0], rule, *lines[1:]])


def size_name(n: int, leaf: int) -> str:
    """Name a setting."""
    return f"n = {n:,}, leaf {leaf}"
