"""From a fitted forest to the sliders and menus that make up a row."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cqrf.app.report.numerals import number
from cqrf.forest import CensoredQuantileForest


@dataclass(frozen=True)
class Control:
    """One feature of the row.

    Attributes
    ----------
    name : str
    value : float or None
        Where it starts: the median, or the code of the commonest category; None if all are missing.
    may_miss : bool
        Whether values were missing in training.
    low, high, step : float
        Range and step of a number; all zero if it had one value only.
    options : tuple of str
        Names of the categories, in the order of their codes; empty for a number.
    """

    name: str
    value: float | None
    may_miss: bool
    low: float = 0.0
    high: float = 0.0
    step: float = 0.0
    options: tuple[str, ...] = ()

    @property
    def is_constant(self) -> bool:
        """Whether the feature is a number that had one value: then there is nothing to move."""
        return not self.options and self.step == 0.0

    @property
    def place(self) -> float:
        """Where a slider starts; one whose values are all missing, at its lower end."""
        return self.low if self.value is None else self.value

    @property
    def shown(self) -> str:
        """What stands beside the name; a menu shows its option itself."""
        if self.options:
            return ""
        return "had one value only" if self.is_constant else number(self.place)


def make_controls(forest: CensoredQuantileForest) -> list[Control]:
    """Make a control for every feature, from what a model file knows of the training data."""
    known = dict(forest.model_.encoder.categories)
    found = []
    for j, name in enumerate(forest.model_.names):
        bins = forest.model_.bins[:, j]
        present = bins[bins < forest.model_.binner.n_bins[j]]
        may_miss = len(present) < len(bins)
        if j in known:
            found.append(_menu(name, forest, j, known[j], present, may_miss))
        else:
            found.append(_slider(name, forest, j, present, may_miss))
    return found


def read_row(controls: list[Control], values: Any) -> NDArray[np.float64]:
    """Check what the page sent: numbers, codes of categories, None for missing; shape (1, p)."""
    if not isinstance(values, list) or len(values) != len(controls):
        raise ValueError(f"a row must be a list of {len(controls)} values")
    row = np.full((1, len(controls)), np.nan)
    for j, (control, value) in enumerate(zip(controls, values, strict=True)):
        if value is None:
            continue
        if not isinstance(value, int | float) or isinstance(value, bool):
            raise ValueError(f"{control.name} must be a number or nothing")
        # JSON holds whole numbers of any length, which need not fit into a float.
        if not abs(value) <= sys.float_info.max:
            raise ValueError(f"{control.name} must be a number of less than 309 digits, or nothing")
        if control.options and value not in range(len(control.options)):
            raise ValueError(f"{control.name} has no category number {value:g}")
        row[0, j] = value
    return row


def _menu(
    name: str,
    forest: CensoredQuantileForest,
    j: int,
    values: NDArray[Any],
    present: NDArray[np.uint8],
    may_miss: bool,
) -> Control:
    # The fullest bin holds the commonest category; rare categories share a bin.
    start, end = forest.model_.binner.category_offset[j : j + 2]
    bin_of = forest.model_.binner.category_bins[start:end]
    value = None
    if len(present):
        value = float(np.flatnonzero(bin_of == np.bincount(present).argmax())[0])
    return Control(name, value, may_miss, options=tuple(str(v) for v in values.tolist()))


def _slider(
    name: str,
    forest: CensoredQuantileForest,
    j: int,
    present: NDArray[np.uint8],
    may_miss: bool,
) -> Control:
    start, end = forest.model_.binner.cut_offset[j : j + 2]
    cuts = forest.model_.binner.cuts[start:end]
    if not len(cuts):
        return Control(name, 0.0 if len(present) else None, may_miss)
    whole = bool((cuts * 2 == np.rint(cuts * 2)).all())
    gap = 1.0 if whole else (cuts[-1] - cuts[0]) / len(cuts) or abs(cuts[0]) * 0.1 or 1.0
    low, high = float(cuts[0] - gap / 2), float(cuts[-1] + gap / 2)
    step = 1.0 if whole else float(f"{(high - low) / 200:.1g}")
    low, high = math.floor(low / step) * step, math.ceil(high / step) * step
    value = None
    if len(present):
        b = int(np.median(present))
        left = cuts[b - 1] if b else low
        right = cuts[b] if b < len(cuts) else high
        value = round(float(left + right) / 2 / step) * step
    return Control(name, value, may_miss, low, high, step)
