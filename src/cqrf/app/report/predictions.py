"""Predictions of a forest with the outcomes beside them, out-of-bag or on other data."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cqrf import _engine
from cqrf.forest import CensoredQuantileForest
from cqrf.metrics.curve_errors import log_score_times, scoring_times
from cqrf.metrics.horizon import read_horizon
from cqrf.model.distribution import Distribution
from cqrf.model.explain import outcomes_by_row
from cqrf.solving.options import AnswerOptions

Array = NDArray[np.float64]

# Scores flatter if more than this share of the rows was trained on; a smaller one may be chance,
# since rows can be alike.
MUCH_TRAINED_ON = 0.5

# With a larger share of training rows, scores say little of new ones.
MUCH_TRAINED_ON = 0.5


@dataclass(frozen=True, eq=False)
class ScoringGrid:
    """The levels and the times at which predictions are scored.

    Attributes
    ----------
    levels : ndarray of shape (q,)
        Levels of the quantiles, ascending.
    horizon : float
        The time h up to which is scored.
    times : ndarray of shape (g,)
        Times of the survival curves, from the first one of the record to h.
    log_times : ndarray of shape (k,), int64
        Those of them, by position, between which the log score counts events.
    """

    levels: Array
    horizon: float
    times: Array
    log_times: NDArray[np.int64]

    @classmethod
    def about(
        cls, forest: CensoredQuantileForest, levels: Array, horizon: float | str = "auto"
    ) -> ScoringGrid:
        """Choose times as far as the training record of a forest allows."""
        target = forest.target_
        limit = read_horizon(horizon, target)
        events = target.observed[target.event == 1]
        first = float(events.max() if target.mirrored else events.min())
        if (limit > first) if target.mirrored else (limit < first):
            which = "after the last" if target.mirrored else "before the first"
            raise ValueError(
                f"horizon={limit:g} lies {which} event, at {first:g}: nothing to score"
            )
        times = scoring_times(target, limit)
        coarse = np.searchsorted(times, log_score_times(target, limit))
        return cls(levels, limit, times, coarse)


@dataclass(frozen=True, eq=False)
class PredictedRows:
    """Predictions of a forest for rows of known outcome.

    Attributes
    ----------
    grid : ScoringGrid
    time, event : ndarray of shape (n,)
        Outcomes.
    quantiles : ndarray of shape (n, q)
        A bound where not identified; NaN in rows without an answer.
    identified : ndarray of shape (n, q), bool
    survival : ndarray of shape (n, g)
        P(T > t); NaN in rows without an answer.
    out_of_bag : bool
        Whether the rows are those that the forest was grown from.
    """

    grid: ScoringGrid
    time: Array
    event: NDArray[np.bool_]
    quantiles: Array
    identified: NDArray[np.bool_]
    survival: Array
    out_of_bag: bool


def encoded_law(forest: CensoredQuantileForest, matrix: Array) -> Distribution:
    """Predict the law of T at rows that are encoded already, shape (n, p)."""
    features = _engine.Features.of_matrix(matrix)
    return forest.model_.distribution(features, answer_options(forest))


def answer_options(forest: CensoredQuantileForest) -> AnswerOptions:
    """Tell how a forest answers."""
    return AnswerOptions.from_params(forest.get_params(deep=False), forest.target_.n)


def predict_out_of_bag(forest: CensoredQuantileForest, grid: ScoringGrid) -> PredictedRows:
    """Predict the training rows, each from the trees that did not draw it."""
    time, event = outcomes_by_row(forest.target_)
    return PredictedRows(
        grid, time, event, *_at_grid(forest.oob_distribution(), grid), out_of_bag=True
    )


def predict_rows(
    law: Distribution, time: Array, event: NDArray[np.bool_], grid: ScoringGrid
) -> PredictedRows:
    """Predict n rows that the forest has not seen, from the law of T at each of them."""
    return PredictedRows(grid, time, event, *_at_grid(law, grid), out_of_bag=False)


def _at_grid(law: Distribution, grid: ScoringGrid) -> tuple[Array, NDArray[np.bool_], Array]:
    """Quantiles, whether they are identified, and survival probabilities."""
    # Rounding may put a probability outside of [0, 1] by its last digit.
    survival = np.clip(law.curve("survival", grid.times), 0.0, 1.0)
    return law.quantile(grid.levels), law.identified(grid.levels), survival


def share_trained_on(
    forest: CensoredQuantileForest,
    features: _engine.Features,
    time: Array,
    event: NDArray[np.bool_],
) -> float:
    r"""Estimate which share of the rows the forest was grown from, by features and outcome.

    Of coarse data new rows are found among the training rows, too: about as many as there are
    training rows with an equal one among the others, a share a. If s of the rows are found, about
    :math:`(s - a) / (1 - a)` of them are training rows.

    Parameters
    ----------
    forest : CensoredQuantileForest
        Rows are the same if their bins and their outcomes are.
    features : Features
        Encoded, of shape (n, p).
    time, event : ndarray of shape (n,)
        Outcomes.

    Returns
    -------
    float
        1 for the training rows themselves, in any order; 0 if no more rows are found than chance
        explains.
    """
    target = forest.target_
    bins = forest.model_.binner.bin(features, None, 1)
    trained = Counter(_fingerprints(forest.model_.bins, target.observed, target.event == 1))
    rows = _fingerprints(bins, time, event)
    if Counter(rows) == trained:
        return 1.0
    found = float(np.mean([row in trained for row in rows]))
    alike = sum(count for count in trained.values() if count > 1) / target.n
    if found - alike <= 3.0 * np.sqrt(alike * (1.0 - alike) / len(rows)):
        return 0.0
    return (found - alike) / (1.0 - alike)


def _fingerprints(bins: NDArray[np.uint8], time: Array, event: NDArray[np.bool_]) -> list[bytes]:
    """Turn bins and outcome of every row into bytes, which are equal for equal rows."""
    # Adding zero turns -0.0 into 0.0: they are equal, but their bytes are not.
    times = np.ascontiguousarray(time + 0.0).view(np.uint8).reshape(len(time), 8)
    table = np.column_stack([bins, times, event.astype(np.uint8)])
    return [row.tobytes() for row in table]
