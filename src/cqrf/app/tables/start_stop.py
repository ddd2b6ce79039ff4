"""Rows that are intervals of a unit's time (start, stop, event): no forest learns from them."""

from __future__ import annotations

from dataclasses import replace
from shlex import quote

import numpy as np
from numpy.typing import NDArray

from cqrf.app.tables.columns import kind_of, numbers
from cqrf.app.tables.errors import TableError
from cqrf.app.tables.outcome_columns import Outcome, OutcomeColumns
from cqrf.app.tables.reading import Block

_PAIRS = (
    ("start", "stop"),
    ("tstart", "tstop"),
    ("start_time", "stop_time"),
    ("time1", "time2"),
    ("time0", "time"),
    ("entry", "exit"),
)
# Fewer rows than this may begin by chance where the row above has ended.
_LEAST_JOINED = 3
# Only so many rows are looked at: intervals join from the first rows on.
_FEW = 1000


def refuse_start_stop(
    block: Block, outcome: Outcome, columns: OutcomeColumns, names: list[str]
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
    names : list of str
        Columns that would be learned from.
    """
    lower = {name.lower(): name for name in names}
    ends = {*lower, columns.time.lower()}
    start = next((lower[a] for a, b in _PAIRS if a in lower and b in ends), None)
    if start is None:
        few = replace(block, columns={n: c[:_FEW] for n, c in block.columns.items()})
        time = np.full(block.n_rows, np.nan)
        time[outcome.kept] = outcome.time
        start = next((name for name in names if _begins(few, name, time[:_FEW])), None)
    if start is not None:
        raise TableError(
            block.file,
            "rows seem to be intervals (start, stop) that begin here, which are not supported yet: "
            "make one row of every unit, with its features at the start and its whole time; if it "
            f"is something else, --feature {quote(start)} learns from it",
            column=start,
        )


def _begins(block: Block, name: str, time: NDArray[np.float64]) -> bool:
    """Whether rows begin, by this column, where the rows above them have ended."""
    try:
        if kind_of(block, name) != "number":
            return False
    except TableError:
        # The column may be text that is left out as an identifier, and cannot be read otherwise.
        return False
    start = numbers(block, name)
    known = ~np.isnan(time)
    if np.isnan(start).any() or not (start < time)[known].all():
        return False
    # The first interval of a unit begins at zero, or wherever all of them do.
    later = np.flatnonzero(start > start.min())
    if len(later) < _LEAST_JOINED or later[0] == 0:
        return False
    return bool((start[later] == time[later - 1]).all())
