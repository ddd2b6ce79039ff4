"""Brier scores of predicted survival curves."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.integrate import trapezoid

from cqrf._checks import check_choice
from cqrf._ipcw import read_training
from cqrf._scoring import check_predictions, graf_weights, mean_by_level, warn_undefined
from cqrf.target import check_sample_weight, check_time, parse_outcome


def brier_score(
    y: Any,
    survival: ArrayLike,
    times: ArrayLike,
    *,
    event: ArrayLike | None = None,
    train: Any = None,
    sample_weight: ArrayLike | None = None,
    censoring: str = "right",
) -> NDArray[np.float64]:
    r"""Mean squared error of predicted survival probabilities (Graf).

    .. math::

        B(t) = \frac{1}{m} \sum_i \Big[ \frac{\delta_i 1\{Y_i \le t\}}{\hat G(Y_i-)} \hat S_i(t)^2
               + \frac{1\{Y_i > t\}}{\hat G(t)} (1 - \hat S_i(t))^2 \Big].

    Parameters
    ----------
    y, event, train, sample_weight, censoring
        As in `censored_pinball_loss`.
    survival : array-like of shape (m, g)
        Predicted P(T > t), in [0, 1].
    times : array-like of shape (g,)
        The times t.

    Returns
    -------
    ndarray of shape (g,), float64
        NaN, with a warning, at times beyond reach, where :math:`\hat G(t) = 0`.

    Examples
    --------
    >>> from cqrf.metrics import brier_score
    >>> time, event = [1.0, 2.0, 3.0, 4.0], [True, True, False, True]
    >>> brier_score(time, [[0.2], [0.6], [0.8], [1.0]], [2.5], event=event)
    array([0.11])
    """
    scores = _brier(y, survival, times, event, train, sample_weight, censoring)[1]
    if np.isnan(scores).any():
        warn_undefined("brier_score", "some of the times are beyond reach")
    return scores


def integrated_brier_score(
    y: Any,
    survival: ArrayLike,
    times: ArrayLike,
    *,
    event: ArrayLike | None = None,
    train: Any = None,
    sample_weight: ArrayLike | None = None,
    censoring: str = "right",
) -> float:
    r"""Mean Brier score over an interval of times.

    .. math:: \frac{1}{t_g - t_1} \int_{t_1}^{t_g} B(t)\, dt,

    by the trapezoidal rule, over those of the times that are within reach.

    Parameters
    ----------
    y, survival, event, train, sample_weight, censoring
        As in `brier_score`.
    times : array-like of shape (g,)
        Ascending times, at least two.

    Returns
    -------
    float
        NaN, with a warning, if fewer than two of the times are within reach.

    Examples
    --------
    >>> from cqrf.metrics import integrated_brier_score
    >>> time, event = [1.0, 2.0, 3.0, 4.0], [True, True, False, True]
    >>> survival = [[0.2, 0.1], [0.6, 0.2], [0.8, 0.6], [1.0, 0.8]]
    >>> round(integrated_brier_score(time, survival, [2.5, 3.5], event=event), 4)
    0.0712
    """
    at, scores = _brier(y, survival, times, event, train, sample_weight, censoring)
    if len(at) < 2 or (np.diff(at) <= 0).any():
        raise ValueError("times must be at least two, in ascending order")
    within = ~np.isnan(scores)
    if within.sum() < 2:
        warn_undefined("integrated_brier_score", "fewer than two of the times are within reach")
        return float("nan")
    at, scores = at[within], scores[within]
    return float(trapezoid(scores, at) / (at[-1] - at[0]))


def _brier(
    y: Any,
    survival: ArrayLike,
    times: ArrayLike,
    event: ArrayLike | None,
    train: Any,
    sample_weight: ArrayLike | None,
    censoring: str,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return times and their scores, shape (g,) each, NaN beyond reach."""
    check_choice("censoring", censoring, ("right", "left"))
    time, seen = parse_outcome(y, event)
    at = check_time("times", times)
    predicted = check_predictions("survival", survival, len(time), len(at))
    outside = (predicted < 0.0) | (predicted > 1.0)
    if outside.any():
        row, column = np.argwhere(outside)[0]
        raise ValueError(
            f"survival must lie between 0 and 1; row {row} has {predicted[row, column]}"
        )
    weight = None
    if sample_weight is not None:
        weight = check_sample_weight(sample_weight, len(time))
    scores = np.full(len(at), np.nan)
    if train is None and not seen.any():
        return at, scores
    target = read_training(train, time, seen, sample_weight, censoring)
    for k, t in enumerate(at):
        reached, graf, _, within = graf_weights(time, seen, np.full(len(time), t), target)
        # Mirrored, -T has come before -t: T is beyond t.
        has_come = ~reached if target.mirrored else reached
        if within[0]:
            error = graf * (predicted[:, k] - ~has_come) ** 2
            scores[k] = mean_by_level(error[:, None], weight)[0]
    return at, scores
