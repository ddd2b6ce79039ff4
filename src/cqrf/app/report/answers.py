"""Predictions of a forest with the outcomes beside them, out-of-bag or on other data."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cqrf import _engine
from cqrf.forest import CensoredQuantileForest
from cqrf.metrics.curve_errors import log_score_times, scoring_times
from cqrf.metrics.horizon import read_horizon
from cqrf.model.explain import outcomes_by_row
from cqrf.solving.estimation import Estimation
from cqrf.solving.options import AnswerOptions

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Question:
    """What is asked of every row.

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
    ) -> Question:
        """Ask as far as the training record of a forest allows."""
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
class Answers:
    """Predictions for some rows.

    Attributes
    ----------
    question : Question
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

    question: Question
    time: Array
    event: NDArray[np.bool_]
    quantiles: Array
    identified: NDArray[np.bool_]
    survival: Array
    out_of_bag: bool


def estimation_of(forest: CensoredQuantileForest, matrix: Array) -> Estimation:
    """Estimation of encoded rows, shape (n, p)."""
    features = _engine.Features.of_matrix(matrix)
    options = AnswerOptions.from_params(forest.get_params(deep=False), forest.target_.n)
    return forest.model_.distribution(features, options).estimation


def out_of_bag(forest: CensoredQuantileForest, question: Question) -> Answers:
    """Answers for the training rows from the trees that did not draw them."""
    time, event = outcomes_by_row(forest.target_)
    quantiles, identified, survival = _ask(forest, forest.oob_distribution().estimation, question)
    by_row = forest.target_.by_row
    return Answers(
        question,
        time,
        event,
        by_row(quantiles, np.nan),
        by_row(identified, False),
        by_row(survival, np.nan),
        out_of_bag=True,
    )


def predicted(
    forest: CensoredQuantileForest,
    estimation: Estimation,
    time: Array,
    event: NDArray[np.bool_],
    question: Question,
) -> Answers:
    """Answers for n rows that the forest has not seen."""
    return Answers(question, time, event, *_ask(forest, estimation, question), out_of_bag=False)


def _ask(
    forest: CensoredQuantileForest, estimation: Estimation, question: Question
) -> tuple[Array, NDArray[np.bool_], Array]:
    """Quantiles, whether they are identified, and survival curves."""
    quantiles, identified = estimation.quantiles(
        question.levels, solver=forest.solver, interpolation=forest.interpolation
    )
    # Rounding may leave the interval by the last digit.
    survival = np.clip(estimation.curve("survival", question.times), 0.0, 1.0)
    return quantiles, identified, survival


def share_trained_on(
    forest: CensoredQuantileForest,
    features: _engine.Features,
    time: Array,
    event: NDArray[np.bool_],
) -> float:
    """Share of the rows that are among those the forest was grown from, features and outcome.

    Parameters
    ----------
    forest : CensoredQuantileForest
        Its binned training rows and their outcomes are what rows are known by.
    features : Features
        Encoded, of shape (n, p).
    time, event : ndarray of shape (n,)
        Outcomes.
    """
    target = forest.target_
    bins = forest.model_.binner.bin(features, None, 1)
    trained = set(_fingerprints(forest.model_.bins, target.observed, target.event == 1))
    found = [row in trained for row in _fingerprints(bins, time, event)]
    return float(np.mean(found))


def _fingerprints(bins: NDArray[np.uint8], time: Array, event: NDArray[np.bool_]) -> list[bytes]:
    """One text of bytes for every row."""
    # Adding zero turns -0.0 into 0.0, whose bytes differ.
    times = np.ascontiguousarray(time + 0.0).view(np.uint8).reshape(len(time), 8)
    table = np.column_stack([bins, times, event.astype(np.uint8)])
    return [row.tobytes() for row in table]
