"""Observed against nominal levels of predicted quantiles."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cqrf.metrics import QuantileCalibration, quantile_calibration
from cqrf.plot.style import GREY, Display
from cqrf.support.colours import BLUE, ERROR_BAR


class CalibrationDisplay(Display):
    """Nominal levels of predicted quantiles against how often T does not exceed them.

    The latter are estimated from censored times. Points on the diagonal are calibrated; bars are
    two standard errors long on either side. Levels of which fewer than ten rows tell, or 5%, are
    grey and not joined to the others.

    Parameters
    ----------
    calibration : QuantileCalibration
        Nominal and observed levels, from `cqrf.metrics.quantile_calibration`.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
    line_ : ErrorbarContainer
        The observed levels.
    faint_ : ErrorbarContainer
        Those of which hardly a row tells.
    diagonal_ : Line2D
        Where they would ideally be.
    """

    def __init__(self, calibration: QuantileCalibration) -> None:
        self.calibration = calibration

    @classmethod
    def from_estimator(
        cls,
        forest: Any,
        X: Any,
        y: Any,
        event: ArrayLike | None = None,
        *,
        quantiles: ArrayLike | None = None,
        horizon: float | str = "auto",
        name: str | None = None,
        ax: Any = None,
    ) -> CalibrationDisplay:
        """Draw the calibration of a forest on rows that it has not seen.

        Parameters
        ----------
        forest : CensoredQuantileForest
            Fitted.
        X : array-like or frame of shape (m, p)
            Test points.
        y, event
            Their outcomes, in any form that `fit` takes.
        quantiles : array-like of shape (q,), optional
            Levels; by default 0.05, 0.1, ..., 0.95.
        horizon : "auto" or float, default="auto"
            Quantiles up to this time are judged, as in `cqrf.metrics.quantile_calibration`.
        name : str, optional
            Name in the legend.
        ax : matplotlib Axes, optional
            Where to draw.

        Returns
        -------
        CalibrationDisplay
        """
        levels = np.arange(1, 20) / 20.0 if quantiles is None else np.atleast_1d(quantiles)
        return cls.from_predictions(
            y,
            # Quantiles that are not identified count as beyond the horizon, and are not judged.
            forest.predict(X, quantiles=levels, unreached="inf"),
            levels,
            event=event,
            train=forest.target_,
            censoring=forest.target_.censoring,
            horizon=horizon,
            name=name,
            ax=ax,
        )

    @classmethod
    def from_predictions(
        cls,
        y: Any,
        y_pred: ArrayLike,
        quantiles: ArrayLike,
        *,
        event: ArrayLike | None = None,
        train: Any = None,
        censoring: str = "right",
        horizon: float | str = "auto",
        name: str | None = None,
        ax: Any = None,
    ) -> CalibrationDisplay:
        """Draw the calibration of quantiles that were predicted by anything.

        Parameters
        ----------
        y, y_pred, quantiles, event, train, censoring, horizon
            As in `cqrf.metrics.quantile_calibration`.
        name, ax
            As in `from_estimator`.

        Returns
        -------
        CalibrationDisplay
        """
        found = quantile_calibration(
            y,
            y_pred,
            quantiles,
            event=event,
            train=train,
            censoring=censoring,
            horizon=horizon,
        )
        return cls(found).plot(ax, name=name)

    def plot(self, ax: Any = None, *, name: str | None = None, **kwargs: Any) -> CalibrationDisplay:
        """Draw the levels.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; those of another display, to compare.
        name : str, optional
            Name in the legend.
        **kwargs
            Passed to ``ax.errorbar``.

        Returns
        -------
        CalibrationDisplay
            Itself.
        """
        ax = self._start(ax)
        (self.diagonal_,) = ax.plot([0, 1], [0, 1], color=GREY, linewidth=0.9, linestyle="--")
        style = {"color": BLUE} | kwargs
        judged = self.calibration.judged
        self.line_ = self._points(ax, judged, fmt="o-", label=name, **style)
        self.faint_ = self._points(ax, ~judged, fmt="o", **style | {"color": GREY})
        ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), aspect="equal")
        horizon = f"{self.calibration.horizon:g}"
        ax.set(xlabel="nominal level", ylabel=f"observed level (horizon {horizon})")
        if name is not None:
            ax.legend(loc="upper left", frameon=False)
        return self

    def _points(self, ax: Any, shown: NDArray[np.bool_], **style: Any) -> Any:
        """Draw some of the levels, in ascending order."""
        found = self.calibration
        order = np.argsort(found.quantiles)
        order = order[shown[order]]
        sizes = {"markersize": 4.5, "linewidth": 1.2, "elinewidth": 1.2}
        return ax.errorbar(
            found.quantiles[order],
            found.observed[order],
            ERROR_BAR * found.std_error[order],
            **sizes | style,
        )
