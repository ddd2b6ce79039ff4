"""Quantiles along a feature."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cqrf.data.features import find_column
from cqrf.plot.style import Display
from cqrf.support.checks import check_int, check_quantiles, frame_library
from cqrf.support.colours import colour_of_level

# Rows that the fan is averaged over, at most.
_MAX_ROWS = 100


class QuantileFanDisplay(Display):
    """A fan of quantiles along one feature, averaged over rows.

    Bands join quantiles of levels tau and 1 - tau, and are the darker the closer to the median.
    Parts of a line are dotted where fewer than half of the rows identify the quantile.

    Parameters
    ----------
    values : ndarray of shape (g,)
        Values of the feature: ascending numbers, or categories.
    quantiles : ndarray of shape (q,), float64
        Levels, ascending.
    predicted : ndarray of shape (g, q), float64
        Mean over rows of the predicted quantiles.
    identified : ndarray of shape (g, q), float64
        Share of the rows whose quantile is identified.
    feature_name : str
        Name of the feature.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
    bands_ : list of PolyCollection
        From the outermost to the innermost (bars of categories: list of BarContainer).
    lines_ : list of Line2D
        One per level; the dotted parts follow.
    """

    def __init__(
        self,
        values: NDArray[Any],
        *,
        quantiles: NDArray[np.float64],
        predicted: NDArray[np.float64],
        identified: NDArray[np.float64],
        feature_name: str,
    ) -> None:
        self.values = values
        self.quantiles = quantiles
        self.predicted = predicted
        self.identified = identified
        self.feature_name = feature_name

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
            Rows whose other features stay as they are: the fan is the partial dependence of the
            quantiles. One row gives the fan of that row; more than 100 are thinned out evenly.
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
        # The forest's own checks of X come first.
        n_rows = forest.apply(X).shape[0]
        names = forest.model_.names if forest.model_.feature_names is not None else None
        column = find_column(feature, "feature", names, forest.n_features_in_)
        rows = np.unique(np.linspace(0, n_rows - 1, min(n_rows, _MAX_ROWS)).round().astype(int))
        values = _grid(forest, X, column, grid_resolution)
        predicted = np.empty((len(values), len(levels)))
        identified = np.empty_like(predicted)
        for k, value in enumerate(values):
            table = _with_column(X, rows, column, value)
            predicted[k] = forest.predict(table, quantiles=levels).mean(axis=0)
            identified[k] = forest.identified(table, quantiles=levels).mean(axis=0)
        return cls(
            values,
            quantiles=levels,
            predicted=predicted,
            identified=identified,
            feature_name=forest.model_.names[column],
        ).plot(ax)

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
        categories = self.values.dtype.kind not in "iuf"
        at = np.arange(len(self.values)) if categories else self.values
        self.bands_: list[Any] = []
        self.lines_: list[Any] = []
        n_bands = len(self.quantiles) // 2
        for k in range(n_bands):
            low, high = self.predicted[:, k], self.predicted[:, -1 - k]
            nominal = self.quantiles[-1 - k] - self.quantiles[k]
            # Opaque, so that the legend shows the very shades.
            style = {"color": _shade((k + 1) / (n_bands + 1)), "linewidth": 0}
            label = f"middle {nominal:.0%}"
            if categories:
                self.bands_.append(ax.bar(at, high - low, 0.6, bottom=low, label=label, **style))
            else:
                self.bands_.append(ax.fill_between(at, low, high, label=label, **style))
        for k, level in enumerate(self.quantiles):
            middle = np.isclose(level, 0.5)
            name = "median" if middle else f"quantile {level:g}"
            self._plot_line(ax, at, k, 2.0 if middle else 1.2, name, categories)
        if categories:
            ax.set_xticks(at, [str(value) for value in self.values])
            if max(len(str(value)) for value in self.values) * len(at) > 60:
                ax.tick_params(axis="x", rotation=90)
        elif len(at) <= 2:
            # Between the two values of an indicator lies nothing.
            ax.set_xticks(at, [f"{value:g}" for value in at])
        ax.set(xlabel=self.feature_name, ylabel="quantiles of T")
        ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False, fontsize="small")
        return self

    def _plot_line(
        self, ax: Any, at: NDArray[Any], k: int, width: float, label: str | None, categories: bool
    ) -> None:
        values, known = self.predicted[:, k], self.identified[:, k] >= 0.5
        colour = colour_of_level(self.quantiles[k])
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


def _grid(forest: Any, X: Any, column: int, resolution: int) -> NDArray[Any]:
    """Values of a feature to predict at."""
    categories = dict(forest.model_.encoder.categories)
    if column in categories:
        known: NDArray[Any] = categories[column]
        return known
    given = forest.model_.encoder.encode(X, 1).column(column)
    values = np.unique(given[~np.isnan(given)])
    if len(values) < 2:
        binner = forest.model_.binner
        values = binner.cuts[binner.cut_offset[column] : binner.cut_offset[column + 1]]
    if len(values) < 2:
        raise ValueError(f"feature {forest.model_.names[column]!r} does not vary")
    at = np.linspace(0, len(values) - 1, min(resolution, len(values))).round().astype(int)
    grid: NDArray[Any] = values[at].astype(np.float64)
    return grid


def _with_column(X: Any, rows: NDArray[np.int64], column: int, value: Any) -> Any:
    """Rows of X with one value in a column, in X's own container."""
    library = frame_library(X)
    # A plain Python number or text, which every library knows.
    value = value.item() if isinstance(value, np.generic) else value
    if library == "pandas":
        return X.iloc[rows].assign(**{X.columns[column]: value})
    if library == "polars":
        import polars as pl

        return X[rows.tolist()].with_columns(pl.lit(value).alias(X.columns[column]))
    table = np.asarray(X)[rows]
    # Neither integers nor text of fixed length can take any value.
    table = table.astype(np.float64 if table.dtype.kind in "biuf" else object)
    table[:, column] = value
    return table
