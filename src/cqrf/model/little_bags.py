r"""Standard errors from little bags: groups of trees that know one half of the rows each.

The sampling variance of :math:`S(t \mid x)` is estimated as grf does for its forests. Row i has the
influence

.. math::

    \psi_i(t) = S(t) \Bigl( \sum_{t_k \le \min(Y_i, t)} \frac{d_k}{R_k (R_k - d_k)}
                - \frac{\delta_i 1\{Y_i = t_j \le t\}}{R_j - d_j} \Bigr)

on S, the derivative of the Kaplan-Meier curve at the weights of the whole forest; tree b has the
mean :math:`U_b` of it over its leaf, and a group g of :math:`\ell` trees the mean :math:`U_g`. With
G groups

.. math::

    V_b = \frac1G \sum_g U_g^2, \qquad
    N = \frac{1}{\ell - 1} \Bigl( \frac{1}{G \ell} \sum_b U_b^2 - V_b \Bigr), \qquad
    \sigma^2 = \mathrm{E}\bigl[v \mid v > 0\bigr] + V_b / G,

v normal with mean :math:`V_b - N` and standard deviation :math:`\max(V_b, N) \sqrt{2 / G}`: the
variance between half-samples less the noise of few trees, kept positive, and the Monte Carlo
error of G groups. A quantile has the error of S at it, carried over by S itself: its interval goes
between the quantiles of levels :math:`\tau \pm z \sigma`. Nothing is divided by a density.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm
from scipy.stats import t as student

from cqrf.solving.estimation import Estimation

Array = NDArray[np.float64]


@dataclass(frozen=True)
class LittleBags:
    """Standard errors of the answers of a grouped forest at m test points.

    Attributes
    ----------
    estimation : Estimation
        The weights of the test points.
    group_size : int
        Trees per group, at least 2.
    n_groups : int
        Groups, at least 2.
    """

    estimation: Estimation
    group_size: int
    n_groups: int

    @classmethod
    def of(
        cls, estimation: Estimation, censoring_curve: str, group_size: int, n_trees: int
    ) -> LittleBags:
        """Check that a forest has groups of trees and a curve whose influence is known."""
        if group_size < 2:
            raise ValueError(
                "standard errors need groups of trees: fit with ci_group_size of at least 2"
            )
        if n_trees < 2 * group_size:
            raise ValueError(
                "standard errors need at least two groups of trees: raise n_estimators to "
                f"{2 * group_size} or more"
            )
        if censoring_curve != "beran":
            raise ValueError(
                f'standard errors need censoring_curve="beran"; received {censoring_curve!r}'
            )
        return cls(estimation, group_size, n_trees // group_size)

    def survival_std(self, times: Array) -> Array:
        """Compute standard errors of S, shape (m, g), at times of shape (g,)."""
        return self._level_std(np.tile(times, (self.estimation.weights.rows, 1)))

    def quantile_std(self, levels: Array, answers: Array, identified: NDArray[np.bool_]) -> Array:
        """Compute standard errors, shape (m, q), of the quantiles of levels tau of shape (q,).

        Half the distance of the quantiles of levels ``tau - sigma`` and ``tau + sigma``; where one
        of them is out of reach, the distance of the other. NaN where both are, or the quantile
        itself.
        """
        lower, upper = self._shifted(levels, answers, 1.0)
        sides = np.stack([answers - lower, upper - answers])
        known = np.isfinite(sides) & identified
        n_sides = known.sum(axis=0)
        total = np.where(known, sides, 0.0).sum(axis=0)
        return np.where(n_sides > 0, total / np.maximum(n_sides, 1), np.nan)

    def quantile_interval(
        self, level: Array, confidence: float, answers: Array, identified: NDArray[np.bool_]
    ) -> Array:
        """Confidence interval (m, 2) of the quantile of a level tau, shape (1,).

        Infinite where there is no limit.
        """
        # The variance itself is estimated, from so many groups.
        factor = student.ppf((1.0 + confidence) / 2.0, self.n_groups - 1)
        interval = np.hstack(self._shifted(level, answers, factor))
        # A quantile that is not identified is not estimated either.
        interval[~identified[:, 0]] = (-np.inf, np.inf)
        return interval

    def _shifted(self, levels: Array, answers: Array, factor: float) -> tuple[Array, Array]:
        """Quantiles (m, q) of levels that are `factor` standard errors of S lower and higher."""
        shift = factor * self._level_std(answers)
        wanted = np.hstack([levels - shift, levels + shift])
        ends, identified = self.estimation.quantiles(
            np.clip(wanted, 0.0, 1.0), solver="root", interpolation="midpoint"
        )
        # On the censored side S does not get there; on the other no time is so early.
        censored_side = -np.inf if self.estimation.target.mirrored else np.inf
        ends = np.where(identified, ends, censored_side)
        ends[wanted <= 0.0] = -np.inf
        ends[wanted >= 1.0] = np.inf
        lower, upper = np.hsplit(ends, 2)
        return lower, upper

    def _level_std(self, times: Array) -> Array:
        """Compute standard errors of S at times of shape (m, q)."""
        target = self.estimation.target
        between, noise = self.estimation.weights.little_bags(
            np.ascontiguousarray(-times if target.mirrored else times),
            target.mirrored,  # P(T > t) is 1 - P(-T >= -t)
            self.group_size,
            self.estimation.n_threads,
            self.estimation.block_size,
        )
        return np.sqrt(positive_part(between, noise, self.n_groups) + between / self.n_groups)


def positive_part(between: Array, noise: Array, n_groups: int) -> Array:
    """Variance between groups less noise, given that it is positive (see the module's formula)."""
    spread = np.maximum(between, noise) * np.sqrt(2.0 / n_groups)
    ratio = np.divide(between - noise, spread, out=np.zeros_like(spread), where=spread > 0.0)
    # The mean of a normal variable above zero; ratios are at least -sqrt(n_groups / 2).
    excess: Array = np.exp(norm.logpdf(ratio) - norm.logcdf(ratio))
    return np.asarray(spread * (ratio + excess))
