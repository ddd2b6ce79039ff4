"""Importance of features, with standard errors, for several quantiles."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from cqrf.model.importance import Importance
from cqrf.plot.style import GREY, Display
from cqrf.support.checks import check_int
from cqrf.support.colours import BLUE, ERROR_BAR, colour_of_level

# Height of a line with the name of a feature, in points.
_POINTS_PER_NAME = 13.0


class ImportanceDisplay(Display):
    """What is lost out-of-bag when a feature is permuted, largest on top.

    Parameters
    ----------
    importance : Importance
        What `CensoredQuantileForest.oob_importance` returns.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
    lines_ : list of ErrorbarContainer
        Dots with two standard errors on either side, one artist per quantile.
    order_ : ndarray of shape (k,), int64
        The features that are drawn, from the top.
    """

    def __init__(self, importance: Importance) -> None:
        self.importance = importance

    @classmethod
    def from_estimator(
        cls,
        forest: Any,
        quantiles: float | ArrayLike | None = None,
        *,
        groups: Mapping[str, Any] | None = None,
        n_repeats: int = 5,
        random_state: Any = None,
        horizon: float | str = "auto",
        max_features: int | None = None,
        ax: Any = None,
    ) -> ImportanceDisplay:
        """Compute the out-of-bag importance of a forest and draw it.

        Parameters
        ----------
        forest : CensoredQuantileForest
            Fitted.
        quantiles, groups, n_repeats, random_state, horizon
            As in `CensoredQuantileForest.oob_importance`.
        max_features : int, optional
            Most features that are drawn; by default as many as there is room for names.
        ax : matplotlib Axes, optional
            Where to draw.

        Returns
        -------
        ImportanceDisplay
        """
        found = forest.oob_importance(
            quantiles,
            groups=groups,
            n_repeats=n_repeats,
            random_state=random_state,
            horizon=horizon,
        )
        return cls(found).plot(ax, max_features=max_features)

    def plot(self, ax: Any = None, *, max_features: int | None = None) -> ImportanceDisplay:
        """Draw the importance.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw.
        max_features : int, optional
            Most features that are drawn; by default as many as there is room for names.

        Returns
        -------
        ImportanceDisplay
            Itself.
        """
        check_int("max_features", max_features, 1, allow_none=True)
        ax = self._start(ax)
        if max_features is None:
            points = ax.get_position().height * self.figure_.get_size_inches()[1] * 72.0
            max_features = max(1, int(points / _POINTS_PER_NAME))
        found = self.importance
        n_features = len(found.feature_names)
        mean, std_error = (v.reshape(n_features, -1) for v in (found.mean, found.std_error))
        n_levels = mean.shape[1]
        # Levels have losses of different size: before features are ranked, the importances of each
        # level are divided by its largest.
        largest = np.abs(mean).max(axis=0)
        relative = mean / np.where(largest > 0, largest, 1.0)
        self.order_ = np.argsort(-relative.max(axis=1), kind="stable")[:max_features]
        place = np.arange(len(self.order_))
        ax.axvline(0.0, color=GREY, linewidth=0.9)
        self.lines_ = []
        levels = [None] if found.quantiles is None else found.quantiles
        for k, level in enumerate(levels):
            shift = 0.0 if n_levels == 1 else 0.5 * (k / (n_levels - 1) - 0.5)
            self.lines_.append(
                ax.errorbar(
                    mean[self.order_, k],
                    place + shift,
                    xerr=ERROR_BAR * std_error[self.order_, k],
                    fmt="o",
                    color=BLUE if level is None else colour_of_level(level),
                    markersize=4.5,
                    elinewidth=1.3,
                    label=None if level is None else f"quantile {level:g}",
                )
            )
        ax.set_yticks(place, [found.feature_names[j] for j in self.order_])
        ax.set_ylim(len(place) - 0.4, -0.6)
        rest = n_features - len(place)
        if found.quantiles is None:
            ax.set_xlabel(f"score lost without it (horizon {found.horizon:g})")
            ax.xaxis.set_major_formatter("{x:.1%}")
        else:
            ax.set_xlabel(f"increase of the out-of-bag loss (horizon {found.horizon:g})")
        if rest:
            ax.set_ylabel(f"{len(place):,} of {n_features:,} features")
        if n_levels > 1:
            ax.legend(loc="lower right", frameon=False)
        return self
