"""Scores as scikit-learn's model selection asks for them: ``scorer(estimator, X, y)``."""

from __future__ import annotations

import uuid
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.pipeline import Pipeline

from cqrf._checks import check_choice, check_coverage, check_quantiles
from cqrf._ipcw import cut_at, read_training
from cqrf.metrics._curves import integrated_brier_score
from cqrf.metrics._quantiles import (
    censored_interval_coverage,
    censored_pinball_loss,
    d2_censored_pinball_score,
    quantile_calibration,
)
from cqrf.metrics._ranking import concordance_index, concordance_index_ipcw
from cqrf.target import Target, marginal_curves, parse_outcome

# Times at which the integrated Brier score is evaluated.
_N_TIMES = 100
# Of scorers that have warned, in this process; they may be copied many times in one search.
_WARNED: set[str] = set()


@dataclass(frozen=True, eq=False)
class _Fold:
    """A fitted forest and the rows to score it on.

    Attributes
    ----------
    forest : estimator
        What answers: the last step of a pipeline, the best one of a search.
    X : array-like or frame of shape (m, p)
        Test points, as `forest` takes them.
    outcome : tuple of ndarray of shape (m,)
        Their times and events.
    train : Target
        Training outcomes, or the test rows' own where the estimator does not keep them.
    scorer : QuantileScorer
        How to score.
    """

    forest: Any
    X: Any
    outcome: tuple[NDArray[np.float64], NDArray[np.bool_]]
    train: Target
    scorer: QuantileScorer

    @property
    def censoring(self) -> str:
        return self.train.censoring

    @property
    def options(self) -> dict[str, Any]:
        """Arguments that all metrics share."""
        return {"event": self.outcome[1], "train": self.train, "censoring": self.censoring}

    def levels(self, default: ArrayLike) -> NDArray[np.float64]:
        given = self.scorer.quantiles
        return check_quantiles(default if given is None else given)[0]

    def last_time(self) -> float:
        """Last time of the training data with G > 0; the first one, for left censoring."""
        within = self.train.times[marginal_curves(self.train)[1] > 0.0]
        last = float(within[-1]) if within.size else float(self.train.times[0])
        return -last if self.train.mirrored else last


def _pinball(fold: _Fold) -> float:
    levels = fold.levels(getattr(fold.forest, "default_quantiles", 0.5))
    return -_quantile_score(censored_pinball_loss, fold, levels)


def _d2(fold: _Fold) -> float:
    levels = fold.levels(getattr(fold.forest, "default_quantiles", 0.5))
    return _quantile_score(d2_censored_pinball_score, fold, levels)


def _quantile_score(metric: Callable[..., Any], fold: _Fold, levels: NDArray[np.float64]) -> float:
    predicted = fold.forest.predict(fold.X, quantiles=levels)
    return float(
        metric(
            fold.outcome[0],
            predicted,
            levels,
            **fold.options,
            horizon=fold.scorer.horizon,
            beyond="clip",
        )
    )


def _integrated_brier(fold: _Fold) -> float:
    events = fold.train.observed[fold.train.event == 1]
    events = cut_at(events, fold.last_time(), fold.censoring)
    events = cut_at(events, fold.scorer.horizon, fold.censoring)
    times = np.unique(np.quantile(events, np.linspace(0.0, 1.0, _N_TIMES), method="nearest"))
    if len(times) < 2:
        return float("nan")
    survival = fold.forest.predict_survival_function(fold.X, times=times)
    # Rounding may leave the interval by the last digit.
    survival = np.clip(survival, 0.0, 1.0)
    return -integrated_brier_score(fold.outcome[0], survival, times, **fold.options)


def _central(fold: _Fold) -> NDArray[np.float64]:
    """One predicted time per row, shape (m,): the first of the levels, or the median."""
    return np.asarray(fold.forest.predict(fold.X, quantiles=float(fold.levels(0.5)[0])))


def _harrell(fold: _Fold) -> float:
    return concordance_index(
        fold.outcome[0], _central(fold), event=fold.outcome[1], censoring=fold.censoring
    )


def _uno(fold: _Fold) -> float:
    return concordance_index_ipcw(
        fold.outcome[0],
        _central(fold),
        **fold.options,
        horizon=fold.scorer.horizon,
        beyond="clip",
    )


def _coverage(fold: _Fold) -> float:
    lower, upper = fold.forest.predict_interval(fold.X, fold.scorer.coverage).T
    return censored_interval_coverage(fold.outcome[0], lower, upper, **fold.options, beyond="clip")


def _coverage_error(fold: _Fold) -> float:
    return -abs(_coverage(fold) - fold.scorer.coverage)


def _calibration_error(fold: _Fold) -> float:
    levels = fold.levels(np.arange(1, 10) / 10.0)
    predicted = fold.forest.predict(fold.X, quantiles=levels)
    found = quantile_calibration(fold.outcome[0], predicted, levels, **fold.options)
    error = np.abs(found.observed - levels)[~np.isnan(found.observed)]
    return -float(error.mean()) if error.size else float("nan")


_METRICS: dict[str, Callable[[_Fold], float]] = {
    "neg_pinball_loss": _pinball,
    "d2": _d2,
    "neg_integrated_brier_score": _integrated_brier,
    "concordance": _harrell,
    "concordance_ipcw": _uno,
    "coverage": _coverage,
    "neg_coverage_error": _coverage_error,
    "neg_calibration_error": _calibration_error,
}
# Those whose weights are clipped beyond reach.
_WEIGHTED = {"neg_pinball_loss", "d2", "concordance_ipcw", "coverage", "neg_coverage_error"}


@dataclass(frozen=True)
class QuantileScorer:
    """A score of a fitted forest, ``scorer(estimator, X, y)``; made by `make_quantile_scorer`.

    Attributes
    ----------
    metric : str
        Name of the score; larger is better, but for "coverage".
    quantiles : tuple of float or None
        Levels that are scored.
    coverage : float
        Nominal coverage of the intervals that are scored.
    horizon : float or None
        Time at which T and the predictions are cut.
    """

    metric: str
    quantiles: tuple[float, ...] | None = None
    coverage: float = 0.9
    horizon: float | None = None
    _token: str = field(default_factory=lambda: uuid.uuid4().hex, repr=False, compare=False)

    def __call__(self, estimator: Any, X: Any, y: Any) -> float:
        """Score a fitted estimator.

        Parameters
        ----------
        estimator : CensoredQuantileForest, or a pipeline or search that ends in one
            Fitted.
        X : array-like or frame of shape (m, p)
            Test points.
        y : structured array, frame or array-like of shape (m,)
            Their outcomes, in any form that `CensoredQuantileForest.fit` takes.

        Returns
        -------
        float
            NaN, with one warning, where the score is undefined: no uncensored test row.
        """
        forest, X = _innermost(estimator, X)
        time, event = parse_outcome(y)
        train = getattr(forest, "target_", None)
        if train is None:
            if not event.any():
                return self._undefined()
            train = read_training(None, time, event, None, getattr(forest, "censoring", "right"))
        fold = _Fold(forest, X, (time, event), train, self)
        limit = fold.last_time()
        beyond = time < limit if train.mirrored else time > limit
        if self.metric in _WEIGHTED and beyond[event].any():
            self._warn_once(
                "some test times lie beyond the reach of the training data, where no censoring "
                "curve is known; their weights are those at its end",
                UserWarning,
            )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UndefinedMetricWarning)
            score = _METRICS[self.metric](fold)
        return self._undefined() if np.isnan(score) else float(score)

    def _undefined(self) -> float:
        self._warn_once(
            f"{self.metric} is undefined on some test rows, such as those without any event; it "
            "is NaN there",
            UndefinedMetricWarning,
        )
        return float("nan")

    def _warn_once(self, message: str, category: type[Warning]) -> None:
        key = f"{self._token}: {message}"
        if key not in _WARNED:
            _WARNED.add(key)
            warnings.warn(message, category, stacklevel=4)


def make_quantile_scorer(
    metric: str = "d2",
    *,
    quantiles: float | ArrayLike | None = None,
    coverage: float = 0.9,
    horizon: float | None = None,
) -> QuantileScorer:
    r"""Make a score for `cross_val_score` and `GridSearchCV` on censored times.

    Its censoring curve is that of the data that the estimator was fitted to (``target_``), so that
    all folds are scored alike; test times beyond its reach count as if they were at its end. A
    scorer never raises because of what a fold holds: it warns once, and answers NaN if there is
    nothing to compare.

    Parameters
    ----------
    metric : str, default="d2"
        "d2" or "neg_pinball_loss": `d2_censored_pinball_score`, `censored_pinball_loss`.
        "neg_integrated_brier_score": `integrated_brier_score` over the training event times.
        "concordance" or "concordance_ipcw": Harrell's `concordance_index`, Uno's
        `concordance_index_ipcw`.
        "coverage": `censored_interval_coverage` of ``predict_interval``, for reports;
        "neg_coverage_error": less its distance to the nominal coverage.
        "neg_calibration_error": less the mean over levels of the distance between the observed
        level (`quantile_calibration`) and the nominal one.
        Those that begin with "neg" are losses with their sign changed: larger is better.
    quantiles : float or array-like of shape (q,), optional
        Levels. By default those of the estimator (``default_quantiles``) for the pinball loss and
        D2, 0.1 to 0.9 for calibration; concordance looks at the first one, by default the median.
    coverage : float, default=0.9
        Nominal coverage.
    horizon : float, optional
        Time at which T and the predictions are cut, as in `censored_pinball_loss`; the last time
        of the integrated Brier score; for "concordance_ipcw" as there.

    Returns
    -------
    QuantileScorer

    Examples
    --------
    >>> from sklearn.model_selection import cross_val_score
    >>> from cqrf import CensoredQuantileForest, Surv
    >>> from cqrf.datasets import make_aft
    >>> from cqrf.metrics import make_quantile_scorer
    >>> data = make_aft(200, random_state=0)
    >>> y = Surv.from_arrays(data.event, data.time)
    >>> forest = CensoredQuantileForest(n_estimators=20, random_state=0)
    >>> scorer = make_quantile_scorer("d2", quantiles=[0.25, 0.5, 0.75])
    >>> cross_val_score(forest, data.X, y, scoring=scorer, cv=4).shape
    (4,)
    """
    check_choice("metric", metric, tuple(_METRICS))
    levels = None
    if quantiles is not None:
        levels = tuple(check_quantiles(quantiles)[0].tolist())
    cut_at(np.zeros(1), horizon, "right")
    return QuantileScorer(metric, levels, check_coverage(coverage), horizon)


#: One scorer of every metric, by name: ``GridSearchCV(..., scoring=SCORERS, refit="d2")``.
SCORERS = {name: QuantileScorer(name, _token="named") for name in _METRICS}


def _innermost(estimator: Any, X: Any) -> tuple[Any, Any]:
    """Return the forest inside pipelines and searches, and X as it would receive it."""
    while True:
        if hasattr(estimator, "best_estimator_"):
            estimator = estimator.best_estimator_
        elif isinstance(estimator, Pipeline):
            if len(estimator) > 1:
                X = estimator[:-1].transform(X)
            estimator = estimator[-1]
        else:
            return estimator, X
