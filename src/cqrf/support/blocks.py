"""Answers for many rows, made block by block."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

# Bins, points and answers of a block are at most a few dozen megabytes.
_VALUES_PER_BLOCK = 2**22
_FEWEST_ROWS = 256


def in_row_blocks(
    n_rows: int, width: int, answer: Callable[[slice], tuple[NDArray[Any], ...]]
) -> tuple[NDArray[Any], ...]:
    """Answer blocks of rows one after the other.

    Parameters
    ----------
    n_rows : int
        Number of rows.
    width : int
        Values per row that answering holds in memory; decides how many rows a block has.
    answer : callable
        From a slice of b rows to arrays of shape (b, ...).

    Returns
    -------
    tuple of ndarray of shape (n_rows, ...)
        The only arrays whose size depends on the number of rows.
    """
    blocks = _blocks(n_rows, max(_FEWEST_ROWS, _VALUES_PER_BLOCK // width))
    rows = next(blocks)
    parts = answer(rows)
    if len(parts[0]) == n_rows:
        return parts
    wholes = tuple(np.empty((n_rows, *part.shape[1:]), dtype=part.dtype) for part in parts)
    while True:
        for whole, part in zip(wholes, parts, strict=True):
            whole[rows] = part
        if rows.stop == n_rows:
            return wholes
        rows = next(blocks)
        parts = answer(rows)


def _blocks(n_rows: int, size: int) -> Iterator[slice]:
    return (slice(begin, min(n_rows, begin + size)) for begin in range(0, n_rows, size))
