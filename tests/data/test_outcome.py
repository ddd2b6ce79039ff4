"""Outcomes in every form, bad outcomes, rank order, and the marginal curves."""

import dataclasses
import pickle
import re

import arrow
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lifelines import KaplanMeierFitter
from sklearn.exceptions import DataConversionWarning

from cqrf.data.outcome import Target, marginal_curves, parse_outcome
from cqrf.data.surv import Surv

TIME = [3.0, 1.0, 2.0]
EVENT = [True, False, True]


def read_only(values):
    array = np.array(values)
    array.flags.writeable = False
    return array


def structured(fields, rows):
    return np.array(rows, dtype=fields)


PAIRS = {
    "surv": (Surv.from_arrays(EVENT, TIME), None),
    "structured, time first": (
        structured([("t", "f4"), ("d", "?")], list(zip(TIME, EVENT, strict=True))),
        None,
    ),
    "structured, integers": (
        structured([("d", "?"), ("t", "i8")], list(zip(EVENT, TIME, strict=True))),
        None,
    ),
    "records": (pd.DataFrame({"d": EVENT, "t": TIME}).to_records(index=False), None),
    "lists": (TIME, EVENT),
    "0/1": (TIME, [1, 0, 1]),
    "floats": (np.array(TIME, "f4"), np.array([1.0, 0.0, 1.0])),
    "integers": (np.array(TIME, "i2"), np.array([1, 0, 1], "u1")),
    "big-endian": (np.array(TIME, ">f8"), EVENT),
    "strided": (np.repeat(TIME, 2)[::2], np.repeat(EVENT, 3)[::3]),
    "reversed": (np.array(TIME[::-1])[::-1], np.array(EVENT[::-1])[::-1]),
    "read-only": (read_only(TIME), read_only(EVENT)),
    "objects": (np.array(TIME, dtype=object), np.array(EVENT, dtype=object)),
    "pandas": (pd.Series(TIME, index=[5, 5, 5]), pd.Series(EVENT)),
    "pandas nullable": (pd.Series(TIME, dtype="Int64"), pd.Series(EVENT, dtype="boolean")),
    "polars": (pl.Series(TIME), pl.Series(EVENT)),
    "pandas frame": (pd.DataFrame({"time": TIME, "event": EVENT}), None),
    "pandas frame, duration": (pd.DataFrame({"event": [1, 0, 1], "duration": TIME}), None),
    "polars frame": (pl.DataFrame({"event": EVENT, "time": TIME}), None),
    "pyarrow": (pa.chunked_array([TIME]), pa.chunked_array([EVENT])),
    "pyarrow frame": (pa.table({"event": EVENT, "time": TIME}), None),
    "polars frame, duration": (pl.DataFrame({"duration": TIME, "event": [1, 0, 1]}), None),
}


class TestParseOutcome:
    @pytest.mark.parametrize("form", PAIRS)
    def test_pairs(self, form):
        time, event = parse_outcome(*PAIRS[form])
        assert time.dtype == np.float64
        assert time.dtype.isnative
        assert time.flags.c_contiguous
        assert time.tolist() == TIME
        assert event.dtype == np.bool_
        assert event.flags.c_contiguous
        assert event.tolist() == EVENT

    @pytest.mark.parametrize(
        "y",
        [
            TIME,
            np.array(TIME),
            [3, 1, 2],
            pd.Series(TIME),
            pl.Series(TIME),
            tuple(TIME),
            pa.array(TIME),
            pa.chunked_array([TIME[:1], TIME[1:]]),
        ],
    )
    def test_plain_numbers_are_never_censored(self, y):
        time, event = parse_outcome(y)
        assert time.tolist() == TIME
        assert event.all()

    @pytest.mark.parametrize(
        "y",
        [np.c_[TIME], pd.DataFrame({"a": TIME}), pl.DataFrame({"a": TIME}), pa.table({"a": TIME})],
    )
    def test_column_vector_warns_as_scikit_learn_does(self, y):
        with pytest.warns(DataConversionWarning, match="A column-vector y was passed when a 1d"):
            time, _ = parse_outcome(y)
        assert time.tolist() == TIME

    @pytest.mark.parametrize("scale", [1e-12, 1e12, -1e300])
    def test_any_scale_and_sign(self, scale):
        assert parse_outcome(np.array(TIME) * scale)[0].tolist() == [t * scale for t in TIME]

    def test_none(self):
        with pytest.raises(ValueError, match="requires y to be passed, but the target y is None"):
            parse_outcome(None)

    @pytest.mark.parametrize("y", [[], np.empty((0, 1)), pd.Series([], dtype=float)])
    @pytest.mark.filterwarnings("ignore::sklearn.exceptions.DataConversionWarning")
    def test_empty(self, y):
        with pytest.raises(ValueError, match=r"y is empty: found 0 sample\(s\)"):
            parse_outcome(y)

    @pytest.mark.parametrize("event", [None, EVENT])
    @pytest.mark.parametrize(
        ("value", "words"),
        [
            (np.nan, "Input y contains NaN."),
            (np.inf, "Input y contains infinity or a value too large for dtype('float64')."),
            (-np.inf, "Input y contains infinity or a value too large for dtype('float64')."),
        ],
    )
    def test_not_finite_names_the_first_row(self, value, words, event):
        with pytest.raises(ValueError, match=re.escape(f"{words} Row 1 is {value}.")):
            parse_outcome([3.0, value, np.nan], event)

    @pytest.mark.parametrize(
        "y",
        [
            pd.Series([1, None], dtype="Int64"),
            pl.Series([1, None]),
            [1, None],
            pa.chunked_array([[1, None]]),
        ],
    )
    def test_missing_time(self, y):
        with pytest.raises(ValueError, match=r"Input y contains NaN\. Row 1 is nan"):
            parse_outcome(y)

    def test_not_finite_inside_a_pair(self):
        y = structured([("d", "?"), ("t", "f8")], [(True, 1.0), (True, np.nan)])
        with pytest.raises(ValueError, match=r"y contains NaN\. Row 1"):
            parse_outcome(y)

    @pytest.mark.parametrize("y", [["a", "b"], np.array(["1", "2"]), pd.Series(["1", "2"])])
    def test_text(self, y):
        with pytest.raises(ValueError, match="y must hold numbers, not text; row 0"):
            parse_outcome(y)

    def test_complex(self):
        with pytest.raises(ValueError, match="Complex data not supported: y"):
            parse_outcome([1j, 2])

    @pytest.mark.parametrize("y", [np.zeros((3, 2)), [[True, 1.0], [False, 2.0]], 3.0])
    def test_shape(self, y):
        with pytest.raises(ValueError, match="y should be a 1d array, got an array of shape"):
            parse_outcome(y)

    def test_booleans_are_not_times(self):
        with pytest.raises(TypeError, match=r"y must hold times, not booleans"):
            parse_outcome([True, False], [3.0, 4.0])

    @pytest.mark.parametrize(
        "fields",
        [
            [("d", "?")],
            [("d", "?"), ("e", "?")],
            [("t", "f8"), ("d", "i8")],
            [("d", "?"), ("t", "U3")],
            [("d", "?"), ("t", "f8"), ("u", "f8")],
        ],
    )
    def test_structured_fields(self, fields):
        with pytest.raises(ValueError, match=r"exactly one boolean and one numeric field.*'d'"):
            parse_outcome(np.zeros(2, dtype=fields))

    @pytest.mark.parametrize("library", [pd, pl, arrow])
    @pytest.mark.parametrize(
        "columns", [["event", "t"], ["event", "time", "x"], ["time", "duration"]]
    )
    def test_frame_columns(self, library, columns):
        y = library.DataFrame({name: [1, 1] for name in columns})
        with pytest.raises(ValueError, match=re.escape(f"its columns are {columns}")):
            parse_outcome(y)

    def test_frame_with_a_column_twice(self):
        y = pd.DataFrame([[1, 2.0, 3.0]], columns=["event", "time", "time"])
        with pytest.raises(ValueError, match="its columns are"):
            parse_outcome(y)

    @pytest.mark.parametrize("form", ["surv", "pandas frame", "polars frame"])
    def test_event_twice(self, form):
        with pytest.raises(ValueError, match="event was given twice"):
            parse_outcome(PAIRS[form][0], EVENT)


class TestEvent:
    @pytest.mark.parametrize("codes", [[1, 2, 1], [2, 2, 2], [1.0, 2.0, 2.0]])
    def test_one_two_coding(self, codes):
        row = codes.index(2)
        with pytest.raises(ValueError, match=rf"event must be .* row {row} is 2.*use event == 2"):
            parse_outcome(TIME, codes)

    @pytest.mark.parametrize("code", [-1, 2, 0.5, np.nan, np.inf])
    def test_other_codes(self, code):
        with pytest.raises(ValueError, match=rf"event must be .* row 2 is {code}") as error:
            parse_outcome(TIME, np.array([0, 1, code]))
        assert "==" not in str(error.value)

    @pytest.mark.parametrize(
        "event",
        [[True, None, False], pd.Series([True, None, False], dtype="boolean"),
         pl.Series([True, None, False]), pa.chunked_array([[True, None, False]]),
         pd.Series([1, None, 0], dtype="Int8")],
    )  # fmt: skip
    def test_missing(self, event):
        with pytest.raises(ValueError, match=r"event must be .* row 1 is nan"):
            parse_outcome(TIME, event)

    def test_lengths(self):
        with pytest.raises(
            ValueError, match="y and event differ in length: y has 3 rows, event has 2"
        ):
            parse_outcome(TIME, [1, 0])

    def test_text(self):
        with pytest.raises(ValueError, match="event must hold numbers, not text; row 0 has 'True'"):
            parse_outcome(TIME, ["True", "False", "True"])

    def test_swapped(self):
        with pytest.raises(ValueError, match="are y and event swapped"):
            parse_outcome([1, 0, 1], TIME)


def check_invariants(target, time, event, kept, mirrored):
    """Rank order, from its definition, by plain Python sorting."""
    sign = -1.0 if mirrored else 1.0
    rows = [i for i in range(len(time)) if kept[i]]
    rows.sort(key=lambda i: (sign * time[i], not event[i], i))
    assert target.order.tolist() == rows
    assert target.n == len(rows)
    assert target.n_rows == len(time)
    assert target.event.tolist() == [int(event[i]) for i in rows]
    assert target.times[target.time_index].tolist() == [sign * time[i] for i in rows]
    assert target.times.tolist() == sorted({sign * time[i] for i in rows})
    assert not np.signbit(target.times[target.times == 0.0]).any()
    for name, dtype in (
        ("times", np.float64), ("time_index", np.uint32), ("event", np.uint8), ("order", np.int64)
    ):  # fmt: skip
        array = getattr(target, name)
        assert array.dtype == dtype
        assert array.flags.c_contiguous


class TestTarget:
    @given(
        rows=st.lists(
            st.tuples(st.integers(-3, 3), st.booleans(), st.sampled_from([0.0, 0.5, 1.0, 2.0])),
            min_size=1,
            max_size=30,
        ),
        censoring=st.sampled_from(["right", "left"]),
        weighted=st.booleans(),
    )
    @settings(max_examples=200, deadline=None)
    def test_rank_order(self, rows, censoring, weighted):
        time = np.array([row[0] for row in rows], dtype=np.float64)
        event = np.array([row[1] for row in rows])
        weight = np.array([row[2] for row in rows])
        kept = weight > 0 if weighted else np.ones(len(rows), bool)
        if not (kept & event).any():
            return
        target = Target.from_outcome(time, event, weight if weighted else None, censoring)
        check_invariants(target, time, event, kept, censoring == "left")
        if not weighted or np.unique(weight[kept]).size == 1:
            assert target.weight is None
        else:
            ratio = weight[target.order] / target.weight
            assert (ratio == ratio[0]).all()
            # A power of two: whole numbers stay exact.
            assert np.frexp(ratio[0])[0] == 0.5
            assert 0.5 <= target.weight.max() < 1.0
            assert target.weight.flags.c_contiguous

    def test_negative_zero_is_zero(self):
        for censoring in ("right", "left"):
            target = Target.from_outcome(
                np.array([-0.0, 0.0, 1.0]), np.array([False, True, True]), censoring=censoring
            )
            assert target.times.size == 2
            assert not np.signbit(target.times[target.times == 0]).any()

    def test_left_is_right_of_the_negated(self):
        rng = np.random.default_rng(0)
        time, event = rng.integers(0, 20, 100).astype(float), rng.random(100) < 0.6
        left = Target.from_outcome(time, event, censoring="left")
        right = Target.from_outcome(-time, event)
        assert left.mirrored
        assert not right.mirrored
        for name in ("times", "time_index", "event", "order"):
            np.testing.assert_array_equal(getattr(left, name), getattr(right, name))

    def test_input_is_left_alone(self):
        time, event, weight = read_only([2.0, 1.0]), read_only([True, True]), read_only([2, 3])
        target = Target.from_outcome(time, event, weight, "left")
        assert not np.shares_memory(target.times, time)

    def test_zero_weights_are_dropped_though_the_others_are_equal(self):
        target = Target.from_outcome(np.array(TIME), np.array(EVENT), [7.0, 0.0, 7.0])
        assert target.weight is None
        assert target.order.tolist() == [2, 0]
        assert target.n_rows == 3

    @pytest.mark.parametrize(
        "weight",
        [
            pd.Series([1, 2, 3]),
            pl.Series([1, 2, 3]),
            pa.chunked_array([[1, 2, 3]]),
            [1, 2, 3],
            np.array([1, 2, 3], "u1"),
        ],
    )
    def test_weight_forms(self, weight):
        target = Target.from_outcome(np.array(TIME), np.array(EVENT), weight)
        assert target.weight.dtype == np.float64
        assert target.weight.tolist() == [0.5, 0.75, 0.25]

    @pytest.mark.parametrize(
        ("weight", "words"),
        [
            ([1, -1, 1], "sample_weight must be finite and not negative; row 1 is -1.0"),
            ([1, 1, np.nan], "row 2 is nan"),
            ([np.inf, 1, 1], "row 0 is inf"),
            ([1, 1], "sample_weight has 2 rows, y has 3"),
            (np.ones((3, 2)), "sample_weight should be a 1d array"),
            ([0, 0, 0], "sample_weight is zero in every row"),
            (["1", "1", "1"], "sample_weight must hold numbers"),
            ([1e308, 1e308, 1e308], "sample_weight sums to infinity"),
        ],
    )
    def test_bad_weights(self, weight, words):
        with pytest.raises(ValueError, match=words):
            Target.from_outcome(np.array(TIME), np.array(EVENT), weight)

    def test_no_event(self):
        with pytest.raises(ValueError, match=r"^event is never True: no quantile of T can be"):
            Target.from_outcome(np.array(TIME), np.zeros(3, bool))
        with pytest.raises(ValueError, match="never True in the rows of positive weight: no quant"):
            Target.from_outcome(np.array(TIME), np.array(EVENT), [0, 1, 0])

    def test_unknown_censoring(self):
        with pytest.raises(ValueError, match=r"censoring must be one of .* received 'interval'"):
            Target.from_outcome(np.array(TIME), np.array(EVENT), censoring="interval")

    def test_frozen_and_picklable(self):
        target = Target.from_outcome(np.array(TIME), np.array(EVENT), [1, 2, 3])
        with pytest.raises(dataclasses.FrozenInstanceError):
            target.n_rows = 4
        copy = pickle.loads(pickle.dumps(target))
        np.testing.assert_array_equal(copy.weight, target.weight)


def lifelines_curves(target):
    """Both curves by lifelines, which needs the tied censorings moved behind the events for G."""
    time = target.time_index.astype(float)
    event = target.event.astype(bool)
    weight = None if target.weight is None else target.weight
    at = np.arange(target.times.size)
    survival = KaplanMeierFitter().fit(time, event, weights=weight).predict(at)
    later = np.where(event, time, time + 0.5)
    censoring = KaplanMeierFitter().fit(later, ~event, weights=weight).predict(at + 0.5)
    return survival.to_numpy(), censoring.to_numpy()


class TestMarginalCurves:
    @pytest.mark.parametrize("seed", range(6))
    @pytest.mark.parametrize("weighted", [False, True])
    @pytest.mark.filterwarnings("ignore")
    def test_against_lifelines(self, seed, weighted):
        rng = np.random.default_rng(seed)
        time = rng.integers(0, [12, 1000][seed % 2], 150).astype(float)
        event = rng.random(150) < [0.3, 0.9, 0.6][seed % 3]
        # lifelines subtracts from the total and loses the last step of the curve when rounding
        # makes the remainder negative; multiples of 1/64 leave nothing to round.
        weight = rng.integers(0, 320, 150) / 64.0 if weighted else None
        target = Target.from_outcome(time, event, weight)
        survival, censoring = marginal_curves(target)
        expected_survival, expected_censoring = lifelines_curves(target)
        np.testing.assert_allclose(survival, expected_survival, rtol=0, atol=1e-10)
        np.testing.assert_allclose(censoring, expected_censoring, rtol=0, atol=1e-10)

    @pytest.mark.parametrize("seed", range(4))
    def test_product_is_the_weight_after(self, seed):
        rng = np.random.default_rng(seed)
        time = rng.integers(0, 30, 200).astype(float)
        target = Target.from_outcome(time, rng.random(200) < 0.5, rng.exponential(size=200))
        survival, censoring = marginal_curves(target)
        mass = np.bincount(target.time_index, target.weight)
        after = 1.0 - np.cumsum(mass) / mass.sum()
        np.testing.assert_allclose(survival * censoring, after, atol=1e-12)

    def test_by_hand_with_ties(self):
        target = Target.from_outcome(
            np.array([1.0, 1.0, 2.0, 2.0, 3.0]), np.array([True, False, True, False, True])
        )
        survival, censoring = marginal_curves(target)
        np.testing.assert_allclose(survival, [4 / 5, 4 / 5 * 2 / 3, 0.0])
        np.testing.assert_allclose(censoring, [3 / 4, 3 / 4 * 1 / 2, 3 / 4 * 1 / 2])

    def test_no_censoring(self):
        target = Target.from_outcome(np.array([3.0, 1.0, 2.0]), np.ones(3, bool))
        survival, censoring = marginal_curves(target)
        np.testing.assert_allclose(survival, [2 / 3, 1 / 3, 0.0], atol=1e-15)
        assert censoring.tolist() == [1.0, 1.0, 1.0]

    def test_largest_time_censored(self):
        target = Target.from_outcome(np.array([1.0, 2.0]), np.array([True, False]))
        survival, censoring = marginal_curves(target)
        assert survival.tolist() == [0.5, 0.5]
        assert censoring.tolist() == [1.0, 0.0]

    def test_weights_of_very_different_size_keep_their_digits(self):
        weight = np.array([1e16, 1.0, 1.0, 1.0])
        target = Target.from_outcome(np.arange(4.0), np.ones(4, bool), weight)
        survival, _ = marginal_curves(target)
        np.testing.assert_allclose(survival[2] / survival[1], 0.5, rtol=1e-15)

    def test_integer_weights_are_repeated_rows(self):
        rng = np.random.default_rng(3)
        time, event = rng.integers(0, 9, 40).astype(float), rng.random(40) < 0.5
        counts = rng.integers(0, 4, 40)
        weighted = marginal_curves(Target.from_outcome(time, event, counts))
        repeated = marginal_curves(
            Target.from_outcome(np.repeat(time, counts), np.repeat(event, counts))
        )
        np.testing.assert_allclose(weighted, repeated, rtol=1e-14)
