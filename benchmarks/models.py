"""The ten models on which accuracy is measured, and what is measured."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cqrf.datasets import (
    make_aft,
    make_crossing,
    make_heteroscedastic,
    make_location_scale,
    make_manifold,
    make_sine,
)

LEVELS = np.array([0.1, 0.3, 0.5, 0.7, 0.9])
N_TEST = 500


@dataclass(frozen=True)
class Model:
    """A simulator with its arguments and the number of training rows."""

    make: Callable[..., Any]
    n: int
    arguments: dict[str, Any] = field(default_factory=dict)

    def draw(self, replication: int, n: int | None = None) -> tuple[Any, Any]:
        """Training and test data of a replication."""
        return (
            self.make(self.n if n is None else n, random_state=replication, **self.arguments),
            self.make(N_TEST, random_state=1_000_000 + replication, **self.arguments),
        )


MODELS = {
    "AFT, 1-D": Model(make_aft, 300),
    "sine, 1-D": Model(make_sine, 300),
    "AFT, 1-D, 45% censored": Model(make_aft, 300, {"rate": 0.20}),
    "AFT, 5-D": Model(make_aft, 500, {"n_features": 5}),
    "manifold, 5-D": Model(make_manifold, 500, {"rate": 0.045}),
    "AFT, 5-D, C(x)": Model(make_aft, 500, {"n_features": 5, "dependent_censoring": True}),
    "AFT, 5-D + 20 noise": Model(make_aft, 500, {"n_features": 5, "n_noise": 20}),
    "heteroscedastic, 40-D": Model(make_heteroscedastic, 1000),
    "location-scale, 5-D": Model(make_location_scale, 500),
    "crossing hazards": Model(make_crossing, 500),
}


def mad(predicted: NDArray[np.float64], test: Any) -> float:
    """Mean absolute deviation from the true quantiles, over test points and levels."""
    return float(np.abs(predicted - test.quantile(test.X, LEVELS)).mean())


def geometric_mean(values: ArrayLike) -> float:
    return float(np.exp(np.mean(np.log(np.asarray(values)))))
