"""What a run of the experiments is told, and how its results are stored."""

from __future__ import annotations

import csv
import hashlib
import json
import os
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

Row = dict[str, Any]
# One row per replication, method, quantile, metric and node size; `setting` tells apart what an
# experiment varies beside them (sample size, model, test point).
COLUMNS = ("replication", "setting", "method", "node_size", "quantile", "metric", "value")


@dataclass(frozen=True)
class Settings:
    """Size of a run.

    Attributes
    ----------
    reps : int
        Replications of every experiment.
    trees : int
        Trees of every forest.
    seed : int
        Added to every seed.
    quick : bool
        Fewer methods, node sizes and rows where an experiment would be long.
    data : Path or None
        Folder of the real data sets.
    """

    reps: int = 40
    trees: int = 1000
    seed: int = 0
    quick: bool = False
    data: Path | None = None

    def key(self) -> str:
        """Name of the results that belong together: all but the number of replications."""
        fields = {name: str(value) for name, value in asdict(self).items()}
        del fields["reps"], fields["data"]
        digest = hashlib.sha256(json.dumps(fields, sort_keys=True).encode()).hexdigest()[:8]
        return f"trees{self.trees}-seed{self.seed}{'-quick' if self.quick else ''}-{digest}"


class Rows(list[Row]):
    """Stored rows, of which those of a setting and a method are found without reading all."""

    @cached_property
    def groups(self) -> dict[tuple[str, str], list[Row]]:
        """Rows by setting and method. They must not change once this has been asked for."""
        found: dict[tuple[str, str], list[Row]] = {}
        for row in self:
            found.setdefault((row["setting"], row["method"]), []).append(row)
        return found


class Store:
    """Results on disk: a CSV file for every replication of an experiment, written when it is done.

    A file appears whole or not at all, so an interrupted run goes on where it stopped.
    """

    def __init__(self, folder: Path, settings: Settings) -> None:
        self.folder = folder
        self.settings = settings

    def path(self, experiment: str, replication: int) -> Path:
        """Return the file of a replication."""
        return self.folder / "results" / self.settings.key() / experiment / f"{replication:04d}.csv"

    def missing(self, experiment: str, replications: int) -> list[int]:
        """List the replications that are still to be run."""
        return [r for r in range(replications) if not self.path(experiment, r).exists()]

    def write(self, experiment: str, replication: int, rows: Iterable[Row]) -> None:
        """Store the rows of a replication."""
        path = self.path(experiment, replication)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_csv(path, ({"replication": replication, **row} for row in rows))

    def read(self, experiment: str, replications: int) -> Rows:
        """Read all stored rows of the first replications, numbers as numbers."""
        rows = Rows()
        for replication in range(replications):
            with self.path(experiment, replication).open(newline="", encoding="utf-8") as file:
                rows += [_typed(row) for row in csv.DictReader(file)]
        return rows


def write_csv(path: Path, rows: Iterable[Row]) -> None:
    """Write rows to a temporary file in the same folder, then rename it."""
    name = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with name.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, COLUMNS, restval="")
            writer.writeheader()
            for row in rows:
                writer.writerow({**row, "value": f"{row['value']:.9g}"})
        os.replace(name, path)
    except BaseException:
        name.unlink(missing_ok=True)
        raise


def _typed(row: dict[str, str]) -> Row:
    return {
        "replication": int(row["replication"]),
        "setting": row["setting"],
        "method": row["method"],
        "node_size": int(row["node_size"]) if row["node_size"] else None,
        "quantile": float(row["quantile"]) if row["quantile"] else None,
        "metric": row["metric"],
        "value": float(row["value"]),
    }
