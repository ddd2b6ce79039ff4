r"""How far fits are scored: what is scored is min(T, h), with a horizon h that the record allows.

When a study ends before the last event nobody knows how late later times are, and no loss of T
itself has a value. That of min(T, h) has: a row that is still at risk at h is known.
"""

from __future__ import annotations

from numbers import Real

import numpy as np
from numpy.typing import NDArray

from cqrf.data.outcome import Target, kaplan_meier
from cqrf.support.checks import as_float, check_choice
from cqrf.support.warn import warn

# Fewer rows do not say what share of those at risk have their event or are censored next.
_LEAST_SHARE = 0.05
_LEAST_ROWS = 10
# A row stands for no more than ten.
_LEAST_CENSORING = 0.1
_REPRESENTATIVES = 256


def auto_horizon(train: Target) -> float:
    r"""Find the horizon of a record: the last time up to which it says enough.

    It is the largest observed time t at which

    - at least 5% of the weight and 10 rows are at risk (a quarter of the rows, of fewer than 40),
    - and :math:`\hat G(t-) \ge 0.1`, with G the Kaplan-Meier curve of the censoring time;

    the largest time of all if nothing is censored. Under left censoring the same is done for the
    negated times: it is the smallest time of which the record says enough.

    Parameters
    ----------
    train : Target
        The training outcomes.

    Returns
    -------
    float
        In the sign of the observed times.
    """
    last = len(train.times) - 1
    if (train.event == 0).any():
        first_rank = np.searchsorted(train.time_index, np.arange(len(train.times)))
        weight = np.ones(train.n) if train.weight is None else train.weight
        at_risk = np.cumsum(weight[::-1])[::-1][first_rank]
        before = np.concatenate([[1.0], kaplan_meier(train, of_censoring=True)[:-1]])
        enough = (
            (at_risk >= _LEAST_SHARE * weight.sum())
            & (train.n - first_rank >= min(_LEAST_ROWS, train.n / 4))
            & (before >= _LEAST_CENSORING)
        )
        last = int(np.flatnonzero(enough)[-1])
    return in_own_sign(train, float(train.times[last]))


def check_horizon(horizon: object) -> float | None:
    """Check a horizon: "auto", for which None is returned, or one finite number."""
    if isinstance(horizon, str):
        check_choice("horizon", horizon, ("auto",))
        return None
    if not isinstance(horizon, Real) or isinstance(horizon, bool):
        raise TypeError(f'horizon must be "auto" or a number; received {horizon!r}')
    value = as_float(horizon)
    if not np.isfinite(value):
        raise ValueError(f"horizon must be finite; received {horizon!r}")
    return value


def read_horizon(horizon: object, train: Target) -> float:
    """Turn what `check_horizon` takes into a time within the record.

    A number beyond the last time of the record is replaced by that, with a warning: in cross
    validation it may lie within some parts of the data and not within others.
    """
    given = check_horizon(horizon)
    if given is None:
        return auto_horizon(train)
    last = in_own_sign(train, float(train.times[-1]))
    if (given < last) if train.mirrored else (given > last):
        warn(
            f"horizon={horizon} lies beyond the training times, which end at {last}: scores are "
            "up to there"
        )
        return last
    return given


def representative_times(
    train: Target, horizon: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Represent the training times, cut at the horizon, by at most 256 of them.

    Returns
    -------
    times : ndarray of shape (k,), float64
        Ascending.
    counts : ndarray of shape (k,), float64
        How many rows each stands for.
    """
    weight = np.ones(train.n) if train.weight is None else train.weight
    n = min(train.n, _REPRESENTATIVES)
    middles = (np.arange(n) + 0.5) / n * weight.sum()
    ranks = np.minimum(np.searchsorted(np.cumsum(weight), middles), train.n - 1)
    times, counts = np.unique(np.minimum(train.observed[ranks], horizon), return_counts=True)
    return times, np.asarray(counts * (train.n / n), dtype=np.float64)


def in_own_sign(train: Target, time: float) -> float:
    """Turn a time of `train.times` into an observed one, or back."""
    # Adding zero turns -0.0 into 0.0.
    return -time + 0.0 if train.mirrored else time
