"""A fitted forest: one immutable object, which fit returns, save writes, and load reads."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cqrf import _engine
from cqrf.data.binning import Binner
from cqrf.data.features import FeatureEncoder
from cqrf.data.labels import OutcomeLabels
from cqrf.data.outcome import Target
from cqrf.growing.leaf_size import LeafSizePath
from cqrf.growing.options import GrowOptions
from cqrf.growing.trees import Trees
from cqrf.metrics.horizon import auto_horizon
from cqrf.model.conformal import Calibration
from cqrf.model.distribution import Distribution
from cqrf.model.points import OutOfBag, TestPoints
from cqrf.solving.estimation import Estimation
from cqrf.solving.kernel import KernelSpace
from cqrf.solving.options import AnswerOptions, levels_of_time

# Columns of survival probabilities when no times are asked for.
_MAX_TIMES = 512


@dataclass(frozen=True, eq=False)
class FittedModel:
    """All that a fitted forest consists of.

    Attributes
    ----------
    encoder : FeatureEncoder
        From data to numbers and codes of categories.
    binner : Binner
        From these to bins.
    bins : ndarray of shape (n, p), uint8
        The training rows, in rank order.
    target : Target
        The training outcomes, sorted.
    options : GrowOptions
        How the trees were grown.
    trees : Trees
        The trees.
    kernel : KernelSpace or None
        Points for the censoring curve "kernel".
    leaf_size_path : LeafSizePath or None
        How the size of the leaves was chosen; None where it was given.
    calibration : Calibration or None
        At which levels quantiles hold; None before `CensoredQuantileForest.calibrate`.
    feature_names : tuple of str or None
        Names of the columns, if the training data were a frame with names.
    outcome_labels : OutcomeLabels
        What the outcome is called.
    """

    encoder: FeatureEncoder
    binner: Binner
    bins: NDArray[np.uint8]
    target: Target
    options: GrowOptions
    trees: Trees
    kernel: KernelSpace | None
    leaf_size_path: LeafSizePath | None
    calibration: Calibration | None
    feature_names: tuple[str, ...] | None
    outcome_labels: OutcomeLabels

    @property
    def n_features(self) -> int:
        """Number of features p."""
        return self.encoder.n_features

    @property
    def names(self) -> list[str]:
        """Names of the features; x0, x1, ... if the training data had none."""
        if self.feature_names is None:
            return [f"x{j}" for j in range(self.n_features)]
        return list(self.feature_names)

    @cached_property
    def times(self) -> NDArray[np.float64]:
        """At most 512 times that represent the distinct event times, in their own sign."""
        target = self.target
        has_event = np.zeros(target.times.shape[0], dtype=np.bool_)
        has_event[target.time_index[target.event == 1]] = True
        events = target.times[has_event]
        if len(events) > _MAX_TIMES:
            events = events[np.linspace(0, len(events) - 1, _MAX_TIMES).round().astype(int)]
        return np.sort(-events + 0.0) if target.mirrored else events

    @cached_property
    def horizon(self) -> float:
        """The time up to which is scored by default."""
        return auto_horizon(self.target)

    def distribution(
        self,
        features: _engine.Features,
        options: AnswerOptions,
        conditional_after: float | ArrayLike | None = None,
        *,
        keep: bool = True,
    ) -> Distribution:
        """Predict the law of T at encoded rows, shape (m, p); nothing is computed yet.

        `keep` is that of `TestPoints`: whether there will be more than one question.
        """
        return Distribution(TestPoints(self, features, options, keep), conditional_after)

    def out_of_bag(self, options: AnswerOptions) -> Distribution:
        """Predict the law of T at the training rows from the trees that did not draw them."""
        return Distribution(OutOfBag(self, options))

    def estimation(
        self,
        weights: _engine.Weights,
        options: AnswerOptions,
        places: NDArray[np.float64] | None,
    ) -> Estimation:
        """Estimate from weights on the training rows.

        Parameters
        ----------
        weights : engine object
            The weights of m test points.
        options : AnswerOptions
            How G is estimated.
        places : ndarray of shape (m, q) or None
            Where the test points are in the space of the kernel, if there is one.
        """
        kind, kernel = options.censoring_curve, self.kernel
        if kind == "kernel" and kernel is None:
            raise ValueError('censoring_curve="kernel" must be set before fit')
        censoring = _engine.Censoring(
            kind, options.n_neighbors, None if kernel is None else kernel.points, places
        )
        return Estimation(weights, self.target, censoring, n_threads=options.n_threads)

    def levels_of_time(self, options: AnswerOptions) -> int:
        """Into how many levels the times are divided; 0 if answers are exact."""
        return levels_of_time(
            options.time_resolution, self.target.n, self.trees.members_per_test_point
        )
