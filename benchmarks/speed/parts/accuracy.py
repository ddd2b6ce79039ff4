"""Whether speed is paid for with accuracy."""

from __future__ import annotations

import statistics
from dataclasses import asdict

from speed.accuracy import Accuracy
from speed.methods import Setting
from speed.parts import Part, Run
from speed.process import fresh_figure
from speed.store import Record
from speed.tables import size_name, table


class AccuracyPart(Part):
    """Test errors of equally large trees."""

    name = "accuracy"
    title = "Accuracy"

    def measure(self, run: Run) -> None:  # noqa: D102
        for n, leaf in run.scale.accuracy:
            setting = Setting(n=n, leaf=leaf, trees=run.scale.trees, threads=2)
            self.once(
                run,
                size_name(n, leaf),
                lambda setting=setting: fresh_figure(
                    "accuracy", seeds=run.scale.accuracy_seeds, **asdict(setting)
                ),
            )

    def section(self, records: dict[str, Record]) -> list[str]:  # noqa: D102
        header = ["size", "forest means of", "leaves per tree", "test R2", "test MSE"]
        rows = [[*header, "MSE minus ours (standard error)"]]
        for where, record in records.items():
            methods = [Accuracy(**each) for each in record["figures"]["methods"]]
            for each in methods:
                excess, error = methods[0].excess_of(each)
                rows.append(
                    [
                        where,
                        each.method,
                        f"{statistics.mean(each.leaves):.1f}",
                        f"{statistics.mean(each.r2):.4f}",
                        f"{statistics.mean(each.mse):.4f}",
                        "" if each is methods[0] else f"{excess:+.4f} ({error:.4f})",
                    ]
                )
        return ["Speed is not paid for with accuracy: means over draws of the data.", table(rows)]
