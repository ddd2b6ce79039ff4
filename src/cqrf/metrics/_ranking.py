"""Concordance: whether those predicted to be earlier are earlier."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cqrf._checks import check_choice
from cqrf._ipcw import read_training, weighted_times
from cqrf._scoring import check_predictions, count_pairs, warn_undefined
from cqrf.target import check_sample_weight, parse_outcome


def concordance_index(
    y: Any,
    predicted_time: ArrayLike,
    *,
    event: ArrayLike | None = None,
    censoring: str = "right",
    sample_weight: ArrayLike | None = None,
) -> float:
    r"""Harrell's concordance index of predicted times.

    .. math::

        C = \frac{\sum_{(i, j)} w_i w_j\, (1\{p_i < p_j\} + \tfrac12 1\{p_i = p_j\})}
                 {\sum_{(i, j)} w_i w_j}

    over the pairs in which i is known to have had its event before j: at an earlier time, or at
    the same time if j was censored there. Two events at the same time are not compared.

    Parameters
    ----------
    y, event, censoring
        As in `censored_pinball_loss`. Left censored times are compared after negation.
    predicted_time : array-like of shape (m,)
        Predicted times, or any score that is larger for later events; not NaN.
    sample_weight : array-like of shape (m,), optional
        Non-negative weights w. Whole numbers are the same as repeated rows.

    Returns
    -------
    float
        Between 0 and 1; 0.5 without skill. NaN, with a warning, if there are no such pairs.

    Notes
    -----
    Takes O(m log m) time; the conventions are those of ``lifelines.utils.concordance_index``.

    Examples
    --------
    >>> from cqrf.metrics import concordance_index
    >>> time, event = [1.0, 2.0, 3.0, 4.0], [True, True, False, True]
    >>> concordance_index(time, [1.0, 3.0, 2.0, 4.0], event=event)
    0.8
    """
    check_choice("censoring", censoring, ("right", "left"))
    time, seen = parse_outcome(y, event)
    predicted = check_predictions("predicted_time", predicted_time, len(time))[:, 0]
    index = _concordance(time, seen, predicted, censoring, sample_weight)
    if np.isnan(index):
        warn_undefined("concordance_index", "no two rows can be compared")
    return index


def concordance_index_ipcw(
    y: Any,
    predicted_time: ArrayLike,
    *,
    event: ArrayLike | None = None,
    train: Any = None,
    censoring: str = "right",
    horizon: float | None = None,
    beyond: str = "drop",
    sample_weight: ArrayLike | None = None,
) -> float:
    r"""Uno's concordance index of predicted times, which does not depend on the censoring.

    .. math::

        C = \frac{\sum_{(i, j)} v_i^2 w_i w_j\, (1\{p_i < p_j\} + \tfrac12 1\{p_i = p_j\})}
                 {\sum_{(i, j)} v_i^2 w_i w_j}, \qquad v_i = \delta_i / \hat G(Y_i-),

    over the pairs of `concordance_index`. Harrell's index sees pairs the more often the earlier
    they are; the weights undo this.

    Parameters
    ----------
    y, event, train, censoring, beyond
        As in `censored_pinball_loss`.
    predicted_time : array-like of shape (m,)
        Predicted times, or any score that is larger for later events; not NaN.
    horizon : float, optional
        Only events before this time lead a pair (after it, for left censoring).
    sample_weight : array-like of shape (m,), optional
        Non-negative weights w.

    Returns
    -------
    float
        Between 0 and 1; 0.5 without skill. NaN, with a warning, if there are no such pairs.

    Examples
    --------
    >>> from cqrf.metrics import concordance_index_ipcw
    >>> time, event = [1.0, 2.0, 3.0, 4.0], [True, True, False, True]
    >>> concordance_index_ipcw(time, [1.0, 3.0, 2.0, 4.0], event=event)
    0.8
    """
    time, seen = parse_outcome(y, event)
    predicted = check_predictions("predicted_time", predicted_time, len(time))[:, 0]
    _, ipcw = weighted_times(time, seen, train, None, censoring, beyond)
    if horizon is not None:
        ipcw = ipcw * (time > horizon if censoring == "left" else time < horizon)
    index = _concordance(time, seen, predicted, censoring, sample_weight, ipcw**2)
    if np.isnan(index):
        warn_undefined("concordance_index_ipcw", "no two rows can be compared")
    return index


def _concordance(
    time: NDArray[np.float64],
    seen: NDArray[np.bool_],
    predicted: NDArray[np.float64],
    censoring: str,
    sample_weight: ArrayLike | None,
    lead: NDArray[np.float64] | None = None,
) -> float:
    """Concordance with the weights `lead` of the earlier row of a pair; NaN without pairs."""
    weight = np.ones(len(time))
    if sample_weight is not None:
        weight = check_sample_weight(sample_weight, len(time))
    if not weight[seen].any():
        return float("nan")
    target = read_training(None, time, seen, sample_weight, censoring)
    ranked = (-predicted if target.mirrored else predicted)[target.order]
    concordant, tied, comparable = count_pairs(
        target, ranked, None if lead is None else lead[target.order]
    )
    if not comparable > 0.0:
        return float("nan")
    # Sums of weights are rounded, and the two may differ in the last digit.
    return float(min(1.0, max(0.0, (concordant + tied / 2) / comparable)))
