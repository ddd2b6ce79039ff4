"""Quantiles along a feature."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cqrf.data.features import find_column
from cqrf.model.effects import FeatureEffect, encoded_matrix, feature_effect, spread
from cqrf.model.fitted import FittedModel
from cqrf.plot.style import Display
from cqrf.support.checks import check_int, check_quantiles
from cqrf.support.colours import colour_of_level

# Rows whose survival curves are averaged, at most.
_MAX_ROWS = 100


class QuantileFanDisplay(Display):
    """A fan of quantiles along one feature, if all rows had the same value of it.

    The survival curves of the rows are averaged at every value, and the quantiles are those of the
    average; the report shows the same. Bands join quantiles of levels tau and 1 - tau, and are the
    darker the closer to the median. Parts of a line are dotted where the average does not identify
    the quantile: they show the end of the training record.

    Parameters
    ----------
    effect : FeatureEffect
        Values of the feature, and the quantiles at each of them.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
    bands_ : list of PolyCollection
        From the outermost to the innermost (bars of categories: list of BarContainer).
    lines_ : list of Line2D
        One per level; the dotted parts follow.
    """

    def __init__(self, effect: FeatureEffect) -> None:
        self.effect = effect

    @classmethod
    def from_estimator(
        cls,
        forest: Any,
        X: Any,
        feature: int | str,
        *,
        quantiles: ArrayLike = (0.1, 0.25, 0.5, 0.75, 0.9),
        grid_resolution: int = 40,
        ax: Any = None,
    ) -> QuantileFanDisplay:
        """Draw how the quantiles of rows change as one of their features does.

        Parameters
        ----------
        forest : CensoredQuantileForest
            Fitted.
        X : array-like or frame of shape (m, p)
            Rows whose other features stay as they are. One row gives the fan of that row; more
            than 100 are thinned out evenly.
        feature : int or str
            Position or name of the feature.
        quantiles : array-like of shape (q,), default=(0.1, 0.25, 0.5, 0.75, 0.9)
            Levels.
        grid_resolution : int, default=40
            Values of the feature at most: those in X, or in one row's case cut points between
            those of the training data. Of categories there are as many as were seen in training.
        ax : matplotlib Axes, optional
            Where to draw.

        Returns
        -------
        QuantileFanDisplay
        """
        levels = np.sort(check_quantiles(quantiles)[0])
        check_int("grid_resolution", grid_resolution, 2)
        points = forest.distribution(X).points
        model: FittedModel = points.model
        names = None if model.feature_names is None else model.names
        column = find_column(feature, "feature", names, model.n_features)
        features = points.features
        values = _grid(model, features.column(column), column, grid_resolution)
        rows = encoded_matrix(features, model.encoder, spread(features.shape[0], _MAX_ROWS))
        return cls(feature_effect(model, points.options, rows, column, values, levels)).plot(ax)

    def plot(self, ax: Any = None) -> QuantileFanDisplay:
        """Draw the fan.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw.

        Returns
        -------
        QuantileFanDisplay
            Itself.
        """
        ax = self._start(ax)
        effect = self.effect
        categories = effect.values.dtype.kind not in "iuf"
        at = np.arange(len(effect.values)) if categories else effect.values
        self.bands_: list[Any] = []
        self.lines_: list[Any] = []
        n_bands = len(effect.levels) // 2
        for k in range(n_bands):
            low, high = effect.quantiles[:, k], effect.quantiles[:, -1 - k]
            nominal = effect.levels[-1 - k] - effect.levels[k]
            # Bands are not transparent: where they overlap, the legend would not show their shades.
            style = {"color": _shade((k + 1) / (n_bands + 1)), "linewidth": 0}
            label = f"middle {nominal:.0%}"
            if categories:
                self.bands_.append(ax.bar(at, high - low, 0.6, bottom=low, label=label, **style))
            else:
                self.bands_.append(ax.fill_between(at, low, high, label=label, **style))
        for k, level in enumerate(effect.levels):
            middle = np.isclose(level, 0.5)
            name = "median" if middle else f"quantile {level:g}"
            self._plot_line(ax, at, k, 2.0 if middle else 1.2, name, categories)
        if categories:
            ax.set_xticks(at, [str(value) for value in effect.values])
            if max(len(str(value)) for value in effect.values) * len(at) > 60:
                ax.tick_params(axis="x", rotation=90)
        elif len(at) <= 2:
            # An indicator has no values between its two.
            ax.set_xticks(at, [f"{value:g}" for value in at])
        ax.set(xlabel=effect.name, ylabel="quantiles of T")
        ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False, fontsize="small")
        return self

    def _plot_line(
        self, ax: Any, at: NDArray[Any], k: int, width: float, label: str | None, categories: bool
    ) -> None:
        values, known = self.effect.quantiles[:, k], self.effect.identified[:, k]
        colour = colour_of_level(self.effect.levels[k])
        if categories:
            for x, value, solid in zip(at, values, known, strict=True):
                (line,) = ax.plot(
                    [x - 0.3, x + 0.3],
                    [value, value],
                    color=colour,
                    linewidth=width,
                    linestyle="-" if solid else ":",
                    label=label if x == 0 else None,
                )
                self.lines_.append(line)
            return
        self.lines_ += ax.plot(
            at, np.where(known, values, np.nan), color=colour, linewidth=width, label=label
        )
        if not known.all():
            self.lines_ += ax.plot(at, values, color=colour, linewidth=width, linestyle=":")


def _shade(strength: float) -> tuple[float, ...]:
    """Mix grey into white: the colours are those of the quantiles."""
    return (1.0 - 0.35 * strength,) * 3


def _grid(
    model: FittedModel, given: NDArray[Any], column: int, resolution: int
) -> NDArray[np.float64]:
    """Values of a feature to predict at: numbers, or the codes of all categories."""
    categories = dict(model.encoder.categories)
    if column in categories:
        return np.arange(len(categories[column]), dtype=np.float64)
    values = np.unique(given[~np.isnan(given)])
    if len(values) < 2:
        binner = model.binner
        values = binner.cuts[binner.cut_offset[column] : binner.cut_offset[column + 1]]
    if len(values) < 2:
        raise ValueError(f"feature {model.names[column]!r} does not vary")
    return np.asarray(values[spread(len(values), resolution)], dtype=np.float64)
