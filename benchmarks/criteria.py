"""What the default criterion and the choice of the leaf size cost, as ratios in one run.

One thread, 30% censored, all features tried in a node unless told otherwise. The targets: ten
responses cost at most 1.5 times one (random cuts both) and less than best splits of one response; a
fit that chooses its leaf size takes at most 2.5 times one that is told it.

    python benchmarks/criteria.py --sizes 20000 --trees 100
    python benchmarks/criteria.py --sizes 1000000 --trees 5 --leaf 500 --max-features 0.33 --told

`--told` leaves out the choice of the leaf size. CQRF_ISA=portable or avx2 tells what machines with
fewer instructions would need.
"""

from __future__ import annotations

import argparse

import numpy as np
from contenders import Data
from measure import Contender, round_robin

from cqrf import CensoredQuantileForest

DISTRIBUTION, RANDOM, MSE = "distribution", "random", "mse, best splits"
TOLD, CHOSEN = "size told", "size chosen"
# Slower / faster, and what the ratio must not exceed.
RATIOS = ((DISTRIBUTION, RANDOM, 1.5), (DISTRIBUTION, MSE, 1.0), (CHOSEN, TOLD, 2.5))


def contenders(data: Data, options: argparse.Namespace) -> list[Contender]:
    def fit(**parameters: object) -> CensoredQuantileForest:
        forest = CensoredQuantileForest(
            options.trees,
            n_jobs=1,
            random_state=0,
            max_features=options.max_features,
            **parameters,
        )
        return forest.fit(data.X, data.time, data.event)

    size = {"min_samples_leaf": options.leaf} if options.leaf else {"min_samples_split": 100}
    runs: dict[str, dict[str, object]] = {
        DISTRIBUTION: {"criterion": "distribution", **size},
        RANDOM: {"criterion": "random", **size},
        MSE: {"criterion": "mse", **size},
    }
    if not options.told:
        runs |= {TOLD: {"min_samples_split": fit().min_samples_split_}, CHOSEN: {}}
    return [
        Contender("fit", name, 1, lambda parameters=parameters: fit(**parameters))
        for name, parameters in runs.items()
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[20_000])
    parser.add_argument("--trees", type=int, default=100)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--leaf", type=int, help="min_samples_leaf of the first three")
    parser.add_argument("--max-features", type=float, help="share of the features tried in a node")
    parser.add_argument("--told", action="store_true", help="leave out the choice of the leaf size")
    options = parser.parse_args()
    print("| n | ratio | measured [smallest, largest] | at most | |")
    print("|---|---|---|---|---|")
    for n in options.sizes:
        data = Data.draw(n, 1, seed=0)
        timings = round_robin(contenders(data, options), options.repeats, lambda _: None)
        seconds = {timing.method: np.array(timing.seconds) for timing in timings}
        for slower, faster, most in RATIOS:
            if slower not in seconds:
                continue
            ratio = seconds[slower] / seconds[faster]
            median = float(np.median(ratio))
            print(
                f"| {n:,} | {slower} / {faster} | {median:.2f} [{ratio.min():.2f}, "
                f"{ratio.max():.2f}] | {most:g} | {'PASS' if median <= most else 'FAIL'} |"
            )


if __name__ == "__main__":
    main()
