"""Bins by rows alone, or in a second table as well."""

from __future__ import annotations

from dataclasses import asdict

from speed.parts import Part, Run, timings_of
from speed.process import fresh_figure
from speed.ratios import ratios, spread
from speed.store import Record
from speed.tables import table

BEST = {"criterion": "mse", "bootstrap": True, "min_samples_leaf": 50}
FORESTS = {
    "default criterion": {"min_samples_split": 100},
    "default criterion, a third": {"min_samples_split": 100, "max_features": 1 / 3},
    "best splits": BEST,
    "best splits, a third": {**BEST, "max_features": 1 / 3},
}


class Layouts(Part):
    """Growing from the table of bins by rows, and as the size of the data has it."""

    name = "layouts"
    title = "Bins by rows or by columns"

    def measure(self, run: Run) -> None:  # noqa: D102
        repeats = asdict(run.scale.repeats)
        for n, p, trees in run.scale.layouts:
            for label, parameters in FORESTS.items():
                self.once(
                    run,
                    f"n = {n:,}, p = {p:,}, {label}",
                    lambda n=n, p=p, trees=trees, parameters=parameters: fresh_figure(
                        "layouts", n=n, p=p, trees=trees, repeats=repeats, parameters=parameters
                    ),
                )

    def section(self, records: dict[str, Record]) -> list[str]:  # noqa: D102
        rows = [["fit", "by rows, s", "chosen, s", "chosen / by rows"]]
        for where, record in records.items():
            times = timings_of(record["figures"]["timings"])
            by_rows, chosen = times["by rows"], times["chosen"]
            share = spread(ratios(chosen, by_rows), "{:.2f}")
            rows.append([where, spread(by_rows.seconds), spread(chosen.seconds), share])
        return [
            "One thread, few trees; whole fits, binning and the second table included. Trees are "
            "the same. Where best splits, or some of the features, are looked at beyond 32,768 "
            "rows, no second table is chosen: these ratios show the noise of the machine.",
            table(rows),
        ]
