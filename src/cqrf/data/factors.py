"""Columns of categories as positions in a list of distinct values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from cqrf.support.checks import is_missing


@dataclass(frozen=True, eq=False)
class Factor:
    """Values of any type, each kept once.

    Attributes
    ----------
    codes : ndarray of shape (n,), signed integers
        Position of every row's value in `values`; -1 if it is missing.
    values : list of length K
        The distinct values that occur, in no particular order; none of them is missing.
    """

    codes: NDArray[np.signedinteger[Any]]
    values: list[Any]

    @classmethod
    def of_codes(cls, codes: NDArray[Any], values: Sequence[Any]) -> Factor:
        """Keep of a dictionary what occurs.

        Parameters
        ----------
        codes : ndarray of shape (n,), integers
            Positions in `values`; -1 is missing.
        values : sequence of length L
            May hold missing values, repetitions, and values that do not occur.
        """
        # The last entry is that of -1.
        occurs = np.zeros(len(values) + 1, dtype=np.bool_)
        occurs[codes] = True
        position: dict[Any, int] = {}
        table = np.full(len(values) + 1, -1, dtype=_code_type(len(values)))
        for k in np.flatnonzero(occurs[:-1]).tolist():
            if not is_missing(values[k]):
                table[k] = position.setdefault(values[k], len(position))
        return cls(table[codes], list(position))

    @classmethod
    def of_objects(cls, objects: list[Any]) -> Factor:
        """Factor Python objects; TypeError if one of them cannot be hashed."""
        position = {value: k for k, value in enumerate(dict.fromkeys(objects))}
        codes = np.fromiter((position[value] for value in objects), np.int64, len(objects))
        return cls.of_codes(codes, list(position))

    @classmethod
    def of_series(cls, series: nw.Series[Any]) -> Factor:
        """Factor a series by its own dictionary, or by its library's way to make one."""
        native = series.to_native()
        if series.implementation.is_polars():
            if series.dtype == nw.Object:
                return cls.of_objects(series.to_list())
            # The numbers of a polars Categorical are those of all categories of the process.
            values = series.drop_nulls().unique().cast(nw.String).to_list()
            numbers = series.cast(nw.Enum(values)).to_native().to_physical()
            return cls.of_codes(numbers.cast(int).fill_null(-1).to_numpy(), values)
        if series.implementation.is_pandas() or series.implementation.is_modin():
            if hasattr(native.dtype, "categories"):
                return cls.of_codes(native.cat.codes.to_numpy(), native.cat.categories.tolist())
            if native.dtype == object or getattr(native.dtype, "storage", "") == "python":
                # Where nothing is missing, pandas reads a text up to its first null character.
                longer = np.append(native.to_numpy(dtype=object), np.array([None]))
                native = type(native)(longer, dtype=object)
            codes, distinct = native.factorize()
            return cls.of_codes(codes[: len(series)], distinct.tolist())
        chunked = native if series.implementation.is_pyarrow() else series.to_arrow()
        encoded = chunked.dictionary_encode()
        # One dictionary for all chunks.
        encoded = encoded.combine_chunks() if hasattr(encoded, "combine_chunks") else encoded
        codes = encoded.indices.cast("int64").fill_null(-1).to_numpy(zero_copy_only=False)
        return cls.of_codes(codes, encoded.dictionary.to_pylist())

    def look_up(self, known: Sequence[Any]) -> NDArray[np.signedinteger[Any]]:
        """Position of every row's value in a list of other values, shape (n,); -1 if not there."""
        position = {value: k for k, value in enumerate(known)}
        table = [position.get(value, -1) for value in self.values]
        codes: NDArray[Any] = np.array([*table, -1], dtype=_code_type(len(known)))[self.codes]
        return codes


def _code_type(n_values: int) -> np.dtype[Any]:
    """Return the smallest integers that count so many values and have room for -1."""
    return np.min_scalar_type(-max(n_values, 1))
