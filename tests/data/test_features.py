"""Features of any origin are read as numbers; categories, missing values and refusals."""

import dataclasses
import datetime
import pickle
from decimal import Decimal

import arrow
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

import cqrf.data.frames
from cqrf.data.features import FeatureEncoder
from cqrf.data.frames import open_table

NAN = np.nan


def read(encoder, X):
    """What the engine reads, (n, p); categories that are missing or not known as NaN."""
    features = encoder.encode(X)
    matrix = np.column_stack([features.column(j) for j in range(features.shape[1])])
    for j, _ in encoder.categories:
        matrix[matrix[:, j] < 0, j] = NAN
    return matrix


def encode(X, **options):
    return read(FeatureEncoder.from_data(X, **options), X)


class TestArrays:
    @pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, np.int8, np.uint16, bool])
    @pytest.mark.parametrize(
        "layout",
        [
            lambda X: X,
            np.asfortranarray,
            lambda X: np.repeat(X, 2, axis=0)[::2],
            lambda X: X[:, ::-1],
            lambda X: X[::-1],
        ],
    )
    def test_no_type_and_no_layout_is_copied(self, dtype, layout):
        X = layout(np.array([[1, 0], [3, 4], [5, 6]], dtype=dtype))
        view = X.view()
        view.flags.writeable = False
        features = FeatureEncoder.from_data(view).encode(view)
        np.testing.assert_array_equal(features.column(1), X[:, 1])
        # What is written to X afterwards is seen: nobody has a copy.
        X[1, 1] = 1 - X[1, 1].astype(np.int8)
        np.testing.assert_array_equal(features.column(1), X[:, 1])

    def test_broadcast_array(self):
        X = np.broadcast_to(np.array([1.0, 2.0]), (3, 2))
        assert encode(X).tolist() == [[1, 2]] * 3

    def test_field_of_a_structured_array(self):
        record = np.zeros(3, dtype=[("flag", "i1"), ("x", "f8", (2,))])
        record["x"] = [[1, 2], [3, 4], [5, 6]]
        assert encode(record["x"]).tolist() == record["x"].tolist()

    @pytest.mark.parametrize(
        "X",
        [
            [[1, 2], [3, 4]],
            [[1.0, 2], [3, 4]],
            np.array([[1, 2], [3, 4]], dtype=np.float16),
            np.array([[1, 2], [3, 4]], dtype=np.longdouble),
            np.array([[1, 2], [3, 4]], dtype=">f8"),
            np.array([[1, 2], [3, 4]], dtype=">i4"),
            np.array([[1, 2], [3, Decimal(4)]], dtype=object),
        ],
    )
    def test_other_numbers(self, X):
        assert encode(X).tolist() == [[1, 2], [3, 4]]

    def test_integers_as_float64_has_them(self):
        X = np.array([[2**60 + 1], [-(2**53) - 1], [2**63 - 1]])
        assert encode(X).tolist() == X.astype(np.float64).tolist()

    def test_booleans_are_numbers(self):
        assert encode(np.array([[True], [False]])).tolist() == [[1.0], [0.0]]

    @pytest.mark.parametrize(
        "X",
        [
            [[1, None], [NAN, 4]],
            np.array([[1, pd.NA], [None, 4]], dtype=object),
            np.ma.masked_array([[1, 2], [3, 4]], [[False, True], [True, False]]),
        ],
    )
    def test_missing_is_nan(self, X):
        np.testing.assert_array_equal(encode(X), [[1, NAN], [NAN, 4]])

    def test_categories_by_position(self):
        X = np.array([[5.0, 0.1], [NAN, 0.2], [-2.0, 0.3], [5.0, NAN]])
        encoder = FeatureEncoder.from_data(X, [0])
        assert encoder.categories[0][0] == 0
        assert encoder.categories[0][1].tolist() == [-2.0, 5.0]
        np.testing.assert_array_equal(read(encoder, X)[:, 0], [1, NAN, 0, 1])
        np.testing.assert_array_equal(read(encoder, X)[:, 1], X[:, 1])
        unknown = np.array([[4.0, 0], [99.0, 0], [-99.0, 0], [-2, 0]])
        np.testing.assert_array_equal(read(encoder, unknown)[:, 0], [NAN, NAN, NAN, 0])

    @pytest.mark.parametrize("container", [np.column_stack, pd.DataFrame, pl.DataFrame, pa.table])
    def test_large_integers_stay_apart(self, container):
        column = np.array([2**60, 2**60 + 1])
        X = container([column] if container is np.column_stack else {"a": column})
        assert encode(X, categorical_features=[0]).tolist() == [[0.0], [1.0]]

    @pytest.mark.parametrize(
        "X", [[[1, "b"], [2, "a"]], np.array([[1, "b"], [2, "a"]], dtype=object)]
    )
    def test_text_by_position(self, X):
        assert encode(X, categorical_features=[1]).tolist() == [[1, 1], [2, 0]]
        with pytest.raises(ValueError, match="column 1 of X must hold numbers, not text; row 0"):
            encode(X)

    def test_array_of_text_by_position(self):
        assert encode(np.array([["b"], ["a"]]), categorical_features=[0]).tolist() == [[1], [0]]

    @pytest.mark.parametrize("X", [np.array([["1.5"], ["2"]]), [["1.5"], ["2"]]])
    def test_text_is_not_parsed(self, X):
        with pytest.raises(ValueError, match=r"column 0 of X .* row 0 has '1\.5'"):
            encode(X)

    def test_column_without_any_value(self):
        X = np.array([[NAN, 1.0], [NAN, 2.0]])
        encoder = FeatureEncoder.from_data(X, [0])
        assert encoder.n_categories.tolist() == [0, 0]
        assert encoder.is_categorical.tolist() == [1, 0]
        assert np.isnan(read(encoder, np.array([[3.0, 1.0]]))[0, 0])


PANDAS = pd.DataFrame(
    {
        "number": [1.5, NAN, 3.0],
        "integer": [1, 2, 3],
        "nullable": pd.Series([1, None, 3], dtype="Int64"),
        "whole": pd.Series([1, 2, 3], dtype="Int16"),
        "flag": [True, False, True],
        "nullable flag": pd.Series([True, None, False], dtype="boolean"),
        "category": pd.Categorical(["b", "a", None], categories=["never", "b", "a"]),
        "object": ["y", None, "x"],
        "string": pd.Series(["q", pd.NA, "p"], dtype="string"),
    }
)
PANDAS_CODES = [
    [1.5, 1, 1, 1, 1, 1, 1, 1, 1],
    [NAN, 2, NAN, 2, 0, NAN, 0, NAN, NAN],
    [3.0, 3, 3, 3, 1, 0, NAN, 0, 0],
]
POLARS = pl.DataFrame(
    {
        "number": [1.5, None, 3.0],
        "single": pl.Series([1.5, None, NAN], dtype=pl.Float32),
        "integer": [1, 2, 3],
        "null": [1, None, 3],
        "flag": [True, None, False],
        "decimal": pl.Series([Decimal("1.5"), None, Decimal(2)]),
        "nothing": [None, None, None],
        "category": pl.Series(["b", "a", None], dtype=pl.Categorical),
        "enum": pl.Series(["b", "a", None], dtype=pl.Enum(["never", "b", "a"])),
        "string": ["q", None, "p"],
    }
)
POLARS_CODES = [
    [1.5, 1.5, 1, 1, 1, 1.5, NAN, 1, 1, 1],
    [NAN, NAN, 2, NAN, NAN, NAN, NAN, 0, 0, NAN],
    [3.0, NAN, 3, 3, 0, 2, NAN, NAN, NAN, 0],
]

PYARROW = pa.table(
    {
        "number": pa.array([1.5, None, 3.0]),
        "half": pa.array([np.float16(1.5), None, np.float16("nan")], pa.float16()),
        "integer": pa.chunked_array([[1, 2], [3]]),
        "null": pa.array([1, None, 3], pa.uint8()),
        "flag": pa.array([True, None, False]),
        "whole flag": pa.array([True, False, True]),
        "decimal": pa.array([Decimal("1.5"), None, Decimal(2)]),
        "nothing": pa.nulls(3),
        "dictionary": pa.DictionaryArray.from_arrays([2, 1, None], ["never", "a", "b"]),
        "string": pa.array(["q", None, "p"]),
        "large string": pa.array(["q", None, "p"], pa.large_string()),
    }
)
PYARROW_CODES = [
    [1.5, 1.5, 1, 1, 1, 1, 1.5, NAN, 1, 1, 1],
    [NAN, NAN, 2, NAN, NAN, 0, NAN, NAN, 0, NAN, NAN],
    [3.0, NAN, 3, 3, 0, 1, 2, NAN, NAN, 0, 0],
]


class TestFrames:
    @pytest.mark.parametrize("few_rows", [0, 100])
    @pytest.mark.parametrize(
        ("X", "codes"),
        [(PANDAS, PANDAS_CODES), (POLARS, POLARS_CODES), (PYARROW, PYARROW_CODES)],
    )
    def test_from_dtype(self, X, codes, few_rows, monkeypatch):
        # Of few rows, no library is asked for its dictionary.
        monkeypatch.setattr(cqrf.data.frames, "_FEW_ROWS", few_rows)
        encoder = FeatureEncoder.from_data(X)
        np.testing.assert_array_equal(read(encoder, X), codes)
        p = X.shape[1]
        assert encoder.n_features == p
        assert encoder.is_categorical.tolist() == [0] * (p - 3) + [1] * 3
        assert encoder.is_categorical.dtype == np.uint8
        assert encoder.n_categories.tolist() == [0] * (p - 3) + [2] * 3

    @pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int32])
    def test_columns_of_a_pandas_frame_are_not_copied(self, dtype):
        columns = {name: np.arange(5, dtype=dtype) for name in "abc"}
        X = pd.DataFrame(columns, copy=False)
        features = FeatureEncoder.from_data(X).encode(X)
        columns["b"][3] = 77
        assert features.column(1).tolist() == [0, 1, 2, 77, 4]

    @pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int32])
    @pytest.mark.parametrize("library", [pl, arrow])
    def test_columns_of_other_frames_are_not_copied(self, library, dtype):
        X = library.DataFrame({"a": np.arange(5, dtype=dtype), "b": np.arange(5, dtype=dtype)})
        columns = [open_table(X).column(1) for _ in range(2)]
        assert columns[0].dtype == dtype
        assert np.shares_memory(*columns)

    @pytest.mark.parametrize("library", [pd, pl, arrow])
    def test_types_of_numbers_side_by_side(self, library):
        columns = {
            np.dtype(dtype).name: np.array([3, 0, 1], dtype=dtype)
            for dtype in ("f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "?")
        }
        X = library.DataFrame(columns)
        expected = np.column_stack([column.astype(float) for column in columns.values()])
        np.testing.assert_array_equal(encode(X), expected)

    def test_columns_by_position_with_repeated_names(self):
        X = pd.DataFrame([[1.0, "a"], [2.0, "b"]], columns=["x", "x"])
        assert encode(X).tolist() == [[1, 0], [2, 1]]

    @pytest.mark.parametrize("library", [pd, pl, arrow])
    def test_unknown_and_missing_categories(self, library):
        encoder = FeatureEncoder.from_data(library.DataFrame({"c": ["b", "a", "b"]}))
        new = library.DataFrame({"c": ["a", "z", None, "b"]})
        np.testing.assert_array_equal(read(encoder, new)[:, 0], [0, NAN, NAN, 1])

    def test_categories_do_not_depend_on_the_library(self):
        encoder = FeatureEncoder.from_data(pd.DataFrame({"c": pd.Categorical(["b", "a"])}))
        frames = (library.DataFrame({"c": ["a", "b"]}) for library in (pl, arrow))
        for X in (*frames, [["a"], ["b"]], np.array([["a"], ["b"]])):
            assert read(encoder, X).tolist() == [[0.0], [1.0]]

    def test_numeric_categories(self):
        X = pd.DataFrame({"c": pd.Categorical([30, 4, 30])})
        encoder = FeatureEncoder.from_data(X)
        assert encoder.categories[0][1].tolist() == [4, 30]
        assert read(encoder, X).tolist() == [[1], [0], [1]]
        assert read(encoder, pd.DataFrame({"c": [4.0]})).tolist() == [[0]]
        assert read(encoder, np.array([[30]])).tolist() == [[1]]

    @pytest.mark.parametrize("library", [pd, pl, arrow])
    def test_categories_are_sorted(self, library):
        names = [f"{i:02d}" for i in np.random.default_rng(0).permutation(50)]
        X = library.DataFrame({"c": names})
        assert FeatureEncoder.from_data(X).categories[0][1].tolist() == sorted(names)
        assert encode(X)[:, 0].tolist() == [float(name) for name in names]

    def test_mixed_categories_have_a_fixed_order(self):
        X = pd.DataFrame({"c": ["b", 1, "a", 2.5, (1, 2)]})
        known = FeatureEncoder.from_data(X).categories[0][1]
        shuffled = FeatureEncoder.from_data(X.iloc[::-1]).categories[0][1]
        assert known.tolist() == shuffled.tolist()
        assert sorted(encode(X)[:, 0]) == [0, 1, 2, 3, 4]

    @pytest.mark.parametrize("values", [["a", "b"], [1, 2], [0.5, 1.5]])
    def test_storable_categories_are_not_objects(self, values):
        X = pd.DataFrame({"c": pd.Categorical(values)})
        assert FeatureEncoder.from_data(X).categories[0][1].dtype != object

    @pytest.mark.parametrize("few_rows", [0, 100])
    def test_text_that_numpy_would_shorten(self, few_rows, monkeypatch):
        monkeypatch.setattr(cqrf.data.frames, "_FEW_ROWS", few_rows)
        X = pd.DataFrame({"c": ["a", "a\0"]})
        assert encode(X)[:, 0].tolist() == [0.0, 1.0]

    def test_none_refuses_text(self):
        frames = (PANDAS[["number", "string"]], POLARS[["number", "string"]])
        for X in (*frames, PYARROW.select(["number", "string"])):
            with pytest.raises(
                ValueError, match="column 'string' of X must hold numbers, not text"
            ):
                encode(X, categorical_features=None)

    def test_object_column_of_numbers_declared_numeric(self):
        X = pd.DataFrame({"a": np.array([1, None, 2.5], dtype=object)})
        np.testing.assert_array_equal(encode(X, categorical_features=None), [[1], [NAN], [2.5]])

    def test_objects_of_polars(self):
        X = pl.DataFrame({"a": pl.Series([2, None, "x"], dtype=pl.Object)})
        assert FeatureEncoder.from_data(X).categories == ()
        with pytest.raises(ValueError, match="column 'a' of X must hold numbers, not text; row 2"):
            encode(X)
        np.testing.assert_array_equal(encode(X, categorical_features=["a"]), [[0], [NAN], [1]])
        numbers = pl.DataFrame({"a": pl.Series([2, None, Decimal("0.5")], dtype=pl.Object)})
        np.testing.assert_array_equal(encode(numbers), [[2], [NAN], [0.5]])

    def test_text_at_predict_where_numbers_were(self):
        encoder = FeatureEncoder.from_data(pd.DataFrame({"a": [1.0, 2.0]}))
        with pytest.raises(ValueError, match="column 'a' of X must hold numbers, not text; row 1"):
            read(encoder, pd.DataFrame({"a": [1.0, "two"]}))

    @pytest.mark.parametrize("library", [pd, pl, arrow])
    def test_dates(self, library):
        X = library.DataFrame({"when": [datetime.datetime(2020, 1, 1)]})
        with pytest.raises(
            ValueError, match=r"column 'when' of X has dtype .*convert it to a number"
        ):
            encode(X)

    def test_unhashable_category(self):
        with pytest.raises(TypeError, match="column 'c' of X is categorical, but unhashable"):
            encode(pd.DataFrame({"c": [[1], [2]]}))

    @pytest.mark.parametrize("library", [pd, pl, arrow])
    def test_empty(self, library):
        with pytest.raises(ValueError, match=r"0 sample\(s\) \(shape=\(0, 1\)\) while a minimum"):
            encode(library.DataFrame({"a": []}))
        with pytest.raises(ValueError, match=r"0 (sample|feature)\(s\)"):
            encode(library.DataFrame())

    def test_no_columns(self):
        with pytest.raises(
            ValueError, match=r"0 feature\(s\) \(shape=\(3, 0\)\) while a minimum of"
        ):
            encode(pd.DataFrame(index=[0, 1, 2]))


class TestCategoricalFeatures:
    @pytest.mark.parametrize(
        "choice",
        [
            ["c", "a"],
            [2, 0],
            np.array([0, 2, 2]),
            [True, False, True],
            np.array([True, False, True]),
            pd.Index(["a", "c"]),
            ("a", 2),
        ],
    )
    @pytest.mark.parametrize("library", [pd, pl, arrow])
    def test_forms(self, choice, library):
        X = library.DataFrame({"a": [7, 5], "b": [7, 5], "c": [7, 5]})
        encoder = FeatureEncoder.from_data(X, choice)
        assert encoder.is_categorical.tolist() == [1, 0, 1]
        assert read(encoder, X).tolist() == [[1, 7, 1], [0, 5, 0]]

    @pytest.mark.parametrize("choice", [None, [], np.array([], dtype=int), [False, False]])
    def test_nothing(self, choice):
        encoder = FeatureEncoder.from_data(np.ones((3, 2)), choice)
        assert encoder.categories == ()
        assert encoder.is_categorical.tolist() == [0, 0]

    @pytest.mark.parametrize(
        ("choice", "error", "words"),
        [
            ("a", ValueError, "received 'a' .*in a list"),
            (3, TypeError, "received 3"),
            ([5], ValueError, "holds 5, but the columns of X are numbered 0 to 1"),
            ([-1], ValueError, "holds -1"),
            (["z"], ValueError, r"holds 'z', which is not a column of X.*\['a', 'b'\]"),
            ([0.0], TypeError, r"received 0\.0"),
            ([True], ValueError, "one entry per column: it has 1, X has 2"),
            ([True, 1], TypeError, "received True"),
            ([None], TypeError, "received None"),
        ],
    )
    def test_refusals(self, choice, error, words):
        X = pd.DataFrame({"a": [1, 2], "b": [3, 4]})
        with pytest.raises(error, match=f"categorical_features .*{words}"):
            FeatureEncoder.from_data(X, choice)

    def test_names_without_a_frame(self):
        with pytest.raises(ValueError, match="categorical_features holds the name 'a', but X is"):
            FeatureEncoder.from_data(np.ones((2, 2)), ["a"])


SPARSE = np.array([[0.0, 2.5, 0], [NAN, 0, 0], [-1, 0, 0], [0, 7, 0]])


class TestSparse:
    @pytest.mark.parametrize("form", ["csr", "csc", "coo", "bsr", "dok", "lil", "dia"])
    @pytest.mark.parametrize("container", [sparse.csr_array, sparse.csr_matrix])
    def test_formats(self, container, form):
        np.testing.assert_array_equal(encode(container(SPARSE).asformat(form)), SPARSE)

    @pytest.mark.parametrize("dtype", [np.float32, np.longdouble, np.int8, np.uint64, bool])
    @pytest.mark.parametrize("index", [np.int32, np.int64])
    def test_types(self, dtype, index):
        dense = np.nan_to_num(np.abs(SPARSE)).astype(dtype)
        X = sparse.csc_array(dense)
        X.indices, X.indptr = X.indices.astype(index), X.indptr.astype(index)
        np.testing.assert_array_equal(encode(X), dense.astype(np.float64))

    def test_explicit_zeros_and_duplicates(self):
        # Entries of one cell add up, whatever their order; X itself stays as it is.
        rows, columns = [3, 0, 0, 2, 1], [0, 0, 1, 1, 0]
        X = sparse.csc_array(sparse.coo_array(([0.0, 2, 1, 1, 5], (rows, columns)), shape=(4, 2)))
        X.indices[:3] = [1, 0, 1]
        X.has_canonical_format = X.has_sorted_indices = False
        before = X.indices.tolist()
        np.testing.assert_array_equal(encode(X), X.copy().toarray())
        assert X.indices.tolist() == before

    @pytest.mark.parametrize("columns", [[0], [1], [0, 1, 2]])
    def test_categories(self, columns):
        # Zero is a category like any other, stored or not.
        encoder = FeatureEncoder.from_data(SPARSE, columns)
        same = FeatureEncoder.from_data(sparse.csr_array(SPARSE), columns)
        for (j, dense), (k, thin) in zip(encoder.categories, same.categories, strict=True):
            assert (j, dense.tolist()) == (k, thin.tolist())
        new = np.array([[0.0, 0, 3], [4, 7, 0], [-1, 2.5, NAN]])
        np.testing.assert_array_equal(
            read(encoder, sparse.csc_array(new)), read(encoder, new), strict=True
        )

    def test_zero_that_is_no_known_category(self):
        encoder = FeatureEncoder.from_data(np.array([[1.0], [2.0]]), [0])
        np.testing.assert_array_equal(
            read(encoder, sparse.csr_array([[0.0], [2.0], [3.0]])), [[NAN], [1], [NAN]]
        )

    @pytest.mark.parametrize("value", [np.inf, -np.inf])
    def test_infinity(self, value):
        X = sparse.csr_array(np.array([[0, 0], [0, value], [value, 0]]))
        with pytest.raises(ValueError, match=f"contains infinity.*column 0, row 2 is {value}"):
            encode(X)

    def test_refusals(self):
        with pytest.raises(ValueError, match="Complex data not supported"):
            encode(sparse.csr_array([[1j]]))
        with pytest.raises(ValueError, match=r"0 sample\(s\) \(shape=\(0, 3\)\) while a minimum"):
            encode(sparse.csr_array((0, 3)))
        with pytest.raises(ValueError, match=r"0 feature\(s\) \(shape=\(3, 0\)\) while a minimum"):
            encode(sparse.csr_array((3, 0)))
        # Before 1.13, scipy makes a row of it.
        if (line := sparse.coo_array(np.ones(3))).ndim == 1:
            with pytest.raises(ValueError, match="Reshape your data"):
                encode(line)
        with pytest.raises(ValueError, match=r"holds the name 'a', but X is not a frame"):
            encode(sparse.csr_array(np.eye(2)), categorical_features=["a"])


class TestRefusals:
    @pytest.mark.parametrize("value", [np.inf, -np.inf])
    @pytest.mark.parametrize("order", ["C", "F"])
    @pytest.mark.parametrize("dtype", [np.float64, np.float32])
    def test_infinity_in_arrays(self, value, order, dtype):
        X = np.full((4, 3), NAN, dtype=dtype, order=order)
        X[2, 1] = value
        with pytest.raises(
            ValueError, match=f"Input X contains infinity.*column 1, row 2 is {value}"
        ):
            encode(X)

    @pytest.mark.parametrize("options", [{}, {"categorical_features": ["a"]}])
    @pytest.mark.parametrize("library", [pd, pl, arrow])
    @pytest.mark.parametrize("other", [1, 1.0, "text"])
    def test_infinity_in_frames(self, library, other, options):
        if other == "text" and options:
            options = {"categorical_features": ["a", "b"]}
        X = library.DataFrame({"b": [other, other], "a": [1.0, np.inf]})
        with pytest.raises(
            ValueError, match=r"Input X contains infinity.*column 'a', row 1 is inf"
        ):
            encode(X, **options)

    def test_infinity_at_predict_in_a_category(self):
        encoder = FeatureEncoder.from_data(np.array([[1.0]]), [0])
        with pytest.raises(ValueError, match=r"Input X contains infinity.*column 0, row 0"):
            read(encoder, np.array([[np.inf]]))

    def test_infinity_among_objects(self):
        with pytest.raises(ValueError, match=r"Input X contains infinity.*column 0, row 1"):
            encode(np.array([[1], [np.inf]], dtype=object))

    @pytest.mark.parametrize(
        "X",
        [
            np.array([[1j]]),
            [[1j]],
            np.array([[1j]], dtype=object),
            pd.DataFrame({"a": [1j]}),
        ],
    )
    def test_complex(self, X):
        with pytest.raises(ValueError, match="Complex data not supported"):
            encode(X)

    @pytest.mark.parametrize("X", [[1.0, 2.0], np.ones(3)])
    def test_one_dimensional(self, X):
        with pytest.raises(ValueError, match="Reshape your data"):
            encode(X)
        with pytest.raises(ValueError, match="Reshape your data"):
            open_table(X)

    @pytest.mark.parametrize("X", [pd.Series([1.0]), 3.0, None, np.ones((2, 2, 2))])
    def test_other_shapes(self, X):
        with pytest.raises(ValueError):
            encode(X)

    def test_empty(self):
        with pytest.raises(ValueError, match=r"0 sample\(s\) \(shape=\(0, 3\)\) while a minimum"):
            encode(np.empty((0, 3)))
        with pytest.raises(ValueError, match=r"0 feature\(s\) \(shape=\(12, 0\)\) while a minimum"):
            encode(np.empty((12, 0)))

    def test_objects_that_are_not_numbers(self):
        with pytest.raises(TypeError, match=r"argument must be .* string.* number"):
            encode(np.array([[{"foo": "bar"}, 1]], dtype=object))

    def test_dates_in_an_array(self):
        with pytest.raises(
            ValueError, match="X must hold numbers; received an array of dtype date"
        ):
            encode(np.array([["2020-01-01"]], dtype="M8[D]"))

    def test_what_only_looks_like_a_frame(self):
        class Duck:
            columns = ("a",)
            shape = (2, 1)

            def __getitem__(self, key):
                return [1, 2]

        with pytest.raises(ValueError, match="Expected 2D array, got scalar array instead"):
            encode(Duck())

    def test_repeated_names_of_a_pyarrow_table(self):
        X = pa.Table.from_arrays([pa.array([1.0]), pa.array(["a"])], ["x", "x"])
        with pytest.raises(ValueError, match="unique column names"):
            encode(X)

    def test_lazy_frame(self):
        with pytest.raises(TypeError, match=r"LazyFrame; pass X\.collect\(\)"):
            encode(pl.LazyFrame({"a": [1]}))

    @pytest.mark.parametrize("X", [np.ones((2, 1)), pd.DataFrame({"a": [1.0]})])
    def test_number_of_columns(self, X):
        encoder = FeatureEncoder.from_data(np.ones((2, 3)))
        with pytest.raises(ValueError, match=r"X has 1 features, but \w+ is expecting 3 features"):
            read(encoder, X)


def test_frozen_and_picklable():
    encoder = FeatureEncoder.from_data(PANDAS)
    with pytest.raises(dataclasses.FrozenInstanceError):
        encoder.n_features = 2
    np.testing.assert_array_equal(read(pickle.loads(pickle.dumps(encoder)), PANDAS), PANDAS_CODES)
