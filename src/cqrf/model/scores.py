"""What a fitted forest is worth, and what it says of risks."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import UndefinedMetricWarning

from cqrf.metrics.curve_errors import (
    Skill,
    integrated_errors,
    kaplan_meier_survival,
    scoring_times,
)
from cqrf.metrics.horizon import read_horizon, representative_times
from cqrf.metrics.ipcw import Scored
from cqrf.metrics.left_out import reference_curves
from cqrf.model.distribution import Distribution
from cqrf.support.warn import warn


def score(distribution: Distribution, scored: Scored) -> float:
    """Share of Kaplan-Meier's integrated Brier score that is saved at rows of known outcome.

    Parameters
    ----------
    distribution : Distribution
        What is predicted for m rows.
    scored : Scored
        Their outcomes, the training outcomes, and how far is scored.
    """
    times = scoring_times(scored.train, scored.horizon)
    (errors,) = distribution.points.in_blocks(
        2 * len(times),
        lambda estimation, rows: (
            integrated_errors(scored.take(rows), estimation.curve("survival", times), times),
        ),
    )
    reference = integrated_errors(scored, kaplan_meier_survival(scored.train, times), times)
    return _share(errors, reference, scored)


def oob_score(distribution: Distribution, horizon: float | str) -> float:
    """`score` of the training rows, out-of-bag; rows that every tree has drawn are left out."""
    train = distribution.points.model.target
    scored = Scored.of_training(train, horizon)
    times = scoring_times(train, scored.horizon)
    survival = distribution.estimation.curve("survival", times)
    answered = np.flatnonzero(~np.isnan(survival[:, 0]))
    if not answered.size:
        raise ValueError("no row was left out by any tree; grow more trees")
    scored = scored.take(answered)
    errors = integrated_errors(scored, survival[answered], times)
    others = reference_curves(train, times)[answered]
    return _share(errors, integrated_errors(scored, others, times), scored)


def _share(errors: NDArray[np.float64], reference: NDArray[np.float64], scored: Scored) -> float:
    skill = Skill.of(errors, reference, scored.sample_weight)
    if np.isnan(skill.share):
        warn(
            f"score is undefined: up to the horizon {scored.horizon:g} the Kaplan-Meier curve "
            "makes no error that could be saved",
            UndefinedMetricWarning,
        )
    return skill.share


def risk(distribution: Distribution, horizon: float | str) -> NDArray[np.float64]:
    r"""Events expected up to a horizon h if all training rows were like x, shape (m,).

    .. math:: \sum_i \hat\Lambda(\min(Y_i, h) \mid x)
    """
    train = distribution.points.model.target
    if train.mirrored:
        raise ValueError(
            "under left censoring there is no risk of events to come: rank by predict_rmst, "
            "with the largest time as its horizon"
        )
    times, counts = representative_times(train, read_horizon(horizon, train))
    (risks,) = distribution.points.in_blocks(
        len(times),
        lambda estimation, _: (
            np.einsum("ij,j->i", estimation.curve("cumulative_hazard", times), counts),
        ),
    )
    return risks
