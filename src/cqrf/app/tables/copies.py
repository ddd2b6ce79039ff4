"""Columns that copy the outcome: what is learned from them cannot be known beforehand.

"306 days" beside a time of 306, weeks beside days, the cause of death of those who died: a forest
would read the answer from them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import combinations
from shlex import quote

import numpy as np
from numpy.typing import NDArray

from cqrf.app.tables.columns import Kind, numbers, numbers_within, texts
from cqrf.app.tables.errors import TableError, shown
from cqrf.app.tables.outcome_columns import Outcome, OutcomeColumns
from cqrf.app.tables.reading import Block

Array = NDArray[np.float64]
Judge = Callable[[Block, tuple[str, ...], Outcome, OutcomeColumns], str | None]

# With fewer rows or values than these, a column may follow the outcome by chance.
_LEAST_EQUAL = 3
_LEAST_ROWS, _LEAST_VALUES = 10, 5
_LEAST_OF_A_KIND = 4
# What holds for this share of the rows, or is this rank correlation, is nearly a copy.
_NEARLY = 0.95
# Most columns differ from the outcome within a few rows; only the others are read whole.
_FEW = 1000


def refuse_copies(
    block: Block, outcome: Outcome, columns: OutcomeColumns, kinds: dict[str, Kind]
) -> None:
    """Refuse a column, or a pair of dates, that follows the time or the event in every row.

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
    for name, reason in _found(block, outcome, columns, kinds, _copied):
        raise TableError(
            block.file,
            f"copies the outcome: {reason}; leave it out with --drop {quote(name)}, or learn "
            f"from it with --feature {quote(name)} if it was known beforehand",
            column=name,
        )


def note_near_copies(
    block: Block, outcome: Outcome, columns: OutcomeColumns, kinds: dict[str, Kind]
) -> list[str]:
    """Note columns, or pairs of dates, that follow the time or the event in nearly every row.

    Parameters are those of `refuse_copies`, which comes first.
    """
    return [
        f"column {name!r} nearly copies the outcome: {reason}; leave it out with --drop "
        f"{quote(name)}, or confirm with --feature {quote(name)} that it was known beforehand"
        for name, reason in _found(block, outcome, columns, kinds, _nearly_copied)
    ]


def _found(
    block: Block, outcome: Outcome, columns: OutcomeColumns, kinds: dict[str, Kind], judge: Judge
) -> Iterator[tuple[str, str]]:
    """Yield columns with what a judge says of them, if it says so of all rows."""
    few = _some_of_each(outcome.event)
    dates = [name for name, kind in kinds.items() if kind == "date"]
    for names in (*((name,) for name in kinds), *combinations(dates, 2)):
        reason = None
        for rows in (few, np.arange(len(outcome.kept))):
            cells = {name: block.columns[name].take(outcome.kept[rows]) for name in names}
            part = replace(block, columns=cells, n_rows=len(rows))
            seen = Outcome(outcome.time[rows], outcome.event[rows], rows)
            reason = judge(part, names, seen, columns)
            if reason is None or len(few) == len(outcome.kept):
                break
        if reason is not None:
            yield names[-1], reason


def _some_of_each(event: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Choose rows from the whole table, events among them: tables are sorted, and events rare."""
    sides = (np.flatnonzero(event), np.flatnonzero(~event))
    return np.sort(np.concatenate([side[:: 1 + 2 * len(side) // _FEW] for side in sides]))


def _copied(
    part: Block, names: tuple[str, ...], outcome: Outcome, columns: OutcomeColumns
) -> str | None:
    """Say how a column, or the difference of two, copies the outcome of some rows."""
    values, time = _values(part, names), outcome.time
    known = ~np.isnan(values)
    with_first = f"with {names[0]!r} " if len(names) > 1 else ""
    if 2 * known.sum() > len(known):
        if _equal(values[known], time[known]):
            at = int(np.argmax(known))
            cell = shown(texts(part, names[-1])[at])
            return f"{with_first}it says {cell} where {columns.time!r} is {time[at]:g}, and so on"
        if _follows(values[known], time[known]):
            return f"{with_first}it follows {columns.time!r} in every row"
    if len(names) == 1 and _tells_apart(texts(part, names[0]), outcome.event, 1.0):
        return "it tells in every row whether the event was seen"
    return None


def _nearly_copied(
    part: Block, names: tuple[str, ...], outcome: Outcome, columns: OutcomeColumns
) -> str | None:
    """Say how a column, or the difference of two, nearly copies the outcome of some rows."""
    values, time = _values(part, names), outcome.time
    known = ~np.isnan(values)
    with_first = f"with {names[0]!r} " if len(names) > 1 else ""
    # A study that ends for all on one day ties entry to the times of those that are censored.
    groups = [(values[rows], time[rows]) for rows in (known, known & outcome.event)]
    if 2 * known.sum() > len(known) and all(_vary(*group) for group in groups):
        if all((said == true).mean() >= _NEARLY for said, true in groups):
            return f"{with_first}it says {columns.time!r} in nearly every row"
        correlation = min((_rank_correlation(*group) for group in groups), key=abs)
        if abs(correlation) > _NEARLY:
            return f"{with_first}its rank correlation with {columns.time!r} is {correlation:.3f}"
    if len(names) == 1 and _tells_apart(texts(part, names[0]), outcome.event, _NEARLY):
        return "it tells in nearly every row whether the event was seen"
    return None


def _values(part: Block, names: tuple[str, ...]) -> Array:
    """Read the first numbers of a column, or the days between two dates."""
    if len(names) == 1:
        return numbers_within(part, names[0])
    first, second = (numbers(part, name) for name in names)
    return np.abs(second - first)


def _equal(values: Array, time: Array) -> bool:
    return bool((values == time).all()) and len(np.unique(time)) >= _LEAST_EQUAL


def _vary(values: Array, time: Array) -> bool:
    """Whether there are so many different values that they can follow something."""
    if len(values) < _LEAST_ROWS or len(np.unique(time)) < _LEAST_VALUES:
        return False
    _, counts = np.unique(values, return_counts=True)
    return len(counts) >= _LEAST_VALUES and 2 * int(counts.max()) <= len(values)


def _follows(values: Array, time: Array) -> bool:
    """Whether values only rise, or only fall, as times rise: weeks beside days, a logarithm."""
    return _vary(values, time) and any(
        bool((np.diff(signed[np.lexsort((signed, time))]) >= 0.0).all())
        for signed in (values, -values)
    )


def _rank_correlation(values: Array, time: Array) -> float:
    """Spearman's correlation; equal values share the mean of their ranks."""
    return float(np.corrcoef(_ranks(values), _ranks(time))[0, 1])


def _ranks(values: Array) -> Array:
    _, places, counts = np.unique(values, return_inverse=True, return_counts=True)
    ranks: Array = np.cumsum(counts) - (counts - 1) / 2.0
    return ranks[places]


def _tells_apart(cells: NDArray[np.object_], event: NDArray[np.bool_], share: float) -> bool:
    """Whether events, or censored rows, have one thing, or nothing, that the others do not have."""
    if min(event.sum(), (~event).sum()) < _LEAST_OF_A_KIND or len(cells) < 2 * _LEAST_ROWS:
        return False
    events, censored = Counter(cells[event].tolist()), Counter(cells[~event].tolist())
    for one, other in ((events, censored), (censored, events)):
        cell, count = one.most_common(1)[0]
        if count >= share * one.total() and other[cell] <= (1.0 - share) * other.total():
            return True
    return False
