"""What is printed and stored: the machine, the tables, the raw seconds."""

from __future__ import annotations

import json
import os
import platform
import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from measure import Comparison, Timing

if TYPE_CHECKING:
    from accuracy import Accuracy

# Above this load, or below this share of a core, others were at work too.
QUIET_LOAD = 0.5
QUIET_SHARE = 0.98

METHOD = """\
{trees} trees, {p} uniform features, a third of them tried in a node, Friedman's regression function
with normal noise; bootstrap samples, squared error, equal leaf sizes, and so equally large trees
(last table). Fitting starts from plain arrays, so binning is included where there is any;
prediction is that of 1,000 rows x 5 quantiles. All methods run in turn within each repeat, after
one warm-up run; a ratio is taken within a repeat. Figures are medians, with the smallest and the
largest in brackets. LightGBM grows a forest with `boosting="rf"`; quantile-forest keeps all leaf
samples, and uses its threads only for finding the leaves. On two threads, a neighbour counts with
its time on one thread in every repeat in which that was shorter.
"""


@dataclass(frozen=True)
class Result:
    """All that was measured at one size."""

    n: int
    leaf: int
    timings: list[Timing]
    comparisons: list[Comparison]
    accuracy: list[Accuracy]

    @property
    def size(self) -> str:
        """Name of the setting."""
        return f"n = {self.n:,}, leaf {self.leaf}"


def describe_machine() -> dict[str, Any]:
    """Processor, load and versions: what a figure depends on."""
    packages = ["cqrf", "scikit-learn", "lightgbm", "quantile-forest", "numpy", "scipy"]
    return {
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "processor": _processor_name(),
        "cores": available_cores(),
        "system": f"{platform.system()} {platform.machine()}",
        "load": round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None,
        "versions": {"python": platform.python_version()}
        | {package: _version(package) for package in packages},
    }


def available_cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def machine_lines(machine: dict[str, Any]) -> list[str]:
    versions = ", ".join(f"{name} {number}" for name, number in machine["versions"].items())
    load = machine["load"]
    lines = [
        f"{machine['processor']}, {machine['cores']} cores, {machine['system']}; "
        f"load average at the start {'unknown' if load is None else load}; {machine['date']}.",
        f"{versions}.",
    ]
    if load is not None and load > QUIET_LOAD:
        lines.append("WARNING: the machine was busy at the start; the figures are noisy.")
    return lines


def noise_lines(results: Sequence[Result]) -> list[str]:
    """Tell how many cores the runs really had: fewer than their threads spoil the ratios."""
    timings = [each for result in results for each in result.timings]
    share = statistics.median(each.busy_cores for each in timings if each.threads == 1)
    lines = [f"Runs on one thread kept {share:.2f} cores busy (median)."]
    # The contender that comes first is ours, at every size and in both tasks.
    ours = [each for each in timings if each.method == timings[0].method and each.threads > 1]
    if ours:
        busy = ", ".join(f"{each.busy_cores:.2f} in {each.task}" for each in ours)
        lines.append(f"On two threads {ours[0].method} kept busy, size by size: {busy}.")
    if share < QUIET_SHARE:
        lines.append("WARNING: other work took processor time; the figures are noisy.")
    return lines


def seconds_table(results: Sequence[Result]) -> list[str]:
    thread_counts = sorted({each.threads for result in results for each in result.timings})
    rows = [["size", "task", "method", *(f"seconds, threads: {k}" for k in thread_counts)]]
    for result in results:
        cells: dict[tuple[str, str], dict[int, str]] = {}
        for each in result.timings:
            cells.setdefault((each.task, each.method), {})[each.threads] = _spread(
                each.seconds, "{:.3f}"
            )
        for (task, method), by_threads in cells.items():
            rows.append([result.size, task, method, *(by_threads[k] for k in thread_counts)])
    return _table(rows)


def ratio_table(results: Sequence[Result]) -> list[str]:
    rows = [["size", "task", "ratio", "threads", "measured", "target", ""]]
    for result in results:
        for each in result.comparisons:
            target = "" if each.target is None else f">= {each.target:g}"
            verdict = {None: "", True: "PASS", False: "FAIL"}[each.passed]
            measured = _spread(each.ratios, "{:.2f}")
            rows.append(
                [result.size, each.task, each.label, each.threads, measured, target, verdict]
            )
    return _table(rows)


def accuracy_table(results: Sequence[Result]) -> list[str]:
    header = ["size", "forest means of", "leaves per tree", "test R2", "test MSE"]
    rows = [[*header, "MSE minus ours (standard error)"]]
    for result in results:
        ours = result.accuracy[0]
        for each in result.accuracy:
            excess, error = ours.excess_of(each)
            rows.append(
                [
                    result.size,
                    each.method,
                    f"{statistics.mean(each.leaves):.1f}",
                    f"{statistics.mean(each.r2):.4f}",
                    f"{statistics.mean(each.mse):.4f}",
                    "" if each is ours else f"{excess:+.4f} ({error:.4f})",
                ]
            )
    return _table(rows)


def markdown(machine: dict[str, Any], results: Sequence[Result], method: str) -> str:
    """Lay out the whole report; what is printed is the same text."""
    parts = [
        ["# Benchmarks"],
        method.rstrip().splitlines(),
        machine_lines(machine),
        noise_lines(results),
        ["## Ratios"],
        ratio_table(results),
        ["## Seconds"],
        seconds_table(results),
    ]
    if any(result.accuracy for result in results):
        seeds = len(results[0].accuracy[0].mse)
        parts += [
            ["## Accuracy"],
            [f"Means over {seeds} draws of training and test data."],
            accuracy_table(results),
        ]
    return "\n\n".join("\n".join(lines) for lines in parts) + "\n"


def write_json(path: Path, machine: dict[str, Any], results: Sequence[Result]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    content = {"machine": machine, "results": [asdict(result) for result in results]}
    path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


def _table(rows: list[list[str]]) -> list[str]:
    """Align a Markdown table, so that it can be read in a terminal as well."""
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    lines = [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |"
        for row in rows
    ]
    rule = "|" + "|".join("-" * (width + 2) for width in widths) + "|"
    return [lines[0], rule, *lines[1:]]


def _spread(values: Sequence[float], form: str) -> str:
    low, middle, high = min(values), statistics.median(values), max(values)
    return f"{form.format(middle)} [{form.format(low)}, {form.format(high)}]"


def _processor_name() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or "unknown processor"


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        # Run from the source tree.
        from cqrf import __version__

        return __version__ if package == "cqrf" else "unknown"
