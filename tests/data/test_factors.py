"""Columns of categories, kept once each: the same from every library, as a loop would find them."""

import datetime

import arrow
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from cqrf.data.factors import Factor
from cqrf.support.checks import is_missing
from cqrf.support.dataframes import open_series

TEXT = ["b", None, "a", "b", "c\0", "c"]
DICTIONARY = pd.CategoricalDtype(["unused", "c", "b", "a", "c\0"])
CHUNKS = [pa.array(part, pa.string()) for part in (TEXT[:2], TEXT[2:])]

SERIES = {
    "pandas object": pd.Series(TEXT, dtype=object),
    "pandas string": pd.Series(TEXT, dtype="string"),
    "pandas string, Arrow": pd.Series(TEXT, dtype=pd.ArrowDtype(pa.string())),
    "pandas category": pd.Series(TEXT, dtype=DICTIONARY),
    "pandas ordered category": pd.Series(pd.Categorical(TEXT, DICTIONARY.categories, ordered=True)),
    "pandas dictionary, Arrow": pd.Series(
        TEXT, dtype=pd.ArrowDtype(pa.dictionary(pa.int8(), pa.string()))
    ),
    "polars String": pl.Series(TEXT),
    "polars Categorical": pl.Series(TEXT, dtype=pl.Categorical),
    "polars Enum": pl.Series(TEXT, dtype=pl.Enum(DICTIONARY.categories.tolist())),
    "pyarrow string": pa.chunked_array(CHUNKS),
    "pyarrow large_string": pa.chunked_array([chunk.cast("large_string") for chunk in CHUNKS]),
    # Each chunk has a dictionary of its own.
    "pyarrow dictionary": pa.chunked_array([chunk.dictionary_encode() for chunk in CHUNKS]),
    "pyarrow dictionary of repeated values": pa.chunked_array(
        [
            pa.DictionaryArray.from_arrays(
                pa.array([0, 1, 2, 3, 4, 5], pa.uint8()),
                pa.array(["b", None, "a", "b", "c\0", "c", "unused"]),
            )
        ]
    ),
}


def decoded(factor):
    return [None if k < 0 else factor.values[k] for k in factor.codes.tolist()]


@pytest.mark.parametrize("form", SERIES)
def test_text(form):
    factor = Factor.of_series(open_series(SERIES[form]))
    assert decoded(factor) == TEXT
    assert sorted(factor.values) == ["a", "b", "c", "c\0"]
    assert factor.codes.dtype == np.int8
    assert {type(value) for value in factor.values} == {str}
    assert factor.look_up(["c", "x", "b"]).tolist() == [2, -1, -1, 2, -1, 0]


@pytest.mark.parametrize(
    "series",
    [
        pd.Series(pd.Categorical([30, None, 4, 30], categories=[7, 4, 30])),
        pa.chunked_array([pa.array([30, None, 4, 30]).dictionary_encode()]),
    ],
)
def test_numbers_in_a_dictionary(series):
    factor = Factor.of_series(open_series(series))
    assert decoded(factor) == [30, None, 4, 30]
    assert factor.look_up([4.0, 30.0]).tolist() == [1, -1, 0, 1]


MIXED = [
    ["b", 1, "a", 2.5, (1, 2), None, "b", float("nan"), np.nan, pd.NA, pd.NaT, b"b"],
    # Equal values are one, the one that came first.
    [1, 1.0, True, 0, False, np.int64(1), "1"],
    [datetime.date(2020, 1, 1), datetime.date(2020, 1, 2), datetime.date(2020, 1, 1), None],
    [None, None],
    [2**70, -(2**70), 2**70],
]


@pytest.mark.parametrize("values", MIXED)
def test_mixed_objects(values):
    from_pandas = Factor.of_series(open_series(pd.Series(values, dtype=object)))
    from_list = Factor.of_objects(values)
    known = [value for value in dict.fromkeys(values) if not is_missing(value)]
    for factor in (from_pandas, from_list):
        assert factor.values == known
        assert [type(value) for value in factor.values] == [type(value) for value in known]
        expected = [-1 if is_missing(value) else known.index(value) for value in values]
        assert factor.codes.tolist() == expected


@pytest.mark.parametrize(("size", "dtype"), [(127, np.int8), (300, np.int16), (40_000, np.int32)])
@pytest.mark.parametrize("contain", [pd.Series, pl.Series, arrow.Series])
def test_codes_are_as_small_as_they_can_be(contain, size, dtype):
    names = [f"k{k}" for k in range(size)]
    factor = Factor.of_series(open_series(contain(names)))
    assert factor.codes.dtype == dtype
    assert decoded(factor) == names
    np.testing.assert_array_equal(factor.look_up(names), np.arange(size))
    assert factor.look_up(["k0"]).dtype == np.int8


@pytest.mark.parametrize("dtype", [object, "string", pd.ArrowDtype(pa.string())])
def test_text_that_ends_where_another_goes_on(dtype):
    factor = Factor.of_series(open_series(pd.Series(["a", "a\0", "a\0b"], dtype=dtype)))
    assert factor.values == ["a", "a\0", "a\0b"]


def test_other_categories_of_polars_do_not_count():
    many = pl.Series([f"other{k}" for k in range(1000)], dtype=pl.Categorical)
    factor = Factor.of_series(open_series(pl.Series(["z", "y", "z"], dtype=pl.Categorical)))
    assert sorted(factor.values) == ["y", "z"]
    assert factor.codes.dtype == np.int8
    assert len(many) == 1000


def test_unhashable():
    lists = [[1], [2]]
    with pytest.raises(TypeError, match="unhashable"):
        Factor.of_objects(lists)
    with pytest.raises(TypeError, match="unhashable"):
        Factor.of_series(open_series(pd.Series(lists)))
