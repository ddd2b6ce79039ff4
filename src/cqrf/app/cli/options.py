"""Options that several commands share, each group gathered into one argument."""

from __future__ import annotations

import functools
import json
import os
import sys
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import click

Function = Callable[..., Any]


def need(extra: str, *modules: str) -> None:
    """End the command with one line if a package of an extra is not installed."""
    for module in modules:
        if find_spec(module) is None:
            raise click.ClickException(
                f"{module} is not installed; it comes with: pip install 'cqrf[{extra}]'"
            )


class NumberList(click.ParamType):  # type: ignore[type-arg]
    """Numbers with commas between them."""

    name = "numbers"
    example = "6,12,24"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[float, ...]:
        """Read ``0.1,0.5`` as a tuple."""
        if isinstance(value, tuple):
            return value
        try:
            numbers = tuple(float(part) for part in value.split(","))
        except ValueError:
            self.fail(f"{value!r} is not a list of numbers such as {self.example}", param, ctx)
        if any(number - number != 0.0 for number in numbers):
            self.fail(f"{value!r} is not a list of finite numbers", param, ctx)
        if len(set(numbers)) < len(numbers):
            self.fail("a number is given twice", param, ctx)
        return numbers


class LevelList(NumberList):
    """Levels of quantiles with commas between them."""

    name = "levels"
    example = "0.1,0.5,0.9"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[float, ...]:
        """Read ``0.1,0.5`` as a tuple of numbers between 0 and 1."""
        levels = super().convert(value, param, ctx)
        for level in levels:
            if not 0.0 < level < 1.0:
                self.fail(f"{level:g} does not lie between 0 and 1", param, ctx)
        return levels


def common(function: Function) -> Function:
    """Add what every command knows."""
    for option in (
        click.option("--debug", is_flag=True, expose_value=False, help="Show tracebacks."),
        click.option("-q", "--quiet", is_flag=True, help="No progress and no notes."),
        click.option("--json", "as_json", is_flag=True, help="Write JSON to standard output."),
    ):
        function = option(function)
    return function


takes_horizon = click.option(
    "--horizon",
    type=float,
    help="Time up to which is scored [default: as far as the training record allows].",
)
jobs = click.option(
    "-j", "--jobs", type=int, default=-1, show_default=True, help="Threads; -1: all cores."
)


def takes_dialect(function: Function) -> Function:
    """Add options on how CSV files are written; they arrive as `dialect`."""

    @click.option("--delimiter", help="Between cells of CSV [default: comma; tab in .tsv files].")
    @click.option("--decimal", default=".", show_default=True, help="Decimal point in CSV.")
    @click.option("--thousands", help="Mark between thousands in CSV, such as , in 1,022.")
    @click.option("--encoding", default="utf-8", show_default=True, help="Encoding of CSV.")
    @click.option(
        "--na",
        multiple=True,
        help="A cell that means missing; may be repeated [default: NA, N/A, NaN, null, None]; an "
        "empty one always does.",
    )
    @functools.wraps(function)
    def wrapped(
        *,
        delimiter: str | None,
        decimal: str,
        thousands: str | None,
        encoding: str,
        na: tuple[str, ...],
        **rest: Any,
    ) -> Any:
        need("cli", "pyarrow", "pandas")
        from cqrf.app.tables import Dialect

        for name, mark in (("--delimiter", delimiter), ("--decimal", decimal)):
            if mark is not None and len(mark.encode()) != 1:
                raise click.BadParameter("must be one character", param_hint=name)
        if thousands is not None and (len(thousands) != 1 or thousands.isalnum()):
            raise click.BadParameter("must be one character, no digit", param_hint="--thousands")
        if thousands == decimal:
            raise click.BadParameter(
                f"is {decimal} as well as --decimal: give both if the marks are exchanged",
                param_hint="--thousands",
            )
        try:
            "".encode(encoding)
        except LookupError:
            raise click.BadParameter(
                f"{encoding!r} is not known", param_hint="--encoding"
            ) from None
        given = {"missing": ("", *na)} if na else {}
        dialect = Dialect(delimiter, decimal, encoding, thousands=thousands, **given)
        return function(dialect=dialect, **rest)

    return wrapped


def complete_column(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Offer the columns of the table that was named before the option."""
    from cqrf.app.tables import open_input

    # click parses nothing while the value of an option is being typed, so that arguments are looked
    # for among the words themselves.
    words = [ctx.params.get("table"), ctx.params.get("data"), *ctx.args]
    for path in reversed([word for word in words if word and os.path.isfile(word)]):
        try:
            return [name for name in open_input(path).names if name.startswith(incomplete)]
        except ValueError:
            continue
    return []


def takes_outcome(function: Function) -> Function:
    """Add options on times and events; they arrive as `columns`."""

    @click.option("-t", "--time", shell_complete=complete_column, help="Column of times. Required.")
    @click.option(
        "-e",
        "--event",
        shell_complete=complete_column,
        help="Column that tells whether the event was seen (1, true, yes) or the time is censored "
        "(0, false, no). Without it nothing is censored but limits such as >365, and <0.2 with "
        "--left.",
    )
    @click.option(
        "--event-value",
        multiple=True,
        help="A value of --event that means the event was seen; may be repeated.",
    )
    @click.option("--left", is_flag=True, help="Censored times are upper bounds: detection limits.")
    @click.option(
        "--skip-incomplete", is_flag=True, help="Leave out rows without a time or an event."
    )
    @click.option("--negative", is_flag=True, help="Times may be negative, such as logarithms.")
    @functools.wraps(function)
    def wrapped(
        *,
        time: str | None,
        event: str | None,
        event_value: tuple[str, ...],
        left: bool,
        skip_incomplete: bool,
        negative: bool,
        **rest: Any,
    ) -> Any:
        need("cli", "pyarrow", "pandas")
        from cqrf.app.tables import OutcomeColumns

        if time is None and (event is not None or left):
            raise click.UsageError("Missing option '--time'.", click.get_current_context())
        if event_value and event is None:
            raise click.UsageError(
                "--event-value needs --event, the column that it is a value of.",
                click.get_current_context(),
            )
        columns = None
        if time is not None:
            columns = OutcomeColumns(time, event, event_value, left, skip_incomplete, negative)
        return function(columns=columns, **rest)

    return wrapped


def takes_forest(function: Function) -> Function:
    """Add options on what is learned from, and how; they arrive as `plan`."""

    @click.option(
        "--drop",
        multiple=True,
        shell_complete=complete_column,
        help="A column to leave out, such as an identifier; may be repeated.",
    )
    @click.option(
        "--category",
        multiple=True,
        shell_complete=complete_column,
        help="A column of numbers to read as categories; may be repeated.",
    )
    @click.option(
        "--feature",
        multiple=True,
        shell_complete=complete_column,
        help="A column to learn from even if it looks like an identifier or a copy of the outcome; "
        "may be repeated.",
    )
    @click.option("--unit", help="Unit of the times, such as weeks; the model keeps it.")
    @click.option("--trees", type=click.IntRange(1), default=1000, show_default=True)
    @click.option("--seed", type=click.IntRange(0, 2**32 - 1), default=0, show_default=True)
    @click.option(
        "--set",
        "settings",
        multiple=True,
        metavar="NAME=VALUE",
        help="Any other parameter of CensoredQuantileForest, such as min_samples_split=20 or "
        "criterion=logrank; may be repeated.",
    )
    @jobs
    @functools.wraps(function)
    def wrapped(
        *,
        drop: tuple[str, ...],
        category: tuple[str, ...],
        feature: tuple[str, ...],
        unit: str | None,
        trees: int,
        seed: int,
        settings: tuple[str, ...],
        jobs: int,
        **rest: Any,
    ) -> Any:
        from cqrf.app.cli.learning import Plan

        params = {"n_estimators": trees, "random_state": seed, "n_jobs": jobs}
        params |= _parse_settings(settings)
        return function(plan=Plan(drop, category, feature, params, unit), **rest)

    return wrapped


def _parse_settings(settings: tuple[str, ...]) -> dict[str, Any]:
    params: dict[str, Any] = {}
    if not settings:
        return params
    from cqrf.forest import CensoredQuantileForest

    known = CensoredQuantileForest().get_params()
    for setting in settings:
        name, equals, value = setting.partition("=")
        if not equals or name not in known:
            from cqrf.app.tables.errors import meant

            hint = meant(name, known)
            raise click.BadParameter(
                f"{setting!r} is not NAME=VALUE; {hint}the names are {', '.join(known)}",
                param_hint="--set",
            )
        try:
            params[name] = json.loads(value.lower() if value in ("True", "False") else value)
        except json.JSONDecodeError:
            params[name] = None if value == "None" else value
    return params


def print_json(answer: dict[str, Any]) -> None:
    """Write an answer for machines; what is not a number is null."""
    click.echo(json.dumps(_plain(answer), indent=2, allow_nan=False))


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    if isinstance(value, float) and value - value != 0.0:
        return None
    return value


def note(message: str, quiet: bool) -> None:
    """Tell something on standard error unless the user wants silence."""
    if not quiet:
        click.echo(f"cqrf: {message}", err=True)


class Counter:
    """Counts rows on one line of a terminal."""

    def __init__(self, label: str, quiet: bool) -> None:
        self._label, self._live = label, not quiet and sys.stderr.isatty()
        self.total = 0

    def add(self, count: int) -> None:
        """Count further rows."""
        self.total += count
        if self._live:
            click.echo(f"\r{self._label}: {self.total:,} rows", err=True, nl=False)

    def close(self) -> None:
        """End the line."""
        if self._live:
            click.echo(err=True)
