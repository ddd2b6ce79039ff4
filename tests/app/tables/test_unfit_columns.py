"""Columns that must not be learned from: identifiers, copies of the outcome, intervals."""

import numpy as np
import pyarrow as pa
import pytest

from cqrf.app.tables import (
    FeatureColumns,
    Outcome,
    OutcomeColumns,
    TableError,
    refuse_copies,
    refuse_start_stop,
)
from cqrf.app.tables.reading import Block, Dialect

N = 60
RNG = np.random.default_rng(0)
TIME = RNG.integers(1, 2000, N).astype(float)
EVENT = RNG.uniform(size=N) < 0.6


def block_of(**columns):
    arrays = {
        name: cells
        if isinstance(cells, pa.Array)
        else pa.array([None if c is None else str(c) for c in cells], pa.string())
        for name, cells in columns.items()
    }
    return Block("data.csv", arrays, 1, len(next(iter(arrays.values()))), Dialect())


def choose(cells, name="x", **options):
    block = block_of(**{"other": RNG.uniform(size=len(cells)), name: cells})
    return FeatureColumns.from_table(block, ["t"], **options)


def shuffled(values):
    return np.random.default_rng(1).permutation(values)


class TestIdentifiers:
    @pytest.mark.parametrize(
        ("name", "cells", "reason"),
        [
            ("", RNG.integers(0, 3, N), "has no name of its own"),
            ("Unnamed: 0", RNG.uniform(size=N), "has no name of its own"),
            ("__index_level_0__", pa.array(shuffled(np.arange(N))), "has no name of its own"),
            ("x", np.arange(N), "numbers the rows"),
            ("x", np.arange(1, N + 1), "numbers the rows"),
            ("x", pa.array(np.arange(1.0, N + 1)), "numbers the rows"),
            ("id", shuffled(np.arange(1000, 1000 + N)), "is called an identifier"),
            ("patient_id", shuffled(np.arange(N)), "is called an identifier"),
            ("PatientID", shuffled(np.arange(N)), "is called an identifier"),
            ("x", [f"p{i}" for i in range(N)], "another text in almost every row"),
            ("x", [f"p{i % (N - 2)}" for i in range(N)], "another text in almost every row"),
        ],
    )
    def test_left_out_with_a_note(self, name, cells, reason):
        features = choose(cells, name)
        assert list(features.kinds) == ["other"]
        (note,) = features.notes
        assert reason in note
        assert "--feature" in note
        # Whoever asks for the column gets it.
        assert list(choose(cells, name, feature=(name,)).kinds) == ["other", name]
        assert choose(cells, name, category=(name,)).kinds[name] == "text"

    @pytest.mark.parametrize(
        ("name", "cells"),
        [
            ("x", RNG.uniform(size=N)),
            ("x", np.sort(RNG.uniform(size=N))),
            ("age", RNG.integers(20, 90, N)),
            ("fluid", RNG.uniform(size=N)),
            ("x", ["red", "blue"] * (N // 2)),
            ("x", np.arange(5)),
            ("x", ["a", "b", "c"]),
        ],
    )
    def test_ordinary_features_are_no_trouble(self, name, cells):
        features = choose(cells, name)
        assert list(features.kinds) == ["other", name]
        assert features.notes == ()

    @pytest.mark.parametrize(
        ("name", "cells"),
        [("x", shuffled(np.arange(1000, 1000 + N))), ("hospital_id", RNG.integers(0, 5, N))],
    )
    def test_a_note_on_what_may_be_an_identifier(self, name, cells):
        features = choose(cells, name)
        assert name in features.kinds
        assert f"--drop {name}" in features.notes[0]
        assert choose(cells, name, feature=(name,)).notes == ()

    def test_nothing_else_is_left(self):
        with pytest.raises(TableError, match=r"no column is left .*'id' only tells rows apart"):
            FeatureColumns.from_table(block_of(t=[1] * N, id=np.arange(N)), ["t"])


def outcome_of(time=TIME, event=EVENT, kept=None):
    kept = np.arange(len(time)) if kept is None else kept
    return Outcome(time[kept], event[kept], kept)


def refusal(check, name, cells, outcome=None, time_name="days"):
    columns = OutcomeColumns(time_name, "died")
    try:
        check(block_of(**{name: cells}), outcome or outcome_of(), columns, [name])
    except TableError as error:
        return str(error)
    return None


class TestCopies:
    @pytest.mark.parametrize(
        ("cells", "words"),
        [
            (TIME, "where 'days' is"),
            ([f"{t:g} days" for t in TIME], " days' where 'days' is"),
            ([f"alive at {t:g}" for t in TIME], "where 'days' is"),
            ([None, *TIME[1:]], "where 'days' is"),
            (TIME / 7, "follows 'days' in every row"),
            ((TIME / 7).round(), "follows 'days' in every row"),
            (-2.0 * TIME + 3.0, "follows 'days' in every row"),
            (np.log(TIME), "follows 'days' in every row"),
            ([f"{t:.1f} weeks" for t in TIME / 7], "follows 'days' in every row"),
            (EVENT, "tells in every row whether the event was seen"),
            (np.where(EVENT, "dead", "alive"), "tells in every row"),
            (["heart" if e else None for e in EVENT], "tells in every row"),
            (pa.array([t if e else None for t, e in zip(TIME, EVENT, strict=True)]), "where"),
        ],
    )
    def test_refused(self, cells, words):
        message = refusal(refuse_copies, "x", cells)
        assert words in message
        assert "--drop x" in message

    @pytest.mark.parametrize(
        "cells",
        [
            RNG.uniform(size=N),
            TIME + 100.0 * RNG.normal(size=N),
            [TIME[0] + 900.0, *TIME[1:]],
            TIME > 900,
            ["stage 1", "stage 2"] * (N // 2),
            [*~EVENT[:1], *EVENT[1:]],
            [None] * N,
            ["2020-01-01", "2021-06-30"] * (N // 2),
        ],
    )
    def test_features_are_not(self, cells):
        assert refusal(refuse_copies, "x", cells) is None

    def test_few_rows_may_follow_by_chance(self):
        small = outcome_of(np.array([1.0, 2.0, 3.0]), np.array([True, False, True]))
        assert refusal(refuse_copies, "x", [2, 3, 4], small) is None
        assert refusal(refuse_copies, "x", [1, 0, 1], small) is None
        assert refusal(refuse_copies, "x", [1, 2, 3], small) is not None

    def test_rows_without_an_outcome_do_not_count(self):
        cells = [5.0, *TIME[1:]]
        assert refusal(refuse_copies, "x", cells, outcome_of(kept=np.arange(1, N))) is not None

    def test_many_rows_are_looked_at_to_the_end(self):
        time = np.random.default_rng(0).uniform(size=3000)
        outcome = outcome_of(time, time > 0.5)
        assert refusal(refuse_copies, "x", time, outcome) is not None
        assert refusal(refuse_copies, "x", [*time[:-1], 7.0], outcome) is None


STARTS = [0, 10, 25, 0, 5, 0, 40, 0, 60]
STOPS = [10.0, 25, 30, 5, 90, 40, 41, 60, 99]


class TestIntervals:
    def test_rows_that_join(self):
        outcome = outcome_of(np.array(STOPS), np.arange(9) % 3 == 2)
        message = refusal(refuse_start_stop, "x", STARTS, outcome)
        assert "column 'x': rows seem to be intervals" in message
        assert "make one row of every unit" in message

    @pytest.mark.parametrize(
        ("start", "stop"), [("start", "stop"), ("tstart", "tstop"), ("Entry", "EXIT")]
    )
    def test_names(self, start, stop):
        cells = RNG.uniform(size=N)
        assert "intervals" in refusal(refuse_start_stop, start, cells, time_name=stop)
        assert refusal(refuse_start_stop, start, cells, time_name="days") is None
        both = block_of(**{start: cells, stop: cells})
        with pytest.raises(TableError, match=f"column '{start}': rows seem to be intervals"):
            refuse_start_stop(both, outcome_of(), OutcomeColumns("t"), [start, stop])

    @pytest.mark.parametrize(
        "cells", [RNG.uniform(size=N), [0] * N, TIME / 2, ["a", "b"] * (N // 2), TIME]
    )
    def test_features_are_not(self, cells):
        assert refusal(refuse_start_stop, "x", cells) is None


class TestUnits:
    @pytest.mark.parametrize("write", ["{} kg", "{}%", "€{}", "{:.1f} mmol/l", "15:{:04d}"])
    def test_numbers_with_units_are_noted(self, write):
        values = np.repeat(np.arange(30, 60), 3)
        if ".1f" in write:
            values = values / 7
        features = choose([write.format(value) for value in values.tolist()])
        assert features.kinds["x"] == "text"
        (note,) = features.notes
        assert "numbers with something around them" in note
        assert "--category x" in note
        assert not choose([write.format(v) for v in values.tolist()], category=("x",)).notes

    @pytest.mark.parametrize("write", ["C{}", "ward {}", "stage {} b"])
    def test_codes_are_not(self, write):
        assert not choose([write.format(v) for v in np.repeat(np.arange(30, 60), 3)]).notes

    def test_few_categories_are_not(self):
        assert not choose([f"{v} mg" for v in np.repeat([5, 10, 20], 30)]).notes


def test_a_time_that_is_always_the_same_is_not_followed():
    outcome = Outcome(np.full(N, 600.0), np.ones(N, bool), np.arange(N))
    block = block_of(days=np.full(N, 600.0), age=RNG.uniform(20, 80, N))
    refuse_copies(block, outcome, OutcomeColumns("days"), ["age"])
