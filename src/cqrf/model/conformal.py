r"""Conformal calibration under censoring: the levels at which the forest's quantiles hold.

The bounds are nested: with :math:`\hat q_a(x)` the forest's quantile of level a, the lower bounds
are :math:`\hat q_a(X)`, and T is missed by those with a above its own level
:math:`U = \sup\{a : \hat q_a(X) \le T\}`. So what is needed is the law of U, from rows that the
forest has not seen, and of which some are censored: :math:`U_i` is then only known to be at least
the level of the censoring time. With the forest's own censoring curve as weights, a row that is
still at risk at level a stands for

.. math:: w_i(a) = 1 / \hat G\bigl(\hat q_a(X_i)- \mid X_i\bigr)

rows, and the law of U is the weighted Kaplan-Meier curve

.. math::

    P(U > a) = \prod_{u_k \le a} \Bigl(1 - \frac{w_k(u_k)}{\sum_{i : U_i \ge u_k} w_i(u_k)}\Bigr).

It is right if G is (weights undo the censoring), and also if the forest's quantiles are (U is then
independent of X and of C, and weights do not matter). The row to be predicted is one more row: it
is put where it does most harm, at level 0 for a lower bound and at infinity for an upper one, with
the mean weight of the rows at risk. Without censoring this is split conformal prediction.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cqrf.solving.estimation import Estimation

Array = NDArray[np.float64]

# Levels are divided into so many classes. A row's weight is computed once per class, at its middle.
_CLASSES = 200
# G is not taken to be smaller than this: no row counts as more than twenty, and none decides alone.
_LEAST_CENSORING = 0.05
# Rounding error of a product of some thousand factors.
_ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class Calibration:
    """What the calibration rows say of the forest's quantiles.

    Attributes
    ----------
    level : ndarray of shape (k,), float64
        Levels at which rows have their event, ascending, in [0, 1]; under left censoring those
        of the negated times.
    below : ndarray of shape (k,), float64
        P(U <= level), the row to be predicted counted as the lowest.
    above : ndarray of shape (k,), float64
        P(U > level), the row to be predicted counted as the highest.
    n_rows : int
        Number of calibration rows.
    out_of_bag : bool
        Whether they are the training rows, out-of-bag.
    """

    level: Array
    below: Array
    above: Array
    n_rows: int
    out_of_bag: bool

    def lower_level(self, miss: float) -> float:
        """Find the largest level whose quantiles are above T with probability `miss` at most.

        Zero if there is none: no quantile is low enough.
        """
        beyond = self.below > miss + _ROUNDING
        return float(self.level[np.argmax(beyond)] if beyond.any() else self.level[-1])

    def upper_level(self, miss: float) -> float:
        """Find the smallest level whose quantiles are below T with probability `miss` at most.

        One if there is none: the rows do not say how far T goes.
        """
        within = self.above <= miss + _ROUNDING
        return float(self.level[np.argmax(within)]) if within.any() else 1.0


def calibrate(
    estimation: Estimation, time: Array, event: NDArray[np.bool_], *, out_of_bag: bool
) -> Calibration:
    """Calibrate quantiles by the outcomes of the rows they were predicted for.

    Parameters
    ----------
    estimation : Estimation
        Weights of the m calibration rows on the training rows.
    time : ndarray of shape (m,), float64
        Their observed times; negated under left censoring.
    event : ndarray of shape (m,), bool
        Whether the event was seen.
    out_of_bag : bool
        Whether they are the training rows.
    """
    level, weight = estimation.calibration(time, _CLASSES, _LEAST_CENSORING)
    known = np.flatnonzero(~np.isnan(level))
    if not event[known].any():
        raise ValueError("event is never True: quantiles cannot be calibrated")
    # Events first among equal levels: a row that is censored there is still at risk.
    order = known[np.lexsort((~event[known], level[known]))]
    level, event = level[order], event[order]
    at = np.flatnonzero(event)
    own, at_risk, mean = _risk_sets(level, weight, order, at)
    # The row to be predicted: gone before the first event, or at risk for ever.
    first = mean[0] / (at_risk[0] + mean[0])
    below = 1.0 - (1.0 - first) * np.cumprod(1.0 - own / at_risk)
    above = np.cumprod(1.0 - own / (at_risk + mean), dtype=np.float64)
    return Calibration(level[at], np.asarray(below), above, len(level), out_of_bag)


def _risk_sets(
    level: Array, weight: Array, order: NDArray[np.int64], at: NDArray[np.int64]
) -> tuple[Array, Array, Array]:
    """Weights of events, of their risk sets, and the mean in these, shape (k,) each.

    Parameters
    ----------
    level : ndarray of shape (r,)
        Levels of the rows that have one, ascending.
    weight : ndarray of shape (m, classes)
        Weights of all rows in every class of levels.
    order : ndarray of shape (r,)
        Which row each level belongs to.
    at : ndarray of shape (k,)
        Positions in `level` that are events.
    """
    classes = np.minimum((level[at] * _CLASSES).astype(np.int64), _CLASSES - 1)
    at_risk = np.empty(len(at))
    for index in np.unique(classes):
        those = classes == index
        # One class at a time, because a copy of all weights would be large.
        at_risk[those] = np.cumsum(weight[order[::-1], index])[::-1][at[those]]
    return weight[order[at], classes], at_risk, at_risk / (len(level) - at)
