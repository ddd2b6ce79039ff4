"""Why our random survival forest and randomForestSRC differ: the variance of the log-rank test.

Both split where observed minus expected events of a side are largest, in standard deviations. The
engine takes the permutation variance, which needs only the number of rows on each side;
randomForestSRC the hypergeometric one, a sum over event times. A side that fails early is soon
gone from the rows at risk, so that the second variance is smaller for cuts that separate well, and
other cuts are chosen. Trees are grown here, slowly, by either variance on 0.632-subsamples, with
ten random cuts of each of sqrt(p) features, and the Kaplan-Meier curves of their drawn rows are
averaged. Mean absolute deviation (MAD) at the node sizes of the stored figures; in parentheses
the difference from these in joint standard errors.

    python benchmarks/survival_forest.py --replications 20 --trees 300
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from dataclasses import replace
from math import ceil, hypot, sqrt

import numpy as np
from joblib import Parallel, delayed
from models import LEVELS
from numpy.typing import NDArray

from cqrf.paper.anchors import SAME, anchor
from cqrf.paper.methods import METHODS, Task, invert
from cqrf.paper.settings import Settings
from cqrf.paper.simulations import MODELS, N_TEST, PAPER_MODELS, make_task, seeds

Array = NDArray[np.float64]
DRAWN = 0.632
N_CUTS = 10
THEIRS = next(theirs for theirs, ours in SAME.items() if ours == "rsf")


def permutation(left: Array, at_risk: Array, event: Array) -> Array:
    """Variance of the sum of a side's scores over all ways to draw the side, up to a constant."""
    n_left = left.sum(axis=0)
    return n_left * (len(left) - n_left)


def hypergeometric(left: Array, at_risk: Array, event: Array) -> Array:
    """Sum over event times of the variance of the events of a side, given those at risk."""
    share = left[::-1].cumsum(axis=0)[::-1] / at_risk
    return (event * share * (1 - share)).sum(axis=0)


VARIANCES: dict[str, Callable[[Array, Array, Array], Array]] = {
    "permutation variance": permutation,
    "hypergeometric variance": hypergeometric,
}


def best_cut(
    X: Array, event: Array, mtry: int, variance: Callable[..., Array], rng: np.random.Generator
) -> tuple[int, float] | None:
    """Return feature and value of the best random cut of rows (m, p) in order of distinct times."""
    cuts = []
    for feature in rng.permutation(X.shape[1])[:mtry]:
        values = np.unique(X[:, feature])[:-1]
        some = rng.choice(values, N_CUTS, replace=False) if len(values) > N_CUTS else values
        cuts += [(int(feature), float(value)) for value in some]
    if not cuts:
        return None
    features, values = np.array([cut[0] for cut in cuts]), np.array([cut[1] for cut in cuts])
    left = (X[:, features] <= values).astype(float)
    at_risk = np.arange(len(X), 0, -1.0)[:, None]
    seen = event[:, None].astype(float)
    left_at_risk = left[::-1].cumsum(axis=0)[::-1]
    excess = (seen * (left - left_at_risk / at_risk)).sum(axis=0)
    spread = variance(left, at_risk, seen)
    known = spread > 1e-12
    statistic = np.where(known, excess**2 / np.where(known, spread, 1.0), 0.0)
    return cuts[int(statistic.argmax())]


def add_tree(
    task: Task,
    rows: NDArray[np.intp],
    variance: Callable[..., Array],
    rng: np.random.Generator,
    times: Array,
    curves: Array,
) -> None:
    """Grow a tree on the rows; add its leaves' Kaplan-Meier curves to those of the test points."""
    rows = rows[np.argsort(task.time[rows])]
    X, time, event = task.X[rows], task.time[rows], task.event[rows]
    mtry = ceil(sqrt(X.shape[1]))
    waiting = [(np.arange(len(rows)), np.arange(len(task.X_test)))]
    while waiting:
        members, points = waiting.pop()
        cut = None
        if len(members) >= 2 * task.node_size and event[members].any():
            cut = best_cut(X[members], event[members], mtry, variance, rng)
        if cut is None:
            survival = np.cumprod(1 - event[members] / np.arange(len(members), 0, -1.0))
            passed = np.searchsorted(time[members], times, side="right")
            curves[points] += np.concatenate([[1.0], survival])[passed]
            continue
        feature, value = cut
        member_left, point_left = (
            X[members, feature] <= value,
            task.X_test[points, feature] <= value,
        )
        waiting.append((members[member_left], points[point_left]))
        waiting.append((members[~member_left], points[~point_left]))


def predict(task: Task, variance: Callable[..., Array]) -> Array:
    """Quantiles (m, q) of the averaged curves."""
    rng = np.random.default_rng(task.seed)
    n = len(task.time)
    times = np.unique(task.time[task.event])
    curves = np.zeros((len(task.X_test), len(times)))
    for _ in range(task.n_trees):
        rows = rng.choice(n, ceil(DRAWN * n), replace=False)
        add_tree(task, rows, variance, rng, times, curves)
    return invert(times, curves / task.n_trees, task.quantiles)


def replicate(key: str, replication: int, trees: int) -> Array:
    """MAD (methods, levels)."""
    settings, model = Settings(trees=trees), MODELS[key]
    train_seed, _, test_seed, seed = seeds(f"survival forest {key}", replication, settings)
    test = model.draw(N_TEST, test_seed)
    task = make_task(model, model.draw(model.n, train_seed), test.X, settings, seed)
    truth = test.quantile(test.X, LEVELS)
    sizes = [int(anchor(key, THEIRS, level)["node_size"]) for level in LEVELS]
    errors = np.empty((1 + len(VARIANCES), len(LEVELS)))
    for size in set(sizes):
        columns = [at for at, other in enumerate(sizes) if other == size]
        trial = replace(task, node_size=size, quantiles=LEVELS[columns])
        answers = [METHODS["rsf"].predict(trial)]
        answers += [predict(trial, variance) for variance in VARIANCES.values()]
        for at, answer in enumerate(answers):
            errors[at, columns] = np.abs(answer - truth[:, columns]).mean(axis=0)
    return errors


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--replications", type=int, default=20)
    parser.add_argument("--trees", type=int, default=300)
    parser.add_argument("--models", nargs="+", choices=PAPER_MODELS, default=PAPER_MODELS)
    parser.add_argument("--jobs", type=int, default=-1)
    options = parser.parse_args()
    print("| MAD | " + " | ".join(f"{level:g}" for level in LEVELS) + " |")
    print("|---" * (1 + len(LEVELS)) + "|")
    names = ("rsf: permutation variance, all rows", *(f"drawn rows, {n}" for n in VARIANCES))
    for key in options.models:
        print(key, file=sys.stderr, flush=True)
        work = (delayed(replicate)(key, r, options.trees) for r in range(options.replications))
        errors = np.array(Parallel(n_jobs=options.jobs)(work))
        means = errors.mean(axis=0)
        spread = errors.std(axis=0, ddof=1) / sqrt(len(errors))
        stored = [anchor(key, THEIRS, level) for level in LEVELS]
        cells = [f"{row['mad']:.4g} ({row['mad_se']:.2g})" for row in stored]
        print(f"| {MODELS[key].title}: {THEIRS} | " + " | ".join(cells) + " |")
        for name, row, error in zip(names, means, spread, strict=True):
            cells = [
                f"{a:.4g} ({(a - b['mad']) / hypot(e, b['mad_se']):+.1f})"
                for a, e, b in zip(row, error, stored, strict=True)
            ]
            print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
