r"""Kaplan-Meier curves of every row from all rows but its own, in about the time of one curve.

Out-of-bag answers do not know their own row. Beside a curve that does, a forest without splits
would seem to be worse than it, by the same little in every row, and rows would seem to be ranked
the wrong way round.

Let :math:`d_k` be the weight of the events at :math:`t_k`, and :math:`l_k` that of the rows which
are left after them. Without a row of weight w the curve has the factors

.. math::

    \frac{l_k - w}{l_k - w + d_k} \quad (t_k < Y), \qquad
    \frac{l_k - w 1\{\delta = 0\}}{l_k + d_k - w} \quad (t_k = Y), \qquad
    \frac{l_k}{l_k + d_k} \quad (t_k > Y),

with Y the row's own time. Those before Y depend on w alone and those after Y are everybody's: two
running products serve all rows of one weight.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from cqrf.data.outcome import Target

Array = NDArray[np.float64]
Ints = NDArray[np.int64]

# Of more weights than these the light ones are rounded: off by some thousandths of a light row,
# of which there are so many that none of them changes much.
_EXACT_WEIGHTS = 1000
# As in the engine: probabilities that agree up to the rounding of a product are equal.
_TOLERANCE = 1e-12


def reference_curves(train: Target, times: Array) -> Array:
    """Kaplan-Meier curves that out-of-bag answers are compared with: for every rank of all others.

    Parameters
    ----------
    train : Target
        The outcomes of n ranks.
    times : ndarray of shape (g,), float64
        Times in their own sign.

    Returns
    -------
    ndarray of shape (n, g), float64
        P(T > t).
    """
    sample = _Sample(train)
    curves = np.empty((train.n, len(times)))
    if train.mirrored:
        # T is beyond t unless -T is at or beyond -t.
        steps = np.searchsorted(train.times, -times, side="left")
    else:
        steps = np.searchsorted(train.times, times, side="right")
    for others in sample.left_out():
        curves[others.ranks] = others.survival(steps)
    return 1.0 - curves if train.mirrored else curves


def reference_quantiles(train: Target, levels: Array) -> Array:
    """Quantiles of the `reference_curves`, by the solver "root" with midpoints.

    Parameters
    ----------
    train : Target
        The outcomes of n ranks.
    levels : ndarray of shape (q,), float64
        Levels in (0, 1).

    Returns
    -------
    ndarray of shape (n, q), float64
        In their own sign; where the data do not identify them, the last time of the other rows.
    """
    sample = _Sample(train)
    quantiles = np.empty((train.n, len(levels)))
    # Mirrored, the quantile of level tau is the negated quantile of level 1 - tau.
    survival = 1.0 - (1.0 - levels) if train.mirrored else 1.0 - levels
    for others in sample.left_out():
        quantiles[others.ranks] = others.invert(survival)
    # Adding zero turns -0.0 into 0.0.
    return -quantiles + 0.0 if train.mirrored else quantiles


@dataclass(frozen=True, eq=False)
class _Sample:
    """The Kaplan-Meier curve of all rows, and what it is made of.

    Attributes
    ----------
    train : Target
        The outcomes, with K distinct times.
    """

    train: Target

    @cached_property
    def weight(self) -> Array:
        """Weights of the ranks, shape (n,)."""
        given = self.train.weight
        return np.ones(self.train.n) if given is None else given

    @cached_property
    def own(self) -> Ints:
        """Times of the ranks, as indices, shape (n,)."""
        return self.train.time_index.astype(np.int64)

    @cached_property
    def events(self) -> Array:
        """Weight of the events at every time, shape (K,)."""
        return self._sum(self.weight * self.train.event)

    @cached_property
    def left(self) -> Array:
        """Weight of the rows that are left after the events of every time, shape (K,)."""
        later = np.cumsum(self._sum(self.weight)[::-1])[::-1]
        censored = self._sum(self.weight * (1 - self.train.event))
        return np.asarray(censored + np.append(later[1:], 0.0))

    @cached_property
    def whole(self) -> Array:
        """S of all rows after 0, 1, ... times, shape (K + 1,)."""
        return _products(_factors(self.left, self.events))

    @cached_property
    def jumps(self) -> tuple[Ints, Ints]:
        """First time with an event at or after, and last one before, each of K + 1 places."""
        seen, count = self.events > 0.0, len(self.events)
        at = np.arange(count, dtype=np.int64)
        following = np.minimum.accumulate(np.where(seen, at, count)[::-1])[::-1]
        previous = np.maximum.accumulate(np.where(seen, at, -1))
        return np.append(following, count), np.concatenate([[-1], previous])

    def _sum(self, values: Array) -> Array:
        return np.asarray(np.bincount(self.own, values, len(self.train.times)), dtype=np.float64)

    def left_out(self) -> Iterator[_Others]:
        """Leave out every rank, together with those of the same weight."""
        train, weight, own = self.train, self.weight, self.own
        event = train.event == 1
        alone = event & (np.bincount(own[event], minlength=len(train.times))[own] == 1)
        rest = np.where(event, self.left[own], np.maximum(self.left[own] - weight, 0.0))
        # What remains of a single event after rounding is no event.
        events = np.where(event, np.maximum(self.events[own] - weight, 0.0), self.events[own])
        at_own = _factors(rest, np.where(alone, 0.0, events))
        rounded = _round(weight)
        for w in np.unique(rounded):
            ranks = np.flatnonzero(rounded == w)
            early = _products(_factors(np.maximum(self.left - w, 0.0), self.events))
            k = own[ranks]
            after = early[k] * at_own[ranks]
            yield _Others(self, ranks, k[:, None], alone[ranks, None], early, after[:, None])


@dataclass(frozen=True, eq=False)
class _Others:
    """Curves of m ranks of one weight, each from all rows but its own.

    Attributes
    ----------
    sample : _Sample
        All rows.
    ranks : ndarray of shape (m,), int64
    own : ndarray of shape (m, 1), int64
        Their times, as indices.
    alone : ndarray of shape (m, 1), bool
        Whether a rank's event is the only one at its time.
    early : ndarray of shape (K + 1,), float64
        S after 0, 1, ... times, none of them the own one.
    at_own : ndarray of shape (m, 1), float64
        S after the own time.
    """

    sample: _Sample
    ranks: Ints
    own: Ints
    alone: NDArray[np.bool_]
    early: Array
    at_own: Array

    @cached_property
    def _late(self) -> Array:
        """S over that of all rows, shape (m, 1), after the own time."""
        there = self.sample.whole[self.own + 1]
        # The curve of all rows comes to zero at the last time only, and nothing is later.
        return np.divide(self.at_own, there, out=np.zeros_like(there), where=there > 0.0)

    def survival(self, steps: Ints) -> Array:
        """S after so many times, shape (m, g), for steps of shape (g,) or (m, g)."""
        values = self._late * self.sample.whole[steps]
        np.copyto(values, self.at_own, where=steps == self.own + 1)
        np.copyto(values, self.early[steps], where=steps <= self.own)
        return values

    def invert(self, levels: Array) -> Array:
        """Find the times (m, q) at which S comes to levels of shape (q,), by midpoints."""
        times = self.sample.train.times
        reached = levels + _TOLERANCE
        crossing = self._crossing(reached)
        known = crossing < len(times)
        # Midpoints lie between S before a time and after it: what is sought is at the time at
        # which S falls to the level, or at the next one.
        place = np.minimum(crossing, len(times) - 1)
        later = self._following(np.minimum(place + 1, len(times)))
        onward = self._height(place) > reached
        place = np.where(onward & (later < len(times)), later, place)
        height, before = self._height(place), self._previous(place)
        fallen = np.maximum(self._height(np.maximum(before, 0)) - height, 0.0)
        between = (height < levels) & (before >= 0) & (fallen > 0.0)
        back = np.divide(levels - height, fallen, out=np.zeros_like(height), where=between)
        found = back * times[before] + (1.0 - back) * times[place]
        return np.where(known, found, times[self._last()])

    def _crossing(self, reached: Array) -> Ints:
        """First time at which S is no more than levels (q,), by index, shape (m, q); K if none."""
        whole = self.sample.whole
        early = np.maximum(np.searchsorted(-self.early, -reached), 1)
        with np.errstate(divide="ignore"):
            late = np.searchsorted(-whole, -reached / self._late)
        late = np.where(self.at_own <= reached, self.own + 1, np.maximum(late, self.own + 2))
        return np.asarray(np.where(early <= self.own, early, late) - 1)

    def _height(self, place: Ints) -> Array:
        """Midpoint of S before and after a time."""
        return (self.survival(place) + self.survival(place + 1)) / 2

    def _following(self, place: Ints) -> Ints:
        """First time with an event, at or after one; K if there is none."""
        following, _ = self.sample.jumps
        found = following[place]
        return np.where(self.alone & (found == self.own), following[self.own + 1], found)

    def _previous(self, place: Ints) -> Ints:
        """Last time with an event before one; -1 if there is none."""
        _, previous = self.sample.jumps
        found = previous[place]
        return np.where(self.alone & (found == self.own), previous[self.own], found)

    def _last(self) -> Ints:
        """Last time of the other rows."""
        last = len(self.early) - 2
        single = (self.own == last) & (np.sum(self.sample.own == last) == 1)
        return np.where(single, max(last - 1, 0), last)


def _factors(left: Array, events: Array) -> Array:
    """Share of those at risk that have no event; one where nobody is at risk."""
    at_risk = left + events
    return np.divide(left, at_risk, out=np.ones_like(at_risk), where=at_risk > 0.0)


def _products(factors: Array) -> Array:
    """Products of the first 0, 1, ... factors."""
    return np.concatenate([[1.0], np.cumprod(factors)])


def _round(weight: Array) -> Array:
    """Weights, of which no more than `_EXACT_WEIGHTS` differ: the light ones are rounded."""
    distinct = np.unique(weight)
    if len(distinct) <= _EXACT_WEIGHTS:
        return weight
    half = _EXACT_WEIGHTS // 2
    heavy = distinct[-half]
    step = heavy / half
    return np.where(weight < heavy, np.round(weight / step) * step, weight)
