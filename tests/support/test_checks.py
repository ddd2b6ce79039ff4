"""Checks of arguments: what passes, and that every refusal names what it refuses."""

import math
import re
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.exceptions import DataConversionWarning

from cqrf.support.checks import (
    check_choice,
    check_coverage,
    check_fraction_or_count,
    check_int,
    check_quantiles,
    check_same_rows,
    check_vector,
    is_missing,
    numbers_from_objects,
)


class TestChoice:
    @pytest.mark.parametrize("value", ["root", np.str_("root"), None, True])
    def test_returns_the_choice(self, value):
        assert check_choice("solver", value, ("root", None, True)) == value

    @pytest.mark.parametrize("value", ["Root", 1, None, ["root"], np.array(["root", "root"])])
    def test_refusal_names_argument_value_and_choices(self, value):
        with pytest.raises(ValueError, match=r"solver must be one of 'root', 'argmin', True") as e:
            check_choice("solver", value, ("root", "argmin", True))
        assert repr(value) in str(e.value)


class TestQuantiles:
    @pytest.mark.parametrize("value", [0.5, np.float32(0.5), np.array(0.5), Fraction(1, 2)])
    def test_scalar(self, value):
        levels, scalar = check_quantiles(value)
        assert scalar is True
        assert levels.dtype == np.float64
        assert levels.tolist() == [0.5]

    @pytest.mark.parametrize(
        "value",
        [
            [0.9, 0.1],
            (0.9, 0.1),
            np.array([0.9, 0.1]),
            pd.Series([0.9, 0.1]),
            pl.Series([0.9, 0.1]),
        ],
    )
    def test_one_dimensional_in_the_order_given(self, value):
        levels, scalar = check_quantiles(value)
        assert scalar is False
        assert levels.tolist() == [0.9, 0.1]

    def test_length_one_is_not_scalar(self):
        assert check_quantiles([0.5])[1] is False

    @pytest.mark.parametrize("bad", [0, 1, 0.0, 1.0, -0.1, 1.5, math.nan, math.inf, 95])
    def test_outside_names_value_and_position(self, bad):
        with pytest.raises(ValueError, match=rf"quantiles .* received {float(bad)}$"):
            check_quantiles(bad)
        with pytest.raises(ValueError, match=rf"received {float(bad)} at position 1"):
            check_quantiles([0.5, bad, 2.0])

    def test_empty(self):
        with pytest.raises(ValueError, match="quantiles is empty"):
            check_quantiles([])

    def test_two_dimensional(self):
        with pytest.raises(ValueError, match=r"quantiles .* shape \(1, 2\)"):
            check_quantiles([[0.1, 0.9]])

    @pytest.mark.parametrize(
        "bad", [True, np.True_, [0.5, True], "0.5", ["a"], None, 0.5j, [None], np.array([True])]
    )
    def test_not_numbers(self, bad):
        with pytest.raises(TypeError, match="quantiles must be numbers; received"):
            check_quantiles(bad)

    def test_does_not_hand_out_the_users_array(self):
        given = np.array([0.1, 0.9])
        levels, _ = check_quantiles(given)
        assert not np.shares_memory(levels, given)


class TestCoverage:
    @pytest.mark.parametrize("value", [0.95, np.float32(0.5), Fraction(1, 2)])
    def test_good(self, value):
        assert check_coverage(value) == pytest.approx(float(value))

    @pytest.mark.parametrize("value", [0, 1, 95, -0.5, math.nan])
    def test_outside(self, value):
        with pytest.raises(ValueError, match=f"coverage .* received {value}"):
            check_coverage(value)

    @pytest.mark.parametrize("value", ["0.9", True, None, [0.9]])
    def test_not_a_number(self, value):
        with pytest.raises(TypeError, match="coverage must be a number"):
            check_coverage(value)


class TestInt:
    @pytest.mark.parametrize("value", [3, np.int8(3), np.uint64(3)])
    def test_good(self, value):
        result = check_int("n_estimators", value, 1)
        assert result == 3
        assert type(result) is int

    def test_none(self):
        assert check_int("max_depth", None, 1, allow_none=True) is None
        with pytest.raises(TypeError, match="max_depth must be an integer; received None"):
            check_int("max_depth", None, 1)

    @pytest.mark.parametrize("value", [True, np.True_, 3.0, "3", [3]])
    def test_not_an_integer(self, value):
        with pytest.raises(TypeError, match=r"n_estimators must be an integer or None; received"):
            check_int("n_estimators", value, 1, allow_none=True)

    def test_too_small(self):
        assert check_int("n_estimators", 1, 1) == 1
        assert check_int("n_jobs", 1024, 1, maximum=1024) == 1024
        with pytest.raises(ValueError, match="n_jobs must be at most 1024; received 1025"):
            check_int("n_jobs", 1025, 1, maximum=1024)
        with pytest.raises(ValueError, match="n_estimators must be at least 1; received 0"):
            check_int("n_estimators", 0, 1)


class TestFractionOrCount:
    @pytest.mark.parametrize(
        ("value", "expected"),
        [(None, 10), (1, 1), (10, 10), (np.int64(4), 4), (1.0, 10), (1 / 3, 3), (0.01, 1),
         (np.float32(0.5), 5)],
    )  # fmt: skip
    def test_good(self, value, expected):
        result = check_fraction_or_count("max_features", value, 10)
        assert result == expected
        assert type(result) is int

    @pytest.mark.parametrize(
        ("value", "total", "expected"),
        [("sqrt", 10, 3), ("log2", 10, 3), ("sqrt", 1, 1), ("log2", 1, 1), ("log2", 100, 6)],
    )
    def test_names(self, value, total, expected):
        assert check_fraction_or_count("m", value, total, allow_names=True) == expected
        with pytest.raises(ValueError, match=f"m must be .* received '{value}'"):
            check_fraction_or_count("m", value, total)

    @pytest.mark.parametrize("value", [0, 11, -1])
    def test_count_outside(self, value):
        with pytest.raises(ValueError, match=f"m as a count .* 1 and 10; received {value}"):
            check_fraction_or_count("m", value, 10)

    @pytest.mark.parametrize("value", [0.0, 1.1, -0.5, math.nan, math.inf])
    def test_fraction_outside(self, value):
        with pytest.raises(ValueError, match=rf"m as a fraction .* received {value}"):
            check_fraction_or_count("m", value, 10)

    def test_other_types(self):
        with pytest.raises(TypeError, match=r"m must be .* received True"):
            check_fraction_or_count("m", True, 10)
        with pytest.raises(ValueError, match="received 'auto'"):
            check_fraction_or_count("m", "auto", 10, allow_names=True)


class TestVector:
    @pytest.mark.parametrize(
        "values",
        [
            [1, None, 3],
            np.array([1.0, np.nan, 3.0]),
            np.array([1, None, Decimal(3)], dtype=object),
            np.ma.masked_array([1, 2, 3], [False, True, False]),
            pd.Series([1, None, 3], dtype="Int64"),
            pd.Series([1, pd.NA, 3], dtype=object),
            pl.Series([1, None, 3]),
        ],
    )
    def test_missing_is_nan(self, values):
        np.testing.assert_array_equal(check_vector("v", values), [1.0, np.nan, 3.0])

    def test_no_copy_of_plain_arrays(self):
        given = np.arange(6)[::2]
        assert check_vector("v", given) is given

    def test_column_warns(self):
        with pytest.warns(DataConversionWarning, match="A column-vector v was passed when a 1d"):
            assert check_vector("v", [[1], [2]]).tolist() == [1, 2]

    @pytest.mark.parametrize("values", [3, [[1, 2]], np.zeros((2, 1, 1)), {1: 2}])
    def test_shape(self, values):
        with pytest.raises(ValueError, match="v should be a 1d array, got an array of shape"):
            check_vector("v", values)

    @pytest.mark.parametrize(
        "values", [["1", "2"], [b"1", b"2"], np.array(["1", 2], dtype=object), pl.Series(["1"])]
    )
    def test_text_is_not_parsed(self, values):
        with pytest.raises(ValueError, match=r"v must hold numbers, not text; row 0 has b?'1'"):
            check_vector("v", values)

    @pytest.mark.parametrize("values", [[1j], np.array([1, 1j], dtype=object)])
    def test_complex(self, values):
        with pytest.raises(ValueError, match="Complex data not supported: v"):
            check_vector("v", values)

    @pytest.mark.parametrize(
        "values", [np.array(["2020-01-01"], "M8[D]"), np.array([3], "m8[D]"), [{"a": 1}]]
    )
    def test_other_types(self, values):
        with pytest.raises(TypeError, match="v must hold numbers"):
            check_vector("v", values)

    def test_too_large(self):
        with pytest.raises(ValueError, match="v holds a number too large for float64"):
            check_vector("v", [10**400])


def test_objects_that_are_not_numbers_keep_the_words_scikit_learn_looks_for():
    with pytest.raises(TypeError, match=r"column 0 .*argument must be .* string.* number"):
        numbers_from_objects("column 0", np.array([{"foo": "bar"}], dtype=object))


@pytest.mark.parametrize("value", [None, math.nan, np.float32("nan"), pd.NA, pd.NaT])
def test_missing(value):
    assert is_missing(value)


@pytest.mark.parametrize("value", [0, 0.0, "", "nan", False, ()])
def test_not_missing(value):
    assert not is_missing(value)


class TestSameRows:
    """Labels are compared wherever both sides have some that mean rows."""

    FRAME = pd.DataFrame({"x": np.arange(4.0)}, index=[3, 0, 2, 1])

    @pytest.mark.parametrize(
        ("first", "second"),
        [
            ([3, 0, 2, 1], [3, 0, 2, 1]),
            ([3, 0, 2, 1], [3.0, 0.0, 2.0, 1.0]),
            # Filtered, and given new labels from zero; or the other way round.
            ([1, 4, 5, 9], range(4)),
            (range(4), [3, 8, 1, 2]),
            (["a", "b", "c", "d"], range(4)),
            (range(4), range(1, 5)),
            # Nothing in common.
            (["a", "b", "c", "d"], [7, 8, 9, 10]),
            # What both have stands where it stands.
            ([1, 4, 5, 9], [1, 4, 6, 9]),
            # Told by the check of lengths.
            ([3, 0, 2, 1], [0, 1, 2]),
            (pd.MultiIndex.from_product([[0, 1], ["a", "b"]]), range(4)),
        ],
    )
    def test_pass(self, first, second):
        check_same_rows(X=pd.DataFrame(index=first), y=pd.Series(0.0, index=second))

    @pytest.mark.parametrize(
        ("first", "second", "row"),
        [
            ([3, 0, 2, 1], range(4), 0),
            (range(4), [0, 1, 3, 2], 2),
            (["a", "b", "c", "d"], ["a", "c", "b", "d"], 1),
            # One row late, and filtered alone.
            ([5, 6, 7, 8], [4, 5, 6, 7], 1),
            ([1, 4, 5, 9], [0, 1, 5, 9], 1),
            # A label that two rows have.
            ([0, 0, 1, 1], [0, 1, 0, 1], 1),
            (
                pd.MultiIndex.from_product([[0, 1], ["a", "b"]]),
                pd.MultiIndex.from_tuples([(0, "b"), (0, "a"), (1, "a"), (1, "b")]),
                0,
            ),
        ],
    )
    def test_refuse(self, first, second, row):
        with pytest.raises(ValueError, match=f"y and X have row labels in .* row {row} is"):
            check_same_rows(X=pd.DataFrame(index=first), y=pd.DataFrame(index=second))

    @pytest.mark.parametrize("labels", [[1101, 1102], [0.5, 1.5], [(7, "a"), (8, "a")]])
    def test_labels_are_written_as_plain_values(self, labels):
        frame = pd.DataFrame({"x": [0.0, 1.0]}, index=pd.Index(labels))
        words = (
            f"row 0 is labelled {labels[1]!r} in y and {labels[0]!r} in X. Put them in one order"
        )
        with pytest.raises(ValueError, match=re.escape(words)):
            check_same_rows(X=frame, y=frame.iloc[::-1])

    def test_every_one_is_compared_with_the_first(self):
        with pytest.raises(ValueError, match=r"sample_weight\.loc\[y\.index\]"):
            check_same_rows(
                X=np.zeros((4, 1)),
                y=self.FRAME,
                event=[True] * 4,
                sample_weight=pd.Series(1.0, index=range(4)),
            )
        check_same_rows(X=self.FRAME, y=np.zeros(4), event=None, sample_weight=self.FRAME["x"])
