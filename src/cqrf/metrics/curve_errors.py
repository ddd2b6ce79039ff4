r"""Squared errors of survival curves at many times, and their integral up to the horizon."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cqrf.data.outcome import Target, kaplan_meier
from cqrf.metrics.common import mean_by_level
from cqrf.metrics.horizon import in_own_sign
from cqrf.metrics.ipcw import Scored

Array = NDArray[np.float64]

# Half of the times at which curves are scored are quantiles of the event times, half lie at equal
# distances: the former are dense where much happens, the latter where the integral is large.
_N_TIMES = 128
# Curves of small leaves are rough: with fine intervals their roughness is all that the log score
# sees.
_N_INTERVALS = 4


def scoring_times(train: Target, horizon: float, n_times: int = _N_TIMES) -> Array:
    """Choose the times at which curves are scored: from the first time of the record to h.

    Parameters
    ----------
    train : Target
        The training outcomes.
    horizon : float
        The horizon h; under left censoring times are those from h to the last one.
    n_times : int
        About how many.

    Returns
    -------
    ndarray of shape (g,), float64
        Ascending; `log_score_times` among them.
    """
    first, last = _ends(train, horizon)
    evenly = np.linspace(first, last, n_times // 2)
    dense = _event_quantiles(train, first, last, n_times // 2)
    return np.unique(np.concatenate([evenly, dense, log_score_times(train, horizon)]))


def log_score_times(train: Target, horizon: float) -> Array:
    """Choose the times between which events are counted: intervals of about as many events each.

    Returns
    -------
    ndarray of shape (g,), float64
        Ascending, from the first time of the record to h; see `scoring_times`.
    """
    first, last = _ends(train, horizon)
    # The first and the last event are no ends: an interval must hold more than one of them.
    inner = _event_quantiles(train, first, last, _N_INTERVALS + 1)[1:-1]
    return np.unique(np.concatenate([[first, last], inner]))


def _ends(train: Target, horizon: float) -> tuple[float, float]:
    """First and last time that are scored, which differ even if the record begins at h."""
    begin = in_own_sign(train, float(train.times[0]))
    if begin == horizon:
        begin = float(np.nextafter(begin, np.inf if train.mirrored else -np.inf))
    return min(begin, horizon), max(begin, horizon)


def _event_quantiles(train: Target, first: float, last: float, count: int) -> Array:
    """Quantiles of the event times between two times, at equally spaced levels; none without."""
    events = train.observed[train.event == 1]
    events = np.asarray(events[(events > first) & (events < last)])
    if not events.size:
        return events
    return np.asarray(np.quantile(events, np.linspace(0.0, 1.0, count), method="nearest"))


def kaplan_meier_survival(train: Target, times: Array) -> Array:
    """P(T > t) of everybody at times of shape (g,), in their own sign."""
    curve = np.concatenate([[1.0], kaplan_meier(train)])
    if train.mirrored:
        # T is beyond t unless -T is at or beyond -t.
        return 1.0 - curve[np.searchsorted(train.times, -times, side="left")]
    return np.asarray(curve[np.searchsorted(train.times, times, side="right")])


def squared_errors(scored: Scored, survival: Array, times: Array) -> Array:
    r"""Weighted squared errors :math:`w_i(t) (\hat S_i(t) - 1\{T_i > t\})^2`.

    Parameters
    ----------
    scored : Scored
        m outcomes.
    survival : ndarray of shape (m, g) or (g,), float64
        Predicted P(T > t).
    times : ndarray of shape (g,), float64
        The times t; weights are zero beyond the horizon.

    Returns
    -------
    ndarray of shape (m, g), float64
        A mean over rows estimates the Brier score.
    """
    m = len(scored.time)
    predicted = np.broadcast_to(survival, (m, len(times)))
    errors = np.empty((m, len(times)))
    for k, t in enumerate(times):
        known = scored.known_by(float(t), including=True)
        errors[:, k] = known.weight * (predicted[:, k] - ~known.come) ** 2
    return errors


def integrate(values: Array, times: Array) -> Array:
    """Mean over an interval of the last axis of `values`, by the trapezoidal rule."""
    step = np.diff(times)
    middle = (values[..., 1:] + values[..., :-1]) / 2.0
    return np.asarray(np.einsum("...k,k->...", middle, step / step.sum()))


def integrated_errors(scored: Scored, survival: Array, times: Array) -> Array:
    r"""Mean over time of the `squared_errors` of every row, shape (m,).

    Their mean over rows is the integrated Brier score. Times the length of the interval it is the
    continuous ranked probability score of min(T, h).
    """
    return integrate(squared_errors(scored, survival, times), times)


@dataclass(frozen=True)
class Skill:
    """How much of the Kaplan-Meier curve's integrated Brier score is saved.

    Attributes
    ----------
    score : float
        Integrated Brier score of the predictions.
    reference : float
        That of the Kaplan-Meier curve.
    share : float
        Share of the latter that is saved; NaN if it is zero.
    std_error : float
        Standard error of `share` over rows, the weights and the curve taken as known.
    """

    score: float
    reference: float
    share: float
    std_error: float

    @classmethod
    def of(cls, errors: Array, reference: Array, weight: Array | None) -> Skill:
        """Compare the `integrated_errors` of rows, shape (m,), with those of a reference."""
        score, other = (float(mean_by_level(values, weight)) for values in (errors, reference))
        if not other > 0.0:
            return cls(score, other, np.nan, np.nan)
        share = 1.0 - score / other
        part = np.ones(len(errors)) if weight is None else weight
        part = part / part.sum()
        residual = (1.0 - share) * reference - errors
        return cls(score, other, share, float(np.sqrt(part**2 @ residual**2) / other))
