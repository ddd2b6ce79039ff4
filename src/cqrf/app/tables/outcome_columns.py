"""The outcome of every row: a time, and whether the event was seen."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from cqrf.app.tables.columns import kind_of, numbers, texts
from cqrf.app.tables.errors import TableError, meant, shown
from cqrf.app.tables.reading import Block

if TYPE_CHECKING:
    from cqrf.forest import CensoredQuantileForest

_YES = ("1", "1.0", "true", "t", "yes", "y")
_NO = ("0", "0.0", "false", "f", "no", "n")


@dataclass(frozen=True)
class OutcomeColumns:
    """Which columns hold the outcome, and how.

    Attributes
    ----------
    time : str
        Column of times. Without `event`, ``<0.2`` (left) or ``>365`` (right) is a censored one.
    event : str or None
        Column that tells whether the event was seen.
    event_values : tuple of str
        Values of `event` that mean it was; by default 1, true or yes against 0, false or no.
    left : bool
        Whether a censored time is an upper bound.
    skip_incomplete : bool
        Leave out rows whose time or event is missing instead of refusing them.
    negative : bool
        Whether right-censored times may be negative.
    """

    time: str
    event: str | None = None
    event_values: tuple[str, ...] = ()
    left: bool = False
    skip_incomplete: bool = False
    negative: bool = False

    @property
    def names(self) -> list[str]:
        """Columns that are no features."""
        return [self.time] if self.event is None else [self.time, self.event]

    @property
    def censoring(self) -> str:
        """The estimator's parameter."""
        return "left" if self.left else "right"

    @classmethod
    def of_forest(cls, forest: CensoredQuantileForest) -> OutcomeColumns | None:
        """Name the columns as those that a forest has learned from; None if it has no name."""
        labels, target = forest.outcome_labels_, forest.target_
        if labels.time is None:
            return None
        return cls(
            labels.time,
            labels.event,
            left=target.mirrored,
            negative=bool((target.observed < 0.0).any()),
        )


@dataclass(frozen=True, eq=False)
class Outcome:
    """Times and events of the rows that have both.

    Attributes
    ----------
    time : ndarray of shape (n,), float64
    event : ndarray of shape (n,), bool
    kept : ndarray of shape (n,), int64
        Positions of these rows in the table, from 0.
    notes : tuple of str
        What a user should know about how they were read.
    """

    time: NDArray[np.float64]
    event: NDArray[np.bool_]
    kept: NDArray[np.int64]
    notes: tuple[str, ...] = ()


def read_outcome(block: Block, columns: OutcomeColumns) -> Outcome:
    """Read times and events; refuse what has no clear meaning.

    Parameters
    ----------
    block : Block
        All rows of a table.
    columns : OutcomeColumns
        Where they are.

    Returns
    -------
    Outcome
    """
    if columns.event == columns.time:
        raise TableError(block.file, "--time and --event name the same column", column=columns.time)
    limits, block = _limits(block, columns)
    kind = kind_of(block, columns.time, learned=False)
    if kind in ("date", "boolean"):
        raise TableError(
            block.file,
            f"must hold a duration or a measured value, not {kind}s; "
            "for dates, compute the days since each row began",
            column=columns.time,
        )
    time = numbers(block, columns.time)
    if not columns.left and not columns.negative and (time < 0.0).any():
        at = int(np.argmax(time < 0.0))
        raise block.error(
            f"{time[at]:g} is negative, and a duration cannot be; give --negative if the times are "
            "logarithms or the like",
            columns.time,
            at,
        )
    event = np.ones(len(time), dtype=object)
    notes: tuple[str, ...] = ()
    if columns.event is not None:
        event, notes = _events(block, columns)
    elif limits is not None:
        event = ~limits
    missing = np.isnan(time) | np.array([value is None for value in event], dtype=np.bool_)
    if missing.any() and not columns.skip_incomplete:
        at = int(np.argmax(missing))
        name = columns.time if np.isnan(time[at]) else str(columns.event)
        hint = "; fill it in, or leave such rows out with --skip-incomplete"
        raise block.error(f"is missing{hint}", name, at)
    kept = np.flatnonzero(~missing)
    if not len(kept):
        raise TableError(block.file, "no row has both a time and an event")
    return Outcome(time[kept], event[kept].astype(np.bool_), kept, notes)


def _limits(block: Block, columns: OutcomeColumns) -> tuple[NDArray[np.bool_] | None, Block]:
    """Find times written as limits; return their mask and the block without the marks."""
    cells = block.column(columns.time)
    if not (pa.types.is_string(cells.type) or pa.types.is_large_string(cells.type)):
        return None, block
    trimmed = pc.utf8_trim_whitespace(cells)
    below = _marked(trimmed, "[<≤]")
    above = _marked(trimmed, "[>≥]")
    if not (below.any() or above.any()):
        return None, block
    wrong = above if columns.left else below
    marked = below if columns.left else above
    at = int(np.argmax(wrong if wrong.any() else marked))
    value = shown(cells[at])
    if wrong.any():
        hint = (
            "but --left asks for upper bounds"
            if columns.left
            else "a value below a limit is censored from the left: give --left"
        )
        raise block.error(f"{value} is a limit, {hint}", columns.time, at)
    if columns.event is not None:
        raise block.error(
            f"{value} is a limit, which says the same as --event; give only one of them",
            columns.time,
            at,
        )
    plain = pc.replace_substring_regex(trimmed, r"^[<>≤≥]=?\s*", "")
    return marked, replace(block, columns={**block.columns, columns.time: plain})


def _marked(cells: pa.Array, marks: str) -> NDArray[np.bool_]:
    found = pc.fill_null(pc.match_substring_regex(cells, f"^{marks}"), False)
    return np.asarray(found.to_numpy(zero_copy_only=False), dtype=np.bool_)


def _events(block: Block, columns: OutcomeColumns) -> tuple[NDArray[np.object_], tuple[str, ...]]:
    """Return True, False or None for every row; and what to note."""
    assert columns.event is not None
    cells = texts(block, columns.event)
    words = [None if cell is None else str(cell).strip() for cell in cells]
    present = list(dict.fromkeys(word for word in words if word is not None))
    notes: tuple[str, ...] = ()
    if columns.event_values:
        yes = {_plain(value) for value in columns.event_values}
        unknown = [
            value for value in columns.event_values if _plain(value) not in map(_plain, present)
        ]
        if unknown:
            hint = f"{meant(unknown[0], present)}there are {_some(present)}"
            problem = f"--event-value {unknown[0]} never occurs; {hint}"
            raise TableError(block.file, problem, column=columns.event)
        coded = {word: _plain(word) in yes for word in present}
        others = [word for word in present if not coded[word]]
        if len(set(map(_plain, others))) > 1:
            notes = (
                f"column {columns.event!r}: {_some(others)} all count as censored; competing "
                "events are not modelled",
            )
    else:
        coded = {word: word.lower() in _YES for word in present}
        strange = [word for word in present if word.lower() not in (*_YES, *_NO)]
        if strange:
            raise block.error(
                f"{shown(strange[0])} is neither 1/0, true/false nor yes/no; there are "
                f"{_some(present)}: say which value means that the event was seen with "
                "--event-value; all others count as censored",
                columns.event,
                words.index(strange[0]),
            )
    return np.array([None if word is None else coded[word] for word in words], dtype=object), notes


def _plain(value: str) -> str:
    """1, 1.0 and 01 are one value."""
    try:
        return str(float(value))
    except ValueError:
        return value.lower()


def _some(values: list[str]) -> str:
    more = ", ..." if len(values) > 6 else ""
    return ", ".join(shown(value) for value in sorted(values)[:6]) + more
