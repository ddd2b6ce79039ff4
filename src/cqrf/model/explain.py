"""Who carries a prediction: the training rows behind one answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cqrf.data.outcome import Target
from cqrf.model.distribution import Distribution
from cqrf.support.dataframes import open_frame
from cqrf.support.html import page, table

# Rows of training data that are printed.
_SHOWN = 10


@dataclass(frozen=True, eq=False)
class Explanation:
    """The training rows that a prediction is made of.

    Attributes
    ----------
    rows : ndarray of shape (k,), int64
        Positions in the training data of the rows with weight, heaviest first.
    weights : ndarray of shape (k,), float64
        Their weights, which sum to one.
    time : ndarray of shape (k,), float64
        Their observed times.
    event : ndarray of shape (k,), bool
        True where the event was seen.
    n_train : int
        Number of training rows n.
    censored_share : float
        Weight of the censored rows.
    effective_sample_size : float
        ``1 / sum(weights**2)``: so many rows of equal weight would tell as much.
    identified_levels : tuple of float
        The quantiles of levels between these two are identified. Under right censoring the
        second is the largest identified quantile, and the first is 0; under left censoring the
        first is the smallest, and the second is 1.
    quantiles : ndarray of shape (q,), float64
        Levels that were asked for.
    predicted : ndarray of shape (q,), float64
        The predicted quantiles; where not identified, a bound.
    identified : ndarray of shape (q,), bool
        Which of them the censored data identify.
    censoring : {"right", "left"}
        Whether a censored time is a lower or an upper bound of T.
    """

    rows: NDArray[np.int64]
    weights: NDArray[np.float64]
    time: NDArray[np.float64]
    event: NDArray[np.bool_]
    n_train: int
    censored_share: float
    effective_sample_size: float
    identified_levels: tuple[float, float]
    quantiles: NDArray[np.float64]
    predicted: NDArray[np.float64]
    identified: NDArray[np.bool_]
    censoring: str

    def __str__(self) -> str:
        facts = self._facts()
        width = max(len(label) for label, _ in facts)
        lines = ["Prediction from the training rows that share leaves with this one", ""]
        lines += [f"  {label:<{width}}  {value}" for label, value in facts]
        for columns, body, after in (
            (_QUANTILES, self._quantile_lines(), self._bound_note()),
            (_ROWS, self._row_lines(), self._rows_note()),
        ):
            widths = [max(map(len, column)) for column in zip(columns, *body, strict=True)]
            lines.append("")
            for line in (columns, *body):
                cells = zip(line, widths, strict=True)
                lines.append("  " + "  ".join(f"{cell:>{w}}" for cell, w in cells).rstrip())
            lines += [f"  {after}"] if after else []
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        largest = self.weights[0]
        bars = [100.0 * weight / largest for weight in self.weights[:_SHOWN]]
        return page(
            "Explanation of a prediction",
            table(self._facts()),
            table(self._quantile_lines(), _QUANTILES, note=self._bound_note()),
            table(self._row_lines(), _ROWS, note=self._rows_note(), bars=(1, bars)),
        )

    def _facts(self) -> list[tuple[str, str]]:
        low, high = self.identified_levels
        reach = (
            ("smallest identified quantile", f"{low:.3f}")
            if self.censoring == "left"
            else ("largest identified quantile", f"{high:.3f}")
        )
        return [
            ("rows with weight", f"{len(self.rows):,} of {self.n_train:,}"),
            ("effective sample size", f"{self.effective_sample_size:,.1f}"),
            ("censored share of the weight", f"{self.censored_share:.1%}"),
            reach,
        ]

    def _quantile_lines(self) -> list[tuple[str, ...]]:
        bound = "<" if self.censoring == "left" else ">"
        return [
            (f"{level:g}", f"{'' if known else bound + ' '}{value:.6g}")
            for level, value, known in zip(
                self.quantiles, self.predicted, self.identified, strict=True
            )
        ]

    def _row_lines(self) -> list[tuple[str, ...]]:
        mark = "-" if self.censoring == "left" else "+"
        return [
            (f"{row}", f"{weight:.2%}", f"{time:.6g}{' ' if event else mark}")
            for row, weight, time, event in zip(
                self.rows[:_SHOWN],
                self.weights[:_SHOWN],
                self.time[:_SHOWN],
                self.event[:_SHOWN],
                strict=True,
            )
        ]

    def _bound_note(self) -> str:
        if self.identified.all():
            return ""
        which = "an upper" if self.censoring == "left" else "a lower"
        return f"not identified by the censored data: the number is {which} bound"

    def _rows_note(self) -> str:
        notes = []
        if len(self.rows) > _SHOWN:
            rest = self.weights[_SHOWN:].sum()
            notes.append(f"and {len(self.rows) - _SHOWN:,} more rows with {rest:.1%} of the weight")
        if not self.event[:_SHOWN].all():
            notes.append(f"{'-' if self.censoring == 'left' else '+'} marks a censored time")
        return "; ".join(notes)


_QUANTILES = ("level", "quantile")
_ROWS = ("row", "weight", "time ")


def explain(distribution: Distribution, levels: NDArray[np.float64]) -> Explanation:
    """Take the prediction of one row apart; see `CensoredQuantileForest.explain`."""
    estimation, options = distribution.estimation, distribution.points.options
    if len(distribution) != 1:
        raise ValueError(f"explain takes one row; x has {len(distribution)}")
    _, rows, weights = estimation.weights.matrix(1, 1)
    heaviest = np.lexsort((rows, -weights))
    rows, weights = rows[heaviest], weights[heaviest]
    predicted, identified = distribution.solve(levels, options.interpolation, options.solver)
    survival = estimation.survival_functions()[0]
    target = distribution.points.model.target
    time, event = outcomes_by_row(target)
    return Explanation(
        rows=rows,
        weights=weights,
        time=time[rows],
        event=event[rows],
        n_train=target.n_rows,
        censored_share=float(weights[~event[rows]].sum()),
        effective_sample_size=float(1.0 / (weights**2).sum()),
        # P(T <= t) before the first time and after the last one at which the curve is known.
        identified_levels=(
            max(0.0, 1.0 - float(survival.initial)),
            min(1.0, 1.0 - float(survival.y[-1])),
        ),
        quantiles=levels,
        predicted=predicted[0],
        identified=identified[0],
        censoring=target.censoring,
    )


def one_row(x: Any) -> Any:
    """Make a table of one row out of a vector, a pandas Series, or a table of one row."""
    if open_frame(x) is not None:
        return x
    if hasattr(x, "to_frame") and hasattr(x, "index"):
        # A row of a frame: as a column of its own it would lose the names of its entries.
        return x.to_frame().T
    values = x if isinstance(x, np.ndarray) else np.asarray(x, dtype=object)
    return values[None, :] if values.ndim == 1 else x


def outcomes_by_row(target: Target) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return times (NaN for rows of weight zero) and events of the training rows, shape (n,)."""
    return target.by_row(target.observed, np.nan), target.by_row(target.event == 1, False)
