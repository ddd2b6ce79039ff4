"""Concordance: whether those predicted to be earlier are earlier."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from cqrf.metrics.common import check_predictions, count_pairs, count_rows, warn_undefined
from cqrf.metrics.ipcw import Scored, read_training


def concordance_index(
    y: Any,
    predicted_time: ArrayLike,
    *,
    event: ArrayLike | None = None,
    train: Any = None,
    sample_weight: ArrayLike | None = None,
    censoring: str = "right",
    horizon: float | str = "auto",
) -> float:
    r"""Harrell's concordance index of predicted times.

    .. math::

        C = \frac{\sum_{(i, j)} w_i w_j\, (1\{p_i < p_j\} + \tfrac12 1\{p_i = p_j\})}
                 {\sum_{(i, j)} w_i w_j}

    over the pairs in which i is known to have had its event up to the horizon, and before j: at an
    earlier time, or at the same time if j was censored there. Two events at the same time are not
    compared.

    Parameters
    ----------
    y, event, censoring, horizon
        As in `censored_pinball_loss`. Left censored times are compared after negation.
    predicted_time : array-like of shape (m,)
        Predicted times, or any score that is larger for later events; not NaN. Medians of which
        many lie beyond the record tie: ``forest.predict_rmst(X, forest.horizon_)`` does not (under
        left censoring, with the largest time instead of the horizon).
    train : structured array, frame, pair (time, event) or Target, optional
        Outcomes that the horizon is taken from; by default `y` itself.
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
    scored = Scored.read(
        y, event, train, sample_weight, censoring, horizon, predicted_time=predicted_time
    )
    index = _concordance(scored, y, predicted_time)
    if np.isnan(index):
        warn_undefined("concordance_index", "no two rows can be compared")
    return index


def concordance_index_ipcw(
    y: Any,
    predicted_time: ArrayLike,
    *,
    event: ArrayLike | None = None,
    train: Any = None,
    sample_weight: ArrayLike | None = None,
    censoring: str = "right",
    horizon: float | str = "auto",
) -> float:
    r"""Uno's concordance index of predicted times, which does not depend on the censoring.

    .. math::

        C = \frac{\sum_{(i, j)} v_i^2 w_i w_j\, (1\{p_i < p_j\} + \tfrac12 1\{p_i = p_j\})}
                 {\sum_{(i, j)} v_i^2 w_i w_j}, \qquad v_i = \delta_i / \hat G(Y_i-),

    over the pairs of `concordance_index`. Harrell's index sees pairs the more often the earlier
    they are; the weights undo this.

    Parameters
    ----------
    y, event, train, censoring, horizon
        As in `censored_pinball_loss`.
    predicted_time : array-like of shape (m,)
        As in `concordance_index`.
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
    scored = Scored.read(
        y, event, train, sample_weight, censoring, horizon, predicted_time=predicted_time
    )
    index = _concordance(scored, y, predicted_time, ipcw=True)
    if np.isnan(index):
        warn_undefined("concordance_index_ipcw", "no two rows can be compared")
    return index


def _concordance(
    scored: Scored | None, y: Any, predicted_time: ArrayLike, *, ipcw: bool = False
) -> float:
    """Share of concordant pairs, weighted for their earlier row if `ipcw`; NaN without pairs."""
    n_rows = count_rows(scored, y)
    predicted = check_predictions("predicted_time", predicted_time, n_rows)[:, 0]
    if scored is None or not scored.leads.any():
        return float("nan")
    unweighted = replace(scored, sample_weight=None)
    lead = scored.leads * (unweighted.weight**2 if ipcw else 1)
    weight, censoring = scored.sample_weight, scored.train.censoring
    if weight is not None and not weight[scored.event].any():
        return float("nan")
    target = read_training(None, scored.time, scored.event, weight, censoring)
    ranked = (-predicted if target.mirrored else predicted)[target.order]
    concordant, tied, comparable = count_pairs(target, ranked, lead[target.order])
    if not comparable > 0.0:
        return float("nan")
    # Sums of weights are rounded, and the two may differ in the last digit.
    return float(min(1.0, max(0.0, (concordant + tied / 2) / comparable)))
