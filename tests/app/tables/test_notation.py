"""Commas, points and thousands: read as the user says, and never guessed."""

import numpy as np
import pyarrow as pa
import pytest

from cqrf.app.tables import TableError, points_as_thousands
from cqrf.app.tables.columns import kind_of, numbers
from cqrf.app.tables.reading import Block, Dialect


def block_of(cells, **dialect):
    return Block("data.csv", {"x": pa.array(cells, pa.string())}, 1, len(cells), Dialect(**dialect))


@pytest.mark.parametrize(
    ("cells", "dialect", "values"),
    [
        (["1,5", " 2 ", None], {"decimal": ","}, [1.5, 2.0, np.nan]),
        (["1,022", "305"], {"thousands": ","}, [1022.0, 305.0]),
        (["1,022,000.5", "1e3", "-2,000"], {"thousands": ","}, [1022000.5, 1000.0, -2000.0]),
        (["1.022,5", "3,14"], {"decimal": ",", "thousands": "."}, [1022.5, 3.14]),
        (["1'022.5", "7"], {"thousands": "'"}, [1022.5, 7.0]),
        (["1\u202f022", "1022"], {"thousands": "\u202f"}, [1022.0, 1022.0]),
    ],
)
def test_read(cells, dialect, values):
    block = block_of(cells, **dialect)
    assert kind_of(block, "x") == "number"
    np.testing.assert_array_equal(numbers(block, "x"), values)


@pytest.mark.parametrize(
    ("cells", "dialect", "words"),
    [
        # Every cell has a comma: hundreds of categories, if they were words.
        (["3,14", "2,5", "0,125"], {}, "row 1: '3,14' is not a number; ',' seems to be a decimal"),
        (["3,14", "2,5", "0,125"], {}, "give --decimal ,"),
        (["3", "2", "0,125"], {}, "give --decimal ,"),
        (["1.022,5", "3"], {}, "give --decimal , --thousands ."),
        (
            ["1,022", "305"],
            {},
            "give --thousands , if it means 1022, or --decimal , if it means 1.",
        ),
        (["1,022", "1,022,000"], {}, "',' seems to part thousands: give --thousands ,"),
        (["1,022.5", "1,022"], {}, "',' seems to part thousands: give --thousands ,"),
        (["1,5", "1,022,000"], {}, "used in more than one way"),
        (["1.022", "1.022.000"], {}, "'.' seems to part thousands: give --thousands . --decimal ,"),
        (["1'022", "305"], {}, "if thousands are parted so, give --thousands"),
        (["1 022", "305"], {}, "give --thousands ' '"),
        # A mark at the wrong place must not be read over.
        (["1,5", "2,022"], {"thousands": ","}, "give --decimal ,"),
        (["10,22", "3"], {"thousands": ","}, "row 1: '10,22' is not a number"),
        (["1.022", "3,5"], {"decimal": ","}, "if it means 1022, give --thousands ."),
        (["1.022.000", "3,5"], {"decimal": ","}, "'.' seems to part thousands: give --thousands ."),
        (["1.5", "3,5"], {"decimal": ","}, "used in more than one way"),
    ],
)
def test_refused_with_the_option_that_reads_it(cells, dialect, words):
    with pytest.raises(TableError, match="column 'x'") as caught:
        kind_of(block_of(cells, **dialect), "x")
    assert words in str(caught.value)
    assert "if the column holds words, --category x" in str(caught.value)


@pytest.mark.parametrize(
    ("cells", "dialect", "words"),
    [
        (["1.814", "2.018", "712", "1.001", "7", " 56 "], {}, "--thousands . --decimal ,"),
        (["-1.814", "2.018", "712", "1.001", None, "7", "56"], {}, "if -1.814 means -1814"),
        (["1,814", "2,018", "712", "1,001", "7", "56"], {"decimal": ","}, "--thousands , --deci"),
    ],
)
def test_points_that_seem_to_part_thousands_are_noted(cells, dialect, words):
    block = block_of(cells, **dialect)
    assert kind_of(block, "x") == "number"
    assert words in points_as_thousands(block.column("x"), block.dialect)


@pytest.mark.parametrize(
    ("cells", "dialect"),
    [
        (["1.814", "2.018", "712", "1.001", "7"], {}),
        (["1.814", "2.018", "712", "8", "7"], {}),
        (["1.814", "2.018", "712", "1.5", "7", "8"], {}),
        (["1.814", "2.018", "712", "0.814", "7", "8"], {}),
        (["1.814", "2.018", "712", "1.001", "7", "1001"], {}),
        (["1.814", "2.018", "712", "1.001", "7", "8"], {"thousands": ","}),
        (["1.814", "2.018", "1.001", "712.0", "7.0", "8.0"], {}),
    ],
)
def test_other_points_are_decimal(cells, dialect):
    block = block_of(cells, **dialect)
    assert points_as_thousands(block.column("x"), block.dialect) is None


def test_typed_columns_are_as_they_are():
    assert points_as_thousands(pa.array([1.814, 2.018, 1.001, 712, 7, 8]), Dialect()) is None


@pytest.mark.parametrize(
    "cells", [["1,2b", "2b", "3.5"], ["a,b", "c"], ["A1", "B2"], ["1, 2", "3;4"]]
)
def test_words_with_commas_and_points_stay_words(cells):
    assert kind_of(block_of(cells), "x") == "text"


def test_a_model_that_knows_a_column_as_numbers_offers_no_other_way():
    # `predict` has no --category and no --drop.
    with pytest.raises(TableError) as caught:
        numbers(block_of(["1,022", "305"]), "x")
    assert "give --thousands ," in str(caught.value)
    with pytest.raises(TableError) as limit:
        numbers(block_of(["<3", "305"]), "x")
    typed = Block("new.parquet", {"x": pa.array([[1]])}, 1, 1, Dialect())
    with pytest.raises(TableError) as listed:
        numbers(typed, "x")
    for error in (caught, limit, listed):
        assert "--category" not in str(error.value)
        assert "--drop" not in str(error.value)
