"""Covariates as points of a space with a distance, for the kernel censoring curve."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real

import numpy as np
from numpy.typing import NDArray

from cqrf import _engine
from cqrf.support.checks import as_float


@dataclass(frozen=True, eq=False)
class KernelSpace:
    r"""Scaling under which the Nadaraya-Watson kernel is :math:`\exp(-|z - z_i|^2 / 2)`.

    Numeric columns are divided by their standard deviation and by the bandwidth; constant ones
    do not count. Two different categories are at distance one over the bandwidth.

    Attributes
    ----------
    scale : ndarray of shape (p,), float64
        What numeric columns are multiplied by.
    n_categories : ndarray of shape (p,), int64
        Number of categories; 0 for a numeric column.
    bandwidth : float
        The bandwidth :math:`a_n`.
    points : ndarray of shape (n, q), float64
        The training rows, in rank order.
    """

    scale: NDArray[np.float64]
    n_categories: NDArray[np.int64]
    bandwidth: float
    points: NDArray[np.float64]

    @classmethod
    def from_data(
        cls,
        features: _engine.Features,
        order: NDArray[np.int64],
        weight: NDArray[np.float64] | None,
        n_categories: NDArray[np.int64],
        bandwidth: object,
    ) -> KernelSpace:
        """Learn the scaling from the encoded training rows, in the order of their ranks."""
        n, p = len(order), features.shape[1]
        # Scott's rule; covariates have unit variance.
        a_n = n ** (-1.0 / (p + 4)) if bandwidth is None else check_bandwidth(bandwidth)
        spread = np.zeros(p)
        for j in range(p):
            values = features.column(j)[order]
            known = ~np.isnan(values)
            if known.any():
                spread[j] = _standard_deviation(
                    values[known], None if weight is None else weight[known]
                )
        scale = np.divide(1.0 / a_n, spread, out=np.zeros(p), where=spread > 0.0)
        draft = cls(scale, n_categories, a_n, np.empty((0, 0)))
        return cls(scale, n_categories, a_n, draft.transform(features)[order])

    def transform(
        self, features: _engine.Features, rows: slice | None = None
    ) -> NDArray[np.float64]:
        """Map encoded rows of shape (m, p), all or some, to points of shape (m, q)."""
        columns = []
        for j, n_categories in enumerate(self.n_categories):
            values = features.column(j)[slice(None) if rows is None else rows]
            if n_categories == 0:
                columns.append((values * self.scale[j])[:, None])
                continue
            # One-hot points of two categories are sqrt(2) apart.
            one_hot = (values[:, None] == np.arange(n_categories)) / (np.sqrt(2) * self.bandwidth)
            columns.append(np.where((values >= 0)[:, None], one_hot, np.nan))
        return np.ascontiguousarray(np.concatenate(columns, axis=1))

    def feature_of_coordinate(self) -> NDArray[np.int64]:
        """Position of the feature that every coordinate of a point comes from, shape (q,)."""
        return np.repeat(np.arange(len(self.n_categories)), np.maximum(self.n_categories, 1))


def _standard_deviation(values: NDArray[np.float64], weight: NDArray[np.float64] | None) -> float:
    deviation = values - np.average(values, weights=weight)
    return float(np.sqrt(np.average(deviation**2, weights=weight)))


def check_bandwidth(bandwidth: object) -> float:
    """Refuse anything but a positive finite number."""
    if not isinstance(bandwidth, Real) or isinstance(bandwidth, bool):
        raise TypeError(f"bandwidth must be a number or None; received {bandwidth!r}")
    value = as_float(bandwidth)
    if not 0.0 < value < np.inf:
        raise ValueError(f"bandwidth must be positive and finite; received {bandwidth!r}")
    return value
