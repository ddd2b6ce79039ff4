"""A score of survival curves that needs no censoring curve."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from cqrf._checks import check_choice
from cqrf._scoring import check_curves, mean_by_level
from cqrf.target import check_sample_weight, parse_outcome

# One row in an interval to which its curve gives no probability costs 9.2, not infinity.
_LEAST_PROBABILITY = 1e-4


def censored_log_score(
    y: Any,
    survival: ArrayLike,
    times: ArrayLike,
    *,
    event: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    censoring: str = "right",
) -> float:
    r"""Mean log-likelihood of predicted survival curves, in the intervals between some times.

    .. math::

        \frac{1}{m} \sum_i \begin{cases}
            \log (\hat S_i(t_{k-1}) - \hat S_i(t_k)), & \delta_i = 1,\; t_{k-1} < Y_i \le t_k, \\
            \log \hat S_i(Y_i), & \delta_i = 0, \\
            \log \hat S_i(t_g), & Y_i > t_g.
        \end{cases}

    There are no weights: the score is proper if censoring is independent of T given the features,
    also where it depends on these and one censoring curve for all rows is wrong. Curves are taken
    to be straight between the times, of which ten or so do, and to be 1 before the first one (to
    be 0 after the last one, under left censoring).

    Parameters
    ----------
    y, event, censoring
        As in `censored_pinball_loss`.
    survival : array-like of shape (m, g)
        Predicted P(T > t), in [0, 1], not increasing.
    times : array-like of shape (g,)
        Ascending times. What happens after the last one (before the first, under left censoring)
        is not distinguished: this is the horizon.
    sample_weight : array-like of shape (m,), optional
        Non-negative weights.

    Returns
    -------
    float
        Larger is better. Probabilities below 0.0001 count as that.

    Examples
    --------
    >>> from cqrf.metrics import censored_log_score
    >>> time, event = [1.0, 2.0, 3.0, 4.0], [True, True, False, True]
    >>> survival = [[0.2, 0.1], [0.6, 0.2], [0.8, 0.6], [1.0, 0.8]]
    >>> round(censored_log_score(time, survival, [2.5, 3.5], event=event), 4)
    -0.4298
    """
    left = check_choice("censoring", censoring, ("right", "left")) == "left"
    time, seen = parse_outcome(y, event)
    weight = None if sample_weight is None else check_sample_weight(sample_weight, len(time))
    curves, at = check_curves(survival, times, len(time), ascending=True)
    # P(T > t) before the first time and after the last one.
    padded = np.pad(curves, ((0, 0), (1, 1)), constant_values=((0, 0), (1, 0)))
    rows = np.arange(len(time))
    interval = np.searchsorted(at, time, side="left")
    above, below = padded[rows, interval], padded[rows, interval + 1]
    # S at the time itself, on the straight line between its neighbours.
    own = above.copy()
    between = (interval > 0) & (interval < len(at))
    begin, end = at[interval[between] - 1], at[interval[between]]
    own[between] += (below - above)[between] * (time[between] - begin) / (end - begin)
    own[time == at[0]] = below[time == at[0]]
    if left:
        # The times before the first one are not distinguished, and no T lies after the last one.
        own = np.select([interval == 0, interval == len(at)], [curves[:, 0], 0.0], own)
        probability = np.where(seen & (interval > 0), above - below, 1.0 - own)
    else:
        probability = np.where(seen & (interval < len(at)), above - below, own)
    return float(mean_by_level(np.log(np.maximum(probability, _LEAST_PROBABILITY)), weight))
