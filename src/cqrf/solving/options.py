"""How questions are answered: the parameters that turn weights into curves and quantiles."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cqrf.support.checks import check_choice, check_int, check_jobs, check_vector

CENSORING_CURVES = ("beran", "knn", "kernel", "marginal")
SOLVERS = ("root", "argmin")
INTERPOLATIONS = ("midpoint", "lower", "linear")
UNREACHED = ("clip", "nan", "inf")

# Where `time_resolution` is "auto" (docs/design/0008).
_EXACT_ROWS = 2**13
_LEVELS = 2**13


@dataclass(frozen=True)
class AnswerOptions:
    """The parameters of the estimator that are read when a question is asked, checked.

    Attributes
    ----------
    censoring_curve : str
        Estimator of G, one of `CENSORING_CURVES`.
    n_neighbors : int
        Rows for the curve "knn"; 0 for the others.
    solver, interpolation : str
        How a curve is turned into quantiles.
    time_resolution : "auto", int or None
        Parameter of that name.
    n_threads : int
        Threads; answers do not depend on it.
    """

    censoring_curve: str = "beran"
    n_neighbors: int = 0
    solver: str = "root"
    interpolation: str = "midpoint"
    time_resolution: int | str | None = "auto"
    n_threads: int = 1

    @classmethod
    def from_params(cls, params: dict[str, Any], n: int) -> AnswerOptions:
        """Check the estimator's parameters for n training rows."""
        curve = check_choice("censoring_curve", params["censoring_curve"], CENSORING_CURVES)
        check_solving(params["solver"], params["interpolation"], "clip")
        levels_of_time(params["time_resolution"], 1)
        return cls(
            censoring_curve=curve,
            n_neighbors=check_neighbors(curve, params["n_neighbors"], n),
            solver=params["solver"],
            interpolation=params["interpolation"],
            time_resolution=params["time_resolution"],
            n_threads=check_jobs(params["n_jobs"]),
        )


def check_neighbors(censoring_curve: str, n_neighbors: int | None, n: int) -> int:
    """Return the number of neighbours of the "knn" curve among n rows; 0 for other curves."""
    k = check_int("n_neighbors", n_neighbors, 1, allow_none=True)
    if k is not None and k > n:
        raise ValueError(f"n_neighbors must not exceed the {n} training rows; received {k}")
    if censoring_curve != "knn":
        return 0
    # The paper's own choice in its comparison of the two curves.
    return max(1, n // 10) if k is None else k


def levels_of_time(time_resolution: object, n_rows: int, n_members: float = np.inf) -> int:
    """Return the most levels that the times of n rows are divided into; 0 is exact.

    Parameters
    ----------
    time_resolution : "auto", int or None
        Parameter of the forest of that name.
    n_rows : int
        Number of training ranks.
    n_members : float
        Members of the leaves of a test point, all trees together; of fewer than levels, sums by
        rank are as fast.
    """
    if isinstance(time_resolution, str):
        check_choice("time_resolution", time_resolution, ("auto",))
        return 0 if n_rows <= _EXACT_ROWS or n_members < _LEVELS else _LEVELS
    levels = check_int("time_resolution", time_resolution, 1, allow_none=True)
    # A row has no more than one; beyond that, numbers could be too large for the engine.
    return 0 if levels is None else min(levels, n_rows)


def check_condition(after: ArrayLike | None, n_rows: int) -> NDArray[np.float64] | None:
    """Check `conditional_after`; return it with one entry per row, shape (n_rows,)."""
    if after is None:
        return None
    given = np.asarray(after)
    if given.ndim == 0:
        given = np.full(n_rows, given)
    values = check_vector("conditional_after", given).astype(np.float64)
    if values.shape[0] != n_rows:
        raise ValueError(
            f"conditional_after must be a number or have one entry per row: it has "
            f"{values.shape[0]} entries for {n_rows} rows"
        )
    if not np.isfinite(values).all():
        row = int(np.argmin(np.isfinite(values)))
        raise ValueError(f"conditional_after must be finite; row {row} is {values[row]}")
    return values


def check_solving(solver: str, interpolation: str, unreached: str) -> None:
    """Refuse unknown names of the options that turn a curve into quantiles."""
    check_choice("solver", solver, SOLVERS)
    check_choice("interpolation", interpolation, INTERPOLATIONS)
    check_choice("unreached", unreached, UNREACHED)
