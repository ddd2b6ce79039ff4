"""The estimating function S_n with its root."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cqrf.plot.style import GREY, MAX_NAMED, Display, line_style
from cqrf.support.checks import check_quantiles
from cqrf.support.colours import BLUE
from cqrf.support.words import words_for


class EstimatingFunctionDisplay(Display):
    r"""The function whose root is the quantile, :math:`S_n(q) = (1 - \tau) G(q) - P(q)`.

    Parameters
    ----------
    q : ndarray of shape (g,), float64
        Ascending candidate times.
    values : ndarray of shape (m, g), float64
        :math:`S_n` of every row.
    quantile : float
        Level :math:`\tau`.
    roots : ndarray of shape (m,), float64
        Predicted quantiles.
    identified : ndarray of shape (m,), bool
        False where the function has no root: the predicted quantile is a bound.
    censoring : {"right", "left"}, default="right"
        On which side of its bound such a quantile lies.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
    lines_ : list of Line2D
        The functions.
    roots_ : list of Line2D
        Their roots; open where not identified.
    """

    def __init__(
        self,
        q: NDArray[np.float64],
        values: NDArray[np.float64],
        *,
        quantile: float,
        roots: NDArray[np.float64],
        identified: NDArray[np.bool_],
        censoring: str = "right",
    ) -> None:
        self.q = q
        self.values = values
        self.quantile = quantile
        self.roots = roots
        self.identified = identified
        self.censoring = censoring

    @classmethod
    def from_estimator(
        cls, forest: Any, X: Any, quantile: float = 0.5, *, ax: Any = None
    ) -> EstimatingFunctionDisplay:
        """Draw the estimating functions of some rows.

        Parameters
        ----------
        forest : CensoredQuantileForest
            Fitted.
        X : array-like or frame of shape (m, p)
            The rows.
        quantile : float, default=0.5
            Level.
        ax : matplotlib Axes, optional
            Where to draw.

        Returns
        -------
        EstimatingFunctionDisplay
        """
        levels, scalar = check_quantiles(quantile, "quantile")
        if not scalar:
            raise ValueError(f"quantile must be one number; received {quantile!r}")
        law = forest.distribution(X)
        q = np.unique(np.concatenate([curve.x for curve in law.survival()]))
        return cls(
            q,
            law.estimating_function(q, quantile),
            quantile=float(levels[0]),
            roots=law.quantile(quantile),
            identified=law.identified(quantile),
            censoring=forest.target_.censoring,
        ).plot(ax)

    def plot(self, ax: Any = None) -> EstimatingFunctionDisplay:
        """Draw the functions.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw.

        Returns
        -------
        EstimatingFunctionDisplay
            Itself.
        """
        ax = self._start(ax)
        ax.axhline(0.0, color=GREY, linewidth=0.9)
        few = len(self.values) <= MAX_NAMED
        alpha = 1.0 if few else min(0.5, 20.0 / len(self.values))
        bound = f"{words_for(self.censoring).bound} "
        self.lines_, self.roots_ = [], []
        for k, (row, root, known) in enumerate(
            zip(self.values, self.roots, self.identified, strict=True)
        ):
            style = line_style(k) if few else {"color": BLUE}
            self.lines_ += ax.step(
                self.q,
                row,
                where="post",
                linewidth=1.5 if few else 0.6,
                alpha=alpha,
                label=f"row {k}: {'' if known else bound}{root:.4g}" if few else None,
                **style,
            )
            self.roots_ += ax.plot(
                [root],
                [0.0],
                "o",
                color=style["color"],
                markerfacecolor=style["color"] if known else "white",
                markersize=7 if few else 3,
                alpha=1.0 if few else max(alpha, 0.25),
                zorder=3,
            )
        ax.set(xlabel="q", ylabel=rf"$S_n(q;\ \tau = {self.quantile:g})$")
        if few:
            ax.legend(frameon=False, fontsize="small", title="root")
        return self
