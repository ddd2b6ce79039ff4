"""What all pictures share: axes, colours, legends."""

from __future__ import annotations

from typing import Any

from cqrf.support.colours import ROWS

GREY = "0.45"
# From the seventh row on, colours come again, dashed.
DASHES = ("-", (0, (5, 2)))
# Up to so many curves are drawn with a colour and a name each; more are drawn thin, without names.
MAX_NAMED = len(ROWS) * len(DASHES)


class Display:
    """Base of the displays: the axes that they draw on."""

    ax_: Any
    figure_: Any

    def _start(self, ax: Any) -> Any:
        """Take the given axes, or make new ones, and remove the lines on the right and on top."""
        if ax is None:
            ax = new_axes()
        bare(ax)
        self.ax_, self.figure_ = ax, ax.figure
        return ax


def new_axes() -> Any:
    """Make a figure with one axes that lays itself out."""
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise ImportError("cqrf.plot needs matplotlib: pip install 'cqrf[plot]'") from None
    return plt.subplots(layout="constrained")[1]


def line_style(k: int) -> dict[str, Any]:
    """Colour and dashes of the line of the k-th row."""
    return {"color": ROWS[k % len(ROWS)], "linestyle": DASHES[k // len(ROWS) % len(DASHES)]}


def bare(ax: Any) -> None:
    """Remove the lines on the right and on top."""
    ax.spines[["top", "right"]].set_visible(False)
