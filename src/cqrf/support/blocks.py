"""Answers for many rows, made block by block."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

# Bins, points and answers of a block are at most a few dozen megabytes.
_VALUES_PER_BLOCK = 2**22
_FEWEST_ROWS = 256


def in_row_blocks(n_rows: int, width: int, answer: Callable[[slice], NDArray[Any]]) -> NDArray[Any]:
    """Answer blocks of rows one after the other.

    Parameters
    ----------
    n_rows : int
        Number of rows.
    width : int
        Values per row that answering holds in memory; decides how many rows a block has.
    answer : callable
        From a slice of b rows to an array of shape (b, ...).

    Returns
    -------
    ndarray of shape (n_rows, ...)
        The only array whose size depends on the number of rows.
    """
    blocks = _blocks(n_rows, max(_FEWEST_ROWS, _VALUES_PER_BLOCK // width))
    rows = next(blocks)
    part = answer(rows)
    if len(part) == n_rows:
        return part
    whole = np.empty((n_rows, *part.shape[1:]), dtype=part.dtype)
    whole[rows] = part
    for rows in blocks:
        whole[rows] = answer(rows)
    return whole


def _blocks(n_rows: int, size: int) -> Iterator[slice]:
    return (slice(begin, min(n_rows, begin + size)) for begin in range(0, n_rows, size))
