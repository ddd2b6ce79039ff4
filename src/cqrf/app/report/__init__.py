"""One page on a fitted forest: the data, the fit, what the features do, and what to beware of."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cqrf.storage.container import replacing, write_whole

if TYPE_CHECKING:
    from cqrf.forest import CensoredQuantileForest

__all__ = ["Report"]


class Report:
    """A page on a fitted forest, as `CensoredQuantileForest.report` makes it.

    In a notebook it is displayed inline.

    Attributes
    ----------
    html : str
        The page: one HTML document that needs nothing else.
    warnings : list of str
        What it warns of, in plain words.
    """

    def __init__(self, html: str, warnings: list[str]) -> None:
        self.html = html
        self.warnings = warnings

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the page to a file, whole or not at all.

        Parameters
        ----------
        path : str or path-like
            By custom the name ends in ``.html``.
        """
        with replacing(Path(os.path.realpath(path))) as file:
            write_whole(file, memoryview(self.html.encode("utf-8")))

    def __repr__(self) -> str:
        return f"<Report: {len(self.html) / 1e6:.1f} MB, {len(self.warnings)} warnings>"

    def _repr_html_(self) -> str:
        from cqrf.app.report.markup import render

        return render("report/notebook.html", page=self.html)


def make_report(
    forest: CensoredQuantileForest,
    X: Any,
    y: Any,
    event: Any,
    *,
    title: str,
    time_name: str | None,
    horizon: float | str,
    verbose: int,
) -> Report:
    """Make the page; see `CensoredQuantileForest.report`."""
    from cqrf.app.report.page import build_page
    from cqrf.app.report.subject import Subject

    subject = Subject.from_data(forest, X, y, event, title, time_name, horizon)
    html, cautions = build_page(subject, verbose=verbose)
    return Report(html, [f"{c.title}: {c.text}" for c in cautions if c.kind == "warning"])
