"""The features of every row as a frame, for fitting, and for a forest that is fitted."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from cqrf.tables._errors import TableError
from cqrf.tables.columns import Kind, kind_of, numbers, texts
from cqrf.tables.reading import Block, listed

if TYPE_CHECKING:
    from cqrf.forest import CensoredQuantileForest


@dataclass(frozen=True)
class Features:
    """Names and kinds of the columns that a forest learns from.

    Attributes
    ----------
    kinds : dict of str to {"number", "boolean", "date", "text"}
        In the order of the forest's features.
    named : bool
        False for a forest that knows no names: then columns count by position.
    notes : tuple of str
        What a user should know about how columns were read.
    """

    kinds: dict[str, Kind]
    named: bool = True
    notes: tuple[str, ...] = field(default=())

    @classmethod
    def from_table(
        cls, block: Block, outcome: list[str], drop: tuple[str, ...], category: tuple[str, ...]
    ) -> Features:
        """Choose the columns of a training table: all but the outcome and what is dropped."""
        for option, names in (("--drop", drop), ("--category", category)):
            for name in names:
                if name not in block.columns:
                    raise TableError(
                        block.file,
                        f"{option} {name}: there is no such column; {listed(block.columns)}",
                    )
        left = [name for name in block.columns if name not in (*outcome, *drop)]
        if not left:
            raise TableError(
                block.file, f"no column is left to learn from beside {' and '.join(outcome)}"
            )
        kinds: dict[str, Kind] = {
            name: "text" if name in category else kind_of(block, name) for name in left
        }
        return cls(kinds, notes=tuple(_notes(block, kinds)))

    @classmethod
    def of_forest(cls, forest: CensoredQuantileForest, names: list[str], file: str) -> Features:
        """Find the columns that a fitted forest needs among those of a table."""
        words = {j: values.dtype.kind not in "biuf" for j, values in forest._encoder.categories}
        known = getattr(forest, "feature_names_in_", None)
        p = forest.n_features_in_
        if known is None and len(names) != p:
            raise TableError(
                file,
                f"the model knows its {p} columns by position only, and there are {len(names)}",
            )
        wanted = list(names if known is None else known)
        lacking = [name for name in wanted if name not in names]
        if lacking:
            raise TableError(
                file,
                f"there is no column {lacking[0]!r}, which the model needs"
                + (f" (and {len(lacking) - 1} more)" if len(lacking) > 1 else "")
                + f"; {listed(names)}",
            )
        return cls(
            {name: "text" if words.get(j, False) else "number" for j, name in enumerate(wanted)},
            named=known is not None,
        )


def read_features(block: Block, features: Features) -> Any:
    """Read the features of a block.

    Parameters
    ----------
    block : Block
        Some rows of a table.
    features : Features
        Which columns, and what they hold.

    Returns
    -------
    pandas.DataFrame of shape (n, p)
        Columns of float64, or of text as objects; a matrix for a forest without names.
    """
    import pandas as pd

    columns = {
        name: texts(block, name) if kind == "text" else numbers(block, name)
        for name, kind in features.kinds.items()
    }
    if not features.named:
        return np.column_stack([np.asarray(column) for column in columns.values()])
    return pd.DataFrame(columns, copy=False)


def _notes(block: Block, kinds: dict[str, Kind]) -> list[str]:
    notes = []
    for name, kind in kinds.items():
        cells = block.column(name)
        if cells.null_count == len(cells):
            notes.append(f"column {name!r} is empty and cannot tell anything")
        elif kind == "date":
            notes.append(f"column {name!r} holds dates: used as days since 1970-01-01")
        elif kind == "text" and len(cells) > 20 and len(cells.unique()) > 0.9 * len(cells):
            notes.append(
                f"column {name!r} has another text in almost every row; if it is an identifier, "
                f"leave it out with --drop {name}"
            )
    return notes
