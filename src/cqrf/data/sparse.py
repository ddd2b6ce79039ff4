"""Whether the arrays of a sparse matrix belong together.

SciPy trusts them: a position out of range is read, or written to, wherever that is.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def check_sparse(name: str, matrix: Any) -> None:
    """Refuse a sparse matrix that no conversion of SciPy may be given.

    Parameters
    ----------
    name : str
        Name of the argument, for the message.
    matrix : scipy.sparse matrix or array of two dimensions
        In any format. What a DOK matrix holds SciPy checks itself.
    """
    try:
        if matrix.format in ("csr", "csc", "bsr"):
            _check_compressed(matrix)
        elif matrix.format == "coo":
            _check_coordinates(matrix)
        elif matrix.format == "lil":
            _check_lists(matrix)
        elif matrix.format == "dia":
            _check_diagonals(matrix)
    except _Malformed as error:
        raise ValueError(
            f"{name} is a malformed sparse matrix of format {matrix.format}: {error}"
        ) from None


class _Malformed(Exception):
    """What is wrong with the arrays of a matrix."""


def _require(condition: object, problem: str) -> None:
    if not condition:
        raise _Malformed(problem)


def _check_integers(what: str, values: Any) -> None:
    good = isinstance(values, np.ndarray) and values.ndim == 1 and values.dtype.kind == "i"
    _require(good, f"{what} must be a one-dimensional array of integers")


def _check_range(what: str, values: NDArray[Any], size: int) -> None:
    outside = (values < 0) | (values >= size)
    if outside.any():
        at = int(np.argmax(outside))
        raise _Malformed(f"{what}[{at}] is {values[at]}, which is not below {size}")


def _check_values(what: str, values: Any, n_axes: int) -> None:
    good = isinstance(values, np.ndarray) and values.ndim == n_axes
    _require(good, f"{what} must be an array of {n_axes} dimensions")


def _check_compressed(matrix: Any) -> None:
    indptr, indices, data = matrix.indptr, matrix.indices, matrix.data
    blocks = matrix.format == "bsr"
    _check_integers("indptr", indptr)
    _check_integers("indices", indices)
    _check_values("data", data, 3 if blocks else 1)
    n_rows, n_columns = matrix.shape
    if blocks:
        height, width = data.shape[1:]
        fits = height > 0 and width > 0 and n_rows % height == 0 and n_columns % width == 0
        _require(fits, f"blocks of shape {(height, width)} do not fill the shape {matrix.shape}")
        n_rows, n_columns = n_rows // height, n_columns // width
    if matrix.format == "csc":
        n_rows, n_columns = n_columns, n_rows
    length = f"indptr has {len(indptr)} entries where the shape {matrix.shape} asks for "
    _require(len(indptr) == n_rows + 1, length + f"{n_rows + 1}")
    _require(indptr[0] == 0, f"indptr begins with {indptr[0]}, not 0")
    falls = indptr[1:] < indptr[:-1]
    _require(not falls.any(), f"indptr falls after position {int(np.argmax(falls))}")
    differ = f"indices and data differ in length: {len(indices)} and {len(data)}"
    _require(len(indices) == len(data), differ)
    used = int(indptr[-1])
    _require(used <= len(indices), f"indptr ends with {used}, but there are {len(indices)} indices")
    _check_range("indices", indices[:used], n_columns)


def _check_coordinates(matrix: Any) -> None:
    _check_values("data", matrix.data, 1)
    for what, values, size in zip(
        ("row", "col"), (matrix.row, matrix.col), matrix.shape, strict=True
    ):
        _check_integers(what, values)
        differ = f"{what} and data differ in length: {len(values)} and {len(matrix.data)}"
        _require(len(values) == len(matrix.data), differ)
        _check_range(what, values, size)


def _check_lists(matrix: Any) -> None:
    n_rows, n_columns = matrix.shape
    _check_values("rows", matrix.rows, 1)
    _check_values("data", matrix.data, 1)
    _require(
        len(matrix.rows) == len(matrix.data) == n_rows, f"there must be {n_rows} lists of each"
    )
    for row, (columns, values) in enumerate(zip(matrix.rows, matrix.data, strict=True)):
        lists = isinstance(columns, list) and isinstance(values, list)
        _require(lists and len(columns) == len(values), f"lists of row {row} differ in length")
        if columns:
            _check_integers(f"rows[{row}]", np.array(columns))
            _check_range(f"rows[{row}]", np.array(columns), n_columns)


def _check_diagonals(matrix: Any) -> None:
    _check_values("data", matrix.data, 2)
    _check_integers("offsets", matrix.offsets)
    n_offsets, n_diagonals = len(matrix.offsets), len(matrix.data)
    _require(n_offsets == n_diagonals, f"there are {n_offsets} offsets of {n_diagonals} diagonals")
