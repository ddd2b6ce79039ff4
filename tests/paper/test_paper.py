"""`cqrf paper`: the methods, the store, and a quick run of all experiments as a command."""

import csv
import itertools
import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import pytest

from cqrf import CensoredQuantileForest
from cqrf.datasets import make_aft
from cqrf.paper import ORDER, load_experiments
from cqrf.paper.anchors import SAME, anchor, anchors
from cqrf.paper.experiment import EXPERIMENTS, LEVELS
from cqrf.paper.methods import METHODS, Task, select
from cqrf.paper.real import DATA_SETS
from cqrf.paper.run import run
from cqrf.paper.settings import Settings, Store, write_csv
from cqrf.paper.simulations import MODELS, PAPER_MODELS
from cqrf.paper.tables import mean, ratio
from cqrf.paper.tables import select as select_rows

load_experiments()


TEST = make_aft(40, n_features=5, random_state=99)


def task(n=150, seed=0, **changes):
    train = make_aft(n, n_features=5, random_state=seed)
    return replace(
        Task(
            X=train.X,
            time=train.time,
            event=train.event,
            latent=train.latent,
            X_test=TEST.X,
            quantiles=np.array(LEVELS),
            node_size=10,
            n_trees=30,
            seed=seed,
        ),
        **changes,
    )


RUN = ["paper", "run", "equations", "--quick"]


def cqrf(*arguments, **options):
    return subprocess.run(
        [sys.executable, "-m", "cqrf", *arguments],
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
        **options,
    )


class TestMethods:
    @pytest.mark.parametrize("name", list(METHODS))
    def test_shape_and_order(self, name):
        if not METHODS[name].available:
            pytest.skip(f"{METHODS[name].module} is not installed")
        answers = METHODS[name].predict(task())
        assert answers.shape == (40, 5)
        assert np.isfinite(answers).all()
        # Medians follow the truth.
        truth = TEST.quantile(TEST.X, [0.5])[:, 0]
        assert np.corrcoef(answers[:, 2], truth)[0, 1] > 0.5

    @pytest.mark.parametrize("name", [m.name for m in METHODS.values() if "left" in m.censoring])
    def test_left_censoring_is_the_mirror(self, name):
        right = task()
        left = replace(right, time=-right.time, latent=-right.latent, censoring="left")
        answers = METHODS[name].predict(left)
        mirrored = -METHODS[name].predict(replace(right, quantiles=1.0 - right.quantiles))
        # Midpoints and first roots are mirrored; "lower" and ties go to the other side.
        assert np.abs(answers - mirrored).mean() < 0.1 * np.ptp(right.time)

    @pytest.mark.parametrize("name", [m.name for m in METHODS.values() if not m.oracle])
    def test_only_oracles_look_at_the_true_times(self, name):
        if not METHODS[name].available:
            pytest.skip(f"{METHODS[name].module} is not installed")
        given = task(n_trees=5)
        blind = replace(given, latent=np.full_like(given.latent, np.nan))
        np.testing.assert_array_equal(METHODS[name].predict(given), METHODS[name].predict(blind))

    @pytest.mark.parametrize("name", [m.name for m in METHODS.values() if m.uses_node_size])
    def test_node_size_matters(self, name):
        if not METHODS[name].available:
            pytest.skip(f"{METHODS[name].module} is not installed")
        few, many = (METHODS[name].predict(task(node_size=size, n_trees=5)) for size in (5, 60))
        assert (few != many).any()

    def test_a_bootstrap_counts_distinct_rows(self):
        # R's node size 20 of drawn rows is about 13 distinct ones.
        given = task(node_size=20)
        forest = CensoredQuantileForest(
            given.n_trees,
            criterion="mse",
            bootstrap=True,
            max_features=1 / 3,
            min_samples_split=14,
            solver="argmin",
            random_state=given.seed,
        ).fit(given.X, given.time, given.event)
        np.testing.assert_array_equal(
            METHODS["crf"].predict(given), forest.predict(given.X_test, LEVELS)
        )

    def test_unknown_name(self):
        with pytest.raises(ValueError, match="no such method"):
            select(["crf", "no such method"])

    def test_qrf_is_as_good_as_the_quantile_forest_package(self):
        quantile_forest = pytest.importorskip("quantile_forest")
        ours, theirs = [], []
        for seed in range(8):
            given = task(n=300, seed=seed, n_trees=100)
            truth = TEST.quantile(TEST.X, LEVELS)
            peer = quantile_forest.RandomForestQuantileRegressor(
                100, max_features=1, min_samples_split=11, max_samples_leaf=None, random_state=seed
            ).fit(given.X, given.latent)
            answers = peer.predict(given.X_test, quantiles=list(LEVELS))
            theirs.append(np.abs(answers - truth).mean())
            ours.append(np.abs(METHODS["qrf-oracle"].predict(given) - truth).mean())
        difference = np.subtract(ours, theirs)
        # They differ in which rows fill the leaves; by far less than either errs.
        assert abs(difference.mean()) < 0.05 * np.mean(theirs)


class TestStore:
    def test_what_is_stored_is_not_run_again(self, tmp_path):
        settings = Settings(reps=3, trees=5, quick=True)
        experiment = EXPERIMENTS["equations"]
        run([experiment], settings, tmp_path, n_jobs=1, verbose=False)
        store = Store(tmp_path, settings)
        assert store.missing("equations", 3) == []
        before = {r: store.path("equations", r).stat().st_mtime_ns for r in range(3)}
        text = store.path("equations", 1).read_text()
        store.path("equations", 1).unlink()
        assert store.missing("equations", 3) == [1]
        run([experiment], settings, tmp_path, n_jobs=1, verbose=False)
        assert store.path("equations", 1).read_text() == text
        for r in (0, 2):
            assert store.path("equations", r).stat().st_mtime_ns == before[r]
        # More replications go on; other settings start anew.
        assert store.missing("equations", 5) == [3, 4]
        assert Store(tmp_path, replace(settings, trees=6)).missing("equations", 1) == [0]

    def test_rows_come_back(self, tmp_path):
        store = Store(tmp_path, Settings())
        rows = [
            {"method": "crf", "quantile": 0.1, "metric": "mad", "node_size": 3, "value": 1 / 3},
            {"method": "data", "setting": "x", "metric": "censored", "value": 0.25},
        ]
        store.write("any", 0, rows)
        first, second = store.read("any", 1)
        assert first["value"] == pytest.approx(1 / 3, rel=1e-8)
        assert (first["quantile"], first["node_size"], first["replication"]) == (0.1, 3, 0)
        assert (second["quantile"], second["node_size"], second["setting"]) == (None, None, "x")

    @pytest.mark.parametrize(
        "conditions",
        [
            {},
            {"setting": "b"},
            {"method": ("crf", "grf"), "metric": "mad"},
            {"setting": ["a", "b"], "method": "qrf", "node_size": None},
            {"setting": "c"},
            {"quantile": (0.1, 0.9)},
        ],
        ids=str,
    )
    def test_stored_rows_are_found_as_in_a_list(self, tmp_path, conditions):
        store = Store(tmp_path, Settings())
        places = itertools.product("ab", ("crf", "qrf", "grf"), (0.1, 0.5, 0.9), ("mad", "mse"))
        rows = [
            {"setting": s, "method": m, "quantile": q, "metric": metric, "value": float(k)}
            for k, (s, m, q, metric) in enumerate(places)
        ]
        store.write("any", 0, rows)
        stored = store.read("any", 1)
        expected = [row["value"] for row in select_rows(list(stored), **conditions)]
        assert sorted(row["value"] for row in select_rows(stored, **conditions)) == expected
        assert (len(expected) == 0) == (conditions.get("setting") == "c")

    def test_a_failed_write_leaves_nothing(self, tmp_path):
        path = tmp_path / "table.csv"
        write_csv(path, [{"value": 1.0}])
        before = path.read_bytes()
        with pytest.raises(KeyError):
            write_csv(path, [{"value": 2.0}, {"metric": "no value"}])
        assert path.read_bytes() == before
        assert [p.name for p in tmp_path.iterdir()] == ["table.csv"]

    def test_replications_do_not_depend_on_each_other(self):
        settings = Settings(reps=2, trees=5, quick=True)
        experiment = EXPERIMENTS["aft_1d"]
        first = experiment.replicate(1, settings)
        assert first == experiment.replicate(1, settings)
        assert first != experiment.replicate(0, settings)
        assert first != experiment.replicate(1, replace(settings, seed=1))


ROWS = [
    {"replication": r, "method": m, "value": float(v)}
    for m, values in {"a": (1, 2, 3), "b": (2, 4, 6)}.items()
    for r, v in enumerate(values)
]


class TestTables:
    def test_mean(self):
        cell = mean(ROWS, method="a")
        assert (cell.mean, cell.error) == (2.0, pytest.approx(1 / np.sqrt(3)))
        with pytest.raises(KeyError, match="no rows"):
            mean(ROWS, method="c")

    def test_ratio_of_proportional_values_has_no_error(self):
        cell = ratio(mean(ROWS, method="a"), mean(ROWS, method="b"))
        assert (cell.mean, cell.error) == (0.5, 0.0)


class TestRegistry:
    def test_everything_of_the_paper_is_there(self):
        assert set(ORDER) == set(EXPERIMENTS)

    def test_left_censored_models_are_mirrors(self):
        right, left = MODELS["aft_5d"].draw(50, 3), MODELS["aft_5d_left"].draw(50, 3)
        np.testing.assert_array_equal(left.time, -right.time)
        np.testing.assert_array_equal(left.event, right.event)
        np.testing.assert_allclose(
            left.quantile(left.X, [0.1, 0.5]), -right.quantile(right.X, [0.9, 0.5])
        )

    def test_half_censored(self):
        data = MODELS["aft_1d_half"].draw(20_000, 0)
        assert 0.49 < 1 - data.event.mean() < 0.53

    def test_anchors_are_complete(self):
        assert len(anchors()) == 380
        for model in PAPER_MODELS:
            for method in SAME:
                for level in LEVELS:
                    assert anchor(model, method, level)["mad"] > 0

    def test_real_data_is_asked_for(self, tmp_path):
        for name in ("real", "real_node_size"):
            assert "--data" in EXPERIMENTS[name].missing_data(Settings())
            missing = EXPERIMENTS[name].missing_data(Settings(data=tmp_path))
            assert all(data.file in missing for data in DATA_SETS.values())


def write_real_data(folder):
    """Tables of the right form; the real ones are not redistributed."""
    rng = np.random.default_rng(0)
    for data in DATA_SETS.values():
        n = data.sample or 120
        with (folder / data.file).open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["kind", "x", data.response])
            for i in range(n):
                x = rng.uniform()
                y = 10 + 20 * x + rng.normal()
                writer.writerow(["ab"[i % 2], f"{x:.4f}" if i else "NA", f"{y:.4f}"])


@pytest.fixture(scope="module")
def quick(tmp_path_factory):
    folder = tmp_path_factory.mktemp("paper")
    write_real_data(folder)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = cqrf(
        "paper", "run", "all", "--quick", "--data", str(folder), "--out", str(folder / "out"),
        env=environment,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return folder / "out", done


@pytest.mark.slow
@pytest.mark.timeout(900)
class TestQuickRun:
    # What must hold even in three replications.
    MUST_HOLD = (
        r"crf estimates quantiles better than forests that ignore censoring",
        r"crf is better than qrf and grf at every node size\. It is at 3 of 3 sizes \(MAD",
        r"The root on censored data approaches",
        r"Both estimators approach the true curve",
        r"Intervals of qrf and grf are too wide",
        r"Under left censoring, too",
        r"the error of our default falls to zero",
        r"at most 1\.05 of the qrf-oracle's on average",
        r"grf agrees with grf \(grf::quantile_forest\)",
    )

    def test_claims(self, quick):
        _, done = quick
        for claim in self.MUST_HOLD:
            lines = [line for line in done.stdout.splitlines() if re.search(claim, line)]
            assert lines, claim
            for line in lines:
                assert line.startswith("  yes"), line

    def test_our_default_is_better_in_five_dimensions(self, quick):
        folder, _ = quick
        for name in ("aft_5d", "manifold_5d", "aft_5d_dependent", "heteroscedastic"):
            with (folder / f"{name}.csv").open(newline="") as file:
                rows = [
                    {"replication": int(row["replication"]), "method": row["method"],
                     "metric": row["metric"], "value": float(row["value"])}
                    for row in csv.DictReader(file)
                ]  # fmt: skip
            value = ratio(
                mean(rows, method="cqrf", metric="mad"), mean(rows, method="crf", metric="mad")
            )
            assert value.mean + 2 * value.error < 1, name

    def test_files(self, quick):
        folder, _ = quick
        for name in ORDER:
            assert (folder / f"{name}.csv").exists()
        figures = {path.name for path in (folder / "figures").iterdir()}
        assert len(figures) > 40
        assert all(name.replace(".png", ".svg") in figures for name in figures)
        assert not list(folder.rglob("*.tmp"))

    def test_page_is_self_contained(self, quick):
        folder, _ = quick
        page = (folder / "index.html").read_text(encoding="utf-8")
        assert not re.findall(r'(?:src|href)="(?!data:|#)', page)
        assert page.count("<figure>") == len(list((folder / "figures").glob("*.png")))
        assert page.count("</section>") == len(ORDER)

    def test_a_second_run_only_draws(self, quick):
        folder, first = quick
        done = cqrf("paper", "run", "equations", "--quick", "--out", str(folder))
        assert done.returncode == 0
        evidence = next(line for line in first.stdout.splitlines() if "Mean distance" in line)
        assert evidence in done.stdout


@pytest.mark.slow
class TestCommand:
    @pytest.mark.parametrize(
        ("missing", "arguments", "extra"),
        [("click", ["paper", "list"], "cqrf[cli]"), ("matplotlib", RUN, "cqrf[paper]")],
    )
    def test_a_missing_extra_is_named_before_any_work(self, missing, arguments, extra, tmp_path):
        # A finder that knows nothing of the package, in front of those that do.
        code = (
            "import sys, importlib.util as u\n"
            f"missing = {missing!r}\n"
            "sys.modules[missing] = None\n"
            "find = u.find_spec\n"
            "u.find_spec = lambda name, *a: None if name == missing else find(name, *a)\n"
            "from cqrf.app.cli import main\n"
            "main()\n"
        )
        command = [sys.executable, "-c", code, *arguments]
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=120, check=False, cwd=tmp_path
        )
        assert done.returncode == 1
        assert extra in done.stderr
        assert "Traceback" not in done.stderr
        assert not list(tmp_path.iterdir())

    def test_list(self):
        done = cqrf("paper", "list")
        assert done.returncode == 0
        for name in (*ORDER, *METHODS):
            assert name in done.stdout

    def test_unknown_experiment(self):
        done = cqrf("paper", "run", "no_such_thing")
        assert done.returncode == 2
        assert "no_such_thing" in done.stderr
        assert "Traceback" not in done.stderr

    def test_real_data_without_data(self, tmp_path):
        done = cqrf("paper", "run", "real", "--out", str(tmp_path))
        assert done.returncode == 1
        assert "boston_housing.csv" in done.stderr
        assert "Traceback" not in done.stderr

    @pytest.mark.skipif(os.name != "posix", reason="signals to a group of processes")
    def test_an_interrupted_run_goes_on(self, tmp_path):
        arguments = ["paper", "run", "intervals", "--reps", "6", "--trees", "100"]
        settings = Settings(reps=6, trees=100)
        command = [sys.executable, "-m", "cqrf", *arguments, "--out", str(tmp_path)]
        process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        store = Store(tmp_path, settings)
        deadline = time.monotonic() + 120
        while len(store.missing("intervals", 6)) == 6 and time.monotonic() < deadline:
            time.sleep(0.01)
        os.killpg(process.pid, signal.SIGINT)
        _, errors = process.communicate(timeout=60)
        done = 6 - len(store.missing("intervals", 6))
        assert done >= 1
        if done < 6:
            assert process.returncode == 130
            assert "run the same command to go on" in errors
            assert not (tmp_path / "index.html").exists()
        again = cqrf(*arguments, "--out", str(tmp_path))
        assert again.returncode == 0
        assert store.missing("intervals", 6) == []
        assert not list(tmp_path.rglob("*.tmp"))
