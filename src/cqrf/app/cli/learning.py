"""From a table to a fitted forest: what `fit` and `report` share."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, Any

from cqrf.app.cli.options import note
from cqrf.app.tables import (
    Block,
    Dialect,
    FeatureColumns,
    Kind,
    Outcome,
    OutcomeColumns,
    TableError,
    note_late_entry,
    note_near_copies,
    open_input,
    points_as_thousands,
    read_features,
    read_outcome,
    refuse_copies,
    refuse_start_stop,
)

if TYPE_CHECKING:
    from cqrf.forest import CensoredQuantileForest


@dataclass(frozen=True)
class Plan:
    """What is learned from, and how.

    Attributes
    ----------
    drop, category, feature : tuple of str
        Columns to leave out, to read as categories, and to learn from in any case.
    params : dict
        Parameters of the forest.
    unit : str or None
        Unit of the times.
    """

    drop: tuple[str, ...]
    category: tuple[str, ...]
    feature: tuple[str, ...]
    params: dict[str, Any]
    unit: str | None = None


@dataclass(frozen=True, eq=False)
class Learned:
    """A fitted forest and the data behind it.

    Attributes
    ----------
    forest : CensoredQuantileForest
    X : pandas.DataFrame of shape (n, p)
    outcome : Outcome
    n_read : int
        Rows of the table, those without an outcome included.
    seconds : dict of str to float
        Time spent on reading and on fitting.
    """

    forest: CensoredQuantileForest
    X: Any
    outcome: Outcome
    n_read: int
    seconds: dict[str, float]


def learn(data: str, columns: OutcomeColumns, plan: Plan, dialect: Dialect, quiet: bool) -> Learned:
    """Read a table and fit a forest to it."""
    start = perf_counter()
    block = open_input(data, dialect).read()
    outcome = read_outcome(block, columns)
    features = FeatureColumns.from_table(
        block, columns.names, plan.drop, plan.category, plan.feature
    )
    X = read_features(block, features)
    cautions = _look_for_the_future(block, outcome, columns, features, plan)
    written = _notes_on_points(block, {columns.time: "number", **features.kinds})
    for text in (*outcome.notes, *features.notes, *written, *cautions):
        note(f"{block.file}: {text}", quiet)
    skipped = block.n_rows - len(outcome.kept)
    if skipped:
        note(f"{block.file}: {skipped} rows without a time or an event are left out", quiet)
        X = X.iloc[outcome.kept].reset_index(drop=True)
    if outcome.event.all():
        hint = "" if columns.event else "; name the column that tells what was seen with --event"
        note(f"{block.file}: no time is censored{hint}", quiet)
    # Imported here, so that a bad table is refused without waiting for scikit-learn.
    from cqrf.data.labels import OutcomeLabels
    from cqrf.forest import CensoredQuantileForest

    forest = CensoredQuantileForest(
        **{"censoring": columns.censoring, "verbose": 0 if quiet else 1, **plan.params}
    )
    read = perf_counter()
    try:
        forest.fit(X, outcome.time, outcome.event)
    except (ValueError, TypeError) as error:
        raise TableError(block.file, str(error)) from error
    forest.verbose = 0
    forest.outcome_labels_ = OutcomeLabels(columns.time, columns.event, plan.unit)
    seconds = {"read": read - start, "fit": perf_counter() - read}
    return Learned(forest, X, outcome, block.n_rows, seconds)


def _look_for_the_future(
    block: Block, outcome: Outcome, columns: OutcomeColumns, features: FeatureColumns, plan: Plan
) -> list[str]:
    """Refuse columns that no new row could have, and note those that may be such.

    A text that is left out, as it seems to name the rows, may copy the outcome all the same.
    """
    kinds = {name: kind for name, kind in features.kinds.items() if name not in plan.feature}
    left_out = {name: kind for name, kind in features.left_out.items() if kind == "text"}
    refuse_start_stop(block, outcome, columns, kinds)
    refuse_copies(block, outcome, columns, {**kinds, **left_out})
    return [
        *note_late_entry(block, outcome, columns, kinds),
        *note_near_copies(block, outcome, columns, kinds),
    ]


def _notes_on_points(block: Block, kinds: dict[str, Kind]) -> Iterator[str]:
    for name in (name for name, kind in kinds.items() if kind == "number"):
        option = points_as_thousands(block.column(name), block.dialect)
        if option is not None:
            yield f"column {name!r} seems to part thousands with its points: {option}"


def describe(learned: Learned, name: str) -> str:
    """Say in two lines what was learned from what."""
    forest, outcome = learned.forest, learned.outcome
    chosen = "" if forest.leaf_size_path_ is None else " (chosen out-of-bag)"
    return (
        f"{name}: {len(outcome.time):,} rows, {forest.n_features_in_} features, "
        f"{(~outcome.event).mean():.0%} censored\n"
        f"forest: {len(forest.trees_):,} trees, nodes of {forest.min_samples_split_} or more rows "
        f"are split{chosen}"
    )
