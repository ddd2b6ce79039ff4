"""The predicted law of T at some rows: the one object that every answer is read from."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from cqrf.model.intervals import BOTH, conformal_bounds, hidden_sides, tails
from cqrf.model.little_bags import LittleBags
from cqrf.model.points import Points
from cqrf.solving.curves import StepFunction, step_functions
from cqrf.solving.estimation import Estimation, Which, mark_unreached
from cqrf.solving.options import UNREACHED, check_condition, check_solving
from cqrf.support.checks import (
    DEFAULT_COVERAGE,
    check_choice,
    check_coverage,
    check_quantiles,
    check_times,
)
from cqrf.support.warn import warn

Array = NDArray[np.float64]


class Distribution:
    r"""The predicted law of T at m rows; made by `CensoredQuantileForest.distribution`.

    Nothing is computed before it is asked for. Rows are answered in blocks; their leaves are found
    once (of up to 16,000 rows and 1,000 trees), and quantiles that were solved last are kept.

    With a condition all answers are about T given that T exceeds a time a, one for every row:
    :math:`P(T > t \mid T > a) = S(t) / S(a)` for t beyond a, and 1 before.

    Parameters
    ----------
    points : Points
        The rows, and the fitted model that answers for them.
    conditional_after : float or array-like of shape (m,), optional
        The time a that T is known to exceed.
    """

    def __init__(self, points: Points, conditional_after: float | ArrayLike | None = None) -> None:
        self.points = points
        self._after = check_condition(conditional_after, points.n_rows)
        self._last: tuple[tuple[bytes, str, str], Array, NDArray[np.bool_]] | None = None

    def __len__(self) -> int:
        """Return the number of rows m."""
        return self.points.n_rows

    def quantile(
        self,
        levels: float | ArrayLike = 0.5,
        *,
        interpolation: str | None = None,
        unreached: str = "clip",
    ) -> Array:
        """Compute quantiles of T.

        Parameters
        ----------
        levels : float or array-like of shape (q,), default=0.5
            Levels in (0, 1).
        interpolation : {"midpoint", "lower", "linear"}, optional
            Overrides the parameter of the forest.
        unreached : {"clip", "nan", "inf"}, default="clip"
            What stands for a quantile that the censored data do not identify: the largest time
            with weight (the smallest under left censoring), NaN, or infinity.

        Returns
        -------
        ndarray of shape (m,) for one level, (m, q) for several, float64
        """
        asked, scalar = check_quantiles(levels)
        chosen = self.points.options.interpolation if interpolation is None else interpolation
        check_solving(self.points.options.solver, chosen, unreached)
        answers = self._solved(
            asked,
            lambda found, reached: mark_unreached(
                found, reached, unreached, mirrored=self._mirrored
            ),
            chosen,
        )
        return answers[:, 0] if scalar else answers

    def identified(self, levels: float | ArrayLike = 0.5) -> NDArray[np.bool_]:
        """Tell which quantiles the censored data identify.

        Parameters
        ----------
        levels : float or array-like of shape (q,), default=0.5
            Levels in (0, 1).

        Returns
        -------
        ndarray of shape (m,) for one level, (m, q) for several, bool
            False where the survival curve never falls to ``1 - level`` (of its value at the time
            that T is known to exceed): what `quantile` returns there is a bound, not an estimate.
        """
        asked, scalar = check_quantiles(levels)
        identified = self._solved(asked, lambda _, reached: reached)
        return identified[:, 0] if scalar else identified

    def solve(
        self, levels: Array, interpolation: str, solver: str
    ) -> tuple[Array, NDArray[np.bool_]]:
        """Solve the estimating equation; the last solutions are kept, and must not be changed.

        Parameters
        ----------
        levels : ndarray of shape (q,), float64
            Levels in (0, 1).
        interpolation, solver : str
            As the parameters of the forest.

        Returns
        -------
        answers : ndarray of shape (m, q), float64
            A bound where not identified.
        identified : ndarray of shape (m, q), bool
        """
        asked = (levels.tobytes(), interpolation, solver)
        # Read once: another thread may ask for other levels meanwhile.
        last = self._last
        if last is None or last[0] != asked:
            answers, identified = self.points.in_blocks(
                len(levels), self._solver(levels, interpolation, solver)
            )
            last = self._last = asked, answers, identified
        return last[1:]

    def survival(self, times: ArrayLike | None = None) -> Array | NDArray[np.object_]:
        """Compute the survival function S(t) = P(T > t).

        Parameters
        ----------
        times : array-like of shape (g,), optional
            Times to evaluate it at. Beyond the last time of a censored training record (under left
            censoring before the first one) nothing is known: the curve is carried on unchanged,
            with a warning.

        Returns
        -------
        ndarray of shape (m, g), float64, or ndarray of shape (m,) of StepFunction without `times`
        """
        if times is None:
            return step_functions(self._survival_functions())
        return self.curve("survival", self._checked_times("times", times))

    def censoring(self, times: ArrayLike | None = None) -> Array | NDArray[np.object_]:
        """Compute the survival function G(t) = P(C > t) of the censoring time.

        Parameters
        ----------
        times : array-like of shape (g,), optional
            As in `survival`.

        Returns
        -------
        ndarray of shape (m, g), float64, or ndarray of shape (m,) of StepFunction without `times`
        """
        self._refuse_condition("censoring")
        if times is None:
            return step_functions(self.estimation.censoring_functions())
        return self.curve("censoring", self._checked_times("times", times))

    def cumulative_hazard(self, times: ArrayLike | None = None) -> Array | NDArray[np.object_]:
        """Compute the cumulative hazard, the sum of d_k / R_k over the event times up to t.

        Parameters
        ----------
        times : array-like of shape (g,), optional
            As in `survival`.

        Returns
        -------
        ndarray of shape (m, g), float64, or ndarray of shape (m,) of StepFunction without `times`
        """
        if times is None:
            survival = self._survival_functions()
            return step_functions([function.cumulative_hazard() for function in survival])
        return self.curve("cumulative_hazard", self._checked_times("times", times))

    def curve(self, which: Which, times: Array) -> Array:
        """Evaluate a curve, shape (m, g), at times that are checked already, shape (g,)."""
        if self._after is None:
            return self._one(len(times), lambda estimation, _: estimation.curve(which, times))
        functions = self._survival_functions()
        if which == "cumulative_hazard":
            functions = [function.cumulative_hazard() for function in functions]
        return np.stack([function(times) for function in functions])

    def interval(
        self, coverage: float = DEFAULT_COVERAGE, *, method: str = "forest", unreached: str = "inf"
    ) -> Array:
        """Compute an interval that holds T with the given probability.

        Parameters
        ----------
        coverage : float, default=0.95
            Probability in (0, 1).
        method : {"forest", "conformal"}, default="forest"
            Between quantiles of the forest, or between those at which either end missed T as often
            as it may among the rows of `CensoredQuantileForest.calibrate`.
        unreached : {"inf", "clip", "nan"}, default="inf"
            What stands for the end that the censored data do not identify.

        Returns
        -------
        ndarray of shape (m, 2), float64
            Lower and upper end.
        """
        levels = tails(check_coverage(coverage))
        check_choice("unreached", unreached, UNREACHED)
        if check_choice("method", method, ("forest", "conformal")) == "forest":
            hidden = hidden_sides(BOTH, mirrored=self._mirrored)
            return self._solved(
                levels,
                lambda found, reached: mark_unreached(
                    found, reached | ~hidden, unreached, mirrored=self._mirrored
                ),
            )
        if self._after is not None:
            raise ValueError('conditional_after does not go with method="conformal"')
        return self._conformal(float(levels[0]), BOTH, unreached)

    def lower_bound(self, coverage: float = DEFAULT_COVERAGE) -> Array:
        """Compute a time that T exceeds with the given probability, by conformal calibration.

        Parameters
        ----------
        coverage : float, default=0.95
            Probability in (0, 1).

        Returns
        -------
        ndarray of shape (m,), float64
            ``-inf`` where there is none.
        """
        return self._conformal(1.0 - check_coverage(coverage), ("lower",), "inf")[:, 0]

    def upper_bound(self, coverage: float = DEFAULT_COVERAGE) -> Array:
        """Compute a time that T does not exceed with the given probability, likewise.

        Parameters
        ----------
        coverage : float, default=0.95
            Probability in (0, 1).

        Returns
        -------
        ndarray of shape (m,), float64
            ``inf`` where there is none.
        """
        return self._conformal(1.0 - check_coverage(coverage), ("upper",), "inf")[:, 0]

    def rmst(self, horizon: float) -> Array:
        r"""Compute the restricted mean E[min(T, horizon)].

        It is :math:`t_1 + \int_{t_1}^h S(t)\,dt` from the smallest training time :math:`t_1` on, or
        the horizon where that is smaller; given T > a it is :math:`a + \int_a^h S(t)\,dt / S(a)`,
        or the horizon. Where S is not known up to the horizon, its last value is carried on; with a
        warning, if the horizon lies beyond the last time of a censored training record.

        Parameters
        ----------
        horizon : float
            Time at which T is cut.

        Returns
        -------
        ndarray of shape (m,), float64
        """
        limit = self._checked_horizon(horizon)
        if self._after is None:
            return self._one(1, lambda estimation, _: estimation.restricted_mean(limit))
        return np.array(
            [
                limit if limit <= a else a + curve.integral(a, limit)
                for a, curve in zip(self._after, self._survival_functions(), strict=True)
            ]
        )

    def mean_residual_life(self, horizon: float) -> Array:
        """Compute the mean time that is left, E[min(T, horizon) - a] given that T exceeds a.

        Parameters
        ----------
        horizon : float
            Time at which T is cut.

        Returns
        -------
        ndarray of shape (m,), float64
            Zero where the horizon does not lie beyond the time a that T is known to exceed.
        """
        if self._after is None:
            raise ValueError(
                "mean_residual_life needs the time that T is known to exceed: "
                "distribution(X, conditional_after=...)"
            )
        return np.maximum(self.rmst(horizon) - self._after, 0.0)

    def quantile_std(self, levels: float | ArrayLike = 0.5) -> Array:
        """Compute standard errors of quantiles, from little bags.

        Parameters
        ----------
        levels : float or array-like of shape (q,), default=0.5
            Levels in (0, 1).

        Returns
        -------
        ndarray of shape (m,) for one level, (m, q) for several, float64
            NaN where the data leave the quantile open.
        """
        asked, scalar = check_quantiles(levels)
        bags = self._little_bags()
        std = bags.quantile_std(asked, *self.solve(asked, "midpoint", "root"))
        return std[:, 0] if scalar else std

    def quantile_interval(self, level: float = 0.5, confidence: float = DEFAULT_COVERAGE) -> Array:
        """Compute a confidence interval of a quantile itself, from little bags.

        Parameters
        ----------
        level : float, default=0.5
            Level in (0, 1).
        confidence : float, default=0.95
            Probability in (0, 1) with which the interval holds the quantile.

        Returns
        -------
        ndarray of shape (m, 2), float64
            Lower and upper end; infinite where the data set no limit.
        """
        asked, scalar = check_quantiles(level, "quantile")
        if not scalar:
            raise ValueError(f"quantile must be one number; received {level!r}")
        confidence = check_coverage(confidence, "confidence")
        bags = self._little_bags()
        found = self.solve(asked, "midpoint", "root")
        return bags.quantile_interval(asked, confidence, *found)

    def survival_std(self, times: ArrayLike) -> Array:
        """Compute standard errors of S, from little bags.

        Parameters
        ----------
        times : array-like of shape (g,)
            Times.

        Returns
        -------
        ndarray of shape (m, g), float64
        """
        return self._little_bags().survival_std(check_times("times", times))

    def estimating_function(self, q: float | ArrayLike, level: float) -> Array:
        """Evaluate S_n(q; tau) = (1 - tau) G(q) - P(q), whose root is the quantile.

        Parameters
        ----------
        q : float or array-like of shape (g,)
            Candidate times.
        level : float
            Level tau.

        Returns
        -------
        ndarray of shape (m, g), float64
            Under left censoring, that of the negated times at level ``1 - tau``.
        """
        self._refuse_condition("estimating_function")
        levels, scalar = check_quantiles(level, "quantile")
        if not scalar:
            raise ValueError(f"quantile must be one number; received {level!r}")
        candidates, tau = check_times("q", q), float(levels[0])
        return self._one(
            len(candidates), lambda estimation, _: estimation.estimating_function(candidates, tau)
        )

    def weights(self) -> sparse.csr_array:
        """Compute the weights of the training rows (paper, eq. rf_weight).

        Returns
        -------
        scipy.sparse.csr_array of shape (m, n), float64
            Columns are the training rows in the order of `fit`; rows sum to one.
        """
        estimation = self.estimation
        indptr, indices, values = estimation.weights.matrix(
            estimation.n_threads, estimation.block_size
        )
        shape = (estimation.weights.rows, estimation.target.n_rows)
        weights = sparse.csr_array((values, indices, indptr), shape=shape)
        weights.sort_indices()
        return weights

    @property
    def estimation(self) -> Estimation:
        """Weights and curves of all rows, for those who need more than the answers above."""
        return self.points.estimation

    @property
    def _mirrored(self) -> bool:
        return self.points.model.target.mirrored

    def _solver(
        self, levels: Array, interpolation: str, solver: str
    ) -> Callable[[Estimation, slice], tuple[Array, NDArray[np.bool_]]]:
        return lambda estimation, rows: estimation.quantiles(
            levels,
            solver=solver,
            interpolation=interpolation,
            conditional_after=None if self._after is None else self._after[rows],
        )

    def _solved(
        self,
        levels: Array,
        finish: Callable[[Array, NDArray[np.bool_]], NDArray[Any]],
        interpolation: str | None = None,
    ) -> NDArray[Any]:
        """Turn the solutions for all rows, shape (m, q), into one array.

        Where no further question will come, block by block: then the other array is never held.
        """
        options = self.points.options
        how = (options.interpolation if interpolation is None else interpolation, options.solver)
        if self.points.keep:
            return np.array(finish(*self.solve(levels, *how)))
        solve = self._solver(levels, *how)
        return self._one(len(levels), lambda estimation, rows: finish(*solve(estimation, rows)))

    def _one(
        self, n_outputs: int, answer: Callable[[Estimation, slice], NDArray[Any]]
    ) -> NDArray[Any]:
        """Answer all rows with one array."""
        (values,) = self.points.in_blocks(
            n_outputs, lambda estimation, rows: (answer(estimation, rows),)
        )
        return values

    def _survival_functions(self) -> list[StepFunction]:
        functions = self.estimation.survival_functions()
        if self._after is None:
            return functions
        return [curve.beyond(a) for curve, a in zip(functions, self._after, strict=True)]

    def _conformal(self, miss: float, sides: tuple[str, ...], unreached: str) -> Array:
        """Bounds (m, sides), each of which misses T with probability `miss`."""
        self._refuse_condition("a conformal bound")
        calibration = self.points.model.calibration
        if calibration is None:
            raise ValueError("conformal answers need a calibration: call calibrate first")
        return conformal_bounds(self.points, calibration, miss, sides, unreached)

    def _little_bags(self) -> LittleBags:
        self._refuse_condition("a standard error")
        model = self.points.model
        return LittleBags.of(
            self.estimation,
            self.points.options.censoring_curve,
            model.options.group_size,
            len(model.trees),
        )

    def _refuse_condition(self, what: str) -> None:
        if self._after is not None:
            raise ValueError(f"{what} does not go with conditional_after")

    def _checked_times(self, name: str, times: ArrayLike) -> Array:
        grid = check_times(name, times)
        self._warn_beyond_record(name, grid)
        return grid

    def _checked_horizon(self, horizon: float) -> float:
        limit = check_times("horizon", horizon)
        if limit.shape != (1,):
            raise ValueError(f"horizon must be one number; received {horizon!r}")
        self._warn_beyond_record("horizon", limit)
        return float(limit[0])

    def _warn_beyond_record(self, name: str, times: Array) -> None:
        """Warn, once, of times behind all those of the training record, where S is not known."""
        target = self.points.model.target
        end = target.observed[-1]
        beyond = times < end if target.mirrored else times > end
        # Where nothing is censored, S is known everywhere.
        if target.event.all() or not beyond.any():
            return
        which = "before the first" if target.mirrored else "beyond the last"
        warn(
            f"{name} {'reaches' if name == 'horizon' else 'reach'} {which} time of the training "
            f"record, {end:g}: from there on the curve is carried on unchanged"
        )
