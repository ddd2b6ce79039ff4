"""Curves of one test point as functions of time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray


@dataclass(frozen=True, eq=False)
class StepFunction:
    """A right-continuous step function.

    Attributes
    ----------
    x : ndarray of shape (k,), float64
        Times at which the function may jump, ascending.
    y : ndarray of shape (k,), float64
        Value from ``x[j]`` on, up to the next time.
    initial : float
        Value before ``x[0]``.

    Examples
    --------
    >>> from cqrf import StepFunction
    >>> survival = StepFunction(x=[1.0, 2.0], y=[0.5, 0.0], initial=1.0)
    >>> survival([0.0, 1.0, 1.5, 9.0])
    array([1. , 0.5, 0.5, 0. ])
    """

    x: NDArray[np.float64]
    y: NDArray[np.float64]
    initial: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "x", np.asarray(self.x, dtype=np.float64))
        object.__setattr__(self, "y", np.asarray(self.y, dtype=np.float64))
        if self.x.ndim != 1 or self.x.shape != self.y.shape:
            raise ValueError(
                f"x and y must be one-dimensional and of one length; their shapes are "
                f"{self.x.shape} and {self.y.shape}"
            )
        if (np.diff(self.x) < 0).any():
            raise ValueError("x must be ascending")

    def __call__(self, times: ArrayLike) -> NDArray[np.float64]:
        """Evaluate the function.

        Parameters
        ----------
        times : array-like of any shape
            Where to evaluate.

        Returns
        -------
        ndarray of the same shape, float64
        """
        at = np.searchsorted(self.x, np.asarray(times, dtype=np.float64), side="right")
        values: NDArray[np.float64] = np.concatenate([[self.initial], self.y])[at]
        return values

    def reflected(self) -> StepFunction:
        r"""Survival function of :math:`-T`, where this is the survival function of :math:`T`.

        :math:`P(-T > t) = 1 - P(T \ge -t)`, the limit from the left: values move by one jump.
        """
        before = np.concatenate([[self.initial], self.y])
        values = 1.0 - before[::-1]
        return StepFunction(x=-self.x[::-1] + 0.0, y=values[1:], initial=float(values[0]))

    def beyond(self, a: float) -> StepFunction:
        r"""Survival function of T given T > a, where this is the survival function of T.

        :math:`P(T > t \mid T > a) = S(t) / S(a)` from a on, and 1 before; NaN after a if nothing is
        left of S there.
        """
        left = float(self(a))
        if not left > 0.0:
            return StepFunction(x=np.nextafter([a], np.inf), y=np.array([np.nan]))
        first = int(np.searchsorted(self.x, a, side="right"))
        return StepFunction(x=self.x[first:], y=self.y[first:] / left)

    def integral(self, begin: float, end: float) -> float:
        """Area under the function between two times, ``begin <= end``."""
        inner = self.x[(self.x > begin) & (self.x < end)]
        edges = np.concatenate([[begin], inner, [end]])
        return float(np.diff(edges) @ self(edges[:-1]))

    def cumulative_hazard(self) -> StepFunction:
        r"""Cumulative hazard :math:`\sum_{x_j \le t} (1 - S(x_j) / S(x_j-))` of this survival."""
        before = np.concatenate([[self.initial], self.y[:-1]]) if len(self.y) else self.y
        ratio = np.divide(self.y, before, out=np.ones_like(before), where=before > 0.0)
        return StepFunction(x=self.x, y=np.cumsum(1.0 - ratio), initial=0.0)


def step_functions(functions: list[StepFunction]) -> NDArray[np.object_]:
    """Put step functions into an object array of shape (m,)."""
    array = np.empty(len(functions), dtype=object)
    array[:] = functions
    return array
