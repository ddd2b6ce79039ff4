"""Columns that must not be learned from: identifiers, copies of the outcome, intervals."""

import numpy as np
import pyarrow as pa
import pytest

from cqrf.app.tables import (
    FeatureColumns,
    Outcome,
    OutcomeColumns,
    TableError,
    note_late_entry,
    note_near_copies,
    refuse_copies,
    refuse_start_stop,
)
from cqrf.app.tables.columns import kind_of
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
            ("x", [f"ward {i // 3}" for i in range(N)]),
        ],
    )
    def test_ordinary_features_are_no_trouble(self, name, cells):
        features = choose(cells, name)
        assert list(features.kinds) == ["other", name]
        assert features.notes == ()

    @pytest.mark.parametrize(
        ("name", "cells"),
        [
            ("x", shuffled(np.arange(1000, 1000 + N))),
            ("hospital_id", RNG.integers(0, 5, N)),
            ("hospital_id", RNG.choice(["north", "south"], N)),
            ("x", [f"p{i // 2}" for i in range(N - 10)] + [f"q{i}" for i in range(10)]),
        ],
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


def judged(check, columns, outcome=None, time_name="days"):
    """What a check answers for some columns."""
    block = block_of(**columns)
    kinds = {name: kind_of(block, name) for name in columns}
    return check(block, outcome or outcome_of(), OutcomeColumns(time_name, "died"), kinds)


def refusal(check, name, cells, outcome=None, time_name="days"):
    try:
        judged(check, {name: cells}, outcome, time_name)
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
            (np.where(EVENT, RNG.choice(["local", "distant"], N), "none"), "tells in every row"),
            (np.where(EVENT, RNG.integers(1, 3, N), 0), "tells in every row"),
            (np.where(EVENT, "dead", RNG.choice(["alive", "lost"], N)), "tells in every row"),
            ([f"{t:,.0f} days" for t in TIME], " days' where 'days' is"),
            ([f"after {t:,.0f} d".replace(",", " ") for t in TIME], "where 'days' is"),
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
            [*~EVENT[:4], *EVENT[4:]],
            np.where(EVENT, RNG.choice(["a", "b"], N), RNG.choice(["c", "d"], N)),
            [None] * N,
            ["2020-01-01", "2021-06-30"] * (N // 2),
        ],
    )
    def test_features_are_not(self, cells):
        assert refusal(refuse_copies, "x", cells) is None

    def test_dates_that_the_time_lies_between(self):
        first = np.datetime64("2001-01-01") + RNG.integers(0, 1000, N)
        last = first + TIME.astype(int)
        for dates in ({"x": first, "y": last}, {"x": last, "y": first}):
            with pytest.raises(TableError, match=r"column 'y': copies .*: with 'x' it .*--drop y"):
                judged(refuse_copies, dates)
        last[0] += 900
        assert judged(refuse_copies, {"x": first, "y": last}) is None
        (note,) = judged(note_near_copies, {"x": first, "y": last})
        assert "column 'y' nearly copies the outcome: with 'x' it says 'days'" in note
        assert judged(note_near_copies, {"x": first, "y": first + RNG.integers(0, 9, N)}) == []

    @pytest.mark.parametrize(
        ("cells", "words"),
        [
            ([TIME[0] + 900.0, *TIME[1:]], "says 'days' in nearly every row"),
            ([f"{t + 900 * (i == 7):g} d" for i, t in enumerate(TIME)], "says 'days' in nearly"),
            (TIME * RNG.uniform(0.95, 1.05, N), "its rank correlation with 'days' is 0.99"),
            (-np.sqrt(TIME) + 0.5 * RNG.normal(size=N), "its rank correlation with 'days' is -0.9"),
            ([*~EVENT[:1], *EVENT[1:]], "tells in nearly every row whether the event was seen"),
        ],
    )
    def test_near_copies_are_noted(self, cells, words):
        assert refusal(refuse_copies, "x", cells) is None
        (note,) = judged(note_near_copies, {"x": cells})
        assert "column 'x' nearly copies the outcome" in note
        assert words in note
        assert "--drop x" in note
        assert "--feature x" in note

    @pytest.mark.parametrize(
        "cells",
        [
            RNG.uniform(size=N),
            TIME + 400.0 * RNG.normal(size=N),
            TIME > 900,
            np.minimum(TIME, 700),
            [600] * N,
            ["stage 1", "stage 2"] * (N // 2),
            [None] * N,
            [*~EVENT[:10], *EVENT[10:]],
        ],
    )
    def test_features_are_not_near_copies(self, cells):
        assert judged(note_near_copies, {"x": cells}) == []

    def test_entry_into_a_study_with_one_closing_day_is_no_copy(self):
        entry = RNG.uniform(0.0, 1000.0, 500)
        life = RNG.exponential(20_000.0, 500)
        outcome = outcome_of(np.minimum(life, 1000.0 - entry), life < 1000.0 - entry)
        assert outcome.event.sum() >= 10
        assert abs(np.corrcoef(entry, outcome.time)[0, 1]) > 0.95
        assert judged(note_near_copies, {"entry": entry}, outcome) == []

    def test_the_planned_end_of_a_test_is_no_copy(self):
        end = np.where(np.arange(500) < 480, 600, np.arange(500))
        event = np.arange(500) % 40 == 0
        outcome = outcome_of(np.where(event, end - 100.0 - np.arange(500) % 7, end), event)
        assert judged(note_near_copies, {"end": end}, outcome) == []

    @pytest.mark.parametrize("n_events", [20, 1980])
    def test_events_may_be_rare_and_rows_sorted(self, n_events):
        event = np.arange(2000) < n_events
        outcome = outcome_of(np.random.default_rng(0).uniform(size=2000), event)
        cells = np.where(event, "dead", "alive")
        assert "whether the event" in refusal(refuse_copies, "x", cells, outcome)
        cells[[0, -1]] = cells[[-1, 0]]
        assert refusal(refuse_copies, "x", cells, outcome) is None

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
        ("start", "stop"),
        [
            ("start", "stop"),
            ("tstart", "tstop"),
            ("Entry", "EXIT"),
            ("begin", "end"),
            ("t0", "t1"),
            ("from", "to"),
            ("TIME0", "TIME1"),
            ("tstart", "tend"),
        ],
    )
    def test_names(self, start, stop):
        cells = RNG.uniform(size=N)
        assert "intervals" in refusal(refuse_start_stop, start, cells, time_name=stop)
        assert refusal(refuse_start_stop, start, cells, time_name="days") is None
        with pytest.raises(TableError, match=f"column '{start}': rows seem to be intervals"):
            judged(refuse_start_stop, {start: cells, stop: cells + 1.0})
        # Scores at two times, two towns, two dates.
        judged(refuse_start_stop, {start: cells, stop: RNG.uniform(size=N)})
        judged(refuse_start_stop, {start: ["Bern"] * N, stop: ["Chur"] * N})
        judged(refuse_start_stop, {start: ["2020-01-01"] * N, stop: ["2020-01-02"] * N})

    @pytest.mark.parametrize(
        "cells", [RNG.uniform(size=N), [0] * N, TIME / 2, ["a", "b"] * (N // 2), TIME]
    )
    def test_features_are_not(self, cells):
        assert refusal(refuse_start_stop, "x", cells) is None

    @pytest.mark.parametrize("told_by", ["patient_id", "features"])
    def test_shuffled_rows_that_join(self, told_by):
        rng = np.random.default_rng(0)
        first = rng.integers(1, 50, 200)
        start, stop = np.r_[0 * first, first], np.r_[first, first + rng.integers(1, 50, 200)]
        age, order = np.tile(rng.uniform(20, 80, 200), 2), rng.permutation(400)
        columns = {"age": age, "from_day": start}
        if told_by == "patient_id":
            columns |= {"patient_id": np.tile(np.arange(200), 2), "dose": rng.uniform(size=400)}
            columns["age"] = age + start / 365.0
        columns = {name: cells[order] for name, cells in columns.items()}
        outcome = outcome_of(stop[order].astype(float), np.r_[0 * first, 1 + 0 * first][order] > 0)
        with pytest.raises(TableError, match="column 'from_day': rows seem to be intervals"):
            judged(refuse_start_stop, columns, outcome)
        if told_by == "features":
            columns["age"] = shuffled(columns["age"])
            judged(refuse_start_stop, columns, outcome)

    @pytest.mark.parametrize("others", [{}, {"sex": 2}, {"hospital_id": 5, "sex": 2}])
    def test_late_entry_on_coarse_times_does_not_join(self, others):
        rng = np.random.default_rng(0)
        time = rng.integers(10, 60, 400).astype(float)
        columns = {name: rng.integers(0, n, 400) for name, n in others.items()}
        columns["entry"] = np.floor(time * rng.uniform(size=400))
        judged(refuse_start_stop, columns, outcome_of(time, time > 20))

    def test_columns_of_any_type_may_stand_beside(self):
        beside = {
            "id": pa.array([[1]] * N),
            "none": pa.nulls(N),
            "kind": pa.array(["a", "b"] * (N // 2)).dictionary_encode(),
            "on": pa.array([True, None] * (N // 2)),
            "day": pa.array([1] * N, pa.date32()),
            "took": pa.array([1] * N, pa.duration("s")),
        }
        block = block_of(x=TIME / 2, **beside)
        refuse_start_stop(block, outcome_of(), OutcomeColumns("days"), {"x": "number"})

    @pytest.mark.parametrize("name", ["entry_day", "Entry", "start", "left.truncation", "t0"])
    def test_late_entry_is_noted(self, name):
        assert refusal(refuse_start_stop, name, TIME / 2) is None
        (note,) = judged(note_late_entry, {name: TIME / 2})
        assert f"column '{name}' lies before 'days' in every row" in note
        assert f"--feature {name}" in note

    @pytest.mark.parametrize(
        ("name", "cells"),
        [
            ("entry", TIME + 1.0),
            ("entry", [0] * N),
            ("country", TIME / 2),
            ("starting_dose", TIME / 2),
            ("entry", ["a", "b"] * (N // 2)),
        ],
    )
    def test_other_columns_are_no_entry(self, name, cells):
        assert judged(note_late_entry, {name: cells}) == []


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
    refuse_copies(block, outcome, OutcomeColumns("days"), {"age": "number"})
