"""Test points, and the training rows out-of-bag: what a distribution is asked about."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from cqrf import _engine
from cqrf.solving.estimation import Estimation
from cqrf.solving.options import AnswerOptions
from cqrf.support.blocks import in_row_blocks

if TYPE_CHECKING:
    from cqrf.model.fitted import FittedModel

# Bins, and leaves, that are kept for further questions: at most so many bytes of each.
_KEPT_BYTES = 2**26


class Points(Protocol):
    """Rows that a fitted model answers for.

    Attributes
    ----------
    model : FittedModel
    options : AnswerOptions
    """

    @property
    def model(self) -> FittedModel:
        """What answers."""
        ...

    @property
    def options(self) -> AnswerOptions:
        """How it answers."""
        ...

    @property
    def keep(self) -> bool:
        """Whether further questions will come."""
        ...

    @property
    def n_rows(self) -> int:
        """Number of rows m."""
        ...

    @property
    def estimation(self) -> Estimation:
        """The weights of all of them, in the order in which they are answered."""
        ...

    def in_blocks(
        self, n_outputs: int, answer: Callable[[Estimation, slice], tuple[NDArray[Any], ...]]
    ) -> tuple[NDArray[Any], ...]:
        """Answer all rows, arrays of shape (m, ...); `n_outputs` is how many values a row has."""
        ...


@dataclass(frozen=True, eq=False)
class TestPoints:
    """Encoded rows that come to a model from outside.

    Rows are answered in blocks, so that what is held besides the answers does not grow with their
    number.

    Attributes
    ----------
    model : FittedModel
    features : engine object of shape (m, p)
        The rows; it refers to the arrays of the caller, which must not change meanwhile.
    options : AnswerOptions
    keep : bool
        Whether bins and leaves are found once for all questions, and kept as long as the points
        are: up to 64 MB of each. Otherwise every question finds them anew, which is a tenth faster
        if there is only one.
    """

    __test__ = False  # not a test case of pytest

    model: FittedModel
    features: _engine.Features
    options: AnswerOptions
    keep: bool = True

    @property
    def n_rows(self) -> int:
        """Number of rows m."""
        return self.features.shape[0]

    @property
    def estimation(self) -> Estimation:
        """The weights of all rows."""
        return self._estimation(slice(0, self.n_rows))

    def in_blocks(
        self, n_outputs: int, answer: Callable[[Estimation, slice], tuple[NDArray[Any], ...]]
    ) -> tuple[NDArray[Any], ...]:
        """Answer block after block; see `Points`."""
        kernel, n_features = self.model.kernel, self.features.shape[1]
        width = n_features if kernel is None else 8 * kernel.points.shape[1]
        return in_row_blocks(
            self.n_rows,
            max(width, n_outputs),
            lambda rows: answer(self._estimation(rows), rows),
        )

    def leaves(self) -> NDArray[np.int32]:
        """Find the leaf of every row in every tree, shape (m, B)."""
        if self._kept_leaves is not None:
            return self._kept_leaves.copy()
        trees, n_threads = self.model.trees, self.options.n_threads
        (leaves,) = in_row_blocks(
            self.n_rows,
            max(self.features.shape[1], len(trees)),
            lambda rows: (trees.engine.apply(self._bins(rows), n_threads),),
        )
        return leaves

    @cached_property
    def _kept_bins(self) -> NDArray[np.uint8] | None:
        if not self.keep or self.n_rows * self.features.shape[1] > _KEPT_BYTES:
            return None
        return self.model.binner.bin(self.features, None, self.options.n_threads)

    @cached_property
    def _kept_leaves(self) -> NDArray[np.int32] | None:
        n_bytes = 4 * self.n_rows * len(self.model.trees)
        if self._kept_bins is None or n_bytes > _KEPT_BYTES:
            return None
        return self.model.trees.engine.apply(self._kept_bins, self.options.n_threads)

    def _bins(self, rows: slice) -> NDArray[np.uint8]:
        if self._kept_bins is not None:
            return self._kept_bins[rows]
        whole = rows.stop - rows.start == self.n_rows
        positions = None if whole else np.arange(rows.start, rows.stop)
        return self.model.binner.bin(self.features, positions, self.options.n_threads)

    def _estimation(self, rows: slice) -> Estimation:
        model = self.model
        weights = _engine.Weights.of_forest(
            model.trees.engine,
            model.target.engine,
            self._bins(rows),
            model.levels_of_time(self.options),
            None if self._kept_leaves is None else self._kept_leaves[rows],
        )
        kernel = model.kernel
        places = None if kernel is None else kernel.transform(self.features, rows)
        return model.estimation(weights, self.options, places)


@dataclass(frozen=True, eq=False)
class OutOfBag:
    """The training rows, each answered by the trees that did not draw it, without itself.

    Rows that every tree has drawn have no answer: NaN, or False.

    Attributes
    ----------
    model : FittedModel
    options : AnswerOptions
    """

    model: FittedModel
    options: AnswerOptions

    keep: ClassVar[bool] = True

    @property
    def n_rows(self) -> int:
        """Number of training rows, those of weight zero included."""
        return self.model.target.n_rows

    @cached_property
    def estimation(self) -> Estimation:
        """The weights of the training rows, by rank."""
        model, grown = self.model, self.model.options
        if not grown.replace and grown.n_draws == model.target.n:
            raise ValueError(
                "out-of-bag answers need trees that leave rows out: set bootstrap=True or "
                "max_samples"
            )
        weights = _engine.Weights.out_of_bag(
            model.trees.engine,
            model.target.engine,
            model.bins,
            model.trees.seed,
            grown.n_draws,
            grown.replace,
            grown.group_size,
        )
        places = None if model.kernel is None else model.kernel.points
        return model.estimation(weights, self.options, places)

    def in_blocks(
        self, n_outputs: int, answer: Callable[[Estimation, slice], tuple[NDArray[Any], ...]]
    ) -> tuple[NDArray[Any], ...]:
        """Answer all ranks at once, and put them in the order of the rows; see `Points`."""
        ranked = answer(self.estimation, slice(0, self.model.target.n))
        return tuple(
            self.model.target.by_row(values, False if values.dtype == np.bool_ else np.nan)
            for values in ranked
        )
