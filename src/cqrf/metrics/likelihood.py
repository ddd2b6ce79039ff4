"""A score of survival curves that needs no censoring curve."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cqrf.data.outcome import check_sample_weight, parse_outcome
from cqrf.metrics.common import check_curves, mean_by_level
from cqrf.support.checks import check_choice, check_same_rows

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
            \log \hat S_i(Y_i), & \delta_i = 0,\; Y_i \le t_g, \\
            \log \hat S_i(t_g), & Y_i > t_g.
        \end{cases}

    There are no weights: the score is proper if censoring is independent of T given the features,
    also where it depends on these and one censoring curve for all rows is wrong. Curves are taken
    to be 1 at the first time, where the first interval begins that earlier events belong to as
    well, and straight between the times. A few intervals do: with many of them the score is mostly
    about how rough curves are.

    Parameters
    ----------
    y, event, censoring
        As in `censored_pinball_loss`.
    survival : array-like of shape (m, g)
        Predicted P(T > t), in [0, 1], not increasing.
    times : array-like of shape (g,)
        Ascending times, at least two. The last one is the horizon. Under left censoring the first
        one is, and curves are taken to be 0 at the last.
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
    >>> survival = [[1, 0.2, 0.1], [1, 0.6, 0.2], [1, 0.8, 0.6], [1, 1.0, 0.8]]
    >>> round(censored_log_score(time, survival, [0.0, 2.5, 3.5], event=event), 4)
    -0.4298
    """
    left = check_choice("censoring", censoring, ("right", "left")) == "left"
    check_same_rows(y=y, event=event, survival=survival, sample_weight=sample_weight)
    time, seen = parse_outcome(y, event)
    weight = None if sample_weight is None else check_sample_weight(sample_weight, len(time))
    curves, at = check_curves(survival, times, len(time), ascending=True)
    return float(mean_by_level(log_scores(time, seen, curves, at, mirrored=left), weight))


def log_scores(
    time: NDArray[np.float64],
    event: NDArray[np.bool_],
    survival: NDArray[np.float64],
    times: NDArray[np.float64],
    *,
    mirrored: bool,
) -> NDArray[np.float64]:
    """Logarithms in the mean that `censored_log_score` is, shape (m,).

    Parameters
    ----------
    time, event : ndarray of shape (m,)
        Observed outcomes.
    survival : ndarray of shape (m, g), float64
        Predicted P(T > t).
    times : ndarray of shape (g,), float64
        Ascending.
    mirrored : bool
        True for left censoring.
    """
    # Of the mirror image: P(-T > -t) is one less P(T > t).
    curves = 1.0 - survival[:, ::-1] if mirrored else survival.copy()
    curves[:, 0] = 1.0
    if mirrored:
        time, times = -time, -times[::-1]
    rows = np.arange(len(time))
    known = np.clip(time, times[0], times[-1])
    interval = np.maximum(np.searchsorted(times, known, side="left"), 1)
    begin, end = times[interval - 1], times[interval]
    above, below = curves[rows, interval - 1], curves[rows, interval]
    reached = above + (below - above) * (known - begin) / (end - begin)
    within = event & (time <= times[-1])
    probability = np.where(within, above - below, reached)
    return np.asarray(np.log(np.maximum(probability, _LEAST_PROBABILITY)))
