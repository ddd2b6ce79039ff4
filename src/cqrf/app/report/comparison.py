"""How good predictions are beside simpler ones, for ``cqrf evaluate`` and the page.

Everything is scored on min(T, h), as everywhere in `cqrf.metrics`.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cqrf.app.report.predictions import PredictedRows, ScoringGrid
from cqrf.data.outcome import Target
from cqrf.metrics import (
    QuantileCalibration,
    censored_interval_coverage,
    censored_log_score,
    concordance_index,
    quantile_calibration,
)
from cqrf.metrics.common import enough, mean_by_level, pinball
from cqrf.metrics.curve_errors import (
    Skill,
    integrate,
    integrated_errors,
    kaplan_meier_survival,
    without_itself,
)
from cqrf.metrics.ipcw import Scored
from cqrf.solving.solve import solve_quantiles

Array = NDArray[np.float64]
COVERAGES = (0.5, 0.8, 0.9)
# Restricted means, which are shares of the time up to the horizon, are rounded to so many digits
# before rows are ranked by them: rows with equal curves must tie.
_DIGITS = 9


@dataclass(frozen=True, eq=False)
class GridPrediction:
    """A prediction at the levels and times of a `ScoringGrid`.

    Attributes without an axis for the rows are the same for all of them.

    Attributes
    ----------
    quantiles : ndarray of shape (n, q) or (q,)
    survival : ndarray of shape (n, g) or (g,)
    """

    quantiles: Array
    survival: Array


@dataclass(frozen=True, eq=False)
class Rival:
    """A simpler prediction, and how the forest compares with it.

    Attributes
    ----------
    name : str
    loss : ndarray of shape (q,)
        Its pinball loss at every level.
    saving, std_error : ndarray of shape (q,)
        Share of its loss that the forest saves, with the standard error over rows, the weights and
        its loss taken as known. NaN at levels that hardly a row reaches within the horizon.
    skill : Skill
        The same of the integrated Brier score.
    log_score : float
        Its censored log score.
    concordance : float
    """

    name: str
    loss: Array
    saving: Array
    std_error: Array
    skill: Skill
    log_score: float
    concordance: float


@dataclass(frozen=True, eq=False)
class Coverage:
    """How often an interval holds the true time.

    Attributes
    ----------
    nominal, observed, std_error : float
    width : float
        Median width of the intervals.
    n_used : int
        Rows whose interval ends within the horizon.
    """

    nominal: float
    observed: float
    std_error: float
    width: float
    n_used: int


@dataclass(frozen=True, eq=False)
class Scores:
    """Scores of predictions, up to a horizon.

    Attributes
    ----------
    levels : ndarray of shape (q,)
    n : int
        Rows that were scored.
    horizon : float
        The time h at which times and predictions are cut.
    loss : ndarray of shape (q,)
        Pinball loss of min(T, h).
    brier : float
        Integrated Brier score up to h.
    log_score : float
        Censored log score up to h, which needs no censoring weights.
    concordance : float
        Of the restricted means up to h.
    rivals : list of Rival
        The first one is the Kaplan-Meier curve.
    calibration : QuantileCalibration
    coverage : list of Coverage
    identified : ndarray of shape (q,)
        Share of the rows whose quantile is identified.
    """

    levels: Array
    n: int
    horizon: float
    loss: Array
    brier: float
    log_score: float
    concordance: float
    rivals: list[Rival]
    calibration: QuantileCalibration
    coverage: list[Coverage]
    identified: Array


def predict_kaplan_meier(
    target: Target, grid: ScoringGrid, *, out_of_bag: bool = False
) -> GridPrediction:
    """Predict the Kaplan-Meier curve of all training rows; out-of-bag, without the row itself."""
    rest = without_itself(target) if out_of_bag else None
    if rest is not None:
        quantiles, _ = rest.quantiles(grid.levels, solver="root", interpolation="midpoint")
        survival = rest.curve("survival", grid.times)
        return GridPrediction(target.by_row(quantiles, np.nan), target.by_row(survival, np.nan))
    weight = np.ones(target.n) if target.weight is None else target.weight
    quantiles = solve_quantiles(
        (weight / weight.sum())[None, :],
        target.observed,
        target.event == 1,
        grid.levels,
        censoring=target.censoring,
    )
    return GridPrediction(np.ravel(quantiles), kaplan_meier_survival(target, grid.times))


def score_beside_rivals(
    predictions: PredictedRows, rivals: dict[str, GridPrediction], train: Target
) -> Scores:
    """Score predicted quantiles and curves.

    Parameters
    ----------
    predictions : PredictedRows
        Rows with NaN (no out-of-bag answer) are left out.
    rivals : dict of str to GridPrediction
        Other predictions for the same rows, `predict_kaplan_meier` first.
    train : Target
        The training outcomes, from which the censoring curve is estimated.

    Returns
    -------
    Scores
    """
    grid = predictions.grid
    kept = np.asarray(~np.isnan(predictions.quantiles).any(axis=1))
    scored = Scored(predictions.time[kept], predictions.event[kept], None, train, grid.horizon)
    quantiles, identified = predictions.quantiles[kept], predictions.identified[kept]
    others = {name: _rows(prediction, kept) for name, prediction in rivals.items()}
    # Out-of-bag, the curve of everybody lacks the row's own outcome, so that it is lower for rows
    # with late outcomes. Rows ranked by it would come in the wrong order: what the lack does to
    # that curve is subtracted before rows are ranked.
    own: Array | float = 0.0
    if predictions.out_of_bag:
        everybody = integrate(next(iter(others.values())).survival, grid.times)
        own = everybody - everybody.mean()
    ours = _Judged.of(scored, GridPrediction(quantiles, predictions.survival[kept]), grid, own)
    theirs = {
        name: _Judged.of(scored, prediction, grid, own if at == 0 else 0.0)
        for at, (name, prediction) in enumerate(others.items())
    }
    beyond = -np.inf if scored.mirrored else np.inf
    marked = np.where(identified, quantiles, beyond)
    options = {
        "event": scored.event,
        "censoring": train.censoring,
        "horizon": grid.horizon,
        # Out-of-bag the rows are the training rows: their own censoring curve is used, whose error
        # then counts as dependent on them.
        "train": None if predictions.out_of_bag and kept.all() and train.weight is None else train,
    }
    with warnings.catch_warnings():
        # Undefined scores are NaN; the page shows a dash for them.
        warnings.simplefilter("ignore")
        calibration = quantile_calibration(scored.time, marked, grid.levels, **options)  # type: ignore[arg-type]
        coverage = [
            found
            for nominal in COVERAGES
            if (found := _coverage(scored, marked, grid.levels, nominal)) is not None
        ]
    # A level is not judged if few of its predictions lie within the horizon.
    judged = enough(calibration.n_used, len(scored.time))
    return Scores(
        levels=grid.levels,
        n=len(scored.time),
        horizon=grid.horizon,
        loss=mean_by_level(ours.rho, scored.weight),
        brier=float(ours.errors.mean()),
        log_score=ours.log_score,
        concordance=ours.concordance,
        rivals=[_compare(name, ours, rival, scored, judged) for name, rival in theirs.items()],
        calibration=replace(
            calibration,
            observed=np.where(judged, calibration.observed, np.nan),
            std_error=np.where(judged, calibration.std_error, np.nan),
        ),
        coverage=coverage,
        identified=identified.mean(axis=0),
    )


@dataclass(frozen=True, eq=False)
class _Judged:
    """What a prediction loses in every row.

    Attributes
    ----------
    rho : ndarray of shape (n, q)
        Pinball losses of min(T, h).
    errors : ndarray of shape (n,)
        Integrated squared errors of the curves.
    log_score, concordance : float
    """

    rho: Array
    errors: Array
    log_score: float
    concordance: float

    @classmethod
    def of(
        cls, scored: Scored, prediction: GridPrediction, grid: ScoringGrid, own: Array | float
    ) -> _Judged:
        shape = (len(scored.time), len(grid.times))
        survival = np.broadcast_to(prediction.survival, shape)
        options: dict[str, Any] = {"event": scored.event, "censoring": scored.train.censoring}
        at = grid.log_times
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            log_score = censored_log_score(scored.time, survival[:, at], grid.times[at], **options)
            concordance = concordance_index(
                scored.time,
                np.round(integrate(survival, grid.times) - own, _DIGITS),
                train=scored.train,
                horizon=scored.horizon,
                **options,
            )
        return cls(
            pinball(scored.cut(scored.time), scored.cut(prediction.quantiles), grid.levels),
            integrated_errors(scored, survival, grid.times),
            log_score,
            concordance,
        )


def _rows(prediction: GridPrediction, kept: NDArray[np.bool_]) -> GridPrediction:
    """Keep some rows of a prediction; one that is the same for all rows stays as it is."""
    if prediction.survival.ndim == 1:
        return GridPrediction(np.atleast_2d(prediction.quantiles), prediction.survival)
    return GridPrediction(prediction.quantiles[kept], prediction.survival[kept])


def _compare(
    name: str, ours: _Judged, theirs: _Judged, scored: Scored, judged: NDArray[np.bool_]
) -> Rival:
    weight = scored.weight
    loss = mean_by_level(theirs.rho, weight)
    difference = theirs.rho - ours.rho
    mean = mean_by_level(difference, weight)
    error = np.sqrt((weight**2) @ (difference - mean) ** 2) / weight.sum()
    return Rival(
        name,
        loss,
        np.divide(mean, loss, out=np.full(len(loss), np.nan), where=judged & (loss > 0.0)),
        np.divide(error, loss, out=np.full(len(loss), np.nan), where=judged & (loss > 0.0)),
        Skill.of(ours.errors, theirs.errors, None),
        theirs.log_score,
        theirs.concordance,
    )


def _coverage(scored: Scored, marked: Array, levels: Array, nominal: float) -> Coverage | None:
    """Estimate how often an interval holds T, among rows with both ends within the horizon."""
    tail = (1.0 - nominal) / 2.0
    ends = [int(np.argmin(np.abs(levels - level))) for level in (tail, 1.0 - tail)]
    if not np.allclose(levels[ends], [tail, 1.0 - tail]):
        return None
    both = marked[:, ends]
    within = (both >= scored.horizon) if scored.mirrored else (both <= scored.horizon)
    reached = within.all(axis=1)
    if not enough(reached.sum(), len(scored.time)):
        return Coverage(nominal, np.nan, np.nan, np.nan, int(reached.sum()))
    options: dict[str, Any] = {
        "event": scored.event[reached],
        "train": scored.train,
        "censoring": scored.train.censoring,
        "horizon": scored.horizon,
    }
    lower, upper = both[reached].T
    found = quantile_calibration(scored.time[reached], both[reached], levels[ends], **options)
    return Coverage(
        nominal,
        censored_interval_coverage(scored.time[reached], lower, upper, **options),
        # As if the errors of the two ends were independent. They are positively correlated, so
        # that the true standard error is smaller.
        float(np.hypot(*found.std_error)),
        float(np.median(upper - lower)),
        int(found.n_used.min()),
    )
