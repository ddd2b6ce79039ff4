"""Charts as SVG text: visible without scripts, printed as they are, read aloud by their title.

Every chart carries its numbers in ``data-`` attributes; `chart.js` shows them under the pointer.
Python draws, so that the report and the page of ``cqrf explore`` look alike, and a notebook that
removes scripts still shows every picture.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cqrf.app.report.markup import Markup, element
from cqrf.app.report.numerals import number

GREY = "#6b7280"
_WIDTH = 480
_LEFT, _RIGHT, _TOP, _BOTTOM = 70, 26, 12, 46


@dataclass(frozen=True)
class Axis:
    """One direction of a chart.

    Attributes
    ----------
    label : str
    low, high : float
    log : bool
        Logarithmic.
    percent : bool
        Values are shares.
    marked : tuple of float
        Where the ticks are; if empty, they are at round values.
    """

    label: str
    low: float
    high: float
    log: bool = False
    percent: bool = False
    marked: tuple[float, ...] = ()

    @classmethod
    def around(
        cls,
        label: str,
        values: Sequence[float] | NDArray[Any],
        *,
        zero: bool = False,
        log: bool = False,
        percent: bool = False,
    ) -> Axis:
        """Make an axis that holds the finite values, and zero if asked."""
        finite = np.asarray(values, dtype=np.float64).ravel()
        finite = finite[np.isfinite(finite)]
        low, high = (finite.min(), finite.max()) if len(finite) else (0.0, 1.0)
        if log:
            return cls(label, low / 1.1, high * 1.1, log=True, percent=percent)
        if zero:
            low, high = min(low, 0.0), max(high, 0.0)
            high = 1.0 if low == high else high
        margin = 0.04 * (high - low) or abs(high) * 0.1 or 1.0
        return cls(
            label,
            low if zero and low == 0.0 else low - margin,
            high if zero and high == 0.0 else high + margin,
            percent=percent,
        )

    @classmethod
    def along(cls, label: str, values: NDArray[np.float64]) -> Axis:
        """Make the axis of a feature; one with at most two values has ticks at these alone."""
        axis = cls.around(label, values)
        return replace(axis, marked=tuple(values.tolist())) if len(values) <= 2 else axis

    def place(self, value: float) -> float:
        """Position from 0 (low) to 1 (high)."""
        if self.log:
            return math.log(value / self.low) / math.log(self.high / self.low)
        return (value - self.low) / (self.high - self.low)

    def ticks(self, count: int = 5) -> list[float]:
        """Round values along the axis, or those that are marked."""
        if self.marked:
            return list(self.marked)
        if self.log:
            decades = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
            steps = (1, 2, 5) if self.high / self.low < 300 else (1,)
            found = [s * 10.0**d for d in decades for s in steps]
            return [tick for tick in found if self.low <= tick <= self.high]
        raw = (self.high - self.low) / count
        power = 10.0 ** math.floor(math.log10(raw))
        step = next(m * power for m in (1, 2, 2.5, 5, 10) if m * power >= raw * 0.999)
        first = math.ceil(self.low / step - 1e-9)
        last = math.floor(self.high / step + 1e-9)
        # Rounded to two digits more than the step has: 0.3 and not 0.30000000000000004.
        digits = 2 - math.floor(math.log10(step))
        return [round(k * step, digits) for k in range(first, last + 1)]


@dataclass
class Chart:
    """A chart: marks are added one by one, and the template that it is put into shows it as SVG.

    Attributes
    ----------
    title : str
        What the chart shows, for screen readers.
    x, y : Axis
    height : int
    names : list of str
        Names along the vertical axis, from the top; it has no ticks then.
    left : int
        Width of the margin on the left, which holds ticks or names.
    """

    title: str
    x: Axis
    y: Axis
    height: int = 300
    names: list[str] = field(default_factory=list)
    left: int = _LEFT

    def __post_init__(self) -> None:
        self._marks: list[Markup] = []
        self._series: list[dict[str, object]] = []
        self._keys: list[tuple[str, str, str]] = []
        if self.names:
            longest = max(len(name) for name in self.names)
            self.left = min(215, 22 + round(8.4 * min(longest, 24)))

    def key(self, name: str, colour: str, dash: str = "") -> int:
        """Add an entry to the legend; marks that carry its number are hidden with it."""
        self._keys.append((name, colour, dash))
        return len(self._keys) - 1

    def line(
        self,
        x: Sequence[float] | NDArray[Any],
        y: Sequence[float] | NDArray[Any],
        colour: str,
        name: str,
        *,
        step: bool = False,
        dash: str = "",
        dots: bool = False,
        width: float = 2.2,
    ) -> None:
        """Draw a line through the finite points, or a step function."""
        pairs = [
            (float(a), float(b))
            for a, b in zip(x, y, strict=True)
            if math.isfinite(a) and math.isfinite(b)
        ]
        if not pairs:
            return
        if step:
            pairs = _corners(pairs)
        points = [(self._px(a), self._py(b)) for a, b in pairs]
        path = f"M{points[0][0]:.1f} {points[0][1]:.1f}"
        for a, b in points[1:]:
            path += f"H{a:.1f}V{b:.1f}" if step else f"L{a:.1f} {b:.1f}"
        drawn = [
            element("path", d=path, fill="none", stroke_width=width, stroke_dasharray=dash or None)
        ]
        if dots:
            drawn += [element("circle", cx=a, cy=b, r=3.5) for a, b in points]
        at = self.key(name, colour, dash)
        self._marks.append(element("g", *drawn, data_at=at, stroke=colour, fill=colour))
        self._series.append(
            {
                "name": name,
                "at": at,
                "step": step,
                "x": [_short(a) for a, _ in pairs],
                "y": [_short(b) for _, b in pairs],
            }
        )

    def ribbon(
        self,
        x: Sequence[float] | NDArray[Any],
        low: Sequence[float] | NDArray[Any],
        high: Sequence[float] | NDArray[Any],
        colour: str,
    ) -> None:
        """Shade the room between two lines, behind everything."""
        rows = [row for row in zip(x, low, high, strict=True) if all(math.isfinite(v) for v in row)]
        if len(rows) < 2:
            return
        there = [f"{self._px(a):.1f} {self._py(b):.1f}" for a, b, _ in rows]
        back = [f"{self._px(a):.1f} {self._py(c):.1f}" for a, _, c in reversed(rows)]
        shape = f"M{'L'.join(there + back)}Z"
        self._marks.insert(0, element("path", d=shape, fill=colour, opacity="0.13"))

    def rule(self, x: float, label: str = "") -> None:
        """Draw a thin line from the bottom to the top, with its label where there is room."""
        at, right = self._px(x), _WIDTH - _RIGHT
        ends = {"y1": _TOP, "y2": self.height - _BOTTOM}
        self._marks.append(element("line", class_="rule", x1=at, x2=at, **ends))
        if label:
            on_left = at > (self.left + right) / 2
            self._marks.append(
                element(
                    "text",
                    label,
                    class_="small",
                    x=at - 4 if on_left else at + 4,
                    y=_TOP + 12,
                    text_anchor="end" if on_left else None,
                )
            )

    def diagonal(self) -> None:
        """Draw the line on which both axes agree."""
        low, high = max(self.x.low, self.y.low), min(self.x.high, self.y.high)
        self._marks.append(
            element(
                "line",
                class_="rule",
                x1=self._px(low),
                y1=self._py(low),
                x2=self._px(high),
                y2=self._py(high),
            )
        )

    def dot(
        self,
        x: float,
        y: float,
        colour: str,
        tip: str,
        *,
        error_x: float = 0.0,
        error_y: float = 0.0,
        ring: int | None = None,
        key: int | None = None,
    ) -> None:
        """Draw a point with error bars of these half-lengths, and a text that the pointer shows.

        With `ring` the point is hollow. Rings 0, 1, 2, ... are larger and larger, so that several
        at one place can all be seen.
        """
        if not (math.isfinite(x) and math.isfinite(y)):
            return
        a, b = self._px(x), self._py(y)
        drawn = []
        if error_x and math.isfinite(error_x):
            ends = (self._px(max(x - error_x, self.x.low)), self._px(min(x + error_x, self.x.high)))
            path = f"M{ends[0]:.1f} {b:.1f}H{ends[1]:.1f}"
            drawn.append(element("path", d=path, stroke_width=1.6))
        if error_y and math.isfinite(error_y):
            low = self._py(max(y - error_y, self.y.low))
            high = self._py(min(y + error_y, self.y.high))
            drawn.append(element("path", d=f"M{a:.1f} {low:.1f}V{high:.1f}", stroke_width=1.6))
        fill, radius = (
            (colour, 4.5) if ring is None else ("none" if ring else "#fff", 4.5 + 3.5 * ring)
        )
        drawn.append(element("circle", cx=a, cy=b, r=radius, fill=fill, stroke_width=2))
        self._marks.append(element("g", *drawn, data_at=key, data_tip=tip, stroke=colour))

    def bar(
        self,
        low: tuple[float, float],
        high: tuple[float, float],
        colour: str,
        tip: str,
        key: int | None = None,
    ) -> None:
        """Draw a box from one corner to the other."""
        a, b = self._px(low[0]), self._px(high[0])
        c, d = self._py(high[1]), self._py(low[1])
        self._marks.append(
            element(
                "rect",
                data_at=key,
                data_tip=tip,
                x=min(a, b),
                y=min(c, d),
                width=max(abs(b - a), 0.5),
                height=abs(d - c),
                fill=colour,
            )
        )

    def __html__(self) -> Markup:
        return self.svg()

    def svg(self) -> Markup:
        """Write the chart."""
        return element(
            "svg",
            *self._axes(),
            *self._marks,
            class_="chart",
            viewBox=f"0 0 {_WIDTH} {self.height}",
            role="img",
            tabindex=0,
            aria_label=self.title,
            data_chart=self._data(),
        )

    def legend(self) -> list[tuple[str, str, str]]:
        """Name, colour and dashes of every entry of the legend."""
        return self._keys

    def _data(self) -> str:
        scale = {
            "left": self.left,
            "right": _WIDTH - _RIGHT,
            "top": _TOP,
            "bottom": self.height - _BOTTOM,
            "low": self.x.low,
            "high": self.x.high,
            "log": self.x.log,
            "xlabel": self.x.label,
            "xpercent": self.x.percent,
            "ypercent": self.y.percent,
            "series": self._series,
        }
        return json.dumps(scale, separators=(",", ":"))

    def _axes(self) -> list[Markup]:
        """Draw the grid, its values or names, and the labels."""
        bottom, right = self.height - _BOTTOM, _WIDTH - _RIGHT
        parts = []
        for tick in self.x.ticks():
            a = self._px(tick)
            label = _tick(self.x, tick)
            parts.append(element("line", class_="grid", x1=a, x2=a, y1=_TOP, y2=bottom))
            parts.append(element("text", label, x=a, y=bottom + 17, text_anchor="middle"))
        if self.names:
            for k, name in enumerate(self.names):
                b = self._py(len(self.names) - k - 0.5)
                shown = name if len(name) <= 24 else name[:23] + "…"
                parts.append(element("text", shown, x=self.left - 8, y=b + 4, text_anchor="end"))
        else:
            for tick in self.y.ticks():
                b = self._py(tick)
                label = _tick(self.y, tick)
                parts.append(element("line", class_="grid", x1=self.left, x2=right, y1=b, y2=b))
                parts.append(element("text", label, x=self.left - 7, y=b + 4, text_anchor="end"))
        middle = (self.left + right) / 2
        parts.append(
            element(
                "text",
                self.x.label,
                class_="label",
                x=round(middle),
                y=self.height - 8,
                text_anchor="middle",
            )
        )
        if self.y.label:
            turned = f"translate(14 {(_TOP + bottom) / 2:.0f}) rotate(-90)"
            parts.append(
                element(
                    "text", self.y.label, class_="label", transform=turned, text_anchor="middle"
                )
            )
        return parts

    def _px(self, value: float) -> float:
        return self.left + self.x.place(value) * (_WIDTH - _RIGHT - self.left)

    def _py(self, value: float) -> float:
        bottom = self.height - _BOTTOM
        return bottom - self.y.place(value) * (bottom - _TOP)


def _tick(axis: Axis, value: float) -> str:
    return f"{round(100 * value, 4):g}%" if axis.percent else number(value)


def _short(value: float) -> float:
    return float(f"{value:.4g}")


def _corners(pairs: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """Leave out steps of a curve that are too small to be seen; it may have thousands."""
    kept = [pairs[0]]
    for pair in pairs[1:]:
        if abs(pair[1] - kept[-1][1]) >= 0.002:
            kept.append(pair)
    if kept[-1] != pairs[-1]:
        kept.append(pairs[-1])
    return kept
