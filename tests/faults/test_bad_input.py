"""What cannot be right is refused: by name, by row, before any work, and without a trace."""

import re
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError

import cqrf.forest
from cqrf import CensoredQuantileForest, Surv, solve_quantiles

NAN, INF = np.nan, np.inf
N = 40
RNG = np.random.default_rng(0)
X = RNG.uniform(size=(N, 3))
TIME = RNG.exponential(size=N)
EVENT = RNG.random(N) < 0.7


def changed(array, index, value):
    copy = np.array(array, dtype=object if isinstance(value, str) else np.result_type(array, value))
    copy[index] = value
    return copy


@pytest.fixture(scope="module")
def forest():
    return CensoredQuantileForest(n_estimators=5, min_samples_leaf=3, random_state=0).fit(
        X, TIME, EVENT
    )


@pytest.fixture
def no_work(monkeypatch):
    """Fitting fails loudly as soon as it begins to compute."""

    def work(*_, **__):
        raise AssertionError("work began before the input was refused")

    monkeypatch.setattr(cqrf.forest.Binner, "from_data", work)
    monkeypatch.setattr(cqrf.forest, "grow_trees", work)


# (arguments of fit, exception, words that the message must have)
DATA = {
    "NaN in time": (
        {"y": changed(TIME, 7, NAN)},
        ValueError,
        ["y", "NaN", "[Rr]ow 7"],
    ),
    "infinite time": (
        {"y": changed(TIME, 8, INF)},
        ValueError,
        ["y", "infinity", "[Rr]ow 8"],
    ),
    "minus infinite time": (
        {"y": changed(TIME, 9, -INF)},
        ValueError,
        ["y", "infinity", "[Rr]ow 9"],
    ),
    "missing time in a frame": (
        {
            "y": pd.DataFrame({"time": pd.array(TIME).astype("Float64"), "event": EVENT}).mask(
                pd.DataFrame({"time": np.arange(N) == 4, "event": False})
            ),
            "event": None,
        },
        (ValueError, TypeError),
        ["y", "[Rr]ow 4"],
    ),
    "text as time": ({"y": changed(TIME, 3, "soon")}, ValueError, ["y", "row 3", "soon"]),
    "dates as time": (
        {"y": np.full(N, np.timedelta64(3, "D"))},
        TypeError,
        ["y", "timedelta64"],
    ),
    "booleans as time": ({"y": EVENT, "event": EVENT}, TypeError, ["y", "booleans"]),
    "two columns of time": ({"y": np.ones((N, 2))}, ValueError, ["y", r"\(40, 2\)"]),
    "no y": ({"y": None}, ValueError, ["y", "None"]),
    "event coded 1 and 2": (
        {"event": EVENT.astype(int) + 1},
        ValueError,
        ["event", "row", "event == 2"],
    ),
    "event of minus one": (
        {"event": changed(EVENT.astype(int), 5, -1)},
        ValueError,
        ["event", "row 5 is -1"],
    ),
    "event of a half": (
        {"event": changed(EVENT.astype(float), 6, 0.5)},
        ValueError,
        ["event", "row 6 is 0.5"],
    ),
    "NaN in event": (
        {"event": changed(EVENT.astype(float), 2, NAN)},
        ValueError,
        ["event", "row 2 is nan"],
    ),
    "text as event": (
        {"event": np.array(["yes"] * N, dtype=object)},
        ValueError,
        ["event", "row 0", "yes"],
    ),
    "time and event swapped": (
        {"y": EVENT.astype(float), "event": TIME},
        ValueError,
        ["event", "swapped"],
    ),
    "event is never True": (
        {"event": np.zeros(N, dtype=bool)},
        ValueError,
        ["event", "never True"],
    ),
    "event is never True where there is weight": (
        {"sample_weight": (~EVENT).astype(float)},
        ValueError,
        ["event", "never True", "weight"],
    ),
    "event given twice": ({"y": Surv.from_arrays(EVENT, TIME)}, ValueError, ["event", "twice"]),
    "a structured array of three fields": (
        {"y": np.zeros(N, dtype=[("a", bool), ("b", float), ("c", float)]), "event": None},
        ValueError,
        ["y", "one boolean and one numeric"],
    ),
    "a frame of other columns": (
        {"y": pd.DataFrame({"start": TIME, "stop": TIME}), "event": None},
        ValueError,
        ["y", "start", "stop"],
    ),
    "time and event differ in length": (
        {"event": EVENT[:-1]},
        ValueError,
        ["y", "event", "40", "39"],
    ),
    "X and y differ in length": ({"X": X[:-2]}, ValueError, ["X", "y", "38", "40"]),
    "sample_weight of another length": (
        {"sample_weight": np.ones(N + 1)},
        ValueError,
        ["sample_weight", "41", "40"],
    ),
    "negative weight": (
        {"sample_weight": changed(np.ones(N), 11, -0.5)},
        ValueError,
        ["sample_weight", "row 11 is -0.5"],
    ),
    "NaN weight": (
        {"sample_weight": changed(np.ones(N), 12, NAN)},
        ValueError,
        ["sample_weight", "row 12 is nan"],
    ),
    "no weight at all": ({"sample_weight": np.zeros(N)}, ValueError, ["sample_weight", "zero"]),
    "weights that overflow": (
        {"sample_weight": np.full(N, 1e308)},
        ValueError,
        ["sample_weight", "infinity"],
    ),
    "no rows": (
        {"X": np.empty((0, 3)), "y": np.empty(0), "event": np.empty(0)},
        ValueError,
        ["0 sample"],
    ),
    "no rows of a frame": (
        {"X": pd.DataFrame(X)[:0], "y": TIME[:0], "event": EVENT[:0]},
        ValueError,
        ["0 sample"],
    ),
    "no columns": ({"X": np.empty((N, 0))}, ValueError, [r"0 feature\(s\)"]),
    "one-dimensional X": ({"X": X[:, 0]}, ValueError, ["2D array"]),
    "three-dimensional X": ({"X": np.ones((N, 2, 2))}, ValueError, ["X|dim 3"]),
    "infinity in X": (
        {"X": changed(X, (13, 1), INF)},
        ValueError,
        ["X", "infinity", "column 1", "row 13"],
    ),
    "infinity in a frame": (
        {"X": pd.DataFrame(changed(X, (13, 1), INF), columns=["a", "b", "c"])},
        ValueError,
        ["X", "infinity", "column 'b'", "row 13"],
    ),
    "text in an array": (
        {"X": changed(X, (14, 2), "red")},
        ValueError,
        ["X", "column 2", "row 14", "red"],
    ),
    "complex X": ({"X": X + 1j}, ValueError, ["[Cc]omplex"]),
    "complex sparse X": ({"X": sparse.csr_array(X + 1j)}, ValueError, ["[Cc]omplex", "sparse"]),
    "infinity in sparse X": (
        {"X": sparse.csr_array(changed(X, (15, 1), INF))},
        ValueError,
        ["X", "infinity", "column 1", "row 15"],
    ),
    "short sparse X": ({"X": sparse.csr_array(X[:-1])}, ValueError, ["X has 39 rows", "y has 40"]),
    "y in another order than X": (
        {"X": pd.DataFrame(X).iloc[::-1], "y": pd.Series(TIME)},
        ValueError,
        [r"y\.loc\[X\.index\]", "row 0"],
    ),
    "a frame y in another order than X": (
        {
            "X": pd.DataFrame(X),
            "y": pd.DataFrame({"time": TIME, "event": EVENT}).sample(frac=1.0, random_state=0),
            "event": None,
        },
        ValueError,
        [r"y\.loc\[X\.index\]"],
    ),
    "event in another order than X": (
        {"X": pd.DataFrame(X), "event": pd.Series(EVENT).iloc[::-1]},
        ValueError,
        [r"event\.loc\[X\.index\]"],
    ),
    "weights in another order than y": (
        {"y": pd.Series(TIME), "sample_weight": pd.Series(np.ones(N)).iloc[::-1]},
        ValueError,
        [r"sample_weight\.loc\[y\.index\]"],
    ),
    "dates in X": (
        {"X": pd.DataFrame({"when": pd.date_range("2020", periods=N)})},
        ValueError,
        ["when", "datetime64"],
    ),
    "a lazy frame": (
        {"X": pl.DataFrame({"a": TIME}).lazy()},
        TypeError,
        ["X", "collect"],
    ),
}

# (parameters, exception, words)
PARAMETERS = [
    ({"n_estimators": 0}, ValueError, ["n_estimators", "0"]),
    ({"n_estimators": 2.5}, TypeError, ["n_estimators", "2.5"]),
    ({"n_estimators": True}, TypeError, ["n_estimators", "True"]),
    ({"criterion": "gini"}, ValueError, ["criterion", "gini", "logrank"]),
    ({"criterion": None}, ValueError, ["criterion", "None"]),
    ({"n_thresholds": 0}, ValueError, ["n_thresholds", "0"]),
    ({"n_thresholds": "all"}, TypeError, ["n_thresholds", "all"]),
    ({"max_depth": 0}, ValueError, ["max_depth", "0"]),
    ({"max_depth": 1.5}, TypeError, ["max_depth", "1.5"]),
    ({"min_samples_split": 1}, ValueError, ["min_samples_split", "1"]),
    ({"min_samples_split": 1.5}, ValueError, ["min_samples_split", "1.5"]),
    ({"min_samples_leaf": 0}, ValueError, ["min_samples_leaf", "0"]),
    ({"min_samples_leaf": 0.0}, ValueError, ["min_samples_leaf", "0.0"]),
    ({"min_samples_leaf": "few"}, TypeError, ["min_samples_leaf", "few"]),
    ({"min_samples_leaf": NAN}, ValueError, ["min_samples_leaf", "nan"]),
    ({"max_features": 4}, ValueError, ["max_features", "4", "3"]),
    ({"max_features": 0}, ValueError, ["max_features", "0"]),
    ({"max_features": 1.5}, ValueError, ["max_features", "1.5"]),
    ({"max_features": "auto"}, ValueError, ["max_features", "auto", "sqrt"]),
    ({"bootstrap": "yes"}, ValueError, ["bootstrap", "yes"]),
    ({"bootstrap": 1}, ValueError, ["bootstrap", "1"]),
    ({"max_samples": N + 1}, ValueError, ["max_samples", "41", "40"]),
    ({"max_samples": 0.0}, ValueError, ["max_samples", "0.0"]),
    ({"honest": None}, ValueError, ["honest", "None"]),
    ({"censoring": "interval"}, ValueError, ["censoring", "interval", "left"]),
    ({"censoring_curve": "cox"}, ValueError, ["censoring_curve", "cox", "kernel"]),
    ({"censoring_curve": "knn", "n_neighbors": N + 1}, ValueError, ["n_neighbors", "40", "41"]),
    ({"n_neighbors": N + 1}, ValueError, ["n_neighbors", "40", "41"]),
    ({"n_neighbors": 0}, ValueError, ["n_neighbors", "0"]),
    ({"n_neighbors": 2.0}, TypeError, ["n_neighbors", "2.0"]),
    ({"bandwidth": 0.0}, ValueError, ["bandwidth", "0.0"]),
    ({"bandwidth": -1}, ValueError, ["bandwidth", "-1"]),
    ({"bandwidth": INF}, ValueError, ["bandwidth", "inf"]),
    ({"bandwidth": 10**400}, ValueError, ["bandwidth must be positive and finite"]),
    ({"default_quantiles": 10**400}, ValueError, ["default_quantiles must lie", "inf"]),
    ({"max_samples": Fraction(10**400)}, ValueError, ["max_samples as a fraction"]),
    ({"min_samples_leaf": Fraction(10**400)}, ValueError, ["min_samples_leaf as a fraction"]),
    ({"bandwidth": "scott"}, TypeError, ["bandwidth", "scott"]),
    ({"solver": "newton"}, ValueError, ["solver", "newton", "argmin"]),
    ({"interpolation": "higher"}, ValueError, ["interpolation", "higher", "midpoint"]),
    ({"default_quantiles": 1.0}, ValueError, ["default_quantiles", "1.0"]),
    ({"default_quantiles": []}, ValueError, ["default_quantiles", "empty"]),
    ({"max_bins": 1}, ValueError, ["max_bins", "1"]),
    ({"max_bins": 256}, ValueError, ["max_bins", "256"]),
    ({"categorical_features": [3]}, ValueError, ["categorical_features", "3"]),
    ({"categorical_features": ["a"]}, ValueError, ["categorical_features", "a"]),
    ({"categorical_features": "all"}, ValueError, ["categorical_features", "all"]),
    ({"categorical_features": [True]}, ValueError, ["categorical_features", "mask"]),
    ({"n_jobs": 0}, ValueError, ["n_jobs"]),
    ({"n_jobs": 2**40}, ValueError, ["n_jobs must be at most 1024"]),
    ({"n_jobs": -(2**40)}, ValueError, ["n_jobs must be at least -1024"]),
    ({"n_jobs": 10**400}, ValueError, ["n_jobs must be at most 1024"]),
    ({"n_thresholds": 2**40}, ValueError, ["n_thresholds must be at most 2147483647"]),
    ({"n_estimators": 2**40}, ValueError, ["n_estimators must be at most 2147483647"]),
    ({"max_bins": 2**40}, ValueError, ["max_bins must be at most 255"]),
    ({"max_features": 2**40}, ValueError, ["max_features as a count must lie between 1 and 3"]),
    ({"max_samples": 2**40}, ValueError, ["max_samples as a count must lie between 1 and 40"]),
    ({"n_neighbors": 2**40}, ValueError, ["n_neighbors must not exceed the 40"]),
    ({"ci_group_size": 2**40}, ValueError, ["n_estimators must be a multiple of ci_group_size"]),
    ({"n_jobs": "many"}, (TypeError, ValueError), ["n_jobs", "many"]),
    ({"random_state": "luck"}, ValueError, ["random_state|seed", "luck"]),
    ({"random_state": -1}, ValueError, ["random_state|[Ss]eed"]),
    ({"verbose": -1}, ValueError, ["verbose", "-1"]),
    ({"verbose": "loud"}, TypeError, ["verbose", "loud"]),
    ({"warm_start": "yes"}, ValueError, ["warm_start", "yes"]),
]


def assert_mentions(error, words):
    for word in words:
        assert re.search(word, str(error.value)), f"{word!r} is not in {str(error.value)!r}"


def assert_untouched(forest, before, predicted):
    assert forest.__dict__.keys() == before.keys()
    assert all(forest.__dict__[name] is value for name, value in before.items())
    np.testing.assert_array_equal(forest.predict(X, [0.1, 0.5]), predicted)


@pytest.mark.parametrize("case", DATA)
def test_data(case, no_work):
    arguments, exception, words = DATA[case]
    model = CensoredQuantileForest(n_estimators=5)
    before = dict(model.__dict__)
    with pytest.raises(exception) as error:
        model.fit(**({"X": X, "y": TIME, "event": EVENT} | arguments))
    assert_mentions(error, words)
    assert model.__dict__ == before


@pytest.mark.parametrize(("parameters", "exception", "words"), PARAMETERS, ids=str)
def test_parameters(parameters, exception, words, no_work):
    model = CensoredQuantileForest(**({"n_estimators": 5} | parameters))
    with pytest.raises(exception) as error:
        model.fit(X, TIME, EVENT)
    assert_mentions(error, words)
    assert not hasattr(model, "trees_")


@pytest.mark.parametrize("value", [2**31, 2**40, 2**64, 10**400])
@pytest.mark.parametrize(
    "name", ["max_depth", "min_samples_split", "min_samples_leaf", "time_resolution"]
)
def test_a_limit_beyond_all_numbers_is_none(name, value):
    model = CensoredQuantileForest(3, random_state=0).set_params(**{name: value})
    found = model.fit(X, TIME, EVENT).predict(X)
    # More than there can be of anything.
    model.set_params(**{name: 10**6})
    np.testing.assert_array_equal(found, model.fit(X, TIME, EVENT).predict(X))


def mutated(matrix, **entries):
    """A sparse matrix in whose arrays some entries are changed."""
    for name, (at, value) in entries.items():
        getattr(matrix, name)[at] = value
    return matrix


def replaced(matrix, **arrays):
    for name, array in arrays.items():
        setattr(matrix, name, array)
    return matrix


# Most of them end the process if SciPy converts them.
MALFORMED = {
    "column out of range": (
        mutated(sparse.csr_matrix(X), indices=(3, 10**9)),
        "indices.3. is 1000",
    ),
    "negative column": (mutated(sparse.csr_array(X), indices=(3, -(10**6))), "indices.3. is -1000"),
    "indptr beyond the end": (mutated(sparse.csr_array(X), indptr=(-1, 10**8)), "indptr ends with"),
    "indptr that falls": (
        mutated(sparse.csr_array(X), indptr=(5, 10**8)),
        "indptr falls after .* 5",
    ),
    "indptr that begins late": (
        mutated(sparse.csr_array(X), indptr=(0, 2)),
        "indptr begins with 2",
    ),
    "short indptr": (
        replaced(sparse.csr_matrix(X), indptr=np.array([0, 3], dtype=np.int32)),
        "indptr has 2 entries where the shape .40, 3. asks for 41",
    ),
    "data in a list": (
        replaced(sparse.csr_array(X), data=[1.0] * 120),
        "data must be an array of 1 dimensions",
    ),
    "short data": (replaced(sparse.csr_array(X), data=np.ones(3)), "differ in length: 120 and 3"),
    "indices that are no integers": (
        replaced(sparse.csr_array(X), indices=np.zeros(120)),
        "indices must be a one-dimensional array of integers",
    ),
    "row out of range": (mutated(sparse.csc_array(X), indices=(3, 40)), "indices.3. is 40"),
    "block out of range": (
        mutated(sparse.bsr_array(X, blocksize=(2, 1)), indices=(2, 10**8)),
        "indices.2. is 1000",
    ),
    "blocks of another shape": (
        replaced(sparse.bsr_array(X, blocksize=(2, 1)), data=np.ones((60, 7, 1))),
        "blocks of shape .7, 1. do not fill",
    ),
    "coordinate out of range": (mutated(sparse.coo_matrix(X), row=(2, 10**8)), "row.2. is 1000"),
    "negative coordinate": (mutated(sparse.coo_array(X), col=(2, -7)), "col.2. is -7"),
    "coordinates of another length": (
        replaced(sparse.coo_array(X), data=np.ones(2)),
        "row and data differ in length: 120 and 2",
    ),
    "a list of another length": (
        mutated(sparse.lil_array(X), data=(3, [1.0] * 500)),
        "lists of row 3 differ",
    ),
    "no list": (mutated(sparse.lil_array(X), rows=(3, None)), "lists of row 3 differ"),
    "column in a list out of range": (
        mutated(sparse.lil_array(X), rows=(3, [0, 1, 10**7])),
        r"rows\[3\]\[2\] is 1000",
    ),
    "text in a list": (
        mutated(sparse.lil_array(X), rows=(3, [0, 1, "b"])),
        r"rows\[3\] must be a .* integers",
    ),
    "lists of fewer rows": (
        replaced(sparse.lil_array(X), rows=sparse.lil_array(X).rows[:5]),
        "there must be 40 lists",
    ),
    "more offsets than diagonals": (
        replaced(sparse.dia_array(X), offsets=np.arange(50)),
        "50 offsets of 42 diagonals",
    ),
}


@pytest.mark.parametrize("case", MALFORMED)
def test_malformed_sparse_matrices(case, forest, no_work):
    matrix, words = MALFORMED[case]
    model = CensoredQuantileForest(5)
    for call in (lambda: model.fit(matrix, TIME, EVENT), lambda: forest.predict(matrix)):
        with pytest.raises(ValueError, match=f"X is a malformed sparse matrix .*{words}"):
            call()


def test_malformed_sparse_weights():
    weights = sparse.csc_array(np.ones((3, 4)))
    weights.indices[2] = 10**9
    with pytest.raises(ValueError, match="weights is a malformed sparse matrix of format csc"):
        solve_quantiles(weights, [1.0, 2.0, 3.0, 4.0], [True] * 4, 0.5)


def test_what_a_sparse_matrix_has_concluded_of_itself_is_not_believed(forest):
    matrix = sparse.csc_array(X)
    assert matrix.has_canonical_format
    # Two rows of a column changed places; the second of one is left out.
    matrix.indices[:2] = [1, 0]
    expected = matrix.toarray()
    np.testing.assert_array_equal(forest.predict(matrix), forest.predict(expected))
    matrix.indptr[-1] -= 1
    expected[39, 2] = 0.0
    np.testing.assert_array_equal(forest.predict(matrix), forest.predict(expected))
    assert len(matrix.indices) == 120


# (method, arguments after X, exception, words)
QUESTIONS = [
    ("predict", {"quantiles": 0.0}, ValueError, ["quantiles", "0.0"]),
    ("predict", {"quantiles": 1}, ValueError, ["quantiles", "1"]),
    ("predict", {"quantiles": [0.5, 1.2]}, ValueError, ["quantiles", "1.2", "position 1"]),
    ("predict", {"quantiles": [0.5, NAN]}, ValueError, ["quantiles", "nan", "position 1"]),
    ("predict", {"quantiles": []}, ValueError, ["quantiles", "empty"]),
    ("predict", {"quantiles": [[0.5]]}, ValueError, ["quantiles", r"\(1, 1\)"]),
    ("predict", {"quantiles": "median"}, TypeError, ["quantiles", "median"]),
    ("predict", {"quantiles": True}, TypeError, ["quantiles", "True"]),
    ("predict", {"interpolation": "nearest"}, ValueError, ["interpolation", "nearest"]),
    ("predict", {"unreached": "zero"}, ValueError, ["unreached", "zero"]),
    ("predict", {"conditional_after": NAN}, ValueError, ["conditional_after", "row 0"]),
    (
        "predict",
        {"conditional_after": changed(np.ones(N), 3, INF)},
        ValueError,
        ["conditional_after", "row 3"],
    ),
    ("predict", {"conditional_after": np.ones(3)}, ValueError, ["conditional_after", "3", "40"]),
    ("predict", {"conditional_after": "now"}, (TypeError, ValueError), ["conditional_after"]),
    ("identified", {"quantiles": -0.1}, ValueError, ["quantiles", "-0.1"]),
    ("predict_interval", {"coverage": 1.0}, ValueError, ["coverage", "1.0"]),
    ("predict_interval", {"coverage": 95}, ValueError, ["coverage", "95"]),
    ("predict_interval", {"coverage": 10**400}, ValueError, ["coverage must lie strictly"]),
    ("predict", {"quantiles": [0.5, -(10**400)]}, ValueError, ["quantiles", "-inf at position 1"]),
    ("predict_interval", {"coverage": "most"}, TypeError, ["coverage", "most"]),
    ("predict_interval", {"unreached": "zero"}, ValueError, ["unreached", "zero"]),
    ("predict_survival_function", {"times": [1.0, NAN]}, ValueError, ["times", "position 1"]),
    ("predict_survival_function", {"times": [[1.0]]}, (TypeError, ValueError), ["times"]),
    ("predict_censoring_function", {"times": ["a"]}, TypeError, ["times"]),
    ("predict_cumulative_hazard_function", {"times": INF}, ValueError, ["times"]),
    ("predict_rmst", {"horizon": NAN}, ValueError, ["horizon"]),
    ("predict_rmst", {"horizon": [1.0, 2.0]}, ValueError, ["horizon"]),
    ("predict_rmst", {"horizon": "late"}, TypeError, ["horizon", "late"]),
    ("estimating_function", {"q": NAN, "quantile": 0.5}, ValueError, ["q must be finite"]),
    ("estimating_function", {"q": 1.0, "quantile": 2.0}, ValueError, ["quantile", "2.0"]),
    ("estimating_function", {"q": 1.0, "quantile": [0.5]}, ValueError, ["quantile"]),
    ("score", {"y": changed(TIME, 7, NAN)}, ValueError, ["y", "NaN", "[Rr]ow 7"]),
    ("score", {"y": TIME, "event": EVENT + 1}, ValueError, ["event", "event == 2"]),
    ("score", {"y": TIME}, ValueError, ["times alone", "event"]),
    ("score", {"y": TIME[:-1], "event": EVENT[:-1]}, ValueError, ["X|inconsistent", "39"]),
    ("score", {"y": TIME, "event": EVENT, "horizon": NAN}, ValueError, ["horizon"]),
    ("score", {"y": TIME, "event": EVENT, "horizon": 10**400}, ValueError, ["horizon must be fin"]),
    ("score", {"y": TIME, "event": EVENT, "horizon": "late"}, ValueError, ["horizon", "late"]),
    ("predict_risk", {"horizon": INF}, ValueError, ["horizon"]),
    ("predict_risk", {"horizon": True}, TypeError, ["horizon"]),
    (
        "score",
        {"y": TIME, "sample_weight": np.ones(3)},
        ValueError,
        ["sample_weight", "3", "40"],
    ),
]


@pytest.mark.parametrize(("method", "arguments", "exception", "words"), QUESTIONS, ids=str)
def test_questions(forest, method, arguments, exception, words):
    with pytest.raises(exception) as error:
        getattr(forest, method)(X, **arguments)
    assert_mentions(error, words)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [({"quantiles": 1.5}, ["quantiles", "1.5"]), ({"unreached": "x"}, ["unreached", "x"])],
)
def test_questions_out_of_bag(arguments, words):
    model = CensoredQuantileForest(n_estimators=5, bootstrap=True).fit(X, TIME, EVENT)
    with pytest.raises(ValueError) as error:
        model.oob_predict(**arguments)
    assert_mentions(error, words)


@pytest.mark.parametrize("method", ["score", "calibrate", "report"])
def test_outcomes_in_another_order_than_rows(forest, method):
    with pytest.raises(ValueError, match="y and X have row labels in another order"):
        getattr(forest, method)(pd.DataFrame(X).iloc[::-1], pd.Series(TIME), pd.Series(EVENT))


ASKED_WITH_X = [
    ("predict", ()),
    ("predict_interval", ()),
    ("predict_survival_function", ()),
    ("predict_censoring_function", ()),
    ("predict_cumulative_hazard_function", ()),
    ("predict_rmst", (1.0,)),
    ("identified", ()),
    ("forest_weights", ()),
    ("estimating_function", (1.0, 0.5)),
    ("apply", ()),
    ("score", (TIME, EVENT)),
]


@pytest.mark.parametrize(("method", "rest"), ASKED_WITH_X, ids=lambda value: str(value)[:30])
class TestEveryMethod:
    def test_unfitted(self, method, rest):
        with pytest.raises(NotFittedError, match="CensoredQuantileForest"):
            getattr(CensoredQuantileForest(), method)(X, *rest)

    def test_wrong_number_of_columns(self, forest, method, rest):
        for columns in (X[:, :2], np.column_stack([X, X])):
            with pytest.raises(ValueError, match=r"X has . features.*expecting 3 features"):
                getattr(forest, method)(columns, *rest)

    def test_wrong_names(self, method, rest):
        frame = pd.DataFrame(X, columns=["a", "b", "c"])
        model = CensoredQuantileForest(n_estimators=5).fit(frame, TIME, EVENT)
        with pytest.raises(ValueError, match=r"(?s)feature names.*x"):
            getattr(model, method)(frame.rename(columns={"b": "x"}), *rest)

    def test_infinity(self, forest, method, rest):
        with pytest.raises(ValueError, match="column 2, row 5"):
            getattr(forest, method)(changed(X, (5, 2), INF), *rest)

    def test_no_rows(self, forest, method, rest):
        with pytest.raises(ValueError, match="0 sample"):
            getattr(forest, method)(X[:0], *rest)

    def test_one_dimension(self, forest, method, rest):
        with pytest.raises(ValueError, match="2D array"):
            getattr(forest, method)(X[0], *rest)


def test_unfitted_out_of_bag():
    with pytest.raises(NotFittedError):
        CensoredQuantileForest(bootstrap=True).oob_predict()


def test_text_where_numbers_were(forest):
    with pytest.raises(ValueError, match=r"column 1.*row 6.*blue"):
        forest.predict(changed(X, (6, 1), "blue"))


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"censoring_curve": "kernel"}, ["kernel", "before fit"]),
        ({"censoring_curve": "cox"}, ["censoring_curve", "cox"]),
        ({"solver": "newton"}, ["solver", "newton"]),
        ({"interpolation": "higher"}, ["interpolation", "higher"]),
        ({"censoring_curve": "knn", "n_neighbors": N + 1}, ["n_neighbors", "41"]),
        ({"default_quantiles": 0.0}, ["default_quantiles", "0.0"]),
    ],
    ids=str,
)
def test_parameters_set_after_fit(parameters, words):
    model = CensoredQuantileForest(n_estimators=5).fit(X, TIME, EVENT).set_params(**parameters)
    for method in ("predict", "identified"):
        with pytest.raises(ValueError) as error:
            getattr(model, method)(X)
        assert_mentions(error, words)


class TestNothingIsLost:
    """A fit that fails leaves the estimator as it was."""

    @staticmethod
    def fitted(**parameters):
        model = CensoredQuantileForest(
            n_estimators=5, min_samples_leaf=3, random_state=0, **parameters
        ).fit(X, TIME, EVENT)
        return model, dict(model.__dict__), model.predict(X, [0.1, 0.5])

    @pytest.mark.parametrize("case", DATA)
    def test_bad_data(self, case):
        model, before, predicted = self.fitted()
        arguments, exception, _ = DATA[case]
        with pytest.raises(exception):
            model.fit(**({"X": X, "y": TIME, "event": EVENT} | arguments))
        assert_untouched(model, before, predicted)

    def test_names_of_a_failed_fit_are_forgotten(self):
        model, before, predicted = self.fitted()
        frame = pd.DataFrame(X[:, :2], columns=["a", "b"])
        with pytest.raises(ValueError, match="never True"):
            model.fit(frame, TIME, np.zeros(N, dtype=bool))
        assert model.n_features_in_ == 3
        assert_untouched(model, before, predicted)

    @pytest.mark.parametrize("warm_start", [False, True])
    def test_interrupt_while_growing(self, monkeypatch, warm_start):
        model, before, predicted = self.fitted(warm_start=warm_start)
        # With a bar there are several batches.
        model.set_params(n_estimators=50, verbose=1)
        before = dict(model.__dict__)
        seen = []

        def interrupted(self, done):
            seen.append(done)
            if done > 5:
                raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr("cqrf.growing.grow.ProgressBar.update", interrupted)
            with pytest.raises(KeyboardInterrupt):
                model.fit(X, TIME, EVENT)
        assert 5 < seen[-1] < 50
        assert_untouched(model, before, predicted)
        assert len(model.trees_) == 5
        # And it can be fitted again as if nothing had happened.
        model.fit(X, TIME, EVENT)
        fresh = CensoredQuantileForest(n_estimators=50, min_samples_leaf=3, random_state=0)
        np.testing.assert_array_equal(model.predict(X), fresh.fit(X, TIME, EVENT).predict(X))

    def test_interrupt_of_a_first_fit(self, monkeypatch):
        def interrupted(self, done):
            raise KeyboardInterrupt

        model = CensoredQuantileForest(n_estimators=50)
        before = dict(model.__dict__)
        monkeypatch.setattr("cqrf.growing.grow.ProgressBar.update", interrupted)
        with pytest.raises(KeyboardInterrupt):
            model.fit(X, TIME, EVENT)
        assert model.__dict__ == before

    def test_memory_error_while_growing(self, monkeypatch):
        model, before, predicted = self.fitted()

        def fails(*_, **__):
            raise MemoryError

        monkeypatch.setattr("cqrf.forest.grow_trees", fails)
        with pytest.raises(MemoryError):
            model.fit(X, TIME, EVENT)
        assert_untouched(model, before, predicted)

    def test_refused_questions_change_nothing(self):
        model, before, predicted = self.fitted()
        for method, arguments, exception, _ in QUESTIONS:
            with pytest.raises(exception):
                getattr(model, method)(X, **arguments)
        assert_untouched(model, before, predicted)
