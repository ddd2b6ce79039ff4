"""The page docs/benchmarks.md, drawn from what is stored."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from pathlib import Path

from speed.methods import OURS
from speed.parts import Part
from speed.ratios import Verdict, spread
from speed.store import Record, Store, describe
from speed.tables import table

# Above this load others were at work too.
QUIET_LOAD = 0.5

HEAD = """\
# Benchmarks

`make bench` measures everything on this page and writes it; `make bench-full` fits whole forests of
the slow neighbours, and takes their curves further. Figures are stored one by one in
`benchmarks/results`: an interrupted run goes on where it was, `make bench ARGS="predict row"`
measures parts, `ARGS=--again` measures anew.

Unless said otherwise: 100 trees, 10 uniform features, a third of them tried in a node, Friedman's
regression function with normal noise; bootstrap samples, squared error, equal leaf sizes, and so
equally large trees. Every method runs in a fresh process of its own; all run in turn within each
repeat, after a warm-up; a ratio is taken within a repeat. Figures are medians, with the smallest
and the largest in brackets. On two threads LightGBM counts with its time on one thread in every
repeat in which that was shorter. comprisk, which needs censored times, is compared with cqrf on the
same censored times."""


def verdict_table(verdicts: Sequence[Verdict]) -> str:
    rows = [["figure", "where", "measured", "target", ""]]
    for each in verdicts:
        measured = spread(each.values, each.form) if each.measured else "not measured"
        outcome = "PASS" if each.passed else "FAIL" if each.measured else ""
        rows.append([each.what, each.where, measured, f"{each.sign} {each.target:g}", outcome])
    return table(rows)


def summary(verdicts: Sequence[Verdict]) -> str:
    measured = [each for each in verdicts if each.measured]
    met, open_ = sum(each.passed for each in measured), len(verdicts) - len(measured)
    return f"{met} targets are met, {len(measured) - met} are missed, {open_} were not measured."


def machine_lines(machines: Sequence[Record]) -> str:
    """Tell on what the figures were measured, and what they have not in common."""
    newest = max(machines, key=lambda each: each["date"])
    loads = [each["load"] for each in machines if each["load"] is not None]
    where, versions = describe(newest)
    first = min(each["date"] for each in machines)
    lines = [
        f"{where}{'' if first == newest['date'] else f' (the oldest figure: {first})'}; "
        f"load average when a figure was begun: {spread(loads or [float('nan')], '{:.1f}')}.",
        f"{versions}.",
    ]
    if newest["forest"]:
        lines.append(f"{OURS} has these parameters besides: `{newest['forest']}`.")
    states = len({each["code"] for each in machines})
    if states > 1:
        lines.append(f"WARNING: parts were measured with {states} different states of {OURS}.")
    # While it measures, the command itself is one of two that run.
    if min(loads, default=0.0) > QUIET_LOAD:
        lines.append("WARNING: the machine was busy from the start; the figures are noisy.")
    return "\n".join(lines)


def markdown(store: Store, parts: Sequence[Part]) -> tuple[str, list[Verdict]]:
    """Lay out the page; return it with all verdicts."""
    records = {part.name: store.records(part.name) for part in parts}
    verdicts = [each for part in parts for each in part.verdicts(records[part.name])]
    machines = [each["machine"] for found in records.values() for each in found.values()]
    blocks = [HEAD]
    if machines:
        blocks.append(machine_lines(machines))
    if verdicts:
        blocks += ["## Targets", summary(verdicts), verdict_table(verdicts)]
    for part in parts:
        if records[part.name]:
            blocks += [f"## {part.title}", *part.section(records[part.name])]
    return "\n\n".join(map(_wrapped, blocks)) + "\n", verdicts


def _wrapped(block: str) -> str:
    """Break the lines of plain text; tables, pictures and headings stay as they are."""
    plain = "\n" not in block and not block.startswith(("|", "!", "#", "<"))
    return textwrap.fill(block, 100, break_on_hyphens=False) if plain else block


def write(store: Store, parts: Sequence[Part], page: Path) -> list[Verdict]:
    """Draw the page and its pictures; the machine was quiet or the page says so."""
    text, verdicts = markdown(store, parts)
    page.parent.mkdir(parents=True, exist_ok=True)
    for part in parts:
        part.draw(store.records(part.name), page.parent / "images")
    page.write_text(text, encoding="utf-8")
    return verdicts
