"""How long ``cqrf fit`` and ``cqrf report`` take, and on what.

    python benchmarks/command_line.py

Fits a CSV file of 100,000 rows and 10 features and tells how much of the time of the whole process,
from its start to its end, is spent growing trees; writes the report on 5,000 rows and tells its
seconds and its size. Both with two threads. Processor time is told too: on a busy machine it says
more than the clock.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter

import numpy as np

# Runs the command in a process of its own, and adds up the time inside the loops that grow trees.
CHILD = """
import atexit, json, sys, time
import cqrf.growing.grow, cqrf.growing.leaf_size, cqrf.forest
grown = 0.0
def timed(function):
    def wrapped(*args, **options):
        global grown
        start = time.perf_counter()
        try:
            return function(*args, **options)
        finally:
            grown += time.perf_counter() - start
    return wrapped
in_batches = timed(cqrf.growing.grow.in_batches)
cqrf.growing.grow.in_batches = cqrf.growing.leaf_size.in_batches = in_batches
atexit.register(lambda: print(json.dumps({"grown": grown}), file=sys.stderr))
from cqrf.app.cli import main
main(sys.argv[1:])
"""


def write_csv(path: Path, rows: int, features: int) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, features))
    latent = np.exp(X[:, 0] + 0.5 * X[:, 1] * X[:, 2] + 0.5 * rng.normal(size=rows))
    limit = rng.exponential(3.0, rows)
    table = np.column_stack([np.minimum(latent, limit), latent <= limit, X])
    names = ["time", "event", *(f"x{j}" for j in range(features))]
    formats = ["%.6g", "%d"] + ["%.6g"] * features
    np.savetxt(path, table, delimiter=",", header=",".join(names), comments="", fmt=formats)


def run(arguments: list[str], folder: str) -> tuple[float, float, float]:
    start, used = perf_counter(), processor_time()
    done = subprocess.run(
        [sys.executable, "-c", CHILD, *arguments],
        cwd=folder,
        check=True,
        capture_output=True,
        text=True,
    )
    seconds = perf_counter() - start
    return seconds, processor_time() - used, json.loads(done.stderr.splitlines()[-1])["grown"]


def processor_time() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--report-rows", type=int, default=5_000)
    parser.add_argument("--features", type=int, default=10)
    parser.add_argument("--trees", type=int, default=1000)
    options = parser.parse_args()
    common = ["--time", "time", "--event", "event", "--jobs", "2", "-q"]
    common += ["--trees", str(options.trees)]
    with tempfile.TemporaryDirectory() as folder:
        write_csv(Path(folder, "data.csv"), options.rows, options.features)
        size = os.path.getsize(Path(folder, "data.csv")) / 1e6
        seconds, used, grown = run(["fit", "data.csv", *common], folder)
        model = os.path.getsize(Path(folder, "data.cqrf")) / 1e6
        print(
            f"fit: {options.rows:,} x {options.features}, {size:.1f} MB of CSV to {model:.1f} MB: "
            f"{seconds:.1f} s ({used:.1f} s of processor time), "
            f"{grown / seconds:.0%} of it growing trees",
            flush=True,
        )
        write_csv(Path(folder, "data.csv"), options.report_rows, options.features)
        seconds, used, _ = run(["report", "data.csv", *common], folder)
        size = os.path.getsize(Path(folder, "report.html")) / 1e6
        print(
            f"report: {options.report_rows:,} rows: {seconds:.1f} s ({used:.1f} s of processor "
            f"time), {size:.2f} MB"
        )


if __name__ == "__main__":
    main()
