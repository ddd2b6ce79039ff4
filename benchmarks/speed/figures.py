"""Figures that belong to this package alone, each worked out in a fresh process.

Nothing here looks into the engine: functions of the Python side are timed from outside, work is
counted from what the forest answers and stores.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from speed.accuracy import measure_accuracy
from speed.methods import METHODS, OURS_CENSORED, QUANTILES, Data, Setting
from speed.unusual import Figures, before_trees, categories, encodings, layouts, timed, whole, wide


class Stopwatch:
    """Seconds spent in functions of a module, by name."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    def watch(self, owner: Any, name: str) -> None:
        """Put a timed function in the place of another one."""
        function = getattr(owner, name)
        self.seconds[name] = 0.0

        def clocked(*args: Any, **kwargs: Any) -> Any:
            start = time.perf_counter()
            try:
                return function(*args, **kwargs)
            finally:
                self.seconds[name] += time.perf_counter() - start

        setattr(owner, name, clocked)


def shares_of_fit(method: str, count: bool, **setting: int) -> Figures:
    """Seconds of a fit by what they are spent on, and, if asked for, the work of its growing."""
    import cqrf.forest
    import cqrf.growing.grow

    watch = Stopwatch()
    for owner, name in (
        (cqrf.forest, "grow_trees"),
        (cqrf.growing.grow, "in_batches"),
        (cqrf.forest.Target, "from_outcome"),
        (cqrf.forest.Binner, "from_data"),
        (cqrf.forest.Binner, "bin"),
    ):
        watch.watch(owner, name)
    chosen = Setting(**setting)
    data = Data.draw(chosen.n, 1, seed=0, p=chosen.p)
    start = time.perf_counter()
    forest = METHODS[method].fit(data, chosen)
    total = time.perf_counter() - start
    spent = watch.seconds
    sorting_and_binning = spent["from_outcome"] + spent["from_data"] + spent["bin"]
    figures: Figures = {
        "seconds": {
            "sorting the times": spent["from_outcome"],
            "cut points": spent["from_data"],
            "binning": spent["bin"],
            "growing the trees": spent["in_batches"],
            "putting them together": spent["grow_trees"] - spent["in_batches"],
            "the rest (checks)": total - sorting_and_binning - spent["grow_trees"],
        },
        "total": total,
        "share": sorting_and_binning / total,
    }
    if count:
        # Distinct rows of a bootstrap sample, or the part that is drawn by default.
        in_bag = 1 - np.exp(-1) if forest.bootstrap else 0.9
        figures["visits"] = in_bag * visits(forest, data.X)
        figures["features"] = forest.model_.options.max_features
    return figures


def visits(forest: Any, X: NDArray[np.float64]) -> float:
    """Inner nodes that the rows of X pass, over all trees: what growing has to sum up."""
    trees = forest.trees_
    leaves = forest.apply(X)
    total = 0
    for tree in range(len(trees)):
        nodes = trees.nodes[trees.node_offset[tree] : trees.node_offset[tree + 1]]
        child, rule, index = nodes[:, 0], nodes[:, 2], nodes[:, 3]
        inner = np.flatnonzero(child != np.arange(len(nodes)))
        depth = np.zeros(len(nodes), dtype=np.int64)
        for node in inner:  # children follow their parents
            depth[child[node] : child[node] + 2] = depth[node] + 1
        is_leaf = (rule >> 16) & 1 == 1
        depth_of_leaf = np.zeros(is_leaf.sum(), dtype=np.int64)
        depth_of_leaf[index[is_leaf]] = depth[is_leaf]
        total += int(depth_of_leaf[leaves[:, tree]].sum())
    return float(total)


def shares_of_predict(rows: int, repeats: int, **setting: int) -> Figures:
    """Seconds of a prediction by what they are spent on, and the leaf members that it adds up."""
    chosen = Setting(**setting)
    data = Data.draw(chosen.n, rows, seed=0, p=chosen.p)
    # On all threads: only the prediction is timed.
    forest = METHODS[OURS_CENSORED].fit(data, replace(chosen, threads=2))
    forest.n_jobs = chosen.threads
    X = data.X_test

    def seconds(run: Callable[[], Any]) -> list[float]:
        run()
        return [timed(run) for _ in range(repeats)]

    # Blocks, because the leaves of a million rows in all trees take half a gigabyte.
    sizes = [np.zeros(1, dtype=np.int64)] * chosen.trees
    for block in np.array_split(data.X, max(1, chosen.n // 50_000)):
        leaves = forest.apply(block)
        for tree in range(chosen.trees):
            counts = np.bincount(leaves[:, tree], minlength=len(sizes[tree]))
            counts[: len(sizes[tree])] += sizes[tree]
            sizes[tree] = counts
    asked = forest.apply(X)
    members = sum(int(sizes[tree][asked[:, tree]].sum()) for tree in range(chosen.trees))
    return {
        "whole": seconds(lambda: forest.predict(X, list(QUANTILES))),
        "checks and binning": seconds(lambda: forest.model_.binner.bin(forest.encode(X), None, 1)),
        "checks, binning and leaves": seconds(lambda: forest.apply(X)),
        "members": members,
        "leaves": sum(len(each) for each in sizes),
        "rows": rows,
    }


def chosen_size(**setting: int) -> Figures:
    """Size of nodes that the default forest chooses."""
    data = Data.draw(setting["n"], 1, seed=0)
    from cqrf import CensoredQuantileForest

    forest = CensoredQuantileForest(2, random_state=0, n_jobs=2)
    return {"size": int(forest.fit(data.X, data.time, data.event).min_samples_split_)}


def accuracy(seeds: int, **setting: int) -> Figures:
    """Test errors of our forest and of the neighbours'."""
    return {"methods": [asdict(each) for each in measure_accuracy(Setting(**setting), seeds)]}


FIGURES: dict[str, Callable[..., Figures]] = {
    function.__name__: function
    for function in (
        shares_of_fit,
        shares_of_predict,
        chosen_size,
        before_trees,
        whole,
        wide,
        layouts,
        categories,
        encodings,
        accuracy,
    )
}
