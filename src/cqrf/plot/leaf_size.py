"""The out-of-bag loss of every leaf size that was tried."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sklearn.utils.validation import check_is_fitted

from cqrf.plot.style import Display
from cqrf.support.colours import BLUE, RED

if TYPE_CHECKING:
    from cqrf.growing.leaf_size import LeafSizePath


class LeafSizePathDisplay(Display):
    """Out-of-bag loss against the smallest node that is split, and the size that was chosen.

    Parameters
    ----------
    path : LeafSizePath
        ``leaf_size_path_`` of a fitted forest.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
    line_ : Line2D
        The losses.
    band_ : PolyCollection
        One standard error on either side.
    best_ : Line2D
        The chosen size.
    """

    def __init__(self, path: LeafSizePath) -> None:
        self.path = path

    @classmethod
    def from_estimator(cls, forest: Any, *, ax: Any = None) -> LeafSizePathDisplay:
        """Draw how the size of the leaves was chosen.

        Parameters
        ----------
        forest : CensoredQuantileForest
            Fitted, with `min_samples_split` and `min_samples_leaf` left at None.
        ax : matplotlib Axes, optional
            Where to draw.

        Returns
        -------
        LeafSizePathDisplay
        """
        check_is_fitted(forest)
        if forest.leaf_size_path_ is None:
            raise ValueError(
                "the forest has no leaf-size path: its size was given, or it has too few rows"
            )
        return cls(forest.leaf_size_path_).plot(ax)

    def plot(self, ax: Any = None) -> LeafSizePathDisplay:
        """Draw the path.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw.

        Returns
        -------
        LeafSizePathDisplay
            Itself.
        """
        ax = self._start(ax)
        size, loss, error = self.path.size, self.path.loss, self.path.std_error
        self.band_ = ax.fill_between(
            size, loss - error, loss + error, color=BLUE, alpha=0.18, linewidth=0
        )
        (self.line_,) = ax.plot(size, loss, "o-", color=BLUE, markersize=4, linewidth=1.4)
        best = self.path.best
        (self.best_,) = ax.plot(
            [best],
            loss[size == best],
            "o",
            color=RED,
            markersize=9,
            zorder=3,
            label=f"chosen: {best:,}",
        )
        ax.set(xscale="log", xlabel="smallest node that is split (rows)")
        ax.set(ylabel="out-of-bag loss of S(t)")
        ax.legend(frameon=False)
        return self
