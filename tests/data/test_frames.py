"""The same numbers give the same forest and answers, bit for bit, wherever they lie."""

import dataclasses
import warnings
from types import MappingProxyType

import arrow
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError

import cqrf.forest
from cqrf import CensoredQuantileForest
from cqrf.data.frames import labelled
from cqrf.support.dataframes import open_frame

NAN = np.nan
LEVELS = [0.1, 0.5, 0.8]


def draw(n, seed=0):
    """Multiples of 1/8 that every type of float holds, many of them zero, some missing."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-400, 400, (n, 5)) / 8
    X[rng.random((n, 5)) < 0.6] = 0.0
    X[rng.random(n) < 0.1, 1] = NAN
    X[:, 4] = rng.integers(0, 6, n)
    T = np.exp(X[:, 0] / 50 + X[:, 4] / 5 + 0.5 * rng.normal(size=n))
    C = rng.exponential(4.0, n)
    return X, np.minimum(T, C), T <= C


X, TIME, EVENT = draw(1500)
X_TEST = draw(300, seed=1)[0]

CONTAINERS = {
    "Fortran order": np.asfortranarray,
    "strided": lambda X: np.repeat(np.repeat(X, 2, axis=0), 3, axis=1)[::2, ::3],
    "backwards": lambda X: X[::-1, ::-1].copy()[::-1, ::-1],
    "float32": lambda X: X.astype(np.float32),
    "float32 in Fortran order": lambda X: np.asfortranarray(X, dtype=np.float32),
    "float16": lambda X: X.astype(np.float16),
    "other byte order": lambda X: X.astype(">f4"),
    "list": lambda X: X.tolist(),
    "objects": lambda X: X.astype(object),
    "csr_array": sparse.csr_array,
    "csr_matrix": sparse.csr_matrix,
    "csc_array": sparse.csc_array,
    "csc_matrix of float32": lambda X: sparse.csc_matrix(X, dtype=np.float32),
    "coo_array": sparse.coo_array,
}
FRAMES = {
    "pandas": pd.DataFrame,
    "pandas, columns apart": lambda X: pd.DataFrame(
        {str(j): X[:, j].copy() for j in range(X.shape[1])}, copy=False
    ),
    "pandas of float32": lambda X: pd.DataFrame(X.astype(np.float32)),
    "pandas, nullable": lambda X: pd.DataFrame(X).convert_dtypes(),
    "pandas, Arrow": lambda X: pd.DataFrame(X).convert_dtypes(dtype_backend="pyarrow"),
    "pandas, sparse": lambda X: pd.DataFrame(X).astype(pd.SparseDtype("float64", 0.0)),
    "polars": lambda X: pl.DataFrame(X, [str(j) for j in range(X.shape[1])]),
    "pyarrow": lambda X: pa.table({str(j): X[:, j] for j in range(X.shape[1])}),
    "pyarrow in chunks": lambda X: pa.table(
        {str(j): pa.chunked_array([X[:7, j], X[7:, j]]) for j in range(X.shape[1])}
    ),
    "polars of float32": lambda X: pl.DataFrame(
        X.astype(np.float32), [str(j) for j in range(X.shape[1])]
    ),
}


def fit(X, y=TIME, event=EVENT, weight=None, **parameters):
    defaults = {"n_estimators": 8, "min_samples_leaf": 20, "max_bins": 40, "random_state": 0}
    return CensoredQuantileForest(**(defaults | parameters)).fit(X, y, event, sample_weight=weight)


def answers(forest, X):
    grid = np.array([0.5, 1.0, 3.0])
    return [
        forest.predict(X, LEVELS),
        forest.predict_interval(X),
        forest.identified(X, LEVELS),
        forest.predict_survival_function(X, times=grid),
        forest.predict_censoring_function(X, times=grid),
        forest.predict_cumulative_hazard_function(X, times=grid),
        forest.predict_rmst(X, 2.0),
        forest.estimating_function(X, grid, 0.3),
        forest.apply(X),
        forest.forest_weights(X).toarray(),
        np.array(forest.score(X, np.arange(X_TEST.shape[0]), np.ones(X_TEST.shape[0]))),
    ]


def assert_same_forest(one, other):
    for name in (field.name for field in dataclasses.fields(one.trees_)):
        np.testing.assert_array_equal(getattr(one.trees_, name), getattr(other.trees_, name))
    np.testing.assert_array_equal(one.model_.bins, other.model_.bins, strict=True)
    np.testing.assert_array_equal(one.model_.binner.cuts, other.model_.binner.cuts, strict=True)


def assert_same_answers(one, other):
    for a, b in zip(one, other, strict=True):
        assert a.tobytes() == b.tobytes()


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("categories", [None, [4]])
@pytest.mark.parametrize("name", [*CONTAINERS, *FRAMES])
def test_same_forest_and_answers(name, categories, weighted):
    contain = (CONTAINERS | FRAMES)[name]
    weight = np.random.default_rng(2).exponential(size=len(X)) if weighted else None
    options = {"weight": weight, "categorical_features": categories}
    plain = fit(X, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        forest = fit(contain(X), **options, n_jobs=2)
        assert_same_forest(forest, plain)
        assert_same_answers(answers(forest, contain(X_TEST)), answers(plain, X_TEST))
        if name in CONTAINERS:
            assert_same_answers(answers(plain, contain(X_TEST)), answers(plain, X_TEST))


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.uint32, np.int64])
@pytest.mark.parametrize("contain", [np.asarray, sparse.csr_array, pd.DataFrame])
def test_integers(dtype, contain):
    whole = np.random.default_rng(3).integers(0, 100, X.shape)
    plain = fit(whole.astype(np.float64))
    assert_same_forest(fit(contain(whole.astype(dtype))), plain)


@pytest.mark.parametrize("name", ["Fortran order", "float32", "csr_array", "polars of float32"])
def test_more_rows_than_quantiles_are_made_of(name):
    X, time, event = draw(120_000, seed=4)
    options = {"n_estimators": 1, "min_samples_leaf": 5000, "max_bins": 255}
    plain = fit(X, time, event, **options)
    forest = fit((CONTAINERS | FRAMES)[name](X), time, event, **options, n_jobs=2)
    assert_same_forest(forest, plain)


def test_rows_without_weight_are_read_nowhere():
    weight = np.ones(len(X))
    weight[::3] = 0.0
    kept = fit(X[weight > 0], TIME[weight > 0], EVENT[weight > 0])
    for contain in (np.asarray, np.asfortranarray, sparse.csr_array):
        assert_same_forest(fit(contain(X), weight=weight), kept)


def test_order_of_rows_does_not_matter_to_cuts():
    weight = np.random.default_rng(5).exponential(size=len(X))
    shuffled = np.random.default_rng(6).permutation(len(X))
    one = fit(X, weight=weight, max_bins=7)
    other = fit(X[shuffled], TIME[shuffled], EVENT[shuffled], weight[shuffled], max_bins=7)
    assert_same_forest(one, other)


@pytest.mark.parametrize("contain", [sparse.csr_array, pd.DataFrame, np.asfortranarray])
def test_kernel_curve(contain):
    options = {"censoring_curve": "kernel", "categorical_features": [4]}
    known = np.nan_to_num(X[:200])
    plain = fit(known, TIME[:200], EVENT[:200], **options)
    forest = fit(contain(known), TIME[:200], EVENT[:200], **options)
    test = np.nan_to_num(X_TEST[:20])
    np.testing.assert_array_equal(
        forest.predict(contain(test), LEVELS), plain.predict(test, LEVELS), strict=True
    )


class TestFastPath:
    """Rows of plain NumPy floats skip scikit-learn's validation, not its refusals."""

    @pytest.fixture
    def forest(self, monkeypatch):
        """Fitted as always; afterwards validation is an error."""
        forest = fit(X)

        def validate(*_, **__):
            raise AssertionError("scikit-learn's validation was called")

        monkeypatch.setattr(cqrf.forest, "validate_data", validate)
        monkeypatch.setattr(cqrf.forest, "check_is_fitted", validate)
        return forest

    @pytest.mark.parametrize("dtype", [np.float64, np.float32])
    def test_is_taken_and_changes_nothing(self, dtype, forest, monkeypatch):
        rows = X_TEST.astype(dtype)
        quick = [forest.predict(row[None, :], LEVELS) for row in rows[:20]]
        monkeypatch.undo()
        np.testing.assert_array_equal(
            np.concatenate(quick), forest.predict(rows.tolist()[:20], LEVELS)
        )

    @pytest.mark.parametrize(
        "rows", [X_TEST.tolist(), np.ones((2, 5), np.int64), pd.DataFrame(X_TEST).fillna(0)]
    )
    def test_is_not_taken(self, rows, forest):
        with pytest.raises(AssertionError, match="validation was called"):
            forest.predict(rows)

    def test_refusals(self):
        forest = fit(X)
        with pytest.raises(
            ValueError, match=r"X has 4 features, but CensoredQuantileForest is exp"
        ):
            forest.predict(X_TEST[:1, :4])
        with pytest.raises(ValueError, match=r"0 sample\(s\)"):
            forest.predict(X_TEST[:0])
        with pytest.raises(ValueError, match="Reshape your data"):
            forest.predict(X_TEST[0])
        infinite = X_TEST[:2].copy()
        infinite[1, 3] = -np.inf
        with pytest.raises(ValueError, match=r"contains infinity.*column 3, row 1 is -inf"):
            forest.predict(infinite)
        with pytest.raises(NotFittedError):
            CensoredQuantileForest().predict(X_TEST)

    def test_names_are_missed(self):
        forest = fit(pd.DataFrame(X, columns=list("abcde")))
        with pytest.warns(UserWarning, match="X does not have valid feature names"):
            forest.predict(X_TEST[:1])


class TestManyCategories:
    """More categories than bins: the frequent ones keep theirs, the rare ones share one."""

    N = 4000
    CODES = (600 * np.random.default_rng(7).random(N) ** 3).astype(int)
    NAMES = np.array([f"c{k:03d}" for k in range(600)])

    def frame(self, library, codes):
        return library.DataFrame({"c": self.NAMES[codes].tolist()})

    @pytest.mark.parametrize("library", [pd, pl, arrow])
    @pytest.mark.parametrize("max_bins", [255, 40])
    def test_bins(self, library, max_bins):
        X = self.frame(library, self.CODES)
        forest = fit(X, np.ones(self.N) + self.CODES, None, max_bins=max_bins)
        count = np.bincount(self.CODES, minlength=600)
        features = forest.encode(self.frame(library, np.arange(600)))
        bins = forest.model_.binner.bin(features, None, 1)[:, 0]
        # Frequent first, in their own order where equally frequent.
        order = [k for k in np.argsort(-count, kind="stable") if count[k] > 0]
        assert len(order) > max_bins
        assert bins[order].tolist() == [min(i, max_bins - 1) for i in range(len(order))]
        assert (bins[count == 0] == max_bins).all()

    def test_frequent_categories_are_told_apart(self):
        # Every category has a level of its own; those with bins of their own are learned.
        level = np.random.default_rng(8).normal(size=600)
        noise = 0.1 * np.random.default_rng(9).normal(size=self.N)
        X = self.frame(pd, self.CODES)
        forest = fit(X, np.exp(level[self.CODES] + noise), None, max_bins=255, n_estimators=50)
        frequent = np.argsort(-np.bincount(self.CODES))[:20]
        predicted = np.log(forest.predict(self.frame(pd, frequent)))
        assert np.corrcoef(predicted, level[frequent])[0, 1] > 0.9

    def test_sparse_and_integers(self):
        codes = self.CODES[:, None]
        y = np.ones(self.N) + self.CODES
        options = {"event": None, "categorical_features": [0], "max_bins": 255}
        plain = fit(codes.astype(np.float64), y, **options)
        for X in (codes, codes.astype(np.int16), sparse.csc_array(codes)):
            assert_same_forest(fit(X, y, **options), plain)


def test_ten_thousand_columns():
    X, time, event = draw(60, seed=10)
    wide = np.tile(X, (1, 2000))
    options = {"min_samples_leaf": 10, "n_estimators": 2}
    plain = fit(wide, time, event, **options)
    assert_same_forest(
        fit(np.asfortranarray(wide, dtype=np.float32), time, event, **options), plain
    )
    assert_same_forest(fit(sparse.csr_array(wide), time, event, **options), plain)
    assert plain.predict(wide).shape == (60,)


class TestLabelled:
    """Answers as frames of the library that the questions came from."""

    ROWS = MappingProxyType({"a": [1.0, 2.0, 3.0], "b": ["x", "y", "z"]})
    VALUES = np.array([[1.0, 4.0], [2.0, 5.0], [3.0, np.inf]])

    @pytest.mark.parametrize("library", [pd, pl, arrow])
    def test_library_names_and_values(self, library):
        X = library.DataFrame(dict(self.ROWS))
        answer = labelled(self.VALUES, like=X, columns=["q0.1", "q0.5"])
        assert type(answer) is type(X)
        frame = open_frame(answer)
        assert frame.names == ["q0.1", "q0.5"]
        assert [frame.columns[j].to_list() for j in range(2)] == self.VALUES.T.tolist()

    @pytest.mark.parametrize("library", [pd, pl, arrow])
    @pytest.mark.parametrize("values", [[True, False, True], [0.5, 1.5, np.nan], [1, 2, 3]])
    def test_one_column(self, library, values):
        answer = labelled(values, like=library.DataFrame(dict(self.ROWS)), columns=["median"])
        column = open_frame(answer).columns[0].to_numpy()
        np.testing.assert_array_equal(column, values)
        assert column.dtype == np.asarray(values).dtype

    @pytest.mark.parametrize(
        "index", [list("uvw"), [5, 5, 1], pd.MultiIndex.from_product([[1], list("xyz")])]
    )
    def test_index_is_kept(self, index):
        X = pd.DataFrame(dict(self.ROWS), index=index)
        answer = labelled(self.VALUES, like=X, columns=["q0.1", "q0.5"])
        assert answer.index.equals(X.index)
        assert answer.to_numpy().tolist() == self.VALUES.tolist()

    def test_repeated_names_of_the_questions(self):
        X = pd.DataFrame([[1.0, 2.0]], columns=["x", "x"], index=["u"])
        assert labelled([3.0], like=X, columns=["q"]).to_dict() == {"q": {"u": 3.0}}

    @pytest.mark.parametrize(
        "X", [np.ones((3, 2)), [[1], [2], [3]], sparse.csr_array(np.eye(3)), None]
    )
    def test_no_frame(self, X):
        with pytest.raises(
            TypeError, match=r"where X is a data frame .*; received (numpy|builtins|sci)"
        ):
            labelled(self.VALUES, like=X, columns=["a", "b"])

    @pytest.mark.parametrize(
        ("values", "columns"),
        [
            (VALUES[:2], ["a", "b"]),
            (VALUES, ["a"]),
            (VALUES[:, 0], ["a", "b"]),
            (VALUES, ["a", "a"]),
            (VALUES[None], ["a", "b"]),
        ],
    )
    def test_refusals(self, values, columns):
        with pytest.raises(
            ValueError, match=r"values must have shape \(3, \d\).*received .* shape"
        ):
            labelled(values, like=pd.DataFrame(dict(self.ROWS)), columns=columns)
