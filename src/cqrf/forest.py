"""The estimator: parameters, fit, and thin delegates to the fitted model; all of scikit-learn."""

from __future__ import annotations

import copy
import os
import warnings
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils import check_random_state, estimator_html_repr
from sklearn.utils.validation import check_is_fitted, validate_data

from cqrf import _engine
from cqrf.data.binning import Binner
from cqrf.data.features import FeatureEncoder, check_size
from cqrf.data.frames import is_plain, labelled, open_table
from cqrf.data.labels import OutcomeLabels
from cqrf.data.outcome import Target, check_sample_weight, parse_outcome
from cqrf.growing.grow import grow_trees
from cqrf.growing.leaf_size import MIN_ROWS, SMALL_SAMPLE_SIZE, LeafSizePath, choose_leaf_size
from cqrf.growing.options import MOST_TREES, GrowOptions
from cqrf.growing.trees import Trees
from cqrf.metrics.ipcw import Scored
from cqrf.model import scores
from cqrf.model.conformal import Calibration, calibrate
from cqrf.model.distribution import Distribution
from cqrf.model.explain import Explanation, explain, one_row
from cqrf.model.fitted import FittedModel
from cqrf.model.importance import Importance, oob_importance, split_importance
from cqrf.model.points import TestPoints
from cqrf.model.stored import read_model, write_model
from cqrf.model.summary import summary_html
from cqrf.solving.kernel import KernelSpace, check_bandwidth
from cqrf.solving.options import AnswerOptions, check_neighbors
from cqrf.storage.container import refusing
from cqrf.support.checks import (
    DEFAULT_COVERAGE,
    check_choice,
    check_int,
    check_jobs,
    check_quantiles,
    check_same_rows,
)
from cqrf.support.warn import warn

if TYPE_CHECKING:
    from cqrf.app.report import Report


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
        the leaves of every tree, drawn or not (unless `honest` or in groups).
    honest : bool, default=False
        Split with one half of a tree's rows and fill the leaves with the other.
    ci_group_size : int, default=1
        Trees per little bag, for standard errors; `n_estimators` must be a multiple of it. The
        trees of a bag draw from one random half of the rows, which is then what `max_samples` is
        a part of, and only that half fills their leaves. 1 is off.
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
    time_resolution : "auto", int or None, default="auto"
        How exactly quantiles, survival probabilities at given times and restricted means are
        computed. None: exactly. A number: the training times are divided into at most so many
        groups of neighbours; weights are added up by group, and one by one only in groups that
        hold an answer. With many rows that is several times faster, and the probabilities behind
        the answers are off by less than 1e-4. "auto": exact for up to 8,192 rows, and where the
        leaves of a test point hold fewer than 8,192 rows in all trees together; otherwise 8,192
        groups. Always exact are weights, curves as functions, out-of-bag answers, answers given
        `conditional_after`, and all answers of forests with sample weights, with another
        censoring curve than "beran" or with ``solver="argmin"``. The first prediction prepares
        counts that take at most two bytes per row and tree.
    max_bins : int, default=255
        Largest number of bins that the values of a feature are divided into. With more than
        100,000 rows, the cut points are quantiles of 100,000 of them, spread evenly over time.
        If a feature has more categories, the most frequent ones keep a bin each, and the others
        share one.
    categorical_features : "from_dtype", array-like or None, default="from_dtype"
        Columns to treat as categories: those of categorical or text type, or the given
        positions, names or mask.
    n_jobs : int or None, default=None
        Threads; -1 is all cores. The answers do not depend on it.
    random_state : int, RandomState or None, default=None
        Seed of the forest.
    verbose : int, default=0
        Whether to show a progress bar while growing, and while saving if that takes long.
    warm_start : bool, default=False
        Keep the trees of the previous fit and grow further ones up to `n_estimators`.

    Attributes
    ----------
    model_ : FittedModel
        All that `fit` has found, immutable; what follows is read from it.
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
    horizon_ : float
        The time up to which fits are scored, by default: the last one at which 5% of the rows,
        and 10 of them, are at risk and P(C >= t) is 0.1 at least; the last time of all if nothing
        is censored. Under left censoring the mirror image.
    calibration_ : Calibration or None
        What `calibrate` has found; None before.
    outcome_labels_ : OutcomeLabels
        What the times and events are called, where a series, a frame or a structured array tells
        it, and the unit of the times; may be set, and is stored with the forest.
    trees_ : Trees
        The grown trees, as arrays.
    target_ : Target
        The training outcomes, sorted.
    feature_importances_ : ndarray of shape (p,)
        `split_importance`, for scikit-learn's tools such as ``SelectFromModel``.

    Notes
    -----
    Most parameters say how trees grow, and are read by `fit`. These say how questions are answered,
    and may be changed afterwards: `censoring_curve` (but for "kernel", which `fit` must know),
    `n_neighbors`, `solver`, `interpolation`, `default_quantiles`, `time_resolution`, `n_jobs`.

    Examples
    --------
    >>> from cqrf import CensoredQuantileForest
    >>> from cqrf.datasets import load_congress
    >>> data = load_congress()
    >>> forest = CensoredQuantileForest(n_estimators=100, random_state=0)
    >>> forest = forest.fit(data.X[2:], data.time[2:], data.event[2:])
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
        ci_group_size: int = 1,
        censoring: str = "right",
        censoring_curve: str = "beran",
        n_neighbors: int | None = None,
        bandwidth: float | None = None,
        solver: str = "root",
        interpolation: str = "midpoint",
        default_quantiles: float | ArrayLike = 0.5,
        time_resolution: int | str | None = "auto",
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
        self.ci_group_size = ci_group_size
        self.censoring = censoring
        self.censoring_curve = censoring_curve
        self.n_neighbors = n_neighbors
        self.bandwidth = bandwidth
        self.solver = solver
        self.interpolation = interpolation
        self.default_quantiles = default_quantiles
        self.time_resolution = time_resolution
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
        *,
        sample_weight: ArrayLike | None = None,
    ) -> CensoredQuantileForest:
        """Grow the forest.

        Parameters
        ----------
        X : array-like, frame or sparse matrix of shape (n, p)
            Features. NaN is a missing value; text and categorical columns are categories. What
            a sparse matrix does not store is zero. Numbers are read where they lie: no layout
            and no type is copied.
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

        Notes
        -----
        Rows are paired by position. Objects from pandas are refused if their labels say otherwise:
        if a label of `X` stands at another position in the index of `y`, `event` or
        `sample_weight`. A default index (0, 1, 2, ...) beside other labels says nothing.
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
        check_size(X)
        check_same_rows(X=X, y=y, event=event, sample_weight=sample_weight)
        time, seen = parse_outcome(y, event)
        table = open_table(X)
        validate_data(self, X, skip_check_array=True, reset=True)
        _check_length(table.n_rows, len(time))
        n_threads = check_jobs(self.n_jobs)
        encoder = FeatureEncoder.from_data(table, self.categorical_features)
        features = encoder.encode(table, n_threads)
        if sample_weight is not None:
            sample_weight = check_sample_weight(sample_weight, len(time))
        target = Target.from_outcome(time, seen, sample_weight, self.censoring)  # type: ignore[arg-type]
        check_neighbors(self.censoring_curve, self.n_neighbors, target.n)
        options = GrowOptions.from_params(self.get_params(deep=False), target.n, table.n_features)

        binner = Binner.from_data(
            features, target, encoder.n_categories, max_bins=self.max_bins, n_threads=n_threads
        )
        bins = binner.bin(features, target.order, n_threads)
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
                features, target.order, target.weight, encoder.n_categories, self.bandwidth
            )
        names = getattr(self, "feature_names_in_", None)
        self.model_ = FittedModel(
            encoder=encoder,
            binner=binner,
            bins=bins,
            target=target,
            options=options,
            trees=trees,
            kernel=kernel,
            leaf_size_path=path,
            # Other trees have other quantiles.
            calibration=None,
            feature_names=None if names is None else tuple(map(str, names)),
            outcome_labels=OutcomeLabels.of_outcome(y, event),
        )

    def _check_params(self) -> None:
        check_int("n_estimators", self.n_estimators, 1, maximum=MOST_TREES)
        check_int("verbose", self.verbose, 0)
        check_int("max_bins", self.max_bins, 2, maximum=255)
        check_choice("warm_start", self.warm_start, (True, False))
        check_int("n_neighbors", self.n_neighbors, 1, allow_none=True)
        if self.bandwidth is not None:
            check_bandwidth(self.bandwidth)
        # Without limits on the number of rows, which is not known yet.
        AnswerOptions.from_params({**vars(self), "n_neighbors": None}, 1)
        check_quantiles(self.default_quantiles, "default_quantiles")

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
        model: FittedModel | None = getattr(self, "model_", None)
        path = None if model is None else model.leaf_size_path
        if path is None or not self.warm_start:
            path = choose_leaf_size(
                bins, binner, target, options, seed=seed, n_threads=n_threads, verbose=self.verbose
            )
        return path, replace(options, min_samples_split=path.best)

    def _trees_to_keep(
        self, bins: NDArray[np.uint8], target: Target, options: GrowOptions
    ) -> Trees | None:
        """Return the trees of the previous fit if warm_start asks for them."""
        before: FittedModel | None = getattr(self, "model_", None)
        if not self.warm_start or before is None:
            return None
        n_grown = len(before.trees)
        if self.n_estimators < n_grown:
            raise ValueError(
                f"n_estimators={self.n_estimators} must not be smaller than the {n_grown} trees "
                "that warm_start keeps"
            )
        if options != before.options:
            had = vars(before.options)
            changed = [name for name, value in vars(options).items() if value != had[name]]
            raise ValueError(
                f"warm_start needs the parameters of the first fit; changed: {', '.join(changed)}"
            )
        if not (np.array_equal(bins, before.bins) and target.same_as(before.target)):
            raise ValueError(
                "warm_start needs the data of the first fit; X, y, censoring or weights differ"
            )
        if self.n_estimators == n_grown:
            warnings.warn(
                "warm_start without a larger n_estimators grows no new trees", stacklevel=4
            )
        return before.trees

    def distribution(
        self, X: Any, *, conditional_after: float | ArrayLike | None = None
    ) -> Distribution:
        """Predict the law of T, of which every answer is a method.

        Where several answers about the same rows are wanted, this object gives them without finding
        leaves or solving for quantiles twice.

        Parameters
        ----------
        X : array-like, frame or sparse matrix of shape (m, p)
            Test points. Their values must not change while the distribution is in use.
        conditional_after : float or array-like of shape (m,), optional
            Predict T given that it exceeds this time: until then a unit has survived already.

        Returns
        -------
        Distribution

        Examples
        --------
        >>> from cqrf import CensoredQuantileForest
        >>> from cqrf.datasets import load_congress
        >>> data = load_congress()
        >>> forest = CensoredQuantileForest(n_estimators=100, random_state=0)
        >>> forest = forest.fit(data.X[2:], data.time[2:], data.event[2:])
        >>> law = forest.distribution(data.X[:2], conditional_after=4.0)
        >>> law.quantile([0.1, 0.5]).shape, law.survival([6.0, 12.0]).shape
        ((2, 2), (2, 2))
        """
        return self._law(X, conditional_after, keep=True)

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
        as_frame: Literal[False] = False,
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
        return_std: bool = False,
        as_frame: bool = False,
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
        as_frame: bool = False,
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
        as_frame : bool, default=False
            Return frames of the library that X is of, with a column per level (``q0.5``) and, of
            pandas, the index of X.

        Returns
        -------
        answers : ndarray of shape (m,) for one level, (m, q) for several, float64, or frame (m, q)
        std : the same, float64
            If `return_std`. NaN where the data leave the quantile open.
        """
        levels = self._levels(quantiles)
        if check_choice("return_std", return_std, (True, False)) and conditional_after is not None:
            raise ValueError("return_std does not go with conditional_after")
        check_choice("as_frame", as_frame, (True, False))
        law = self._law(X, conditional_after, keep=return_std)
        answers = law.quantile(levels, interpolation=interpolation, unreached=unreached)
        found = (answers, law.quantile_std(levels)) if return_std else (answers,)
        if as_frame:
            columns = [f"q{level:g}" for level in np.atleast_1d(levels)]
            found = tuple(labelled(values, like=X, columns=columns) for values in found)
        return found if return_std else found[0]

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
        levels = self._levels(quantiles)
        return self._law(X, conditional_after).identified(levels)

    def predict_interval(
        self,
        X: Any,
        coverage: float = DEFAULT_COVERAGE,
        *,
        method: str = "forest",
        conditional_after: float | ArrayLike | None = None,
        unreached: str = "inf",
    ) -> NDArray[np.float64]:
        """Predict an interval that holds T with the given probability.

        Parameters
        ----------
        X : array-like or frame of shape (m, p)
            Test points.
        coverage : float, default=0.95
            Probability in (0, 1).
        method : {"forest", "conformal"}, default="forest"
            "forest": between the quantiles of levels ``(1 - coverage) / 2`` and
            ``(1 + coverage) / 2``. "conformal": between the quantiles of those levels at which
            either end missed T with probability ``(1 - coverage) / 2`` among the rows of
            `calibrate`.
        conditional_after : float or array-like of shape (m,), optional
            Predict an interval of T given that T exceeds this time, as in `predict`. Only for
            "forest": what `calibrate` has learned is not about units that have survived so long.
        unreached : {"inf", "clip", "nan"}, default="inf"
            What stands for an upper end (under left censoring a lower one) that the censored data
            do not identify: infinity, so that T is held; the largest time with weight, beyond which
            T is found more often than the coverage allows; or NaN. The other end is then a bound
            as well, the same time or an earlier one, and holds in any case.

        Returns
        -------
        ndarray of shape (m, 2), float64
            Lower and upper end.
        """
        law = self._law(X, conditional_after)
        return law.interval(coverage, method=method, unreached=unreached)

    def predict_lower_bound(
        self, X: Any, coverage: float = DEFAULT_COVERAGE
    ) -> NDArray[np.float64]:
        r"""Predict a time that T exceeds with the given probability, by conformal calibration.

        It is the forest's quantile :math:`\hat q_a(x)` of the largest level a at which the rows
        of `calibrate` were missed (:math:`T < \hat q_a(X)`) with probability ``1 - coverage`` at
        most. If these rows and the new one are drawn alike and independently, and censoring is
        independent of T given x, then :math:`P(T \ge \hat q_a(X))` is at least `coverage` exactly
        without censoring, and in the limit of many rows under right censoring if either the
        forest's censoring curve or its quantiles are consistent. The probability is that over
        rows X, not given x.

        Parameters
        ----------
        X : array-like or frame of shape (m, p)
            Test points.
        coverage : float, default=0.95
            Probability in (0, 1).

        Returns
        -------
        ndarray of shape (m,), float64
            ``-inf`` if no quantile is low enough, and under left censoring also where the data
            do not identify a bound.
        """
        return self._law(X).lower_bound(coverage)

    def predict_upper_bound(
        self, X: Any, coverage: float = DEFAULT_COVERAGE
    ) -> NDArray[np.float64]:
        """Predict a time that T does not exceed with the given probability.

        As `predict_lower_bound`, with the sides exchanged: it is under left censoring that it
        always exists.

        Parameters
        ----------
        X, coverage
            As in `predict_lower_bound`.

        Returns
        -------
        ndarray of shape (m,), float64
            ``inf`` if no quantile is high enough, and under right censoring also where the data
            do not identify a bound.
        """
        return self._law(X).upper_bound(coverage)

    def predict_quantile_interval(
        self, X: Any, quantile: float = 0.5, confidence: float = DEFAULT_COVERAGE
    ) -> NDArray[np.float64]:
        r"""Predict a confidence interval of the quantile itself, from little bags.

        With :math:`\sigma` the standard error of S at the estimate, its ends are the quantiles of
        levels :math:`\tau \pm t \sigma`, t that of Student's distribution with as many degrees of
        freedom as there are groups less one. It accounts for the variance of the forest, not for
        its bias: leaves must be small.

        Parameters
        ----------
        X : array-like or frame of shape (m, p)
            Test points.
        quantile : float, default=0.5
            Level tau.
        confidence : float, default=0.95
            Probability in (0, 1) with which the interval holds the quantile.

        Returns
        -------
        ndarray of shape (m, 2), float64
            Lower and upper end; infinite where the data set no limit.
        """
        return self._law(X).quantile_interval(quantile, confidence)

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
        check_choice("return_std", return_std, (True, False))
        law = self._law(X, keep=return_std)
        if return_std:
            grid = self.times_ if times is None else times
            return law.survival(grid), law.survival_std(grid)
        return law.survival(self.times_ if times is None and return_array else times)

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
        law = self._law(X)
        return law.censoring(self.times_ if times is None and return_array else times)

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
        law = self._law(X)
        return law.cumulative_hazard(self.times_ if times is None and return_array else times)

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
        return self._law(X).rmst(horizon)

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
        return scores.risk(self._law(X), horizon)

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
        return self._law(X).estimating_function(q, quantile)

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
        return self._law(X).weights()

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
        features = self.encode(X)
        return TestPoints(self.model_, features, self._answering(), keep=False).leaves()

    def oob_distribution(self) -> Distribution:
        """Predict the law of T at the training rows from the trees that did not draw them.

        A row is also left out of the leaves that answer for it.

        Returns
        -------
        Distribution
            NaN for rows that every tree has drawn.
        """
        check_is_fitted(self)
        return self.model_.out_of_bag(self._answering())

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
        levels = self._levels(quantiles)
        law = self.oob_distribution()
        answers = law.quantile(levels, interpolation=interpolation, unreached=unreached)
        first = answers if answers.ndim == 1 else answers[:, 0]
        # Rows of weight zero have no rank.
        n_missing = int(np.isnan(first[self.target_.order]).sum())
        if n_missing and unreached != "nan":
            warn(
                f"{n_missing} rows were drawn by every tree and have no out-of-bag prediction; "
                "grow more trees"
            )
        return answers

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
        train = self.target_
        scored = Scored.read(y, event, train, sample_weight, train.censoring, horizon)
        assert scored is not None
        law = self._law(X)
        _check_length(len(law), len(scored.time))
        return scores.score(law, scored)

    def oob_score(self, *, horizon: float | str = "auto") -> float:
        """Compute the `score` of the training rows, each by the trees that did not draw it.

        Parameters
        ----------
        horizon : "auto" or float, default="auto"
            As in `score`.

        Returns
        -------
        float
            As in `score`. Rows that every tree has drawn are left out. The Kaplan-Meier curve,
            too, is made without the row that it is compared for.
        """
        return scores.oob_score(self.oob_distribution(), horizon)

    def calibrate(
        self, X: Any = None, y: Any = None, event: ArrayLike | None = None
    ) -> CensoredQuantileForest:
        """Learn from further rows at which levels the forest's quantiles hold.

        Needed for conformal intervals and bounds. With rows that the forest has not seen, drawn as
        those to be predicted, the bounds have the guarantee of `predict_lower_bound`. Without
        any, the training rows are used out-of-bag: no row is lost, but nothing is guaranteed.

        Parameters
        ----------
        X : array-like or frame of shape (m, p), optional
            Calibration rows; out-of-bag if not given.
        y, event
            Their outcomes, in any form that `fit` takes, paired with the rows as there.

        Returns
        -------
        self
            With `calibration_`. The next `fit` forgets it.
        """
        check_is_fitted(self)
        train = self.target_
        if X is None:
            if y is not None or event is not None:
                raise ValueError("y and event need X: give all of them or none")
            estimation = self.oob_distribution().estimation
            time, seen = train.times[train.time_index], train.event == 1
        else:
            check_same_rows(X=X, y=y, event=event)
            time, seen = parse_outcome(y, event)
            law = self._law(X)
            _check_length(len(law), len(time))
            estimation = law.estimation
            time = -time if train.mirrored else time
        found = calibrate(estimation, time, seen, out_of_bag=X is None)
        self.model_ = replace(self.model_, calibration=found)
        return self

    def oob_importance(
        self,
        quantiles: float | ArrayLike | None = None,
        *,
        groups: Mapping[str, Any] | None = None,
        n_repeats: int = 5,
        random_state: Any = None,
        horizon: float | str = "auto",
    ) -> Importance:
        r"""Measure how much worse predictions become when a feature is permuted.

        The values of a feature are shuffled among the training rows, and the rows are predicted
        anew by the trees that did not draw them. Its importance is what `oob_score` loses: the
        increase of the integrated Brier score up to the horizon h, as a share of that of the
        Kaplan-Meier curve. For given quantiles it is the increase of

        .. math::

            \frac{\sum_i v_i\, \rho_\tau(\min(Y_i, h) - \min(\hat q_\tau(X_i), h))}{\sum_i v_i},

        the loss of `cqrf.metrics.censored_pinball_loss`, for each of them.

        Parameters
        ----------
        quantiles : float or array-like of shape (q,), optional
            Levels in (0, 1); by default whole survival curves are scored.
        groups : mapping of str to list of columns, optional
            Columns, by position or name, that are shuffled together: for features that say the
            same thing, each of which would be spared alone. By default each column by itself.
        n_repeats : int, default=5
            How often each is shuffled.
        random_state : int, RandomState or None, default=None
            Seed of the permutations.
        horizon : "auto" or float, default="auto"
            The horizon h; "auto" is `horizon_`.

        Returns
        -------
        Importance
            ``mean`` and ``std_error`` of shape (p,), or (p, q) for several quantiles, with p the
            number of features or groups; ``repeats`` with one more axis in front.

        Notes
        -----
        Only what changes is computed again: trees that did not draw a row, and of their paths what
        follows the first node that asks for a permuted feature. The standard error of the mean
        :math:`\bar d` of the increases :math:`d_i` of the rows, averaged over repeats, is
        :math:`\sqrt{\sum_i v_i^2 (d_i - \bar d)^2} / \sum_i v_i`; it tells what other rows would
        have shown of the same forest.
        """
        check_is_fitted(self)
        return oob_importance(
            self.model_, self._answering(), quantiles, groups, n_repeats, random_state, horizon
        )

    def split_importance(self) -> NDArray[np.float64]:
        r"""Measure how often training rows are split by each feature.

        .. math:: I_j = \frac{\sum_{\text{splits by } j} n(\text{node})}
                             {\sum_{\text{all splits}} n(\text{node})},

        with :math:`n` the number of training rows that fill the leaves below a node. It costs
        nothing and knows no quantiles; it favours features with many distinct values.

        Returns
        -------
        ndarray of shape (p,), float64
            Shares that sum to one; all zero if no tree has a split.
        """
        check_is_fitted(self)
        return split_importance(self.trees_)

    def explain(self, x: Any, quantiles: float | ArrayLike | None = None) -> Explanation:
        """Tell which training rows carry the prediction of one row, and how far it reaches.

        Parameters
        ----------
        x : array-like of shape (p,) or (1, p), pandas Series, or frame of one row
            The test point.
        quantiles : float or array-like of shape (q,), optional
            Levels in (0, 1); `default_quantiles` if not given.

        Returns
        -------
        Explanation
            Prints as a table, and shows as one in a notebook.
        """
        levels = np.atleast_1d(self._levels(quantiles))
        return explain(self._law(one_row(x)), levels)

    def report(
        self,
        X: Any,
        y: Any,
        event: ArrayLike | None = None,
        *,
        title: str = "Report",
        time_name: str | None = None,
        horizon: float | str = "auto",
        verbose: int = 0,
    ) -> Report:
        """Make a page on the data, the fit, the features and their effects, and what to beware of.

        Scores are out-of-bag if `X` and `y` are what the forest was fitted to, and those of new
        rows otherwise. Displayed inline in a notebook.

        Parameters
        ----------
        X : array-like or frame of shape (n, p)
            Features, in the form that `fit` was given.
        y, event
            Outcomes, in any form that `fit` takes.
        title : str
            Title of the page.
        time_name : str, optional
            What the outcome is called, such as ``"days"``; by default ``"time"``, or ``"value"``
            under left censoring.
        horizon : "auto" or float, default="auto"
            The time up to which is scored; "auto" is `horizon_`.
        verbose : int, default=0
            Whether to show a progress bar.

        Returns
        -------
        Report
            With ``save(path)``, ``html`` and ``warnings``.
        """
        # What a page needs is loaded with the first page, not with every forest.
        from cqrf.app.report import make_report

        check_is_fitted(self)
        return make_report(
            self,
            X,
            y,
            event,
            title=title,
            time_name=time_name,
            horizon=horizon,
            verbose=verbose,
        )

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
        grown with is stored in any case. Categories must be text, numbers or booleans. With
        `verbose`, a progress bar is shown if it takes above a second.
        """
        check_is_fitted(self)
        self._check_stored_params(self.model_)
        write_model(path, self.get_params(deep=False), self.model_, verbose=self.verbose)

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, verbose: int = 0) -> CensoredQuantileForest:
        """Load a forest that `save` has stored; it answers bit for bit as the stored one.

        Everything is checked before it is used, and nothing in the file is ever run. The arrays
        stay in the file and are mapped, so that all processes of a machine share one copy: while
        the forest is in use, the file may be replaced or removed but must not be changed in place.

        Parameters
        ----------
        path : str or path-like
            The file.
        verbose : int, default=0
            Whether to show a progress bar if it takes above a second.

        Returns
        -------
        CensoredQuantileForest

        Raises
        ------
        ModelFileError
            The file is damaged, or not a model file of a version that this release reads.
        """
        params, model = read_model(path, check_int("verbose", verbose, 0))
        forest = cls(**params)
        with refusing(path):
            forest._check_stored_params(model)
        forest.n_features_in_ = model.n_features
        if model.feature_names is not None:
            forest.feature_names_in_ = np.array(model.feature_names, dtype=object)
        forest.model_ = model
        return forest

    def _check_stored_params(self, model: FittedModel) -> None:
        """Check parameters that may have been set after `fit`."""
        self._check_params()
        check_choice("censoring", self.censoring, ("right", "left"))
        check_neighbors(self.censoring_curve, self.n_neighbors, model.target.n)
        GrowOptions.from_params(self.get_params(deep=False), model.target.n, model.n_features)

    @property
    def trees_(self) -> Trees:
        """The grown trees."""
        return self.model_.trees

    @property
    def target_(self) -> Target:
        """The training outcomes, sorted."""
        return self.model_.target

    @property
    def times_(self) -> NDArray[np.float64]:
        """At most 512 times that represent the distinct event times, shape (g,)."""
        return self.model_.times

    @property
    def horizon_(self) -> float:
        """The time up to which is scored by default."""
        return self.model_.horizon

    @property
    def min_samples_split_(self) -> int | None:
        """Smallest number of rows of a node that was split."""
        return self.model_.options.min_samples_split

    @property
    def min_samples_leaf_(self) -> int:
        """Smallest number of rows on either side of a split."""
        return self.model_.options.min_samples_leaf

    @property
    def leaf_size_path_(self) -> LeafSizePath | None:
        """How the size of the leaves was chosen; None where it was given."""
        return self.model_.leaf_size_path

    @property
    def calibration_(self) -> Calibration | None:
        """What `calibrate` has found; None before."""
        return self.model_.calibration

    @property
    def outcome_labels_(self) -> OutcomeLabels:
        """What the outcome is called; may be set."""
        return self.model_.outcome_labels

    @outcome_labels_.setter
    def outcome_labels_(self, labels: OutcomeLabels) -> None:
        self.model_ = replace(self.model_, outcome_labels=labels)

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """Shares of the splits, shape (p,); see `split_importance`."""
        return self.split_importance()

    def encode(self, X: Any) -> _engine.Features:
        """Check test points, and turn them into the numbers that the engine reads.

        Every answer begins with it.

        Parameters
        ----------
        X : array-like, frame or sparse matrix of shape (m, p)
            Test points.

        Returns
        -------
        engine object of shape (m, p)
            Numbers, and codes of categories; it refers to the arrays of X.
        """
        # Rows of plain NumPy floats take a fast path, if the forest was not fitted to a frame with
        # names: everything is checked as for other data, but not by scikit-learn, whose validation
        # takes longer than the answer for one row.
        state = vars(self)
        if not (
            is_plain(X)
            and X.shape[1] == state.get("n_features_in_")
            and "feature_names_in_" not in state
            and "model_" in state
        ):
            check_is_fitted(self)
            table = open_table(X)
            validate_data(self, X, skip_check_array=True, reset=False)
            X = table
        return self.model_.encoder.encode(X, check_jobs(self.n_jobs))

    def _law(
        self, X: Any, conditional_after: float | ArrayLike | None = None, *, keep: bool = False
    ) -> Distribution:
        """`distribution`; by default for one question."""
        features = self.encode(X)
        if conditional_after is not None:
            check_same_rows(X=X, conditional_after=conditional_after)
        return self.model_.distribution(features, self._answering(), conditional_after, keep=keep)

    def _answering(self) -> AnswerOptions:
        return AnswerOptions.from_params(self.__dict__, self.model_.target.n)

    def _levels(self, quantiles: float | ArrayLike | None) -> Any:
        """Levels that are asked for, checked: a number, or an array of shape (q,)."""
        name = "quantiles" if quantiles is not None else "default_quantiles"
        levels, scalar = check_quantiles(
            self.default_quantiles if quantiles is None else quantiles, name
        )
        return float(levels[0]) if scalar else levels

    def _repr_html_inner(self) -> str:
        html: str = estimator_html_repr(self)
        if not hasattr(self, "model_"):
            return html
        # Facts of the fit above scikit-learn's own table of parameters.
        return summary_html(self.model_, f"{type(self).__name__}, fitted") + html

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        bundle: dict[str, str] = super()._repr_mimebundle_(**kwargs)
        if "text/html" in bundle:
            bundle["text/html"] = self._repr_html_inner()
        return bundle

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # Not "categorical": that is for estimators that want nothing else, and makes the checks
        # round all features. HistGradientBoostingRegressor does not say it either.
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        return tags


def _check_length(n_rows: int, n_outcomes: int) -> None:
    if n_rows != n_outcomes:
        raise ValueError(
            "X and y differ in length (inconsistent numbers of samples): X has "
            f"{n_rows} rows, y has {n_outcomes}"
        )
