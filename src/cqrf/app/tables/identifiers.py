"""Columns that number or name the rows: learned from, they would only be noise."""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

from cqrf.app.tables.columns import Kind, numbers
from cqrf.app.tables.reading import Block

# In fewer rows than this, all values may be different by chance.
_LEAST_ROWS = 10
# Text with a larger share of different values names single rows, not kinds of rows.
_MOSTLY = 0.9
# Beyond this one it may.
_OFTEN = 0.5
_FEW = 1000
# What pandas calls an index that was written without a name; R writes the empty text.
_UNNAMED = r"Unnamed: \d+(_level_\d+)?|__index_level_\d+__|"
_CALLED_ID = (
    r"(?i:(.*[_. -])?(id|ids|uuid|guid|pid|rownames?)|id[_. -].*"
    r"|(row|patient|u?subj|subject|person|user|customer|case|record|sample|unit)id)|.*[a-z]I[Dd]"
)


def names_rows(block: Block, name: str, kind: Kind) -> str | None:
    """Say why a column cannot tell anything but rows apart; None if it may.

    Parameters
    ----------
    block : Block
        All rows of a table.
    name : str
        The column.
    kind : {"number", "boolean", "date", "text"}
        What it holds.
    """
    if re.fullmatch(_UNNAMED, name):
        return "has no name of its own, as the index of a table"
    cells = block.column(name)
    if len(cells) < _LEAST_ROWS:
        return None
    if kind == "text" and len(cells.unique()) > _MOSTLY * len(cells):
        return "has another text in almost every row, as a name or an identifier"
    if kind == "number":
        values = numbers(block, name)
        if _numbers_rows(values):
            return "numbers the rows"
        if called_identifier(name) and _different_integers(values):
            return "holds another number in every row, and is called an identifier"
    return None


def may_name_rows(block: Block, name: str, kind: Kind) -> bool:
    """Whether a column that is learned from could be an identifier nevertheless."""
    if kind not in ("number", "text"):
        return False
    if called_identifier(name):
        return True
    if block.n_rows < 2 * _LEAST_ROWS:
        return False
    if kind == "text":
        return len(block.column(name).unique()) > _OFTEN * block.n_rows
    return _different_integers(numbers(block, name))


def called_identifier(name: str) -> bool:
    """Whether a column is called like an identifier."""
    return re.fullmatch(_CALLED_ID, name) is not None


def _numbers_rows(values: NDArray[np.float64]) -> bool:
    """Whether values are 0, 1, 2, ... or 1, 2, 3, ... from row to row."""
    return values[0] in (0.0, 1.0) and bool((np.diff(values) == 1.0).all())


def _different_integers(values: NDArray[np.float64]) -> bool:
    """Whether values are whole numbers, all different and none missing; the first often decide."""
    return all(
        bool((part == np.floor(part)).all()) and len(np.unique(part)) == len(part)
        for part in (values[:_FEW], values)
    )
