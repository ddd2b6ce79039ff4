r"""Cox's proportional hazards model, as a baseline that everybody knows.

.. math::

    \lambda(t \mid x) = \lambda_0(t)\, e^{x^\top \beta}, \qquad
    S(t \mid x) = \exp(-\Lambda_0(t)\, e^{x^\top \beta}).

Beta maximises Breslow's partial likelihood with a small ridge penalty, by Newton's method;
:math:`\Lambda_0` is Breslow's estimator. Left-censored times are mirrored, as in the forest.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cqrf.app.report.comparison import GridPrediction
from cqrf.app.report.predictions import ScoringGrid
from cqrf.data.outcome import Target

Array = NDArray[np.float64]

_MAX_STEPS = 30
# Categories of a column that have a coefficient of their own; the others share one.
_MAX_CATEGORIES = 10


@dataclass(frozen=True, eq=False)
class Cox:
    """A fitted model.

    Attributes
    ----------
    beta : ndarray of shape (p,)
    times : ndarray of shape (K,)
        Distinct times, negated under left censoring.
    hazard : ndarray of shape (K,)
        Cumulative baseline hazard after each of them.
    mirrored : bool
    log_likelihood, null_log_likelihood : float
        Partial, without the penalty: at beta and at zero.
    """

    beta: Array
    times: Array
    hazard: Array
    mirrored: bool
    log_likelihood: float
    null_log_likelihood: float

    @classmethod
    def fit(cls, Z: Array, target: Target, ridge: float = 1.0) -> Cox:
        """Fit the model.

        Parameters
        ----------
        Z : ndarray of shape (n, p)
            Design matrix in the order of the user's rows, columns of about unit variance.
        target : Target
            Outcomes.
        ridge : float
            Penalty: ridge / 2 times the squared length of beta.

        Returns
        -------
        Cox
        """
        X = Z[target.order]
        weight = np.ones(target.n) if target.weight is None else target.weight
        events = weight * target.event
        # First rank of every row's time: the risk set starts there.
        first = np.searchsorted(target.time_index, target.time_index, side="left")
        last = np.searchsorted(target.time_index, target.time_index, side="right") - 1
        beta = np.zeros(X.shape[1])
        at = _evaluate(X, beta, weight, events, first, last)
        null = at.log_likelihood
        for _ in range(_MAX_STEPS):
            gradient = at.gradient - ridge * beta
            step = np.linalg.solve(at.information + ridge * np.eye(len(beta)), gradient)
            current = at.log_likelihood - ridge * beta @ beta / 2
            # Far from the maximum the step may be too long: halve it until the likelihood rises.
            for _ in range(20):
                new = _evaluate(X, beta + step, weight, events, first, last)
                if new.log_likelihood - ridge * (beta + step) @ (beta + step) / 2 >= current:
                    break
                step = step / 2
            beta, at = beta + step, new
            if np.abs(step).max(initial=0.0) < 1e-8:
                break
        ends = np.searchsorted(target.time_index, np.arange(len(target.times)), side="right") - 1
        return cls(beta, target.times, at.hazard[ends], target.mirrored, at.log_likelihood, null)

    def quantiles(self, Z: Array, levels: Array) -> Array:
        """Quantiles of T, shape (m, q); the largest time where the curve does not fall so far."""
        risk = np.exp(np.clip(Z @ self.beta, -50.0, 50.0))
        below = 1.0 - (1.0 - levels) if self.mirrored else 1.0 - levels
        needed = -np.log(below)[None, :] / risk[:, None]
        at = np.searchsorted(self.hazard, needed, side="left")
        times = self.times[np.minimum(at, len(self.times) - 1)]
        return -times + 0.0 if self.mirrored else times

    def survival(self, Z: Array, times: Array) -> Array:
        """P(T > t), shape (m, g), at times of shape (g,)."""
        risk = np.exp(np.clip(Z @ self.beta, -50.0, 50.0))[:, None]
        before = np.concatenate([[0.0], self.hazard])
        if self.mirrored:
            # T is beyond t unless -T is at or beyond -t.
            at = np.searchsorted(self.times, -times, side="left")
            return np.asarray(1.0 - np.exp(-before[at] * risk))
        at = np.searchsorted(self.times, times, side="right")
        return np.asarray(np.exp(-before[at] * risk))


@dataclass(frozen=True, eq=False)
class _Point:
    log_likelihood: float
    gradient: Array
    information: Array
    hazard: Array


def _evaluate(
    X: Array,
    beta: Array,
    weight: Array,
    events: Array,
    first: NDArray[np.int64],
    last: NDArray[np.int64],
) -> _Point:
    """Partial likelihood and its derivatives in O(n p^2), without a matrix for every time.

    With r_j = w_j exp(x_j beta), S0 and S1 the sums of r_j and r_j x_j over the risk set and H the
    cumulative hazard, the sum over events of S2 / S0 is X' diag(r H) X.
    """
    eta = np.clip(X @ beta, -50.0, 50.0)
    risk = weight * np.exp(eta)
    s0 = np.cumsum(risk[::-1])[::-1][first]
    s1 = np.cumsum((risk[:, None] * X)[::-1], axis=0)[::-1][first]
    hazard = np.cumsum(events / s0)[last]
    mean = s1 / s0[:, None]
    information = (X * (risk * hazard)[:, None]).T @ X - (mean * events[:, None]).T @ mean
    return _Point(
        float(events @ (eta - np.log(s0))),
        (X - mean).T @ events,
        information,
        hazard,
    )


def design(matrix: Array, n_categories: NDArray[np.int64]) -> Array:
    """Build the design matrix from encoded features.

    Parameters
    ----------
    matrix : ndarray of shape (n, p)
        Numbers, and codes of categories; NaN is missing.
    n_categories : ndarray of shape (p,)
        Number of categories of every column, 0 for numbers.

    Returns
    -------
    ndarray of shape (n, d)
        Standardised numbers, indicators of categories and of missing values.
    """
    columns: list[Array] = []
    for j, count in enumerate(n_categories):
        values = np.asarray(matrix[:, j], dtype=np.float64)
        missing = np.isnan(values)
        if count:
            codes = np.where(missing, -1, values).astype(np.int64)
            present, sizes = np.unique(codes, return_counts=True)
            # The commonest category is the base level: it has no column.
            ranked = present[np.argsort(-sizes, kind="stable")]
            columns += [(codes == code).astype(np.float64) for code in ranked[1:_MAX_CATEGORIES]]
            continue
        known = values[~missing]
        spread = known.std() if len(known) else 0.0
        if spread > 0.0:
            columns.append(np.where(missing, 0.0, (values - known.mean()) / spread))
        if missing.any() and not missing.all():
            columns.append(missing.astype(np.float64))
    if not columns:
        return np.zeros((len(matrix), 1))
    return np.column_stack(columns)


def predict_cox(
    Z: Array,
    time: Array,
    event: NDArray[np.bool_],
    grid: ScoringGrid,
    censoring: str,
    folds: int = 5,
) -> GridPrediction | None:
    """Predict every row by a model that was fitted without its fold, as out-of-bag.

    None if some fold holds all events.
    """
    fold = np.random.default_rng(0).permutation(len(time)) % folds
    quantiles = np.empty((len(time), len(grid.levels)))
    survival = np.empty((len(time), len(grid.times)))
    for k in range(folds):
        rest = fold != k
        if not event[rest].any():
            return None
        target = Target.from_outcome(time[rest], event[rest], None, censoring)  # type: ignore[arg-type]
        model = Cox.fit(Z[rest], target)
        quantiles[~rest] = model.quantiles(Z[~rest], grid.levels)
        survival[~rest] = model.survival(Z[~rest], grid.times)
    return GridPrediction(quantiles, survival)
