"""Predictions of a forest with the outcomes beside them, out-of-bag or on other data."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cqrf import _engine
from cqrf._estimation import Estimation
from cqrf.explain import outcomes_by_row
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


def estimation_of(forest: CensoredQuantileForest, matrix: Array) -> Estimation:
    """Estimation of encoded rows, shape (n, p)."""
    return forest._estimation_of(_engine.Features.of_matrix(matrix))


def out_of_bag(forest: CensoredQuantileForest, levels: Array) -> Answers:
    """Answers for the training rows from the trees that did not draw them."""
    time, event = outcomes_by_row(forest.target_)
    estimation = forest._oob_estimation()
    ranked, known = estimation.quantiles(
        levels, solver=forest.solver, interpolation=forest.interpolation
    )
    quantiles = forest.target_.by_row(ranked, np.nan)
    identified = forest.target_.by_row(known, False)
    return Answers(time, event, levels, quantiles, identified, out_of_bag=True)


def predicted(
    forest: CensoredQuantileForest,
    estimation: Estimation,
    time: Array,
    event: NDArray[np.bool_],
    levels: Array,
) -> Answers:
    """Answers for n rows that the forest has not seen."""
    quantiles, identified = estimation.quantiles(
        levels, solver=forest.solver, interpolation=forest.interpolation
    )
    return Answers(time, event, levels, quantiles, identified, out_of_bag=False)
