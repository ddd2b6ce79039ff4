"""``cqrf explore``."""

from __future__ import annotations

import sys
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING

import click

from cqrf.app.cli.options import common, jobs, need, print_json, takes_dialect

if TYPE_CHECKING:
    from cqrf.app.tables import Dialect


@click.command("explore")
@click.argument("model", type=click.Path())
@click.option(
    "--port", type=click.IntRange(0, 65535), default=0, help="Port [default: any that is free]."
)
@click.option("--browser/--no-browser", default=True, help="Open the page [default: yes].")
@click.option("--time-name", help="What the outcome is called [default: as in the model].")
@click.option(
    "--max-upload",
    type=click.IntRange(1, 1024),
    default=20,
    show_default=True,
    help="Largest table that can be scored, in MB.",
)
@takes_dialect
@jobs
@common
def command(
    model: str,
    port: int,
    browser: bool,
    time_name: str | None,
    max_upload: int,
    dialect: Dialect,
    jobs: int,
    as_json: bool,
    quiet: bool,
) -> None:
    """Open a local page on which a row's features are moved and its curve follows.

    The page is served on this computer alone (127.0.0.1), at an address with a random token, and
    loads nothing from elsewhere. A table can be scored there and the result downloaded. Ctrl-C ends
    the program.
    """
    need("cli", "jinja2")
    from cqrf.app.explore.explorer import Explorer
    from cqrf.app.explore.server import ExploreServer
    from cqrf.forest import CensoredQuantileForest

    forest = CensoredQuantileForest.load(model)
    forest.n_jobs = jobs
    explorer = Explorer(forest, Path(model).stem, time_name, max_upload << 20, dialect)
    with ExploreServer(explorer, port) as server:
        if as_json:
            print_json({"url": server.url})
        else:
            click.echo(f"{server.url}\nCtrl-C ends the program.")
        sys.stdout.flush()
        if browser:
            webbrowser.open(server.url)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            click.echo("ended", err=True)
