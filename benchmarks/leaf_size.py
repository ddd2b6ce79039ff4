"""How good the leaf size is that the forest chooses for itself.

Excess: the MAD at the chosen size over that at the size which is best for the model and the number
of rows, known only to a simulation. Large samples: the size extrapolated from a part of the rows
beside the size chosen from all of them.

    python benchmarks/leaf_size.py --replications 10 --trees 200 --markdown docs/leaf_size.md
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from unittest import mock

import numpy as np
from joblib import Parallel, delayed
from models import LEVELS, MODELS, mad
from numpy.typing import NDArray

from cqrf import CensoredQuantileForest, _tuning

SIZES = (200, 400, 800, 1600)
# Mean and largest excess over models and numbers of rows.
TARGET = (1.06, 1.25)
LARGE = 100_000
LARGE_MODELS = ("AFT, 1-D", "AFT, 5-D", "location-scale, 5-D", "crossing hazards")


def path_of_mad(
    model: str, n: int, replication: int, trees: int
) -> tuple[NDArray[np.int64], list[float], int]:
    """Sizes, their MAD, and which of them was chosen."""
    train, test = MODELS[model].draw(replication, n)
    chosen = CensoredQuantileForest(trees, random_state=replication).fit(
        train.X, train.time, train.event
    )
    errors = []
    for size in chosen.leaf_size_path_.size:
        forest = CensoredQuantileForest(
            trees, min_samples_split=int(size), random_state=replication
        ).fit(train.X, train.time, train.event)
        errors.append(mad(forest.predict(test.X, LEVELS), test))
    path = chosen.leaf_size_path_
    return path.size, errors, int(np.argmin(path.loss))


def excess_table(replications: int, trees: int, first: int) -> tuple[list[str], bool]:
    lines = [
        "| excess MAD (best size; chosen, geometric mean) | "
        + " | ".join(f"n = {n:,}" for n in SIZES)
        + " |",
        "|---" * (1 + len(SIZES)) + "|",
    ]
    excess = []
    for model in MODELS:
        cells = []
        for n in SIZES:
            print(model, n, file=sys.stderr, flush=True)
            runs = Parallel(n_jobs=-1)(
                delayed(path_of_mad)(model, n, first + r, trees) for r in range(replications)
            )
            sizes = runs[0][0]
            errors = np.array([run[1] for run in runs])
            at_chosen = np.mean([run[1][run[2]] for run in runs])
            best = errors.mean(axis=0).argmin()
            excess.append(at_chosen / errors.mean(axis=0)[best])
            chosen = np.exp(np.mean([np.log(sizes[run[2]]) for run in runs]))
            cells.append(f"{excess[-1]:.3f} ({sizes[best]}; {chosen:.0f})")
        lines.append(f"| {model} | " + " | ".join(cells) + " |")
    mean, largest = float(np.mean(excess)), float(np.max(excess))
    met = mean <= TARGET[0] and largest <= TARGET[1]
    lines += [
        "",
        f"Mean {mean:.3f} (target {TARGET[0]}), largest {largest:.3f} (target {TARGET[1]}): "
        + ("PASS" if met else "FAIL"),
    ]
    return lines, met


def large_table(trees: int) -> list[str]:
    lines = [
        f"| n = {LARGE:,} | size from all rows | size from {LARGE // 8:,} and {LARGE // 64:,} rows "
        "| MAD at the second / at the first |",
        "|---|---|---|---|",
    ]
    for model in LARGE_MODELS:
        print(model, LARGE, file=sys.stderr, flush=True)
        train, test = MODELS[model].draw(0, LARGE)
        forests = []
        for most in (LARGE, LARGE // 8):
            with mock.patch.object(_tuning, "MAX_ROWS", most):
                forest = CensoredQuantileForest(trees, random_state=0, n_jobs=-1)
                forests.append(forest.fit(train.X, train.time, train.event))
        errors = [mad(forest.predict(test.X, LEVELS), test) for forest in forests]
        lines.append(
            f"| {model} | {forests[0].min_samples_split_:,} | {forests[1].min_samples_split_:,} "
            f"| {errors[1] / errors[0]:.3f} |"
        )
    return lines


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--replications", type=int, default=10)
    parser.add_argument("--trees", type=int, default=200)
    parser.add_argument("--first", type=int, default=0, help="seed of the first replication")
    parser.add_argument("--markdown", type=Path)
    parser.add_argument("--strict", action="store_true", help="exit with 1 if a target is missed")
    options = parser.parse_args()
    excess, met = excess_table(options.replications, options.trees, options.first)
    heading = f"{options.replications} replications, {options.trees} trees."
    text = "\n".join(
        [heading, "", *excess, "", "## Large samples", "", *large_table(options.trees), ""]
    )
    print("\n" + text)
    if options.markdown is not None:
        preamble = " ".join(__doc__.split("\n\n")[1].split())
        options.markdown.write_text(f"# Leaf size\n\n{preamble}\n\n{text}", encoding="utf-8")
    return 1 if options.strict and not met else 0


if __name__ == "__main__":
    sys.exit(main())
