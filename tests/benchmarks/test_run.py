"""`make bench` from beginning to end, in its smallest size."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.slow,
    # Three dozen processes are started, which a busy machine may take minutes for.
    pytest.mark.timeout(600),
]

# Starting a process takes longer than all that it does here: one neighbour shows that others work.
WITHOUT = ["scikit-learn", "LightGBM rf", "comprisk", "quantile-forest, one sample"]
SCRIPT = Path(__file__).parents[2] / "benchmarks" / "run.py"


def bench(folder, *arguments):
    """Run the command with all that it writes in a folder; return what it says."""
    places = ["--results", "results", "--cache", "cache", "--page", "docs/benchmarks.md"]
    command = [sys.executable, str(SCRIPT), "--scale", "tiny", *places, *arguments]
    command += ["--without", *WITHOUT]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=550)
    assert done.returncode == 0, done.stderr
    return done.stderr


def figures_in(folder):
    return sorted((folder / "results").glob("*/*.json"))


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bench")
    bench(folder)
    return folder


def test_the_page_tells_targets_pictures_and_details(measured):
    page = (measured / "docs" / "benchmarks.md").read_text()
    headings = [line[3:] for line in page.splitlines() if line.startswith("## ")]
    assert headings == [
        "Targets",
        "How it grows",
        "Predicting 1,000 rows",
        "One row at a time",
        "Memory of a prediction",
        "Fitting",
        "Shares of a fit",
        "The default criterion",
        "Where the time goes",
        "Large, wide and categorical data",
        "Bins by rows or by columns",
        "Accuracy",
    ]
    assert "predict: quantile-forest / cqrf" in page
    assert "nan" not in page
    picture = (measured / "docs" / "images" / "bench_n.svg").read_text()
    assert "quantile-forest" in picture
    assert "training rows" in picture


def test_figures_carry_where_they_come_from(measured):
    for path in figures_in(measured):
        machine = json.loads(path.read_text())["machine"]
        assert machine["processor"]
        assert machine["versions"]["cqrf"]
        assert machine["date"]
        assert "load" in machine


def test_what_is_stored_is_not_measured_again_and_what_is_missing_is(measured):
    before = {path: path.stat().st_mtime_ns for path in figures_in(measured)}
    missing = next(path for path in before if path.parent.name == "shares")
    missing.unlink()
    bench(measured)
    after = {path: path.stat().st_mtime_ns for path in figures_in(measured)}
    assert set(after) == set(before)
    assert [path for path in before if after[path] != before[path]] == [missing]


def test_an_unknown_part_is_refused(tmp_path):
    command = [sys.executable, str(SCRIPT), "predikt"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 2
    assert "no part 'predikt'" in done.stderr
