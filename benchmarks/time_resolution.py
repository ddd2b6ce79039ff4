"""How far answers on levels of time are from exact ones, in probability.

On each of the ten models of the accuracy table, a forest answers `N_TEST` test points with
`RESOLUTION` levels of time and exactly. The error of a quantile is the difference that the exact
curve of the test point, through the midpoints of its jumps, makes between the two answers; that of
S is taken at 50 times, and that of a restricted mean, up to the 90% quantile of the observed times,
is divided by the length of time up to there. The standard error beside it is that of an estimated
probability of one half, from as many rows as the weights of a test point are worth:
1 / (2 sqrt(1 / sum w^2)).

    python benchmarks/time_resolution.py --rows 50000
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from models import LEVELS, MODELS, Model
from numpy.typing import NDArray

from cqrf import CensoredQuantileForest
from cqrf.solving.curves import StepFunction

RESOLUTION = 2**13  # that of "auto"
HEADER = (
    "| model | quantiles: mean | largest | S: mean | largest | means: mean | largest "
    "| standard error |\n|---|---|---|---|---|---|---|---|"
)


def probability(curve: StepFunction, times: NDArray[np.float64]) -> NDArray[np.float64]:
    """Evaluate the curve that quantiles invert."""
    before = np.concatenate([[1.0], curve.y[:-1]])
    falls = curve.y < before
    return np.interp(times, curve.x[falls], (before[falls] + curve.y[falls]) / 2.0)


def errors(model: Model, n_rows: int, n_trees: int) -> tuple[Any, ...]:
    train, test = model.draw(0, n_rows)
    forest = CensoredQuantileForest(n_trees, random_state=0, n_jobs=-1)
    forest.fit(train.X, train.time, train.event)
    times = np.quantile(train.time, np.linspace(0.01, 0.99, 50))
    horizon = float(np.quantile(train.time, 0.9))
    answers = []
    for resolution in (RESOLUTION, None):
        forest.set_params(time_resolution=resolution)
        answers.append(
            (
                forest.predict(test.X, LEVELS),
                forest.predict_survival_function(test.X, times=times),
                forest.predict_rmst(test.X, horizon) / (horizon - train.time.min()),
            )
        )
    curves = forest.predict_survival_function(test.X)
    (near, near_survival, near_mean), (exact, exact_survival, exact_mean) = answers
    quantile_error = np.array(
        [
            np.abs(probability(curve, a) - probability(curve, b))
            for curve, a, b in zip(curves, near, exact, strict=True)
        ]
    )
    weights = forest.forest_weights(test.X)
    worth = 1.0 / weights.multiply(weights).sum(axis=1)
    return (
        quantile_error,
        np.abs(near_survival - exact_survival),
        np.abs(near_mean - exact_mean),
        0.5 / np.sqrt(worth).mean(),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=50_000)
    parser.add_argument("--trees", type=int, default=100)
    arguments = parser.parse_args()
    print(f"{arguments.rows:,} rows, {arguments.trees} trees.\n\n{HEADER}", flush=True)
    for name, model in MODELS.items():
        *differences, standard_error = errors(model, arguments.rows, arguments.trees)
        cells = [value for error in differences for value in (error.mean(), error.max())]
        cells.append(standard_error)
        print("| " + " | ".join([name, *(f"{cell:.1e}" for cell in cells)]) + " |", flush=True)


if __name__ == "__main__":
    main()
