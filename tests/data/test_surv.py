"""The structured outcome has scikit-survival's layout and refuses odd event codes."""

import arrow
import numpy as np
import pandas as pd
import polars as pl
import pytest

from cqrf.data.outcome import parse_outcome
from cqrf.data.surv import Surv


@pytest.mark.parametrize(
    "event",
    [
        [True, False, True],
        [1, 0, 1],
        np.array([1.0, 0.0, 1.0], dtype=np.float32),
        pd.Series([True, False, True], index=[7, 8, 9]),
        pl.Series([1, 0, 1]),
    ],
)
def test_from_arrays(event):
    y = Surv.from_arrays(event, [3, 5, -2])
    assert y.dtype == np.dtype([("event", "?"), ("time", "f8")])
    assert y["event"].tolist() == [True, False, True]
    assert y["time"].tolist() == [3.0, 5.0, -2.0]


def test_field_names():
    assert Surv.from_arrays([1], [2], "seen", "days").dtype.names == ("seen", "days")
    with pytest.raises(ValueError, match="name_event and name_time must differ; both are 'a'"):
        Surv.from_arrays([1], [2], "a", "a")


def test_rows_are_paired_by_their_labels():
    event, time = pd.Series([True, False, True]), pd.Series([3.0, 5.0, 7.0])
    with pytest.raises(ValueError, match="time and event have row labels in another order"):
        Surv.from_arrays(event.iloc[::-1], time)
    with pytest.raises(ValueError, match="event and y have row labels in another order"):
        parse_outcome(time, event.iloc[::-1])


@pytest.mark.parametrize("constant", [True, False, 0, 1])
def test_constant_event_is_built(constant):
    assert (Surv.from_arrays([constant] * 3, [1, 2, 3])["event"] == bool(constant)).all()


@pytest.mark.parametrize("library", [pd, pl, arrow])
def test_from_dataframe(library):
    data = library.DataFrame({"age": [1, 2], "days": [30, 60], "dead": [0, 1]})
    y = Surv.from_dataframe("dead", "days", data)
    assert y.dtype.names == ("dead", "days")
    assert y.tolist() == [(False, 30.0), (True, 60.0)]
    time, event = parse_outcome(y)
    assert time.tolist() == [30.0, 60.0]
    assert event.tolist() == [False, True]


@pytest.mark.parametrize("library", [pd, pl, arrow])
def test_from_dataframe_refusals(library):
    data = library.DataFrame({"days": [30, 60], "dead": [0, 1]})
    with pytest.raises(ValueError, match=r"event='died' is not a column of data.*'days', 'dead'"):
        Surv.from_dataframe("died", "days", data)
    with pytest.raises(ValueError, match="time='time' is not a column"):
        Surv.from_dataframe("dead", "time", data)
    with pytest.raises(TypeError, match=r"data must be a data frame .*received builtins\.dict"):
        Surv.from_dataframe("dead", "days", {"days": [1], "dead": [1]})


def test_one_two_coding_is_refused_with_a_hint():
    with pytest.raises(ValueError, match=r"row 1 is 2\..*use event == 2"):
        Surv.from_arrays([1, 2, 1], [1, 2, 3])


def test_swapped_arguments():
    with pytest.raises(TypeError, match=r"time must hold times, not booleans.*\(event, time\)"):
        Surv.from_arrays([3.0, 5.0], [True, False])
    with pytest.raises(ValueError, match="time holds only 0 and 1: are time and event swapped"):
        Surv.from_arrays([3.0, 5.0], [1, 0])


def test_refusals_name_the_argument_and_the_row():
    with pytest.raises(ValueError, match=r"time contains NaN\. Row 1 is nan"):
        Surv.from_arrays([1, 0], [1, np.nan])
    with pytest.raises(ValueError, match="time has 2 rows, event has 3"):
        Surv.from_arrays([1, 0, 1], [1, 2])
    with pytest.raises(ValueError, match="time is empty"):
        Surv.from_arrays([], [])
