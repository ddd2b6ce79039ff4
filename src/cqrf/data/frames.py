"""Tables of any origin, opened: arrays, frames and sparse matrices, column by column."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import check_array

from cqrf.data.sparse import check_sparse
from cqrf.support.checks import frame_library, unmask


@dataclass(frozen=True, eq=False)
class Table:
    """Data of any origin, column by column; nothing is copied before a column is asked for.

    Attributes
    ----------
    n_rows, n_features : int
        Shape (n, p).
    names : list or None
        Names of the columns of a frame.
    text_columns : list of int
        Columns of a frame that are categories by their type.
    column : callable
        ``column(j)`` has shape (n,): booleans, integers or floats with NaN for missing, or
        objects.
    matrix : ndarray of shape (n, p), optional
        All columns at once, where they are numbers in one array.
    compressed : csc_array or csc_matrix of shape (n, p), optional
        The same for a sparse table: no duplicates, rows in order.
    """

    n_rows: int
    n_features: int
    names: list[Any] | None
    text_columns: list[int]
    column: Callable[[int], NDArray[Any]]
    matrix: NDArray[Any] | None = None
    compressed: Any = None

    def label(self, j: int) -> str:
        """Name of a column, for messages."""
        return f"column {j}" if self.names is None else f"column {self.names[j]!r}"


def is_plain(X: Any) -> bool:
    """Say whether X is a NumPy matrix of floats with at least one cell.

    Of such an array scikit-learn's validation has nothing to refuse but infinities and a wrong
    number of columns; it takes several times as long as a forest's answer for one row.
    """
    return (
        type(X) is np.ndarray
        and X.ndim == 2
        and X.size > 0
        and (X.dtype == np.float64 or X.dtype == np.float32)
    )


def open_table(X: Any) -> Table:
    """Open X; refuse what is complex, empty or not two-dimensional.

    scikit-learn's ``validate_data(skip_check_array=True)`` compares names and numbers of
    columns, but misreads data that has no columns; this goes before it.

    Parameters
    ----------
    X : frame, sparse matrix or array-like of shape (n, p)
        Data; a table that is open already is returned as it is.

    Returns
    -------
    Table
    """
    if isinstance(X, Table):
        return X
    if is_plain(X):
        return _of_matrix(X)
    library = frame_library(X)
    if library is not None:
        _refuse_empty(X.shape)
        return _open_pandas(X) if library == "pandas" else _open_polars(X)
    return _open_sparse(X) if sparse.issparse(X) else _open_array(X)


def native(array: NDArray[Any]) -> NDArray[Any]:
    """Return the same numbers in a type that the engine reads; itself wherever that is possible."""
    if array.dtype.kind == "f" and array.dtype.itemsize not in (4, 8):
        return array.astype(np.float32 if array.dtype.itemsize < 4 else np.float64)
    if not array.dtype.isnative:
        return array.astype(array.dtype.newbyteorder("="))
    # Steps that are no multiple of the numbers' size: fields of a structured array.
    if any(step % array.dtype.itemsize for step in array.strides):
        return array.copy()
    return array


def _refuse_empty(shape: tuple[int, ...]) -> None:
    # Zero rows or columns: scikit-learn's words, which its estimator checks look for.
    for size, what in zip(shape, ("sample(s)", "feature(s)"), strict=True):
        if size == 0:
            raise ValueError(
                f"Found array with 0 {what} (shape={shape}) while a minimum of 1 is required."
            )


def _of_matrix(array: NDArray[Any], *, numeric: bool = True) -> Table:
    return Table(
        n_rows=array.shape[0],
        n_features=array.shape[1],
        names=None,
        text_columns=[],
        column=lambda j: array[:, j],
        matrix=array if numeric else None,
    )


def _open_array(X: Any) -> Table:
    if type(X).__module__.startswith("polars") and type(X).__name__ == "LazyFrame":
        raise TypeError("X is a polars LazyFrame; pass X.collect()")
    X = unmask(X)
    array = check_array(X, dtype=None, ensure_all_finite=False, input_name="X")
    if array.dtype.kind in "US" and not isinstance(X, np.ndarray):
        # NumPy turns the numbers of a mixed list into text; keep them.
        array = np.asarray(X, dtype=object)
    if array.dtype.kind in "OUST":
        return _of_matrix(array.astype(object, copy=False), numeric=False)
    if array.dtype.kind not in "biuf":
        raise ValueError(f"X must hold numbers; received an array of dtype {array.dtype}")
    return _of_matrix(array)


def _open_sparse(X: Any) -> Table:
    if X.ndim != 2:
        raise ValueError(
            f"Expected 2D array, got a sparse array of shape {X.shape} instead. Reshape your data."
        )
    _refuse_empty(X.shape)
    # Before its dtype is asked for: a matrix whose data are a list has none.
    check_sparse("X", X)
    if X.dtype.kind == "c":
        raise ValueError(f"Complex data not supported: X is sparse of dtype {X.dtype}")
    if X.dtype.kind not in "biuf":
        raise ValueError(f"X must hold numbers; received a sparse matrix of dtype {X.dtype}")
    given = X.tocsc()
    # Of the same arrays, but with nothing in it that SciPy has concluded from what they were.
    compressed = type(given)((given.data, given.indices, given.indptr), shape=given.shape)
    if not compressed.has_canonical_format:
        # Not in place: it may be the user's own.
        compressed = compressed.copy()
        compressed.sum_duplicates()

    def column(j: int) -> NDArray[Any]:
        stored = slice(compressed.indptr[j], compressed.indptr[j + 1])
        values = np.zeros(X.shape[0], dtype=X.dtype)
        values[compressed.indices[stored]] = compressed.data[stored]
        return values

    return Table(
        n_rows=X.shape[0],
        n_features=X.shape[1],
        names=None,
        text_columns=[],
        column=column,
        compressed=compressed,
    )


def _open_pandas(X: Any) -> Table:
    # The kind of an extension dtype is that of its elements: O for category and string.
    dtypes = list(X.dtypes)
    kinds = [dtype.kind for dtype in dtypes]

    def column(j: int) -> NDArray[Any]:
        series, dtype, kind = X.iloc[:, j], dtypes[j], kinds[j]
        if kind == "O":
            return np.asarray(series, dtype=object)
        if kind not in "biuf":
            raise _refuse_dtype(f"column {X.columns[j]!r}", dtype, kind)
        if isinstance(dtype, np.dtype):
            return np.asarray(series)
        plain = {"b": np.bool_, "i": np.int64, "u": np.uint64, "f": np.float64}[kind]
        plain = getattr(dtype, "numpy_dtype", plain)
        if series.isna().any():
            plain = plain if kind == "f" else np.float64
            return np.asarray(series.to_numpy(dtype=plain, na_value=np.nan))
        return np.asarray(series.to_numpy(dtype=plain))

    return Table(
        n_rows=X.shape[0],
        n_features=X.shape[1],
        names=list(X.columns),
        text_columns=[j for j, kind in enumerate(kinds) if kind == "O"],
        column=column,
    )


def _open_polars(X: Any) -> Table:
    # By name, so that polars need not be imported, nor installed.
    dtypes = [dtype.base_type().__name__ for dtype in X.dtypes]
    texts = ("Categorical", "Enum", "String")

    def column(j: int) -> NDArray[Any]:
        series = X.to_series(j)
        if dtypes[j] in (*texts, "Object"):
            return np.fromiter(series.to_list(), dtype=object, count=X.shape[0])
        if series.dtype.is_integer() or dtypes[j] in ("Float32", "Float64"):
            return np.asarray(series.to_numpy())
        if series.dtype.is_numeric() or dtypes[j] in ("Boolean", "Null"):
            return np.asarray(series.cast(sys.modules["polars"].Float64).to_numpy())
        raise _refuse_dtype(f"column {X.columns[j]!r}", series.dtype, "")

    return Table(
        n_rows=X.shape[0],
        n_features=X.shape[1],
        names=list(X.columns),
        text_columns=[j for j, name in enumerate(dtypes) if name in texts],
        column=column,
    )


def _refuse_dtype(label: str, dtype: object, kind: str) -> ValueError:
    if kind == "c":
        return ValueError(f"Complex data not supported: {label} of X has dtype {dtype}")
    return ValueError(
        f"{label} of X has dtype {dtype}, which is neither a number nor a category; "
        "convert it to a number"
    )
