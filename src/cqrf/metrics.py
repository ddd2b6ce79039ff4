"""How good a predicted quantile is when the times are censored."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cqrf.target import Target, marginal_curves


def pinball_loss(
    time: ArrayLike, prediction: ArrayLike, *, quantile: float = 0.5
) -> NDArray[np.float64]:
    r"""Pinball (quantile) loss of every row (paper, eq. L_quantile).

    .. math:: \rho_\tau(u) = u (\tau - 1\{u < 0\}), \qquad u = T - \hat q.

    Parameters
    ----------
    time : array-like of shape (n,)
        True times.
    prediction : array-like of shape (n,)
        Predicted quantiles.
    quantile : float
        Level tau.

    Returns
    -------
    ndarray of shape (n,), float64
        Not negative; its mean is the usual loss.
    """
    u = np.asarray(time, dtype=np.float64) - np.asarray(prediction, dtype=np.float64)
    return np.maximum(quantile * u, (quantile - 1.0) * u)


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
