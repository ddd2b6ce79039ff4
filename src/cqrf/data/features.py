"""Features as numbers: categories become codes, missing values NaN."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cqrf import _engine
from cqrf.data.factors import Factor
from cqrf.data.frames import FeatureTable, native, open_table
from cqrf.support.checks import numbers_from_objects


@dataclass(frozen=True, eq=False)
class FeatureEncoder:
    """What is needed to turn new data into the matrix the forest was grown on.

    Columns are taken by position. A categorical column becomes codes ``0 .. K-1`` in the
    sorted order of the values seen in training; any other value, and a missing one, is -1.

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
        X : frame, sparse matrix or array-like of shape (n, p)
            Training data.
        categorical_features : "from_dtype", None or array-like, default="from_dtype"
            ``"from_dtype"``: pandas columns of dtype category, object or string, polars
            columns Categorical, Enum or String, PyArrow's dictionaries and strings; never a
            column of an array or sparse matrix.
            None: no column. Otherwise positions, names of columns (of a frame), or a mask of
            shape (p,).

        Returns
        -------
        FeatureEncoder
        """
        table = open_table(X)
        columns = _categorical_columns(categorical_features, table)
        return cls(
            n_features=table.n_features,
            categories=tuple((j, _distinct(_category(table, j))) for j in columns),
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

    def encode(self, X: Any, n_threads: int = 1) -> _engine.Features:
        """Turn data into numbers that the engine reads.

        Numbers of any type stay where they are, in arrays of any layout, in the columns of a
        frame or in a sparse matrix; only categories are written anew, as the smallest integers
        that hold their codes.

        Parameters
        ----------
        X : frame, sparse matrix or array-like of shape (n, p)
            Data with the columns of the training data, in the same order.
        n_threads : int, default=1
            Threads that look for infinities.

        Returns
        -------
        engine object of shape (n, p)
            No infinity; missing numbers are NaN, missing and unknown categories negative or NaN.
            It refers to the arrays of X, which must not change while it is in use.
        """
        table = open_table(X)
        if table.n_features != self.n_features:
            raise ValueError(
                f"X has {table.n_features} features, but FeatureEncoder is expecting "
                f"{self.n_features} features as input"
            )
        if table.compressed is not None:
            features = self._encode_sparse(table)
        elif table.matrix is not None and not self.categories:
            features = _engine.Features.of_matrix(native(table.matrix))
        else:
            known = dict(self.categories)
            features = _engine.Features.of_columns(
                [
                    _codes(_category(table, j), known[j], table.label(j))
                    if j in known
                    else _numbers(table.column(j), table.label(j))
                    for j in range(self.n_features)
                ]
            )
        infinite = features.first_infinite(n_threads)
        if infinite is not None:
            row, j, value = infinite
            raise _infinity(table.label(j), row, value)
        return features

    def _encode_sparse(self, table: FeatureTable) -> _engine.Features:
        stored, implicit = table.compressed, np.zeros(self.n_features)
        values = stored.data
        if self.categories:
            values = values.astype(np.float64)
        for j, known in self.categories:
            part = slice(stored.indptr[j], stored.indptr[j + 1])
            values[part] = _codes(stored.data[part], known, table.label(j))
            implicit[j] = _codes(np.zeros(1, dtype=stored.dtype), known, table.label(j))[0]
        return _engine.Features.of_sparse(
            stored.indptr.astype(np.int64),
            stored.indices.astype(np.int32, copy=False),
            native(values),
            implicit,
            table.n_rows,
        )


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


def _categorical_columns(categorical_features: Any, table: FeatureTable) -> list[int]:
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
    return sorted(
        {find_column(entry, argument, table.names, table.n_features) for entry in entries}
    )


def find_column(entry: object, argument: str, names: list[Any] | None, n_features: int) -> int:
    """Find the position of a column that is given by its position or its name.

    Parameters
    ----------
    entry : object
        The position or name.
    argument : str
        Name of the argument that holds it, for the message.
    names : list or None
        Names of the columns; None if X is not a frame.
    n_features : int
        Number of columns.

    Returns
    -------
    int
    """
    if isinstance(entry, str):
        if names is None:
            raise ValueError(
                f"{argument} holds the name {entry!r}, but X is not a frame and has no names"
            )
        if entry not in names:
            raise ValueError(
                f"{argument} holds {entry!r}, which is not a column of X; its columns are {names}"
            )
        return names.index(entry)
    if not isinstance(entry, int | np.integer) or isinstance(entry, bool):
        raise TypeError(
            f"{argument} must hold positions, names or a boolean mask; received {entry!r}"
        )
    if not 0 <= entry < n_features:
        raise ValueError(
            f"{argument} holds {int(entry)}, but the columns of X are numbered 0 to "
            f"{n_features - 1}"
        )
    return int(entry)


def _category(table: FeatureTable, j: int) -> NDArray[Any] | Factor:
    """Return a column of categories: numbers, or a factor."""
    try:
        return table.category(j)
    except TypeError as error:
        raise TypeError(f"{table.label(j)} of X is categorical, but {error}") from None


def _distinct(column: NDArray[Any] | Factor) -> NDArray[Any]:
    """Sorted distinct values of a column, missing ones left out."""
    if not isinstance(column, Factor):
        values = np.unique(column)
        return np.asarray(values[~np.isnan(values)])
    seen = list(column.values)
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


def _codes(column: NDArray[Any] | Factor, values: NDArray[Any], label: str) -> NDArray[Any]:
    """Position in `values` of every element of a column, shape (n,); -1 if not there.

    A column that had no value in training has nothing but missing values, which are NaN.
    """
    if not isinstance(column, Factor):
        infinite = np.isinf(column)
        if infinite.any():
            row = int(np.argmax(infinite))
            raise _infinity(label, row, column[row])
    if values.size == 0:
        n_rows = len(column.codes if isinstance(column, Factor) else column)
        return np.full(n_rows, np.nan, dtype=np.float32)
    if isinstance(column, Factor):
        return column.look_up(values.tolist())
    if values.dtype.kind not in "biuf":
        return Factor.of_objects(column.tolist()).look_up(values.tolist())
    at = np.minimum(np.searchsorted(values, column), values.shape[0] - 1)
    smallest = np.min_scalar_type(-values.shape[0])
    return np.where(values[at] == column, at, -1).astype(smallest)


def _numbers(column: NDArray[Any], label: str) -> NDArray[Any]:
    """Return a numeric column in a type that the engine reads, shape (n,)."""
    if column.dtype.kind == "O":
        return numbers_from_objects(f"{label} of X", column)
    return native(column)


def _infinity(label: str, row: int, value: float) -> ValueError:
    return ValueError(
        f"Input X contains infinity or a value too large for {np.dtype(np.float64)!r}: "
        f"{label}, row {row} is {value}"
    )
