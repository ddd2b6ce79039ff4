"""What a fitted forest answers: the second line of the data flow, as methods."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, Literal, overload

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.utils.validation import check_is_fitted, validate_data

from cqrf import _engine
from cqrf.data.binning import Binner
from cqrf.data.features import FeatureEncoder
from cqrf.data.frames import is_plain, open_table
from cqrf.data.labels import OutcomeLabels
from cqrf.data.outcome import Target
from cqrf.growing.grow import GrowOptions
from cqrf.growing.leaf_size import LeafSizePath
from cqrf.growing.trees import Trees
from cqrf.metrics.curve_errors import (
    Skill,
    integrated_errors,
    kaplan_meier_survival,
    reference_curves,
    scoring_times,
)
from cqrf.metrics.horizon import read_horizon, representative_times
from cqrf.metrics.ipcw import Scored
from cqrf.model.little_bags import LittleBags
from cqrf.solving.curves import step_functions
from cqrf.solving.estimation import (
    CENSORING_CURVES,
    Estimation,
    Which,
    check_condition,
    check_solving,
    levels_of_time,
    mark_unreached,
)
from cqrf.solving.kernel import KernelSpace
from cqrf.solving.solve import check_neighbors
from cqrf.support.blocks import in_row_blocks
from cqrf.support.checks import check_choice, check_int, check_quantiles, check_same_rows

# No machine has more threads, and no model file may ask for them.
_MAX_JOBS = 1024


class FittedForest(RegressorMixin, BaseEstimator):
    """Answers of a forest from the state that `CensoredQuantileForest.fit` has made.

    Parameters that say how to answer, not how to grow, are read when a question is asked.

    Test points that are a NumPy matrix of float64 or float32 take a fast path, if the forest was
    not fitted on a frame with names: everything is checked as for other data, but not by
    scikit-learn, whose validation takes longer than the answer for one row.
    """

    censoring_curve: str
    n_neighbors: int | None
    solver: str
    interpolation: str
    default_quantiles: float | ArrayLike
    time_resolution: int | str | None
    n_jobs: int | None

    min_samples_split_: int | None
    leaf_size_path_: LeafSizePath | None
    times_: NDArray[np.float64]
    horizon_: float
    trees_: Trees
    target_: Target
    outcome_labels_: OutcomeLabels
    _encoder: FeatureEncoder
    _binner: Binner
    _bins: NDArray[np.uint8]
    _options: GrowOptions
    _kernel: KernelSpace | None

    @overload
    def predict(
        self,
        X: Any,
        quantiles: float | ArrayLike | None = None,
        *,
        conditional_after: float | ArrayLike | None = None,
        interpolation: str | None = None,
        unreached: str = "clip",
        return_std: Literal[False] = False,
    ) -> NDArray[np.float64]: ...

    @overload
    def predict(
        self,
        X: Any,
        quantiles: float | ArrayLike | None = None,
        *,
        conditional_after: float | ArrayLike | None = None,
        interpolation: str | None = None,
        unreached: str = "clip",
        return_std: bool,
    ) -> Any: ...

    def predict(
        self,
        X: Any,
        quantiles: float | ArrayLike | None = None,
        *,
        conditional_after: float | ArrayLike | None = None,
        interpolation: str | None = None,
        unreached: str = "clip",
        return_std: bool = False,
    ) -> Any:
        """Predict quantiles of T.

        Parameters
        ----------
        X : array-like, frame or sparse matrix of shape (m, p)
            Test points.
        quantiles : float or array-like of shape (q,), optional
            Levels in (0, 1); `default_quantiles` if not given.
        conditional_after : float or array-like of shape (m,), optional
            Predict quantiles of T given that T exceeds this time: the time until which a unit
            has survived already.
        interpolation : {"midpoint", "lower", "linear"}, optional
            Overrides the parameter for this call.
        unreached : {"clip", "nan", "inf"}, default="clip"
            What stands for a quantile that the censored data do not identify: the largest time
            with weight (the smallest under left censoring), NaN, or infinity.
        return_std : bool, default=False
            Return standard errors as well; needs a forest with `ci_group_size` of at least 2,
            and no `conditional_after`.

        Returns
        -------
        answers : ndarray of shape (m,) for one level, (m, q) for several, float64
        std : ndarray of the same shape, float64
            If `return_std`. NaN where the data leave the quantile open.
        """
        levels, scalar = self._levels(quantiles)
        if check_choice("return_std", return_std, (True, False)) and conditional_after is not None:
            raise ValueError("return_std does not go with conditional_after")
        features = self._encode(X)
        if return_std:
            estimation = self._estimation_of(features)
            std = self._little_bags(estimation).quantile_std(levels)
            answers = self._solve(estimation, levels, None, interpolation, unreached)
            return (answers[:, 0], std[:, 0]) if scalar else (answers, std)
        after = check_condition(conditional_after, features.shape[0])
        answers = self._by_blocks(
            features,
            len(levels),
            lambda estimation, rows: self._solve(
                estimation, levels, of_rows(after, rows), interpolation, unreached
            ),
        )
        return answers[:, 0] if scalar else answers

    def identified(
        self,
        X: Any,
        quantiles: float | ArrayLike | None = None,
        *,
        conditional_after: float | ArrayLike | None = None,
    ) -> NDArray[np.bool_]:
        """Tell which quantiles the censored data identify.

        Parameters
        ----------
        X : array-like, frame or sparse matrix of shape (m, p)
            Test points.
        quantiles : float or array-like of shape (q,), optional
            Levels; `default_quantiles` if not given.
        conditional_after : float or array-like of shape (m,), optional
            Tell it of the quantiles of T given that T exceeds this time, as in `predict`.

        Returns
        -------
        ndarray of shape (m,) for one level, (m, q) for several, bool
            False where the survival curve never falls to ``1 - quantile`` (of its value at
            `conditional_after`, if that is given): what `predict` returns there is a bound, not an
            estimate.
        """
        levels, scalar = self._levels(quantiles)
        features = self._encode(X)
        after = check_condition(conditional_after, features.shape[0])
        identified = self._by_blocks(
            features,
            len(levels),
            lambda estimation, rows: estimation.quantiles(
                levels,
                solver=self.solver,
                interpolation=self.interpolation,
                conditional_after=of_rows(after, rows),
            )[1],
        )
        return identified[:, 0] if scalar else identified

    def predict_survival_function(
        self,
        X: Any,
        times: ArrayLike | None = None,
        return_array: bool = False,
        *,
        return_std: bool = False,
    ) -> Any:
        """Predict the survival function S(t) = P(T > t).

        Parameters
        ----------
        X : array-like, frame or sparse matrix of shape (m, p)
            Test points.
        times : array-like of shape (g,), optional
            Times at which to evaluate it. Beyond the last time of a censored training record (under
            left censoring before the first one) nothing is known: the curve is carried on
            unchanged, with a warning.
        return_array : bool, default=False
            Return values at `times` (at `times_` if none are given) instead of functions.
            Values are also returned whenever `times` is given.
        return_std : bool, default=False
            Return values and their standard errors; needs a forest with `ci_group_size` of at
            least 2.

        Returns
        -------
        survival : ndarray of shape (m,) of StepFunction, or ndarray of shape (m, g), float64
        std : ndarray of shape (m, g), float64
            If `return_std`.

        Notes
        -----
        With many training rows and large leaves, asking for the same `times` again is several
        times faster: what leaves hold between them is kept, for the last `times` only.
        """
        if check_choice("return_std", return_std, (True, False)):
            grid = self._grid(times)
            estimation = self._estimation(X)
            bags = self._little_bags(estimation)
            return estimation.curve("survival", grid), bags.survival_std(grid)
        if times is None and not return_array:
            return step_functions(self._estimation(X).survival_functions())
        return self._curve(X, "survival", self._grid(times))

    def predict_censoring_function(
        self, X: Any, times: ArrayLike | None = None, return_array: bool = False
    ) -> NDArray[Any]:
        """Predict the survival function G(t) = P(C > t) of the censoring time.

        Parameters
        ----------
        X, times, return_array
            As in `predict_survival_function`.

        Returns
        -------
        ndarray of shape (m,) of StepFunction, or ndarray of shape (m, g), float64
        """
        if times is None and not return_array:
            return step_functions(self._estimation(X).censoring_functions())
        return self._curve(X, "censoring", self._grid(times))

    def predict_cumulative_hazard_function(
        self, X: Any, times: ArrayLike | None = None, return_array: bool = False
    ) -> NDArray[Any]:
        """Predict the cumulative hazard, the sum of d_k / R_k over the event times up to t.

        Parameters
        ----------
        X, times, return_array
            As in `predict_survival_function`.

        Returns
        -------
        ndarray of shape (m,) of StepFunction, or ndarray of shape (m, g), float64
        """
        if times is None and not return_array:
            survival = self._estimation(X).survival_functions()
            return step_functions([function.cumulative_hazard() for function in survival])
        return self._curve(X, "cumulative_hazard", self._grid(times))

    def predict_rmst(self, X: Any, horizon: float) -> NDArray[np.float64]:
        r"""Predict the restricted mean E[min(T, horizon)].

        It is :math:`t_1 + \int_{t_1}^h S(t)\,dt`, the area under the curve of
        `predict_survival_function` from the smallest training time :math:`t_1` on, or the horizon
        where that is smaller. Without left censoring S is one before :math:`t_1`, so that for
        positive times it is the area :math:`\int_0^h S(t)\,dt`.

        Where S is not known up to the horizon, its last value is carried on; with a warning, if the
        horizon lies beyond the last time of a censored training record. Under left censoring its
        first value is carried on down to :math:`t_1`, and the probability that is left below counts
        as :math:`t_1`: the mean is not smaller than that of T.

        Parameters
        ----------
        X : array-like, frame or sparse matrix of shape (m, p)
            Test points.
        horizon : float
            Time at which T is cut.

        Returns
        -------
        ndarray of shape (m,), float64
        """
        limit = _check_times("horizon", horizon)
        if limit.shape != (1,):
            raise ValueError(f"horizon must be one number; received {horizon!r}")
        check_is_fitted(self)
        warn_beyond_record(self.target_, "horizon", limit, stacklevel=3)
        return self._by_blocks(
            self._encode(X), 1, lambda estimation, _: estimation.restricted_mean(float(limit[0]))
        )

    def estimating_function(
        self, X: Any, q: float | ArrayLike, quantile: float
    ) -> NDArray[np.float64]:
        """Evaluate S_n(q; tau) = (1 - tau) G(q) - P(q), whose root is the quantile.

        Parameters
        ----------
        X : array-like, frame or sparse matrix of shape (m, p)
            Test points.
        q : float or array-like of shape (g,)
            Candidate times.
        quantile : float
            Level tau.

        Returns
        -------
        ndarray of shape (m, g), float64
            Under left censoring, that of the negated times at level ``1 - tau``.
        """
        levels, scalar = check_quantiles(quantile)
        if not scalar:
            raise ValueError(f"quantile must be one number; received {quantile!r}")
        features, candidates = self._encode(X), _check_times("q", q)
        return self._by_blocks(
            features,
            len(candidates),
            lambda estimation, _: estimation.estimating_function(candidates, float(levels[0])),
        )

    def forest_weights(self, X: Any) -> sparse.csr_array:
        """Compute the weights of the training rows for every test point (paper, eq. rf_weight).

        Parameters
        ----------
        X : array-like, frame or sparse matrix of shape (m, p)
            Test points.

        Returns
        -------
        scipy.sparse.csr_array of shape (m, n), float64
            Columns are the training rows in the order of `fit`; rows sum to one.
        """
        estimation = self._estimation(X)
        indptr, indices, values = estimation.weights.matrix(
            estimation.n_threads, estimation.block_size
        )
        weights = sparse.csr_array(
            (values, indices, indptr), shape=(estimation.weights.rows, self.target_.n_rows)
        )
        weights.sort_indices()
        return weights

    def apply(self, X: Any) -> NDArray[np.int32]:
        """Find the leaf of every test point in every tree.

        Parameters
        ----------
        X : array-like, frame or sparse matrix of shape (m, p)
            Test points.

        Returns
        -------
        ndarray of shape (m, n_estimators), int32
            Numbers of leaves, from 0 within each tree.
        """
        features, n_threads = self._encode(X), self._n_threads()

        def leaves(rows: slice) -> NDArray[np.int32]:
            bins = self._binner.bin(features, _positions(features, rows), n_threads)
            return self.trees_.engine.apply(bins, n_threads)

        n_rows, n_features = features.shape
        return in_row_blocks(n_rows, max(n_features, len(self.trees_)), leaves)

    def oob_predict(
        self,
        quantiles: float | ArrayLike | None = None,
        *,
        interpolation: str | None = None,
        unreached: str = "clip",
    ) -> NDArray[np.float64]:
        """Predict quantiles of the training rows from the trees that did not draw them.

        A row is also left out of the leaves that answer for it.

        Parameters
        ----------
        quantiles, interpolation, unreached
            As in `predict`.

        Returns
        -------
        ndarray of shape (n,) for one level, (n, q) for several, float64
            NaN, with a warning, for rows that every tree has drawn.
        """
        check_is_fitted(self)
        levels, scalar = self._levels(quantiles)
        ranked = self._solve(self._oob_estimation(), levels, None, interpolation, unreached)
        answers = self.target_.by_row(ranked, np.nan)
        n_missing = int(np.isnan(ranked[:, 0]).sum()) if unreached != "nan" else 0
        if n_missing:
            warnings.warn(
                f"{n_missing} rows were drawn by every tree and have no out-of-bag prediction; "
                "grow more trees",
                stacklevel=2,
            )
        return answers[:, 0] if scalar else answers

    def score(
        self,
        X: Any,
        y: Any,
        event: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        *,
        horizon: float | str = "auto",
    ) -> float:
        r"""Compute the share of the Kaplan-Meier curve's integrated Brier score that is saved.

        .. math::

            1 - \frac{\int B(t)\, dt}{\int B_{KM}(t)\, dt}, \qquad
            B(t) = \frac{1}{m} \sum_i v_i(t) \bigl(\hat S(t \mid X_i) - 1\{T_i > t\}\bigr)^2,

        the integrals being from the first training time to the horizon h. :math:`B_{KM}` is the
        Brier score of the Kaplan-Meier curve of the training data, which knows no features, and
        :math:`v_i(t)` are the weights of `cqrf.metrics.brier_score`. The integral is the continuous
        ranked probability score of min(T, h), so the whole predicted law up to h is scored, and no
        quantile needs to be identified.

        Parameters
        ----------
        X : array-like, frame or sparse matrix of shape (m, p)
            Test points.
        y, event
            Their outcomes, in any form that `fit` takes.
        sample_weight : array-like of shape (m,), optional
            Weights of the test points.
        horizon : "auto" or float, default="auto"
            The horizon h; "auto" is `horizon_`.

        Returns
        -------
        float
            Best is 1; 0 is as good as knowing no features. NaN, with a warning, if nothing
            happens up to the horizon.
        """
        check_is_fitted(self)
        check_same_rows(X=X, y=y, event=event, sample_weight=sample_weight)
        target = self.target_
        scored = Scored.read(y, event, target, sample_weight, target.censoring, horizon)
        assert scored is not None
        features = self._encode(X)
        if features.shape[0] != len(scored.time):
            raise ValueError(
                "X and y differ in length (inconsistent numbers of samples): X has "
                f"{features.shape[0]} rows, y has {len(scored.time)}"
            )
        times = scoring_times(target, scored.horizon)
        errors = self._by_blocks(
            features,
            2 * len(times),
            lambda estimation, rows: integrated_errors(
                scored.take(rows), estimation.curve("survival", times), times
            ),
        )
        everybody = kaplan_meier_survival(target, times)
        return self._skill(errors, scored, times, everybody).share

    def oob_score(self, *, horizon: float | str = "auto") -> float:
        """Compute the `score` of the training rows, each by the trees that did not draw it.

        Parameters
        ----------
        horizon : "auto" or float, default="auto"
            As in `score`.

        Returns
        -------
        float
            As in `score`. Rows that every tree has drawn are left out. Up to 2,000 rows the
            Kaplan-Meier curve, too, is made without the row that it is compared for.
        """
        check_is_fitted(self)
        scored = Scored.of_training(self.target_, horizon)
        times = scoring_times(self.target_, scored.horizon)
        survival = self._oob_estimation().curve("survival", times)
        answered = np.flatnonzero(~np.isnan(survival[:, 0]))
        if not answered.size:
            raise ValueError("no row was left out by any tree; grow more trees")
        scored = scored.take(answered)
        errors = integrated_errors(scored, survival[answered], times)
        shape = (self.target_.n, len(times))
        everybody = np.broadcast_to(reference_curves(self.target_, times), shape)[answered]
        return self._skill(errors, scored, times, everybody).share

    def _skill(
        self,
        errors: NDArray[np.float64],
        scored: Scored,
        times: NDArray[np.float64],
        everybody: NDArray[np.float64],
    ) -> Skill:
        """Compare errors of rows with those of Kaplan-Meier curves, shape (g,) or (m, g)."""
        reference = integrated_errors(scored, everybody, times)
        skill = Skill.of(errors, reference, scored.sample_weight)
        if np.isnan(skill.share):
            warnings.warn(
                "score is undefined: up to the horizon "
                f"{scored.horizon:g} the Kaplan-Meier curve makes no error that could be saved",
                UndefinedMetricWarning,
                stacklevel=3,
            )
        return skill

    def predict_risk(self, X: Any, *, horizon: float | str = "auto") -> NDArray[np.float64]:
        r"""Predict a risk: the higher, the earlier the event.

        It is the number of events that would be expected among the training rows up to the horizon
        h if all of them were like x,

        .. math:: \sum_i \hat\Lambda(\min(Y_i, h) \mid x),

        with :math:`\hat\Lambda` the cumulative hazard: what scikit-survival's and
        randomForestSRC's forests predict, and what scikit-survival's scorers expect.

        Parameters
        ----------
        X : array-like, frame or sparse matrix of shape (m, p)
            Test points.
        horizon : "auto" or float, default="auto"
            The horizon h; "auto" is `horizon_`.

        Returns
        -------
        ndarray of shape (m,), float64
            More than 256 distinct training times are represented by so many of them.
        """
        check_is_fitted(self)
        target = self.target_
        if target.mirrored:
            raise ValueError(
                "under left censoring there is no risk of events to come: rank by predict_rmst, "
                "with the largest time as its horizon"
            )
        times, counts = representative_times(target, read_horizon(horizon, target))
        return self._by_blocks(
            self._encode(X),
            len(times),
            lambda estimation, _: np.einsum(
                "ij,j->i", estimation.curve("cumulative_hazard", times), counts
            ),
        )

    def _encode(self, X: Any) -> _engine.Features:
        """Check test points and return them as numbers and category codes, shape (m, p)."""
        state = vars(self)
        # The fast path, for rows that are asked one at a time: see `is_plain`.
        if not (
            is_plain(X)
            and X.shape[1] == state.get("n_features_in_")
            and "feature_names_in_" not in state
            and "trees_" in state
        ):
            check_is_fitted(self)
            table = open_table(X)
            validate_data(self, X, skip_check_array=True, reset=False)
            X = table
        return self._encoder.encode(X, self._n_threads())

    def _by_blocks(
        self,
        features: _engine.Features,
        n_outputs: int,
        answer: Callable[[Estimation, slice], NDArray[Any]],
    ) -> NDArray[Any]:
        """Answer all encoded rows, so that what is held besides does not grow with their number."""
        n_rows, n_features = features.shape
        width = n_features if self._kernel is None else 8 * self._kernel.points.shape[1]
        return in_row_blocks(
            n_rows,
            max(width, n_outputs),
            lambda rows: answer(self._estimation_of(features, rows), rows),
        )

    def _estimation(self, X: Any) -> Estimation:
        return self._estimation_of(self._encode(X))

    def _estimation_of(self, features: _engine.Features, rows: slice | None = None) -> Estimation:
        """Estimation of test points that are encoded already, of shape (m, p), or of some."""
        bins = self._binner.bin(features, _positions(features, rows), self._n_threads())
        weights = _engine.Weights.of_forest(
            self.trees_.engine,
            self.target_.engine,
            bins,
            levels_of_time(
                self.time_resolution, self.target_.n, self.trees_.members_per_test_point
            ),
        )
        return self._with_censoring(
            weights, None if self._kernel is None else self._kernel.transform(features, rows)
        )

    def _oob_estimation(self) -> Estimation:
        """Let the trees that did not draw a training row answer for it; by rank."""
        options = self._options
        if not options.replace and options.n_draws == self.target_.n:
            raise ValueError(
                "out-of-bag answers need trees that leave rows out: set bootstrap=True or "
                "max_samples"
            )
        weights = _engine.Weights.out_of_bag(
            self.trees_.engine,
            self.target_.engine,
            self._bins,
            self.trees_.seed,
            options.n_draws,
            options.replace,
            options.group_size,
        )
        return self._with_censoring(weights, None if self._kernel is None else self._kernel.points)

    def _with_censoring(
        self, weights: _engine.Weights, test_points: NDArray[np.float64] | None
    ) -> Estimation:
        kind = check_choice("censoring_curve", self.censoring_curve, CENSORING_CURVES)
        if kind == "kernel" and self._kernel is None:
            raise ValueError('censoring_curve="kernel" must be set before fit')
        censoring = _engine.Censoring(
            kind,
            check_neighbors(kind, self.n_neighbors, self.target_.n),
            None if self._kernel is None else self._kernel.points,
            test_points,
        )
        return Estimation(
            weights=weights,
            target=self.target_,
            censoring=censoring,
            n_threads=self._n_threads(),
        )

    def _solve(
        self,
        estimation: Estimation,
        levels: NDArray[np.float64],
        conditional_after: float | ArrayLike | None,
        interpolation: str | None,
        unreached: str,
    ) -> NDArray[np.float64]:
        interpolation = self.interpolation if interpolation is None else interpolation
        check_solving(self.solver, interpolation, unreached)
        answers, identified = estimation.quantiles(
            levels,
            solver=self.solver,
            interpolation=interpolation,
            conditional_after=conditional_after,
        )
        return mark_unreached(answers, identified, unreached, mirrored=self.target_.mirrored)

    def _little_bags(self, estimation: Estimation) -> LittleBags:
        return LittleBags.of(
            estimation, self.censoring_curve, self._options.group_size, len(self.trees_)
        )

    def _levels(self, quantiles: float | ArrayLike | None) -> tuple[NDArray[np.float64], bool]:
        if quantiles is None:
            return check_quantiles(self.default_quantiles, "default_quantiles")
        return check_quantiles(quantiles)

    def _grid(self, times: ArrayLike | None) -> NDArray[np.float64]:
        """Check the times (g,) that a public method is asked to answer at; `times_` if None."""
        check_is_fitted(self)
        if times is None:
            return self.times_
        grid = _check_times("times", times)
        warn_beyond_record(self.target_, "times", grid)
        return grid

    def _curve(self, X: Any, which: Which, grid: NDArray[np.float64]) -> NDArray[np.float64]:
        return self._by_blocks(
            self._encode(X), len(grid), lambda estimation, _: estimation.curve(which, grid)
        )

    def _n_threads(self) -> int:
        """Return the number of threads that n_jobs asks for."""
        jobs = check_int("n_jobs", self.n_jobs, -_MAX_JOBS, True, maximum=_MAX_JOBS)
        if jobs == 0:
            raise ValueError("n_jobs must not be 0")
        return int(effective_n_jobs(jobs))


def of_rows(after: NDArray[np.float64] | None, rows: slice) -> NDArray[np.float64] | None:
    """Conditions of some rows, if there are any."""
    return None if after is None else after[rows]


def _positions(features: _engine.Features, rows: slice | None) -> NDArray[np.int64] | None:
    """Positions of some rows; None for all of them."""
    if rows is None or (rows.start, rows.stop) == (0, features.shape[0]):
        return None
    return np.arange(rows.start, rows.stop)


def warn_beyond_record(
    target: Target, name: str, times: NDArray[np.float64], stacklevel: int = 4
) -> None:
    """Warn, once, of times behind all those of the training record, where S is not known.

    Parameters
    ----------
    target : Target
        The training record. Where nothing is censored, S is known everywhere.
    name : str
        Name of the argument, for the message.
    times : ndarray of shape (g,)
        Times that are asked for.
    stacklevel : int, default=4
        Of the caller of the public method.
    """
    end = target.observed[-1]
    beyond = times < end if target.mirrored else times > end
    if target.event.all() or not beyond.any():
        return
    which = "before the first" if target.mirrored else "beyond the last"
    warnings.warn(
        f"{name} {'reaches' if name == 'horizon' else 'reach'} {which} time of the training "
        f"record, {end:g}: from there on the curve is carried on unchanged",
        stacklevel=stacklevel,
    )


def _check_times(name: str, times: float | ArrayLike) -> NDArray[np.float64]:
    """Check times to evaluate at; return them with shape (g,)."""
    values = np.asarray(times)
    if values.dtype.kind not in "iuf" or values.ndim > 1:
        raise TypeError(f"{name} must be a number or one-dimensional numbers; received {times!r}")
    values = np.array(values, dtype=np.float64, ndmin=1)
    if not np.isfinite(values).all():
        at = int(np.argmin(np.isfinite(values)))
        raise ValueError(f"{name} must be finite; position {at} is {values[at]}")
    return values
