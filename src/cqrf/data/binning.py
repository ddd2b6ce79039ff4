"""Features as bins: a byte per value, cut points learned once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from cqrf import _engine
from cqrf.data.outcome import Target
from cqrf.support.records import Record


@dataclass(frozen=True, eq=False)
class Binner(Record):
    """Cut points of every feature.

    A number x has the bin ``#{cuts < x}``, a category its own bin (the rarest share one where
    there are too many); NaN and unknown categories have the bin ``n_bins``.

    Attributes
    ----------
    cuts : ndarray, float64
        Cut points of all numeric features, one feature after the other, ascending.
    cut_offset : ndarray of shape (p + 1,), int64
    category_bins : ndarray, uint8
        Bin of every category code of all categorical features, one after the other.
    category_offset : ndarray of shape (p + 1,), int64
    n_bins : ndarray of shape (p,), uint8
        Number of bins, the one for missing values not counted.
    """

    cuts: NDArray[np.float64]
    cut_offset: NDArray[np.int64]
    category_bins: NDArray[np.uint8]
    category_offset: NDArray[np.int64]
    n_bins: NDArray[np.uint8]

    @classmethod
    def from_data(
        cls,
        features: _engine.Features,
        target: Target,
        n_categories: NDArray[np.int64],
        *,
        max_bins: int,
        n_threads: int,
    ) -> Binner:
        """Learn cut points from the encoded training rows, shape (n_rows, p).

        Quantiles are those of at most 100,000 rows, at equal distances in time order.
        """
        mapper = _engine.BinMapper.find(
            features, target.order, target.weight, n_categories, max_bins, n_threads
        )
        return cls(*mapper.state())

    @property
    def is_categorical(self) -> NDArray[np.uint8]:
        """1 for every categorical feature, shape (p,)."""
        return (np.diff(self.category_offset) > 0).astype(np.uint8)

    def bin(
        self, features: _engine.Features, rows: NDArray[np.int64] | None, n_threads: int
    ) -> NDArray[np.uint8]:
        """Bins of the given rows of encoded features (None: of all), shape (m, p)."""
        return self.engine.bin(features, rows, n_threads)

    @cached_property
    def engine(self) -> _engine.BinMapper:
        """The same cut points in the engine, which checks them."""
        return _engine.BinMapper.from_state(
            self.cuts, self.cut_offset, self.category_bins, self.category_offset, self.n_bins
        )
