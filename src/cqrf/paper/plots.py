"""The figures, drawn without pyplot: every function returns a matplotlib Figure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cqrf.paper.settings import Row
from cqrf.paper.tables import Mean, distinct, mean, select
from cqrf.plot.style import bare
from cqrf.support.colours import BLACK, BLUE, GREEN, ORANGE, PURPLE, RED, SKY, YELLOW

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

Array = NDArray[np.float64]

# Oracles are hatched.
COLOURS = {
    "cqrf": RED,
    "crf": BLUE,
    "qrf": ORANGE,
    "grf": GREEN,
    "rsf": PURPLE,
    "ipcw": YELLOW,
    "rist": SKY,
}


def colour_of(method: str) -> str:
    """Colour of a method: that of its family."""
    return COLOURS.get(method.split("-")[0], "#999999")


# A metric is drawn on a logarithmic axis where its largest value is more than so many times the
# smallest.
WIDE = {"mad": 10.0, "mse": 20.0}
# Methods of a family have one colour; these tell them apart where they are drawn as points.
MARKERS = ("o", "^", "v", "D")


def _plain_log(axis: Axis, low: float, high: float) -> None:
    """Label a logarithmic axis with plain numbers, a few for each power of ten."""
    from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

    steps = (1.0,) if high > 100 * low else (1.0, 3.0) if high > 20 * low else (1.0, 2.0, 5.0)
    axis.set_major_locator(LogLocator(subs=steps))
    axis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axis.set_minor_formatter(NullFormatter())


def new_figure(width: float, height: float) -> Figure:
    """Make a figure that lays itself out."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained", dpi=110)


def _line(ax: Axes, name: str, x: Sequence[float], cells: Sequence[Mean], marker: str = "") -> None:
    """Means of a method with their standard errors; oracles are dashed."""
    ax.errorbar(
        x,
        [cell.mean for cell in cells],
        [cell.error for cell in cells],
        fmt=marker + ("--" if "oracle" in name else "-"),
        c=colour_of(name),
        lw=1.3,
        ms=3,
        capsize=2,
        label=name,
    )


def _legend_below(figure: Figure, ax: Axes) -> None:
    """One legend for panels that show the same methods."""
    handles, labels = ax.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncol=len(labels), fontsize=8)


def boxes(rows: list[Row], metrics: Mapping[str, str], levels: Sequence[float]) -> Figure:
    """Box plots over replications: a row of panels per metric, a column per level."""
    from matplotlib.ticker import MaxNLocator

    methods = [name for name in distinct(rows, "method") if name != "data"]
    figure = new_figure(2.5 * len(levels), (0.22 * len(methods) + 0.9) * len(metrics))
    axes = figure.subplots(len(metrics), len(levels), sharey=True, squeeze=False)
    for line, (metric, label) in zip(axes, metrics.items(), strict=True):
        for ax, level in zip(line, levels, strict=True):
            values = [mean(rows, method=m, quantile=level, metric=metric).values for m in methods]
            drawn = ax.boxplot(
                values,
                orientation="horizontal",
                widths=0.7,
                patch_artist=True,
                flierprops={"marker": ".", "markersize": 3, "markeredgecolor": "#666666"},
                medianprops={"color": BLACK},
            )
            for box, name in zip(drawn["boxes"], methods, strict=True):
                box.set(facecolor=colour_of(name), alpha=0.45 if "oracle" in name else 0.9)
                if "oracle" in name:
                    box.set_hatch("////")
            low, high = min(map(np.min, values)), max(map(np.max, values))
            if 0 < WIDE.get(metric, np.inf) * low < high:
                ax.set_xscale("log")
                _plain_log(ax.xaxis, low, high)
            else:
                ax.xaxis.set_major_locator(MaxNLocator(4))
            ax.set_title(f"{label}, level {level:g}", fontsize=9)
            ax.tick_params(labelsize=7)
            bare(ax)
        line[0].set_yticks(range(1, len(methods) + 1), methods, fontsize=8)
    # Shared by all panels: the first method on top.
    axes[0, 0].invert_yaxis()
    return figure


def curves(
    train: Any, grid: Array, truth: Array, predicted: dict[str, Array], levels: Sequence[float]
) -> Figure:
    """Draw a one-dimensional training set, and predicted quantiles beside the true ones."""
    figure = new_figure(11, 7.5)
    axes = figure.subplots(2, 2).ravel()
    x = train.X[:, 0]
    axes[0].scatter(x[train.event], train.time[train.event], s=9, c="#555555", label="event")
    censored = ~train.event
    axes[0].scatter(x[censored], train.time[censored], s=12, c=RED, marker="v", label="censored")
    axes[0].scatter(
        x[censored],
        train.latent[censored],
        s=14,
        facecolors="none",
        edgecolors=GREEN,
        label="its true time",
    )
    axes[0].set(title="training data", xlabel="x", ylabel="time")
    axes[0].legend(fontsize=8, frameon=False)
    for ax, j in zip(axes[1:], range(len(levels)), strict=True):
        ax.scatter(x[train.event], train.time[train.event], s=4, c="#cccccc")
        ax.plot(grid, truth[:, j], c=BLACK, lw=2, label="truth")
        for name, values in predicted.items():
            style = "--" if "oracle" in name else "-"
            ax.plot(grid, values[:, j], style, c=colour_of(name), lw=1.4, label=name)
        low, high = np.min(truth), np.max(truth)
        ax.set_ylim(low - 0.25 * (high - low), high + 0.25 * (high - low))
        ax.set(title=f"level {levels[j]:g}", xlabel="x", ylabel="quantile")
        ax.legend(fontsize=8, frameon=False)
    for ax in axes:
        bare(ax)
    return figure


def lines(rows: list[Row], by: str, xlabel: str, ylabel: str, levels: Sequence[float]) -> Figure:
    """Means with standard errors against a column, a panel per level, a line per method."""
    figure = new_figure(2.9 * len(levels), 3.2)
    axes = figure.subplots(1, len(levels), squeeze=False)[0]
    at = sorted(distinct(rows, by))
    by_method = {name: select(rows, method=name) for name in distinct(rows, "method")}
    for ax, level in zip(axes, levels, strict=True):
        for name, own in by_method.items():
            cells = [mean(own, quantile=level, **{by: value}) for value in at]
            _line(ax, name, at, cells)
        ax.set_title(f"level {level:g}", fontsize=9)
        ax.set_xlabel(xlabel, fontsize=8)
        ax.tick_params(labelsize=7)
        bare(ax)
    axes[0].set_ylabel(ylabel, fontsize=8)
    _legend_below(figure, axes[0])
    return figure


def convergence(
    rows: list[Row], keys: Sequence[str], sizes: Sequence[int], methods: Sequence[str]
) -> Figure:
    """Error against n on logarithmic axes, a panel per model."""
    figure = new_figure(4.5 * len(keys), 3.6)
    axes = figure.subplots(1, len(keys), squeeze=False)[0]
    for ax, key in zip(axes, keys, strict=True):
        for name in methods:
            cells = [mean(rows, setting=f"{key}, n = {n}", method=name) for n in sizes]
            _line(ax, name, sizes, cells, marker="o")
        ax.set(title=key, xlabel="training rows", ylabel="MAD", xscale="log", yscale="log")
        ax.legend(fontsize=8, frameon=False)
        bare(ax)
    return figure


def equations(
    examples: Sequence[tuple[int, Array, Array, Array, float, float]], level: float
) -> Figure:
    """Draw both estimating equations; examples are (n, q, U1, U2, root 1, root 2)."""
    figure = new_figure(9, 6.5)
    axes = figure.subplots(2, 2, sharex=True, sharey=True).ravel()
    for ax, (n, q, u1, u2, root1, root2) in zip(axes, examples, strict=True):
        ax.axhline(0, c="#bbbbbb", lw=0.8)
        ax.step(q, u1, where="post", c=BLACK, lw=1.2, label="U1, true times")
        ax.step(q, u2, where="post", c=RED, lw=1.2, label="U2, observed times")
        # Dashes that leave room for each other where the roots are the same.
        ax.axvline(root1, c=BLACK, ls=(0, (3, 3)), label=f"root of U1: {root1:.3f}")
        ax.axvline(root2, c=RED, ls=(3, (3, 3)), label=f"root of U2: {root2:.3f}")
        ax.axvline(level, c=BLUE, lw=0.9, label=f"true quantile: {level:g}")
        ax.set_title(f"n = {n:,}", fontsize=10)
        ax.legend(fontsize=7, frameon=False)
        bare(ax)
    for ax in axes[2:]:
        ax.set_xlabel("q")
    for ax in axes[::2]:
        ax.set_ylabel("U(q)")
    return figure


def survival_grid(
    panels: dict[tuple[str, str], dict[str, tuple[Array, Array]]],
    lines: Sequence[str],
    columns: Sequence[str],
) -> Figure:
    """Curves in a grid of panels: {(line, column): {name: (times, values)}}."""
    figure = new_figure(2.9 * len(columns), 2.5 * len(lines))
    axes = figure.subplots(len(lines), len(columns), sharey=True, squeeze=False)
    styles = {"truth": (BLACK, "-"), "Beran": (RED, "-"), "nearest neighbours": (BLUE, "--")}
    for axs, line in zip(axes, lines, strict=True):
        for ax, column in zip(axs, columns, strict=True):
            for name, (times, values) in panels[line, column].items():
                c, style = styles[name]
                ax.step(times, values, style, where="post", c=c, lw=1.2, label=name)
            ax.set_title(f"{line}, {column}", fontsize=9)
            ax.tick_params(labelsize=7)
            ax.set_ylim(-0.03, 1.03)
            bare(ax)
        axs[0].set_ylabel("G(q | x)", fontsize=8)
    _legend_below(figure, axes[0, 0])
    return figure


def intervals(examples: dict[str, tuple[Any, Array, Array]], coverage: float) -> Figure:
    """Test points of one feature with their intervals: {method: (test, low, high)}."""
    figure = new_figure(4.2 * len(examples), 3.6)
    axes = figure.subplots(1, len(examples), sharey=True, squeeze=False)[0]
    for ax, (name, (test, low, high)) in zip(axes, examples.items(), strict=True):
        x = test.X[:, 0]
        order = np.argsort(x)
        inside = (low <= test.latent) & (test.latent <= high)
        ax.fill_between(x[order], low[order], high[order], color=colour_of(name), alpha=0.25, lw=0)
        ax.scatter(x[inside], test.latent[inside], s=7, c="#555555")
        ax.scatter(x[~inside], test.latent[~inside], s=12, c=RED, marker="x")
        ax.set(title=f"{name}: {inside.mean():.1%} inside (nominal {coverage:.0%})", xlabel="x")
        ax.title.set_fontsize(10)
        bare(ax)
    axes[0].set_ylabel("true time")
    return figure


def against_node_size(
    rows: list[Row], settings: Sequence[str], metric: str, label: str, nominal: float | None = None
) -> Figure:
    """Draw a metric against the node size, a panel per setting, a line per method."""
    figure = new_figure(3.8 * len(settings), 3.5)
    axes = figure.subplots(1, len(settings), squeeze=False)[0]
    for ax, key in zip(axes, settings, strict=True):
        here = select(rows, setting=key, metric=metric)
        sizes = sorted(size for size in distinct(here, "node_size") if size is not None)
        for name in distinct(here, "method"):
            cells = [mean(here, method=name, node_size=size) for size in sizes]
            _line(ax, name, sizes, cells)
        if nominal is not None:
            ax.axhline(nominal, c="#999999", ls=":")
        ax.set(title=key, xlabel="node size", ylabel=label)
        bare(ax)
    _legend_below(figure, axes[0])
    return figure


def pairs(points: Sequence[tuple[str, float, float]], xlabel: str, ylabel: str) -> Figure:
    """Points (method, x, y) around the line x = y, on logarithmic axes."""
    figure = new_figure(5.5, 5)
    ax = figure.subplots()
    families: dict[str, list[str]] = {}
    for name in dict.fromkeys(name for name, _, _ in points):
        x, y = np.array([(a, b) for other, a, b in points if other == name]).T
        family = families.setdefault(colour_of(name), [])
        marker = "s" if "oracle" in name else MARKERS[len(family) % len(MARKERS)]
        family.append(name)
        ax.scatter(x, y, s=18, c=colour_of(name), marker=marker, alpha=0.8, label=name)
    values = [value for _, *pair in points for value in pair]
    ax.plot([min(values), max(values)], [min(values), max(values)], c="#999999", lw=0.8)
    ax.set(xlabel=f"MAD, {xlabel}", ylabel=f"MAD, {ylabel}", xscale="log", yscale="log")
    for axis in (ax.xaxis, ax.yaxis):
        _plain_log(axis, min(values), max(values))
    ax.legend(fontsize=8, frameon=False)
    bare(ax)
    return figure
