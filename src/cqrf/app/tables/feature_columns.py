"""Which columns of a table are features, and how they are read into a frame."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from shlex import quote
from typing import TYPE_CHECKING, Any

import numpy as np

from cqrf.app.tables.columns import Kind, kind_of, numbers, numbers_with_units, texts
from cqrf.app.tables.errors import TableError, shown
from cqrf.app.tables.identifiers import may_name_rows, names_rows
from cqrf.app.tables.reading import Block, listed

if TYPE_CHECKING:
    from cqrf.forest import CensoredQuantileForest


@dataclass(frozen=True)
class FeatureColumns:
    """Names and kinds of the columns that a forest learns from.

    Attributes
    ----------
    kinds : dict of str to {"number", "boolean", "date", "text"}
        In the order of the forest's features.
    named : bool
        False for a forest that knows no names: then columns count by position.
    left_out : dict of str to {"number", "boolean", "date", "text"}
        Columns of a training table that only tell rows apart.
    notes : tuple of str
        What a user should know about how columns were read.
    """

    kinds: dict[str, Kind]
    named: bool = True
    left_out: dict[str, Kind] = field(default_factory=dict)
    notes: tuple[str, ...] = field(default=())

    @classmethod
    def from_table(
        cls,
        block: Block,
        outcome: list[str],
        drop: tuple[str, ...] = (),
        category: tuple[str, ...] = (),
        feature: tuple[str, ...] = (),
    ) -> FeatureColumns:
        """Choose the columns of a training table.

        All are features but the outcome, columns that are dropped, and identifiers; the latter are
        features too if `category` or `feature` names them.
        """
        for option, names in (("--drop", drop), ("--category", category), ("--feature", feature)):
            for name in names:
                if name not in block.columns:
                    problem = f"{option} {name}: there is no such column"
                    raise TableError(block.file, f"{problem}; {listed(block.columns, name)}")
        kinds: dict[str, Kind] = {}
        left_out: dict[str, Kind] = {}
        notes: list[str] = []
        for name in block.columns:
            if name in (*outcome, *drop):
                continue
            kind: Kind = "text" if name in category else kind_of(block, name)
            asked = name in (*category, *feature)
            reason = None if asked else names_rows(block, name, kind)
            if reason is None:
                kinds[name] = kind
                notes += _notes(block, name, kind, asked=asked)
            else:
                left_out[name] = kind
                notes.append(
                    f"column {name!r} {reason}: it is left out; --feature {quote(name)} learns "
                    "from it"
                )
        if not kinds:
            also = f" ({', '.join(map(repr, left_out))} only tells rows apart)" if left_out else ""
            beside = " and ".join(outcome)
            problem = f"no column is left to learn from beside {beside}{also}"
            raise TableError(block.file, problem)
        return cls(kinds, left_out=left_out, notes=tuple(notes))

    @classmethod
    def of_forest(
        cls, forest: CensoredQuantileForest, names: list[str], file: str
    ) -> FeatureColumns:
        """Find the columns that a fitted forest needs among those of a table."""
        words = {
            j: values.dtype.kind not in "biuf" for j, values in forest.model_.encoder.categories
        }
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
                + f"; {listed(names, lacking[0])}",
            )
        return cls(
            {name: "text" if words.get(j, False) else "number" for j, name in enumerate(wanted)},
            named=known is not None,
        )


def read_features(block: Block, features: FeatureColumns) -> Any:
    """Read the features of a block.

    Parameters
    ----------
    block : Block
        Some rows of a table.
    features : FeatureColumns
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


def _notes(block: Block, name: str, kind: Kind, *, asked: bool) -> Iterator[str]:
    cells = block.column(name)
    if cells.null_count == len(cells):
        yield f"column {name!r} is empty and cannot tell anything"
    elif kind == "date":
        yield f"column {name!r} holds dates: used as days since 1970-01-01"
    elif kind == "text" and not asked and numbers_with_units(cells):
        yield (
            f"column {name!r} holds numbers with something around them, such as "
            f"{shown(cells.drop_null()[0])}, and each is learned from as a category: write plain "
            f"numbers, or confirm with --category {quote(name)}"
        )
    elif not asked and may_name_rows(block, name, kind):
        what = "numbers" if kind == "number" else "categories"
        yield (
            f"column {name!r} is learned from as {what}; if it is an identifier, leave it out "
            f"with --drop {quote(name)}"
        )
