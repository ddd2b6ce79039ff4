"""``cqrf predict``."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from cqrf.cli.options import (
    Counter,
    Levels,
    common,
    complete_column,
    jobs,
    print_json,
    takes_dialect,
)

if TYPE_CHECKING:
    from cqrf.tables import Dialect


@click.command("predict")
@click.argument("model", type=click.Path())
@click.argument("table", type=click.Path(allow_dash=True), required=False)
@click.option(
    "--quantiles", type=Levels(), default="0.1,0.5,0.9", show_default=True, help="Levels."
)
@click.option("--interval", type=float, help="Coverage of a prediction interval, such as 0.9.")
@click.option(
    "--after",
    shell_complete=complete_column,
    metavar="TIME|COLUMN",
    help="Times given that nothing happened until then: a number, or a column of them.",
)
@click.option(
    "--unreached",
    type=click.Choice(["clip", "nan", "inf"]),
    default="clip",
    show_default=True,
    help="What stands for a quantile beyond the reach of the data: the bound, nothing, infinity.",
)
@click.option(
    "--keep",
    multiple=True,
    shell_complete=complete_column,
    help="A column to copy to the output; may be repeated; * is all.",
)
@click.option("-o", "--output", default="-", show_default=True, help="File to write.")
@click.option(
    "--format",
    "kind",
    type=click.Choice(["csv", "parquet", "feather", "jsonl"]),
    help="Format of the output [default: by the end of its name, else csv].",
)
@takes_dialect
@jobs
@common
def command(
    model: str,
    table: str | None,
    quantiles: tuple[float, ...],
    interval: float | None,
    after: str | None,
    unreached: str,
    keep: tuple[str, ...],
    output: str,
    kind: str | None,
    dialect: Dialect,
    jobs: int,
    as_json: bool,
    quiet: bool,
) -> None:
    """Predict quantiles for the rows of a table.

    MODEL was written by cqrf fit; TABLE is a CSV, Parquet or Feather file, or - for standard input.
    Rows are read, predicted and written in blocks: the table may be larger than the memory.

    The output has a column for every quantile (q0.5) and one that tells whether the censored data
    identify it (q0.5_identified); where they do not, the number is a bound. --json writes one
    object a line to standard output or, with -o, a summary.

    \b
    cqrf predict model.cqrf new.csv --quantiles 0.1,0.5,0.9 --keep id -o out.csv
    """
    from cqrf.forest import CensoredQuantileForest
    from cqrf.tables import TableError, open_output, open_table
    from cqrf.tables.answering import Question, answers
    from cqrf.tables.writing import format_of

    if interval is not None and not 0.0 < interval < 1.0:
        raise click.BadParameter("must lie between 0 and 1", param_hint="--interval")
    if table is None:
        # Nobody means to type a table by hand.
        if sys.stdin.isatty():
            raise click.UsageError("Missing argument 'TABLE'.", click.get_current_context())
        table = "-"
    forest = CensoredQuantileForest.load(model)
    forest.n_jobs = jobs
    opened = open_table(table, dialect)
    question = Question(quantiles, interval, after, unreached, keep)
    fallback = "jsonl" if as_json and output == "-" else "csv"
    counter = Counter("predicted", quiet)
    with open_output(output, kind or format_of(output, fallback)) as write:
        for block in answers(forest, opened, question):
            write(block)
            counter.add(len(next(iter(block.values()))))
        if not counter.total:
            raise TableError(opened.file, "there is a header but no row")
    counter.close()
    if as_json and output != "-":
        print_json({"output": output, "rows": counter.total})
