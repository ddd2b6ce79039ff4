"""What the public scores in `cqrf.metrics` share: checks, means, pair counts, calibration."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import UndefinedMetricWarning

from cqrf.data.outcome import Target, check_time, marginal_curves, parse_outcome
from cqrf.metrics.ipcw import Scored
from cqrf.support.checks import check_choice, numbers_from_objects, unmask

# What fewer rows than that, or a smaller share of them, tell is not told.
_FEWEST_ROWS, _LEAST_SHARE = 10, 0.05


def check_predictions(
    name: str, values: Any, n_rows: int, n_columns: int = 1, *, finite: bool = False
) -> NDArray[np.float64]:
    """Check predictions of shape (n_rows,) or (n_rows, n_columns); return them as the latter.

    Infinite ones pass unless `finite`; NaN never does.
    """
    array = np.asarray(unmask(values))
    if array.dtype.kind in "OUST":
        array = numbers_from_objects(name, array.astype(object).ravel()).reshape(array.shape)
    if array.dtype.kind not in "iuf":
        raise TypeError(f"{name} must hold numbers; received dtype {array.dtype}")
    if array.shape[:1] not in ((), (n_rows,)):
        raise ValueError(
            f"y and {name} differ in length (inconsistent numbers of samples): y has {n_rows} "
            f"rows, {name} has {array.shape[0]}"
        )
    if array.shape != (n_rows, n_columns) and not (n_columns == 1 and array.ndim == 1):
        wanted = f"({n_rows}, {n_columns})" if n_columns > 1 else f"({n_rows},)"
        raise ValueError(f"{name} must have shape {wanted}; received shape {array.shape}")
    # One layout, so that rounding does not depend on the container.
    matrix = np.array(array, dtype=np.float64, order="C").reshape(n_rows, n_columns)
    bad = ~np.isfinite(matrix) if finite else np.isnan(matrix)
    if bad.any():
        row, column = np.argwhere(bad)[0]
        what = "be finite" if finite else "not be NaN"
        raise ValueError(f"{name} must {what}; row {row} has {matrix[row, column]}")
    return matrix


def check_curves(
    survival: Any, times: Any, n_rows: int, *, ascending: bool = False
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Check survival probabilities and their times; return them, shapes (n_rows, g) and (g,)."""
    at = check_time("times", times)
    if ascending and (len(at) < 2 or (np.diff(at) <= 0).any()):
        raise ValueError("times must be at least two, in ascending order")
    predicted = check_predictions("survival", survival, n_rows, len(at))
    outside = (predicted < 0.0) | (predicted > 1.0)
    if outside.any():
        row, column = np.argwhere(outside)[0]
        raise ValueError(
            f"survival must lie between 0 and 1; row {row} has {predicted[row, column]}"
        )
    return predicted, at


def count_rows(scored: Scored | None, y: Any) -> int:
    """Count the rows of an outcome, also where no score is defined."""
    return len(parse_outcome(y)[0]) if scored is None else len(scored.time)


def enough(n_used: Any, n_rows: int) -> Any:
    """Say whether so many of the rows, a number or an array of them, are enough to judge by."""
    return n_used >= max(_FEWEST_ROWS, _LEAST_SHARE * n_rows)


def check_bound(name: str, values: Any, n_rows: int) -> NDArray[np.float64]:
    """Check one end of an interval: a number for all rows, or shape (n_rows,)."""
    if np.ndim(values) == 0:
        values = np.full(n_rows, values)
    return check_predictions(name, values, n_rows)[:, 0]


def warn_undefined(score: str, why: str) -> None:
    """Say on behalf of the public function `score` that its answer is NaN."""
    warnings.warn(f"{score} is undefined: {why}", UndefinedMetricWarning, stacklevel=3)


def mean_by_level(
    values: NDArray[np.float64], weight: NDArray[np.float64] | None
) -> NDArray[np.float64]:
    """Weighted means, shape (q,), of the columns of `values`, shape (m, q)."""
    means: NDArray[np.float64]
    if weight is None:
        means = values.mean(axis=0)
        return means
    # No sum of weights overflows after this.
    weight = weight / weight.max()
    means = weight @ values / weight.sum()
    return means


def combine(values: NDArray[np.float64], multioutput: str) -> float | NDArray[np.float64]:
    """Average over levels, or not, as `multioutput` says."""
    check_choice("multioutput", multioutput, ("uniform_average", "raw_values"))
    return values if multioutput == "raw_values" else float(values.mean())


def pinball(
    time: NDArray[np.float64], predicted: NDArray[np.float64], levels: NDArray[np.float64]
) -> NDArray[np.float64]:
    """rho_tau(time - predicted) for times (m,), predictions (m, q) and levels (q,)."""
    error = time[:, None] - predicted
    return np.maximum(levels * error, (levels - 1.0) * error)


def count_pairs(
    target: Target, predicted: NDArray[np.float64], lead: NDArray[Any]
) -> tuple[float, float, float]:
    r"""Sum the weights :math:`l_i w_i w_j` of concordant, tied and comparable pairs.

    A pair is comparable if i had its event before j left: at an earlier time, or at the same time
    if j was censored there. It is concordant if i was also predicted to be earlier.

    Parameters
    ----------
    target : Target
        The outcomes.
    predicted : ndarray of shape (n,), float64
        Predicted times by rank, negated if the target is mirrored.
    lead : ndarray of shape (n,)
        Further weight l of the row that comes first, by rank.

    Returns
    -------
    concordant, tied, comparable : int, or float with weights
        `tied` are the comparable pairs of equal predictions.
    """
    rank = np.unique(predicted, return_inverse=True)[1].reshape(-1)
    # Half steps of time: events, then censorings. The pool of j is the events with a smaller key.
    key = 2 * target.time_index.astype(np.int64) + (target.event == 0)
    # Among equal keys the largest prediction comes first: no earlier row there has a smaller one.
    order = np.lexsort((-rank, key))
    rank, key = rank[order], key[order]
    weight = np.ones(target.n, dtype=np.int64) if target.weight is None else target.weight[order]
    pool = weight * target.event[order] * lead[order]

    comparable = weight @ _sum_before_run(pool, key)
    concordant = weight @ _sum_of_smaller(pool, rank)
    alike = np.argsort(rank, kind="stable")
    rank, key, pool = rank[alike], key[alike], pool[alike]
    tied = weight[alike] @ (
        _sum_before_run(pool, rank * (key.max() + 1) + key) - _sum_before_run(pool, rank)
    )
    return concordant, tied, comparable


def _sum_before_run(values: NDArray[Any], run: NDArray[np.int64]) -> NDArray[Any]:
    """For every position, the sum of all values before the run of equal `run` that it is in."""
    starts = np.ones(len(run), dtype=np.bool_)
    starts[1:] = run[1:] != run[:-1]
    before = np.cumsum(values) - values
    sums: NDArray[Any] = before[np.maximum.accumulate(np.where(starts, np.arange(len(run)), 0))]
    return sums


def _sum_of_smaller(values: NDArray[Any], rank: NDArray[np.int64]) -> NDArray[Any]:
    """For every position j, the sum of the values at earlier positions of smaller rank.

    Two ranks first differ in one bit: for each bit, highest first, positions that agree in all
    higher ones are a run, in which those with the bit collect from those without it.
    """
    sums = np.zeros_like(values)
    order = np.arange(len(rank))
    for bit in reversed(range(int(rank.max()).bit_length())):
        prefix = rank[order] >> bit
        has_bit = (prefix & 1).astype(np.bool_)
        given = np.where(has_bit, 0, values[order])
        collected = np.cumsum(given) - _sum_before_run(given, prefix >> 1)
        sums[order[has_bit]] += collected[has_bit]
        order = order[np.argsort(prefix, kind="stable")]
    return sums


def level_reached(
    scored: Scored, predicted: NDArray[np.float64], *, same_rows: bool
) -> tuple[float, float, int]:
    r"""Estimate P(T <= predicted) at one level; see `cqrf.metrics.quantile_calibration`.

    The standard error is the infinitesimal jackknife's. Rows enter twice: by themselves, and
    through G. With :math:`a_i = v_i (z_i - \hat p) / \sum v` the former, a training row k of share
    :math:`\omega_k` contributes the latter,

    .. math::

        b_k = \omega_k \Big[ \frac{A(Y_k)}{P(Y_k)} 1\{\delta_k = 0\}
              - \sum_{u} \lambda(u) \frac{A(u)}{P(u)} \Big],

    with :math:`A(u)` the sum of those :math:`a_i` whose weight has the factor of G at u,
    :math:`\lambda` the hazard of censoring, P the share of rows after u, and the sum over the
    times u at which k is at risk of being censored.

    Where all rows agree they say nothing of their variance. Then it is that of a share which is
    shrunk as Agresti and Coull do it, by two rows that come and two that do not,

    .. math::

        \tilde p (1 - \tilde p) / m, \qquad \tilde p = (m \hat p + 2) / (m + 4), \qquad
        m = (\sum v)^2 / \sum v^2.

    Parameters
    ----------
    scored : Scored
        The outcomes, and the training outcomes that G is estimated from.
    predicted : ndarray of shape (m,), float64
        Predicted quantiles.
    same_rows : bool
        Whether the training outcomes are the outcomes themselves; otherwise they are independent
        of them.

    Returns
    -------
    share, std_error : float
        NaN if no row can be used.
    n_used : int
        Rows whose predicted quantile lies within the horizon.
    """
    known, train = scored.known_by(predicted, including=True), scored.train
    n_used = int(np.sum(known.within))
    v = scored.weighted(known.weight)
    if not v.any():
        return np.nan, np.nan, n_used
    heard = known.come[v > 0.0]
    if (heard == heard[0]).all():
        m = v.sum() ** 2 / (v @ v)
        shrunk = (m * heard[0] + 2.0) / (m + 4.0)
        return float(heard[0]), float(np.sqrt(shrunk * (1.0 - shrunk) / m)), n_used
    survival, censoring = marginal_curves(train)
    g = np.concatenate([[1.0], censoring])
    share = float(v @ known.come / v.sum())
    own = v * (known.come - share) / v.sum()

    suffix = np.cumsum(np.bincount(known.factors, own, len(g))[::-1])[::-1][1:]
    after = survival * censoring
    rate = np.divide(suffix, after, out=np.zeros_like(after), where=after > 0.0)
    hazard = 1.0 - np.divide(censoring, g[:-1], out=np.ones_like(censoring), where=g[:-1] > 0.0)
    drift = np.concatenate([[0.0], np.cumsum(hazard * rate)])
    censored = train.event == 0
    omega = np.ones(train.n) if train.weight is None else train.weight
    through_g = np.where(censored, rate[train.time_index], 0.0) - drift[train.time_index + censored]
    through_g *= omega / omega.sum()
    if same_rows:
        own[train.order] += through_g
        variance = own @ own
    else:
        variance = own @ own + through_g @ through_g
    return share, float(np.sqrt(variance)), n_used
