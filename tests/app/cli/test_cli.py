"""The command line as a shell user sees it: golden outputs, pipes, formats, exit codes."""

import csv
import io
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import shell
from shell import cqrf, one_line

from cqrf import CensoredQuantileForest, OutcomeLabels
from cqrf.app.tables import OutcomeColumns

pytestmark = pytest.mark.slow

GOLDEN = Path(__file__).parent / "golden"
FIT = ["--time", "time", "--event", "event", "--trees", 5, "-q"]


def golden(name, text):
    """Compare with a stored output; CQRF_GOLDEN=1 stores it anew, to be read before a commit."""
    path = GOLDEN / name
    if os.environ.get("CQRF_GOLDEN"):
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")


def frame(text):
    return pd.read_csv(io.StringIO(text), float_precision="round_trip")


@pytest.fixture(scope="session")
def forest(folder):
    return CensoredQuantileForest.load(folder / "congress.cqrf")


@pytest.fixture(scope="session")
def X(folder):
    data = pd.read_csv(folder / "congress.csv")
    return data.drop(columns=["time", "event"])


class TestGolden:
    def test_manual(self):
        done = cqrf("--help")
        assert done.returncode == 0
        golden("help.txt", done.stdout)

    def test_fit(self, folder):
        golden("fit.txt", (folder / "fit.txt").read_text())
        assert "growing trees" in (folder / "fit.err").read_text()

    def test_predict(self, folder):
        done = cqrf("predict", "congress.cqrf", "congress.csv", "--keep", "state", cwd=folder)
        assert done.returncode == 0, done.stderr
        assert done.stderr == ""
        golden("predict.csv", "".join(done.stdout.splitlines(keepends=True)[:6]))
        assert len(done.stdout.splitlines()) == 1047

    def test_evaluate(self, folder):
        done = cqrf("evaluate", "congress.cqrf", cwd=folder)
        assert done.returncode == 0, done.stderr
        golden("evaluate.txt", done.stdout)

    def test_evaluate_recognises_the_training_table(self, folder):
        done = cqrf("evaluate", "congress.cqrf", "congress.csv", cwd=folder)
        assert done.returncode == 0, done.stderr
        assert "scored up to" in done.stdout
        assert "100% of these rows are among those that the model was trained on" in done.stderr
        new = pd.read_csv(folder / "congress.csv")
        new["time"] += 0.5
        new.to_csv(folder / "shifted.csv", index=False)
        done = cqrf("evaluate", "congress.cqrf", "shifted.csv", cwd=folder)
        assert done.returncode == 0, done.stderr
        assert "trained on" not in done.stderr

    def test_evaluate_of_what_says_nothing(self, folder, tmp_path):
        data = pd.read_csv(folder / "congress.csv")
        data["time"] += 0.5
        for rows, score in (
            (data[data.event == 1].iloc[:1], r"-?[\d.]+%"),
            (data[:50].assign(event=0, time=0.1), "-"),
        ):
            rows.to_csv(tmp_path / "rows.csv", index=False)
            done = cqrf("evaluate", folder / "congress.cqrf", tmp_path / "rows.csv")
            assert done.returncode == 0, done.stderr
            assert "nan" not in done.stdout
            assert "concordance             -\n" in done.stdout
            # One row has no standard error; the horizon says nothing of rows that do not reach it.
            assert re.search(rf"score +{score}\n", done.stdout)
            assert done.stderr == ""

    def test_evaluate_speaks_of_values_above_a_limit(self, folder, tmp_path):
        fit = ("--time", "time", "--event", "event", "--left", "--trees", 20)
        table = folder / "stormwater_cadmium.csv"
        assert cqrf("fit", table, *fit, "-o", tmp_path / "water.cqrf").returncode == 0
        done = cqrf("evaluate", tmp_path / "water.cqrf")
        assert done.returncode == 0, done.stderr
        for word in ("horizon", "time", "event", "beyond", "surviv"):
            assert word not in done.stdout
        assert "scored down to" in done.stdout
        assert "rows that end above the lowest value scored" in done.stdout
        assert "-: too few rows end above the lowest value scored" in done.stdout

    def test_evaluate_up_to_a_horizon(self, folder, forest):
        done = cqrf("evaluate", "congress.cqrf", "--horizon", 8, "--json", cwd=folder)
        told = json.loads(done.stdout)
        assert told["horizon"] == 8.0
        assert told["score"] == pytest.approx(forest.oob_score(horizon=8.0))
        late = [row for row in told["quantiles"] if row["quantile"] == 0.95]
        assert late[0]["saving"] is None
        done = cqrf("evaluate", "congress.cqrf", "--time", "time", cwd=folder)
        assert done.returncode == 2
        assert "--time needs a table" in done.stderr


class TestPredict:
    def test_quantiles_are_the_forest_s(self, folder, forest, X):
        done = cqrf(
            *("predict", "congress.cqrf", "-", "--quantiles", "0.25,0.5", "--interval", "0.8"),
            stdin=(folder / "congress.csv").read_text(),
            cwd=folder,
        )
        got = frame(done.stdout)
        np.testing.assert_array_equal(got[["q0.25", "q0.5"]], forest.predict(X, [0.25, 0.5]))
        ends = forest.predict(X, [0.1, 0.9], unreached="inf")
        np.testing.assert_array_equal(got[["lower0.8", "upper0.8"]], ends)
        identified = forest.identified(X, quantiles=[0.25, 0.5, 0.1, 0.9])
        columns = [name for name in got if name.endswith("_identified")]
        np.testing.assert_array_equal(got[columns], identified)

    def test_after_a_time_and_after_a_column(self, folder, forest, X):
        done = cqrf(
            *("predict", "congress.cqrf", "congress.csv", "--after", "6", "--quantiles", "0.5"),
            *("--unreached", "nan"),
            cwd=folder,
        )
        expected = forest.predict(X, 0.5, conditional_after=6.0, unreached="nan")
        np.testing.assert_array_equal(frame(done.stdout)["q0.5"], expected)
        done = cqrf(
            *("predict", "congress.cqrf", "congress.csv", "--after", "time", "--quantiles", "0.5"),
            cwd=folder,
        )
        time = pd.read_csv(folder / "congress.csv")["time"].to_numpy()
        expected = forest.predict(X, 0.5, conditional_after=time)
        np.testing.assert_array_equal(frame(done.stdout)["q0.5"], expected)

    def test_formats_agree(self, folder, tmp_path, forest, X):
        data = pd.read_csv(folder / "congress.csv")
        data.to_parquet(tmp_path / "in.parquet")
        data.to_feather(tmp_path / "in.feather")
        expected = forest.predict(X, 0.5)
        for name, out in (("in.parquet", "out.feather"), ("in.feather", "out.parquet")):
            arguments = ("--quantiles", "0.5", "-o", tmp_path / out, "--json")
            done = cqrf("predict", folder / "congress.cqrf", tmp_path / name, *arguments)
            assert json.loads(done.stdout) == {"output": str(tmp_path / out), "rows": 1046}
            read = pd.read_feather if out.endswith("feather") else pd.read_parquet
            np.testing.assert_array_equal(read(tmp_path / out)["q0.5"], expected)

    def test_parquet_through_pipes(self, folder, tmp_path, forest, X):
        pd.read_csv(folder / "congress.csv").to_parquet(tmp_path / "in.parquet")
        done = cqrf(
            *("predict", folder / "congress.cqrf", "-", "--format", "parquet"),
            stdin=(tmp_path / "in.parquet").read_bytes(),
        )
        got = pd.read_parquet(io.BytesIO(done.stdout))
        np.testing.assert_array_equal(got["q0.5"], forest.predict(X, 0.5))

    def test_survival_at_times(self, folder, forest, X):
        ask = ("predict", "congress.cqrf", "congress.csv", "--quantiles", "0.5")
        got = frame(cqrf(*ask, "--survival", "6,12.5", cwd=folder).stdout)
        expected = forest.predict_survival_function(X, [6.0, 12.5])
        np.testing.assert_array_equal(got[["s6", "s12.5"]], expected)
        # Given that nothing has happened so far: S(t) / S(after), and 1 before.
        given = frame(cqrf(*ask, "--survival", "3,12.5", "--after", "6", cwd=folder).stdout)
        np.testing.assert_array_equal(given["s3"], 1.0)
        np.testing.assert_array_equal(given["s12.5"], expected[:, 1] / expected[:, 0])
        own = frame(cqrf(*ask, "--survival", "12.5", "--after", "time", cwd=folder).stdout)["s12.5"]
        time = pd.read_csv(folder / "congress.csv")["time"].to_numpy()
        np.testing.assert_array_equal(own[time >= 12.5], 1.0)
        rows = np.flatnonzero(time < 12.5)[[0, 1, -1]]
        for row in rows:
            later, now = forest.predict_survival_function(X.iloc[[row]], [12.5, time[row]])[0]
            assert own[row] == (later / now if now > 0.0 else pytest.approx(np.nan, nan_ok=True))

    def test_conformal_bounds(self, folder, forest, X):
        ask = ("predict", "congress.cqrf", "congress.csv", "--lower-bound", "0.9")
        done = cqrf(*ask, "--upper-bound", "0.8", cwd=folder)
        got = frame(done.stdout)
        calibrated = CensoredQuantileForest.load(folder / "congress.cqrf").calibrate()
        lower, upper = (
            calibrated.predict_lower_bound(X, 0.9),
            calibrated.predict_upper_bound(X, 0.8),
        )
        np.testing.assert_array_equal(got["lower_bound0.9"], lower)
        np.testing.assert_array_equal(got["upper_bound0.8"], upper)
        assert one_line(done).endswith(
            "congress.cqrf: bounds are calibrated out-of-bag, on the training rows, because the "
            "model is not"
        )
        done = cqrf(*ask, "--after", "3", cwd=folder)
        assert done.returncode == 2
        assert "do not go with --after" in one_line(done)

    def test_a_calibrated_model_is_not_calibrated_again(self, folder, tmp_path, forest, X):
        data = pd.read_csv(folder / "congress.csv")[:200]
        own = CensoredQuantileForest.load(folder / "congress.cqrf")
        own.calibrate(X[:200], data["time"], data["event"]).save(tmp_path / "m.cqrf")
        done = cqrf("predict", tmp_path / "m.cqrf", folder / "congress.csv", "--lower-bound", "0.8")
        assert done.stderr == ""
        expected = own.predict_lower_bound(X, 0.8)
        np.testing.assert_array_equal(frame(done.stdout)["lower_bound0.8"], expected)

    def test_ends_of_intervals_that_are_not_reached(self, folder, forest, X):
        ask = ("predict", "congress.cqrf", "congress.csv", "--interval", "0.9", "--quantiles")
        got = frame(cqrf(*ask, "0.95", cwd=folder).stdout)
        open_end = ~got["upper0.9_identified"]
        assert open_end.any()
        assert np.isposinf(got["upper0.9"][open_end]).all()
        assert np.isfinite(got["q0.95"]).all()
        for unreached, mark in (("clip", got["q0.95"]), ("nan", np.nan)):
            same = frame(cqrf(*ask, "0.95", "--unreached", unreached, cwd=folder).stdout)
            expected = np.where(open_end, mark, got["upper0.9"])
            np.testing.assert_array_equal(same["upper0.9"], expected)
            np.testing.assert_array_equal(same["q0.95"], expected)

    def test_digits(self, folder, forest, X):
        ask = ("predict", "congress.cqrf", "congress.csv", "--quantiles", "0.5", "--digits", "3")
        done = cqrf(*ask, "--keep", "time", cwd=folder)
        expected = [f"{value:.3g}" for value in forest.predict(X, 0.5)]
        told = [line.split(",")[1] for line in done.stdout.splitlines()[1:]]
        assert told == expected
        rows = map(json.loads, cqrf(*ask, "--json", cwd=folder).stdout.splitlines())
        assert [f"{row['q0.5']:g}" for row in rows] == expected
        # What is copied is not touched.
        time = pd.read_csv(folder / "congress.csv")["time"]
        np.testing.assert_array_equal(frame(done.stdout)["time"], time)

    def test_unknown_categories_are_told_once(self, folder):
        data = pd.read_csv(folder / "congress.csv").replace({"party": {"democrat": "Democrats"}})
        done = cqrf("predict", "congress.cqrf", stdin=data.to_csv(index=False), cwd=folder)
        assert done.returncode == 0
        row = int(np.argmax(data["party"] == "Democrats")) + 1
        assert one_line(done) == (
            f"cqrf: standard input: column 'party', row {row}: 'Democrats' is not among the "
            "categories of the model, and counts as missing; did you mean 'democrat'?"
        )

    def test_json_lines(self, folder, forest, X):
        done = cqrf("predict", "congress.cqrf", "congress.csv", "--json", cwd=folder)
        rows = [json.loads(line) for line in done.stdout.splitlines()]
        np.testing.assert_array_equal([row["q0.5"] for row in rows], forest.predict(X, 0.5))

    def test_a_reader_that_goes_away(self, folder):
        command = shell.start("predict", folder / "congress.cqrf", folder / "congress.csv")
        command.stdout.close()
        errors = command.stderr.read().decode()
        assert command.wait(timeout=120) == 141
        assert errors == ""


class TestOtherCommands:
    def test_fit_and_evaluate_for_machines(self, folder, tmp_path):
        data = (folder / "stormwater_cadmium.csv").read_text()
        # The limits as a laboratory writes them, and no event column.
        rows = list(csv.DictReader(io.StringIO(data)))
        for row in rows:
            row["cadmium"] = ("" if row.pop("event") == "1" else "<") + row.pop("time")
        with open(tmp_path / "water.csv", "w", newline="") as file:
            writer = csv.DictWriter(file, rows[0])
            writer.writeheader()
            writer.writerows(rows)
        arguments = ("--time", "cadmium", "--left", "--trees", 20, "--json", "--set")
        done = cqrf("fit", "water.csv", *arguments, "min_samples_split=30", cwd=tmp_path)
        told = json.loads(done.stdout)
        assert told["rows"] == 563
        assert told["censoring"] == "left"
        assert told["min_samples_split"] == 30
        assert told["censored"] == pytest.approx(0.48, abs=0.005)
        done = cqrf(
            *("evaluate", "water.cqrf", "water.csv", "--time", "cadmium", "--left", "--json"),
            cwd=tmp_path,
        )
        told = json.loads(done.stdout)
        assert told["rows"] == 563
        assert [row["quantile"] for row in told["quantiles"]] == [
            0.05,
            0.1,
            0.25,
            0.5,
            0.75,
            0.9,
            0.95,
        ]
        assert all(row["saving"] > 0 for row in told["quantiles"])
        done = cqrf("evaluate", "water.cqrf", "water.csv", "--time", "cadmium", cwd=tmp_path)
        assert done.returncode == 1
        assert "give --left" in one_line(done)

    def test_what_is_noted_and_kept(self, tmp_path):
        rng = np.random.default_rng(0)
        n = 40
        data = pd.DataFrame(
            {
                "weeks": rng.integers(1, 2000, n),
                "status": rng.integers(0, 3, n),
                "age": rng.integers(20, 80, n),
                "patient": [f"p{i}" for i in range(n)],
            }
        )
        data["weeks"] = data["weeks"].map("{:,}".format)
        data.to_csv(tmp_path / "data.csv")
        arguments = ("--time", "weeks", "--event", "status", "--event-value", "1", "--thousands")
        done = cqrf(
            *("fit", "data.csv", *arguments, ",", "--unit", "weeks", "--trees", 3, "--json"),
            cwd=tmp_path,
        )
        assert done.returncode == 0, done.stderr
        told = json.loads(done.stdout)
        assert told["features"] == ["age"]
        assert told["outcome"] == {"time": "weeks", "event": "status", "unit": "weeks"}
        notes = [line for line in done.stderr.splitlines() if line.startswith("cqrf: ")]
        assert notes == [
            "cqrf: data.csv: column 'status': '0', '2' all count as censored; competing events are "
            "not modelled",
            "cqrf: data.csv: column '' has no name of its own, as the index of a table: it is left "
            "out; --feature '' learns from it",
            "cqrf: data.csv: column 'patient' has another text in almost every row, as a name or "
            "an identifier: it is left out; --feature patient learns from it",
        ]
        forest = CensoredQuantileForest.load(tmp_path / "data.cqrf")
        assert forest.outcome_labels_ == OutcomeLabels("weeks", "status", "weeks")
        assert OutcomeColumns.of_forest(forest) == OutcomeColumns("weeks", "status")
        assert forest.target_.observed.max() > 1000.0

    def test_what_may_tell_the_future_is_noted(self, tmp_path):
        rng = np.random.default_rng(0)
        n = 200
        time = rng.integers(10, 3000, n)
        data = pd.DataFrame(
            {
                "time": [f"{t // 1000}.{t % 1000:03}" if t >= 1000 else str(t) for t in time],
                "event": rng.integers(0, 2, n),
                "age": rng.integers(20, 80, n),
                "entry": (time * rng.uniform(0.1, 0.9, n)).astype(int),
                "seen_until": np.where(np.arange(n) < 4, 7, time),
                "doctor_id": rng.choice(["A", "B"], n),
            }
        )
        data.to_csv(tmp_path / "data.csv", index=False)
        fit = ("fit", "data.csv", "--time", "time", "--event", "event", "--trees", 3)

        def notes(*arguments):
            done = cqrf(*fit, *arguments, cwd=tmp_path)
            assert done.returncode == 0, done.stderr
            return [line for line in done.stderr.splitlines() if line.startswith("cqrf: data.csv")]

        (doctor, points) = notes()
        assert "'doctor_id' is learned from as categories" in doctor
        assert "'time' seems to part thousands with its points: give --thousands ." in points
        doctor, entry, copy = notes("--thousands", ".", "--decimal", ",")
        assert "'entry' lies before 'time' in every row" in entry
        assert "'seen_until' nearly copies the outcome: it says 'time' in nearly every" in copy
        known = ("--feature", "doctor_id", "--feature", "entry", "--feature", "seen_until")
        assert notes("--thousands", ".", "--decimal", ",", *known) == []

    def test_demo(self, tmp_path):
        done = cqrf("demo", "--trees", 30, "-o", "tour", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert done.stdout.count("$ cqrf ") == 4
        files = {path.name for path in (tmp_path / "tour").iterdir()}
        assert files == {"congress.csv", "congress.cqrf", "new_members.csv", "report.html"}

    def test_bench(self):
        done = cqrf("bench", "--rows", "100,200", "--trees", 3, "--json", "-q")
        told = json.loads(done.stdout)
        assert [size["rows"] for size in told["sizes"]] == [100, 200]
        assert all(size["fit"] > 0 for size in told["sizes"])

    def test_completion(self, folder):
        script = cqrf("completion", "bash")
        assert "_CQRF_COMPLETE=bash_complete" in script.stdout
        words = "cqrf fit congress.csv --time age"
        environment = {
            **shell.ENVIRONMENT,
            "_CQRF_COMPLETE": "bash_complete",
            "COMP_WORDS": words,
            "COMP_CWORD": "4",
        }
        done = cqrf(env=environment, cwd=folder)
        assert done.stdout.split() == ["plain,age_at_entry"]

    def test_every_command_has_help(self):
        from cqrf.app.cli.program import COMMANDS, program

        for name in COMMANDS:
            command = program.get_command(None, name)
            assert command.get_short_help_str(80).endswith(".")


# Name: what is in data.csv, further arguments, exit code, words of the one line.
BAD = {
    "empty": (b"", (), 1, "data.csv: the file is empty"),
    "one column": (b"time\n1\n2\n", (), 1, "data.csv: there is no column 'event'"),
    "outcome only": (b"time,event\n1,1\n2,0\n", (), 1, "no column is left to learn from"),
    "wrong delimiter": (b"time;event;x\n1;1;2\n", (), 1, "--delimiter ';'"),
    "binary": (bytes(range(256)) * 50, (), 1, "data.csv: this is a binary file"),
    "latin-1": (
        "time,event,x\n1,1,é\n".encode("latin-1"),
        (),
        1,
        "column 'x', row 1: the text is not",
    ),
    "a million characters": (
        b"time,event,x\n1,1,2\n2,1,3\n3,0," + b"y" * 1_000_000 + b"\n",
        (),
        1,
        "column 'x', row 3: 'yyy",
    ),
    "no event": (b"time,event,x\n1,0,2\n2,0,3\n", (), 1, "data.csv: event is never True"),
    "event code": (b"time,event,x\n1,dead,2\n2,alive,3\n", (), 1, "--event-value"),
    "infinite": (b"time,event,x\n1,1,2\n2,0,inf\n", (), 1, "column 'x', row 2: infinity"),
    "bad parameter": (b"time,event,x\n1,1,2\n", ("--set", "criterion=gini"), 1, "criterion must"),
    "unknown parameter": (b"time,event,x\n1,1,2\n", ("--set", "tree=3"), 2, "NAME=VALUE"),
    "almost a parameter": (
        b"time,event,x\n1,1,2\n",
        ("--set", "min_sample_leaf=3"),
        2,
        "did you mean 'min_samples_leaf'?",
    ),
    "almost a column": (
        b"time,event,Age\n1,1,2\n",
        ("--drop", "age"),
        1,
        "--drop age: there is no such column; did you mean 'Age'?",
    ),
    "three letters, one of them wrong": (
        b"time,event,fin\n1,1,2\n",
        ("--drop", "fim"),
        1,
        "there is no such column; did you mean 'fin'?",
    ),
    "decimal commas": (
        b"time;event;x\n1;1;3,14\n2;0;2,5\n",
        ("--delimiter", ";"),
        1,
        "column 'x', row 1: '3,14' is not a number; ',' seems to be a decimal mark: give "
        "--decimal ,",
    ),
    "thousands": (
        b'time,event,x\n"1,022",1,3\n305,0,2\n',
        (),
        1,
        "column 'time', row 1: '1,022' is not a number; give --thousands , if it means 1022, or "
        "--decimal , if it means 1.022",
    ),
    "thousands and decimals alike": (b"", ("--thousands", "."), 2, "is . as well as --decimal"),
    "negative time": (b"time,event,x\n1,1,2\n-2,0,3\n", (), 1, "row 2: -2 is negative"),
    "copy of the time": (
        b"time,event,x\n306,1,306 days\n7,0,7 days\n9,1,9 days\n",
        (),
        1,
        "column 'x': copies the outcome: it says '306 days' where 'time' is 306",
    ),
    "start-stop rows": (
        b"time0,time,event,x\n0,1,0,2\n1,3,1,2\n",
        (),
        1,
        "column 'time0': rows seem to be intervals",
    ),
    "only identifiers": (
        b",time,event\n" + b"".join(b"%d,%d,1\n" % (i, i * i) for i in range(12)),
        (),
        1,
        "no column is left to learn from beside time and event ('' only tells rows apart)",
    ),
    "a third code": (
        b"time,event,x\n1,0,2\n2,1,3\n3,2,3\n",
        (),
        1,
        "there are '0', '1', '2': say which value means that the event was seen",
    ),
    "unknown option": (b"", ("--tree", "3"), 2, "No such option"),
    "output folder": (b"time,event,x\n1,1,2\n2,0,3\n", ("-o", "no/m.cqrf"), 1, "No such file"),
}


class TestErrors:
    @pytest.mark.parametrize("case", BAD)
    def test_one_line_and_no_file(self, case, tmp_path):
        content, arguments, code, words = BAD[case]
        (tmp_path / "data.csv").write_bytes(content)
        done = cqrf("fit", "data.csv", *FIT, *arguments, cwd=tmp_path)
        line = one_line(done)
        assert words in line
        assert done.returncode == code
        assert len(line) < 500
        assert [path.name for path in tmp_path.iterdir()] == ["data.csv"]

    def test_bom_is_no_error(self, folder, tmp_path):
        content = b"\xef\xbb\xbf" + (folder / "congress.csv").read_bytes()
        (tmp_path / "data.csv").write_bytes(content)
        done = cqrf("fit", "data.csv", *FIT, cwd=tmp_path)
        assert done.returncode == 0
        assert "7 features" in done.stdout

    def test_a_table_that_lacks_a_column(self, folder, tmp_path):
        data = pd.read_csv(folder / "congress.csv").drop(columns="party")
        done = cqrf("predict", folder / "congress.cqrf", "-", stdin=data.to_csv(index=False))
        assert done.returncode == 1
        assert "standard input: there is no column 'party', which the model needs" in one_line(done)

    def test_not_a_model(self, folder):
        done = cqrf("predict", "congress.csv", "congress.csv", cwd=folder)
        assert done.returncode == 1
        assert "congress.csv: this is not a cqrf model file" in one_line(done)

    def test_no_arguments_at_all(self):
        assert cqrf().stdout == cqrf("--help").stdout
        done = cqrf("paper")
        assert done.returncode == 2
        assert "Usage: cqrf paper" in done.stderr

    def test_almost_a_command(self):
        done = cqrf("fti", "data.csv")
        assert done.returncode == 2
        assert (
            one_line(done) == "cqrf: No such command 'fti'; did you mean 'fit'? (see cqrf --help)"
        )
        assert "did you mean" not in cqrf("xyz").stderr

    def test_debug_shows_where(self, tmp_path):
        done = cqrf("predict", "no.cqrf", "--debug", cwd=tmp_path)
        assert done.returncode == 1
        assert "Traceback" in done.stderr

    def test_a_bug_is_called_one(self):
        code = (
            "import sys, cqrf.app.cli.program as program\n"
            "import cqrf.app.cli.bench as bench\n"
            "bench.measure = lambda *a: 1 / 0\n"
            "program.main(['bench', '-q'])\n"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        assert done.returncode == 3
        assert "error in cqrf itself: ZeroDivisionError" in one_line(done)

    @pytest.mark.parametrize(
        ("module", "command"), [("pyarrow", "fit"), ("pandas", "fit"), ("jinja2", "report")]
    )
    def test_a_missing_extra_is_named(self, module, command):
        code = (
            "import sys, importlib.util as u\n"
            "find = u.find_spec\n"
            f"u.find_spec = lambda name, *a: None if name == {module!r} else find(name, *a)\n"
            "from cqrf.app.cli import main\n"
            f"main([{command!r}, 'data.csv', '--time', 't'])\n"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        assert done.returncode == 1
        assert one_line(done) == (
            f"cqrf: {module} is not installed; it comes with: pip install 'cqrf[cli]'"
        )


@pytest.mark.skipif(os.name != "posix", reason="signals to one process")
class TestInterrupts:
    """A command that was stopped leaves nothing, and an older file as it was."""

    def feed(self, command, content):
        """Write more than a pipe holds: when it is gone, the command has begun to read."""
        command.stdin.write(content)
        command.stdin.flush()

    @pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGKILL])
    def test_predict(self, folder, tmp_path, sent):
        out = tmp_path / "out.csv"
        out.write_text("old")
        command = shell.start("predict", folder / "congress.cqrf", "-", "-o", out)
        head, rows = (folder / "congress.csv").read_bytes().split(b"\n", 1)
        self.feed(command, head + b"\n" + rows * 40)
        command.send_signal(sent)
        errors = command.communicate(timeout=60)[1].decode()
        assert out.read_text() == "old"
        assert list(tmp_path.iterdir()) == [out]
        if sent == signal.SIGINT:
            assert command.returncode == 130
            assert errors.strip() == "cqrf: interrupted"

    @pytest.mark.parametrize("name", ["fit", "report"])
    def test_learning(self, folder, tmp_path, name):
        command = shell.start(
            *(name, "-", "--time", "time", "--event", "event", "--trees", 10_000_000, "-q"),
            *("-o", tmp_path / "out"),
        )
        head, rows = (folder / "congress.csv").read_bytes().split(b"\n", 1)
        self.feed(command, head + b"\n" + rows * 4)
        command.stdin.close()
        command.stdin = None
        command.send_signal(signal.SIGINT)
        errors = command.communicate(timeout=60)[1].decode()
        assert command.returncode == 130
        assert errors.strip() == "cqrf: interrupted"
        assert list(tmp_path.iterdir()) == []


GUIDE = Path(__file__).parents[3] / "docs" / "guide" / "command_line.md"


def test_the_guide_quotes_what_is_said(tmp_path):
    rows = [f"{i},{i * 7 % 31},{i % 2},{20 + i % 13}" for i in range(20)]
    head = "id,days,died,age"
    cases = {
        "--drop Age": ([head, *rows], ("--drop", "Age")),
        "'n.a.'": ([head, *rows[:16], "17,3,1,n.a.", *rows], ()),
        "'3,14'": ([head + ",bmi", *(f'{row},"3,14"' for row in rows)], ()),
    }
    quoted = [line for line in GUIDE.read_text().splitlines() if line.startswith("cqrf: ")]
    assert len(quoted) == len(cases)
    for words, (lines, arguments) in cases.items():
        (tmp_path / "patients.csv").write_text("\n".join(lines))
        done = cqrf(
            *("fit", "patients.csv", "--time", "days", "--event", "died", *arguments), cwd=tmp_path
        )
        (expected,) = [line for line in quoted if words in line]
        assert one_line(done) == expected
