"""Weights from any forest or kernel, turned into quantiles and curves."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from cqrf import _engine
from cqrf.data.outcome import Target, check_event, check_time
from cqrf.data.sparse import check_sparse
from cqrf.solving.curves import step_functions
from cqrf.solving.estimation import Estimation, mark_unreached
from cqrf.solving.options import check_neighbors, check_solving
from cqrf.support.checks import check_choice, check_quantiles, check_same_rows

_CURVES = ("beran", "knn", "marginal")


def solve_quantiles(
    weights: Any,
    time: ArrayLike,
    event: ArrayLike,
    quantiles: float | ArrayLike,
    *,
    censoring: str = "right",
    censoring_curve: str = "beran",
    n_neighbors: int | None = None,
    solver: str = "root",
    interpolation: str = "midpoint",
    unreached: str = "clip",
    conditional_after: float | ArrayLike | None = None,
) -> NDArray[np.float64]:
    r"""Solve the censoring-adaptive estimating equation for weights of any origin.

    For each row of weights :math:`w_i` the answer is a root in q of (paper, eq. final_fop)

    .. math::

        S_n(q; \tau) = (1 - \tau)\, \hat G(q) - \sum_i w_i \, 1\{Y_i > q\}.

    Parameters
    ----------
    weights : array-like or sparse matrix of shape (m, n)
        Non-negative weights of m test points on the n training rows. Rows need not sum to one.
    time : array-like of shape (n,)
        Observed times.
    event : array-like of shape (n,)
        True where the event was seen, False where the time is censored.
    quantiles : float or array-like of shape (q,)
        Levels in (0, 1).
    censoring : {"right", "left"}, default="right"
        Whether a censored time is a lower or an upper bound of T.
    censoring_curve : {"beran", "knn", "marginal"}, default="beran"
        Estimator of G: with the weights themselves (eq. Beran_rf), Kaplan-Meier on the rows of
        largest weight (eq. KM_kNN), or Kaplan-Meier on all rows.
    n_neighbors : int, optional
        Number of rows for ``"knn"``; by default a tenth of n.
    solver : {"root", "argmin"}, default="root"
        The first root, or the paper's literal minimum of :math:`|S_n|`.
    interpolation : {"midpoint", "lower", "linear"}, default="midpoint"
        How the step curve is inverted; see the user guide. Not used by ``"argmin"``.
    unreached : {"clip", "nan", "inf"}, default="clip"
        What stands for a quantile that the censored data do not identify: the largest time
        with weight, NaN, or infinity.
    conditional_after : float or array-like of shape (m,), optional
        Quantiles of T given that T exceeds this time.

    Returns
    -------
    ndarray of shape (m,) or (m, q), float64

    Examples
    --------
    Equal weights invert the Kaplan-Meier curve:

    >>> import numpy as np
    >>> from cqrf import solve_quantiles
    >>> time, event = [1.0, 2.0, 3.0, 4.0], [True, False, True, True]
    >>> solve_quantiles(np.ones((1, 4)), time, event, [0.2, 0.5], interpolation="lower")
    array([[1., 3.]])
    """
    levels, scalar = check_quantiles(quantiles)
    check_solving(solver, interpolation, unreached)
    estimation = _estimation(weights, time, event, censoring, censoring_curve, n_neighbors)
    answers, identified = estimation.quantiles(
        levels, solver=solver, interpolation=interpolation, conditional_after=conditional_after
    )
    answers = mark_unreached(answers, identified, unreached, mirrored=estimation.target.mirrored)
    return answers[:, 0] if scalar else answers


def survival_curves(
    weights: Any,
    time: ArrayLike,
    event: ArrayLike,
    *,
    censoring: str = "right",
    censoring_curve: str = "beran",
    n_neighbors: int | None = None,
) -> NDArray[np.object_]:
    """Survival curves of T for weights of any origin.

    Parameters
    ----------
    weights, time, event, censoring, censoring_curve, n_neighbors
        As in `solve_quantiles`.

    Returns
    -------
    ndarray of shape (m,) of StepFunction
        ``curve(t)`` is the estimate of P(T > t).

    Examples
    --------
    >>> import numpy as np
    >>> from cqrf import survival_curves
    >>> curve = survival_curves(np.ones((1, 3)), [1.0, 2.0, 3.0], [True, False, True])[0]
    >>> curve([0.5, 1.0, 3.0])
    array([1.        , 0.66666667, 0.        ])
    """
    estimation = _estimation(weights, time, event, censoring, censoring_curve, n_neighbors)
    return step_functions(estimation.survival_functions())


def _estimation(
    weights: Any,
    time: ArrayLike,
    event: ArrayLike,
    censoring: str,
    censoring_curve: str,
    n_neighbors: int | None,
) -> Estimation:
    check_same_rows(time=time, event=event)
    times = check_time("time", time)
    events = check_event("event", event, times, name_time="time")
    check_choice("censoring_curve", censoring_curve, _CURVES)
    target = Target.from_outcome(times, events, censoring=censoring)  # type: ignore[arg-type]
    matrix = _check_weights(weights, times.shape[0])
    return Estimation(
        weights=_engine.Weights.of_matrix(
            target.engine,
            matrix.indptr.astype(np.int64),
            matrix.indices.astype(np.int64),
            matrix.data,
        ),
        target=target,
        censoring=_engine.Censoring(
            censoring_curve, check_neighbors(censoring_curve, n_neighbors, target.n)
        ),
    )


def _check_weights(weights: Any, n: int) -> sparse.csr_array:
    """Return the weights as CSR float64, checked: finite, not negative, no empty row."""
    if sparse.issparse(weights):
        check_sparse("weights", weights)
        matrix = sparse.csr_array(weights, dtype=np.float64)
    else:
        dense = np.asarray(weights)
        if dense.dtype.kind not in "biuf":
            raise TypeError(f"weights must be numbers; received dtype {dense.dtype}")
        if dense.ndim != 2:
            raise ValueError(f"weights must have two dimensions; received shape {dense.shape}")
        matrix = sparse.csr_array(dense.astype(np.float64, copy=False))
    if matrix.shape[1] != n:
        raise ValueError(
            f"weights must have one column per training row: it has {matrix.shape[1]} columns, "
            f"time has {n} rows"
        )
    row_of = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    good = np.isfinite(matrix.data) & (matrix.data >= 0.0)
    if not good.all():
        at = int(np.argmin(good))
        raise ValueError(
            f"weights must be finite and not negative; row {row_of[at]}, column "
            f"{matrix.indices[at]} is {matrix.data[at]}"
        )
    positive = np.bincount(row_of[matrix.data > 0.0], minlength=matrix.shape[0])
    if not positive.all():
        raise ValueError(f"weights must not vanish; row {int(np.argmin(positive))} is all zero")
    return matrix
