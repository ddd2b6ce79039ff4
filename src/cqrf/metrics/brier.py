"""Scores of predicted survival curves."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cqrf.metrics.common import check_curves, count_rows, mean_by_level, warn_undefined
from cqrf.metrics.curve_errors import (
    Skill,
    integrated_errors,
    kaplan_meier_survival,
    squared_errors,
)
from cqrf.metrics.ipcw import Scored

_NO_EVENT = "there is no event"
_FEW_TIMES = "fewer than two of the times are within the horizon"


def brier_score(
    y: Any,
    survival: ArrayLike,
    times: ArrayLike,
    *,
    event: ArrayLike | None = None,
    train: Any = None,
    sample_weight: ArrayLike | None = None,
    censoring: str = "right",
    horizon: float | str = "auto",
) -> NDArray[np.float64]:
    r"""Mean squared error of predicted survival probabilities (Graf).

    .. math::

        B(t) = \frac{1}{m} \sum_i \Big[ \frac{\delta_i 1\{Y_i \le t\}}{\hat G(Y_i-)} \hat S_i(t)^2
               + \frac{1\{Y_i > t\}}{\hat G(t-)} (1 - \hat S_i(t))^2 \Big],

    where rows that are censored at t count as being beyond it.

    Parameters
    ----------
    y, event, train, sample_weight, censoring, horizon
        As in `censored_pinball_loss`.
    survival : array-like of shape (m, g)
        Predicted P(T > t), in [0, 1].
    times : array-like of shape (g,)
        The times t.

    Returns
    -------
    ndarray of shape (g,), float64
        NaN, with a warning, at times beyond the horizon.

    Examples
    --------
    >>> from cqrf.metrics import brier_score
    >>> time, event = [1.0, 2.0, 3.0, 4.0], [True, True, False, True]
    >>> brier_score(time, [[0.2], [0.6], [0.8], [1.0]], [2.5], event=event)
    array([0.11])
    """
    scored = Scored.read(y, event, train, sample_weight, censoring, horizon, survival=survival)
    predicted, at = check_curves(survival, times, count_rows(scored, y))
    scores = np.full(len(at), np.nan)
    if scored is None:
        warn_undefined("brier_score", _NO_EVENT)
        return scores
    within = _within(scored, at)
    errors = squared_errors(scored, predicted[:, within], at[within])
    scores[within] = mean_by_level(errors, scored.sample_weight)
    if not within.all():
        warn_undefined("brier_score", f"some of the times are beyond the horizon {scored.horizon}")
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
    horizon: float | str = "auto",
) -> float:
    r"""Mean Brier score over an interval of times.

    .. math:: \frac{1}{t_g - t_1} \int_{t_1}^{t_g} B(t)\, dt,

    by the trapezoidal rule, over those of the times that are within the horizon. Times the length
    of the interval, and with times from the first one to the horizon h, it is the continuous
    ranked probability score of min(T, h).

    Parameters
    ----------
    y, survival, event, train, sample_weight, censoring, horizon
        As in `brier_score`.
    times : array-like of shape (g,)
        Ascending times, at least two.

    Returns
    -------
    float
        NaN, with a warning, if fewer than two of the times are within the horizon.

    Examples
    --------
    >>> from cqrf.metrics import integrated_brier_score
    >>> time, event = [1.0, 2.0, 3.0, 4.0], [True, True, False, True]
    >>> survival = [[0.2, 0.1], [0.6, 0.2], [0.8, 0.6], [1.0, 0.8]]
    >>> round(integrated_brier_score(time, survival, [2.5, 3.5], event=event), 4)
    0.0712
    """
    scored = Scored.read(y, event, train, sample_weight, censoring, horizon, survival=survival)
    predicted, at = check_curves(survival, times, count_rows(scored, y), ascending=True)
    within = _within(scored, at)
    if scored is None or within.sum() < 2:
        warn_undefined("integrated_brier_score", _NO_EVENT if scored is None else _FEW_TIMES)
        return float("nan")
    errors = integrated_errors(scored, predicted[:, within], at[within])
    return float(mean_by_level(errors, scored.sample_weight))


def brier_skill_score(
    y: Any,
    survival: ArrayLike,
    times: ArrayLike,
    *,
    event: ArrayLike | None = None,
    train: Any = None,
    sample_weight: ArrayLike | None = None,
    censoring: str = "right",
    horizon: float | str = "auto",
) -> float:
    r"""Share of the Kaplan-Meier curve's integrated Brier score that predictions save.

    .. math:: 1 - \frac{\int B(t)\, dt}{\int B_{KM}(t)\, dt},

    with the Kaplan-Meier curve of `train`: one curve for everybody. `CensoredQuantileForest.score`
    is this score with ``train=forest.target_``.

    Parameters
    ----------
    y, survival, times, event, train, sample_weight, censoring, horizon
        As in `integrated_brier_score`.

    Returns
    -------
    float
        At most 1; 0 is as good as knowing no feature. NaN, with a warning, where
        `integrated_brier_score` is.

    Examples
    --------
    >>> from cqrf.metrics import brier_skill_score
    >>> time, event = [1.0, 2.0, 3.0, 4.0], [True, True, False, True]
    >>> survival = [[0.2, 0.1], [0.6, 0.2], [0.8, 0.6], [1.0, 0.8]]
    >>> round(brier_skill_score(time, survival, [2.5, 3.5], event=event), 4)
    0.715
    """
    scored = Scored.read(y, event, train, sample_weight, censoring, horizon, survival=survival)
    predicted, at = check_curves(survival, times, count_rows(scored, y), ascending=True)
    within = _within(scored, at)
    if scored is None or within.sum() < 2:
        warn_undefined("brier_skill_score", _NO_EVENT if scored is None else _FEW_TIMES)
        return float("nan")
    at = at[within]
    ours, theirs = (
        integrated_errors(scored, curves, at)
        for curves in (predicted[:, within], kaplan_meier_survival(scored.train, at))
    )
    share = Skill.of(ours, theirs, scored.sample_weight).share
    if np.isnan(share):
        warn_undefined("brier_skill_score", "the Kaplan-Meier curve makes no error")
    return share


def _within(scored: Scored | None, times: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which of the times lie within the horizon."""
    if scored is None:
        return np.zeros(len(times), dtype=np.bool_)
    return times >= scored.horizon if scored.mirrored else times <= scored.horizon
