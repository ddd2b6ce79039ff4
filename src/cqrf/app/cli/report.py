"""``cqrf report``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from cqrf.app.cli.options import (
    common,
    need,
    print_json,
    takes_dialect,
    takes_forest,
    takes_horizon,
    takes_outcome,
)

if TYPE_CHECKING:
    from cqrf.app.cli.learning import Plan
    from cqrf.app.tables import Dialect, OutcomeColumns


@click.command("report")
@click.argument("data", type=click.Path(allow_dash=True))
@takes_outcome
@takes_forest
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, allow_dash=True),
    default="report.html",
    show_default=True,
    help="Page to write; - is standard output.",
)
@click.option("--title", help="Title of the page [default: the name of DATA].")
@takes_horizon
@takes_dialect
@common
def command(
    data: str,
    columns: OutcomeColumns | None,
    plan: Plan,
    dialect: Dialect,
    output: str,
    title: str | None,
    horizon: float | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Fit a forest and write one HTML page on the data, the fit and its limits.

    The page needs no network, reads on a phone and prints. It shows the censoring, how good the
    quantiles are out-of-bag beside Kaplan-Meier and Cox regression, what the features do, some rows
    one by one, and warnings in plain words.

    \b
    cqrf report data.csv --time days --event died --drop id -o report.html
    """
    # Checked before the forest is grown.
    need("cli", "jinja2")
    from cqrf.app.cli.learning import describe, learn
    from cqrf.app.tables.writing import open_file

    if columns is None:
        raise click.UsageError("Missing option '--time'.", click.get_current_context())
    learned = learn(data, columns, plan, dialect, quiet)
    name = "standard input" if data == "-" else Path(data).name
    report = learned.forest.report(
        learned.X,
        learned.outcome.time,
        learned.outcome.event,
        title=title or name,
        time_name=columns.time,
        horizon="auto" if horizon is None else horizon,
        verbose=0 if quiet else 1,
    )
    page = report.html.encode()
    with open_file(output) as file:
        file.write(page)
    if output == "-":
        return
    if as_json:
        print_json({"report": output, "bytes": len(page), "warnings": report.warnings})
    else:
        click.echo(describe(learned, data))
        click.echo(f"{output}: {len(page) / 1e6:.1f} MB, {len(report.warnings)} warnings")
