"""What all pictures share, whether matplotlib or SVG shows them: colours, and error bars."""

from __future__ import annotations

# Error bars reach so many standard errors to either side.
ERROR_BAR = 2.0
# Okabe and Ito: told apart by readers with any colour vision, and in print.
BLUE, ORANGE, GREEN, RED, PURPLE, SKY, YELLOW, BLACK = (
    "#0072B2",
    "#E69F00",
    "#009E73",
    "#D55E00",
    "#CC79A7",
    "#56B4E9",
    "#F0E442",
    "#000000",
)
# Rows have colours of their own, by Paul Tol, so that none of them is taken for a quantile.
ROWS = INDIGO, MAGENTA, OLIVE, ROSE, TEAL, WINE = (
    "#332288",
    "#AA4499",
    "#999933",
    "#CC6677",
    "#44AA99",
    "#882255",
)
# The usual levels have a colour of that palette each, from cold to warm; others are mixed from
# their neighbours.
_LEVELS = (
    (0.0, "#002B45"),
    (0.1, BLUE),
    (0.25, SKY),
    (0.5, GREEN),
    (0.75, ORANGE),
    (0.9, RED),
    (1.0, "#5C1F00"),
)


def colour_of_level(level: float) -> str:
    """Colour of the quantile of a level in (0, 1), as ``#rrggbb``."""
    above = next(k for k, (at, _) in enumerate(_LEVELS) if k and level <= at)
    (low, cold), (high, warm) = _LEVELS[above - 1 : above + 1]
    part = (level - low) / (high - low)
    mixed = (round(a + part * (b - a)) for a, b in zip(_rgb(cold), _rgb(warm), strict=True))
    return "#" + "".join(f"{value:02X}" for value in mixed)


def _rgb(colour: str) -> tuple[int, ...]:
    return tuple(bytes.fromhex(colour[1:]))
