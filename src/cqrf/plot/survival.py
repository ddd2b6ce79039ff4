"""Survival curves with their quantiles marked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import norm

from cqrf.data.outcome import check_time
from cqrf.metrics.common import check_predictions
from cqrf.model.distribution import Distribution
from cqrf.plot.style import GREY, MAX_NAMED, Display, line_style
from cqrf.solving.curves import StepFunction
from cqrf.support.checks import check_coverage, check_quantiles
from cqrf.support.colours import BLUE, colour_of_level
from cqrf.support.words import words_for

# Of many curves, the space between these quantiles of their heights is shaded.
_MIDDLE = (0.1, 0.9)


class SurvivalCurvesDisplay(Display):
    """Survival curves of a few rows, or of a crowd of them.

    Up to twelve curves have colours, names and dots at their quantiles; a bar marks the end of a
    curve if the data do not identify all of them. More curves are drawn thin, with their median and
    the middle 80% shaded.

    Parameters
    ----------
    curves : sequence of StepFunction, length m
        The survival functions.
    quantiles : ndarray of shape (q,), float64
        Levels that are marked.
    marks : ndarray of shape (m, q), float64
        Times of the quantiles.
    identified : ndarray of shape (m, q), bool
        Which of them the data identify; the others are not marked.
    bands : sequence of (StepFunction, StepFunction) or None, default=None
        Lower and upper confidence limits of the curves.
    labels : sequence of str or None, default=None
        Names of the curves.
    censoring : {"right", "left"}, default="right"
        On which side of the record quantiles that are not identified lie.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
    lines_ : list of Line2D
        The curves; of a crowd, its median comes last.
    marks_ : list of Line2D
        Dots at the quantiles, one artist per curve.
    bands_ : list of PolyCollection
        Confidence bands; of a crowd, the shaded middle.
    """

    def __init__(
        self,
        curves: Sequence[StepFunction],
        *,
        quantiles: NDArray[np.float64],
        marks: NDArray[np.float64],
        identified: NDArray[np.bool_],
        bands: Sequence[tuple[StepFunction, StepFunction]] | None = None,
        labels: Sequence[str] | None = None,
        censoring: str = "right",
    ) -> None:
        self.curves = curves
        self.quantiles = quantiles
        self.marks = marks
        self.identified = identified
        self.bands = bands
        self.labels = labels
        self.censoring = censoring

    @classmethod
    def from_estimator(
        cls,
        forest: Any,
        X: Any,
        *,
        quantiles: float | ArrayLike = (0.1, 0.5, 0.9),
        confidence: float | None = None,
        labels: Sequence[str] | None = None,
        ax: Any = None,
    ) -> SurvivalCurvesDisplay:
        """Draw the predicted survival functions of some rows.

        Parameters
        ----------
        forest : CensoredQuantileForest
            Fitted.
        X : array-like or frame of shape (m, p)
            The rows.
        quantiles : float or array-like of shape (q,), default=(0.1, 0.5, 0.9)
            Levels to mark.
        confidence : float, optional
            Draw pointwise confidence bands of this probability; needs a forest with
            `ci_group_size` of at least 2.
        labels : sequence of str, optional
            Names of the rows; by default their numbers.
        ax : matplotlib Axes, optional
            Where to draw.

        Returns
        -------
        SurvivalCurvesDisplay
        """
        levels, _ = check_quantiles(quantiles)
        law = forest.distribution(X)
        bands = None
        if confidence is not None:
            check_coverage(confidence, "confidence")
            bands = _confidence_bands(law, forest.times_, confidence)
        curves = list(law.survival())
        return cls(
            curves,
            quantiles=levels,
            marks=law.quantile(levels),
            identified=law.identified(levels),
            bands=bands,
            labels=_check_labels(labels, len(curves)),
            censoring=forest.target_.censoring,
        ).plot(ax)

    @classmethod
    def from_predictions(
        cls,
        times: ArrayLike,
        survival: ArrayLike,
        *,
        lower: ArrayLike | None = None,
        upper: ArrayLike | None = None,
        quantiles: float | ArrayLike = (0.1, 0.5, 0.9),
        labels: Sequence[str] | None = None,
        ax: Any = None,
    ) -> SurvivalCurvesDisplay:
        """Draw survival curves that are given at common times.

        Parameters
        ----------
        times : array-like of shape (g,)
            Ascending times.
        survival : array-like of shape (m, g)
            P(T > t) of every curve.
        lower, upper : array-like of shape (m, g), optional
            Confidence limits of `survival`.
        quantiles, labels, ax
            As in `from_estimator`; a quantile is the first time at which the curve is low enough.

        Returns
        -------
        SurvivalCurvesDisplay
        """
        levels, _ = check_quantiles(quantiles)
        at = check_time("times", times)
        values = np.atleast_2d(np.asarray(survival, dtype=np.float64))
        values = check_predictions("survival", values, len(values), len(at))
        if (lower is None) != (upper is None):
            raise ValueError("lower and upper must be given together")
        bands = None
        if lower is not None and upper is not None:
            ends = [
                check_predictions(name, np.atleast_2d(end), len(values), len(at))
                for name, end in (("lower", lower), ("upper", upper))
            ]
            bands = [
                (StepFunction(at, low), StepFunction(at, high))
                for low, high in zip(*ends, strict=True)
            ]
        reached: NDArray[np.bool_] = np.less_equal(values[:, :, None], 1.0 - levels)
        return cls(
            [StepFunction(at, row) for row in values],
            quantiles=levels,
            marks=at[reached.argmax(axis=1)],
            identified=np.any(reached, axis=1),
            bands=bands,
            labels=_check_labels(labels, len(values)),
        ).plot(ax)

    def plot(self, ax: Any = None) -> SurvivalCurvesDisplay:
        """Draw the curves.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; new ones if not given.

        Returns
        -------
        SurvivalCurvesDisplay
            Itself.
        """
        ax = self._start(ax)
        self.lines_: list[Any] = []
        self.marks_: list[Any] = []
        self.bands_: list[Any] = []
        times = np.concatenate([curve.x for curve in self.curves])
        first, last = times.min(), times.max()
        # The axis starts at zero if no time is negative, unless that would leave half of it empty.
        start = 0.0 if 0.0 <= first < 0.5 * last else first - 0.02 * (last - first)
        if len(self.curves) <= MAX_NAMED:
            self._plot_named(ax, start)
        else:
            self._plot_crowd(ax, start)
        from matplotlib.ticker import PercentFormatter

        ax.set(xlim=(start, last + 0.02 * (last - start)), ylim=(0.0, 1.03))
        ax.set(xlabel=f"{words_for(self.censoring).outcome} t", ylabel="P(T > t)")
        ax.yaxis.set_major_formatter(PercentFormatter(1.0))
        return self

    def _plot_named(self, ax: Any, start: float) -> None:
        for level in self.quantiles:
            ax.axhline(1.0 - level, color="0.8", linewidth=0.8, linestyle=(0, (4, 3)), zorder=0)
        for k, curve in enumerate(self.curves):
            style = line_style(k)
            times = np.concatenate([[start], curve.x])
            label = str(k) if self.labels is None else self.labels[k]
            self.lines_ += ax.step(
                times, curve(times), where="post", linewidth=1.8, label=label, **style
            )
            if self.bands is not None:
                low, high = self.bands[k]
                self.bands_.append(
                    ax.fill_between(
                        times,
                        low(times),
                        high(times),
                        step="post",
                        color=style["color"],
                        alpha=0.15,
                        linewidth=0,
                    )
                )
            known = self.identified[k]
            if not known.all():
                # Under left censoring, the unknown part of the curve is on the left.
                end = curve.x[:1] if self.censoring == "left" else curve.x[-1:]
                ax.plot(end, curve(end), "|", color=style["color"], ms=11, mew=1.8)
            self.marks_.append(
                ax.scatter(
                    self.marks[k][known],
                    1.0 - self.quantiles[known],
                    s=49,
                    c=[colour_of_level(level) for level in self.quantiles[known]],
                    edgecolors="white",
                    zorder=3,
                )
            )
        if len(self.curves) > 1 or self.labels is not None:
            # Beside the axes, since the curves leave no corner free.
            ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False, fontsize="small")

    def _plot_crowd(self, ax: Any, start: float) -> None:
        every = np.concatenate([curve.x for curve in self.curves])
        grid = np.concatenate([[start], np.unique(np.quantile(every, np.linspace(0, 1, 500)))])
        values = np.array([curve(grid) for curve in self.curves])
        # The more curves, the fainter each of them.
        alpha = min(0.5, 12.0 / len(self.curves))
        for row in values:
            self.lines_ += ax.step(
                grid, row, where="post", color=GREY, linewidth=0.6, alpha=alpha, zorder=1
            )
        low, middle, high = np.quantile(values, [_MIDDLE[0], 0.5, _MIDDLE[1]], axis=0)
        self.bands_.append(
            ax.fill_between(
                grid,
                low,
                high,
                step="post",
                color=BLUE,
                alpha=0.22,
                linewidth=0,
                zorder=2,
                label=f"middle {_MIDDLE[1] - _MIDDLE[0]:.0%}",
            )
        )
        self.lines_ += ax.step(
            grid,
            middle,
            where="post",
            color=BLUE,
            linewidth=2.0,
            zorder=3,
            label="median",
        )
        ax.legend(
            loc="upper right",
            frameon=False,
            fontsize="small",
            handlelength=1.2,
            title=f"{len(values):,} curves",
            title_fontsize="small",
        )


def _check_labels(labels: Sequence[str] | None, n_curves: int) -> list[str] | None:
    if labels is None:
        return None
    names = [str(label) for label in labels]
    if len(names) != n_curves:
        raise ValueError(f"labels has {len(names)} entries for {n_curves} curves")
    return names


def _confidence_bands(
    law: Distribution, times: NDArray[np.float64], confidence: float
) -> list[tuple[StepFunction, StepFunction]]:
    """Find normal confidence limits of every row's curve at some times, cut to [0, 1]."""
    survival = law.curve("survival", times)
    half = norm.ppf((1.0 + confidence) / 2.0) * law.survival_std(times)
    lower, upper = np.clip(survival - half, 0.0, 1.0), np.clip(survival + half, 0.0, 1.0)
    return [
        (StepFunction(times, low), StepFunction(times, high))
        for low, high in zip(lower, upper, strict=True)
    ]
