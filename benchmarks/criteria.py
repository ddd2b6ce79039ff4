"""What the default criterion and the choice of the leaf size cost, as ratios in one run.

One thread, all features tried in a node, 30% censored. The targets: ten responses cost at most 1.5
times one (random cuts both) and less than best splits of one response; a fit that chooses its leaf
size takes at most 2.5 times one that is told it.

    python benchmarks/criteria.py --sizes 20000 --trees 100
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


def contenders(data: Data, trees: int) -> list[Contender]:
    def fit(**parameters: object) -> CensoredQuantileForest:
        forest = CensoredQuantileForest(trees, n_jobs=1, random_state=0, **parameters)
        return forest.fit(data.X, data.time, data.event)

    size = fit().min_samples_split_
    runs = {
        DISTRIBUTION: {"criterion": "distribution", "min_samples_split": 100},
        RANDOM: {"criterion": "random", "min_samples_split": 100},
        MSE: {"criterion": "mse", "min_samples_split": 100},
        TOLD: {"min_samples_split": size},
        CHOSEN: {},
    }
    return [
        Contender("fit", name, 1, lambda parameters=parameters: fit(**parameters))
        for name, parameters in runs.items()
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[20_000])
    parser.add_argument("--trees", type=int, default=100)
    parser.add_argument("--repeats", type=int, default=7)
    options = parser.parse_args()
    print("| n | ratio | measured [smallest, largest] | at most | |")
    print("|---|---|---|---|---|")
    for n in options.sizes:
        data = Data.draw(n, 1, seed=0)
        timings = round_robin(contenders(data, options.trees), options.repeats, lambda _: None)
        seconds = {timing.method: np.array(timing.seconds) for timing in timings}
        for slower, faster, most in RATIOS:
            ratio = seconds[slower] / seconds[faster]
            median = float(np.median(ratio))
            print(
                f"| {n:,} | {slower} / {faster} | {median:.2f} [{ratio.min():.2f}, "
                f"{ratio.max():.2f}] | {most:g} | {'PASS' if median <= most else 'FAIL'} |"
            )


if __name__ == "__main__":
    main()
