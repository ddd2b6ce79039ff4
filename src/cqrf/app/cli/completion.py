"""``cqrf completion``."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from cqrf.app.cli.options import common


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@common
def command(shell: str, as_json: bool, quiet: bool) -> None:
    """Print a script that completes commands, options, files and column names.

    \b
    eval "$(cqrf completion bash)"                              # in ~/.bashrc
    eval "$(cqrf completion zsh)"                               # in ~/.zshrc
    cqrf completion fish > ~/.config/fish/completions/cqrf.fish
    """
    from cqrf.app.cli.program import program

    found = get_completion_class(shell)
    assert found is not None
    click.echo(found(program, {}, "cqrf", "_CQRF_COMPLETE").source())
