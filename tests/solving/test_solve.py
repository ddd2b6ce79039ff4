"""The public functions from weights to answers, against the slow twins."""

import itertools

import numpy as np
import pandas as pd
import pytest
import twins
from scipy import sparse

import cqrf

# Relative to the largest time; an interpolated answer divides by a step of the curve, so the
# cases below keep single weights well above rounding.
ACCURACY = 1e-12
LEVELS = [0.9, 0.05, 0.5, 1 / 3, 0.75]
CURVES = ["beran", "knn", "marginal"]
RULES = [("root", "midpoint"), ("root", "lower"), ("root", "linear"), ("argmin", "midpoint")]
UNREACHED = ["clip", "nan", "inf"]


def draw(seed, n=24, m=3, censored=0.4, zeros=0.2, n_times=None):
    """Random (time, event, weights): with `n_times` the times are tied whole numbers."""
    rng = np.random.default_rng(seed)
    time = rng.gamma(2.0, 1.0, n) if n_times is None else rng.integers(1, n_times + 1, n) * 1.0
    event = rng.random(n) >= censored
    event[rng.integers(n)] = True
    weights = rng.uniform(0.1, 1.0, (m, n)) * (rng.random((m, n)) >= zeros)
    weights[np.arange(m), rng.integers(n, size=m)] += 0.5
    return time, event, weights


def largest_time_censored():
    time, event, weights = draw(3)
    event[time.argmax()] = False
    weights[:, time.argmax()] = 0.4
    return time, event, weights


def largest_time_tied():
    # An event and a censoring share the largest time: G is zero there and S is not.
    time, event, weights = draw(4)
    last, other = time.argmax(), time.argmin()
    time[other] = time[last]
    event[[last, other]] = True, False
    weights[:, [last, other]] = 0.4
    return time, event, weights


def one_row_has_all_the_weight():
    time, event, _ = draw(5, n=12)
    event[3], event[7] = True, False
    weights = np.zeros((2, 12))
    weights[0, 3] = weights[1, 7] = 0.25
    return time, event, weights


def one_leaf():
    time, event, _ = draw(6)
    return time, event, np.full((2, len(time)), 1 / len(time))


def one_leaf_with_ties():
    time, event, _ = draw(7, n_times=6)
    return time, event, np.ones((1, len(time)))


def duplicated_rows():
    time, event, weights = draw(8, n=8)
    return np.repeat(time, 3), np.repeat(event, 3), np.repeat(weights, 3, axis=1)


def whole_number_weights():
    # Exact levels: S meets 1 - tau up to rounding, which must not move the answer.
    time, event, weights = draw(9, n=16, censored=0.2, n_times=10)
    return time, event, np.ceil(3 * weights)


def quarters():
    # All events and S = 3/4, 1/2, 1/4, 0 from weights that are no binary fractions.
    return np.array([3.0, 1.0, 4.0, 2.0]), np.ones(4, dtype=bool), np.full((1, 4), 0.1)


def scaled(factor, shift=0.0):
    time, event, weights = draw(10)
    return (time + shift) * factor, event, weights


def only_censored_rows_have_weight():
    time, event, weights = draw(11)
    weights[0, event] = 0
    weights[0, ~event] = 1
    return time, event, weights


CASES = {
    "plain": lambda: draw(0),
    "ties": lambda: draw(1, n_times=6),
    "heavy_censoring": lambda: draw(2, n=40, censored=0.9),
    "heavy_censoring_ties": lambda: draw(12, n=40, censored=0.9, n_times=9),
    "all_events": lambda: draw(13, censored=0.0),
    "all_events_ties": lambda: draw(14, censored=0.0, n_times=7),
    "zero_weights": lambda: draw(15, n=40, zeros=0.8),
    "largest_time_censored": largest_time_censored,
    "largest_time_tied": largest_time_tied,
    "one_row": one_row_has_all_the_weight,
    "one_leaf": one_leaf,
    "one_leaf_with_ties": one_leaf_with_ties,
    "duplicated_rows": duplicated_rows,
    "whole_number_weights": whole_number_weights,
    "quarters": quarters,
    "only_censored": only_censored_rows_have_weight,
    "negative_times": lambda: scaled(-1.0),
    "times_around_zero": lambda: scaled(1.0, shift=-2.0),
    "tiny_times": lambda: scaled(1e-12),
    "huge_times": lambda: scaled(1e12),
    "single_row": lambda: (np.array([2.0]), np.array([True]), np.array([[3.0]])),
}


def neighbours(curve, n):
    """The arguments that the nearest-neighbour curve needs, for the function and the twin."""
    k = max(1, n // 3)
    return ({"n_neighbors": k}, {"k": k}) if curve == "knn" else ({}, {})


def twin_quantiles(time, event, weights, levels, **options):
    return np.array(
        [[twins.solve_quantile(time, event, row, q, **options) for q in levels] for row in weights]
    )


def assert_times_equal(actual, expected, time, message=""):
    atol = ACCURACY * np.abs(time).max()
    np.testing.assert_allclose(actual, expected, rtol=0, atol=atol, err_msg=message)


@pytest.mark.parametrize("censoring", ["right", "left"])
@pytest.mark.parametrize("curve", CURVES)
@pytest.mark.parametrize("case", CASES)
def test_quantiles_equal_the_twin(case, curve, censoring):
    time, event, weights = CASES[case]()
    options, twin_options = neighbours(curve, len(time))
    for (solver, interpolation), unreached in itertools.product(RULES, UNREACHED):
        common = {
            "solver": solver,
            "interpolation": interpolation,
            "unreached": unreached,
            "censoring": censoring,
        }
        answer = cqrf.solve_quantiles(
            weights, time, event, LEVELS, censoring_curve=curve, **options, **common
        )
        expected = twin_quantiles(
            time, event, weights, LEVELS, curve=curve, **twin_options, **common
        )
        assert_times_equal(answer, expected, time, str(common))


@pytest.mark.parametrize("interpolation", ["midpoint", "lower", "linear"])
@pytest.mark.parametrize("curve", CURVES)
@pytest.mark.parametrize(
    "case",
    ["plain", "ties", "heavy_censoring", "largest_time_censored", "one_row", "only_censored"],
)
def test_conditional_quantiles_equal_the_twin(case, curve, interpolation):
    time, event, weights = CASES[case]()
    options, twin_options = neighbours(curve, len(time))
    events = np.sort(time[event])
    after = [time.min() - 1, time.min(), events[0], events[len(events) // 2], np.median(time)]
    after += [events[-1], time.max(), time.max() + 1]
    for s, unreached in itertools.product(after, UNREACHED):
        common = {"interpolation": interpolation, "unreached": unreached, "conditional_after": s}
        answer = cqrf.solve_quantiles(
            weights, time, event, LEVELS, censoring_curve=curve, **options, **common
        )
        expected = twin_quantiles(
            time, event, weights, LEVELS, curve=curve, **twin_options, **common
        )
        assert_times_equal(answer, expected, time, str(common))


@pytest.mark.parametrize("interpolation", ["midpoint", "lower", "linear"])
@pytest.mark.parametrize("curve", CURVES)
@pytest.mark.parametrize("case", ["plain", "ties", "all_events"])
def test_conditional_quantiles_of_left_censored_times_equal_the_twin(case, curve, interpolation):
    time, event, weights = CASES[case]()
    options, twin_options = neighbours(curve, len(time))
    t = np.unique(time)
    # At the times, between them, and beyond the smallest and the largest.
    after = [t[0] - 1, *t[::4], *(t[1:] + t[:-1])[::4] / 2, t[-1] + 1]
    for s, unreached in itertools.product(after, UNREACHED):
        common = {
            "censoring": "left",
            "interpolation": interpolation,
            "unreached": unreached,
            "conditional_after": s,
        }
        answer = cqrf.solve_quantiles(
            weights, time, event, LEVELS, censoring_curve=curve, **options, **common
        )
        expected = twin_quantiles(
            time, event, weights, LEVELS, curve=curve, **twin_options, **common
        )
        assert_times_equal(answer, expected, time, str(common))


def test_a_condition_for_every_row():
    time, event, weights = CASES["plain"]()
    after = np.quantile(time, [0.1, 0.4, 0.7])
    answer = cqrf.solve_quantiles(weights, time, event, LEVELS, conditional_after=after)
    for i, s in enumerate(after):
        alone = cqrf.solve_quantiles(weights[[i]], time, event, LEVELS, conditional_after=s)
        np.testing.assert_array_equal(answer[[i]], alone)
    with pytest.raises(ValueError, match="conditional_after"):
        cqrf.solve_quantiles(weights, time, event, LEVELS, conditional_after=after[:2])


@pytest.mark.parametrize("curve", CURVES)
def test_conditional_argmin_equals_the_twin(curve):
    time, event, weights = CASES["plain"]()
    options, twin_options = neighbours(curve, len(time))
    for s in (time.min() - 1, np.median(time), np.median(time[event]), time.max() + 1):
        common = {"solver": "argmin", "interpolation": "lower", "conditional_after": s}
        answer = cqrf.solve_quantiles(
            weights, time, event, LEVELS, censoring_curve=curve, **options, **common
        )
        expected = twin_quantiles(
            time, event, weights, LEVELS, curve=curve, **twin_options, **common
        )
        assert_times_equal(answer, expected, time, str(common))


@pytest.mark.parametrize("censoring", ["right", "left"])
@pytest.mark.parametrize("curve", CURVES)
@pytest.mark.parametrize("case", CASES)
def test_survival_curves_equal_the_twin(case, curve, censoring):
    time, event, weights = CASES[case]()
    options, twin_options = neighbours(curve, len(time))
    curves = cqrf.survival_curves(
        weights, time, event, censoring=censoring, censoring_curve=curve, **options
    )
    assert isinstance(curves, np.ndarray)
    assert curves.shape == (len(weights),)
    assert curves.dtype == object
    t = np.unique(time)
    # At the times, just before and just after each of them, and beyond both ends.
    grid = np.concatenate([t, np.nextafter(t, -np.inf), np.nextafter(t, np.inf)])
    grid = np.concatenate([grid, t[[0]] - 1, t[[-1]] + 1])
    for row, survival in zip(weights, curves, strict=True):
        twin = twins.survival_curve(
            time, event, row, curve=curve, censoring=censoring, **twin_options
        )
        np.testing.assert_allclose(survival(grid), twin(grid), rtol=0, atol=1e-12)


@pytest.mark.parametrize("censoring", ["right", "left"])
def test_a_curve_is_a_right_continuous_step_function(censoring):
    time, event, weights = CASES["ties"]()
    for row, survival in zip(
        weights, cqrf.survival_curves(weights, time, event, censoring=censoring), strict=True
    ):
        assert survival.x.shape == survival.y.shape
        assert (np.diff(survival.x) > 0).all()
        assert np.isin(survival.x, time[row > 0]).all()
        np.testing.assert_array_equal(survival(survival.x), survival.y)
        before = np.concatenate([[survival.initial], survival.y[:-1]])
        np.testing.assert_array_equal(survival(np.nextafter(survival.x, -np.inf)), before)
        assert survival(survival.x[0] - 1) == survival.initial
        assert survival(survival.x[-1] + 1) == survival.y[-1]
        grid = np.full((2, 3), survival.x[0])
        np.testing.assert_array_equal(survival(grid), np.full((2, 3), survival.y[0]))


def test_many_rows_equal_the_twin():
    # Enough rows and columns for more than one block of work.
    rng = np.random.default_rng(16)
    n, m, n_trees = 300, 500, 20
    time = rng.exponential(size=n)
    event = rng.random(n) < 0.6
    train = rng.integers(0, 12, (n, n_trees))
    test = rng.integers(0, 12, (m, n_trees))
    weights = cqrf.leaf_weights(train, test)
    rows = rng.choice(m, 8, replace=False)
    for curve in CURVES:
        options, twin_options = neighbours(curve, n)
        answer = cqrf.solve_quantiles(
            weights, time, event, LEVELS, censoring_curve=curve, **options
        )
        # The twin reads the weights that the function read: neighbours are chosen among ties.
        dense = weights.toarray()[rows]
        expected = twin_quantiles(time, event, dense, LEVELS, curve=curve, **twin_options)
        np.testing.assert_allclose(answer[rows], expected, rtol=0, atol=1e-11)


def test_a_scalar_level_gives_one_dimension_and_levels_keep_their_order():
    time, event, weights = CASES["plain"]()
    levels = [0.9, 0.1, 0.5, 0.1]
    table = cqrf.solve_quantiles(weights, time, event, levels)
    assert table.shape == (len(weights), 4)
    for j, level in enumerate(levels):
        column = cqrf.solve_quantiles(weights, time, event, level)
        assert column.shape == (len(weights),)
        np.testing.assert_array_equal(column, table[:, j])
    np.testing.assert_array_equal(
        cqrf.solve_quantiles(weights, time, event, np.array(levels)), table
    )
    assert cqrf.solve_quantiles(weights, time, event, [0.5]).shape == (len(weights), 1)


def test_the_defaults_are_those_of_the_design():
    time, event, weights = CASES["largest_time_censored"]()
    stated = cqrf.solve_quantiles(
        weights,
        time,
        event,
        LEVELS,
        censoring="right",
        censoring_curve="beran",
        solver="root",
        interpolation="midpoint",
        unreached="clip",
        conditional_after=None,
    )
    np.testing.assert_array_equal(cqrf.solve_quantiles(weights, time, event, LEVELS), stated)
    expected = twin_quantiles(time, event, weights, LEVELS)
    assert_times_equal(stated, expected, time)


def sparse_forms(weights):
    """The same weights as CSR in every legal disorder."""
    plain = sparse.csr_matrix(weights)
    yield "csr_matrix", plain
    yield "csr_array", sparse.csr_array(weights)
    wide = sparse.csr_matrix(weights)
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    yield "int64", wide
    backwards = [np.arange(a, b)[::-1] for a, b in itertools.pairwise(plain.indptr)]
    order = np.concatenate(backwards)
    yield (
        "unsorted",
        sparse.csr_matrix((plain.data[order], plain.indices[order], plain.indptr), plain.shape),
    )
    # Halves add up exactly.
    twice = np.concatenate([np.tile(rows, 2) for rows in backwards])
    yield (
        "duplicates",
        sparse.csr_matrix(
            (plain.data[twice] / 2, plain.indices[twice], 2 * plain.indptr), plain.shape
        ),
    )
    rows, columns = np.indices(weights.shape)
    yield (
        "explicit_zeros",
        sparse.csr_matrix(
            (weights.ravel(), columns.ravel(), np.append(rows[:, 0], len(rows)) * weights.shape[1]),
            weights.shape,
        ),
    )


@pytest.mark.parametrize("curve", CURVES)
@pytest.mark.parametrize("form", [name for name, _ in sparse_forms(np.eye(2))])
def test_sparse_weights_equal_dense_ones(form, curve):
    time, event, dense = CASES["zero_weights"]()
    weights = dict(sparse_forms(dense))[form]
    options, _ = neighbours(curve, len(time))
    options["censoring_curve"] = curve
    np.testing.assert_array_equal(weights.toarray(), dense)
    parts = [part.copy() for part in (weights.data, weights.indices, weights.indptr)]
    np.testing.assert_array_equal(
        cqrf.solve_quantiles(weights, time, event, LEVELS, **options),
        cqrf.solve_quantiles(dense, time, event, LEVELS, **options),
    )
    for ours, theirs in zip(
        cqrf.survival_curves(weights, time, event, **options),
        cqrf.survival_curves(dense, time, event, **options),
        strict=True,
    ):
        np.testing.assert_array_equal(ours(np.sort(time)), theirs(np.sort(time)))
    # The caller's matrix is left in the order it came in.
    for before, after in zip(parts, (weights.data, weights.indices, weights.indptr), strict=True):
        np.testing.assert_array_equal(before, after)


def test_input_of_any_layout_and_type():
    time, event, weights = CASES["whole_number_weights"]()
    expected = cqrf.solve_quantiles(weights, time, event, LEVELS)

    def every_other(array):
        return np.repeat(array, 2, axis=-1)[..., ::2]

    def read_only(array):
        array = array.copy()
        array.flags.writeable = False
        return array

    for form in (every_other, read_only, np.asfortranarray):
        answer = cqrf.solve_quantiles(form(weights), form(time), form(event), LEVELS)
        np.testing.assert_array_equal(answer, expected)
    for dtype in (np.int64, np.int32, np.float32):
        answer = cqrf.solve_quantiles(
            weights.astype(dtype), time.astype(dtype), event.astype(int), LEVELS
        )
        np.testing.assert_array_equal(answer, expected)
    answer = cqrf.solve_quantiles(weights.tolist(), time.tolist(), event.tolist(), LEVELS)
    np.testing.assert_array_equal(answer, expected)


def test_rows_need_not_be_normalised():
    time, event, weights = CASES["plain"]()
    factors = np.array([[1e-8], [7.0], [1e8]])
    assert_times_equal(
        cqrf.solve_quantiles(weights * factors, time, event, LEVELS),
        cqrf.solve_quantiles(weights, time, event, LEVELS),
        time,
    )


def test_neighbours_are_chosen_by_weight_then_by_row():
    # Equal weights: the first two rows are the neighbours, and the only candidates.
    time = np.array([5.0, 7.0, 1.0, 9.0])
    event = np.ones(4, dtype=bool)
    options = {"censoring_curve": "knn", "n_neighbors": 2, "interpolation": "lower"}
    answer = cqrf.solve_quantiles(np.ones((1, 4)), time, event, [0.1, 0.6, 0.9], **options)
    # P is over all rows: 1/2 at 5, 1/4 at 7; the last is not identified among the candidates.
    np.testing.assert_array_equal(answer, [[5.0, 7.0, 7.0]])
    answer = cqrf.solve_quantiles(
        np.ones((1, 4)), time, event, [0.1, 0.6, 0.9], unreached="nan", **options
    )
    np.testing.assert_array_equal(answer, [[5.0, 7.0, np.nan]])
    # More neighbours than rows with weight: only those with weight count.
    answer = cqrf.solve_quantiles(
        np.array([[0.0, 1.0, 0.0, 1.0]]),
        time,
        event,
        0.5,
        censoring_curve="knn",
        n_neighbors=4,
        interpolation="lower",
    )
    np.testing.assert_array_equal(answer, [7.0])


@pytest.mark.parametrize("interpolation", ["midpoint", "lower", "linear"])
def test_rounding_of_a_flat_curve_is_no_jump(interpolation):
    # With equal weights P / G is S: constant at censored times but for rounding.
    for seed in range(20, 40):
        time, event, _ = draw(seed)
        weights = np.full((1, len(time)), 1 / len(time))
        answers = [
            cqrf.solve_quantiles(
                weights, time, event, LEVELS, interpolation=interpolation, **options
            )
            for options in (
                {"censoring_curve": "beran"},
                {"censoring_curve": "marginal"},
                {"censoring_curve": "knn", "n_neighbors": len(time)},
            )
        ]
        assert_times_equal(answers[1], answers[0], time)
        assert_times_equal(answers[2], answers[0], time)


def good():
    """Arguments that work; each test of bad input spoils one of them."""
    time, event, weights = CASES["plain"]()
    return {"weights": weights, "time": time, "event": event, "quantiles": [0.5]}


def spoiled(name, index, value):
    arguments = good()
    arguments[name] = arguments[name].astype(float)
    arguments[name][index] = value
    return arguments


BAD_INPUT = {
    "negative_weight": (spoiled("weights", (1, 2), -0.1), r"weights"),
    "nan_weight": (spoiled("weights", (1, 2), np.nan), r"weights"),
    "infinite_weight": (spoiled("weights", (1, 2), np.inf), r"weights"),
    "row_of_zeros": (spoiled("weights", (2, slice(None)), 0.0), r"(?s)weights.*row.*\b2\b"),
    "wrong_columns": (good() | {"weights": good()["weights"][:, :-1]}, r"weights"),
    "one_dimensional_weights": (good() | {"weights": good()["weights"][0]}, r"weights"),
    "quantile_zero": (good() | {"quantiles": 0.0}, r"quantile"),
    "quantile_one": (good() | {"quantiles": [0.5, 1.0]}, r"quantile"),
    "quantile_negative": (good() | {"quantiles": [-0.1]}, r"quantile"),
    "quantile_nan": (good() | {"quantiles": [np.nan]}, r"quantile"),
    "quantile_percent": (good() | {"quantiles": 50}, r"quantile"),
    "no_quantiles": (good() | {"quantiles": []}, r"quantile"),
    "censoring": (good() | {"censoring": "both"}, r"\bcensoring\b"),
    "censoring_curve": (good() | {"censoring_curve": "cox"}, r"censoring_curve"),
    "solver": (good() | {"solver": "newton"}, r"solver"),
    "interpolation": (good() | {"interpolation": "higher"}, r"interpolation"),
    "unreached": (good() | {"unreached": "raise"}, r"unreached"),
    "too_many_neighbours": (
        good() | {"censoring_curve": "knn", "n_neighbors": 25},
        r"n_neighbors",
    ),
    "no_neighbours": (good() | {"censoring_curve": "knn", "n_neighbors": 0}, r"n_neighbors"),
    "short_event": (good() | {"event": good()["event"][:-1]}, r"event"),
    "short_time": (good() | {"time": good()["time"][:-1]}, r"time"),
    "no_event": (good() | {"event": np.zeros(24, dtype=bool)}, r"event"),
    "codes_1_and_2": (good() | {"event": good()["event"] + 1}, r"event"),
    "nan_event": (spoiled("event", 4, np.nan), r"event"),
    "nan_time": (spoiled("time", 4, np.nan), r"(?s)time.*\b4\b"),
    "infinite_time": (spoiled("time", 4, np.inf), r"(?s)time.*\b4\b"),
    "other_order": (
        good()
        | {name: pd.Series(good()[name])[::step] for name, step in (("time", 1), ("event", -1))},
        r"event and time have row labels in another order",
    ),
    "nan_conditional_after": (good() | {"conditional_after": np.nan}, r"conditional_after"),
}


@pytest.mark.parametrize("name", BAD_INPUT)
def test_bad_input_is_refused_by_name(name):
    arguments, message = BAD_INPUT[name]
    with pytest.raises(ValueError, match=message):
        cqrf.solve_quantiles(**arguments)


def test_weights_of_other_shapes_and_types():
    with pytest.raises(TypeError, match="weights must be numbers"):
        cqrf.solve_quantiles([["a"]], [1.0], [True], 0.5)
    with pytest.raises(ValueError, match="two dimensions"):
        cqrf.solve_quantiles([1.0], [1.0], [True], 0.5)


OF_QUANTILES = {"quantiles", "solver", "interpolation", "unreached", "conditional_after"}


@pytest.mark.parametrize(
    "name",
    [
        name
        for name, (bad, _) in BAD_INPUT.items()
        if not (set(bad) - set(good())) & OF_QUANTILES and "quantile" not in name
    ],
)
def test_bad_input_is_refused_by_name_for_curves(name):
    arguments, message = BAD_INPUT[name]
    arguments = {key: value for key, value in arguments.items() if key != "quantiles"}
    with pytest.raises(ValueError, match=message):
        cqrf.survival_curves(**arguments)


@pytest.mark.parametrize("value", [-0.1, np.nan])
def test_bad_sparse_weights_are_refused(value):
    arguments = good()
    weights = sparse.csr_matrix(arguments["weights"])
    weights.data[5] = value
    with pytest.raises(ValueError, match="weights"):
        cqrf.solve_quantiles(**(arguments | {"weights": weights}))


def test_a_sparse_row_of_zeros_is_refused():
    arguments = good()
    dense = arguments["weights"].copy()
    dense[1] = 0
    for weights in dict(sparse_forms(dense)).values():
        with pytest.raises(ValueError, match=r"(?s)weights.*row.*\b1\b"):
            cqrf.solve_quantiles(**(arguments | {"weights": weights}))


@pytest.mark.parametrize("with_sample_weight", [False, True])
@pytest.mark.parametrize("dtype", [np.int64, np.int32])
def test_leaf_weights_equal_the_twin(dtype, with_sample_weight):
    rng = np.random.default_rng(17)
    n, m, n_trees = 40, 15, 7
    # Leaf numbers are only names: they differ in range from tree to tree.
    names = rng.integers(-1000, 1_000_000, n_trees)
    train = (rng.integers(0, 5, (n, n_trees)) + names).astype(dtype)
    test = (rng.integers(0, 5, (m, n_trees)) + names).astype(dtype)
    sample_weight = rng.uniform(0.5, 3.0, n) if with_sample_weight else None
    weights = cqrf.leaf_weights(train, test, sample_weight)
    assert sparse.issparse(weights)
    assert weights.format == "csr"
    assert weights.shape == (m, n)
    assert weights.dtype == np.float64
    assert weights.has_canonical_format
    expected = twins.leaf_weights(train, test, sample_weight)
    np.testing.assert_allclose(weights.toarray(), expected, rtol=0, atol=1e-14)
    np.testing.assert_allclose(weights.sum(axis=1), 1, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(weights.toarray() > 0, expected > 0)


def test_a_tree_without_training_weight_in_the_leaf_does_not_count():
    train = np.array([[0, 0], [0, 1], [1, 1]])
    test = np.array([[0, 7], [1, 1], [5, 5]])
    weights = cqrf.leaf_weights(train, test)
    np.testing.assert_allclose(
        weights.toarray(), [[1 / 2, 1 / 2, 0], [0, 1 / 4, 3 / 4], [0, 0, 0]], rtol=0, atol=1e-15
    )
    sample_weight = np.array([1.0, 1.0, 0.0])
    weights = cqrf.leaf_weights(train, test, sample_weight)
    np.testing.assert_allclose(
        weights.toarray(), [[1 / 2, 1 / 2, 0], [0, 1, 0], [0, 0, 0]], rtol=0, atol=1e-15
    )
    np.testing.assert_allclose(
        weights.toarray(), twins.leaf_weights(train, test, sample_weight), rtol=0, atol=1e-15
    )


def test_whole_number_sample_weights_are_copies_of_rows():
    rng = np.random.default_rng(18)
    train, test = rng.integers(0, 3, (20, 5)), rng.integers(0, 3, (6, 5))
    counts = rng.integers(1, 4, 20)
    copies = np.repeat(np.arange(20), counts)
    copied = cqrf.leaf_weights(train[copies], test).toarray()
    expected = np.zeros((6, 20))
    np.add.at(expected, (slice(None), copies), copied)
    weights = cqrf.leaf_weights(train, test, counts).toarray()
    np.testing.assert_allclose(weights, expected, rtol=0, atol=1e-14)


def test_bad_leaves_are_refused_by_name():
    train, test = np.zeros((5, 3), dtype=int), np.zeros((2, 3), dtype=int)
    with pytest.raises(ValueError, match="test_leaves"):
        cqrf.leaf_weights(train, test[:, :2])
    with pytest.raises(ValueError, match="train_leaves"):
        cqrf.leaf_weights(train[:, 0], test)
    with pytest.raises(ValueError, match="sample_weight"):
        cqrf.leaf_weights(train, test, np.ones(4))
    with pytest.raises(ValueError, match="sample_weight"):
        cqrf.leaf_weights(train, test, np.array([1, 1, 1, 1, -1.0]))


def regression_data():
    rng = np.random.default_rng(19)
    X = rng.uniform(size=(150, 3))
    life = np.exp(X[:, 0] + 0.3 * rng.normal(size=150))
    limit = rng.exponential(6.0, 150)
    return X, np.minimum(life, limit), life <= limit, rng.uniform(size=(10, 3))


def check_forest(train, test, time, event):
    weights = cqrf.leaf_weights(train, test)
    dense = twins.leaf_weights(train, test)
    np.testing.assert_allclose(weights.toarray(), dense, rtol=0, atol=1e-14)
    for solver, interpolation in RULES:
        options = {"solver": solver, "interpolation": interpolation}
        answer = cqrf.solve_quantiles(weights, time, event, [0.25, 0.5, 0.75], **options)
        expected = twin_quantiles(time, event, dense, [0.25, 0.5, 0.75], **options)
        assert_times_equal(answer, expected, time)


def test_leaves_of_scikit_learn():
    from sklearn.ensemble import RandomForestRegressor

    X, time, event, X_test = regression_data()
    forest = RandomForestRegressor(20, min_samples_leaf=8, random_state=0).fit(X, time)
    check_forest(forest.apply(X), forest.apply(X_test), time, event)


def test_leaves_of_lightgbm():
    lightgbm = pytest.importorskip("lightgbm")
    X, time, event, X_test = regression_data()
    parameters = {
        "boosting": "rf",
        "bagging_freq": 1,
        "bagging_fraction": 0.6,
        "min_data_in_leaf": 10,
        "verbose": -1,
        "num_threads": 1,
    }
    forest = lightgbm.train(parameters, lightgbm.Dataset(X, time), num_boost_round=15)
    train, test = forest.predict(X, pred_leaf=True), forest.predict(X_test, pred_leaf=True)
    check_forest(train, test, time, event)
