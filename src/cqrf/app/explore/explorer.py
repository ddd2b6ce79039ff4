"""The page, and the part of it that follows the sliders."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cqrf.app.explore.controls import Control, make_controls, read_row
from cqrf.app.report.markup import Markup, asset, document
from cqrf.app.report.numerals import bounded
from cqrf.app.report.parts import CaptionedChart, CellTable
from cqrf.app.report.predictions import encoded_law
from cqrf.app.report.row_chapter import curve_chart, time_range
from cqrf.app.report.subject import SHOWN
from cqrf.app.tables import Dialect, SizeLimits
from cqrf.forest import CensoredQuantileForest
from cqrf.model.explain import outcomes_by_row
from cqrf.solving.curves import StepFunction
from cqrf.solving.solve import survival_curves
from cqrf.support.colours import INDIGO, MAGENTA
from cqrf.support.words import Words, words_for

_TAIL = 0.05
# Limits of a table that is scored, since the answers to all of its rows are held in memory: by how
# much it may grow when decompressed, its rows and its columns.
_EXPANSION = 10
_MAX_ROWS = 200_000
_MAX_COLUMNS = 5_000
_MAX_CELLS = 10_000_000


@dataclass(frozen=True, eq=False)
class Explorer:
    """A forest that answers for rows as the page sends them.

    Attributes
    ----------
    forest : CensoredQuantileForest
    title : str
    time_name : str or None
        What the outcome is called; None is as the model knows it, or else a time, or a value
        under left censoring.
    max_upload : int
        Bytes of a table that may be scored.
    dialect : Dialect or None
        How its numbers and cells are written.
    """

    forest: CensoredQuantileForest
    title: str
    time_name: str | None
    max_upload: int
    dialect: Dialect | None = None

    @property
    def words(self) -> Words:
        """What outcomes are called."""
        return words_for(self.forest.target_.censoring)

    @property
    def name(self) -> str:
        """Name of the outcome."""
        return self.time_name or self.forest.outcome_labels_.time or self.words.outcome

    @property
    def limits(self) -> SizeLimits:
        """How large a table may be."""
        return SizeLimits(_EXPANSION * self.max_upload, _MAX_ROWS, _MAX_COLUMNS, _MAX_CELLS)

    @cached_property
    def controls(self) -> list[Control]:
        """One for every feature."""
        return make_controls(self.forest)

    @cached_property
    def overall(self) -> StepFunction:
        """Kaplan-Meier curve of all training rows."""
        time, event = self._outcome
        weights = np.full((1, len(time)), 1.0 / len(time))
        censoring = self.forest.target_.censoring
        curve: StepFunction = survival_curves(weights, time, event, censoring=censoring)[0]
        return curve

    @cached_property
    def _outcome(self) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        time, event = outcomes_by_row(self.forest.target_)
        kept = ~np.isnan(time)
        return time[kept], event[kept]

    def answer(self, request: Any) -> dict[str, Any]:
        """Answer for a row, and draw a pinned one beside it.

        Parameters
        ----------
        request : dict
            ``values``: the row; ``pinned``: another row or None.

        Returns
        -------
        dict
            ``figure``: HTML; ``quantiles``, ``identified`` and ``interval``: numbers.
        """
        if not isinstance(request, dict):
            raise ValueError("a request must be an object with the values of a row")
        row = read_row(self.controls, request.get("values"))
        pinned = request.get("pinned")
        levels = np.array([*SHOWN, _TAIL, 1.0 - _TAIL])
        words = self.words
        law = encoded_law(self.forest, row)
        quantiles, identified = law.quantile(levels), law.identified(levels)
        weights = law.weights().data
        low, high = time_range(self._outcome[0])
        chart = curve_chart(
            f"{words.curve.capitalize()} of the row that the controls describe",
            self.name,
            law.survival()[0],
            quantiles[0, :3],
            identified[0, :3],
            self.overall,
            low,
            high,
            words=words,
        )
        chart.ribbon(quantiles[0, 3:], [0.0, 0.0], [1.03, 1.03], INDIGO)
        if pinned is not None:
            other = encoded_law(self.forest, read_row(self.controls, pinned)).survival()[0]
            x = np.concatenate([[low], other.x[other.x > low]])
            chart.line(x, other(x), MAGENTA, "pinned", step=True, dash="8 3 2 3")
        times = [
            bounded(float(time), bool(known), words)
            for time, known in zip(quantiles[0], identified[0], strict=True)
        ]
        table = CellTable(
            "Numbers",
            (words.share, self.name),
            [(f"{level:.0%}", text) for level, text in sorted(zip(levels, times, strict=True))],
        )
        caption = (
            f"90% interval: {times[3]} to {times[4]} (shaded). Made of about "
            f"{1.0 / float((weights**2).sum()):.0f} training rows. Rings are bounds: the "
            "data do not reach further."
        )
        return {
            "figure": CaptionedChart(chart, caption, table).html(),
            "tiles": [
                {"name": words.row_tile.format(self.name, f"{level:.0%}"), "value": text}
                for level, text in zip(SHOWN, times[:3], strict=True)
            ],
            "quantiles": quantiles[0, :3].tolist(),
            "identified": identified[0, :3].tolist(),
            "interval": quantiles[0, 3:].tolist(),
        }

    def page(self, nonce: str) -> str:
        """Write the page."""
        start = [control.value for control in self.controls]
        first = self.answer({"values": start})
        return document(
            "explore/page.html",
            self.title,
            nonce,
            intro=self.words.row_intro,
            tiles=first["tiles"],
            figure=Markup(first["figure"]),
            controls=self.controls,
            max_upload=self.max_upload,
            limits=self.limits,
            explore_script=asset("cqrf.app.explore", "explore.js"),
        )
