"""Columns that copy the outcome: what is learned from them cannot be known beforehand.

"306 days" beside a time of 306, weeks beside days, the cause of death of those who died: a forest
would read the answer from them.
"""

from __future__ import annotations

from dataclasses import replace
from shlex import quote

import numpy as np
from numpy.typing import NDArray

from cqrf.app.tables.columns import numbers_within, texts
from cqrf.app.tables.errors import TableError, shown
from cqrf.app.tables.outcome_columns import Outcome, OutcomeColumns
from cqrf.app.tables.reading import Block

Array = NDArray[np.float64]

# With fewer rows or values than these, a column may follow the outcome by chance.
_LEAST_EQUAL = 3
_LEAST_ROWS, _LEAST_VALUES = 10, 5
_LEAST_OF_A_KIND = 4
# Most columns differ from the outcome within a few rows; only the others are read whole.
_FEW = 1000


def refuse_copies(
    block: Block, outcome: Outcome, columns: OutcomeColumns, names: list[str]
) -> None:
    """Refuse a column that follows the time or the event in every row.

    Parameters
    ----------
    block : Block
        All rows of a table.
    outcome : Outcome
        Their times and events.
    columns : OutcomeColumns
        What these are called.
    names : list of str
        Columns that would be learned from.
    """
    for name in names:
        few = outcome.kept[:_FEW]
        reason = _copied(block, name, few, outcome, columns)
        if reason is not None and len(few) < len(outcome.kept):
            reason = _copied(block, name, outcome.kept, outcome, columns)
        if reason is not None:
            raise TableError(
                block.file,
                f"copies the outcome: {reason}; leave it out with --drop {quote(name)}, or learn "
                f"from it with --feature {quote(name)} if it was known beforehand",
                column=name,
            )


def _copied(
    block: Block, name: str, rows: NDArray[np.int64], outcome: Outcome, columns: OutcomeColumns
) -> str | None:
    """Say how a column copies the outcome of some rows; None if it does not."""
    part = replace(block, columns={name: block.columns[name].take(rows)}, n_rows=len(rows))
    time, event = outcome.time[: len(rows)], outcome.event[: len(rows)]
    values = numbers_within(part, name)
    known = ~np.isnan(values)
    if 2 * known.sum() > len(known):
        if _equal(values[known], time[known]):
            at = int(np.argmax(known))
            cell = shown(texts(part, name)[at])
            return f"it says {cell} where {columns.time!r} is {time[at]:g}, and so on"
        if _follows(values[known], time[known]):
            return f"it follows {columns.time!r} in every row"
    if _tells_apart(texts(part, name), event):
        return "it tells in every row whether the event was seen"
    return None


def _equal(values: Array, time: Array) -> bool:
    return bool((values == time).all()) and len(np.unique(time)) >= _LEAST_EQUAL


def _follows(values: Array, time: Array) -> bool:
    """Whether values only rise, or only fall, as times rise: weeks beside days, a logarithm."""
    if len(values) < _LEAST_ROWS or len(np.unique(time)) < _LEAST_VALUES:
        return False
    _, counts = np.unique(values, return_counts=True)
    if len(counts) < _LEAST_VALUES or 2 * counts.max() > len(values):
        return False
    return any(
        bool((np.diff(signed[np.lexsort((signed, time))]) >= 0.0).all())
        for signed in (values, -values)
    )


def _tells_apart(cells: NDArray[np.object_], event: NDArray[np.bool_]) -> bool:
    """Whether events and censored rows have different values, or only one of both has any."""
    if min(event.sum(), (~event).sum()) < _LEAST_OF_A_KIND or len(cells) < 2 * _LEAST_ROWS:
        return False
    filled = np.array([cell is not None for cell in cells])
    if np.array_equal(filled, event) or np.array_equal(filled, ~event):
        return True
    pairs = set(zip(cells.tolist(), event.tolist(), strict=True))
    return len(pairs) == 2 and len({cell for cell, _ in pairs}) == 2
