"""Rows that are intervals of a unit's time (start, stop, event), or begin late (entry).

No forest learns from intervals, and none takes into account that a row was not under observation
from the beginning (left truncation).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain
from shlex import quote

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from cqrf.app.tables.columns import Kind, numbers
from cqrf.app.tables.errors import TableError
from cqrf.app.tables.identifiers import called_identifier
from cqrf.app.tables.outcome_columns import Outcome, OutcomeColumns
from cqrf.app.tables.reading import Block

Array = NDArray[np.float64]

_PAIRS = (
    ("start", "stop"),
    ("start", "end"),
    ("tstart", "tstop"),
    ("tstart", "tend"),
    ("start_time", "stop_time"),
    ("start_time", "end_time"),
    ("begin", "end"),
    ("from", "to"),
    ("t0", "t1"),
    ("t0", "t"),
    ("time1", "time2"),
    ("time0", "time1"),
    ("time0", "time"),
    ("entry", "exit"),
    ("enter", "exit"),
)
_STARTS = {start for start, _ in _PAIRS}
_ENTRY = {"entry", "entered", "enter", "enrolment", "enrollment", "truncation", "trunc"}
# So many rows that begin where another has ended are no chance.
_LEAST_JOINED = 3
# Scores at t0 and t1 may rise or fall; an interval that ends before it starts is a slip.
_MOSTLY = 0.9


def refuse_start_stop(
    block: Block, outcome: Outcome, columns: OutcomeColumns, kinds: dict[str, Kind]
) -> None:
    """Refuse start-stop rows: columns that are called so, or intervals that join.

    Parameters
    ----------
    block : Block
        All rows of a table.
    outcome : Outcome
        Their times and events.
    columns : OutcomeColumns
        What these are called.
    kinds : dict of str to {"number", "boolean", "date", "text"}
        Columns that would be learned from, and what they hold.
    """
    joined = (
        name
        for name, start in _starts(block, outcome, kinds)
        if _join_in_order(start, outcome) or _join_by_unit(block, name, start, outcome, columns)
    )
    for name in chain(_called_starts(block, outcome, columns, kinds), joined):
        raise TableError(
            block.file,
            "rows seem to be intervals (start, stop) that begin here, which are not supported yet: "
            "make one row of every unit, with its features at the start and its whole time; if it "
            f"is something else, --feature {quote(name)} learns from it",
            column=name,
        )


def note_late_entry(
    block: Block, outcome: Outcome, columns: OutcomeColumns, kinds: dict[str, Kind]
) -> list[str]:
    """Note columns that are called an entry and lie before the time of every row.

    Parameters are those of `refuse_start_stop`.
    """
    return [
        f"column {name!r} lies before {columns.time!r} in every row: if rows came under "
        "observation only then (left truncation), that is not modelled, and quantiles come out too "
        "long; give the time since then instead, or confirm with --feature "
        f"{quote(name)} that it is something else"
        for name, start in _starts(block, outcome, kinds)
        if (name.lower() in _STARTS or _ENTRY & set(re.split(r"[\W\d_]+", name.lower())))
        and start.max() > 0.0
    ]


def _called_starts(
    block: Block, outcome: Outcome, columns: OutcomeColumns, kinds: dict[str, Kind]
) -> Iterator[str]:
    """Yield columns that are called the start of a pair, and mostly lie before its end."""
    names = {name.lower(): name for name, kind in kinds.items() if kind == "number"}
    time = columns.time.lower()
    for start, end in _PAIRS:
        if start in names and end in {*names, time}:
            begins = numbers(block, names[start])[outcome.kept]
            ends = outcome.time if end == time else numbers(block, names[end])[outcome.kept]
            if (begins <= ends).mean() > _MOSTLY:
                yield names[start]


def _starts(block: Block, outcome: Outcome, kinds: dict[str, Kind]) -> Iterator[tuple[str, Array]]:
    """Yield columns of numbers, one for every row, that are below its time."""
    for name, kind in kinds.items():
        if kind == "number":
            start = numbers(block, name)[outcome.kept]
            if (start < outcome.time).all():
                yield name, start


def _join_in_order(start: Array, outcome: Outcome) -> bool:
    """Whether all rows begin where the one above has ended, but those that begin first of all."""
    later = np.flatnonzero(start > start.min())
    if len(later) < _LEAST_JOINED or later[0] == 0:
        return False
    return bool((start[later] == outcome.time[later - 1]).all())


def _join_by_unit(
    block: Block, name: str, start: Array, outcome: Outcome, columns: OutcomeColumns
) -> bool:
    """Whether most rows of a unit begin where another of it has ended, in whatever order they are.

    A unit has its identifier, or is told by all other columns.
    """
    codes = {
        other: pc.fill_null(cells.dictionary_encode().indices, -1).to_numpy()[outcome.kept]
        for other, cells in block.columns.items()
        if other not in (name, *columns.names) and not pa.types.is_nested(cells.type)
    }
    units = [[code] for other, code in codes.items() if called_identifier(other)]
    for unit in filter(None, [*units, list(codes.values())]):
        order = np.lexsort((start, *unit))
        same = np.logical_and.reduce([np.diff(code[order]) == 0 for code in unit])
        joined = same & (start[order][1:] == outcome.time[order][:-1])
        if joined.sum() >= max(_LEAST_JOINED, same.sum() / 2.0):
            return True
    return False
