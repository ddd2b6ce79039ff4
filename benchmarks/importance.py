"""Permutation importance: what it costs, and whether it finds the features that matter.

``python benchmarks/importance.py`` prints both; docs/guide/importance.md quotes them.
"""

from __future__ import annotations

import argparse
from time import process_time

import numpy as np

from cqrf import CensoredQuantileForest
from cqrf.datasets import make_aft

TRUE, NOISE = 5, 20


def predictions_per_column(
    n: int, p: int, n_trees: int, n_jobs: int, **params: object
) -> tuple[float, float]:
    """CPU seconds of the importance of one column, over those of predicting the training rows.

    That of whole curves, and that of the median.
    """
    data = make_aft(n, n_features=TRUE, n_noise=p - TRUE, random_state=0)
    forest = CensoredQuantileForest(n_trees, n_jobs=n_jobs, random_state=0, **params)
    forest.fit(data.X, data.time, data.event)
    start = process_time()
    forest.predict(data.X)
    predicted = process_time()
    forest.oob_importance(random_state=0)
    curves = process_time()
    forest.oob_importance(0.5, random_state=0)
    median = process_time()
    unit = (predicted - start) * p
    return (curves - predicted) / unit, (median - curves) / unit


def found(n: int, n_trees: int, n_jobs: int, seed: int) -> tuple[bool, float, float]:
    """Whether the true features come first; z of the weakest of them and of the best noise."""
    data = make_aft(n, n_features=TRUE, n_noise=NOISE, random_state=seed)
    forest = CensoredQuantileForest(n_trees, n_jobs=n_jobs, random_state=seed)
    forest.fit(data.X, data.time, data.event)
    importance = forest.oob_importance(random_state=seed)
    mean, z = importance.mean, importance.mean / importance.std_error
    return bool(mean[:TRUE].min() > mean[TRUE:].max()), z[:TRUE].min(), z[TRUE:].max()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trees", type=int, default=300)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--rows", type=int, nargs="+", default=[1000, 2000, 5000])
    parser.add_argument("--replications", type=int, default=20)
    parser.add_argument("--only", choices=["cost", "found"])
    args = parser.parse_args()

    print(f"{args.trees} trees, {args.jobs} threads, 5 repeats, all other defaults\n")
    if args.only != "found":
        print("CPU seconds per column over those of predicting all training rows; target: 3")
        print("| n = 20,000, p = 20 | whole curves | the median |\n|---|---|---|")
        for label, params in (("default", {}), ("bootstrap=True", {"bootstrap": True})):
            curves, median = predictions_per_column(20_000, 20, args.trees, args.jobs, **params)
            print(f"| {label} | {curves:.2f} | {median:.2f} |", flush=True)
    if args.only == "cost":
        return

    print(f"\nAFT model: {TRUE} features that matter among {NOISE} that do not")
    print("| n | all five come first | smallest z of a true one | largest z of noise |")
    print("|---|---|---|---|")
    for n in args.rows:
        runs = [found(n, args.trees, args.jobs, seed) for seed in range(args.replications)]
        first, true_z, noise_z = zip(*runs, strict=True)
        print(
            f"| {n:,} | {sum(first)} of {len(runs)} | {np.min(true_z):.1f} | "
            f"{np.max(noise_z):.1f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
