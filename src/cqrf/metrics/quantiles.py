"""Losses, coverage, concordance and calibration of predicted quantiles."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.metrics import d2_pinball_score

from cqrf.data.outcome import check_sample_weight, check_time
from cqrf.metrics.common import (
    check_bound,
    check_predictions,
    combine,
    count_rows,
    enough,
    level_reached,
    mean_by_level,
    pinball,
    warn_undefined,
)
from cqrf.metrics.ipcw import Scored
from cqrf.support.checks import check_quantiles, check_same_rows

Array = NDArray[np.float64]
_NO_WEIGHT = "no row is known at the horizon"


def pinball_loss(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    quantiles: float | ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    multioutput: str = "uniform_average",
) -> float | NDArray[np.float64]:
    r"""Mean pinball loss of predicted quantiles, nothing being censored.

    .. math::

        \frac{1}{m} \sum_i \rho_\tau(T_i - \hat q_\tau(X_i)), \qquad
        \rho_\tau(u) = u\, (\tau - 1\{u < 0\}).

    Parameters
    ----------
    y_true : array-like of shape (m,)
        True times.
    y_pred : array-like of shape (m,) for one level, (m, q) for several
        Predicted quantiles, finite.
    quantiles : float or array-like of shape (q,)
        Levels in (0, 1).
    sample_weight : array-like of shape (m,), optional
        Non-negative weights. Whole numbers are the same as repeated rows.
    multioutput : {"uniform_average", "raw_values"}, default="uniform_average"
        Whether to average over levels.

    Returns
    -------
    float, or ndarray of shape (q,) for "raw_values"

    Examples
    --------
    >>> from cqrf.metrics import pinball_loss
    >>> pinball_loss([1.0, 2.0, 3.0], [[0.0, 1.0], [1.0, 2.0], [2.0, 4.0]], [0.25, 0.75])
    0.16666666666666666
    """
    levels, _ = check_quantiles(quantiles)
    check_same_rows(y_true=y_true, y_pred=y_pred, sample_weight=sample_weight)
    time = check_time("y_true", y_true)
    predicted = check_predictions("y_pred", y_pred, len(time), len(levels), finite=True)
    weight = None if sample_weight is None else check_sample_weight(sample_weight, len(time))
    return combine(mean_by_level(pinball(time, predicted, levels), weight), multioutput)


def censored_pinball_loss(
    y: Any,
    y_pred: ArrayLike,
    quantiles: float | ArrayLike,
    *,
    event: ArrayLike | None = None,
    train: Any = None,
    sample_weight: ArrayLike | None = None,
    censoring: str = "right",
    horizon: float | str = "auto",
    multioutput: str = "uniform_average",
) -> float | NDArray[np.float64]:
    r"""Mean pinball loss of predicted quantiles of min(T, h), from censored times.

    .. math::

        \frac{\sum_i v_i\, \rho_\tau(\min(Y_i, h) - \min(\hat q_\tau(X_i), h))}{\sum_i v_i},
        \qquad v_i = \frac{\delta_i 1\{Y_i < h\}}{\hat G(Y_i-)} + \frac{1\{Y_i \ge h\}}{\hat G(h-)}.

    Predictions beyond the horizon h count as h, and rows that are still at risk there are known.
    A level is scored only as far as its quantiles lie before h: where they do not, any prediction
    beyond h is as good as another. Levels at which no prediction lies before h are named in a
    warning, and `quantile_calibration` counts the rows of the others.

    Parameters
    ----------
    y : structured array, frame or array-like of shape (m,)
        Observed outcomes, in any form that `CensoredQuantileForest.fit` takes.
    y_pred : array-like of shape (m,) for one level, (m, q) for several
        Predicted quantiles; infinite ones are allowed on the side of the horizon.
    quantiles : float or array-like of shape (q,)
        Levels in (0, 1).
    event : array-like of shape (m,), optional
        True where the event was seen, if `y` holds times.
    train : structured array, frame, pair (time, event) or Target, optional
        Outcomes that G and the horizon are taken from, such as ``forest.target_``; by default `y`
        itself.
    sample_weight : array-like of shape (m,), optional
        Non-negative weights of the rows of `y`, in G too where G is estimated from them.
    censoring : {"right", "left"}, default="right"
        Whether a censored time is a lower or an upper bound of T.
    horizon : "auto" or float, default="auto"
        The time h at which T and the predictions are cut (from below, under left censoring).
        "auto" is the last time at which 5% of the training rows, and 10 of them, are at risk and
        :math:`\hat G(h-)` is 0.1 at least; the last time if nothing is censored. A number beyond
        the last training time is replaced by that, with a warning.
    multioutput : {"uniform_average", "raw_values"}, default="uniform_average"
        Whether to average over levels.

    Returns
    -------
    float, or ndarray of shape (q,) for "raw_values"
        NaN, with a warning, if no row is known at the horizon.

    Examples
    --------
    The third row was censored; the fourth counts for both:

    >>> from cqrf.metrics import censored_pinball_loss
    >>> time, event = [1.0, 2.0, 3.0, 4.0], [True, True, False, True]
    >>> censored_pinball_loss(time, [1.0, 2.0, 2.0, 2.0], 0.5, event=event)
    0.5
    """
    levels, _ = check_quantiles(quantiles)
    scored = Scored.read(y, event, train, sample_weight, censoring, horizon, y_pred=y_pred)
    found = _cut(scored, y, y_pred, levels)
    if found is None:
        warn_undefined("censored_pinball_loss", _NO_WEIGHT)
        return combine(np.full(len(levels), np.nan), multioutput)
    time, weight, predicted = found
    _warn_unreached("censored_pinball_loss", scored, predicted, levels)
    return combine(mean_by_level(pinball(time, predicted, levels), weight), multioutput)


def d2_censored_pinball_score(
    y: Any,
    y_pred: ArrayLike,
    quantiles: float | ArrayLike,
    *,
    event: ArrayLike | None = None,
    train: Any = None,
    sample_weight: ArrayLike | None = None,
    censoring: str = "right",
    horizon: float | str = "auto",
    multioutput: str = "uniform_average",
) -> float | NDArray[np.float64]:
    r"""Share of the pinball loss of min(T, h) that the predictions explain.

    .. math::

        D^2 = 1 - \frac{\sum_i v_i\, \rho_\tau(\min(Y_i, h) - \min(\hat q_\tau(X_i), h))}
                       {\sum_i v_i\, \rho_\tau(\min(Y_i, h) - \hat q_0)},

    with the weights of `censored_pinball_loss` and :math:`\hat q_0` the quantile of min(Y, h) with
    these weights: of all constants the best. If G comes from `y` itself it is the Kaplan-Meier
    quantile, cut at h.

    Parameters
    ----------
    y, y_pred, quantiles, event, train, sample_weight, censoring, horizon, multioutput
        As in `censored_pinball_loss`.

    Returns
    -------
    float, or ndarray of shape (q,) for "raw_values"
        At most 1; NaN, with a warning, if no row is known at the horizon, or all known rows have
        the same time there. At a level whose
        quantile lies beyond the horizon for nearly all rows there is little to explain, and the
        score says little.

    Examples
    --------
    >>> from cqrf.metrics import d2_censored_pinball_score
    >>> time, event = [1.0, 2.0, 3.0, 4.0], [True, True, False, True]
    >>> d2_censored_pinball_score(time, [1.0, 2.0, 2.0, 3.5], 0.5, event=event)
    0.8
    """
    levels, _ = check_quantiles(quantiles)
    scored = Scored.read(y, event, train, sample_weight, censoring, horizon, y_pred=y_pred)
    found = _cut(scored, y, y_pred, levels)
    if found is None:
        warn_undefined("d2_censored_pinball_score", _NO_WEIGHT)
        return combine(np.full(len(levels), np.nan), multioutput)
    time, weight, predicted = found
    _warn_unreached("d2_censored_pinball_score", scored, predicted, levels)
    if np.ptp(time[weight > 0.0]) == 0.0:
        warn_undefined("d2_censored_pinball_score", "all times are the same up to the horizon")
        return combine(np.full(len(levels), np.nan), multioutput)
    plain = (weight == weight[0]).all()
    scores = [
        d2_pinball_score(time, q, sample_weight=None if plain else weight, alpha=level)
        for level, q in zip(levels, predicted.T, strict=True)
    ]
    return combine(np.array(scores), multioutput)


def _cut(
    scored: Scored | None, y: Any, y_pred: ArrayLike, levels: Array
) -> tuple[Array, Array, Array] | None:
    """Return times (m,), their weights (m,) and predictions (m, q), cut at the horizon.

    None if no row has weight.
    """
    n_rows = count_rows(scored, y)
    predicted = check_predictions("y_pred", y_pred, n_rows, len(levels))
    if scored is None or not (weight := scored.weight).any():
        return None
    predicted = scored.cut(predicted)
    if np.isinf(predicted).any():
        row, column = np.argwhere(np.isinf(predicted))[0]
        raise ValueError(f"y_pred must be finite; row {row} has {predicted[row, column]}")
    return scored.cut(scored.time), weight, predicted


def _warn_unreached(score: str, scored: Scored | None, predicted: Array, levels: Array) -> None:
    """Say on behalf of a public score at which levels no prediction lies before the horizon."""
    assert scored is not None
    told = unreached_levels(scored, predicted, levels)
    if told is not None:
        warnings.warn(f"{score} {told}", UndefinedMetricWarning, stacklevel=3)


def unreached_levels(scored: Scored, predicted: Array, levels: Array) -> str | None:
    """Name the levels at which no prediction of (m, q) lies before the horizon; None if none."""
    beyond = levels[(scored.cut(predicted) == scored.horizon).all(axis=0)]
    if not beyond.size or not (scored.train.event == 0).any():
        return None
    names = ", ".join(f"{level:g}" for level in beyond)
    return (
        f"says nothing of the levels {names}: all predictions lie beyond the horizon "
        f"{scored.horizon:g}"
    )


def interval_coverage(
    y_true: ArrayLike,
    lower: ArrayLike,
    upper: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
) -> float:
    r"""Share of the true times inside their intervals, nothing being censored.

    .. math:: \frac{1}{m} \sum_i 1\{l_i \le T_i \le u_i\}.

    Parameters
    ----------
    y_true : array-like of shape (m,)
        True times.
    lower, upper : float or array-like of shape (m,)
        Ends of the intervals, which belong to them; infinite ones are allowed. Where they cross,
        the interval is empty.
    sample_weight : array-like of shape (m,), optional
        Non-negative weights.

    Returns
    -------
    float

    Examples
    --------
    >>> from cqrf.metrics import interval_coverage
    >>> interval_coverage([1.0, 2.0, 3.0, 4.0], lower=0.0, upper=[1.0, 3.0, 4.0, 3.0])
    0.75
    """
    check_same_rows(y_true=y_true, lower=lower, upper=upper, sample_weight=sample_weight)
    time = check_time("y_true", y_true)
    weight = None if sample_weight is None else check_sample_weight(sample_weight, len(time))
    return float(mean_by_level(_inside(time, lower, upper), weight)[0])


def censored_interval_coverage(
    y: Any,
    lower: ArrayLike,
    upper: ArrayLike,
    *,
    event: ArrayLike | None = None,
    train: Any = None,
    sample_weight: ArrayLike | None = None,
    censoring: str = "right",
    horizon: float | str = "auto",
) -> float:
    r"""Share of the true times inside their intervals, from censored times.

    .. math::

        \frac{\sum_i v_i\, 1\{l_i \le Y_i \le u_i\}}{\sum_i v_i}, \qquad
        v_i = \frac{\delta_i 1\{Y_i \le u_i\}}{\hat G(Y_i-)} + \frac{1\{Y_i > u_i\}}{\hat G(u_i-)},

    over the rows whose interval ends within the horizon: whether these hold T is known by then, and
    which rows they are is decided by the predictions alone. Rows that are censored at the end count
    as lying beyond it. An interval without an upper end is judged at its lower end.

    Parameters
    ----------
    y, event, train, sample_weight, censoring, horizon
        As in `censored_pinball_loss`.
    lower, upper : float or array-like of shape (m,)
        As in `interval_coverage`.

    Returns
    -------
    float
        NaN, with a warning, if no interval ends within the horizon.

    Examples
    --------
    >>> from cqrf.metrics import censored_interval_coverage
    >>> time, event = [1.0, 2.0, 3.0, 4.0], [True, True, False, True]
    >>> censored_interval_coverage(time, lower=0.0, upper=[1.0, 2.5, 4.0, 3.5], event=event)
    0.5
    """
    scored = Scored.read(
        y, event, train, sample_weight, censoring, horizon, lower=lower, upper=upper
    )
    n_rows = count_rows(scored, y)
    low, high = check_bound("lower", lower, n_rows), check_bound("upper", upper, n_rows)
    if scored is not None:
        # The end at which all is known; the other one, if there is none on that side.
        last, first = (low, high) if scored.mirrored else (high, low)
        open_end = np.isinf(last)
        known = scored.known_by(
            np.where(open_end, first, last), including=open_end == scored.mirrored
        )
        weight = scored.weighted(known.weight)
        if weight.any():
            # Rows that are censored at an end lie beyond it.
            reached = open_end | (known.come != scored.mirrored)
            inside = _inside(scored.time, low, high) * reached[:, None]
            return float(mean_by_level(inside, weight)[0])
    warn_undefined("censored_interval_coverage", "no interval ends within the horizon")
    return float("nan")


@dataclass(frozen=True, eq=False)
class QuantileCalibration:
    """Nominal and observed levels of predicted quantiles.

    Attributes
    ----------
    quantiles : ndarray of shape (q,), float64
        Nominal levels.
    observed : ndarray of shape (q,), float64
        Estimates of P(T <= predicted quantile); NaN where no row can be used.
    std_error : ndarray of shape (q,), float64
        Standard errors of `observed`.
    n_used : ndarray of shape (q,), int64
        Number of rows whose predicted quantile lies within the horizon.
    horizon : float
        The time up to which predictions are judged; NaN if there is no event.
    n_rows : int
        Number of all rows.
    """

    quantiles: NDArray[np.float64]
    observed: NDArray[np.float64]
    std_error: NDArray[np.float64]
    n_used: NDArray[np.int64]
    horizon: float
    n_rows: int = 0

    @property
    def judged(self) -> NDArray[np.bool_]:
        """Levels, shape (q,), of which so many rows tell that they may be judged: ten, and 5%."""
        return np.asarray(enough(self.n_used, self.n_rows) & ~np.isnan(self.observed))


def quantile_calibration(
    y: Any,
    y_pred: ArrayLike,
    quantiles: float | ArrayLike,
    *,
    event: ArrayLike | None = None,
    train: Any = None,
    sample_weight: ArrayLike | None = None,
    censoring: str = "right",
    horizon: float | str = "auto",
) -> QuantileCalibration:
    r"""Estimate how often T does not exceed its predicted quantiles.

    With :math:`\hat q_i` the prediction for row i, :math:`z_i = 1\{Y_i \le \hat q_i\}` is known to
    be :math:`1\{T_i \le \hat q_i\}` unless the row was censored before :math:`\hat q_i`. The
    others are weighted by the inverse probability of that (Graf's weights),

    .. math::

        \hat p = \frac{\sum_i v_i z_i}{\sum_i v_i}, \qquad
        v_i = \frac{\delta_i z_i}{\hat G(Y_i-)} + \frac{1 - z_i}{\hat G(\hat q_i-)},

    over the rows whose prediction lies within the horizon (rows censored at it count as being
    beyond). This is consistent if C is independent of T and the features; rows that are left out
    are chosen by their prediction alone. For one constant prediction, with G from `y` itself, it
    is the Kaplan-Meier estimate.

    Parameters
    ----------
    y, quantiles, event, train, sample_weight, censoring, horizon
        As in `censored_pinball_loss`.
    y_pred : array-like of shape (m,) for one level, (m, q) for several
        Predicted quantiles; infinite ones are allowed.

    Returns
    -------
    QuantileCalibration
        Standard errors are those of the infinitesimal jackknife and include the error of G, with
        `train` taken to be independent of `y`; for Kaplan-Meier they are Greenwood's. Where all
        rows agree they are those of a share that two rows on either side have shrunk.

    Examples
    --------
    >>> from cqrf.metrics import quantile_calibration
    >>> time, event = [1.0, 2.0, 3.0, 4.0], [True, True, False, True]
    >>> found = quantile_calibration(time, [[1.5, 3.5]] * 4, [0.25, 0.75], event=event)
    >>> found.observed, found.std_error.round(3)
    (array([0.25, 0.5 ]), array([0.217, 0.25 ]))
    """
    levels, _ = check_quantiles(quantiles)
    scored = Scored.read(y, event, train, sample_weight, censoring, horizon, y_pred=y_pred)
    n_rows = count_rows(scored, y)
    predicted = check_predictions("y_pred", y_pred, n_rows, len(levels))
    answers = [(np.nan, np.nan, 0)] * len(levels)
    if scored is not None:
        answers = [level_reached(scored, q, same_rows=train is None) for q in predicted.T]
    observed, std_error, n_used = (np.array(column) for column in zip(*answers, strict=True))
    if np.isnan(observed).any():
        warn_undefined("quantile_calibration", "at some level no row can be used")
    limit = np.nan if scored is None else scored.horizon
    return QuantileCalibration(levels, observed, std_error, n_used, limit, n_rows)


def _inside(time: NDArray[np.float64], lower: ArrayLike, upper: ArrayLike) -> NDArray[np.float64]:
    """1 where a time lies in its interval, else 0, as a column."""
    low, high = check_bound("lower", lower, len(time)), check_bound("upper", upper, len(time))
    return ((low <= time) & (time <= high)).astype(np.float64)[:, None]
