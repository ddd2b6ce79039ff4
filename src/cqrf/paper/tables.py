"""Means and standard errors of stored rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cqrf.paper.settings import Row, Rows

Array = NDArray[np.float64]
# Columns by which stored rows are found.
GROUPED = ("setting", "method")


@dataclass(frozen=True)
class Mean:
    """Mean of a value over replications, with its standard error."""

    mean: float
    error: float
    values: Array

    def __str__(self) -> str:
        return f"{self.mean:.3g} ({self.error:.2g})"


def select(rows: Iterable[Row], **conditions: Any) -> list[Row]:
    """Keep the rows that have these values; a tuple or list means any of its members."""

    def fits(value: Any, asked: Any) -> bool:
        return value in asked if isinstance(asked, tuple | list) else value == asked

    if isinstance(rows, Rows):
        grouped = [(name, conditions.pop(name)) for name in GROUPED if name in conditions]
        rows = chain.from_iterable(
            group
            for key, group in rows.groups.items()
            if all(fits(key[GROUPED.index(name)], asked) for name, asked in grouped)
        )
    return [row for row in rows if all(fits(row[name], conditions[name]) for name in conditions)]


def mean(rows: Iterable[Row], **conditions: Any) -> Mean:
    """Average, in every replication, the rows that fit, then over replications."""
    by_replication: dict[int, list[float]] = {}
    for row in select(rows, **conditions):
        by_replication.setdefault(row["replication"], []).append(row["value"])
    if not by_replication:
        raise KeyError(f"no rows with {conditions}")
    values = np.array([np.mean(by_replication[r]) for r in sorted(by_replication)])
    error = values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else float("nan")
    return Mean(float(values.mean()), float(error), values)


def distinct(rows: Iterable[Row], column: str) -> list[Any]:
    """List the values of a column in the order of their first appearance."""
    return list(dict.fromkeys(row[column] for row in rows))


def ratio_of_means(one: Array, other: Array) -> tuple[Any, Any]:
    """Ratio of the means of paired replications, with its standard error (delta method).

    Replications are the first axis; NaN is the error of a single one.
    """
    value = one.mean(axis=0) / other.mean(axis=0)
    residual = (one - value * other) / other.mean(axis=0)
    if len(residual) < 2:
        return value, np.full_like(value, np.nan)
    return value, residual.std(axis=0, ddof=1) / np.sqrt(len(residual))


def ratio(one: Mean, other: Mean) -> Mean:
    """Ratio of two means of the same replications."""
    value, error = ratio_of_means(one.values, other.values)
    return Mean(float(value), float(error), one.values / other.values)


def beats(
    rows: list[Row], one: str, others: Sequence[str], sizes: Sequence[int], **at: Any
) -> list[bool]:
    """Whether, at each node size, a method has a smaller mean than all of the others."""
    means = {
        method: [mean(rows, method=method, node_size=size, **at).mean for size in sizes]
        for method in (one, *others)
    }
    return [all(means[one][k] < means[other][k] for other in others) for k in range(len(sizes))]


@dataclass(frozen=True)
class Table:
    """A table of a page: a caption, column heads and rows of text."""

    caption: str
    head: Sequence[str]
    body: Sequence[Sequence[str]]


def table(
    caption: str,
    lines: Sequence[str],
    columns: Sequence[Any],
    cell: Callable[[str, Any], Mean],
    heads: Sequence[str] | None = None,
) -> Table:
    """Fill a table cell by cell; a cell without rows stays empty."""

    def text(line: str, column: Any) -> str:
        try:
            return str(cell(line, column))
        except KeyError:
            return ""

    return Table(
        caption,
        ["", *(heads or [str(column) for column in columns])],
        [[line, *(text(line, column) for column in columns)] for line in lines],
    )
