"""What reading the input costs: memory before the trees, shares of a fit, wide data, one row.

Every measurement is a fresh process; figures are medians with the smallest and the largest.

    python benchmarks/inputs.py                   # everything, some ten minutes
    python benchmarks/inputs.py memory row        # parts of it
    python benchmarks/inputs.py memory --rows 1000000 --repeats 1
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

Figures = dict[str, float]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", help=f"some of {', '.join(PARTS)}; all if none")
    parser.add_argument("--rows", type=int, help="instead of the part's own number")
    parser.add_argument("--trees", type=int, help="instead of the part's own number")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--case", help=argparse.SUPPRESS)  # the fresh process
    options = parser.parse_args()
    if options.case is not None:
        print(json.dumps(measure(options.parts[0], options.case, options)))
        return
    for part in options.parts or PARTS:
        for first, case in enumerate(PARTS[part][1]):
            runs = list(fresh_runs(part, case, options))
            if first == 0:
                print(f"\n| {part} | {' | '.join(runs[0])} |\n|---{'|---' * len(runs[0])}|")
            figures = [spread([run[name] for run in runs]) for name in runs[0]]
            print(f"| {case} | {' | '.join(figures)} |", flush=True)


def fresh_runs(part: str, case: str, options: argparse.Namespace) -> Iterator[Figures]:
    command = [sys.executable, __file__, part, "--case", case]
    for name in ("rows", "trees"):
        if getattr(options, name) is not None:
            command += [f"--{name}", str(getattr(options, name))]
    for _ in range(options.repeats):
        run = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
        yield json.loads(run.stdout.splitlines()[-1])


def measure(part: str, case: str, options: argparse.Namespace) -> Figures:
    run, cases = PARTS[part]
    return run(cases[case], options.rows, options.trees)


def spread(values: list[float]) -> str:
    low, middle, high = min(values), statistics.median(values), max(values)
    digits = 0 if middle >= 100 else 1 if middle >= 10 else 3
    return f"{middle:.{digits}f} [{low:.{digits}f}, {high:.{digits}f}]"


def draw(n: int, p: int, dtype: type = np.float64) -> tuple[NDArray[Any], ...]:
    """Draw normal features, log-normal times that depend on two of them, a third censored."""
    rng = np.random.default_rng(0)
    X = np.empty((n, p), dtype=dtype)
    rng.standard_normal(dtype=dtype, out=X)
    T = np.exp(X[:, 0] + 0.5 * X[:, 1] + rng.normal(size=n))
    C = rng.exponential(3.0, n)
    return X, np.minimum(T, C), T <= C


def memory_mb(which: str) -> float:
    """Resident memory now (VmRSS) or at its peak (VmHWM)."""
    with open("/proc/self/status") as status:
        line = next(line for line in status if line.startswith(which))
    return int(line.split()[1]) / 1000


def forget_peak() -> None:
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")


class Stopwatch:
    """Seconds spent in functions of a module, by name."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    def watch(self, module: Any, name: str) -> None:
        """Put a timed function in the place of another one."""
        function = getattr(module, name)

        def timed(*args: Any, **kwargs: Any) -> Any:
            start = time.perf_counter()
            try:
                return function(*args, **kwargs)
            finally:
                spent = time.perf_counter() - start
                self.seconds[name] = self.seconds.get(name, 0.0) + spent

        setattr(module, name, timed)


def timed(run: Callable[[], Any]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


class Grown(Exception):
    """Raised where the trees would begin to grow."""


def before_trees(
    contain: Callable[[NDArray[Any]], Any], rows: int | None, _: int | None
) -> Figures:
    """Peak memory of a fit up to its first tree, beyond the data themselves."""
    import cqrf.forest
    from cqrf import CensoredQuantileForest

    n, p = rows or 10_000_000, 20
    X, y, event = draw(n, p, np.float32)
    X = contain(X)
    held: Figures = {}

    def stop(bins: NDArray[np.uint8], binner: Any, target: Any, *_: Any, **__: Any) -> None:
        held["bins MB"] = bins.nbytes / 1e6
        arrays = (target.times, target.time_index, target.event, target.order)
        held["outcome MB"] = sum(array.nbytes for array in arrays) / 1e6
        raise Grown

    cqrf.forest.grow_trees = stop  # type: ignore[assignment]
    forest = CensoredQuantileForest(1, min_samples_leaf=500, n_jobs=2)
    forget_peak()
    start, seconds = memory_mb("VmRSS"), 0.0
    try:
        seconds -= time.perf_counter()
        forest.fit(X, y, event)
    except Grown:
        seconds += time.perf_counter()
    growth = memory_mb("VmHWM") - start
    held["scratch MB"] = growth - held["bins MB"] - held["outcome MB"]
    return {"peak growth MB": growth, **held, "seconds": seconds}


def whole_fit(parameters: dict[str, Any], rows: int | None, trees: int | None) -> Figures:
    """Fit and score at full size; peak memory of the process, data included."""
    from cqrf import CensoredQuantileForest

    X, y, event = draw(rows or 10_000_000, 20, np.float32)
    forest = CensoredQuantileForest(trees or 100, n_jobs=2, random_state=0, **parameters)
    fit = timed(lambda: forest.fit(X, y, event))
    score = timed(lambda: forest.predict(X[:1000], [0.1, 0.5, 0.9]))
    return {
        "fit seconds": fit,
        "1,000 rows x 3 quantiles, seconds": score,
        "peak GiB": memory_mb("VmHWM") * 1e6 / 2**30,
    }


def shares(parameters: dict[str, Any], rows: int | None, trees: int | None) -> Figures:
    """Seconds of a fit that are not spent on growing trees."""
    import cqrf._growing
    import cqrf.forest
    from cqrf import CensoredQuantileForest

    X, y, event = draw(rows or 1_000_000, 10)
    watch = Stopwatch()
    watch.watch(cqrf.forest, "grow_trees")
    watch.watch(cqrf._growing, "make_grower")
    watch.watch(cqrf.forest.Target, "from_outcome")
    watch.watch(cqrf.forest.Binner, "from_data")
    watch.watch(cqrf.forest.Binner, "bin")
    forest = CensoredQuantileForest(
        trees or 100, min_samples_leaf=500, max_features=1 / 3, n_jobs=2, **parameters
    )
    total = timed(lambda: forest.fit(X, y, event))
    spent = watch.seconds
    rest = total - spent["grow_trees"] + spent["make_grower"]
    return {
        "fit seconds": total,
        "sorting the times, seconds": spent["from_outcome"],
        "cut points, seconds": spent["from_data"],
        "binning, seconds": spent["bin"],
        "all but growing, seconds": rest,
        "all but growing, % of the fit": 100 * rest / total,
    }


def wide(case: tuple[int, dict[str, Any]], rows: int | None, trees: int | None) -> Figures:
    """Few rows of many columns."""
    import cqrf.forest
    from cqrf import CensoredQuantileForest

    p, parameters = case
    X, y, event = draw(rows or 2_000, p)
    watch = Stopwatch()
    watch.watch(cqrf.forest, "choose_leaf_size")
    forest = CensoredQuantileForest(trees or 100, n_jobs=2, random_state=0, **parameters)
    fit = timed(lambda: forest.fit(X, y, event))
    predict = timed(lambda: forest.predict(X[:1000], 0.5))
    return {
        "fit seconds": fit,
        "of which the choice of the leaf size": watch.seconds.get("choose_leaf_size", 0.0),
        "1,000 rows x 1 quantile, seconds": predict,
    }


def categories(n_categories: int, rows: int | None, trees: int | None) -> Figures:
    """Fit a column of many categories, of which a tenth make up half of the rows."""
    import pandas as pd

    from cqrf import CensoredQuantileForest

    n = rows or 200_000
    X, y, event = draw(n, 4)
    rng = np.random.default_rng(1)
    codes = (n_categories * rng.random(n) ** 3).astype(int)
    frame = pd.DataFrame(X).add_prefix("x")
    frame["c"] = pd.Categorical.from_codes(codes, [f"c{k:07d}" for k in range(n_categories)])
    y = y * np.exp(rng.normal(size=n_categories))[codes]
    forest = CensoredQuantileForest(trees or 20, min_samples_leaf=100, n_jobs=2)
    return {
        "fit seconds": timed(lambda: forest.fit(frame, y, event)),
        "100,000 rows binned, seconds": timed(
            lambda: forest._binner.bin(forest._encode(frame[:100_000]), None, 1)
        ),
    }


def one_row(case: tuple[dict[str, Any], bool], rows: int | None, trees: int | None) -> Figures:
    """Milliseconds of one call for one row."""
    from cqrf import CensoredQuantileForest

    parameters, as_list = case
    X, y, event = draw(rows or 20_000, 10)
    forest = CensoredQuantileForest(trees or 1_000, random_state=0, n_jobs=2, **parameters)
    forest.fit(X, y, event).set_params(n_jobs=1)
    asked: list[Any] = [row.tolist() if as_list else row for row in X[:500, None, :]]
    ready = [forest._estimation(row) for row in asked]
    levels = np.array([0.5])

    def median(ask: Callable[[Any], Any], of: list[Any] = asked) -> float:
        ask(of[0])
        return 1e3 * statistics.median(timed(lambda each=each: ask(each)) for each in of)

    return {
        "predict, ms": median(lambda row: forest.predict(row, 0.5)),
        "of which validation and binning, ms": median(forest._bin),
        "of which the engine's answer, ms": median(
            lambda row: row.quantiles(levels, solver="root", interpolation="midpoint"), ready
        ),
    }


def contain_frame(library: str) -> Callable[[NDArray[Any]], Any]:
    def contain(X: NDArray[Any]) -> Any:
        module = __import__(library)
        return module.DataFrame({f"x{j}": X[:, j].copy() for j in range(X.shape[1])})

    return contain


def contain_sparse(X: NDArray[Any]) -> Any:
    from scipy import sparse

    X[np.random.default_rng(1).random(X.shape, dtype=np.float32) > 0.05] = 0.0
    return sparse.csr_array(X)


PARTS: dict[str, tuple[Callable[..., Figures], dict[str, Any]]] = {
    "memory": (
        before_trees,
        {
            "float32, C order": lambda X: X,
            "float32, Fortran order": np.asfortranarray,
            "pandas of float32": contain_frame("pandas"),
            "polars of float32": contain_frame("polars"),
            "CSR of float32, 5% stored": contain_sparse,
        },
    ),
    "whole": (
        whole_fit,
        {
            "mse, a million rows a tree": {
                "criterion": "mse",
                "min_samples_leaf": 500,
                "max_features": 1 / 3,
                "max_samples": 1_000_000,
            },
        },
    ),
    "shares": (
        shares,
        {"mse": {"criterion": "mse"}, "distribution": {"criterion": "distribution"}},
    ),
    "wide": (
        wide,
        {
            "p = 5,000": (5_000, {}),
            "p = 5,000, a third of the features": (5_000, {"max_features": 1 / 3}),
            "p = 5,000, leaf size told": (5_000, {"min_samples_split": 100}),
            "p = 10,000": (10_000, {}),
        },
    ),
    "categories": (categories, {"200": 200, "20,000": 20_000}),
    "row": (
        one_row,
        {
            "NumPy row": ({}, False),
            "list": ({}, True),
            "NumPy row, min_samples_leaf=20": ({"min_samples_leaf": 20}, False),
        },
    ),
}


if __name__ == "__main__":
    main()
