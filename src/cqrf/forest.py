"""The estimator: its parameters, fit, save and load; what it answers is in `cqrf._answers`."""

from __future__ import annotations

import copy
import os
import warnings
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from cqrf._uncertainty import CalibratedForest
from cqrf._understanding import ExplainedForest
from cqrf.data.binning import Binner
from cqrf.data.features import FeatureEncoder, check_size
from cqrf.data.frames import open_table
from cqrf.data.labels import OutcomeLabels
from cqrf.data.outcome import Target, check_sample_weight, parse_outcome
from cqrf.growing.grow import MOST_TREES, GrowOptions, grow_trees
from cqrf.growing.leaf_size import MIN_ROWS, SMALL_SAMPLE_SIZE, LeafSizePath, choose_leaf_size
from cqrf.growing.trees import Trees
from cqrf.metrics.horizon import auto_horizon
from cqrf.model.stored import Model, read_model, write_model
from cqrf.solving.estimation import CENSORING_CURVES, check_solving, levels_of_time
from cqrf.solving.kernel import KernelSpace, check_bandwidth
from cqrf.solving.solve import check_neighbors
from cqrf.storage.container import refusing
from cqrf.support.checks import check_choice, check_int, check_quantiles, check_same_rows

# Columns of `predict_survival_function(X, return_array=True)` when no times are asked for.
_MAX_TIMES = 512


class CensoredQuantileForest(CalibratedForest, ExplainedForest):
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
        Largest number of levels into which the time axis is divided to predict quantiles,
        survival probabilities at given times and restricted means; a level is a run of
        neighbouring training times. Weights are added up by levels, which is some times faster
        with many rows, and one by one only around the answers; the probabilities behind these are
        off by less than 1e-4. Large leaves also keep counts on a grid of times, made by the first
        prediction, in at most two bytes per row and tree; where they are small, quantiles of up to
        32,768 rows lose nothing but double precision, as do more than 16 at once of up to 262,144
        rows in any leaves. None is exact. "auto" is exact up to
        8,192 rows, and where the leaves of a test point have fewer than 8,192 members in all trees
        together; else it is 8,192. Everything else is exact in any case: weights, curves as
        functions, answers out of bag or under a condition, forests with sample weights, other
        censoring curves than "beran" and ``solver="argmin"``.
    max_bins : int, default=255
        Largest number of bins of a feature. With more rows than 100,000, their cuts are quantiles
        of so many of them, at equal distances in time order. Of more categories than that, the
        most frequent keep a bin each and all others share one.
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
        if table.n_rows != time.shape[0]:
            raise ValueError(
                "X and y differ in length (inconsistent numbers of samples): X has "
                f"{table.n_rows} rows, y has {time.shape[0]}"
            )
        n_threads = self._n_threads()
        encoder = FeatureEncoder.from_data(table, self.categorical_features)
        features = encoder.encode(table, n_threads)
        if sample_weight is not None:
            sample_weight = check_sample_weight(sample_weight, time.shape[0])
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
        self._take_state(encoder, binner, bins, target, options, trees, kernel, path)
        self.outcome_labels_ = OutcomeLabels.of_outcome(y, event)

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
        self.horizon_ = auto_horizon(target)
        self.min_samples_split_ = options.min_samples_split
        self.min_samples_leaf_ = options.min_samples_leaf
        self.leaf_size_path_ = path
        self._encoder = encoder
        self._binner = binner
        self._bins = bins
        self._options = options
        self._kernel = kernel
        # Other trees have other quantiles.
        self.calibration_ = None

    def _check_params(self) -> None:
        check_int("n_estimators", self.n_estimators, 1, maximum=MOST_TREES)
        check_int("verbose", self.verbose, 0)
        check_int("max_bins", self.max_bins, 2, maximum=255)
        check_choice("warm_start", self.warm_start, (True, False))
        check_choice("censoring_curve", self.censoring_curve, CENSORING_CURVES)
        check_int("n_neighbors", self.n_neighbors, 1, allow_none=True)
        if self.bandwidth is not None:
            check_bandwidth(self.bandwidth)
        check_solving(self.solver, self.interpolation, "clip")
        levels_of_time(self.time_resolution, 1)
        check_quantiles(self.default_quantiles, "default_quantiles")
        self._n_threads()

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
                calibration=self.calibration_,
                outcome_labels=self.outcome_labels_,
            ),
            verbose=self.verbose,
        )

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
        model = read_model(path, check_int("verbose", verbose, 0))
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
        forest.calibration_ = model.calibration
        forest.outcome_labels_ = model.outcome_labels
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
        tags.input_tags.sparse = True
        return tags


def _representative_times(target: Target) -> NDArray[np.float64]:
    """At most 512 of the distinct event times, evenly spaced in rank, in their own sign."""
    has_event = np.zeros(target.times.shape[0], dtype=np.bool_)
    has_event[target.time_index[target.event == 1]] = True
    events = target.times[has_event]
    if len(events) > _MAX_TIMES:
        events = events[np.linspace(0, len(events) - 1, _MAX_TIMES).round().astype(int)]
    return np.sort(-events + 0.0) if target.mirrored else events
