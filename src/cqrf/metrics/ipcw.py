r"""Outcomes as they are scored: cut at the horizon, and weighted by the inverse of G."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cqrf.data.outcome import Target, check_sample_weight, has_events, kaplan_meier, parse_outcome
from cqrf.metrics.horizon import read_horizon
from cqrf.support.checks import check_choice, check_same_rows


def censoring_weights(
    time: NDArray[np.float64],
    event: NDArray[np.bool_],
    training: Target,
    horizon: float | str = "auto",
) -> NDArray[np.float64]:
    r"""Inverse-probability-of-censoring weights of min(T, h).

    .. math::

        v_i = \frac{\delta_i 1\{Y_i < h\}}{\hat G(Y_i-)} + \frac{1\{Y_i \ge h\}}{\hat G(h-)}.

    A mean of min(T, h) with these weights estimates the mean over all rows, if censoring does not
    depend on the features: rows that are still at risk at h are known there, and those that were
    censored before are represented by others. G is the Kaplan-Meier curve of the training
    outcomes.

    Parameters
    ----------
    time : ndarray of shape (n,), float64
        Observed times.
    event : ndarray of shape (n,), bool
        True where the event was seen.
    training : Target
        Outcomes that G is estimated from; for left censoring both are mirrored here.
    horizon : "auto" or float, default="auto"
        The horizon h; "auto" is the one of the training outcomes.

    Returns
    -------
    ndarray of shape (n,), float64
        Zero for rows censored before h, one for all rows if nothing is censored in training.
    """
    check_same_rows(time=time, event=event)
    return Scored(time, event, None, training, read_horizon(horizon, training)).weight


@dataclass(frozen=True, eq=False)
class Scored:
    """Outcomes that predictions are scored on, and how far.

    Attributes
    ----------
    time, event : ndarray of shape (m,)
        Observed outcomes.
    sample_weight : ndarray of shape (m,) or None
    train : Target
        Outcomes that G is estimated from.
    horizon : float
        The time h at which T is cut; no later than the last time of `train`.
    """

    time: NDArray[np.float64]
    event: NDArray[np.bool_]
    sample_weight: NDArray[np.float64] | None
    train: Target
    horizon: float

    @classmethod
    def read(
        cls,
        y: Any,
        event: ArrayLike | None,
        train: Any,
        sample_weight: ArrayLike | None,
        censoring: str,
        horizon: object,
        **predicted: object,
    ) -> Scored | None:
        """Read what the public scores take; None if no score is defined: no event at all.

        Of predictions, by their names, is only seen whether they are of the same rows.
        """
        check_choice("censoring", censoring, ("right", "left"))
        check_same_rows(y=y, event=event, sample_weight=sample_weight, **predicted)
        time, seen = parse_outcome(y, event)
        weight = None if sample_weight is None else check_sample_weight(sample_weight, len(time))
        if train is None and not (seen if weight is None else weight[seen]).any():
            return None
        target = read_training(train, time, seen, sample_weight, censoring)
        if train is not None and event is None:
            require_events(y, target)
        return cls(time, seen, weight, target, read_horizon(horizon, target))

    @classmethod
    def of_training(cls, train: Target, horizon: object) -> Scored:
        """Score the training rows themselves, by rank."""
        return cls(
            train.observed, train.event == 1, train.weight, train, read_horizon(horizon, train)
        )

    @property
    def mirrored(self) -> bool:
        """Whether censored times are upper bounds."""
        return self.train.mirrored

    @cached_property
    def _g(self) -> NDArray[np.float64]:
        """G after 0, 1, ... of the distinct times of `train`, shape (K + 1,)."""
        return np.concatenate([[1.0], kaplan_meier(self.train, of_censoring=True)])

    def cut(self, times: NDArray[np.float64]) -> NDArray[np.float64]:
        """min(times, h), or max under left censoring."""
        return (np.maximum if self.mirrored else np.minimum)(times, self.horizon)

    @property
    def weight(self) -> NDArray[np.float64]:
        """Weights of min(T, h), those of the rows included; see `censoring_weights`."""
        y, h = (-self.time, -self.horizon) if self.mirrored else (self.time, self.horizon)
        known = self.event | (y >= h)
        before = self._g[np.searchsorted(self.train.times, np.minimum(y, h), side="left")]
        weight = np.divide(1.0, before, out=np.zeros(len(y)), where=known)
        return self.weighted(weight)

    def weighted(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """`values` of shape (m,) times the sample weights."""
        return values if self.sample_weight is None else values * self.sample_weight

    def take(self, rows: Any) -> Scored:
        """Keep some rows, given by a slice or by their positions."""
        weight = None if self.sample_weight is None else self.sample_weight[rows]
        return replace(self, time=self.time[rows], event=self.event[rows], sample_weight=weight)

    @property
    def leads(self) -> NDArray[np.bool_]:
        """Events up to the horizon (from it on, under left censoring): others are all alike."""
        within = self.time >= self.horizon if self.mirrored else self.time <= self.horizon
        return self.event & within

    @cached_property
    def _own_factors(self) -> NDArray[np.int64]:
        """Number of factors of G before the rows' own times, shape (m,)."""
        y = -self.time if self.mirrored else self.time
        return np.searchsorted(self.train.times, y, side="left")

    def known_by(
        self, at: float | NDArray[np.float64], *, including: bool | NDArray[np.bool_]
    ) -> KnownBy:
        """Weigh the rows of which it is known whether T has come by a time.

        Parameters
        ----------
        at : float or ndarray of shape (m,), float64
            The time t, or one for every row.
        including : bool or ndarray of shape (m,), bool
            Whether T = t counts as having come.

        Returns
        -------
        KnownBy
        """
        y, t, h = self.time, at, self.horizon
        if self.mirrored:
            # T has not come by t, if -T has come by -t: then all is as under right censoring.
            y, t, h, including = -y, -t, -h, np.logical_not(including)
        # Events come before censorings: who is censored at t is known to be later.
        reached = (y < t) | (including & self.event & (y == t))
        known = (y >= t) | self.event
        within = t <= h
        before_t = np.searchsorted(self.train.times, t, side="left")
        factors = np.where(reached, self._own_factors, before_t)
        weight = np.divide(1.0, self._g[factors], out=np.zeros(len(y)), where=within & known)
        return KnownBy(reached != self.mirrored, weight, factors, within)


@dataclass(frozen=True, eq=False)
class KnownBy:
    r"""What is known at a time t of whether T has come (Graf's weights).

    Attributes
    ----------
    come : ndarray of shape (m,), bool
        Whether T has come by t, where it is known.
    weight : ndarray of shape (m,), float64
        :math:`1 / \hat G(Y-)` for events by t, :math:`1 / \hat G(t-)` for rows that are still at
        risk then; zero for rows censored before t, and where t lies beyond the horizon.
    factors : ndarray of shape (m,), int64
        Number of factors of G in the weight of a row.
    within : ndarray of shape (m,), or bool for one time
        Where t lies within the horizon.
    """

    come: NDArray[np.bool_]
    weight: NDArray[np.float64]
    factors: NDArray[np.int64]
    within: NDArray[np.bool_] | np.bool_ | bool


def require_events(y: Any, train: Target) -> None:
    """Refuse plain times of rows like those of `train`, of which some are censored."""
    if (train.event == 0).any() and not has_events(y):
        raise ValueError(
            "y holds times alone, but times of the training data are censored: pass event as "
            "well (in cross validation, route it to the score with set_score_request(event=True)) "
            "or make y with Surv.from_arrays(event, time); event is True everywhere if nothing is "
            "censored here"
        )


def read_training(
    train: Any,
    time: NDArray[np.float64],
    event: NDArray[np.bool_],
    sample_weight: ArrayLike | None,
    censoring: str,
) -> Target:
    """Return the outcomes that G is estimated from: `train`, or by default the given ones."""
    check_choice("censoring", censoring, ("right", "left"))
    if train is None:
        return Target.from_outcome(time, event, sample_weight, censoring)  # type: ignore[arg-type]
    if isinstance(train, Target):
        if train.censoring != censoring:
            raise ValueError(
                f"train is {train.censoring} censored, but censoring={censoring!r} was asked for"
            )
        return train
    paired = isinstance(train, tuple) and len(train) == 2 and np.ndim(train[0]) > 0
    try:
        outcome = parse_outcome(*train) if paired else parse_outcome(train)
        return Target.from_outcome(*outcome, censoring=censoring)  # type: ignore[arg-type]
    except (TypeError, ValueError) as error:
        raise type(error)(f"train: {error}") from None
