"""``cqrf paper``."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path

import click


@click.group("paper", context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--debug", is_flag=True, expose_value=False, help="Show tracebacks.")
def command() -> None:
    """Rerun the experiments of the paper and check its claims."""


@command.command("list")
def paper_list() -> None:
    """List the experiments and the methods."""
    from cqrf.paper import ORDER, load_experiments
    from cqrf.paper.experiment import EXPERIMENTS
    from cqrf.paper.methods import METHODS

    load_experiments()
    click.echo("experiments")
    for name in ORDER:
        experiment = EXPERIMENTS[name]
        click.echo(f"  {name:18} {experiment.title} [{experiment.section}]")
    click.echo("methods")
    for method in METHODS.values():
        missing = "" if method.available else f" (needs {method.module})"
        click.echo(f"  {method.name:18} {method.description}{missing}")


@command.command("run")
@click.argument("names", nargs=-1, required=True, metavar="NAME...|all")
@click.option("--reps", type=click.IntRange(1), help="Replications [40; quick: 3].")
@click.option("--trees", type=click.IntRange(1), help="Trees of a forest [1000; quick: 200].")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True)
@click.option("--jobs", type=int, default=-1, show_default=True, help="Processes; -1: all cores.")
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("paper"),
    show_default=True,
    help="Folder for results, figures and index.html.",
)
@click.option(
    "--data",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Folder with boston_housing.csv, ozone.csv and abalone.csv.",
)
@click.option("--quick", is_flag=True, help="A short run: fewer replications, trees and methods.")
@click.option("--strict", is_flag=True, help="Exit with 1 if a claim of ours is not supported.")
def paper_run(
    names: tuple[str, ...],
    reps: int | None,
    trees: int | None,
    seed: int,
    jobs: int,
    out: Path,
    data: Path | None,
    quick: bool,
    strict: bool,
) -> None:
    """Run experiments by NAME, or all of them.

    A replication is stored when it ends: an interrupted run goes on where it stopped, and a second
    run with the same settings only draws.
    """
    from cqrf.paper import ORDER, load_experiments
    from cqrf.paper.experiment import EXPERIMENTS
    from cqrf.paper.run import run
    from cqrf.paper.settings import Settings

    if find_spec("matplotlib") is None:
        # Checked here, since figures are drawn after hours of work.
        raise click.ClickException("figures need an extra: pip install 'cqrf[paper]'")
    load_experiments()
    unknown = [name for name in names if name != "all" and name not in EXPERIMENTS]
    if unknown:
        raise click.BadParameter(f"{', '.join(unknown)}: see `cqrf paper list`", param_hint="NAME")
    settings = Settings(
        reps=(3 if quick else 40) if reps is None else reps,
        trees=(200 if quick else 1000) if trees is None else trees,
        seed=seed,
        quick=quick,
        data=data,
    )
    chosen = []
    for name in ORDER if "all" in names else dict.fromkeys(names):
        missing = EXPERIMENTS[name].missing_data(settings)
        if missing is None:
            chosen.append(EXPERIMENTS[name])
        else:
            click.echo(f"{name}: left out, {missing}", err=True)
    if not chosen:
        raise click.ClickException("nothing to run")
    try:
        sections = run(chosen, settings, out, n_jobs=jobs)
    except KeyboardInterrupt:
        click.echo(f"interrupted; run the same command to go on (results in {out})", err=True)
        sys.exit(130)
    failed = 0
    for section in sections:
        click.echo(f"\n{section.experiment.title}")
        for verdict in section.verdicts:
            mark = {True: "yes", False: "NO ", None: "?  "}[verdict.supported]
            failed += verdict.ours and verdict.supported is False
            click.echo(f"  {mark} {verdict.claim} {verdict.evidence}")
    click.echo(f"\n{out / 'index.html'}")
    if strict and failed:
        sys.exit(1)
