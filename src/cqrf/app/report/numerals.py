"""How the pages write numbers."""

from __future__ import annotations

import math
from collections.abc import Callable

from cqrf.support.words import Words

# Stands for a number that does not exist.
NOTHING = "-"


def number(value: float) -> str:
    """Write a number with about three digits."""
    if not math.isfinite(value):
        return NOTHING
    if value != 0.0 and not 1e-4 <= abs(value) < 1e6:
        return f"{value:.2e}"
    digits = max(0, 2 - math.floor(math.log10(abs(value)))) if value else 0
    # Years are smaller than 10,000 and have no comma.
    text = f"{value:{',' if abs(value) >= 1e4 else ''}.{min(digits, 6)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def percent(value: float) -> str:
    """Write a share."""
    if not math.isfinite(value):
        return NOTHING
    if 0.0 < abs(value) < 0.001:
        return f"{100 * value:.1g}%"
    return f"{100 * value:.1f}".removesuffix(".0") + "%"


def plus_minus(value: float, error: float, write: Callable[[float], str] = number) -> str:
    """Write an estimate and its error, if they exist."""
    if not math.isfinite(value):
        return NOTHING
    # The error of one row, or of rows that all say the same, is zero but for rounding.
    return f"{write(value)} ± {write(error)}" if 1e-9 < error < math.inf else write(value)


def bounded(value: float, known: bool, words: Words) -> str:
    """Write a quantile, or the bound that is known of it."""
    return number(value) if known else f"{words.bound} {number(value)}"
