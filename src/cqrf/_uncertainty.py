"""Intervals and bounds: of T, plain and calibrated, and of its quantiles."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from cqrf._answers import FittedForest, of_rows
from cqrf.data.outcome import parse_outcome
from cqrf.model.conformal import Calibration, calibrate
from cqrf.solving.estimation import UNREACHED, Estimation, check_condition, mark_unreached
from cqrf.support.checks import check_choice, check_coverage, check_quantiles, check_same_rows

_BOTH = ("lower", "upper")


class CalibratedForest(FittedForest):
    """A forest that knows how far its answers can be relied on."""

    calibration_: Calibration | None

    def calibrate(
        self, X: Any = None, y: Any = None, event: ArrayLike | None = None
    ) -> CalibratedForest:
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
        target = self.target_
        if X is None:
            if y is not None or event is not None:
                raise ValueError("y and event need X: give all of them or none")
            estimation = self._oob_estimation()
            time, seen = target.times[target.time_index], target.event == 1
        else:
            check_same_rows(X=X, y=y, event=event)
            time, seen = parse_outcome(y, event)
            estimation = self._estimation(X)
            if estimation.weights.rows != len(time):
                raise ValueError(
                    f"X and y differ in length: X has {estimation.weights.rows} rows, "
                    f"y has {len(time)}"
                )
            if target.mirrored:
                time = -time
        self.calibration_ = calibrate(estimation, time, seen, out_of_bag=X is None)
        return self

    def predict_interval(
        self,
        X: Any,
        coverage: float = 0.95,
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
        tail = (1.0 - check_coverage(coverage)) / 2.0
        check_choice("unreached", unreached, UNREACHED)
        if check_choice("method", method, ("forest", "conformal")) == "forest":
            return self._between_quantiles(X, tail, conditional_after, unreached)
        if conditional_after is not None:
            raise ValueError('conditional_after does not go with method="conformal"')
        return self._bounds(X, tail, _BOTH, unreached)

    def predict_lower_bound(self, X: Any, coverage: float = 0.9) -> NDArray[np.float64]:
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
        coverage : float, default=0.9
            Probability in (0, 1).

        Returns
        -------
        ndarray of shape (m,), float64
            ``-inf`` if no quantile is low enough, and under left censoring also where the data
            do not identify a bound.
        """
        return self._bounds(X, 1.0 - check_coverage(coverage), ("lower",), "inf")[:, 0]

    def predict_upper_bound(self, X: Any, coverage: float = 0.9) -> NDArray[np.float64]:
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
        return self._bounds(X, 1.0 - check_coverage(coverage), ("upper",), "inf")[:, 0]

    def predict_quantile_interval(
        self, X: Any, quantile: float = 0.5, confidence: float = 0.95
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
        level, scalar = check_quantiles(quantile, "quantile")
        if not scalar:
            raise ValueError(f"quantile must be one number; received {quantile!r}")
        confidence = check_coverage(confidence, "confidence")
        bags = self._little_bags(self._estimation(X))
        return bags.quantile_interval(level, confidence)

    def _between_quantiles(
        self,
        X: Any,
        tail: float,
        conditional_after: float | ArrayLike | None,
        unreached: str,
    ) -> NDArray[np.float64]:
        """Intervals (m, 2) between the quantiles of levels `tail` and ``1 - tail``."""
        features = self._encode(X)
        after = check_condition(conditional_after, features.shape[0])
        mirrored, hidden = self.target_.mirrored, self._hidden(_BOTH)

        def ends(estimation: Estimation, rows: slice) -> NDArray[np.float64]:
            answers, identified = estimation.quantiles(
                np.array([tail, 1.0 - tail]),
                solver=self.solver,
                interpolation=self.interpolation,
                conditional_after=of_rows(after, rows),
            )
            return mark_unreached(answers, identified | ~hidden, unreached, mirrored=mirrored)

        return self._by_blocks(features, 2, ends)

    def _hidden(self, sides: tuple[str, ...]) -> NDArray[np.bool_]:
        """Tell on which sides censoring hides T: mirrored times aside, that of the later ones."""
        return np.array([(side == "upper") != self.target_.mirrored for side in sides])

    def _bounds(
        self, X: Any, miss: float, sides: tuple[str, ...], unreached: str
    ) -> NDArray[np.float64]:
        """Bounds (m, sides), each of which misses T with probability `miss`."""
        check_is_fitted(self)
        if self.calibration_ is None:
            raise ValueError("conformal answers need a calibration: call calibrate first")
        estimation = self._estimation(X)
        mirrored, hidden = self.target_.mirrored, self._hidden(sides)
        calibration = self.calibration_
        level = np.where(hidden, calibration.upper_level(miss), calibration.lower_level(miss))
        answers, identified = estimation.quantiles(
            1.0 - level if mirrored else level, solver="root", interpolation="midpoint"
        )
        identified[:, hidden & (level >= 1.0)] = False
        identified[:, ~hidden] = True
        answers = mark_unreached(answers, identified, unreached, mirrored=mirrored)
        answers[:, ~hidden & (level <= 0.0)] = np.inf if mirrored else -np.inf
        return answers
