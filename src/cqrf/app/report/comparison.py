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
    concordance_index,
    quantile_calibration,
)
from cqrf.metrics.common import enough, mean_by_level, pinball
from cqrf.metrics.curve_errors import (
    Skill,
    integrate,
    integrated_errors,
    kaplan_meier_survival,
)
from cqrf.metrics.ipcw import Scored
from cqrf.metrics.left_out import reference_curves, reference_quantiles
from cqrf.metrics.likelihood import log_scores
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
    log_gain, log_std_error : float
        By how much that of the forest is larger, with the standard error over rows.
    concordance : float
    """

    name: str
    loss: Array
    saving: Array
    std_error: Array
    skill: Skill
    log_score: float
    log_gain: float
    log_std_error: float
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
    strictly_below : ndarray of shape (q,)
        Estimates of P(T < predicted quantile), which is less than `calibration` tells if T ties.
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
    strictly_below: Array
    coverage: list[Coverage]
    identified: Array


def predict_kaplan_meier(
    target: Target, grid: ScoringGrid, *, out_of_bag: bool = False
) -> GridPrediction:
    """Predict the Kaplan-Meier curve of all training rows; out-of-bag, without the row itself."""
    if out_of_bag:
        return GridPrediction(
            target.by_row(reference_quantiles(target, grid.levels), np.nan),
            target.by_row(reference_curves(target, grid.times), np.nan),
        )
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

    Out-of-bag rows count as much as in training: with their weights.

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
    weight = None
    if predictions.out_of_bag and train.weight is not None:
        weight = train.by_row(train.weight, 0.0)[kept]
    scored = Scored(predictions.time[kept], predictions.event[kept], weight, train, grid.horizon)
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
        "sample_weight": weight,
        # Out-of-bag the rows are the training rows: their own censoring curve is used, whose error
        # then counts as dependent on them.
        "train": None if predictions.out_of_bag and kept.sum() == train.n else train,
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
    judged = calibration.judged
    return Scores(
        levels=grid.levels,
        n=len(scored.time),
        horizon=grid.horizon,
        loss=_shares(scored) @ ours.rho,
        brier=float(mean_by_level(ours.errors, weight)),
        log_score=float(mean_by_level(ours.logs, weight)),
        concordance=ours.concordance,
        rivals=[_compare(name, ours, rival, scored, judged) for name, rival in theirs.items()],
        calibration=replace(
            calibration,
            observed=np.where(judged, calibration.observed, np.nan),
            std_error=np.where(judged, calibration.std_error, np.nan),
        ),
        strictly_below=np.where(judged, _share_below(scored, marked), np.nan),
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
    logs : ndarray of shape (n,)
        Logarithms of the likelihood.
    concordance : float
    """

    rho: Array
    errors: Array
    logs: Array
    concordance: float

    @classmethod
    def of(
        cls, scored: Scored, prediction: GridPrediction, grid: ScoringGrid, own: Array | float
    ) -> _Judged:
        shape = (len(scored.time), len(grid.times))
        survival = np.broadcast_to(prediction.survival, shape)
        at = grid.log_times
        logs = log_scores(
            scored.time,
            scored.event,
            survival[:, at],
            grid.times[at],
            mirrored=scored.mirrored,
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            concordance = concordance_index(
                scored.time,
                np.round(integrate(survival, grid.times) - own, _DIGITS),
                event=scored.event,
                train=scored.train,
                sample_weight=scored.sample_weight,
                censoring=scored.train.censoring,
                horizon=scored.horizon,
            )
        # Of rows that were all censored before the horizon most of the integral is unknown.
        known = 1.0 if scored.weight.any() else np.nan
        return cls(
            pinball(scored.cut(scored.time), scored.cut(prediction.quantiles), grid.levels),
            known * integrated_errors(scored, survival, grid.times),
            logs,
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
    part = _shares(scored)
    loss, mean = part @ theirs.rho, part @ (theirs.rho - ours.rho)
    # Of a ratio of two means over the same rows, as in `Skill.of`.
    left = 1.0 - np.divide(mean, loss, out=np.zeros_like(loss), where=loss > 0.0)
    error = np.sqrt(part**2 @ (left * theirs.rho - ours.rho) ** 2)
    plain = scored.weighted(np.ones(len(part)))
    gain = ours.logs - theirs.logs
    log_gain = float(mean_by_level(gain, plain))
    return Rival(
        name,
        loss,
        np.divide(mean, loss, out=np.full(len(loss), np.nan), where=judged & (loss > 0.0)),
        np.divide(error, loss, out=np.full(len(loss), np.nan), where=judged & (loss > 0.0)),
        Skill.of(ours.errors, theirs.errors, scored.sample_weight),
        float(mean_by_level(theirs.logs, plain)),
        log_gain,
        float(np.sqrt(plain**2 @ (gain - log_gain) ** 2) / plain.sum()),
        theirs.concordance,
    )


def _shares(scored: Scored) -> Array:
    """Shares of the rows in a mean of min(T, h), shape (n,); NaN if no row is known at h."""
    weight = scored.weight
    return weight / weight.sum() if weight.any() else np.full(len(weight), np.nan)


def _share_below(scored: Scored, marked: Array) -> Array:
    """P(T < q) for predicted quantiles q of shape (n, q), weighted as P(T <= q) is."""
    shares = np.full(marked.shape[1], np.nan)
    for j, q in enumerate(marked.T):
        known = scored.known_by(q, including=False)
        weight = scored.weighted(known.weight)
        if weight.any():
            shares[j] = weight @ known.come / weight.sum()
    return shares


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
    part = scored.take(reached)
    options: dict[str, Any] = {
        "event": part.event,
        "sample_weight": part.sample_weight,
        "train": scored.train,
        "censoring": scored.train.censoring,
        "horizon": scored.horizon,
    }
    lower, upper = both[reached].T
    found = quantile_calibration(part.time, both[reached], levels[ends], **options)
    return Coverage(
        nominal,
        censored_interval_coverage(part.time, lower, upper, **options),
        # As if the errors of the two ends were independent. They are positively correlated, so
        # that the true standard error is smaller.
        float(np.hypot(*found.std_error)),
        float(np.median(upper - lower)),
        int(found.n_used.min()),
    )
