"""The program: its commands, its manual page, and how it ends."""

from __future__ import annotations

import os
import signal
import sys
import traceback
import warnings
from difflib import get_close_matches
from importlib import import_module
from typing import Any, NoReturn

import click

from cqrf import __version__

# Exit codes, as the manual page lists them.
BAD_INPUT, BAD_USAGE, BUG, INTERRUPTED, PIPE_CLOSED = 1, 2, 3, 130, 141

# In the order of the manual page; each command is in the module of its name.
COMMANDS = (
    "fit",
    "predict",
    "evaluate",
    "report",
    "explore",
    "demo",
    "bench",
    "paper",
    "completion",
)

_MANUAL = {
    "NAME": "cqrf - quantiles of times that are only partly observed",
    "SYNOPSIS": "cqrf COMMAND [OPTIONS] [ARGUMENTS]\ncqrf COMMAND --help",
    "DESCRIPTION": """\
Learns from a table in which many times are censored (the customer is still there, the machine still
runs, the concentration lies below a limit), and predicts for new rows the times by which 10, 50 or
90% have had their event, with intervals, survival curves and a word on what the data cannot tell.

Tables are CSV, Parquet or Feather files, told apart by their content; "-" is standard input or
output. Text columns are categories, empty cells are missing values, dates are days since 1970.
Rows are numbered from 1, the header not counted.""",
    "COMMANDS": "",
    "EXAMPLES": """\
cqrf fit patients.csv --time days --event died --unit days --drop id -o patients.cqrf
cqrf predict patients.cqrf new.csv --quantiles 0.1,0.5,0.9 --interval 0.9 -o answers.csv
cqrf predict patients.cqrf new.csv --after 365 --survival 730,1095 --digits 3 | head
cqrf evaluate patients.cqrf held_out.csv --time days --event died --json
cqrf report patients.csv --time days --event status --event-value dead -o report.html
cqrf fit water.csv --time cadmium --left            # cells such as <0.006 are limits
cqrf explore patients.cqrf""",
    "EXIT STATUS": """\
0    success
1    a file, a column or a row cannot be used; one line on standard error says why
2    the command line is wrong
3    an error in cqrf itself: please report it, with the output of --debug
130  interrupted (Ctrl-C); no half-written file is left
141  the program that reads our output has gone""",
    "ENVIRONMENT": "_CQRF_COMPLETE  used by shell completion: see cqrf completion --help",
    "SEE ALSO": """\
Li and Bradic, Censored Quantile Regression Forests, https://arxiv.org/abs/1902.03327""",
}


class _Program(click.Group):
    """Loads a command when it is called, so that ``cqrf --help`` does not wait for libraries."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module = import_module(f"cqrf.app.cli.{cmd_name}")
        command: click.Command = module.command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        close = get_close_matches(args[0], COMMANDS, n=1)
        if args[0] not in COMMANDS and close and not ctx.resilient_parsing:
            raise click.UsageError(f"No such command {args[0]!r}; did you mean {close[0]!r}?", ctx)
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            # click would end with 1, which is the code of bad input.
            raise click.exceptions.Exit(PIPE_CLOSED) from None

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        formatter.width = max(formatter.width, 100)
        for title, text in _MANUAL.items():
            formatter.write(f"{title}\n")
            with formatter.indentation():
                if title == "COMMANDS":
                    names = self.list_commands(ctx)
                    found = [(name, self.get_command(ctx, name)) for name in names]
                    formatter.write_dl(
                        [
                            (name, command.get_short_help_str(80))
                            for name, command in found
                            if command
                        ]
                    )
                else:
                    for line in text.splitlines():
                        indent = " " * formatter.current_indent
                        formatter.write(f"{indent}{line}".rstrip() + "\n")
            formatter.write("\n")
        formatter.write("OPTIONS\n")
        with formatter.indentation():
            records = [param.get_help_record(ctx) for param in self.get_params(ctx)]
            formatter.write_dl([record for record in records if record])


@click.group(cls=_Program, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="cqrf")
@click.option("--debug", is_flag=True, expose_value=False, help="Show tracebacks.")
def program() -> None:
    """Quantiles of times that are only partly observed."""


def main(arguments: list[str] | None = None) -> NoReturn:
    """Run the command line and leave the process with one of its exit codes."""
    arguments = sys.argv[1:] if arguments is None else arguments
    # Without arguments, show the manual page.
    arguments = arguments or ["--help"]
    debug = "--debug" in arguments
    warnings.showwarning = _show_warning
    # A parent process such as nohup may have made us ignore Ctrl-C.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        # A command that ends early, for example after --help, returns its exit code.
        code = program.main(arguments, prog_name="cqrf", standalone_mode=False) or 0
        sys.stdout.flush()
    except BaseException as error:
        if debug and not isinstance(error, SystemExit):
            traceback.print_exc()
        code = _end(error)
    if code == PIPE_CLOSED:
        # Nobody reads what is left in the buffers, and flushing them at exit would fail again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    sys.exit(code)


def _end(error: BaseException) -> int:
    """Say in one line what went wrong; return the exit code."""
    match error:
        case SystemExit():
            code = error.code
            if isinstance(code, str):
                _say(code.removeprefix("cqrf: "))
                return BAD_INPUT
            return int(code or 0)
        case KeyboardInterrupt() | click.Abort():
            _say("interrupted")
            return INTERRUPTED
        case BrokenPipeError():
            return PIPE_CLOSED
        case click.UsageError() if type(error).__name__ == "NoArgsIsHelpError":
            click.echo(error.format_message(), err=True)
            return BAD_USAGE
        case click.UsageError():
            where = f" (see {error.ctx.command_path} --help)" if error.ctx else ""
            _say(error.format_message() + where)
            return BAD_USAGE
        case click.ClickException():
            _say(error.format_message())
            return error.exit_code
        case ImportError() if "cqrf[" in str(error):
            _say(str(error))
            return BAD_INPUT
        case MemoryError():
            _say(f"not enough memory: {error}")
            return BAD_INPUT
        case OSError():
            _say(f"{error.filename}: {error.strerror}" if error.filename else str(error))
            return BAD_INPUT
        case ValueError() | TypeError():
            _say(str(error))
            return BAD_INPUT
    _say(f"this is an error in cqrf itself: {type(error).__name__}: {error}; rerun with --debug")
    return BUG


def _say(message: str) -> None:
    click.echo("cqrf: " + " ".join(message.split()), err=True)


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    _say(f"warning: {message}")
