"""Features as a matrix of numbers: frames, text, categories and missing values."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import assert_all_finite, check_array

from cqrf import _engine
from cqrf._checks import frame_library, is_missing, numbers_from_objects, unmask


@dataclass(frozen=True, eq=False)
class FeatureEncoder:
    """What is needed to turn new data into the matrix the forest was grown on.

    Columns are taken by position. A categorical column becomes codes ``0 .. K-1`` in the
    sorted order of the values seen in training; any other value, and a missing one, is NaN.

    Attributes
    ----------
    n_features : int
        Number of columns p.
    categories : tuple of (int, ndarray of shape (K,))
        For every categorical column its position and its known values, sorted. Numbers and
        text have a dtype of their own, so that they can be stored; anything else is object.
    """

    n_features: int
    categories: tuple[tuple[int, NDArray[Any]], ...] = ()

    @classmethod
    def from_data(cls, X: Any, categorical_features: Any = "from_dtype") -> FeatureEncoder:
        """Find the categorical columns of the training data and their values.

        Parameters
        ----------
        X : pandas.DataFrame, polars.DataFrame or array-like of shape (n, p)
            Training data.
        categorical_features : "from_dtype", None or array-like, default="from_dtype"
            ``"from_dtype"``: pandas columns of dtype category, object or string, polars
            columns Categorical, Enum or String; never a column of an array. None: no column.
            Otherwise positions, names of columns (of a frame), or a mask of shape (p,).

        Returns
        -------
        FeatureEncoder
        """
        table = _open(X)
        columns = _categorical_columns(categorical_features, table)
        return cls(
            n_features=table.n_features,
            categories=tuple((j, _distinct(table.column(j), table.label(j))) for j in columns),
        )

    @property
    def is_categorical(self) -> NDArray[np.uint8]:
        """Flag of every column, shape (p,): 1 if it is categorical."""
        flags = np.zeros(self.n_features, dtype=np.uint8)
        flags[[j for j, _ in self.categories]] = 1
        return flags

    @property
    def n_categories(self) -> NDArray[np.int64]:
        """Number of known values of every column, shape (p,): 0 if it is numeric."""
        counts = np.zeros(self.n_features, dtype=np.int64)
        for j, values in self.categories:
            counts[j] = values.shape[0]
        return counts

    def encode(self, X: Any) -> NDArray[np.float64] | NDArray[np.float32]:
        """Turn data into a matrix of numbers.

        Parameters
        ----------
        X : pandas.DataFrame, polars.DataFrame or array-like of shape (n, p)
            Data with the columns of the training data, in the same order.

        Returns
        -------
        ndarray of shape (n, p), float64 or float32
            C- or Fortran-contiguous, missing values NaN, no infinity. The input itself if it
            is such an array already; float32 only for a float32 array without categories.
        """
        table = _open(X)
        if table.n_features != self.n_features:
            raise ValueError(
                f"X has {table.n_features} features, but FeatureEncoder is expecting "
                f"{self.n_features} features as input"
            )
        matrix: NDArray[Any]
        if table.matrix is not None and not self.categories:
            matrix = check_array(
                table.matrix(), dtype=[np.float64, np.float32], ensure_all_finite=False
            )
            if not (matrix.flags.c_contiguous or matrix.flags.f_contiguous):
                matrix = np.ascontiguousarray(matrix)
            _refuse_infinite_matrix(matrix, table)
            return matrix
        known = dict(self.categories)
        matrix = np.empty((table.n_rows, self.n_features), order="F")
        for j in range(self.n_features):
            column = table.column(j)
            if j in known:
                matrix[:, j] = _codes(column, known[j], table.label(j))
            else:
                matrix[:, j] = _numbers(column, table.label(j))
        return matrix


def check_size(X: Any) -> None:
    """Refuse more rows or columns than the engine's index types count (`src/engine/index.hpp`).

    Parameters
    ----------
    X : object
        Data; only its ``shape`` is looked at, if it has one.
    """
    limits = (_engine.MAX_ROWS, "rows"), (_engine.MAX_FEATURES, "columns")
    shape = getattr(X, "shape", ())
    if not isinstance(shape, tuple) or len(shape) != 2:
        return
    for size, (limit, what) in zip(shape, limits, strict=True):
        if isinstance(size, int) and size >= limit:
            raise ValueError(f"X has {size} {what}; a forest can have at most {limit - 1}")


def check_table(X: Any) -> None:
    """Refuse X that is sparse, complex, empty or not two-dimensional.

    scikit-learn's ``validate_data(skip_check_array=True)`` compares names and numbers of
    columns, but misreads data that has no columns; this goes before it.

    Parameters
    ----------
    X : pandas.DataFrame, polars.DataFrame or array-like of shape (n, p)
        Data.
    """
    _open(X)


@dataclass(frozen=True, eq=False)
class _Table:
    """Data of any origin, column by column.

    `column(j)` has shape (n,): booleans, integers or floats with NaN for missing, or objects.
    `matrix` is set when all the data can be had as one numeric array.
    """

    n_rows: int
    n_features: int
    names: list[Any] | None
    text_columns: list[int]
    column: Callable[[int], NDArray[Any]]
    matrix: Callable[[], NDArray[Any]] | None = None

    def label(self, j: int) -> str:
        return f"column {j}" if self.names is None else f"column {self.names[j]!r}"


def _open(X: Any) -> _Table:
    library = frame_library(X)
    if library is None:
        return _open_array(X)
    # Zero rows or columns: scikit-learn's words, which its estimator checks look for.
    for size, what in zip(X.shape, ("sample(s)", "feature(s)"), strict=True):
        if size == 0:
            raise ValueError(
                f"Found array with 0 {what} (shape={X.shape}) while a minimum of 1 is required."
            )
    return _open_pandas(X) if library == "pandas" else _open_polars(X)


def _open_array(X: Any) -> _Table:
    if type(X).__module__.startswith("polars") and type(X).__name__ == "LazyFrame":
        raise TypeError("X is a polars LazyFrame; pass X.collect()")
    X = unmask(X)
    array = check_array(X, dtype=None, ensure_all_finite=False, input_name="X")
    if array.dtype.kind in "US" and not isinstance(X, np.ndarray):
        # NumPy turns the numbers of a mixed list into text; keep them.
        array = np.asarray(X, dtype=object)
    numeric = array.dtype.kind in "biuf"
    if array.dtype.kind in "OUST":
        array = array.astype(object, copy=False)
    elif not numeric:
        raise ValueError(f"X must hold numbers; received an array of dtype {array.dtype}")
    return _Table(
        n_rows=array.shape[0],
        n_features=array.shape[1],
        names=None,
        text_columns=[],
        column=lambda j: array[:, j],
        matrix=(lambda: array) if numeric else None,
    )


def _open_pandas(X: Any) -> _Table:
    # The kind of an extension dtype is that of its elements: O for category and string.
    dtypes = list(X.dtypes)
    kinds = [dtype.kind for dtype in dtypes]

    def column(j: int) -> NDArray[Any]:
        series, kind = X.iloc[:, j], kinds[j]
        if kind == "O":
            return np.asarray(series, dtype=object)
        if kind not in "biuf":
            raise _refuse_dtype(f"column {X.columns[j]!r}", dtypes[j], kind)
        if isinstance(dtypes[j], np.dtype):
            return np.asarray(series)
        if series.isna().any():
            return np.asarray(series.to_numpy(dtype=np.float64, na_value=np.nan))
        plain = {"b": np.bool_, "i": np.int64, "u": np.uint64, "f": np.float64}[kind]
        return np.asarray(series.to_numpy(dtype=plain))

    return _Table(
        n_rows=X.shape[0],
        n_features=X.shape[1],
        names=list(X.columns),
        text_columns=[j for j, kind in enumerate(kinds) if kind == "O"],
        column=column,
        # All float64 is mostly one block already, which pandas hands out without a copy.
        matrix=X.to_numpy if all(dtype == np.float64 for dtype in dtypes) else None,
    )


def _open_polars(X: Any) -> _Table:
    # By name, so that polars need not be imported, nor installed.
    dtypes = [dtype.base_type().__name__ for dtype in X.dtypes]
    texts = ("Categorical", "Enum", "String")

    def column(j: int) -> NDArray[Any]:
        series = X.to_series(j)
        if dtypes[j] in (*texts, "Object"):
            return np.fromiter(series.to_list(), dtype=object, count=X.shape[0])
        if series.dtype.is_integer():
            return np.asarray(series.to_numpy())
        if series.dtype.is_numeric() or dtypes[j] in ("Boolean", "Null"):
            return np.asarray(series.cast(sys.modules["polars"].Float64).to_numpy())
        raise _refuse_dtype(f"column {X.columns[j]!r}", series.dtype, "")

    return _Table(
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


def _categorical_columns(categorical_features: Any, table: _Table) -> list[int]:
    """Positions of the categorical columns, ascending."""
    argument = "categorical_features"
    if categorical_features is None:
        return []
    if isinstance(categorical_features, str):
        if categorical_features == "from_dtype":
            return table.text_columns
        raise ValueError(
            f"{argument} must be 'from_dtype', None or an array-like; received "
            f"{categorical_features!r} (for one column, put its name in a list)"
        )
    try:
        entries = list(categorical_features)
    except TypeError:
        raise TypeError(
            f"{argument} must be 'from_dtype', None or an array-like; received "
            f"{categorical_features!r}"
        ) from None
    if entries and all(isinstance(entry, bool | np.bool_) for entry in entries):
        if len(entries) != table.n_features:
            raise ValueError(
                f"{argument} as a mask must have one entry per column: it has {len(entries)}, "
                f"X has {table.n_features} columns"
            )
        return [j for j, entry in enumerate(entries) if entry]
    return sorted({_position(entry, argument, table) for entry in entries})


def _position(entry: object, argument: str, table: _Table) -> int:
    if isinstance(entry, str):
        if table.names is None:
            raise ValueError(
                f"{argument} holds the name {entry!r}, but X is not a frame and has no names"
            )
        if entry not in table.names:
            raise ValueError(
                f"{argument} holds {entry!r}, which is not a column of X; "
                f"its columns are {table.names}"
            )
        return table.names.index(entry)
    if not isinstance(entry, int | np.integer) or isinstance(entry, bool):
        raise TypeError(
            f"{argument} must hold positions, names or a boolean mask; received {entry!r}"
        )
    if not 0 <= entry < table.n_features:
        raise ValueError(
            f"{argument} holds {int(entry)}, but the columns of X are numbered 0 to "
            f"{table.n_features - 1}"
        )
    return int(entry)


def _distinct(column: NDArray[Any], label: str) -> NDArray[Any]:
    """Sorted distinct values of a column, missing ones left out."""
    if column.dtype.kind != "O":
        values = np.unique(column)
        return np.asarray(values[~np.isnan(values)])
    try:
        seen = [value for value in set(column) if not is_missing(value)]
    except TypeError as error:
        raise TypeError(f"{label} of X is categorical, but {error}") from None
    try:
        seen.sort()
    except TypeError:
        # Values of several types have no order among each other; any fixed one will do.
        seen.sort(key=lambda value: (type(value).__name__, str(value)))
    if all(isinstance(value, str) for value in seen) or all(
        isinstance(value, Real | np.bool_) for value in seen
    ):
        plain = np.array(seen)
        # Not so for text that ends in a null character, and for integers beyond 64 bits.
        if plain.dtype.kind in "biufU" and plain.tolist() == seen:
            return plain
    return np.fromiter(seen, dtype=object, count=len(seen))


def _codes(column: NDArray[Any], values: NDArray[Any], label: str) -> NDArray[np.float64]:
    """Position in `values` of every element of a column, shape (n,); NaN if not there."""
    if column.dtype.kind != "O":
        _refuse_infinity(column, label)
        if values.dtype.kind in "biuf" and values.size:
            at = np.minimum(np.searchsorted(values, column), values.shape[0] - 1)
            return np.where(values[at] == column, at, np.nan)
    code = {value: k for k, value in enumerate(values.tolist())}
    try:
        # NaN equals nothing and None is never known, so that missing falls out as unknown.
        return np.array([code.get(value, np.nan) for value in column.tolist()], dtype=np.float64)
    except TypeError as error:
        raise TypeError(f"{label} of X is categorical, but {error}") from None


def _numbers(column: NDArray[Any], label: str) -> NDArray[np.float64]:
    """Return a numeric column as float64, shape (n,)."""
    if column.dtype.kind == "O":
        numbers = numbers_from_objects(f"{label} of X", column)
    else:
        numbers = column.astype(np.float64)
    _refuse_infinity(numbers, label)
    return numbers


def _refuse_infinity(column: NDArray[Any], label: str) -> None:
    infinite = np.isinf(column)
    if infinite.any():
        row = int(np.argmax(infinite))
        raise ValueError(
            f"Input X contains infinity or a value too large for {np.dtype(np.float64)!r}: "
            f"{label}, row {row} is {column[row]}"
        )


def _refuse_infinite_matrix(matrix: NDArray[Any], table: _Table) -> None:
    try:
        # scikit-learn's check needs no second array if the memory is in C order.
        assert_all_finite(matrix if matrix.flags.c_contiguous else matrix.T, allow_nan=True)
    except ValueError:
        for j in range(table.n_features):
            _refuse_infinity(matrix[:, j], table.label(j))
        raise
