"""Log-log curves with their names at their ends, readable on light and on dark pages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import matplotlib

from speed.methods import (
    COMPRISK,
    LIGHTGBM,
    OURS,
    OURS_DEFAULT,
    QUANTILE_FOREST,
    SCIKIT_LEARN,
)
from speed.ratios import Timing

matplotlib.use("Agg")

from matplotlib import pyplot as plt
from matplotlib.ticker import FuncFormatter

# Grey and colours with a contrast of at least 3 to white and to almost black.
INK = "#7a7a7a"
COLOURS = {
    OURS: "#2f7bf6",
    OURS_DEFAULT: "#2f7bf6",
    LIGHTGBM: "#2a9d5c",
    SCIKIT_LEARN: "#d97a00",
    QUANTILE_FOREST: "#d1495b",
    COMPRISK: "#9b5de5",
}
# Least distance of two names, in heights of a panel.
APART = 0.085
STYLE = {
    "svg.fonttype": "none",
    "svg.hashsalt": "cqrf",
    "font.family": "sans-serif",
    "font.size": 9,
    "text.color": INK,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.titlesize": 10,
    "xtick.color": INK,
    "ytick.color": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
}
PANELS: tuple[tuple[str, str, Callable[[Timing], float]], ...] = (
    ("fit, seconds", "fit", lambda timing: timing.median),
    ("predict 1,000 rows, milliseconds", "predict", lambda timing: 1e3 * timing.median),
    ("fit, peak memory in MB", "fit", lambda timing: max(1.0, timing.peak_mb or 0.0)),
    ("predict, peak memory in MB", "predict", lambda timing: max(0.1, timing.peak_mb or 0.0)),
)


def draw_axis(
    points: Sequence[tuple[int, dict[str, Any]]],
    label: str,
    methods: Sequence[str],
    caption: Sequence[str],
    path: Path,
) -> None:
    """Draw time and memory of fit and predict against one axis.

    Parameters
    ----------
    points : sequence of (value, figures)
        Figures by method, as `speed.parts.curves` stores them.
    label : str
        Name of the axis.
    methods : sequence of str
        What to draw.
    caption : sequence of str
        Lines below the panels.
    path : Path
        An SVG file, or a PNG file.
    """
    with plt.rc_context(STYLE):
        figure, axes = plt.subplots(2, 2, figsize=(9.2, 6.6))
        for ax, (title, task, value_of) in zip(axes.flat, PANELS, strict=True):
            curves = {}
            for method in methods:
                xy = [
                    (x, value_of(Timing(**figures[method][task])))
                    for x, figures in points
                    if task in figures.get(method, {})
                ]
                if xy:
                    curves[method] = xy
            _panel(ax, curves, [x for x, _ in points], title)
            if task == "fit":
                for method, x in ends_of_stopped(points, list(curves)).items():
                    y = dict(curves[method])[x]
                    ax.plot(x, y, marker="x", markersize=8, color=COLOURS[method], mew=2)
        for ax in axes[1]:
            ax.set_xlabel(label)
        figure.tight_layout(w_pad=1.5, rect=(0, 0.02 * len(caption), 1, 1))
        figure.text(0.01, 0.01, "\n".join(caption), fontsize=7)
        path.parent.mkdir(parents=True, exist_ok=True)
        # Without a date, so that the same figures give the same file.
        metadata = {"Date": None} if path.suffix == ".svg" else None
        figure.savefig(path, transparent=True, metadata=metadata, dpi=120)
        plt.close(figure)


def _panel(
    ax: Any, curves: dict[str, list[tuple[int, float]]], values: Sequence[int], title: str
) -> None:
    ax.set_title(title, loc="left")
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.grid(True, which="major", color=INK, alpha=0.25, linewidth=0.6)
    for method, xy in curves.items():
        ours = method.startswith(OURS)
        x, y = zip(*xy, strict=True)
        ax.plot(
            x,
            y,
            color=COLOURS[method],
            linewidth=2.4 if ours else 1.5,
            linestyle="--" if method == OURS_DEFAULT else "-",
            marker="o",
            markersize=3,
        )
    ax.set_xlim(min(values) / 1.15, max(values) * 1.15)
    for direction in (ax.xaxis, ax.yaxis):
        direction.set_major_formatter(FuncFormatter(lambda value, _: _number(value)))
    # A panel of less than a decade would have a single number at its side.
    low, high = ax.get_ylim()
    middle = (low * high) ** 0.5
    low, high = min(low, middle / 8), max(high, middle * 8)
    ax.minorticks_off()
    ax.set_ylim(low, high)
    ends = {
        method: ax.transLimits.transform(ax.transScale.transform(xy[-1]))
        for method, xy in curves.items()
    }
    heights = spread_out([float(end[1]) for end in ends.values()], APART)
    for (method, end), height in zip(ends.items(), heights, strict=True):
        colour = COLOURS[method]
        at = {"xycoords": "axes fraction", "textcoords": "axes fraction"}
        ax.annotate(
            method.replace(" criterion", ""),
            xy=(float(end[0]), float(end[1])),
            xytext=(1.06, height),
            color=colour,
            va="center",
            fontsize=8.5,
            annotation_clip=False,
            arrowprops={
                "arrowstyle": "-",
                "color": colour,
                "linestyle": ":",
                "linewidth": 0.8,
                "shrinkB": 3,
            },
            **at,
        )


def _number(value: float) -> str:
    """Write a number at an axis, where whole millions would reach into each other."""
    return f"{value / 1e6:g} M" if value >= 1e6 else f"{value:,.10g}"


def ends_of_stopped(
    points: Sequence[tuple[int, dict[str, Any]]], methods: Sequence[str]
) -> dict[str, int]:
    """Tell the last point of every method that was stopped: beside the first that it lacks."""
    ends = {}
    for method in methods:
        stopped = [x for x, figures in points if "stopped" in figures.get(method, {})]
        drawn = [x for x, figures in points if "fit" in figures.get(method, {})]
        if stopped and drawn:
            ends[method] = max(drawn) if min(stopped) > max(drawn) else min(drawn)
    return ends


def spread_out(heights: Sequence[float], apart: float) -> list[float]:
    """Move heights as little as needed for them to lie `apart` within 0 and 1, in their order.

    Neighbours that are too close form a group around their mean; groups that touch are merged.
    """
    order = sorted(range(len(heights)), key=lambda k: heights[k])
    groups: list[list[int]] = []

    def half(group: list[int]) -> float:
        return apart * len(group) / 2

    def middle(group: list[int]) -> float:
        mean = sum(heights[k] for k in group) / len(group)
        return min(max(mean, half(group)), 1.0 - half(group))

    for k in order:
        groups.append([k])
        while len(groups) > 1:
            low, high = groups[-2:]
            if middle(high) - middle(low) >= half(low) + half(high):
                break
            groups[-2:] = [low + high]
    moved = list(heights)
    for group in groups:
        start = middle(group) - apart * (len(group) - 1) / 2
        for position, k in enumerate(group):
            moved[k] = start + apart * position
    return moved
