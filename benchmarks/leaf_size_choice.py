"""How to find the smallest of noisy losses: other ways to choose the leaf size.

One tuning pass gives the out-of-bag loss of every row and size. What is made of these losses can be
varied without growing another tree, and the mean absolute deviation (MAD) of the size that each way
chooses is read off forests of all sizes. MAD relative to that of the plain mean of five neighbours;
standard errors in parentheses. The default has the weights 1, 4, 6, 4, 1.

    python benchmarks/leaf_size_choice.py --replications 60 --trees 200 --first 1000
    python benchmarks/leaf_size_choice.py --replications 24 --trees 200 --first 7000 --rows 1600
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from unittest import mock

import numpy as np
from joblib import Parallel, delayed
from models import LEVELS, MODELS, geometric_mean
from numpy.typing import NDArray

from cqrf import CensoredQuantileForest, _tuning
from cqrf.paper.tables import ratio_of_means

Array = NDArray[np.float64]
MORE_TREES = 128
REFERENCE = "mean of five"
DEFAULT = "weights 1 4 6 4 1"
# Where the default is nearest to the authors' forest.
CELL = ("sine, 1-D", 0.1)


@dataclass(frozen=True)
class Run:
    """A replication: sizes (s,), MAD (s, levels), and losses (rows, s) by trees that tune."""

    size: NDArray[np.int64]
    mad: Array
    losses: dict[int, Array]

    def at(self, place: float) -> Array:
        """MAD (levels,) at the nearest step of the ladder."""
        return self.mad[max(0, round(place))]


def replicate(model: str, replication: int, trees: int, n: int | None) -> Run:
    train, test = MODELS[model].draw(replication, n)
    truth = test.quantile(test.X, LEVELS)

    def fit(n_estimators: int, **parameters: int) -> CensoredQuantileForest:
        forest = CensoredQuantileForest(n_estimators, random_state=replication, **parameters)
        return forest.fit(train.X, train.time, train.event)

    losses = {}
    for n_tuning in (_tuning.N_TREES, MORE_TREES):
        with (
            mock.patch.object(_tuning, "N_TREES", n_tuning),
            mock.patch.object(_tuning, "_averaged", side_effect=lambda given: given) as seen,
        ):
            size = fit(1).leaf_size_path_.size
        losses[n_tuning] = seen.call_args.args[0]
    forests = [fit(trees, min_samples_split=int(s)) for s in size]
    errors = [np.abs(forest.predict(test.X, LEVELS) - truth).mean(axis=0) for forest in forests]
    return Run(size, np.array(errors), losses)


def smallest(run: Run, weights: Sequence[float], trees: int = _tuning.N_TREES) -> float:
    """Place of the smallest weighted mean of neighbouring losses, the ends repeated."""
    loss = np.pad(run.losses[trees].mean(axis=0), len(weights) // 2, mode="edge")
    return float(np.convolve(loss, weights, mode="valid").argmin())


def resampled(run: Run) -> float:
    """Mean place of the smallest loss over bootstrap samples of the rows."""
    losses = run.losses[_tuning.N_TREES]
    n = len(losses)
    counts = np.random.default_rng(0).multinomial(n, np.full(n, 1 / n), size=200)
    return float((counts @ losses).argmin(axis=1).mean())


def weighted(run: Run) -> float:
    """Mean place with weights exp(-z^2 / 2), z the standardised distance from the smallest loss."""
    losses = run.losses[_tuning.N_TREES]
    excess = losses - losses[:, [losses.mean(axis=0).argmin()]]
    error = excess.std(axis=0) / np.sqrt(len(losses))
    z = np.divide(excess.mean(axis=0), error, out=np.zeros(len(error)), where=error > 0)
    return float(np.average(np.arange(len(z)), weights=np.exp(-(z**2) / 2)))


WAYS: dict[str, Callable[[Run], float]] = {
    REFERENCE: lambda run: smallest(run, [1] * 5),
    "smallest loss": lambda run: smallest(run, [1]),
    "mean of three": lambda run: smallest(run, [1] * 3),
    "mean of seven": lambda run: smallest(run, [1] * 7),
    DEFAULT: lambda run: smallest(run, [1, 4, 6, 4, 1]),
    "bootstrap of rows": resampled,
    "weights by loss": weighted,
    f"{MORE_TREES} trees, smallest loss": lambda run: smallest(run, [1], MORE_TREES),
    f"{MORE_TREES} trees, mean of five": lambda run: smallest(run, [1] * 5, MORE_TREES),
    "mean of five, one step smaller": lambda run: smallest(run, [1] * 5) - 1,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--replications", type=int, default=60)
    parser.add_argument("--trees", type=int, default=200)
    parser.add_argument("--first", type=int, default=1000, help="seed of the first replication")
    parser.add_argument("--rows", type=int, help="training rows, if not those of the model")
    parser.add_argument("--models", nargs="+", choices=list(MODELS), default=list(MODELS))
    parser.add_argument("--jobs", type=int, default=-1)
    options = parser.parse_args()
    errors: dict[str, dict[str, Array]] = {way: {} for way in [*WAYS, "best fixed size"]}
    for model in options.models:
        print(model, file=sys.stderr, flush=True)
        runs = Parallel(n_jobs=options.jobs)(
            delayed(replicate)(model, options.first + r, options.trees, options.rows)
            for r in range(options.replications)
        )
        for way, place in WAYS.items():
            errors[way][model] = np.array([run.at(place(run)) for run in runs])
        fixed = int(np.mean([run.mad.mean(axis=1) for run in runs], axis=0).argmin())
        errors["best fixed size"][model] = np.array([run.mad[fixed] for run in runs])
    print(
        f"{options.replications} replications from seed {options.first}, {options.trees} trees.\n"
    )
    print("| way | " + " | ".join(options.models) + " | geometric mean |")
    print("|---" * (2 + len(options.models)) + "|")
    for way in errors:
        ratios = [
            ratio_of_means(errors[way][model].mean(axis=1), errors[REFERENCE][model].mean(axis=1))
            for model in options.models
        ]
        mean = geometric_mean([ratio for ratio, _ in ratios])
        error = mean * np.sqrt(sum((e / r) ** 2 for r, e in ratios)) / len(ratios)
        cells = [f"{ratio:.3f} ({spread:.3f})" for ratio, spread in ratios]
        print(f"| {way} | " + " | ".join(cells) + f" | {mean:.4f} ({error:.4f}) |")
    model, level = CELL
    if model in options.models:
        column = int(np.flatnonzero(level == LEVELS)[0])
        for way in (DEFAULT, "smallest loss"):
            values = errors[way][model][:, column]
            error = values.std(ddof=1) / np.sqrt(len(values))
            print(f"\n{model} at {level:g}, {way}: MAD {values.mean():.4f} ({error:.4f})")


if __name__ == "__main__":
    main()
