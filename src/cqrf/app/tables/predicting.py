"""Predictions for the blocks of a table: what ``cqrf predict`` and ``cqrf explore`` share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cqrf.app.tables.columns import numbers
from cqrf.app.tables.errors import TableError, meant, shown
from cqrf.app.tables.feature_columns import FeatureColumns, read_features
from cqrf.app.tables.reading import Block, TableReader, listed
from cqrf.forest import CensoredQuantileForest
from cqrf.model.intervals import tails

Array = NDArray[np.float64]


@dataclass(frozen=True)
class PredictOptions:
    """What is predicted for every row.

    Attributes
    ----------
    quantiles : tuple of float
        Levels.
    interval : float or None
        Coverage of an interval.
    after : str or None
        A time until which nothing happened, or the name of a column of them.
    unreached : {"clip", "nan", "inf"} or None
        What stands for quantiles that are not identified. By default it is the bound for
        quantiles, and infinity for the ends of an interval, which promises to hold T.
    keep : tuple of str
        Columns to copy; ``"*"`` is all.
    survival : tuple of float
        Times at which to give the probability that the event is still to come.
    lower_bound, upper_bound : float or None
        Coverage of conformal bounds; the forest must be calibrated, and `after` None.
    digits : int or None
        Significant digits to round to.
    """

    quantiles: tuple[float, ...] = (0.1, 0.5, 0.9)
    interval: float | None = None
    after: str | None = None
    unreached: str | None = None
    keep: tuple[str, ...] = ()
    survival: tuple[float, ...] = ()
    lower_bound: float | None = None
    upper_bound: float | None = None
    digits: int | None = None


def predict_blocks(
    forest: CensoredQuantileForest,
    table: TableReader,
    options: PredictOptions,
    tell: Callable[[str], None] = lambda _: None,
) -> Iterator[dict[str, Any]]:
    """Predict block after block.

    Parameters
    ----------
    forest : CensoredQuantileForest
        It must be calibrated where bounds are asked for.
    table : TableReader
        Its rows are read as they are answered.
    options : PredictOptions
        What is predicted.
    tell : callable
        Takes a line that the user should read.

    Yields
    ------
    dict of str to arrays
        Copied columns; for every quantile its value and whether it is identified; probabilities of
        survival; bounds.
    """
    # A model that knows no names needs a table with its own columns and no others.
    features = FeatureColumns.of_forest(forest, table.names, table.file)
    kept = table.names if "*" in options.keep else list(options.keep)
    for name in kept:
        if name not in table.names:
            problem = f"--keep {name}: there is no such column; {listed(table.names, name)}"
            raise TableError(table.file, problem)
    told: set[str] = set()
    for block in table.blocks():
        X = read_features(block, features)
        for name, line in _unknown_categories(forest, block, X, features):
            if name not in told:
                tell(line)
                told.add(name)
        answer: dict[str, Any] = {name: block.columns[name] for name in kept}
        for name, values in _solve(forest, X, _after(block, options.after), options).items():
            if options.digits is not None and values.dtype.kind == "f":
                values = rounded(values, options.digits)
            answer[name if name not in kept else f"{name}_predicted"] = values
        yield answer


def _solve(
    forest: CensoredQuantileForest, X: Any, after: Array | float | None, options: PredictOptions
) -> dict[str, NDArray[Any]]:
    """Answer the rows of a block: names of columns and arrays of shape (n,)."""
    law = forest.distribution(X, conditional_after=after)
    levels = np.array(options.quantiles)
    answer: dict[str, NDArray[Any]] = {}

    def add(names: list[str], values: Array, identified: NDArray[np.bool_]) -> None:
        for j, name in enumerate(names):
            answer[name], answer[f"{name}_identified"] = values[:, j], identified[:, j]

    values = law.quantile(levels, unreached=options.unreached or "clip")
    add([f"q{level:g}" for level in levels], values, law.identified(levels))
    if options.interval is not None:
        coverage = options.interval
        ends = law.interval(coverage, unreached=options.unreached or "inf")
        names = [f"lower{coverage:g}", f"upper{coverage:g}"]
        add(names, ends, law.identified(tails(coverage)))
    if options.survival:
        survival = np.asarray(law.survival(options.survival))
        for j, time in enumerate(options.survival):
            answer[f"s{time:g}"] = survival[:, j]
    if options.lower_bound is not None:
        answer[f"lower_bound{options.lower_bound:g}"] = law.lower_bound(options.lower_bound)
    if options.upper_bound is not None:
        answer[f"upper_bound{options.upper_bound:g}"] = law.upper_bound(options.upper_bound)
    return answer


def rounded(values: Array, digits: int) -> Array:
    """Round to significant digits; the result is the number nearest to the decimal one."""
    plain = np.isfinite(values) & (values != 0.0)
    size = np.floor(np.log10(np.abs(np.where(plain, values, 1.0)))).astype(np.int64)
    places = digits - 1 - size
    # Powers of ten are exact up to this one: what is smaller or larger stays as it is.
    plain &= np.abs(places) <= 22
    places = np.where(plain, places, 0)
    up, down = 10.0 ** np.maximum(places, 0), 10.0 ** np.maximum(-places, 0)
    near = np.rint(np.where(plain, values, 0.0) * up / down) * down / up
    return np.where(plain, near, values)


def _unknown_categories(
    forest: CensoredQuantileForest, block: Block, X: Any, features: FeatureColumns
) -> Iterator[tuple[str, str]]:
    """Tell of texts that the forest has never seen, one for every column."""
    known = dict(forest.model_.encoder.categories)
    for j, (name, kind) in enumerate(features.kinds.items()):
        if kind != "text" or not features.named:
            continue
        values = {str(value) for value in known[j]}
        for cell in X[name].dropna().unique():
            if cell not in values:
                at = int(np.argmax((X[name] == cell).to_numpy()))
                problem = "is not among the categories of the model, and counts as missing"
                line = f"{shown(cell)} {problem}; {meant(cell, values)}".rstrip("; ")
                yield name, str(block.error(line, name, at))
                break


def _after(block: Block, after: str | None) -> float | Array | None:
    if after is None:
        return None
    if after not in block.columns:
        try:
            time = float(after)
        except ValueError:
            time = np.nan
        if not np.isfinite(time):
            hint = listed(block.columns, after)
            problem = f"--after {after} is neither a number nor a column; {hint}"
            raise TableError(block.file, problem)
        return time
    times = numbers(block, after)
    if np.isnan(times).any():
        raise block.error("is missing", after, int(np.argmax(np.isnan(times))))
    return times
