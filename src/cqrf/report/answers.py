"""Predictions of a forest with the outcomes beside them, out-of-bag or on other data."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cqrf.forest import CensoredQuantileForest

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Answers:
    """Predicted quantiles of some rows.

    Attributes
    ----------
    time, event : ndarray of shape (n,)
        Outcomes.
    levels : ndarray of shape (q,)
    quantiles : ndarray of shape (n, q)
        A bound where not identified; NaN in rows without an answer.
    identified : ndarray of shape (n, q), bool
    out_of_bag : bool
        Whether the rows are those that the forest was grown from.
    """

    time: Array
    event: NDArray[np.bool_]
    levels: Array
    quantiles: Array
    identified: NDArray[np.bool_]
    out_of_bag: bool


def training_outcome(forest: CensoredQuantileForest) -> tuple[Array, NDArray[np.bool_]]:
    """Return what the forest was grown from, in the order of the user's rows."""
    target = forest.target_
    time = np.full(target.n_rows, np.nan)
    event = np.zeros(target.n_rows, dtype=np.bool_)
    signed = target.times[target.time_index]
    time[target.order] = -signed + 0.0 if target.mirrored else signed
    event[target.order] = target.event == 1
    return time, event


def out_of_bag(forest: CensoredQuantileForest, levels: Array) -> Answers:
    """Answers for the training rows from the trees that did not draw them."""
    time, event = training_outcome(forest)
    estimation = forest._out_of_bag("report")
    ranked, known = estimation.quantiles(
        levels, solver=forest.solver, interpolation=forest.interpolation
    )
    order = forest.target_.order
    quantiles = np.full((len(time), len(levels)), np.nan)
    identified = np.zeros(quantiles.shape, dtype=np.bool_)
    quantiles[order], identified[order] = ranked, known
    return Answers(time, event, levels, quantiles, identified, out_of_bag=True)


def predicted(
    forest: CensoredQuantileForest,
    matrix: Array,
    time: Array,
    event: NDArray[np.bool_],
    levels: Array,
) -> Answers:
    """Answers for rows that the forest has not seen, encoded, shape (n, p)."""
    quantiles, identified = forest._estimation_of(matrix).quantiles(
        levels, solver=forest.solver, interpolation=forest.interpolation
    )
    return Answers(time, event, levels, quantiles, identified, out_of_bag=False)
