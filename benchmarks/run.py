"""Measure fit and predict against the neighbours, as ratios in one run.

Run by `make bench`; ARGS="--quick" takes a minute, the whole several, on an otherwise idle machine.
A missed target is reported and is no error, unless --strict is given.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import report
from measure import Comparison, Timing, compare, fastest, round_robin

THREADS = (1, 2)
SIZES = [(20_000, 50), (100_000, 100)]
QUICK_SIZES = [(4_000, 20), (10_000, 50)]

FASTER_THAN_SCIKIT_LEARN = 15.0
FASTER_THAN_LIGHTGBM = 3.0
FASTER_THAN_QUANTILE_FOREST = 2.5
TWO_THREADS_OVER_ONE = 1.7


def main(argv: Sequence[str] | None = None) -> int:
    options = parse(argv)
    # Thread pools read these when their library is loaded, so the imports of the libraries come
    # later. LightGBM's OpenMP may use two threads, and each call says how many.
    os.environ["OMP_NUM_THREADS"] = str(max(THREADS))
    for name in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"):
        os.environ[name] = "1"
    import contenders

    machine = report.describe_machine()
    print("\n".join(report.machine_lines(machine)), flush=True)
    threads = [k for k in THREADS if k <= machine["cores"]]
    if len(threads) < len(THREADS):
        print("WARNING: one core only; nothing is measured on two threads.", flush=True)

    results = [run_size(n, leaf, threads, options) for n, leaf in options.sizes]
    method = report.METHOD.format(trees=contenders.N_TREES, p=contenders.N_FEATURES)
    text = report.markdown(machine, results, method)
    print("\n" + text, end="")
    report.write_json(options.output, machine, results)
    if options.markdown is not None:
        options.markdown.parent.mkdir(parents=True, exist_ok=True)
        options.markdown.write_text(text, encoding="utf-8")

    missed = sum(each.passed is False for result in results for each in result.comparisons)
    print(f"\n{missed} targets missed." if missed else "\nAll targets met.")
    if options.sizes != SIZES:
        print("The targets were set for the default sizes.")
    return 1 if options.strict and missed else 0


def run_size(
    n: int, leaf: int, threads: Sequence[int], options: argparse.Namespace
) -> report.Result:
    from accuracy import measure_accuracy
    from contenders import N_PREDICTED, Data, fitting, predicting

    progress = partial(show_progress, f"n = {n:,}, leaf {leaf}")
    data = Data.draw(n, N_PREDICTED, seed=0)
    timings = round_robin(
        fitting(data, leaf, threads), options.repeats, lambda step: progress(f"fit, {step}")
    )
    progress("growing the forests to predict with")
    timings += round_robin(
        predicting(data, leaf, threads), options.repeats, lambda step: progress(f"predict, {step}")
    )
    accuracy = []
    if options.seeds:
        accuracy = measure_accuracy(
            n, leaf, seeds=options.seeds, threads=max(threads), progress=progress
        )
    return report.Result(n, leaf, timings, comparisons(timings, threads), accuracy)


def comparisons(timings: Sequence[Timing], threads: Sequence[int]) -> list[Comparison]:
    """Pair the timings, those with a target first."""
    from contenders import LIGHTGBM, OURS, OURS_CENSORED, QUANTILE_FOREST, SCIKIT_LEARN

    at = {(each.task, each.method, each.threads): each for each in timings}
    peers = [
        ("fit", SCIKIT_LEARN, FASTER_THAN_SCIKIT_LEARN),
        ("fit", LIGHTGBM, FASTER_THAN_LIGHTGBM),
        ("predict", QUANTILE_FOREST, FASTER_THAN_QUANTILE_FOREST),
    ]
    found = [
        compare(
            f"{peer} / {OURS}",
            fastest([at[task, peer, j] for j in threads if j <= k]),
            at[task, OURS, k],
            target,
        )
        for task, peer, target in peers
        for k in threads
    ]
    tasks = ("fit", "predict")
    if len(threads) > 1:
        one, two = threads
        found += [
            compare(
                f"{OURS}, one thread / two",
                at[task, OURS, one],
                at[task, OURS, two],
                TWO_THREADS_OVER_ONE,
            )
            for task in tasks
        ]
    found += [
        compare(f"{OURS_CENSORED} / none", at[task, OURS_CENSORED, k], at[task, OURS, k])
        for task in tasks
        for k in threads
    ]
    return found


def parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small sizes, two repeats")
    parser.add_argument("--repeats", type=positive, help="repeats of each run (default: 7)")
    parser.add_argument(
        "--sizes",
        type=size,
        nargs="+",
        metavar="N:LEAF",
        help="training rows and leaf sizes (default: 20000:50 100000:100)",
    )
    parser.add_argument(
        "--seeds", type=int, help="draws for the accuracy table (default: 5); 0 leaves it out"
    )
    parser.add_argument(
        "--output",
        type=Path,
        default=Path(__file__).parent / "results" / "speed.json",
        help="file for the raw seconds (default: results/speed.json beside this script)",
    )
    parser.add_argument("--markdown", type=Path, help="file for the tables")
    parser.add_argument("--strict", action="store_true", help="exit with 1 if a target is missed")
    options = parser.parse_args(argv)
    options.sizes = options.sizes or (QUICK_SIZES if options.quick else SIZES)
    options.repeats = options.repeats or (2 if options.quick else 7)
    if options.seeds is None:
        options.seeds = 2 if options.quick else 5
    return options


def size(text: str) -> tuple[int, int]:
    n, _, leaf = text.partition(":")
    return positive(n), positive(leaf)


def positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise ValueError(text)
    return value


def show_progress(where: str, step: str) -> None:
    print(f"{where}: {step}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
