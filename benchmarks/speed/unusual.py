"""Data of unusual shapes: very many rows, columns or categories, frames, sparse arrays."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from speed import memory
from speed.ratios import Contender, Repeats, round_robin

Figures = dict[str, Any]


def timed(run: Callable[[], Any]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


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


def _fit_and_predict(forest: Any, X: Any, y: NDArray[Any], event: NDArray[Any]) -> Figures:
    memory.forget_peak()
    before = memory.resident_mb()
    fit = timed(lambda: forest.fit(X, y, event))
    return {
        "fit seconds": fit,
        "peak MB": memory.peak_mb() - before,
        "1,000 rows, seconds": timed(lambda: forest.predict(X[:1000], 0.5)),
    }


def wide(n: int, p: int, trees: int, parameters: dict[str, Any]) -> Figures:
    """Few rows of many columns."""
    from cqrf import CensoredQuantileForest

    X, y, event = draw_normal(n, p)
    forest = CensoredQuantileForest(trees, n_jobs=2, random_state=0, **parameters)
    return _fit_and_predict(forest, X, y, event)


def layouts(
    n: int, p: int, trees: int, repeats: dict[str, Any], parameters: dict[str, Any]
) -> Figures:
    """Fit with bins by rows alone and, in turn, with the second table that is chosen by size."""
    from functools import partial

    from cqrf import CensoredQuantileForest, _engine
    from speed.worker import measured

    X, y, event = draw_normal(n, p, np.float32)

    def fit(grower: Any) -> object:
        _engine.ForestGrower = grower  # type: ignore[misc]
        forest = CensoredQuantileForest(trees, n_jobs=1, random_state=0, **parameters)
        return forest.fit(X, y, event)

    growers = {"by rows": partial(_engine.ForestGrower, panels=0), "chosen": _engine.ForestGrower}
    contenders = [
        Contender(name, 1, lambda calls, grower=grower: measured(lambda: fit(grower), calls))
        for name, grower in growers.items()
    ]
    return {"timings": [asdict(each) for each in round_robin(contenders, Repeats(**repeats))]}


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
    return _fit_and_predict(forest, frame, y, event)


def encodings(
    n: int,
    columns: int,
    levels: int,
    trees: int,
    repeats: dict[str, Any],
    parameters: dict[str, Any],
) -> Figures:
    """Fit four numbers and columns of categories, as they are and, in turn, one-hot."""
    import pandas as pd

    from cqrf import CensoredQuantileForest
    from speed.worker import measured

    X, y, event = draw_normal(n, 4)
    rng = np.random.default_rng(1)
    codes = rng.integers(0, levels, (columns, n))
    for code in codes:
        y = y * np.exp(rng.normal(size=levels) / np.sqrt(columns))[code]
    numbers = pd.DataFrame(X).add_prefix("x")
    native = numbers.assign(
        **{f"c{j}": pd.Categorical.from_codes(codes[j], range(levels)) for j in range(columns)}
    )

    def fit(X: Any) -> object:
        forest = CensoredQuantileForest(trees, n_jobs=1, random_state=0, **parameters)
        return forest.fit(X, y, event)

    frames = {"native": native, "one-hot": pd.get_dummies(native, dtype=np.uint8)}
    contenders = [
        Contender(name, 1, lambda calls, X=X: measured(lambda: fit(X), calls))
        for name, X in frames.items()
    ]
    return {"timings": [asdict(each) for each in round_robin(contenders, Repeats(**repeats))]}


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
