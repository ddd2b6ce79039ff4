r"""Linear quantile regression for censored times: the baselines of the paper's related work.

All of them model the quantile of level :math:`\tau` as :math:`z^\top \beta(\tau)` with
:math:`z = (1, x)` (paper, eq. linear_quantile; hand in the logarithms of the times for the paper's
model), and all of them come down to one linear program, `solve_equation`:

=====================  ==========================================================
`QuantileRegression`   takes every observed time for an event
`Portnoy`              splits the mass of a censored row (Portnoy, 2003)
`PengHuang`            martingale estimating equations (Peng and Huang, 2008)
`DeBacker`             adapted check loss (De Backer, El Ghouch and Van Keilegom, 2019)
=====================  ==========================================================
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.optimize import linprog
from scipy.spatial.distance import cdist

from cqrf.data.outcome import check_event, check_time
from cqrf.support.checks import check_int, check_quantiles, check_same_rows

Array = NDArray[np.float64]

# Residuals below this are zero: times are standardized, and the program is solved to about 1e-12.
_ZERO = 1e-9


def solve_equation(Z: Array, y: Array, weight: Array, total: Array) -> Array | None:
    r"""Solve :math:`\sum_i w_i z_i 1\{y_i > z_i^\top \beta\} = r` for :math:`\beta`.

    No :math:`\beta` solves it exactly, because rows lie above the plane, below it or on it. The
    rows on the plane share out the rest: :math:`\beta` is the multiplier of the constraint in

    .. math::

        \max_a \sum_i y_i a_i \quad \text{subject to} \quad
        \sum_i z_i a_i = r, \quad 0 \le a_i \le w_i,

    where :math:`a_i` is :math:`w_i` above the plane and 0 below it. This is the dual of minimising
    the convex :math:`\sum_i w_i (y_i - z_i^\top \beta)_+ + r^\top \beta`, of which the equation
    says that a subgradient is zero. It has p + 1 rows only, which is why it is fast.

    Parameters
    ----------
    Z : ndarray of shape (n, p + 1)
        Design, of full column rank.
    y : ndarray of shape (n,)
        Times.
    weight : ndarray of shape (n,)
        The w, not negative.
    total : ndarray of shape (p + 1,)
        The r.

    Returns
    -------
    ndarray of shape (p + 1,) or None
        The coefficients; None if no plane is high or low enough for this total.
    """
    used = weight > 0.0
    bounds = np.column_stack([np.zeros(np.count_nonzero(used)), weight[used]])
    answer = linprog(-y[used], A_eq=Z[used].T, b_eq=total, bounds=bounds, method="highs-ds")
    if answer.status == 2:
        return None
    if answer.status != 0:
        raise RuntimeError(f"the linear program was not solved: {answer.message}")
    return -np.asarray(answer.eqlin.marginals)


def regression_quantile(Z: Array, y: Array, level: float, weight: Array | None = None) -> Array:
    r"""Ordinary quantile regression: minimise :math:`\sum_i w_i \rho_\tau(y_i - z_i^\top \beta)`.

    The estimating equation is
    :math:`\sum_i w_i z_i 1\{y_i > z_i^\top \beta\} = (1 - \tau) \sum_i w_i z_i`.

    Parameters
    ----------
    Z : ndarray of shape (n, p + 1)
        Design, of full column rank.
    y : ndarray of shape (n,)
        Times, of a size near one.
    level : float
        The level, between 0 and 1.
    weight : ndarray of shape (n,), optional
        Weights, not negative; by default 1.

    Returns
    -------
    ndarray of shape (p + 1,)
    """
    weight = np.ones(len(y)) if weight is None else weight
    beta = solve_equation(Z, y, weight, (1.0 - level) * weight @ Z)
    # The share 1 - level of every weight always satisfies the constraint.
    assert beta is not None
    return beta


class LinearQuantiles(ABC):
    r"""Quantiles :math:`z^\top \beta(\tau)` that are linear in :math:`z = (1, x)`.

    Attributes
    ----------
    quantiles_ : ndarray of shape (q,), float64
        Levels given to `fit`.
    coefficients_ : ndarray of shape (q, p + 1), float64
        Intercept first.
    identified_ : ndarray of shape (q,), bool
        False for a level that the censored data do not determine. Its coefficients are finite
        all the same, and belong to a plane near the largest ones that are determined.
    """

    quantiles_: Array
    coefficients_: Array
    identified_: NDArray[np.bool_]

    def fit(self, X: ArrayLike, time: ArrayLike, event: ArrayLike, quantiles: ArrayLike) -> Array:
        """Estimate the coefficients.

        Parameters
        ----------
        X : array-like of shape (n, p)
            Features, finite, without a column of ones.
        time : array-like of shape (n,)
            Observed times, on the scale on which the quantiles are linear.
        event : array-like of shape (n,)
            True or 1 where the event was seen, False or 0 where the row is right-censored.
        quantiles : float or array-like of shape (q,)
            Levels, strictly between 0 and 1, in any order.

        Returns
        -------
        ndarray of shape (q, p + 1), float64
            `coefficients_`.
        """
        check_same_rows(X=X, time=time, event=event)
        features = _check_features(X)
        times = check_time("time", time)
        events = check_event("event", event, times, name_time="time")
        levels, _ = check_quantiles(quantiles)
        if len(features) != len(times):
            raise ValueError(
                f"X and time differ in length: X has {len(features)} rows, time has {len(times)}"
            )
        if not events.any():
            raise ValueError("event is never True: no quantile of T can be estimated")

        # The solver's tolerances are absolute, so all it sees is of a size near one.
        center, scale = features.mean(axis=0), _spread(features)
        middle, unit = times.mean(), _spread(times)
        Z = np.column_stack([np.ones(len(features)), (features - center) / scale])
        rank = np.linalg.matrix_rank(Z)
        if rank < Z.shape[1]:
            raise ValueError(
                f"X and the intercept have rank {rank}, but {Z.shape[1]} columns: leave out "
                "constant and redundant columns, or add rows"
            )
        beta, identified = self._estimate(Z, (times - middle) / unit, events, levels)

        slopes = unit * beta[:, 1:] / scale
        intercept = middle + unit * beta[:, 0] - slopes @ center
        self.quantiles_ = levels
        self.coefficients_ = np.column_stack([intercept, slopes])
        self.identified_ = identified
        return self.coefficients_

    def predict(self, X: ArrayLike) -> Array:
        """Predict the quantiles.

        Parameters
        ----------
        X : array-like of shape (m, p)
            Features.

        Returns
        -------
        ndarray of shape (m, q), float64
            Not sorted: planes of different levels may cross.
        """
        if not hasattr(self, "coefficients_"):
            raise ValueError(f"this {type(self).__name__} is not fitted; call fit first")
        features = _check_features(X)
        n_features = self.coefficients_.shape[1] - 1
        if features.shape[1] != n_features:
            raise ValueError(f"X has {features.shape[1]} columns, but {n_features} in fit")
        return self.coefficients_[:, 0] + features @ self.coefficients_[:, 1:].T

    @abstractmethod
    def _estimate(
        self, Z: Array, y: Array, event: NDArray[np.bool_], levels: Array
    ) -> tuple[Array, NDArray[np.bool_]]:
        """Coefficients of shape (q, p + 1) and which of them are identified, on standardized data.

        `Z` has shape (n, p + 1), `y` and `event` have shape (n,).
        """


class QuantileRegression(LinearQuantiles):
    """Ordinary quantile regression of the observed times; censored times count as events.

    Biased downwards under censoring, and the oracle when the latent times are handed in. Every
    level is identified.
    """

    def _estimate(
        self, Z: Array, y: Array, event: NDArray[np.bool_], levels: Array
    ) -> tuple[Array, NDArray[np.bool_]]:
        beta = np.array([regression_quantile(Z, y, level) for level in levels])
        return beta, np.ones(len(levels), dtype=np.bool_)


class _Sequential(LinearQuantiles):
    """Methods that estimate the levels of a grid one after the other, each from those before it.

    Between grid points the coefficients are interpolated linearly; below the first and above the
    last one that the data reach they are constant.

    Parameters
    ----------
    grid : array-like of shape (k,), optional
        Levels in (0, 1), strictly ascending.
    """

    def __init__(self, grid: ArrayLike | None = None) -> None:
        self.grid = grid

    def _estimate(
        self, Z: Array, y: Array, event: NDArray[np.bool_], levels: Array
    ) -> tuple[Array, NDArray[np.bool_]]:
        if self.grid is None:
            grid = self._default_grid(len(y))
        else:
            grid, _ = check_quantiles(self.grid, "grid")
            if (np.diff(grid) <= 0.0).any():
                raise ValueError("grid must be strictly ascending")
        path = np.array(self._path(Z, y, event, grid))
        if len(path) == 0:
            raise ValueError(
                f"the data do not reach the first level of the grid, {grid[0]:.4g}: too few events "
                f"({np.count_nonzero(event)}) for {Z.shape[1]} coefficients"
            )
        reached = grid[: len(path)]
        beta = np.column_stack([np.interp(levels, reached, column) for column in path.T])
        return beta, levels <= reached[-1]

    @abstractmethod
    def _default_grid(self, n: int) -> Array:
        """Levels for n rows."""

    @abstractmethod
    def _path(self, Z: Array, y: Array, event: NDArray[np.bool_], grid: Array) -> list[Array]:
        """Coefficients at the grid points, up to the last one that the data reach."""


class Portnoy(_Sequential):
    r"""Censored quantile regression by recursive reweighting (Portnoy, 2003).

    A generalisation of Kaplan-Meier's redistribution of mass to the right. A censored row i that
    the plane first passes at level :math:`\tau_i` is split from then on: a part of weight

    .. math:: w_i(\tau) = \frac{\tau - \tau_i}{1 - \tau_i}

    stays at its time and the rest, :math:`1 - w_i(\tau)`, moves to infinity. Rows that are not
    passed yet lie above the plane, wherever they are, and are wholly at infinity. Infinity is
    above every plane, so the mass there is subtracted from the total of `solve_equation`, and
    no large number has to stand for it. The grid ends at the first plane with nothing but infinity
    above it, or earlier if no plane is high enough: the estimated law is then defective.

    Censored rows on or below the plane of the first level say nothing and are left out, as in
    the paper. The level :math:`\tau_i` is interpolated linearly between the two grid points.

    Parameters
    ----------
    grid : array-like of shape (k,), optional
        Levels in (0, 1), strictly ascending. By default from 1 / (2 n) in steps of
        :math:`1 / (5 + 3 n^{0.4})`, as in R's ``quantreg``.
    """

    def _default_grid(self, n: int) -> Array:
        return np.arange(0.5 / n, 1.0 - 0.5 / n, 1.0 / (5.0 + 3.0 * n**0.4))

    def _path(self, Z: Array, y: Array, event: NDArray[np.bool_], grid: Array) -> list[Array]:
        while True:
            beta = regression_quantile(Z, y, grid[0])
            kept = event | (y - Z @ beta > _ZERO)
            if kept.all():
                break
            Z, y, event = Z[kept], y[kept], event[kept]
            if np.linalg.matrix_rank(Z) < Z.shape[1]:
                return []

        passed_at = np.full(len(y), np.nan)
        path = [beta]
        for before, level in pairwise(grid):
            stays = np.nan_to_num((level - passed_at) / (1.0 - passed_at))
            weight = np.where(event, 1.0, stays)
            total = (1.0 - level) * Z.sum(axis=0) - (1.0 - weight) @ Z
            solution = solve_equation(Z, y, weight, total)
            if solution is None:
                break
            low, high = Z @ path[-1], Z @ solution
            passed = ~event & np.isnan(passed_at) & (high - y > _ZERO)
            fraction = (y[passed] - low[passed]) / (high[passed] - low[passed])
            passed_at[passed] = before + fraction * (level - before)
            path.append(solution)
            if not event.all() and not (weight[y - high > _ZERO] > 0.0).any():
                break
        return path


class PengHuang(_Sequential):
    r"""Censored quantile regression by martingale estimating equations (Peng and Huang, 2008).

    A generalisation of the Nelson-Aalen estimator. With :math:`H(u) = -\log(1 - u)`, the counting
    process of row i at its quantile of level :math:`\tau` has mean
    :math:`\int_0^\tau P(Y_i \ge z_i^\top \beta(u))\, dH(u)`. On a grid
    :math:`0 = \tau_0 < \tau_1 < \dots` this gives one equation after the other,

    .. math::

        \sum_i z_i\, \delta_i\, 1\{Y_i \le z_i^\top \beta(\tau_j)\} = \sum_i z_i s_i, \qquad
        s_i = \sum_{k < j} 1\{Y_i \ge z_i^\top \beta(\tau_k)\}\, \{H(\tau_{k+1}) - H(\tau_k)\},

    where every row is at risk at :math:`\tau_0`. The sum is at its left end points, which makes
    the level too high by about :math:`\tau` times half a grid step. The grid ends where no plane
    has enough events below it.

    Parameters
    ----------
    grid : array-like of shape (k,), optional
        Levels in (0, 1), strictly ascending, without :math:`\tau_0`. By default in steps of
        :math:`\min(0.01, n^{-0.7} / 2)`, as in R's ``quantreg``.
    """

    def _default_grid(self, n: int) -> Array:
        step = min(0.01, 0.5 * n**-0.7)
        return np.arange(step, 1.0 - step / 2.0, step)

    def _path(self, Z: Array, y: Array, event: NDArray[np.bool_], grid: Array) -> list[Array]:
        at_risk = np.ones(len(y), dtype=np.bool_)
        expected = np.zeros(len(y))
        path: list[Array] = []
        for hazard in np.diff(-np.log1p(-grid), prepend=0.0):
            expected[at_risk] += hazard
            total = (event - expected) @ Z
            solution = solve_equation(Z, y, event.astype(np.float64), total)
            if solution is None:
                break
            at_risk = y - Z @ solution > -_ZERO
            path.append(solution)
        return path


class DeBacker(LinearQuantiles):
    r"""Linear quantiles by the adapted check loss (De Backer, El Ghouch and Van Keilegom, 2019).

    With :math:`G(u | x) = P(C > u | x)`, the quantile satisfies
    :math:`P(Y > q | x) = (1 - \tau)\, G(q | x)`, the estimating equation of the forest too (paper,
    eq. fop_Y_approx). The check loss has the derivative :math:`(1 - \tau) - 1\{Y > q\}` in q; what
    it lacks is :math:`-(1 - \tau)\{1 - G(q | x)\}`, so that the loss is

    .. math::

        L_\tau(\beta) = \sum_i \Bigl[ \rho_\tau(Y_i - z_i^\top \beta)
            - (1 - \tau) \int_{-\infty}^{z_i^\top \beta} \{1 - \hat G(s | x_i)\}\, ds \Bigr].

    The integral is convex in :math:`\beta`. Its tangent at the current :math:`\beta_t`, put in
    its place, gives a convex function that touches :math:`L_\tau` there and lies above it
    elsewhere, and whose minimiser solves

    .. math::

        \sum_i z_i 1\{Y_i > z_i^\top \beta\}
            = (1 - \tau) \sum_i z_i\, \hat G(z_i^\top \beta_t | x_i),

    which is `solve_equation` again. So every step lowers the loss (majorise, minimise). As the loss
    is not convex, the steps start both from ordinary quantile regression and from `Portnoy`, and
    the lower of the two ends counts; nothing assures that it is the global minimum.

    Where :math:`\hat G` is zero nothing is observed and the loss is flat, so a level is identified
    if the rows with :math:`\hat G(z_i^\top \beta | x_i) > 0` determine :math:`\beta`.

    Parameters
    ----------
    bandwidth : float, optional
        Width of the Gaussian kernel in Beran's estimator of G (paper, eq. Beran), in standard
        deviations of each feature. By default G is the Kaplan-Meier estimator from all rows, for
        which C must not depend on x.
    max_iter : int, default=100
        Largest number of steps from one start. A handful is usual.
    """

    def __init__(self, bandwidth: float | None = None, max_iter: int = 100) -> None:
        self.bandwidth = bandwidth
        self.max_iter = max_iter

    def _estimate(
        self, Z: Array, y: Array, event: NDArray[np.bool_], levels: Array
    ) -> tuple[Array, NDArray[np.bool_]]:
        max_iter = check_int("max_iter", self.max_iter, 1)
        kernel = np.ones((1, len(y)))
        if self.bandwidth is not None:
            if not 0.0 < self.bandwidth < np.inf:
                raise ValueError(
                    f"bandwidth must be positive and finite, or None; received {self.bandwidth!r}"
                )
            kernel = np.exp(-0.5 * cdist(Z, Z, "sqeuclidean") / self.bandwidth**2)
        loss = AdaptedLoss(Z, y, event, kernel)

        methods = (QuantileRegression(), Portnoy())
        starts = [method._estimate(Z, y, event, levels)[0] for method in methods]
        beta = np.empty((len(levels), Z.shape[1]))
        for j, level in enumerate(levels):
            ends = [loss.descend(level, start[j], max_iter) for start in starts]
            beta[j] = min(ends, key=lambda end: loss(level, end))
        return beta, np.array([loss.determines(each) for each in beta])


class AdaptedLoss:
    r"""The loss :math:`L_\tau` of `DeBacker` on one sample, and its descent.

    Parameters
    ----------
    Z : ndarray of shape (n, p + 1)
        Design.
    y : ndarray of shape (n,)
        Observed times.
    event : ndarray of shape (n,), bool
        True where the event was seen.
    kernel : ndarray of shape (n, n) or (1, n)
        Weights of all rows in the censoring curve of each row, or in one curve of them all.
    """

    def __init__(self, Z: Array, y: Array, event: NDArray[np.bool_], kernel: Array) -> None:
        self.Z, self.y = Z, y
        times, G = censoring_curves(y, event, kernel)
        before = np.zeros((len(kernel), 1))
        # One more knot, anywhere below the first time: nothing is censored there.
        self._times = np.concatenate([[times[0] - 1.0], times])
        self._F = np.column_stack([before, 1.0 - G])
        mass = np.cumsum(self._F[:, :-1] * np.diff(self._times), axis=1)
        self._mass = np.column_stack([before, mass])
        self._curve = np.arange(len(y)) if len(kernel) > 1 else np.zeros(len(y), dtype=np.int64)

    def __call__(self, level: float, beta: Array) -> float:
        """Loss at `beta` of shape (p + 1,)."""
        q = self.Z @ beta
        check = (self.y - q) * (level - (self.y < q))
        knot = self._knot(q)
        beyond = q - self._times[knot]
        mass = self._mass[self._curve, knot] + self._F[self._curve, knot] * beyond
        return float(np.sum(check - (1.0 - level) * mass))

    def censoring(self, beta: Array) -> Array:
        r"""Survival function :math:`\hat G(z_i^\top \beta | x_i)`, of shape (n,)."""
        return np.asarray(1.0 - self._F[self._curve, self._knot(self.Z @ beta)])

    def _knot(self, q: Array) -> NDArray[np.int64]:
        return np.maximum(np.searchsorted(self._times, q, side="right") - 1, 0)

    def descend(self, level: float, beta: Array, max_iter: int) -> Array:
        """Majorise and minimise from `beta` of shape (p + 1,) until the loss falls no more."""
        weight, value = np.ones(len(self.y)), self(level, beta)
        for _ in range(max_iter):
            total = (1.0 - level) * self.censoring(beta) @ self.Z
            candidate = solve_equation(self.Z, self.y, weight, total)
            # Weights of (1 - level) G satisfy the constraint, so there is a solution.
            assert candidate is not None
            lower = self(level, candidate)
            if lower >= value - _ZERO * len(self.y):
                break
            beta, value = candidate, lower
        return beta

    def determines(self, beta: Array) -> bool:
        """Whether the rows at which the loss is not flat have a design of full rank."""
        Z = self.Z[self.censoring(beta) > 0.0]
        return len(Z) >= Z.shape[1] and bool(np.linalg.matrix_rank(Z) == Z.shape[1])


def censoring_curves(y: Array, event: NDArray[np.bool_], kernel: Array) -> tuple[Array, Array]:
    r"""Kaplan-Meier curves of C with weights: Beran's estimator (paper, eq. Beran).

    Events come before censorings at the same time, as everywhere in the library: with
    :math:`c_k` the weight of the rows censored at :math:`t_k` and :math:`R_k` the weight of all
    later ones, :math:`G(t) = \prod_{t_k \le t} \{1 - c_k / (c_k + R_k)\}`.

    Parameters
    ----------
    y : ndarray of shape (n,)
        Observed times.
    event : ndarray of shape (n,), bool
        True where the event was seen.
    kernel : ndarray of shape (m, n)
        Weights of the rows in each of m curves, not negative.

    Returns
    -------
    times : ndarray of shape (K,)
        Distinct times, ascending.
    G : ndarray of shape (m, K)
        The curves at `times`.
    """
    times, index = np.unique(y, return_inverse=True)
    at = sparse.csr_array((np.ones(len(y)), (np.arange(len(y)), index.ravel())))
    censored = (kernel * ~event) @ at
    everyone = kernel @ at
    later = np.cumsum(everyone[:, ::-1], axis=1)[:, ::-1][:, 1:]
    at_risk = censored + np.column_stack([later, np.zeros(len(kernel))])
    hazard = np.divide(censored, at_risk, out=np.zeros_like(censored), where=at_risk > 0.0)
    return times, np.cumprod(1.0 - hazard, axis=1)


def _check_features(X: ArrayLike) -> Array:
    try:
        features = np.asarray(X, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise TypeError(f"X must hold numbers: {error}") from None
    if features.ndim != 2 or 0 in features.shape:
        raise ValueError(f"X must have shape (n, p), neither of them 0; received {features.shape}")
    finite = np.isfinite(features).all(axis=1)
    if not finite.all():
        raise ValueError(f"X must be finite; row {int(np.argmin(finite))} is not")
    return features


def _spread(values: Array) -> Any:
    """Return the standard deviation of each column, or 1 where it is 0."""
    spread = values.std(axis=0)
    return np.where(spread > 0.0, spread, 1.0)
