"""``cqrf fit``."""

from __future__ import annotations

import os
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

import click

from cqrf.app.cli.options import common, print_json, takes_dialect, takes_forest, takes_outcome

if TYPE_CHECKING:
    from cqrf.app.cli.learning import Plan
    from cqrf.app.tables import Dialect, OutcomeColumns


@click.command("fit")
@click.argument("data", type=click.Path(allow_dash=True))
@takes_outcome
@takes_forest
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False),
    help="Model file to write [default: the name of DATA with .cqrf].",
)
@takes_dialect
@common
def command(
    data: str,
    columns: OutcomeColumns | None,
    plan: Plan,
    dialect: Dialect,
    output: str | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Learn from a table of censored times and store the forest.

    DATA is a CSV, Parquet or Feather file, or - for standard input. All columns but those of the
    outcome and those dropped are features.

    \b
    cqrf fit data.csv --time days --event died --drop id -o model.cqrf
    """
    from cqrf.app.cli.learning import describe, learn

    if columns is None:
        raise click.UsageError("Missing option '--time'.", click.get_current_context())
    if output is None:
        output = "model.cqrf" if data == "-" else str(Path(data).with_suffix(".cqrf").name)
    learned = learn(data, columns, plan, dialect, quiet)
    start = perf_counter()
    learned.forest.save(output)
    seconds = {**learned.seconds, "write": perf_counter() - start}
    size = os.path.getsize(output)
    if not as_json:
        click.echo(describe(learned, data))
        click.echo(f"{output}: {size / 1e6:.1f} MB")
        return
    forest, outcome = learned.forest, learned.outcome
    print_json(
        {
            "model": output,
            "bytes": size,
            "outcome": vars(forest.outcome_labels_),
            "rows": len(outcome.time),
            "rows_read": learned.n_read,
            "features": list(learned.X.columns),
            "censored": float((~outcome.event).mean()),
            "censoring": forest.censoring,
            "trees": len(forest.trees_),
            "min_samples_split": forest.min_samples_split_,
            "seconds": seconds,
        }
    )
