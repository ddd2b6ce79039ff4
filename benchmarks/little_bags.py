"""Ways to make a confidence interval of a quantile from little bags; docs/design/0006.

Coverage of the forest's mean answer at 95%, so that bias plays no part; and the standard error of S
if all rows filled the leaves of the grouped trees, over that with the half.

    python benchmarks/little_bags.py --replications 60
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from interval_coverage import CONFIDENCE, GROUP_SIZE, GROUPED_TREES, LEVELS, SETTINGS, Setting
from joblib import Parallel, delayed
from numpy.typing import NDArray
from scipy.stats import norm

from cqrf import CensoredQuantileForest
from cqrf.model.little_bags import LittleBags, positive_part

Array = NDArray[np.float64]

Z = float(norm.ppf((1.0 + CONFIDENCE) / 2.0))
N_GROUPS = GROUPED_TREES // GROUP_SIZE
N = 2000


def influence(t: float, time: Array, event: NDArray[np.bool_], w: Array) -> Array:
    """Differentiate S(t) by the weights (n,), which add up to one; no times are tied."""
    order = np.argsort(time)
    d = (w * event)[order]
    risk = np.cumsum(w[order][::-1])[::-1]
    early = (time[order] <= t) & (risk > d + 1e-12)
    steps = np.divide(d, risk * (risk - d), out=np.zeros_like(d), where=early)
    jump = np.divide(event[order], risk - d, out=np.zeros_like(d), where=early)
    survival = np.prod(np.where(early, 1.0 - d / np.maximum(risk, 1e-300), 1.0))
    psi = np.empty_like(w)
    psi[order] = survival * (np.cumsum(steps) - jump)
    return psi


def filled_with_all_rows(forest: CensoredQuantileForest, data: Any, X: Array) -> Array:
    """Compute standard errors of S (m, q) as if all rows filled the leaves of the same trees."""
    train, test = forest.apply(data.X), forest.apply(X)
    result = np.empty((len(X), len(LEVELS)))
    for i, leaves in enumerate(test):
        weights = (train == leaves).astype(float)
        weights /= weights.sum(axis=0)
        mean = weights.mean(axis=1)
        # The root of these weights, near enough.
        for j, q in enumerate(forest.predict(X[[i]], LEVELS)[0]):
            tree = influence(q, data.time, data.event, mean) @ weights
            groups = tree.reshape(-1, GROUP_SIZE)
            between = np.mean(groups.mean(axis=1) ** 2, keepdims=True)
            noise = (np.mean(groups**2) - between) / (GROUP_SIZE - 1)
            result[i, j] = np.sqrt(positive_part(between, noise, N_GROUPS) + between / N_GROUPS)[0]
    return result


def replicate(setting: Setting, seed: int) -> dict[str, Array]:
    """Answers, standard errors of S and intervals of every kind."""
    data, X = setting.draw(N, seed), setting.points()[:12]
    forest = CensoredQuantileForest(
        GROUPED_TREES, ci_group_size=GROUP_SIZE, min_samples_leaf=setting.leaf, random_state=seed
    ).fit(data.X, data.time, data.event)
    answers, std = forest.predict(X, LEVELS, return_std=True)
    bags = LittleBags(forest.distribution(X).estimation, GROUP_SIZE, N_GROUPS)
    sigma = bags._level_std(answers)
    window = 0.05
    below, above = (forest.predict(X, LEVELS + shift) for shift in (-window, window))
    slope = 2 * window / (above - below)
    shifted = np.stack(bags._shifted(LEVELS, answers, Z), axis=-1)
    chosen = [forest.predict_quantile_interval(X, level, CONFIDENCE) for level in LEVELS]
    return {
        "answers": answers,
        "sigma": sigma,
        "sigma, all rows fill": filled_with_all_rows(forest, data, X),
        "tau +- t sigma (chosen)": np.stack(chosen, axis=1),
        "tau +- z sigma": shifted,
        "q +- z std": np.stack([answers - Z * std, answers + Z * std], axis=-1),
        "q +- z sigma / density": np.stack(
            [answers - Z * sigma / slope, answers + Z * sigma / slope], axis=-1
        ),
    }


def inverted(setting: Setting, seed: int, expected: Array) -> NDArray[np.bool_]:
    """Whether {q : |S(q) - (1 - tau)| <= z sigma(q)} holds the expected quantiles (m, q)."""
    data, X = setting.draw(N, seed), setting.points()[:12]
    forest = CensoredQuantileForest(
        GROUPED_TREES, ci_group_size=GROUP_SIZE, min_samples_leaf=setting.leaf, random_state=seed
    ).fit(data.X, data.time, data.event)
    bags = LittleBags(forest.distribution(X).estimation, GROUP_SIZE, N_GROUPS)
    sigma = bags._level_std(expected)
    survival = np.stack(
        [forest.predict_survival_function(X[[i]], row)[0] for i, row in enumerate(expected)]
    )
    return np.asarray(np.abs(survival - (1.0 - LEVELS)) <= Z * sigma)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--replications", type=int, default=60)
    count = parser.parse_args().replications
    workers = Parallel(n_jobs=-1)
    for setting in (SETTINGS[0], SETTINGS[4]):
        runs = workers(delayed(replicate)(setting, seed) for seed in range(count))
        found = {name: np.array([run[name] for run in runs]) for name in runs[0]}
        expected = found["answers"].mean(axis=0)
        print(f"\n{setting.name}, n = {N}, leaf {setting.leaf}: 0.1, 0.5, 0.9; mean")
        for name, ends in found.items():
            if ends.ndim == 4:
                inside = (ends[..., 0] <= expected) & (expected <= ends[..., 1])
                report(name, inside)
        held = workers(delayed(inverted)(setting, seed, expected) for seed in range(count))
        report("{q : |S(q) - (1 - tau)| <= z sigma(q)}", np.array(held))
        ratio = (found["sigma, all rows fill"] / found["sigma"]).mean(axis=(0, 1))
        print(f"sigma, all rows fill the leaves / half: {ratio.round(2)}")


def report(name: str, inside: NDArray[np.bool_]) -> None:
    shares = inside.mean(axis=(0, 1))
    print(f"{name:40s} {shares.round(3)}; {shares.mean():.3f}", flush=True)


if __name__ == "__main__":
    main()
