"""Which ends of an interval censoring hides, and conformal bounds."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cqrf.model.conformal import Calibration
from cqrf.model.points import Points
from cqrf.solving.estimation import mark_unreached

BOTH = ("lower", "upper")


def tails(coverage: float) -> NDArray[np.float64]:
    """Levels of the ends of an interval that leaves as much on either side, shape (2,)."""
    tail = (1.0 - coverage) / 2.0
    return np.array([tail, 1.0 - tail])


def hidden_sides(sides: tuple[str, ...], *, mirrored: bool) -> NDArray[np.bool_]:
    """Tell on which sides censoring hides T: the upper ones, or under left censoring the lower."""
    return np.array([(side == "upper") != mirrored for side in sides])


def conformal_bounds(
    points: Points, calibration: Calibration, miss: float, sides: tuple[str, ...], unreached: str
) -> NDArray[np.float64]:
    """Compute bounds each of which misses T with probability `miss`, shape (m, sides).

    Parameters
    ----------
    points : Points
        The m rows.
    calibration : Calibration
        At which levels quantiles hold.
    miss : float
        Probability.
    sides : tuple of {"lower", "upper"}
        Which bounds.
    unreached : {"inf", "clip", "nan"}
        What stands for a bound on the hidden side that the data do not identify.
    """
    mirrored = points.model.target.mirrored
    hidden = hidden_sides(sides, mirrored=mirrored)
    level = np.where(hidden, calibration.upper_level(miss), calibration.lower_level(miss))
    answers, identified = points.estimation.quantiles(
        1.0 - level if mirrored else level, solver="root", interpolation="midpoint"
    )
    identified[:, hidden & (level >= 1.0)] = False
    identified[:, ~hidden] = True
    answers = mark_unreached(answers, identified, unreached, mirrored=mirrored)
    answers[:, ~hidden & (level <= 0.0)] = np.inf if mirrored else -np.inf
    return answers
