"""``cqrf demo``."""

from __future__ import annotations

import contextlib
import io
import os
import shlex
from importlib.resources import files
from pathlib import Path

import click

from cqrf.app.cli.options import common, need, print_json

DATA = "congress.csv"
MODEL = "congress.cqrf"
NEW = "new_members.csv"
REPORT = "report.html"

_NEW_ROWS = """\
name,age_at_entry,gender,party,chamber,state,entry_year,mid_term
A,32,female,democrat,house,CA,2015,no
B,61,male,republican,senate,TX,1995,no
C,48,female,republican,house,OH,2005,yes
"""


@click.command("demo")
@click.option(
    "-o",
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("cqrf-demo"),
    show_default=True,
    help="Folder to write to.",
)
@click.option("--trees", type=click.IntRange(1), default=1000, show_default=True)
@common
def command(output: Path, trees: int, as_json: bool, quiet: bool) -> None:
    """Take a tour: fit, predict, evaluate and report on data that ships with cqrf.

    The data are years in the United States Congress, censored for those who still serve. Every step
    is printed as the command that does it.
    """
    need("cli", "pyarrow", "pandas", "jinja2")
    from cqrf.app.cli.program import program

    output.mkdir(parents=True, exist_ok=True)
    table = files("cqrf.datasets").joinpath("data", DATA).read_bytes()
    (output / DATA).write_bytes(table)
    (output / NEW).write_text(_NEW_ROWS, encoding="utf-8")
    data, model, new = (str(output / name) for name in (DATA, MODEL, NEW))
    outcome = ["--time", "time", "--event", "event", "--unit", "years"]
    steps = [
        ["fit", data, *outcome, "--trees", str(trees), "-o", model],
        ["predict", model, new, "--keep", "name"],
        ["evaluate", model],
        ["report", data, *outcome, "--trees", str(trees), "-o", str(output / REPORT)],
    ]
    silent = ["--quiet"] if quiet else []
    for step in steps:
        said = io.StringIO()
        with contextlib.redirect_stdout(said) if as_json else contextlib.nullcontext():
            click.echo(f"{'' if step is steps[0] else chr(10)}$ cqrf {shlex.join(step)}")
            program.main([*step, *silent], prog_name="cqrf", standalone_mode=False)
    if as_json:
        print_json({"folder": str(output), "files": sorted(os.listdir(output))})
    else:
        click.echo(f"\nnext: cqrf explore {shlex.quote(model)}")
