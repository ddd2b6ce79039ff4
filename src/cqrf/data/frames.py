"""Tables of any origin, opened: arrays, frames and sparse matrices, column by column."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from narwhals.stable.v2.dependencies import is_polars_lazyframe
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.utils import check_array

from cqrf.data.factors import Factor
from cqrf.data.sparse import check_sparse
from cqrf.support.checks import unmask
from cqrf.support.dataframes import Frame, open_frame, row_labels

# Up to here a loop over the rows takes less time than any library's way to begin.
_FEW_ROWS = 100


@dataclass(frozen=True, eq=False)
class FeatureTable:
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
    category : callable
        ``category(j)`` is the same for a column of categories: numbers, or else a `Factor`.
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
    category: Callable[[int], NDArray[Any] | Factor]
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


def open_table(X: Any) -> FeatureTable:
    """Open X; refuse what is complex, empty or not two-dimensional.

    scikit-learn's ``validate_data(skip_check_array=True)`` compares names and numbers of
    columns, but misreads data that has no columns; this goes before it.

    Parameters
    ----------
    X : frame, sparse matrix or array-like of shape (n, p)
        Data; a table that is open already is returned as it is.

    Returns
    -------
    FeatureTable
    """
    if isinstance(X, FeatureTable):
        return X
    if is_plain(X):
        return _of_matrix(X)
    frame = open_frame(X)
    if frame is not None:
        return _of_frame(frame)
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


def labelled(values: ArrayLike, *, like: Any, columns: Sequence[str]) -> Any:
    """Make answers a frame of the library that the questions came from.

    Parameters
    ----------
    values : array-like of shape (m,) or (m, q)
        One row for every row of `like`.
    like : data frame of m rows
        From any library. The labels of the rows of a pandas frame are kept.
    columns : sequence of str, length q
        Names of the columns: one, where `values` is one-dimensional.

    Returns
    -------
    data frame of shape (m, q)

    Raises
    ------
    TypeError
        If `like` is not a data frame.

    Examples
    --------
    >>> import pandas as pd
    >>> labelled([[1.0, 2.0]], like=pd.DataFrame({"x": [0]}, index=["a"]), columns=["q0.1", "q0.5"])
       q0.1  q0.5
    a   1.0   2.0
    """
    frame = open_frame(like)
    if frame is None:
        raise TypeError(
            "answers are labelled where X is a data frame (pandas, polars, PyArrow, ...); received "
            f"{type(like).__module__}.{type(like).__qualname__}"
        )
    table = np.asarray(values)
    table = table[:, None] if table.ndim == 1 else table
    shape = (frame.shape[0], len(columns))
    if table.shape != shape or len(set(columns)) != len(columns):
        raise ValueError(
            f"values must have shape {shape}, for the rows of X and the columns {list(columns)}, "
            f"which must differ; received an array of shape {table.shape}"
        )
    backend = frame.columns[0].implementation
    answer = nw.from_numpy(table, schema=list(columns), backend=backend).to_native()
    index = row_labels(like)
    if index is not None:
        answer.index = index
    return answer


def _refuse_empty(shape: tuple[int, ...]) -> None:
    # Zero rows or columns: scikit-learn's words, which its estimator checks look for.
    for size, what in zip(shape, ("sample(s)", "feature(s)"), strict=True):
        if size == 0:
            raise ValueError(
                f"Found array with 0 {what} (shape={shape}) while a minimum of 1 is required."
            )


def _of_matrix(array: NDArray[Any], *, numeric: bool = True) -> FeatureTable:
    return FeatureTable(
        n_rows=array.shape[0],
        n_features=array.shape[1],
        names=None,
        text_columns=[],
        column=lambda j: array[:, j],
        category=lambda j: array[:, j] if numeric else Factor.of_objects(array[:, j].tolist()),
        matrix=array if numeric else None,
    )


def _open_array(X: Any) -> FeatureTable:
    if is_polars_lazyframe(X):
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


def _open_sparse(X: Any) -> FeatureTable:
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

    return FeatureTable(
        n_rows=X.shape[0],
        n_features=X.shape[1],
        names=None,
        text_columns=[],
        column=column,
        category=column,
        compressed=compressed,
    )


def _of_frame(frame: Frame) -> FeatureTable:
    _refuse_empty(frame.shape)
    series = frame.columns
    is_text = [_is_text(each) for each in series]

    def holds_objects(j: int) -> bool:
        return is_text[j] or series[j].dtype == nw.Object

    def column(j: int) -> NDArray[Any]:
        if holds_objects(j):
            return np.fromiter(series[j].to_list(), dtype=object, count=frame.shape[0])
        return _numbers(series[j], f"column {frame.names[j]!r}")

    # Kept: fit asks for the values, and then for their codes.
    @cache
    def factor(j: int) -> Factor:
        if frame.shape[0] <= _FEW_ROWS:
            return Factor.of_objects(series[j].to_list())
        return Factor.of_series(series[j])

    return FeatureTable(
        n_rows=frame.shape[0],
        n_features=frame.shape[1],
        names=frame.names,
        text_columns=[j for j, each in enumerate(is_text) if each],
        column=column,
        category=lambda j: factor(j) if holds_objects(j) else column(j),
    )


def _is_text(series: nw.Series[Any]) -> bool:
    """Whether a series holds categories by its type."""
    if series.implementation.is_pandas_like():
        # The kind of an extension dtype is that of its elements: O for category and string, and
        # for the objects in which text lies as well.
        return bool(series.to_native().dtype.kind == "O")
    return series.dtype in (nw.String, nw.Categorical, nw.Enum)


def _numbers(series: nw.Series[Any], label: str) -> NDArray[Any]:
    """Read a series of numbers, where they lie if they lie in an array; missing ones are NaN."""
    values: NDArray[Any] = series.to_numpy()
    if values.dtype.kind == "O":
        # Decimals, booleans of which some are missing, a column of nothing.
        dtype = series.dtype
        if dtype.is_numeric() or dtype == nw.Boolean or series.is_null().all():
            values = _as_floats(series)
    if values.dtype.kind not in "biuf" or values.ndim != 1:
        raise _refuse_dtype(label, series.to_native())
    return values


def _as_floats(series: nw.Series[Any]) -> NDArray[np.float64]:
    if series.implementation.is_pandas_like():
        floats: NDArray[np.float64] = series.to_native().to_numpy(dtype=np.float64, na_value=np.nan)
        return floats
    return series.cast(nw.Float64).to_numpy()


def _refuse_dtype(label: str, series: Any) -> ValueError:
    dtype = series.dtype if hasattr(series, "dtype") else series.type
    if getattr(dtype, "kind", "") == "c":
        return ValueError(f"Complex data not supported: {label} of X has dtype {dtype}")
    return ValueError(
        f"{label} of X has dtype {dtype}, which is neither a number nor a category; "
        "convert it to a number"
    )
