"""Inverse-probability-of-censoring weights, and the outcomes that they are estimated from."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cqrf._checks import check_choice
from cqrf.target import Target, check_sample_weight, marginal_curves, parse_outcome


def censoring_weights(
    time: NDArray[np.float64], event: NDArray[np.bool_], training: Target
) -> NDArray[np.float64]:
    r"""Inverse-probability-of-censoring weights :math:`\delta_i / \hat G(Y_i-)`.

    A mean with these weights over the uncensored rows estimates the mean over all rows, if
    censoring does not depend on the features. G is the Kaplan-Meier curve of the training
    outcomes, clipped at its smallest positive value: late events get a bounded weight instead of
    an infinite one.

    Parameters
    ----------
    time : ndarray of shape (n,), float64
        Observed times.
    event : ndarray of shape (n,), bool
        True where the event was seen.
    training : Target
        Outcomes that G is estimated from; for left censoring both are mirrored here.

    Returns
    -------
    ndarray of shape (n,), float64
        Zero for censored rows, one for all rows if nothing is censored in training.
    """
    _, censoring = marginal_curves(training)
    floor = censoring[censoring > 0.0].min(initial=1.0)
    signed = -time if training.mirrored else time
    before = np.searchsorted(training.times, signed, side="left")
    g = np.concatenate([[1.0], np.maximum(censoring, floor)])[before]
    return np.where(event, 1.0 / g, 0.0)


def weighted_times(
    y: Any,
    event: ArrayLike | None,
    train: Any,
    sample_weight: ArrayLike | None,
    censoring: str,
    beyond: str,
    horizon: float | None = None,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return times, cut at the horizon, and their weights, all zero if the score is undefined."""
    check_choice("censoring", censoring, ("right", "left"))
    check_choice("beyond", beyond, ("drop", "clip"))
    time, seen = parse_outcome(y, event)
    weight = np.ones(len(time))
    if sample_weight is not None:
        weight = check_sample_weight(sample_weight, len(time))
    if train is None and not weight[seen].any():
        return time, np.zeros(len(time))
    target = read_training(train, time, seen, sample_weight, censoring)
    cut = cut_at(time, horizon, censoring)
    if horizon is not None:
        # Whoever reaches the horizon is known to: min(T, h) is h.
        seen = seen | (cut == horizon)
    weight = weight * censoring_weights(cut, seen, target)
    if beyond == "drop":
        exhausted = target.times[marginal_curves(target)[1] == 0.0]
        weight[(-cut if target.mirrored else cut) > exhausted.min(initial=np.inf)] = 0.0
    return cut, weight


def read_training(
    train: Any,
    time: NDArray[np.float64],
    event: NDArray[np.bool_],
    sample_weight: ArrayLike | None,
    censoring: str,
) -> Target:
    """Return the outcomes that G is estimated from: `train`, or by default the given ones."""
    check_choice("censoring", censoring, ("right", "left"))
    if train is None:
        return Target.from_outcome(time, event, sample_weight, censoring)  # type: ignore[arg-type]
    if isinstance(train, Target):
        if train.censoring != censoring:
            raise ValueError(
                f"train is {train.censoring} censored, but censoring={censoring!r} was asked for"
            )
        return train
    paired = isinstance(train, tuple) and len(train) == 2 and np.ndim(train[0]) > 0
    try:
        outcome = parse_outcome(*train) if paired else parse_outcome(train)
        return Target.from_outcome(*outcome, censoring=censoring)  # type: ignore[arg-type]
    except (TypeError, ValueError) as error:
        raise type(error)(f"train: {error}") from None


def cut_at(
    times: NDArray[np.float64], horizon: float | None, censoring: str
) -> NDArray[np.float64]:
    """min(times, horizon), or max for left censoring."""
    if horizon is None:
        return times
    limit = _check_horizon(horizon)
    return np.maximum(times, limit) if censoring == "left" else np.minimum(times, limit)


def _check_horizon(horizon: object) -> float:
    """Check the time at which T is cut: one finite number."""
    if not isinstance(horizon, Real) or isinstance(horizon, bool):
        raise TypeError(f"horizon must be a number or None; received {horizon!r}")
    if not np.isfinite(float(horizon)):
        raise ValueError(f"horizon must be finite; received {horizon!r}")
    return float(horizon)
