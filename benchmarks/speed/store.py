"""What was measured, a JSON file per figure, and where and with what it was measured."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
import shutil
from collections.abc import Callable
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

PACKAGES = ("cqrf", "numpy", "scikit-learn", "lightgbm", "quantile-forest", "comprisk")
# Parameters of our forests beyond those of the benchmark, as JSON.
FOREST_VARIABLE = "CQRF_BENCH_FOREST"

Record = dict[str, Any]


def machine() -> Record:
    """Processor, load and versions: what a figure depends on."""
    return {
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "processor": _processor_name(),
        "cores": available_cores(),
        "system": f"{platform.system()} {platform.machine()}",
        "load": round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None,
        "versions": {"python": platform.python_version()}
        | {package: _version(package) for package in PACKAGES},
        "code": code(),
        "forest": os.environ.get(FOREST_VARIABLE, ""),
    }


def describe(machine: Record) -> list[str]:
    """Tell in two lines on what was measured, and with which versions."""
    numbers = machine["versions"].items()
    return [
        f"{machine['processor']}, {machine['cores']} cores, {machine['system']}; {machine['date']}",
        ", ".join(f"{name} {number}" for name, number in numbers if number is not None),
    ]


def same_machine(one: Record, other: Record) -> bool:
    """Whether figures of both may stand in one table: all but date and load is the same."""
    return all(one.get(key) == other[key] for key in other if key not in ("date", "load"))


def available_cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def code() -> str:
    """Eight digits that change with the package: its modules and its compiled engine."""
    import cqrf

    digest = hashlib.sha256()
    for path in sorted(Path(cqrf.__file__).parent.rglob("*")):
        if path.suffix in (".py", ".so", ".pyd"):
            digest.update(path.read_bytes())
    return digest.hexdigest()[:8]


class Store:
    """Records by part and key, each in a file that is written when it is finished.

    Parameters
    ----------
    folder : Path
        Where the files are.
    machine : dict
        What new records are measured on.
    """

    def __init__(self, folder: Path, machine: Record) -> None:
        self.folder = folder
        self.machine = machine

    def records(self, part: str) -> dict[str, Record]:
        """All records of a part, by key, with numbers in their order."""
        files = (self.folder / part).glob("*.json")
        records = [json.loads(path.read_text(encoding="utf-8")) for path in files]
        return {each["key"]: each for each in sorted(records, key=lambda each: _order(each["key"]))}

    def forget(self, part: str) -> None:
        """Remove the records of a part."""
        shutil.rmtree(self.folder / part, ignore_errors=True)

    def once(
        self,
        part: str,
        key: str,
        measure: Callable[[], Any],
        *,
        stale: Callable[[Record], bool] = lambda _: False,
    ) -> Any:
        """Figures of a key: the stored ones, unless they are of other code, or measured now.

        Parameters
        ----------
        part, key : str
            Name of the record.
        measure : callable
            Returns figures that JSON can hold.
        stale : callable, optional
            Tells of stored figures whether they are to be measured anew.
        """
        path = self.folder / part / f"{re.sub('[^a-z0-9]+', '-', key.lower()).strip('-')}.json"
        if path.exists():
            record = json.loads(path.read_text(encoding="utf-8"))
            if same_machine(record["machine"], self.machine) and not stale(record["figures"]):
                return record["figures"]
        now = self.machine | {
            "date": datetime.now(UTC).strftime("%Y-%m-%d"),
            "load": machine()["load"],
        }
        record = {"key": key, "machine": now, "figures": measure()}
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = path.with_suffix(".partial")
        partial.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
        partial.rename(path)
        return record["figures"]


def _order(key: str) -> list[tuple[str, int]]:
    """Sort "n = 20,000" before "n = 100,000"."""
    pieces = re.findall(r"([^\d]*)([\d,]*)", key)
    return [(text, int(number.replace(",", "") or 0)) for text, number in pieces]


def _processor_name() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or "unknown processor"


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        # Run from the source tree, or a neighbour that is not installed.
        from cqrf import __version__

        return __version__ if package == "cqrf" else None
