"""What a page is made of: paragraphs, tables, charts, chapters.

They hold texts and charts; the macros in ``templates/parts.html`` say how they are written. A part
that is put into a template writes itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from cqrf.app.report.charts import Chart
from cqrf.app.report.markup import Markup, macro


class Part:
    """A part of a page; `macro` is the name of the macro that writes it."""

    macro: ClassVar[str]

    def __html__(self) -> Markup:
        return self.html()

    def html(self) -> Markup:
        """Write the part."""
        return macro(self.macro, self)


@dataclass(frozen=True)
class Paragraph(Part):
    """Plain text."""

    macro: ClassVar = "paragraph"

    text: str


@dataclass(frozen=True)
class Tiles(Part):
    """A few numbers, written large, each with its name below it.

    Attributes
    ----------
    facts : sequence of (str, str)
        Names and values.
    """

    macro: ClassVar = "tiles"

    facts: Sequence[tuple[str, str]]


@dataclass(frozen=True)
class CellTable(Part):
    """Cells of text; it scrolls where it is wider than the page.

    Attributes
    ----------
    caption : str
    head : sequence of str
    body : sequence of sequences of str
        The first cell of a line is its name.
    """

    macro: ClassVar = "cell_table"

    caption: str
    head: Sequence[str]
    body: Sequence[Sequence[str]]


@dataclass(frozen=True)
class FoldedTable(Part):
    """A table below its caption, which opens it."""

    macro: ClassVar = "folded_table"

    table: CellTable


@dataclass(frozen=True)
class CaptionedChart(Part):
    """A chart, its legend, its caption and the table behind it."""

    macro: ClassVar = "captioned_chart"

    chart: Chart
    caption: str
    table: CellTable | None = None


@dataclass(frozen=True)
class ChartGrid(Part):
    """Charts side by side where there is room."""

    macro: ClassVar = "chart_grid"

    charts: Sequence[Part]


@dataclass(frozen=True)
class Headed(Part):
    """A chart with a heading."""

    macro: ClassVar = "headed"

    heading: str
    chart: CaptionedChart


@dataclass(frozen=True)
class Chapter(Part):
    """A chapter of the page.

    Attributes
    ----------
    name : str
        Its anchor.
    title : str
    parts : sequence of Part
    """

    macro: ClassVar = "chapter"

    name: str
    title: str
    parts: Sequence[Part]
