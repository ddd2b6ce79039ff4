"""What columns mean: numbers, dates, words, outcomes; and which have no clear meaning."""

import datetime
import io

import numpy as np
import pyarrow as pa
import pytest

from cqrf import CensoredQuantileForest
from cqrf.app.tables import (
    FeatureColumns,
    OutcomeColumns,
    TableError,
    open_input,
    read_features,
    read_outcome,
)
from cqrf.app.tables.columns import kind_of, numbers, texts
from cqrf.app.tables.reading import Block, Dialect


def block_of(**columns):
    """A block as it comes from CSV: all text."""
    arrays = {name: pa.array(cells, pa.string()) for name, cells in columns.items()}
    return Block("data.csv", arrays, 1, len(next(iter(arrays.values()))), Dialect())


def typed(**columns):
    arrays = {name: pa.array(cells) for name, cells in columns.items()}
    return Block("data.parquet", arrays, 1, len(next(iter(arrays.values()))), Dialect())


class TestKinds:
    @pytest.mark.parametrize(
        ("cells", "kind"),
        [
            (["1", "-2.5", "+3", ".5", "1e-3", None], "number"),
            ([" 1 ", "2"], "number"),
            ([None, None], "number"),
            (["true", "False", None], "boolean"),
            (["2020-01-01", "2020-12-31"], "date"),
            (["2020-01-01T10:00:00", "2020-12-31 23:59:59"], "date"),
            (["2020-01-01T10:00:00Z", "2020-12-31T23:59:59+01:00"], "date"),
            (["a", "b", "1"], "text"),
            (["yes", "no"], "text"),
        ],
    )
    def test_text(self, cells, kind):
        assert kind_of(block_of(x=cells), "x") == kind

    @pytest.mark.parametrize(
        ("cells", "kind"),
        [
            ([1, 2], "number"),
            ([1.5, None], "number"),
            ([True, None], "boolean"),
            ([datetime.date(2020, 1, 1)], "date"),
            ([datetime.datetime(2020, 1, 1)], "date"),
            ([datetime.timedelta(days=2)], "number"),
            (["a"], "text"),
        ],
    )
    def test_typed(self, cells, kind):
        assert kind_of(typed(x=cells), "x") == kind

    @pytest.mark.parametrize(
        ("cells", "words"),
        [
            (["1", "2", "n.a."], "row 3: 'n.a.' is not a number; if it means missing, give --na"),
            (["1", "<0.2", "3"], "row 2: '<0.2' is not a number; a limit can stand only"),
            (["1.5", "1,5", "2"], "row 2: '1,5' is not a number; ',' and '.' are used in more"),
            (["31/12/2020", "1/1/2021"], "write them as 2024-12-31"),
        ],
    )
    def test_refused(self, cells, words):
        with pytest.raises(TableError, match="column 'x'") as caught:
            kind_of(block_of(x=cells), "x")
        assert words in str(caught.value)

    def test_lists_are_refused(self):
        with pytest.raises(TableError, match="neither a number nor text"):
            kind_of(typed(x=[[1], [2]]), "x")

    def test_a_long_cell_is_shown_shortened(self):
        with pytest.raises(TableError) as caught:
            kind_of(block_of(x=["1", "2", "y" * 1_000_000]), "x")
        assert len(str(caught.value)) < 300


class TestNumbers:
    @pytest.mark.parametrize("make", [block_of, typed])
    def test_dates_are_days(self, make):
        cells = ["1970-01-02", "1969-12-31", None]
        if make is typed:
            cells = [None if c is None else datetime.date.fromisoformat(c) for c in cells]
        np.testing.assert_array_equal(numbers(make(x=cells), "x"), [1.0, -1.0, np.nan])

    def test_half_a_day(self):
        block = block_of(x=["1970-01-01 12:00:00", "1970-01-02T00:00"])
        np.testing.assert_array_equal(numbers(block, "x"), [0.5, 1.0])

    def test_true_is_one(self):
        np.testing.assert_array_equal(
            numbers(block_of(x=["True", "false", None]), "x"), [1, 0, np.nan]
        )
        np.testing.assert_array_equal(numbers(typed(x=[True, False, None]), "x"), [1, 0, np.nan])

    def test_infinity_is_refused_with_its_row(self):
        with pytest.raises(TableError, match="column 'x', row 2: infinity"):
            numbers(block_of(x=["1", "inf"]), "x")


def outcome(block, **columns):
    return read_outcome(block, OutcomeColumns(**columns))


class TestOutcome:
    @pytest.mark.parametrize(
        ("cells", "values"),
        [
            (["1", "0", "1"], ()),
            (["1.0", "0.0", "1"], ()),
            (["true", "FALSE", "True"], ()),
            (["yes", "No", "Y"], ()),
            (["dead", "alive", "dead"], ("dead",)),
            (["2", "1", "2.0"], ("2",)),
            (["died", "lost", "transplant"], ("died", "transplant")),
        ],
    )
    def test_codes(self, cells, values):
        got = outcome(
            block_of(t=["1", "2", "3"], e=cells), time="t", event="e", event_values=values
        )
        np.testing.assert_array_equal(got.event, [True, False, True])
        np.testing.assert_array_equal(got.time, [1, 2, 3])

    def test_codes_that_count_as_censored_are_told(self):
        cells = ["0", "1", "2", "1.0"]
        block = block_of(t=["1", "2", "3", "4"], e=cells)
        got = outcome(block, time="t", event="e", event_values=("1",))
        np.testing.assert_array_equal(got.event, [False, True, False, True])
        assert got.notes == (
            "column 'e': '0', '2' all count as censored; competing events are not modelled",
        )
        assert outcome(block, time="t", event="e", event_values=("1", "2")).notes == ()

    def test_negative_times(self):
        block = block_of(t=["-1", "2"])
        with pytest.raises(TableError, match=r"column 't', row 1: -1 is negative.*--negative"):
            outcome(block, time="t")
        for options in ({"negative": True}, {"left": True}):
            np.testing.assert_array_equal(outcome(block, time="t", **options).time, [-1.0, 2.0])

    def test_typed_events(self):
        for cells in ([True, False], [1, 0], [1.0, 0.0]):
            got = outcome(typed(t=[1.0, 2.0], e=cells), time="t", event="e")
            np.testing.assert_array_equal(got.event, [True, False])

    def test_limits(self):
        got = outcome(block_of(t=["0.5", "<0.006", " <= 2"]), time="t", left=True)
        np.testing.assert_array_equal(got.time, [0.5, 0.006, 2.0])
        np.testing.assert_array_equal(got.event, [True, False, False])
        got = outcome(block_of(t=["0.5", ">3"]), time="t")
        np.testing.assert_array_equal(got.event, [True, False])

    def test_incomplete_rows(self):
        block = block_of(t=["1", None, "3"], e=["1", "1", None])
        with pytest.raises(TableError, match="column 't', row 2: is missing"):
            outcome(block, time="t", event="e")
        got = outcome(block, time="t", event="e", skip_incomplete=True)
        np.testing.assert_array_equal(got.kept, [0])

    @pytest.mark.parametrize(
        ("columns", "names", "words"),
        [
            ({"t": ["1"], "e": ["dead"]}, {}, "say which value means"),
            ({"t": ["1"], "e": ["2"]}, {}, "'2' is neither 1/0"),
            ({"t": list("123"), "e": list("012")}, {}, "there are '0', '1', '2': say which value"),
            ({"t": ["1"], "e": ["dead"]}, {"event_values": ("ded",)}, "did you mean 'dead'?"),
            ({"T": ["1"], "e": ["1"]}, {}, "no column 't'; did you mean 'T'?"),
            ({"t": ["1,5"], "e": ["1"]}, {}, "give --decimal ,"),
            ({"t": ["1"], "e": ["dead"]}, {"event_values": ("ded",)}, "--event-value ded never"),
            ({"t": ["<1"], "e": ["1"]}, {}, "give --left"),
            ({"t": ["<1"], "e": ["1"]}, {"left": True}, "the same as --event"),
            ({"t": [">1"], "e": ["1"]}, {"left": True}, "--left asks for upper bounds"),
            ({"t": ["2020-01-01"], "e": ["1"]}, {}, "compute the days since"),
            ({"t": ["a", "b"], "e": ["1", "0"]}, {}, "'a' is not a number"),
            ({"x": ["1"], "e": ["1"]}, {}, "there is no column 't'; its columns are 'x', 'e'"),
            ({"t": ["1"], "x": ["1"]}, {}, "there is no column 'e'"),
        ],
    )
    def test_refused(self, columns, names, words):
        with pytest.raises(TableError) as caught:
            outcome(block_of(**columns), time="t", event="e", **names)
        assert words in str(caught.value)


class TestFeatures:
    def test_columns_and_notes(self):
        n = 30
        block = block_of(
            t=["1"] * n,
            id=[f"row {i}" for i in range(n)],
            day=["2020-01-01"] * n,
            size=["1.5"] * n,
            code=["7"] * n,
            nothing=[None] * n,
        )
        features = FeatureColumns.from_table(block, ["t"], (), ("code",))
        assert features.kinds == {
            "day": "date",
            "size": "number",
            "code": "text",
            "nothing": "number",
        }
        assert ["--feature id" in note for note in features.notes] == [True, False, False]
        frame = read_features(block, features)
        assert frame.shape == (n, 4)
        assert frame["code"].tolist() == ["7"] * n

    @pytest.mark.parametrize(
        ("arguments", "words"),
        [
            ((["t"], ("x",), ()), "no column is left to learn from beside t"),
            ((["t"], ("no",), ()), "--drop no: there is no such column"),
            ((["t"], (), ("no",)), "--category no: there is no such column"),
            ((["t"], (), (), ("no",)), "--feature no: there is no such column"),
        ],
    )
    def test_refused(self, arguments, words):
        with pytest.raises(TableError, match=words):
            FeatureColumns.from_table(block_of(t=["1"], x=["1"]), *arguments)

    def test_did_you_mean(self):
        block = block_of(time=["1"], Age=["1"])
        for options in ({"drop": ("age",)}, {"category": ("Agee",)}, {"feature": ("AGE",)}):
            with pytest.raises(TableError, match=r"did you mean 'Age'\? its columns are"):
                FeatureColumns.from_table(block, ["time"], **options)
        with pytest.raises(TableError, match=r"no column 'weight'; its columns are"):
            block.column("weight")

    def test_a_model_needs_its_columns(self):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(30, 2))
        plain = CensoredQuantileForest(3, random_state=0).fit(X, rng.exponential(size=30))
        assert list(FeatureColumns.of_forest(plain, ["u", "v"], "f").kinds) == ["u", "v"]
        with pytest.raises(TableError, match="by position only, and there are 3"):
            FeatureColumns.of_forest(plain, ["u", "v", "w"], "f")
        import pandas as pd

        named = CensoredQuantileForest(3, random_state=0).fit(
            pd.DataFrame(X, columns=["a", "b"]), rng.exponential(size=30)
        )
        assert list(FeatureColumns.of_forest(named, ["z", "b", "a"], "f").kinds) == ["a", "b"]
        with pytest.raises(TableError, match="no column 'a', which the model needs"):
            FeatureColumns.of_forest(named, ["b"], "new.csv")
        with pytest.raises(TableError, match=r"the model needs; did you mean 'A'\?"):
            FeatureColumns.of_forest(named, ["A", "b"], "new.csv")

    def test_categories_by_any_format(self):
        csv = open_input(io.BytesIO(b"x,y\na,1\nb,2\n")).read()
        assert texts(csv, "x").tolist() == ["a", "b"]
        dictionary = pa.array(["a", None, "b"]).dictionary_encode()
        block = Block("f", {"x": dictionary}, 1, 3, Dialect())
        assert texts(block, "x").tolist() == ["a", None, "b"]
