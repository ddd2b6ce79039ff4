"""Predictions for the blocks of a table: what ``cqrf predict`` and ``cqrf explore`` share."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cqrf._estimation import mark_unreached
from cqrf.forest import CensoredQuantileForest
from cqrf.tables._errors import TableError
from cqrf.tables.columns import numbers
from cqrf.tables.features import Features, read_features
from cqrf.tables.reading import Block, Table, listed


@dataclass(frozen=True)
class Question:
    """What is asked about every row.

    Attributes
    ----------
    quantiles : tuple of float
        Levels.
    interval : float or None
        Coverage of an interval.
    after : str or None
        A time until which nothing happened, or the name of a column of them.
    unreached : {"clip", "nan", "inf"}
        What stands for quantiles that are not identified.
    keep : tuple of str
        Columns to copy; ``"*"`` is all.
    """

    quantiles: tuple[float, ...] = (0.1, 0.5, 0.9)
    interval: float | None = None
    after: str | None = None
    unreached: str = "clip"
    keep: tuple[str, ...] = ()

    @property
    def columns(self) -> dict[str, float]:
        """Names of the answers and the levels that they are quantiles of."""
        named = {f"q{level:g}": level for level in self.quantiles}
        if self.interval is not None:
            tail = (1.0 - self.interval) / 2.0
            named[f"lower{self.interval:g}"] = tail
            named[f"upper{self.interval:g}"] = 1.0 - tail
        return named


def answers(
    forest: CensoredQuantileForest, table: Table, question: Question
) -> Iterator[dict[str, Any]]:
    """Predict block after block.

    Yields
    ------
    dict of str to arrays
        Copied columns, then for every quantile its value and whether it is identified.
    """
    # Columns by position: what is only copied or asked after is none of the model's.
    features = Features.of_forest(forest, table.names, table.file)
    kept = table.names if "*" in question.keep else list(question.keep)
    for name in kept:
        if name not in table.names:
            problem = f"--keep {name}: there is no such column; {listed(table.names, name)}"
            raise TableError(table.file, problem)
    for block in table.blocks():
        quantiles, identified = _solve(forest, block, features, question)
        answer: dict[str, Any] = {name: block.columns[name] for name in kept}
        for j, name in enumerate(question.columns):
            answer[name if name not in kept else f"{name}_predicted"] = quantiles[:, j]
            answer[f"{name}_identified"] = identified[:, j]
        yield answer


def _solve(
    forest: CensoredQuantileForest, block: Block, features: Features, question: Question
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    levels = np.array(list(question.columns.values()))
    after = _after(block, question.after)
    X = read_features(block, features)
    estimation = forest._estimation(X)
    quantiles, identified = estimation.quantiles(
        levels,
        solver=forest.solver,
        interpolation=forest.interpolation,
        conditional_after=after,
    )
    return (
        mark_unreached(quantiles, identified, question.unreached, mirrored=forest.target_.mirrored),
        identified,
    )


def _after(block: Block, after: str | None) -> float | NDArray[np.float64] | None:
    if after is None:
        return None
    if after not in block.columns:
        try:
            time = float(after)
        except ValueError:
            time = np.nan
        if not np.isfinite(time):
            problem = (
                f"--after {after} is neither a number nor a column; {listed(block.columns, after)}"
            )
            raise TableError(block.file, problem)
        return time
    times = numbers(block, after)
    if np.isnan(times).any():
        raise block.error("is missing", after, int(np.argmax(np.isnan(times))))
    return times
