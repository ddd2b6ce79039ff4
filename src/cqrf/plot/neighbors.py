"""The training rows that carry a prediction."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from cqrf.model.explain import Explanation
from cqrf.plot.style import GREY, Display
from cqrf.support.colours import BLUE, ORANGE, colour_of_level
from cqrf.support.words import words_for


class NeighborsDisplay(Display):
    """Weights of the neighbours of a row, at their observed times.

    Dots are events, open triangles censored rows, pointing to where their true times are; lines
    mark the predicted quantiles, dotted where only a bound is known.

    Parameters
    ----------
    explanation : Explanation
        What `CensoredQuantileForest.explain` returns.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
    events_, censored_ : Line2D
        The neighbours.
    stems_ : list of LineCollection
        Lines from zero to the weights of events and of censored rows.
    quantiles_ : list of Line2D
        The predicted quantiles.
    """

    def __init__(self, explanation: Explanation) -> None:
        self.explanation = explanation

    @classmethod
    def from_estimator(
        cls, forest: Any, x: Any, *, quantiles: float | ArrayLike | None = None, ax: Any = None
    ) -> NeighborsDisplay:
        """Draw the neighbours of one row.

        Parameters
        ----------
        forest : CensoredQuantileForest
            Fitted.
        x, quantiles
            As in `CensoredQuantileForest.explain`.
        ax : matplotlib Axes, optional
            Where to draw.

        Returns
        -------
        NeighborsDisplay
        """
        return cls(forest.explain(x, quantiles)).plot(ax)

    def plot(self, ax: Any = None) -> NeighborsDisplay:
        """Draw the neighbours.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw.

        Returns
        -------
        NeighborsDisplay
            Itself.
        """
        from matplotlib.ticker import PercentFormatter

        ax = self._start(ax)
        found = self.explanation
        words = words_for(found.censoring)
        # The more rows there are, the smaller are their marks.
        size = float(np.clip(60.0 / np.sqrt(len(found.rows)), 3.0, 8.0))
        arrow = "<" if found.censoring == "left" else ">"
        self.stems_ = []
        artists = []
        for which, marker, colour, fill, label in (
            (found.event, "o", BLUE, BLUE, words.event),
            (~found.event, arrow, ORANGE, "white", words.censored),
        ):
            time, weight = found.time[which], found.weights[which]
            self.stems_.append(
                ax.vlines(time, 0.0, weight, color=colour, linewidth=0.9, alpha=0.6, zorder=1)
            )
            artists += ax.plot(
                time,
                weight,
                marker,
                color=colour,
                markerfacecolor=fill,
                markersize=size,
                markeredgewidth=1.2,
                label=f"{label} ({weight.sum():.0%} of the weight)",
                zorder=2,
            )
        self.events_, self.censored_ = artists
        self.quantiles_ = []
        for level, value, known in zip(
            found.quantiles, found.predicted, found.identified, strict=True
        ):
            colour = colour_of_level(level)
            self.quantiles_.append(
                ax.axvline(value, color=colour, linewidth=1.3, linestyle="-" if known else ":")
            )
        self._name_quantiles(ax, arrow)
        ax.set_ylim(0.0, 1.08 * found.weights[0])
        ax.yaxis.set_major_formatter(PercentFormatter(1.0))
        ax.set(xlabel=words.observed, ylabel="weight of the training row")
        ax.legend(loc="best", fontsize="small", edgecolor="none", framealpha=0.85)
        return self

    def _name_quantiles(self, ax: Any, arrow: str) -> None:
        """Write the levels above their lines, one name for lines that are close together."""
        found = self.explanation
        low, high = ax.get_xlim()
        groups: list[tuple[float, list[str]]] = []
        for k in np.argsort(found.predicted, kind="stable"):
            name = (
                f"{found.quantiles[k]:g}"
                if found.identified[k]
                else f"{arrow}{found.quantiles[k]:g}"
            )
            if groups and found.predicted[k] - groups[-1][0] < 0.08 * (high - low):
                groups[-1][1].append(name)
            else:
                groups.append((found.predicted[k], [name]))
        for value, names in groups:
            ax.annotate(
                ", ".join(names),
                (value, 1.0),
                xycoords=ax.get_xaxis_transform(),
                xytext=(0, 2),
                textcoords="offset points",
                ha="center",
                fontsize="small",
                color=GREY,
            )
