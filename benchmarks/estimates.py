"""What else could be made of the same trees: variants of the step from leaves to quantiles.

Every variant answers from the trees of the default forest, or from shallower and deeper ones of
the same seeds, whose leaves are its nodes. MAD relative to the default, ten models, standard errors
over paired replications. What was kept and why: docs/design/0005.

    python benchmarks/estimates.py --replications 20 --trees 300
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from models import LEVELS, MODELS, geometric_mean, mad
from numpy.typing import NDArray
from scipy.interpolate import PchipInterpolator

from cqrf import CensoredQuantileForest, _engine, solve_quantiles
from cqrf.paper.tables import ratio_of_means

Array = NDArray[np.float64]


class Case:
    """One replication, with what the variants share.

    Attributes
    ----------
    default : the default forest
    weights : its weights (m, n)
    order : rows in time order, events before censored rows of the same time
    events : which of the ordered rows are events, as 0 and 1
    """

    def __init__(self, train: Any, test: Any, seed: int, trees: int) -> None:
        self.train, self.test, self.seed, self.trees = train, test, seed, trees
        self.default = self.forest()
        self.weights: Array = self.default.forest_weights(test.X).toarray()
        self.order = np.lexsort((~train.event, train.time))
        self.events = train.event[self.order].astype(float)

    def forest(self, **parameters: Any) -> CensoredQuantileForest:
        """Fit a forest with other parameters."""
        model = CensoredQuantileForest(self.trees, random_state=self.seed, **parameters)
        return model.fit(self.train.X, self.train.time, self.train.event)

    def weights_at(self, factor: float) -> Array:
        """Weights of the same trees, stopped at nodes `factor` times as large."""
        size = max(2, round(factor * self.default.min_samples_split_))
        return self.forest(min_samples_split=size).forest_weights(self.test.X).toarray()

    def solve(self, weights: Array) -> Array:
        """Turn weights (m, n), which need not be normalised, into quantiles."""
        return solve_quantiles(weights, self.train.time, self.train.event, LEVELS)

    def invert(self, hazard: Array) -> Array:
        """Quantiles from hazards (m, n) at the ordered times, through the midpoints of S."""
        times = self.train.time[self.order]
        survival = np.cumprod(1.0 - np.clip(hazard, 0.0, 1.0), axis=1)
        before = np.hstack([np.ones((len(survival), 1)), survival[:, :-1]])
        answers = np.empty((len(survival), len(LEVELS)))
        for i, (high, low) in enumerate(zip(before, survival, strict=True)):
            jumps = np.flatnonzero(high > low)
            answers[i] = np.interp(LEVELS, 1.0 - (high + low)[jumps] / 2, times[jumps])
        return answers


def hazards(case: Case, weights: Array) -> tuple[Array, Array]:
    """Hazards and effective numbers at risk (m, n) at the ordered times."""
    w = weights[:, case.order]
    at_risk = np.cumsum(w[:, ::-1], axis=1)[:, ::-1]
    squares = np.cumsum(np.square(w[:, ::-1]), axis=1)[:, ::-1]
    tiny = np.finfo(float).tiny
    return w * case.events / np.maximum(at_risk, tiny), at_risk**2 / np.maximum(squares, tiny)


def ancestors(at_risk: float) -> Callable[[Case], Array]:
    """Hazards from nodes twice or four times as large where fewer are effectively at risk."""

    def answer(case: Case) -> Array:
        near, n_near = hazards(case, case.weights)
        wider, n_wider = hazards(case, case.weights_at(2.0))
        widest, _ = hazards(case, case.weights_at(4.0))
        return case.invert(
            np.where(n_near >= at_risk, near, np.where(n_wider >= at_risk, wider, widest))
        )

    return answer


def hazards_per_tree(case: Case) -> Array:
    """Average the hazards of the trees instead of their weights."""
    train_leaves = case.default.apply(case.train.X)[case.order]
    test_leaves = case.default.apply(case.test.X)
    total = np.zeros_like(case.weights)
    for train, test in zip(train_leaves.T, test_leaves.T, strict=True):
        member = np.zeros((train.max() + 1, len(train)))
        member[train, np.arange(len(train))] = 1.0
        at_risk = np.cumsum(member[:, ::-1], axis=1)[:, ::-1]
        total += (member * case.events / np.maximum(at_risk, 1.0))[test]
    return case.invert(total / case.trees)


def pooled(case: Case) -> Array:
    """Count members over all trees, so that large leaves weigh more."""
    counts = np.zeros_like(case.weights)
    train_leaves, test_leaves = case.default.apply(case.train.X), case.default.apply(case.test.X)
    for train, test in zip(train_leaves.T, test_leaves.T, strict=True):
        counts += test[:, None] == train
    return case.solve(counts)


def mixed_depths(case: Case) -> Array:
    """Trees of half, once and twice the size in one forest."""
    return case.solve(case.weights_at(0.5) + case.weights + case.weights_at(2.0))


def local_linear(ridge: float) -> Callable[[Case], Array]:
    """Tilt the weights so that their mean lies nearer to the test point; negative ones are zero."""

    def answer(case: Case) -> Array:
        scale = case.train.X.std(axis=0)
        train, test = case.train.X / scale, case.test.X / scale
        tilted = np.empty_like(case.weights)
        for i, w in enumerate(case.weights):
            center = w @ train
            centered = train - center
            spread = (centered * w[:, None]).T @ centered
            spread += np.eye(len(center)) * (ridge * np.trace(spread) / len(center) + 1e-9)
            tilt = 1.0 + centered @ np.linalg.solve(spread, test[i] - center)
            tilted[i] = w * np.maximum(tilt, 0.0)
        return case.solve(tilted)

    return answer


def better_half(case: Case) -> Array:
    """Keep the trees of smaller out-of-bag error (absolute, of the leaf's median time)."""
    forest = case.default
    leaves, test_leaves = forest.apply(case.train.X), forest.apply(case.test.X)
    n = len(case.train.X)
    drawn = np.zeros((n, case.trees), dtype=bool)
    for tree in range(case.trees):
        counts = _engine.sample_counts(
            forest.trees_.seed,
            tree,
            n,
            forest.model_.options.n_draws,
            forest.model_.options.replace,
        )
        drawn[forest.target_.order, tree] = counts > 0
    errors = np.empty(case.trees)
    for tree, leaf in enumerate(leaves.T):
        medians = np.array([np.median(case.train.time[leaf == k]) for k in range(leaf.max() + 1)])
        out = ~drawn[:, tree]
        errors[tree] = np.abs(case.train.time - medians[leaf])[out].mean()
    weights = np.zeros_like(case.weights)
    for tree in np.argsort(errors)[: case.trees // 2]:
        same = test_leaves[:, tree, None] == leaves[:, tree]
        weights += same / same.sum(axis=1, keepdims=True)
    return case.solve(weights)


def smooth_inverse(case: Case) -> Array:
    """Invert a monotone cubic through the midpoints instead of straight lines."""
    hazard, _ = hazards(case, case.weights)
    times = case.train.time[case.order]
    survival = np.cumprod(1.0 - np.clip(hazard, 0.0, 1.0), axis=1)
    before = np.hstack([np.ones((len(survival), 1)), survival[:, :-1]])
    answers = np.empty((len(survival), len(LEVELS)))
    for i, (high, low) in enumerate(zip(before, survival, strict=True)):
        # Ten points are enough for a smooth curve: every so many jumps one.
        jumps = np.flatnonzero(high - low > 1e-9)
        jumps = jumps[np.unique(np.linspace(0, len(jumps) - 1, 10).round().astype(int))]
        level = 1.0 - (high + low)[jumps] / 2
        level, keep = np.unique(level, return_index=True)
        if len(level) < 2:
            answers[i] = times[jumps[0]]
            continue
        inverse = PchipInterpolator(level, times[jumps][keep])
        answers[i] = inverse(np.clip(LEVELS, level[0], level[-1]))
    return answers


def grown(**parameters: Any) -> Callable[[Case], Array]:
    """Another forest, for comparison."""
    return lambda case: case.forest(**parameters).predict(case.test.X, LEVELS)


VARIANTS: dict[str, Callable[[Case], Array]] = {
    "ancestors where fewer than 5 at risk": ancestors(5),
    "ancestors, 10": ancestors(10),
    "ancestors, 20": ancestors(20),
    "hazards averaged over trees": hazards_per_tree,
    "members pooled over trees": pooled,
    "trees of three depths": mixed_depths,
    "local linear weights, ridge 0.1": local_linear(0.1),
    "local linear weights, ridge 2": local_linear(2.0),
    "better half of the trees": better_half,
    "monotone cubic through ten midpoints": smooth_inverse,
    "one cut per feature": grown(n_thresholds=1),
    "two cuts per feature": grown(n_thresholds=2),
    "no subsampling": grown(max_samples=None),
    "subsamples of 0.8": grown(max_samples=0.8),
    "subsamples of 0.632": grown(max_samples=0.632),
    "told T": lambda case: (
        CensoredQuantileForest(case.trees, random_state=case.seed)
        .fit(case.train.X, case.train.latent)
        .predict(case.test.X, LEVELS)
    ),
}


def replicate(model: str, seed: int, trees: int) -> list[float]:
    """MAD of the default and of every variant."""
    case = Case(*MODELS[model].draw(seed), seed, trees)
    answers = [case.default.predict(case.test.X, LEVELS)]
    answers += [variant(case) for variant in VARIANTS.values()]
    return [mad(answer, case.test) for answer in answers]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--replications", type=int, default=20)
    parser.add_argument("--trees", type=int, default=300)
    options = parser.parse_args()
    ratios, errors = [], []
    for model in MODELS:
        print(model, file=sys.stderr, flush=True)
        runs = np.array(
            Parallel(n_jobs=-1)(
                delayed(replicate)(model, seed, options.trees)
                for seed in range(options.replications)
            )
        )
        pairs = [ratio_of_means(column, runs[:, 0]) for column in runs[:, 1:].T]
        ratios.append([pair[0] for pair in pairs])
        errors.append([pair[1] for pair in pairs])
    print("| variant | " + " | ".join(MODELS) + " | geometric mean |")
    print("|---" * (2 + len(MODELS)) + "|")
    for index, variant in enumerate(VARIANTS):
        column = [row[index] for row in ratios]
        cells = [f"{r:.3f} ({e[index]:.3f})" for r, e in zip(column, errors, strict=True)]
        print(f"| {variant} | " + " | ".join(cells) + f" | {geometric_mean(column):.3f} |")


if __name__ == "__main__":
    main()
