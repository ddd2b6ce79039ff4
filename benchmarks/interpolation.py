"""First root against the paper's argmin, and the three ways to invert the curve.

All answers come from the same forests (random cuts on the observed times), so that only the step
from weights to quantiles differs. Errors are means over test points of the
distance to the true quantile; ratios are to the paper's rule, with standard errors over
replications (paired).

    python benchmarks/interpolation.py --replications 20
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cqrf import CensoredQuantileForest
from cqrf.datasets import make_aft, make_manifold, make_sine
from cqrf.paper.tables import ratio_of_means

LEVELS = np.array([0.1, 0.3, 0.5, 0.7, 0.9])
RULES = {
    "argmin": {"solver": "argmin"},
    "root, lower": {"interpolation": "lower"},
    "root, linear": {"interpolation": "linear"},
    "root, midpoint": {"interpolation": "midpoint"},
}
MODELS: dict[str, tuple[Callable[..., Any], dict[str, Any], int, int]] = {
    # name: simulator, its arguments, rows, smallest node that is split
    "AFT, 1-D": (make_aft, {}, 300, 50),
    "sine, 1-D": (make_sine, {}, 300, 50),
    "AFT, 5-D": (make_aft, {"n_features": 5}, 500, 20),
    "manifold, 5-D": (make_manifold, {"rate": 0.045}, 500, 20),
}


def errors(model: str, seed: int, trees: int) -> dict[str, NDArray[np.float64]]:
    """Absolute and squared error of every rule, shape (2, levels)."""
    make, arguments, n, size = MODELS[model]
    train = make(n, random_state=seed, **arguments)
    test = make(300, random_state=10_000 + seed, **arguments)
    truth = test.quantile(test.X, LEVELS)
    forest = CensoredQuantileForest(
        trees, criterion="random", min_samples_split=size, random_state=seed, n_jobs=-1
    ).fit(train.X, train.time, train.event)
    found = {}
    for rule, options in RULES.items():
        forest.set_params(**{"solver": "root", "interpolation": "midpoint", **options})
        difference = forest.predict(test.X, LEVELS) - truth
        found[rule] = np.array([np.abs(difference).mean(axis=0), (difference**2).mean(axis=0)])
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--replications", type=int, default=20)
    parser.add_argument("--trees", type=int, default=300)
    options = parser.parse_args()
    header = "| model | rule | " + " | ".join(f"{level:g}" for level in LEVELS) + " |"
    for index, metric in enumerate(("MAD", "MSE")):
        print(f"\n{metric} relative to the paper's rule (standard error)\n")
        print(header)
        print("|---" * (2 + len(LEVELS)) + "|")
        for model in MODELS:
            runs = [errors(model, seed, options.trees) for seed in range(options.replications)]
            base = np.array([run["argmin"][index] for run in runs])
            cells = " | ".join(f"{value:.3g}" for value in base.mean(axis=0))
            print(f"| {model} | argmin = 1 | {cells} |")
            for rule in list(RULES)[1:]:
                other = np.array([run[rule][index] for run in runs])
                ratio, error = ratio_of_means(other, base)
                cells = " | ".join(f"{r:.2f} ({e:.2f})" for r, e in zip(ratio, error, strict=True))
                print(f"| | {rule} | {cells} |")


if __name__ == "__main__":
    main()
