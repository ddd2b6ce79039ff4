"""Frames and series of any library are recognised, and nothing else is."""

import subprocess
import sys

import arrow
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from cqrf.support.dataframes import open_frame, open_series, row_labels


class Duck:
    """Looks like a frame as far as attributes go."""

    shape = (2, 1)
    columns = ("a",)
    index = (0, 1)

    def __getitem__(self, key):
        return [1, 2]


OTHERS = [None, 3, "text", [1, 2], {"a": [1]}, np.zeros((2, 2)), pl.LazyFrame({"a": [1]}), Duck()]


@pytest.mark.parametrize("library", [pd, pl, arrow])
def test_a_frame_column_by_column(library):
    frame = open_frame(library.DataFrame({"a": [1, 2, 3], "b": ["x", "y", "z"]}))
    assert frame.shape == (3, 2)
    assert frame.names == ["a", "b"]
    assert [frame.columns[j].to_list() for j in range(2)] == [[1, 2, 3], ["x", "y", "z"]]


def test_names_of_pandas_repeat_and_are_no_texts():
    frame = open_frame(pd.DataFrame([[1, 2, 3]], columns=["x", "x", 7]))
    assert frame.names == ["x", "x", 7]
    assert [frame.columns[j].to_list() for j in range(3)] == [[1], [2], [3]]


@pytest.mark.parametrize("library", [pd, pl, arrow])
def test_a_series(library):
    series = library.Series([1, 2])
    assert open_series(series).to_list() == [1, 2]
    assert open_frame(series) is None


@pytest.mark.parametrize("other", OTHERS, ids=lambda other: type(other).__name__)
def test_nothing_else(other):
    assert open_frame(other) is None
    assert open_series(other) is None
    assert row_labels(other) is None


def test_row_labels():
    frame = pd.DataFrame({"a": [1, 2]}, index=["x", "y"])
    assert row_labels(frame).tolist() == row_labels(frame["a"]).tolist() == ["x", "y"]
    assert row_labels(pl.DataFrame({"a": [1]})) is None
    assert row_labels(pa.table({"a": [1]})) is None


def test_no_library_of_frames_is_imported():
    code = (
        "import sys\n"
        "from cqrf.support.dataframes import open_frame, open_series\n"
        "assert open_frame([1]) is None and open_series([1]) is None\n"
        "print(sorted({'pandas', 'polars', 'pyarrow', 'modin', 'cudf'} & set(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
