"""Scores as scikit-learn's model selection asks for them: ``scorer(estimator, X, y)``."""

from __future__ import annotations

import uuid
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.pipeline import Pipeline
from sklearn.utils.metadata_routing import MetadataRequest

from cqrf.data.outcome import Target
from cqrf.metrics.brier import brier_skill_score, integrated_brier_score
from cqrf.metrics.common import enough
from cqrf.metrics.curve_errors import log_score_times, scoring_times
from cqrf.metrics.horizon import check_horizon
from cqrf.metrics.ipcw import Scored
from cqrf.metrics.likelihood import censored_log_score
from cqrf.metrics.quantiles import (
    censored_interval_coverage,
    censored_pinball_loss,
    d2_censored_pinball_score,
    quantile_calibration,
    unreached_levels,
)
from cqrf.metrics.ranking import concordance_index, concordance_index_ipcw
from cqrf.support.checks import (
    DEFAULT_COVERAGE,
    check_choice,
    check_coverage,
    check_quantiles,
    check_same_rows,
)

# Of scorers that have warned, in this process; they may be copied many times in one search.
_WARNED: set[tuple[str, str]] = set()


@dataclass(frozen=True, eq=False)
class _Fold:
    """A fitted forest and the rows to score it on.

    Attributes
    ----------
    forest : estimator
        What answers: the last step of a pipeline, the best one of a search.
    X : array-like or frame of shape (m, p)
        Test points, as `forest` takes them.
    scored : Scored
        Their outcomes, with the training outcomes and the horizon.
    scorer : QuantileScorer
        How to score.
    told : list of str
        What is to be said of the score, after its name.
    """

    forest: Any
    X: Any
    scored: Scored
    scorer: QuantileScorer
    told: list[str]

    @property
    def time(self) -> NDArray[np.float64]:
        """Observed times, shape (m,)."""
        return self.scored.time

    @property
    def options(self) -> dict[str, Any]:
        """Arguments that all metrics share."""
        return {
            "event": self.scored.event,
            "sample_weight": self.scored.sample_weight,
            "train": self.scored.train,
            "censoring": self.scored.train.censoring,
            "horizon": self.scored.horizon,
        }

    def levels(self, default: ArrayLike) -> NDArray[np.float64]:
        given = self.scorer.quantiles
        return check_quantiles(default if given is None else given)[0]

    def curves(
        self, choose: Callable[[Target, float], NDArray[np.float64]] = scoring_times
    ) -> tuple[NDArray[np.float64], ...]:
        """Predicted survival curves (m, g) and the times (g,) that they are scored at."""
        times = choose(self.scored.train, self.scored.horizon)
        survival = self.forest.predict_survival_function(self.X, times=times)
        # Rounding may leave the interval by the last digit.
        return np.clip(survival, 0.0, 1.0), times


def _pinball(fold: _Fold) -> float:
    return -_quantile_score(censored_pinball_loss, fold)


def _d2(fold: _Fold) -> float:
    return _quantile_score(d2_censored_pinball_score, fold)


def _quantile_score(metric: Callable[..., Any], fold: _Fold) -> float:
    levels = fold.levels(getattr(fold.forest, "default_quantiles", 0.5))
    predicted = fold.forest.predict(fold.X, quantiles=levels)
    told = unreached_levels(fold.scored, np.reshape(predicted, (-1, len(levels))), levels)
    if told is not None:
        fold.told.append(
            f"{told} on some test rows, and all that lie there score alike, those of a forest "
            "without splits too; score lower levels (quantiles=), or whole curves (brier_skill)"
        )
    return float(metric(fold.time, predicted, levels, **fold.options))


def _brier_skill(fold: _Fold) -> float:
    survival, times = fold.curves()
    return brier_skill_score(fold.time, survival, times, **fold.options)


def _integrated_brier(fold: _Fold) -> float:
    survival, times = fold.curves()
    return -integrated_brier_score(fold.time, survival, times, **fold.options)


def _log_score(fold: _Fold) -> float:
    survival, times = fold.curves(log_score_times)
    options = {name: fold.options[name] for name in ("event", "sample_weight", "censoring")}
    return censored_log_score(fold.time, survival, times, **options)


def _restricted_mean(fold: _Fold) -> NDArray[np.float64]:
    """E[min(T, h)] of every row, shape (m,), which does not tie where medians do.

    Under left censoring E[max(T, h)], up to a constant: max(T, h) = T - min(T, h) + h.
    """
    mean = np.asarray(fold.forest.predict_rmst(fold.X, fold.scored.horizon))
    if not fold.scored.mirrored:
        return mean
    last = float(-fold.scored.train.times[0])
    return np.asarray(fold.forest.predict_rmst(fold.X, last) - mean)


def _harrell(fold: _Fold) -> float:
    return concordance_index(fold.time, _restricted_mean(fold), **fold.options)


def _uno(fold: _Fold) -> float:
    return concordance_index_ipcw(fold.time, _restricted_mean(fold), **fold.options)


def _coverage(fold: _Fold) -> float:
    ends = fold.forest.predict_interval(fold.X, fold.scorer.coverage, unreached="inf")
    # An interval of which the data reach one end only promises another coverage.
    within = np.isfinite(ends) & (fold.scored.cut(ends) == ends)
    closed = np.flatnonzero(within.all(axis=1))
    if not enough(closed.size, len(ends)):
        return float("nan")
    fold = replace(fold, scored=fold.scored.take(closed))
    lower, upper = ends[closed].T
    return censored_interval_coverage(fold.time, lower, upper, **fold.options)


def _coverage_error(fold: _Fold) -> float:
    return -abs(_coverage(fold) - fold.scorer.coverage)


def _calibration_error(fold: _Fold) -> float:
    levels = fold.levels(np.arange(1, 10) / 10.0)
    # What the data do not reach is no prediction: it lies beyond the horizon.
    predicted = fold.forest.predict(fold.X, quantiles=levels, unreached="inf")
    found = quantile_calibration(fold.time, predicted, levels, **fold.options)
    # One row within the horizon would count as much as all of them at another level.
    error = np.abs(found.observed - levels)[found.judged]
    return -float(error.mean()) if error.size else float("nan")


_METRICS: dict[str, Callable[[_Fold], float]] = {
    "brier_skill": _brier_skill,
    "neg_integrated_brier_score": _integrated_brier,
    "censored_log_score": _log_score,
    "neg_pinball_loss": _pinball,
    "d2": _d2,
    "concordance": _harrell,
    "concordance_ipcw": _uno,
    "coverage": _coverage,
    "neg_coverage_error": _coverage_error,
    "neg_calibration_error": _calibration_error,
}


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
    horizon : "auto" or float
        Time at which T and the predictions are cut.
    """

    metric: str
    quantiles: tuple[float, ...] | None = None
    coverage: float = DEFAULT_COVERAGE
    horizon: float | str = "auto"
    _requests: tuple[tuple[str, bool | str | None], ...] = field(default=(), repr=False)
    _token: str = field(default_factory=lambda: uuid.uuid4().hex, repr=False, compare=False)

    def __call__(
        self,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        event: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> float:
        """Score a fitted estimator.

        Parameters
        ----------
        estimator : CensoredQuantileForest, or a pipeline or search that ends in one
            Fitted.
        X : array-like or frame of shape (m, p)
            Test points.
        y : structured array, frame or array-like of shape (m,)
            Their outcomes, in any form that `CensoredQuantileForest.fit` takes.
        event : array-like of shape (m,), optional
            True where the event was seen, if `y` holds times.
        sample_weight : array-like of shape (m,), optional
            Non-negative weights.

        Returns
        -------
        float
            NaN, with one warning, where the score is undefined.
        """
        check_same_rows(X=X, y=y, event=event, sample_weight=sample_weight)
        forest, X = _innermost(estimator, X)
        scored = Scored.read(
            y,
            event,
            getattr(forest, "target_", None),
            sample_weight,
            getattr(forest, "censoring", "right"),
            self.horizon,
        )
        if scored is None:
            return self._undefined()
        told: list[str] = []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UndefinedMetricWarning)
            score = _METRICS[self.metric](_Fold(forest, X, scored, self, told))
        for text in told:
            self._warn_once(text)
        return self._undefined() if np.isnan(score) else float(score)

    def set_score_request(
        self, *, event: bool | str | None = None, sample_weight: bool | str | None = None
    ) -> QuantileScorer:
        """Ask for metadata beside X and y, where scikit-learn's metadata routing is enabled.

        Parameters
        ----------
        event, sample_weight : bool, str or None, default=None
            True asks for it, False does without, a text asks for it under that name; None raises
            an error if it is passed.

        Returns
        -------
        QuantileScorer
            A scorer that asks; this one stays as it is.
        """
        return replace(self, _requests=(("event", event), ("sample_weight", sample_weight)))

    def get_metadata_routing(self) -> MetadataRequest:
        """Tell scikit-learn which metadata this scorer asks for.

        Returns
        -------
        MetadataRequest
        """
        request = MetadataRequest(owner=self)
        for name, alias in self._requests or (("event", None), ("sample_weight", None)):
            request.score.add_request(param=name, alias=alias)
        return request

    def _undefined(self) -> float:
        self._warn_once(
            "is undefined on some test rows, such as those without an event up to the horizon, or "
            "with hardly a prediction that ends within it; it is NaN there"
        )
        return float("nan")

    def _warn_once(self, text: str) -> None:
        # Copies of a scorer in one search warn once of each kind, whatever the numbers are.
        key = (self._token, text.split()[0])
        if key not in _WARNED:
            _WARNED.add(key)
            warnings.warn(f"{self.metric} {text}", UndefinedMetricWarning, stacklevel=4)


def make_quantile_scorer(
    metric: str = "brier_skill",
    *,
    quantiles: float | ArrayLike | None = None,
    coverage: float = DEFAULT_COVERAGE,
    horizon: float | str = "auto",
) -> QuantileScorer:
    r"""Make a score for `cross_val_score` and `GridSearchCV` on censored times.

    Its censoring curve and its horizon are those of the data that the estimator was fitted to
    (``target_``). A scorer never raises because of what a fold holds: it warns once, and answers
    NaN if there is nothing to compare.

    Parameters
    ----------
    metric : str, default="brier_skill"
        "brier_skill": `brier_skill_score`, which is also ``forest.score``.
        "neg_integrated_brier_score": `integrated_brier_score` up to the horizon.
        "censored_log_score": `censored_log_score` between the quartiles of the events up to the
        horizon.
        "d2" or "neg_pinball_loss": `d2_censored_pinball_score`, `censored_pinball_loss`.
        "concordance" or "concordance_ipcw": Harrell's `concordance_index`, Uno's
        `concordance_index_ipcw`, of the restricted means up to the horizon.
        "coverage": `censored_interval_coverage` of ``predict_interval``, for reports; NaN where
        fewer than ten intervals, or 5% of them, end within the horizon;
        "neg_coverage_error": less its distance to the nominal coverage.
        "neg_calibration_error": less the mean over levels of the distance between the observed
        level (`quantile_calibration`) and the nominal one; levels that fewer than ten rows, or 5%,
        reach within the horizon are left out.
        Those that begin with "neg" are losses with their sign changed: larger is better.
    quantiles : float or array-like of shape (q,), optional
        Levels. By default those of the estimator (``default_quantiles``) for the pinball loss and
        D2, 0.1 to 0.9 for calibration.
    coverage : float, default=0.95
        Nominal coverage.
    horizon : "auto" or float, default="auto"
        Time at which T and the predictions are cut, as in `censored_pinball_loss`.

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
    >>> scorer = make_quantile_scorer()
    >>> cross_val_score(forest, data.X, y, scoring=scorer, cv=4).shape
    (4,)
    """
    check_choice("metric", metric, tuple(_METRICS))
    levels = None
    if quantiles is not None:
        levels = tuple(check_quantiles(quantiles)[0].tolist())
    check_horizon(horizon)
    return QuantileScorer(metric, levels, check_coverage(coverage), horizon)


#: One scorer of every metric, by name: ``GridSearchCV(..., scoring=SCORERS, refit="brier_skill")``.
SCORERS = {name: QuantileScorer(name, _token=name) for name in _METRICS}


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
