"""From weights to answers: the second line of the data flow, behind every public door.

Left censoring is undone here. The target is negated when it is built (`cqrf.data.outcome`), all
curves are those of right-censored data, and the answers are reflected back on the way out.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cqrf import _engine
from cqrf.data.outcome import Target
from cqrf.solving.curves import StepFunction
from cqrf.solving.options import check_condition

Which = Literal["survival", "censoring", "at_risk_after", "cumulative_hazard"]


@dataclass(frozen=True, eq=False)
class Estimation:
    """The weights of m test points on the training rows, and what can be made of them.

    Attributes
    ----------
    weights : engine object
        Computes the weights of one test point at a time; they are never held all at once.
    target : Target
        The training outcomes.
    censoring : engine object
        The estimator of G.
    n_threads : int
        Threads used; answers do not depend on it.
    block_size : int
        Most test points per unit of work; answers do not depend on it.
    """

    weights: _engine.Weights
    target: Target
    censoring: _engine.Censoring
    n_threads: int = 1
    block_size: int = 1024

    def quantiles(
        self,
        quantiles: NDArray[np.float64],
        *,
        solver: str,
        interpolation: str,
        conditional_after: ArrayLike | None = None,
    ) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Solve the estimating equation for all levels at once.

        Parameters
        ----------
        quantiles : ndarray of shape (q,) or (m, q)
            Levels tau, the same for all test points or not.
        solver, interpolation : str
            As in `solve_quantiles`.
        conditional_after : float or array-like of shape (m,), optional
            Quantiles of T given that T is beyond this time.

        Returns
        -------
        answers : ndarray of shape (m, q), float64
            Finite; where not identified, the largest weighted time (smallest under left
            censoring). NaN in rows without any weight.
        identified : ndarray of shape (m, q), bool
        """
        after = check_condition(conditional_after, self.weights.rows)
        if after is not None:
            after = np.ascontiguousarray(-after if self.target.mirrored else after)
        # Mirrored, the quantile of level tau is the negated quantile of level 1 - tau.
        levels = 1.0 - (1.0 - quantiles) if self.target.mirrored else 1.0 - quantiles
        answers, identified = self.weights.quantiles(
            np.ascontiguousarray(np.atleast_2d(levels)),
            after,
            self.censoring,
            solver,
            interpolation,
            self.target.mirrored,
            self.n_threads,
            self.block_size,
        )
        return self._reflect_times(answers), identified.view(np.bool_)

    def curve(self, which: Which, times: NDArray[np.float64]) -> NDArray[np.float64]:
        """Evaluate a curve of every test point, shape (m, g), at times of shape (g,)."""
        order = np.argsort(times, kind="stable")
        if self.target.mirrored:
            if which == "cumulative_hazard":
                functions = [s.cumulative_hazard() for s in self.survival_functions()]
                return np.stack([f(times) for f in functions])
            # P(-T > t) = 1 - P(T >= -t): reversed order, limits from the left.
            order = order[::-1]
            values = 1.0 - self._grid(which, -times[order], left_limit=True)
        else:
            values = self._grid(which, times[order], left_limit=False)
        result = np.empty_like(values)
        result[:, order] = values
        return result

    def estimating_function(self, q: NDArray[np.float64], tau: float) -> NDArray[np.float64]:
        """Compute S_n(q; tau) = (1 - tau) G(q) - P(q) for every test point, shape (m, len(q))."""
        order = np.argsort(-q if self.target.mirrored else q, kind="stable")
        at = (-q if self.target.mirrored else q)[order]
        level = tau if self.target.mirrored else 1.0 - tau
        values = level * self._grid("censoring", at, left_limit=False) - self._grid(
            "at_risk_after", at, left_limit=False
        )
        result = np.empty_like(values)
        result[:, order] = values
        return result

    def survival_functions(self) -> list[StepFunction]:
        """S of every test point as a step function with the times that carry weight."""
        indptr, time_index, survival, _, _ = self.steps()
        return self._step_functions(indptr, time_index, survival)

    def censoring_functions(self) -> list[StepFunction]:
        """P(C > t) of every test point as a step function."""
        indptr, time_index, _, censoring, everywhere = self.steps()
        # A curve that jumps where the forest has no weight is known at all distinct times.
        if everywhere.size:
            n_times = self.target.times.shape[0]
            indptr = np.arange(len(indptr)) * n_times
            time_index = np.tile(np.arange(n_times), len(indptr) - 1)
            censoring = everywhere
        return self._step_functions(indptr, time_index, censoring)

    def restricted_mean(self, horizon: float) -> NDArray[np.float64]:
        """E[min(T, horizon)] of every test point, shape (m,)."""
        mirrored = self.target.mirrored
        means = self.weights.restricted_mean(
            -horizon if mirrored else horizon,
            mirrored,
            self.censoring,
            self.n_threads,
            self.block_size,
        )
        return self._reflect_times(means)

    def calibration(
        self, times: NDArray[np.float64], n_classes: int, least_censoring: float
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        r"""Compare every test point's own time with its quantiles; mirrored if the target is.

        Parameters
        ----------
        times : ndarray of shape (m,), float64
            Times of the test points; negated under left censoring.
        n_classes : int
            Classes of levels in whose middle weights are taken.
        least_censoring : float
            Where G is smaller, it counts as this.

        Returns
        -------
        levels : ndarray of shape (m,), float64
            The largest level whose quantile, by midpoints, is no later than the own time. NaN in
            rows without any weight.
        weights : ndarray of shape (m, n_classes), float64
            :math:`1 / G(\hat q_a-)` at the middle a of every class.
        """
        return self.weights.calibration(
            np.ascontiguousarray(times),
            n_classes,
            least_censoring,
            self.censoring,
            self.n_threads,
            self.block_size,
        )

    def _grid(
        self, which: Which, times: NDArray[np.float64], *, left_limit: bool
    ) -> NDArray[np.float64]:
        return self.weights.grid(
            which,
            np.ascontiguousarray(times),
            left_limit,
            self.censoring,
            self.n_threads,
            self.block_size,
        )

    def steps(self) -> tuple[NDArray[Any], ...]:
        """Compute the curves of all test points, one after the other; mirrored if the target is.

        Returns
        -------
        indptr : ndarray of shape (m + 1,), int64
            Where the steps of each test point begin.
        time_index : ndarray of shape (steps,), uint32
            Times with weight, as indices into ``target.times``.
        survival, censoring : ndarray of shape (steps,), float64
            S and G there.
        everywhere : ndarray of shape (r * K,) or (0,), float64
            G at all times, where it jumps at times without weight; of the r test points that have
            any weight.
        """
        return self.weights.curves(self.censoring, self.n_threads, self.block_size)

    def _step_functions(
        self, indptr: NDArray[np.int64], time_index: NDArray[Any], values: NDArray[np.float64]
    ) -> list[StepFunction]:
        times = self.target.times[time_index]
        functions = [
            StepFunction(x=times[begin:end], y=values[begin:end], initial=1.0)
            for begin, end in pairwise(indptr)
        ]
        return [f.reflected() for f in functions] if self.target.mirrored else functions

    def _reflect_times(self, times: NDArray[np.float64]) -> NDArray[np.float64]:
        # Adding zero turns -0.0 into 0.0.
        return -times + 0.0 if self.target.mirrored else times


def mark_unreached(
    answers: NDArray[np.float64],
    identified: NDArray[np.bool_],
    unreached: str,
    *,
    mirrored: bool,
) -> NDArray[np.float64]:
    """Replace the answers that are not identified, unless `unreached` is "clip"."""
    if unreached == "clip":
        return answers
    mark = np.nan if unreached == "nan" else (-np.inf if mirrored else np.inf)
    # A row without any weight has no answer at all, not one out of reach.
    return np.where(identified | np.isnan(answers), answers, mark)
