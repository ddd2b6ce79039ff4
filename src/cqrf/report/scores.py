"""How good quantiles are beside simpler predictions, for ``cqrf evaluate`` and the page.

Losses are weighted by the inverse probability of censoring, as everywhere in `cqrf.metrics`.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cqrf._ipcw import weighted_times
from cqrf._scoring import mean_by_level, pinball
from cqrf.metrics import QuantileCalibration, concordance_index, quantile_calibration
from cqrf.solve import solve_quantiles
from cqrf.target import Target

Array = NDArray[np.float64]
COVERAGES = (0.5, 0.8, 0.9)


@dataclass(frozen=True, eq=False)
class Rival:
    """A simpler prediction, and how the forest compares with it.

    Attributes
    ----------
    name : str
    loss : ndarray of shape (q,)
        Its pinball loss at every level.
    saving : ndarray of shape (q,)
        Share of its loss that the forest saves.
    std_error : ndarray of shape (q,)
        Standard error of `saving` over rows, the weights and its loss taken as known.
    """

    name: str
    loss: Array
    saving: Array
    std_error: Array


@dataclass(frozen=True, eq=False)
class Coverage:
    """How often an interval holds the true time.

    Attributes
    ----------
    nominal, observed, std_error : float
    width : float
        Median width of the intervals.
    n_used : int
        Rows whose interval ends within the reach of the data.
    """

    nominal: float
    observed: float
    std_error: float
    width: float
    n_used: int


@dataclass(frozen=True, eq=False)
class Scores:
    """Scores of predicted quantiles.

    Attributes
    ----------
    levels : ndarray of shape (q,)
    n : int
        Rows that were scored.
    loss : ndarray of shape (q,)
        Pinball loss, weighted by the inverse probability of censoring.
    rivals : list of Rival
    calibration : QuantileCalibration
    coverage : list of Coverage
    identified : ndarray of shape (q,)
        Share of the rows whose quantile is identified.
    concordance : float
        Of the predicted medians, or of the middle level.
    """

    levels: Array
    n: int
    loss: Array
    rivals: list[Rival]
    calibration: QuantileCalibration
    coverage: list[Coverage]
    identified: Array
    concordance: float


def kaplan_meier_quantiles(target: Target, levels: Array) -> Array:
    """Quantiles of the whole sample, which ignore the features, shape (q,)."""
    weight = np.ones(target.n) if target.weight is None else target.weight
    return np.ravel(
        solve_quantiles(
            (weight / weight.sum())[None, :],
            target.observed,
            target.event == 1,
            levels,
            censoring=target.censoring,
        )
    )


def score(
    time: Array,
    event: NDArray[np.bool_],
    quantiles: Array,
    identified: NDArray[np.bool_],
    levels: Array,
    rivals: dict[str, Array],
    *,
    censoring: str,
    train: Target | None = None,
) -> Scores:
    """Score predicted quantiles.

    Parameters
    ----------
    time, event : ndarray of shape (n,)
        Outcomes.
    quantiles, identified : ndarray of shape (n, q)
        Predictions, finite; and whether they are estimates, not bounds. Rows with NaN (no
        out-of-bag answer) are left out.
    levels : ndarray of shape (q,)
        Ascending.
    rivals : dict of str to ndarray of shape (q,) or (n, q)
        Other predictions.
    censoring : {"right", "left"}
    train : Target, optional
        Outcomes from which the censoring curve is estimated; by default the given ones.

    Returns
    -------
    Scores
    """
    kept = ~np.isnan(quantiles).any(axis=1)
    time, event = time[kept], event[kept]
    quantiles, identified = quantiles[kept], identified[kept]
    cut, weight = weighted_times(time, event, train, None, censoring, "clip")
    rho = pinball(cut, quantiles, levels)
    found = []
    for name, other in rivals.items():
        predicted = np.broadcast_to(other, kept.shape + levels.shape)[kept]
        found.append(_compare(name, rho, pinball(cut, predicted, levels), weight))
    beyond = -np.inf if censoring == "left" else np.inf
    with warnings.catch_warnings():
        # Where nothing can be said there is NaN, and the page says so.
        warnings.simplefilter("ignore")
        arguments: dict[str, object] = {"event": event, "train": train, "censoring": censoring}
        marked = np.where(identified, quantiles, beyond)
        calibration = quantile_calibration(time, marked, levels, **arguments)  # type: ignore[arg-type]
        coverage = [
            c
            for nominal in COVERAGES
            if (c := _coverage(time, marked, levels, nominal, arguments)) is not None
        ]
        middle = int(np.argmin(np.abs(levels - 0.5)))
        concordance = concordance_index(
            time, quantiles[:, middle], event=event, censoring=censoring
        )
    return Scores(
        levels=levels,
        n=len(time),
        loss=mean_by_level(rho, weight),
        rivals=found,
        calibration=calibration,
        coverage=coverage,
        identified=identified.mean(axis=0),
        concordance=concordance,
    )


def _compare(name: str, ours: Array, theirs: Array, weight: Array) -> Rival:
    loss = mean_by_level(theirs, weight)
    difference = theirs - ours
    mean = mean_by_level(difference, weight)
    error = np.sqrt((weight**2) @ (difference - mean) ** 2) / weight.sum()
    with np.errstate(divide="ignore", invalid="ignore"):
        return Rival(name, loss, mean / loss, error / loss)


def _coverage(
    time: Array, marked: Array, levels: Array, nominal: float, arguments: dict[str, object]
) -> Coverage | None:
    """P(T <= upper) - P(T <= lower), over the rows both of whose ends are identified."""
    tail = (1.0 - nominal) / 2.0
    ends = [int(np.argmin(np.abs(levels - level))) for level in (tail, 1.0 - tail)]
    if not np.allclose(levels[ends], [tail, 1.0 - tail]):
        return None
    both = marked[:, ends]
    reached = np.isfinite(both).all(axis=1)
    train = arguments["train"]
    if train is None:
        # The censoring curve is that of all rows, not of those with an answer.
        train = (time, arguments["event"])
    if not reached.any():
        return Coverage(nominal, np.nan, np.nan, np.nan, 0)
    found = quantile_calibration(
        time[reached],
        both[reached],
        levels[ends],
        event=np.asarray(arguments["event"])[reached],
        train=train,
        censoring=str(arguments["censoring"]),
    )
    return Coverage(
        nominal,
        float(found.observed[1] - found.observed[0]),
        # The two ends go up and down together, so that this errs on the safe side.
        float(np.hypot(*found.std_error)),
        float(np.median(both[reached, 1] - both[reached, 0])),
        int(found.n_used.min()),
    )
