"""The estimator: parameters, fit and everything that a fitted forest answers."""

from __future__ import annotations

import copy
import os
import warnings
from dataclasses import replace
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from cqrf import _engine
from cqrf._binning import Binner
from cqrf._checks import check_choice, check_coverage, check_int, check_quantiles
from cqrf._estimation import (
    CENSORING_CURVES,
    Estimation,
    Which,
    check_solving,
    mark_unreached,
)
from cqrf._files import refusing
from cqrf._growing import GrowOptions, Trees, grow_trees
from cqrf._kernel import KernelSpace, check_bandwidth
from cqrf._model import Model, read_model, write_model
from cqrf._tuning import MIN_ROWS, SMALL_SAMPLE_SIZE, LeafSizePath, choose_leaf_size
from cqrf.curves import step_functions
from cqrf.features import FeatureEncoder, check_table
from cqrf.metrics import d2_censored_pinball_score
from cqrf.solve import check_neighbors
from cqrf.target import Target, check_sample_weight, parse_outcome

# Columns of `predict_survival_function(X, return_array=True)` when no times are asked for.
_MAX_TIMES = 512


class CensoredQuantileForest(RegressorMixin, BaseEstimator):
    r"""Conditional quantiles of a time that is only partly observed.

    A forest gives the test point x weights :math:`w_i(x)` on the training rows; the quantile of
    level :math:`\tau` of the true time T is a root in q of the estimating equation

    .. math::

        S_n(q; \tau) = (1 - \tau)\, \hat G(q \mid x) - \sum_i w_i(x)\, 1\{Y_i > q\},

    where :math:`\hat G` estimates the survival function of the censoring time. With no censoring
    :math:`\hat G = 1`, and this is the quantile regression forest.

    Parameters
    ----------
    n_estimators : int, default=1000
        Number of trees.
    criterion : {"distribution", "random", "mse", "quantile", "logrank"}, default="distribution"
        Splitting rule. "distribution": squared error of the survival indicators of T at ten
        times, imputed for censored rows, so that splits see the whole conditional law.
        "random" and "mse": squared error of the observed times, at random cuts (extremely
        randomised trees) or at the best cut (CART, the paper's forest). "quantile": classes
        between the node's own quantiles (grf). "logrank": log-rank scores of the node (random
        survival forests).
    n_thresholds : "auto", int or None, default="auto"
        Random cut points examined per feature; None examines all and takes the best. "auto" is
        1 for "distribution" and "random" (2 with 20 or more features), and None for the other
        rules.
    max_depth : int or None, default=None
        Largest depth of a tree.
    min_samples_split : int, float or None, default=None
        Smallest number of distinct rows of a node that is split, or a fraction of the rows.
        If this and `min_samples_leaf` are both None, it is chosen out-of-bag from a forest of
        32 deep trees on 0.632-subsamples (with fewer than 64 rows, it is 32).
    min_samples_leaf : int, float or None, default=None
        Smallest number of distinct rows on either side of a split, or a fraction of the rows.
    max_features : int, float, "sqrt", "log2" or None, default=None
        Number of features examined in a node, or a fraction of them; None is all.
    bootstrap : bool, default=False
        Whether the rows of a tree are drawn with replacement.
    max_samples : int, float, "auto" or None, default="auto"
        Number of rows drawn for a tree, or a fraction; None is as many as there are. "auto" is
        0.9 without `bootstrap`, so that out-of-bag answers exist, and None with it. All rows fill
        the leaves of every tree, drawn or not (unless `honest`).
    honest : bool, default=False
        Split with one half of a tree's rows and fill the leaves with the other.
    censoring : {"right", "left"}, default="right"
        Whether a censored time is a lower bound of T, or an upper one (detection limits).
    censoring_curve : {"beran", "knn", "kernel", "marginal"}, default="beran"
        Estimator of G: Beran's with forest weights; Kaplan-Meier on the `n_neighbors` rows of
        largest weight; Beran's with Nadaraya-Watson weights; Kaplan-Meier on all rows.
    n_neighbors : int or None, default=None
        Rows for "knn"; None is a tenth of the training rows.
    bandwidth : float or None, default=None
        Bandwidth for "kernel", in standard deviations of the features; None is Scott's rule.
    solver : {"root", "argmin"}, default="root"
        First root of the estimating equation, or the paper's literal minimum of its size.
    interpolation : {"midpoint", "lower", "linear"}, default="midpoint"
        How the step curve S is inverted: linear through the midpoints of its jumps, not at
        all (an observed time is returned), or linear through its lower corners.
    default_quantiles : float or sequence of float, default=0.5
        What `predict` predicts if it is not told.
    max_bins : int, default=255
        Largest number of bins of a feature.
    categorical_features : "from_dtype", array-like or None, default="from_dtype"
        Columns to treat as categories: those of categorical or text type, or the given
        positions, names or mask.
    n_jobs : int or None, default=None
        Threads; -1 is all cores. The answers do not depend on it.
    random_state : int, RandomState or None, default=None
        Seed of the forest.
    verbose : int, default=0
        Whether to show a progress bar while growing.
    warm_start : bool, default=False
        Keep the trees of the previous fit and grow further ones up to `n_estimators`.

    Attributes
    ----------
    n_features_in_ : int
        Number of features p.
    feature_names_in_ : ndarray of shape (p,)
        Names of the columns, if X was a frame with string names.
    min_samples_split_, min_samples_leaf_ : int
        Sizes that were used.
    leaf_size_path_ : LeafSizePath or None
        ``size``, ``loss`` and ``std_error`` of the sizes from which the smallest loss was chosen;
        None where the size was given.
    times_ : ndarray of shape (g,)
        At most 512 times that represent the distinct event times: the columns of
        ``predict_survival_function(X, return_array=True)``.
    trees_ : Trees
        The grown trees, as arrays.
    target_ : Target
        The training outcomes, sorted.

    Examples
    --------
    >>> from cqrf import CensoredQuantileForest
    >>> from cqrf.datasets import load_congress
    >>> data = load_congress()
    >>> forest = CensoredQuantileForest(n_estimators=100, random_state=0)
    >>> forest = forest.fit(data.X, data.time, data.event)
    >>> forest.predict(data.X[:2], quantiles=[0.1, 0.5, 0.9]).shape
    (2, 3)
    """

    def __init__(
        self,
        n_estimators: int = 1000,
        *,
        criterion: str = "distribution",
        n_thresholds: int | str | None = "auto",
        max_depth: int | None = None,
        min_samples_split: float | None = None,
        min_samples_leaf: float | None = None,
        max_features: float | str | None = None,
        bootstrap: bool = False,
        max_samples: float | str | None = "auto",
        honest: bool = False,
        censoring: str = "right",
        censoring_curve: str = "beran",
        n_neighbors: int | None = None,
        bandwidth: float | None = None,
        solver: str = "root",
        interpolation: str = "midpoint",
        default_quantiles: float | ArrayLike = 0.5,
        max_bins: int = 255,
        categorical_features: Any = "from_dtype",
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        warm_start: bool = False,
    ) -> None:
        self.n_estimators = n_estimators
        self.criterion = criterion
        self.n_thresholds = n_thresholds
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.max_features = max_features
        self.bootstrap = bootstrap
        self.max_samples = max_samples
        self.honest = honest
        self.censoring = censoring
        self.censoring_curve = censoring_curve
        self.n_neighbors = n_neighbors
        self.bandwidth = bandwidth
        self.solver = solver
        self.interpolation = interpolation
        self.default_quantiles = default_quantiles
        self.max_bins = max_bins
        self.categorical_features = categorical_features
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.warm_start = warm_start

    def fit(
        self,
        X: Any,
        y: Any,
        event: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> CensoredQuantileForest:
        """Grow the forest.

        Parameters
        ----------
        X : array-like or frame of shape (n, p)
            Features. NaN is a missing value; text and categorical columns are categories.
        y : structured array, frame or array-like of shape (n,)
            A structured array of events and times (`Surv`), a frame with the columns ``event``
            and ``time`` or ``duration``, or times; times without `event` are not censored.
        event : array-like of shape (n,), optional
            True where the event was seen, if `y` holds times.
        sample_weight : array-like of shape (n,), optional
            Non-negative weights. Whole numbers are the same as repeated rows.

        Returns
        -------
        self
        """
        # All is built on a copy: whatever fails, the estimator stays as it was.
        draft = copy.copy(self)
        draft._fit(X, y, event, sample_weight)
        self.__dict__ = draft.__dict__
        return self

    def _fit(
        self, X: Any, y: Any, event: ArrayLike | None, sample_weight: ArrayLike | None
    ) -> None:
        self._check_params()
        # Drawn first, so that an unusable random_state is refused before any work.
        seed = self._draw_seed()
        time, seen = parse_outcome(y, event)
        check_table(X)
        validate_data(self, X, skip_check_array=True, reset=True)
        encoder = FeatureEncoder.from_data(X, self.categorical_features)
        matrix = encoder.encode(X)
        if matrix.shape[0] != time.shape[0]:
            raise ValueError(
                "X and y differ in length (inconsistent numbers of samples): X has "
                f"{matrix.shape[0]} rows, y has {time.shape[0]}"
            )
        if sample_weight is not None:
            sample_weight = check_sample_weight(sample_weight, time.shape[0])
        target = Target.from_outcome(time, seen, sample_weight, self.censoring)  # type: ignore[arg-type]
        check_neighbors(self.censoring_curve, self.n_neighbors, target.n)
        options = GrowOptions.from_params(self.get_params(deep=False), target.n, matrix.shape[1])

        n_threads = self._n_threads()
        binner = Binner.from_data(
            matrix, target, encoder.n_categories, max_bins=self.max_bins, n_threads=n_threads
        )
        bins = binner.bin(matrix, target.order, n_threads)
        path, options = self._choose_leaf_size(bins, binner, target, options, seed, n_threads)
        grown = self._trees_to_keep(bins, target, options)
        trees = grow_trees(
            bins,
            binner,
            target,
            options,
            n_trees=self.n_estimators,
            seed=seed if grown is None else grown.seed,
            n_threads=n_threads,
            verbose=self.verbose,
            grown=grown,
        )
        kernel = None
        if self.censoring_curve == "kernel":
            kernel = KernelSpace.from_data(
                matrix[target.order], target.weight, encoder.n_categories, self.bandwidth
            )
        self._take_state(encoder, binner, bins, target, options, trees, kernel, path)

    def _take_state(
        self,
        encoder: FeatureEncoder,
        binner: Binner,
        bins: NDArray[np.uint8],
        target: Target,
        options: GrowOptions,
        trees: Trees,
        kernel: KernelSpace | None,
        path: LeafSizePath | None,
    ) -> None:
        """Become the fitted forest that `fit` has grown or `load` has read."""
        self.trees_ = trees
        self.target_ = target
        self.times_ = _representative_times(target)
        self.min_samples_split_ = options.min_samples_split
        self.min_samples_leaf_ = options.min_samples_leaf
        self.leaf_size_path_ = path
        self._encoder = encoder
        self._binner = binner
        self._bins = bins
        self._options = options
        self._kernel = kernel

    def _check_params(self) -> None:
        check_int("n_estimators", self.n_estimators, 1)
        check_int("verbose", self.verbose, 0)
        if not 2 <= check_int("max_bins", self.max_bins, 2) <= 255:
            raise ValueError(f"max_bins must be at most 255; received {self.max_bins!r}")
        check_choice("warm_start", self.warm_start, (True, False))
        check_choice("censoring_curve", self.censoring_curve, CENSORING_CURVES)
        check_int("n_neighbors", self.n_neighbors, 1, allow_none=True)
        if self.bandwidth is not None:
            check_bandwidth(self.bandwidth)
        check_solving(self.solver, self.interpolation, "clip")
        check_quantiles(self.default_quantiles, "default_quantiles")
        self._n_threads()

    def _n_threads(self) -> int:
        """Return the number of threads that n_jobs asks for."""
        if self.n_jobs is not None and check_int("n_jobs", self.n_jobs, -(2**31)) == 0:
            raise ValueError("n_jobs must not be 0")
        return int(effective_n_jobs(self.n_jobs))

    def _draw_seed(self) -> int:
        return int(check_random_state(self.random_state).randint(2**63 - 1, dtype=np.int64))

    def _choose_leaf_size(
        self,
        bins: NDArray[np.uint8],
        binner: Binner,
        target: Target,
        options: GrowOptions,
        seed: int,
        n_threads: int,
    ) -> tuple[LeafSizePath | None, GrowOptions]:
        """Complete the options where the size of the leaves is left to the data."""
        if options.min_samples_split is not None:
            return None, options
        if target.n < MIN_ROWS:
            return None, replace(options, min_samples_split=SMALL_SAMPLE_SIZE)
        # Further trees of a forest have its size.
        path: LeafSizePath | None = getattr(self, "leaf_size_path_", None)
        if path is None or not self.warm_start:
            path = choose_leaf_size(
                bins, binner, target, options, seed=seed, n_threads=n_threads, verbose=self.verbose
            )
        return path, replace(options, min_samples_split=path.best)

    def _trees_to_keep(
        self, bins: NDArray[np.uint8], target: Target, options: GrowOptions
    ) -> Trees | None:
        """Return the trees of the previous fit if warm_start asks for them."""
        if not self.warm_start or not hasattr(self, "trees_"):
            return None
        n_grown = len(self.trees_)
        if self.n_estimators < n_grown:
            raise ValueError(
                f"n_estimators={self.n_estimators} must not be smaller than the {n_grown} trees "
                "that warm_start keeps"
            )
        if options != self._options:
            changed = [
                name for name in vars(options) if vars(options)[name] != vars(self._options)[name]
            ]
            raise ValueError(
                f"warm_start needs the parameters of the first fit; changed: {', '.join(changed)}"
            )
        if not (np.array_equal(bins, self._bins) and target.same_as(self.target_)):
            raise ValueError(
                "warm_start needs the data of the first fit; X, y, censoring or weights differ"
            )
        if self.n_estimators == n_grown:
            warnings.warn(
                "warm_start without a larger n_estimators grows no new trees", stacklevel=4
            )
        return self.trees_

    def predict(
        self,
        X: Any,
        quantiles: float | ArrayLike | None = None,
        *,
        conditional_after: float | ArrayLike | None = None,
        interpolation: str | None = None,
        unreached: str = "clip",
    ) -> NDArray[np.float64]:
        """Predict quantiles of T.

        Parameters
        ----------
        X : array-like or frame of shape (m, p)
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

        Returns
        -------
        ndarray of shape (m,) for one level, (m, q) for several, float64
        """
        levels, scalar = self._levels(quantiles)
        answers = self._solve(
            self._estimation(X), levels, conditional_after, interpolation, unreached
        )
        return answers[:, 0] if scalar else answers

    def predict_interval(
        self, X: Any, coverage: float = 0.95, *, unreached: str = "clip"
    ) -> NDArray[np.float64]:
        """Predict an interval that holds T with the given probability.

        Its ends are the quantiles of levels ``(1 - coverage) / 2`` and ``(1 + coverage) / 2``.

        Parameters
        ----------
        X : array-like or frame of shape (m, p)
            Test points.
        coverage : float, default=0.95
            Probability in (0, 1).
        unreached : {"clip", "nan", "inf"}, default="clip"
            As in `predict`.

        Returns
        -------
        ndarray of shape (m, 2), float64
            Lower and upper end.
        """
        tail = (1.0 - check_coverage(coverage)) / 2.0
        return self.predict(X, quantiles=[tail, 1.0 - tail], unreached=unreached)

    def identified(self, X: Any, quantiles: float | ArrayLike | None = None) -> NDArray[np.bool_]:
        """Tell which quantiles the censored data identify.

        Parameters
        ----------
        X : array-like or frame of shape (m, p)
            Test points.
        quantiles : float or array-like of shape (q,), optional
            Levels; `default_quantiles` if not given.

        Returns
        -------
        ndarray of shape (m,) for one level, (m, q) for several, bool
            False where the survival curve never falls to ``1 - quantile``: what `predict`
            returns there is a bound, not an estimate.
        """
        levels, scalar = self._levels(quantiles)
        _, identified = self._estimation(X).quantiles(
            levels, solver=self.solver, interpolation=self.interpolation
        )
        return identified[:, 0] if scalar else identified

    def predict_survival_function(
        self, X: Any, times: ArrayLike | None = None, return_array: bool = False
    ) -> NDArray[Any]:
        """Predict the survival function S(t) = P(T > t).

        Parameters
        ----------
        X : array-like or frame of shape (m, p)
            Test points.
        times : array-like of shape (g,), optional
            Times at which to evaluate it.
        return_array : bool, default=False
            Return values at `times` (at `times_` if none are given) instead of functions.
            Values are also returned whenever `times` is given.

        Returns
        -------
        ndarray of shape (m,) of StepFunction, or ndarray of shape (m, g), float64
        """
        estimation = self._estimation(X)
        if times is None and not return_array:
            return step_functions(estimation.survival_functions())
        return self._curve(estimation, "survival", times)

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
        estimation = self._estimation(X)
        if times is None and not return_array:
            return step_functions(estimation.censoring_functions())
        return self._curve(estimation, "censoring", times)

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
        estimation = self._estimation(X)
        if times is None and not return_array:
            return step_functions(
                [survival.cumulative_hazard() for survival in estimation.survival_functions()]
            )
        return self._curve(estimation, "cumulative_hazard", times)

    def predict_rmst(self, X: Any, horizon: float) -> NDArray[np.float64]:
        r"""Predict the restricted mean E[min(T, horizon)].

        For positive times it is the area :math:`\int_0^h S(t)\,dt`. Where S is not known up to
        the horizon, its last value is carried on.

        Parameters
        ----------
        X : array-like or frame of shape (m, p)
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
        return self._estimation(X).restricted_mean(float(limit[0]))

    def estimating_function(
        self, X: Any, q: float | ArrayLike, quantile: float
    ) -> NDArray[np.float64]:
        """Evaluate S_n(q; tau) = (1 - tau) G(q) - P(q), whose root is the quantile.

        Parameters
        ----------
        X : array-like or frame of shape (m, p)
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
        return self._estimation(X).estimating_function(_check_times("q", q), float(levels[0]))

    def forest_weights(self, X: Any) -> sparse.csr_array:
        """Compute the weights of the training rows for every test point (paper, eq. rf_weight).

        Parameters
        ----------
        X : array-like or frame of shape (m, p)
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
        X : array-like or frame of shape (m, p)
            Test points.

        Returns
        -------
        ndarray of shape (m, n_estimators), int32
            Numbers of leaves, from 0 within each tree.
        """
        bins, _ = self._bin(X)
        return self.trees_.engine.apply(bins, self._n_threads())

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
        options = self._options
        if not options.replace and options.n_draws == self.target_.n:
            raise ValueError(
                "oob_predict needs trees that leave rows out: set bootstrap=True or max_samples"
            )
        levels, scalar = self._levels(quantiles)
        weights = _engine.Weights.out_of_bag(
            self.trees_.engine,
            self.target_.engine,
            self._bins,
            self.trees_.seed,
            options.n_draws,
            options.replace,
        )
        test_points = None if self._kernel is None else self._kernel.points
        ranked = self._solve(
            self._with_censoring(weights, test_points), levels, None, interpolation, unreached
        )
        answers = np.full((self.target_.n_rows, len(levels)), np.nan)
        answers[self.target_.order] = ranked
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
    ) -> float:
        r"""Compute D2, the share of the censoring-weighted pinball loss that is explained.

        .. math::

            D^2 = 1 - \frac{\sum_i v_i\, \rho_\tau(Y_i - \hat q(X_i))}
                           {\sum_i v_i\, \rho_\tau(Y_i - \hat q_0)},
            \qquad v_i = \delta_i / \hat G(Y_i-),

        with :math:`\hat q_0` the weighted quantile of the given times and G the Kaplan-Meier
        curve of the training data; the mean over `default_quantiles`. Best is 1.

        Parameters
        ----------
        X : array-like or frame of shape (m, p)
            Test points.
        y, event
            Their outcomes, in any form that `fit` takes.
        sample_weight : array-like of shape (m,), optional
            Weights of the test points.

        Returns
        -------
        float
        """
        check_is_fitted(self)
        levels, _ = check_quantiles(self.default_quantiles)
        score = d2_censored_pinball_score(
            y,
            self.predict(X, quantiles=levels),
            levels,
            event=event,
            train=self.target_,
            sample_weight=sample_weight,
            censoring="left" if self.target_.mirrored else "right",
            beyond="clip",
        )
        return float(score)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Store the fitted forest in one file, which `load` reads on any machine.

        The file is replaced whole or not at all: whatever fails, an older one stays as it was.

        Parameters
        ----------
        path : str or path-like
            Where to write; by custom the name ends in ``.cqrf``.

        Notes
        -----
        A `random_state` that is a generator is stored as None; the seed that the trees were
        grown with is stored in any case. Categories must be text, numbers or booleans.
        """
        check_is_fitted(self)
        self._check_stored_params(self.target_.n, self.n_features_in_)
        names = getattr(self, "feature_names_in_", None)
        write_model(
            path,
            Model(
                params=self.get_params(deep=False),
                options=self._options,
                feature_names=None if names is None else names.tolist(),
                encoder=self._encoder,
                binner=self._binner,
                bins=self._bins,
                target=self.target_,
                trees=self.trees_,
                kernel=self._kernel,
                leaf_size_path=self.leaf_size_path_,
            ),
        )

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> CensoredQuantileForest:
        """Load a forest that `save` has stored; it answers bit for bit as the stored one.

        Everything is checked before it is used, and nothing in the file is ever run. The arrays
        stay in the file and are mapped, so that all processes of a machine share one copy: while
        the forest is in use, the file may be replaced or removed but must not be changed in place.

        Parameters
        ----------
        path : str or path-like
            The file.

        Returns
        -------
        CensoredQuantileForest

        Raises
        ------
        ModelFileError
            The file is damaged, or not a model file of a version that this release reads.
        """
        model = read_model(path)
        forest = cls(**model.params)
        with refusing(path):
            forest._check_stored_params(model.target.n, model.encoder.n_features)
        forest.n_features_in_ = model.encoder.n_features
        if model.feature_names is not None:
            forest.feature_names_in_ = np.array(model.feature_names, dtype=object)
        forest._take_state(
            model.encoder,
            model.binner,
            model.bins,
            model.target,
            model.options,
            model.trees,
            model.kernel,
            model.leaf_size_path,
        )
        return forest

    def _check_stored_params(self, n: int, p: int) -> None:
        """Check parameters that may have been set after `fit`, for n rows and p features."""
        self._check_params()
        check_choice("censoring", self.censoring, ("right", "left"))
        check_neighbors(self.censoring_curve, self.n_neighbors, n)
        GrowOptions.from_params(self.get_params(deep=False), n, p)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # Not "categorical": that is for estimators that want nothing else, and makes the checks
        # round all features. HistGradientBoostingRegressor does not say it either.
        tags.input_tags.allow_nan = True
        return tags

    def _bin(self, X: Any) -> tuple[NDArray[np.uint8], NDArray[Any]]:
        check_is_fitted(self)
        check_table(X)
        validate_data(self, X, skip_check_array=True, reset=False)
        matrix = self._encoder.encode(X)
        return self._binner.bin(matrix, None, self._n_threads()), matrix

    def _estimation(self, X: Any) -> Estimation:
        bins, matrix = self._bin(X)
        weights = _engine.Weights.of_forest(self.trees_.engine, self.target_.engine, bins)
        return self._with_censoring(
            weights, None if self._kernel is None else self._kernel.transform(matrix)
        )

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

    def _levels(self, quantiles: float | ArrayLike | None) -> tuple[NDArray[np.float64], bool]:
        if quantiles is None:
            return check_quantiles(self.default_quantiles, "default_quantiles")
        return check_quantiles(quantiles)

    def _curve(
        self, estimation: Estimation, which: Which, times: ArrayLike | None
    ) -> NDArray[np.float64]:
        grid = self.times_ if times is None else _check_times("times", times)
        return estimation.curve(which, grid)


def _representative_times(target: Target) -> NDArray[np.float64]:
    """At most 512 of the distinct event times, evenly spaced in rank, in their own sign."""
    events = np.unique(target.times[target.time_index[target.event == 1]])
    if len(events) > _MAX_TIMES:
        events = events[np.linspace(0, len(events) - 1, _MAX_TIMES).round().astype(int)]
    return np.sort(-events + 0.0) if target.mirrored else events


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
