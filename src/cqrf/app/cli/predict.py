"""``cqrf predict``."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from cqrf.app.cli.options import (
    Counter,
    LevelList,
    NumberList,
    common,
    complete_column,
    jobs,
    note,
    print_json,
    takes_dialect,
)

if TYPE_CHECKING:
    from cqrf.app.tables import Dialect
    from cqrf.forest import CensoredQuantileForest

COVERAGE = click.FloatRange(0.0, 1.0, min_open=True, max_open=True)


@click.command("predict")
@click.argument("model", type=click.Path())
@click.argument("table", type=click.Path(allow_dash=True), required=False)
@click.option(
    "--quantiles", type=LevelList(), default="0.1,0.5,0.9", show_default=True, help="Levels."
)
@click.option("--interval", type=COVERAGE, help="Coverage of a prediction interval, such as 0.9.")
@click.option(
    "--survival",
    type=NumberList(),
    metavar="TIMES",
    help="Times, such as 6,12: the probability that the event comes later than each.",
)
@click.option(
    "--lower-bound",
    type=COVERAGE,
    help="Probability of a conformal lower bound: a time that the event exceeds, such as 0.9.",
)
@click.option(
    "--upper-bound",
    type=COVERAGE,
    help="Probability of a conformal upper bound: a time that the event does not exceed.",
)
@click.option(
    "--after",
    shell_complete=complete_column,
    metavar="TIME|COLUMN",
    help="Times given that nothing happened until then: a number, or a column of them.",
)
@click.option(
    "--unreached",
    type=click.Choice(["clip", "nan", "inf"]),
    help="What stands for a quantile beyond the reach of the data: the bound, nothing, infinity "
    "[default: clip; inf for the ends of an interval].",
)
@click.option("--digits", type=click.IntRange(1, 17), help="Significant digits [default: all].")
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
    survival: tuple[float, ...] | None,
    lower_bound: float | None,
    upper_bound: float | None,
    after: str | None,
    unreached: str | None,
    digits: int | None,
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
    identify it (q0.5_identified); where they do not, the number is a bound. --interval 0.9 adds
    lower0.9 and upper0.9; --survival 6,12 adds s6 and s12; --lower-bound 0.9 adds lower_bound0.9.
    --json writes one object a line to standard output or, with -o, a summary.

    \b
    cqrf predict model.cqrf new.csv --quantiles 0.1,0.5,0.9 --keep id -o out.csv
    """
    from cqrf.app.tables import TableError, open_input, open_output
    from cqrf.app.tables.predicting import PredictOptions, predict_blocks
    from cqrf.app.tables.writing import format_of
    from cqrf.forest import CensoredQuantileForest

    bounds = lower_bound is not None or upper_bound is not None
    if bounds and after is not None:
        raise click.UsageError(
            "--lower-bound and --upper-bound do not go with --after: they are calibrated for rows "
            "from their beginning",
            click.get_current_context(),
        )
    if table is None:
        # If standard input is a terminal, TABLE was forgotten: nobody types a table by hand.
        if sys.stdin.isatty():
            raise click.UsageError("Missing argument 'TABLE'.", click.get_current_context())
        table = "-"
    forest = CensoredQuantileForest.load(model)
    forest.n_jobs = jobs
    opened = open_input(table, dialect)
    if bounds:
        _calibrate(forest, model, quiet)
    options = PredictOptions(
        quantiles,
        interval,
        after,
        unreached,
        keep,
        survival or (),
        lower_bound,
        upper_bound,
        digits,
    )
    fallback = "jsonl" if as_json and output == "-" else "csv"
    counter = Counter("predicted", quiet)
    with open_output(output, kind or format_of(output, fallback)) as write:
        for block in predict_blocks(forest, opened, options, lambda line: note(line, quiet)):
            write(block)
            counter.add(len(next(iter(block.values()))))
        if not counter.total:
            raise TableError(opened.file, "there is a header but no row")
    counter.close()
    if as_json and output != "-":
        print_json({"output": output, "rows": counter.total})


def _calibrate(forest: CensoredQuantileForest, model: str, quiet: bool) -> None:
    """Calibrate a forest out-of-bag, unless it was calibrated before it was stored."""
    if forest.calibration_ is not None:
        return
    text = "bounds are calibrated out-of-bag, on the training rows, because the model is not"
    note(f"{model}: {text}", quiet)
    try:
        forest.calibrate()
    except ValueError as error:
        raise click.ClickException(f"{model}: {error}") from error
