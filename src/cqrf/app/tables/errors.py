"""What is wrong with a table, and where."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

# Of names with three letters, two are the same.
_ALIKE = 0.66


class TableError(ValueError):
    """A table cannot be used; the message is one line that names file, column and row.

    Parameters
    ----------
    file : str
        Name of the file.
    problem : str
        What is wrong, and if possible what helps.
    column : str, optional
        Name of the column.
    row : int, optional
        Row of the data, from 1; the header is not counted.
    """

    def __init__(
        self, file: str, problem: str, *, column: str | None = None, row: int | None = None
    ) -> None:
        self.file, self.problem, self.column, self.row = file, problem, column, row
        place = [] if column is None else [f"column {column!r}"]
        if row is not None:
            place.append(f"row {row}")
        parts = [file, ", ".join(place), problem] if place else [file, problem]
        super().__init__(": ".join(parts))


class TableTooLarge(TableError):
    """A table holds more than the reader is allowed to take in."""


def shown(value: object) -> str:
    """Quote a value for a message, shortened if it is long."""
    text = str(value)
    return repr(text if len(text) <= 40 else f"{text[:37]}...")


def meant(wanted: str, names: Iterable[str]) -> str:
    """Ask "did you mean ...? " if a name is much like the one that is not there."""
    folded = {name.casefold(): name for name in reversed(list(names))}
    close = difflib.get_close_matches(wanted.casefold(), folded, n=1, cutoff=_ALIKE)
    return f"did you mean {shown(folded[close[0]])}? " if close else ""
