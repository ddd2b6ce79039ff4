"""How good a predicted quantile is when the times are censored."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cqrf.target import Target, marginal_curves


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
