"""Data frames and series of any library, recognised here and nowhere else.

narwhals reads those of pandas, polars, PyArrow, Modin and cuDF. It imports none of them: data can
only come from a library that is imported already.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import narwhals.stable.v2 as nw
from narwhals.stable.v2.dependencies import (
    is_into_dataframe,
    is_into_series,
    is_pandas_index,
    is_pandas_like_dataframe,
)


@dataclass(frozen=True, eq=False)
class Frame:
    """A data frame, column by column.

    Attributes
    ----------
    shape : tuple of (int, int)
        Rows and columns.
    names : list
        Names of the columns; those of pandas may be no texts, and may repeat.
    columns : list of narwhals.Series
        The columns, in the same order.
    """

    shape: tuple[int, int]
    names: list[Any]
    columns: list[nw.Series[Any]]


def open_frame(data: Any) -> Frame | None:
    """Open a data frame.

    Parameters
    ----------
    data : object
        Anything.

    Returns
    -------
    Frame or None
        None when `data` is not a data frame.
    """
    if not is_into_dataframe(data):
        return None
    if is_pandas_like_dataframe(data) and not data.columns.is_unique:
        # narwhals refuses a frame of repeated names.
        columns = [nw.from_native(series, series_only=True) for _, series in data.items()]
        return Frame(data.shape, list(data.columns), columns)
    frame = nw.from_native(data, eager_only=True)
    return Frame(frame.shape, frame.columns, list(frame.iter_columns()))


def open_series(data: Any) -> nw.Series[Any] | None:
    """Open a series; None when `data` is not one."""
    return nw.from_native(data, series_only=True) if is_into_series(data) else None


def row_labels(data: Any) -> Any:
    """Find the pandas index of a frame or a series; None if it has none."""
    index = getattr(data, "index", None)
    return index if is_pandas_index(index) else None
