"""Figures that belong to this package alone, each worked out in a fresh process.

Nothing here looks into the engine: functions of the Python side are timed from outside, work is
counted from what the forest answers and stores.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from speed import memory
from speed.accuracy import measure_accuracy
from speed.methods import METHODS, OURS_CENSORED, QUANTILES, Data, Setting

Figures = dict[str, Any]


def timed(run: Callable[[], Any]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


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


def shares_of_fit(method: str, **setting: int) -> Figures:
    """Seconds of a fit by what they are spent on, and the work that its growing did."""
    import cqrf._growing
    import cqrf.forest

    watch = Stopwatch()
    for owner, name in (
        (cqrf.forest, "grow_trees"),
        (cqrf._growing, "in_batches"),
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
    in_bag = 1 - np.exp(-1) if forest.bootstrap else 0.9
    return {
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
        "in bag": in_bag,
        "visits": in_bag * visits(forest, data.X),
        "features": forest._options.max_features,
    }


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
        "checks and binning": seconds(lambda: forest._estimation(X)),
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


def draw_normal(n: int, p: int, dtype: type = np.float64) -> tuple[NDArray[Any], ...]:
    """Draw normal features, log-normal times that depend on two of them, a third censored."""
    rng = np.random.default_rng(0)
    X = np.empty((n, p), dtype=dtype)
    rng.standard_normal(dtype=dtype, out=X)
    T = np.exp(X[:, 0] + 0.5 * X[:, 1] + rng.normal(size=n))
    C = rng.exponential(3.0, n)
    return X, np.minimum(T, C), T <= C


class Grown(Exception):
    """Raised where the trees would begin to grow."""


def before_trees(container: str, n: int, p: int) -> Figures:
    """Peak memory of a fit up to its first tree, beyond the data themselves, in megabytes."""
    import cqrf.forest
    from cqrf import CensoredQuantileForest

    X, y, event = draw_normal(n, p, np.float32)
    X = CONTAINERS[container](X)
    held: Figures = {}

    def stop(bins: NDArray[np.uint8], binner: Any, target: Any, *_: Any, **__: Any) -> None:
        held["bins"] = bins.nbytes / 1e6
        arrays = (target.times, target.time_index, target.event, target.order)
        held["outcome"] = sum(array.nbytes for array in arrays) / 1e6
        raise Grown

    cqrf.forest.grow_trees = stop  # type: ignore[assignment]
    memory.forget_peak()
    start = memory.resident_mb()
    with suppress(Grown):
        CensoredQuantileForest(1, min_samples_leaf=500, n_jobs=2).fit(X, y, event)
    growth = memory.peak_mb() - start
    return {"peak growth": growth, **held, "scratch": growth - held["bins"] - held["outcome"]}


def whole(n: int, p: int, trees: int, rows: int, parameters: dict[str, Any]) -> Figures:
    """Fit and score at full size; peak memory of the process, data and libraries included."""
    from cqrf import CensoredQuantileForest

    X, y, event = draw_normal(n, p, np.float32)
    forest = CensoredQuantileForest(trees, n_jobs=2, random_state=0, **parameters)
    memory.forget_peak()
    fit = timed(lambda: forest.fit(X, y, event))
    peak = memory.peak_mb()
    memory.forget_peak()
    score = timed(lambda: forest.predict(X[:rows], [0.1, 0.5, 0.9]))
    gib = 1e6 / 2**30
    return {
        "fit seconds": fit,
        "fit peak GiB": peak * gib,
        "score seconds": score,
        "score peak GiB": memory.peak_mb() * gib,
        "bytes per row and tree": sum(memory.array_bytes(forest).values()) / n / trees,
    }


def wide(n: int, p: int, trees: int, parameters: dict[str, Any]) -> Figures:
    """Few rows of many columns."""
    from cqrf import CensoredQuantileForest

    X, y, event = draw_normal(n, p)
    forest = CensoredQuantileForest(trees, n_jobs=2, random_state=0, **parameters)
    memory.forget_peak()
    before = memory.resident_mb()
    fit = timed(lambda: forest.fit(X, y, event))
    return {
        "fit seconds": fit,
        "peak MB": memory.peak_mb() - before,
        "1,000 rows, seconds": timed(lambda: forest.predict(X[:1000], 0.5)),
    }


def categories(n_categories: int, n: int, trees: int) -> Figures:
    """Fit a column of many categories, of which a tenth make up half of the rows."""
    import pandas as pd

    from cqrf import CensoredQuantileForest

    X, y, event = draw_normal(n, 4)
    rng = np.random.default_rng(1)
    codes = (n_categories * rng.random(n) ** 3).astype(int)
    frame = pd.DataFrame(X).add_prefix("x")
    frame["c"] = pd.Categorical.from_codes(codes, [f"c{k:07d}" for k in range(n_categories)])
    y = y * np.exp(rng.normal(size=n_categories))[codes]
    forest = CensoredQuantileForest(trees, min_samples_leaf=100, n_jobs=2)
    memory.forget_peak()
    before = memory.resident_mb()
    fit = timed(lambda: forest.fit(frame, y, event))
    return {
        "fit seconds": fit,
        "peak MB": memory.peak_mb() - before,
        "1,000 rows, seconds": timed(lambda: forest.predict(frame[:1000], 0.5)),
    }


def accuracy(seeds: int, **setting: int) -> Figures:
    """Test errors of our forest and of the neighbours'."""
    return {"methods": [asdict(each) for each in measure_accuracy(Setting(**setting), seeds)]}


def _as_frame(library: str) -> Callable[[NDArray[Any]], Any]:
    def contain(X: NDArray[Any]) -> Any:
        module = __import__(library)
        return module.DataFrame({f"x{j}": X[:, j].copy() for j in range(X.shape[1])})

    return contain


def _as_sparse(X: NDArray[Any]) -> Any:
    from scipy import sparse

    X[np.random.default_rng(1).random(X.shape, dtype=np.float32) > 0.05] = 0.0
    return sparse.csr_array(X)


CONTAINERS: dict[str, Callable[[NDArray[Any]], Any]] = {
    "float32, C order": lambda X: X,
    "float32, Fortran order": np.asfortranarray,
    "pandas of float32": _as_frame("pandas"),
    "polars of float32": _as_frame("polars"),
    "CSR of float32, 5% stored": _as_sparse,
}

FIGURES: dict[str, Callable[..., Figures]] = {
    function.__name__: function
    for function in (
        shares_of_fit,
        shares_of_predict,
        chosen_size,
        before_trees,
        whole,
        wide,
        categories,
        accuracy,
    )
}
