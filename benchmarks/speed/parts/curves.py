"""Time and memory against rows, features, trees and leaf size, as far as each method goes."""

from __future__ import annotations

import math
from dataclasses import asdict, replace
from pathlib import Path

from speed.methods import (
    COMPRISK,
    LIGHTGBM,
    METHODS,
    OURS,
    OURS_DEFAULT,
    QUANTILE_FOREST,
    SCIKIT_LEARN,
    Setting,
)
from speed.parts import Part, Run
from speed.process import contenders
from speed.ratios import Timing, round_robin
from speed.store import Record, describe
from speed.tables import table

METHODS_DRAWN = (OURS, OURS_DEFAULT, LIGHTGBM, SCIKIT_LEARN, QUANTILE_FOREST, COMPRISK)

AXES = {
    "n": "training rows",
    "p": "features",
    "trees": "trees",
    "leaf": "rows of the smallest leaf",
}
# A point that was expected to fit the limit may take so many times longer before it is ended.
PATIENCE = 2.0


def setting_at(base: Setting, axis: str, value: int) -> Setting:
    """Set one thing apart; leaves grow with the square root of the rows."""
    setting = replace(base, **{axis: value})
    if axis == "n" and value >= 1_000:
        setting = replace(setting, leaf=max(5, round(math.sqrt(value) / 2)))
    return setting


def reason_to_stop(previous: Record | None, method: str, growth: float, limit: float) -> str:
    """Why a method stops before the next point, or nothing if it goes on.

    Parameters
    ----------
    previous : dict or None
        Figures of the point before, by method.
    method : str
        Its name.
    growth : float
        How many times larger the next point is: if time grew in proportion, it would take so
        much longer.
    limit : float
        Seconds that a point may take.
    """
    if previous is None:
        return ""
    last = previous[method]
    if "stopped" in last:
        return last["stopped"]
    seconds = max(Timing(**last[task]).median for task in ("fit", "predict"))
    return f"above {limit:g} s" if seconds * growth > limit else ""


class Curves(Part):
    """Log-log curves, everything on two threads."""

    name = "curves"
    title = "How it grows"

    def measure(self, run: Run) -> None:  # noqa: D102
        for axis, values in run.scale.axes.items():
            previous, last = None, None
            for value in values:
                # With smaller leaves time grows far more slowly than their number.
                growth = 1.0 if last is None or axis == "leaf" else value / last
                previous = self.once(
                    run,
                    f"{axis} = {value:,}",
                    lambda axis=axis, value=value, previous=previous, growth=growth: self._at(
                        run, axis, value, previous, growth
                    ),
                    # A longer limit may take a method further.
                    stale=lambda figures: any(
                        each.get("limit", math.inf) < run.scale.limit for each in figures.values()
                    ),
                )
                last = value

    def _at(
        self, run: Run, axis: str, value: int, previous: Record | None, growth: float
    ) -> Record:
        setting = setting_at(run.scale.base, axis, value)
        alone = setting.n > run.scale.alone_above
        limit = run.scale.alone_limit if alone else run.scale.limit
        figures: Record = {}
        jobs = {}
        for method in METHODS_DRAWN:
            if previous is not None and method not in previous:
                continue  # not installed
            left_out = alone and METHODS[method].package != "cqrf"
            allowed = run.scale.limit if left_out else limit
            reason = reason_to_stop(previous, method, growth, allowed)
            if left_out:
                reason = reason or f"not tried beyond {run.scale.alone_above:,} rows"
            if reason:
                figures[method] = {"stopped": reason, "limit": allowed}
            else:
                jobs[method] = (method, setting)
        # Two forests of this size at once may not fit into memory.
        groups = [{k: v} for k, v in jobs.items()] if alone else [jobs]
        for group in groups:
            with run.opened(group, run.scale.rows) as workers:
                seconds = PATIENCE * limit
                repeats = replace(run.scale.repeats, usual=2, slow=1)
                fits = round_robin(contenders(workers, group, "fit", seconds), repeats)
                failed = {each.method: each.failed for each in fits if each.failed}
                alive = {name: worker for name, worker in workers.items() if name not in failed}
                asking = contenders(alive, group, "predict", seconds, rows=run.scale.rows)
                predictions = round_robin(asking, repeats)
            failed |= {each.method: each.failed for each in predictions if each.failed}
            for method, reason in failed.items():
                figures[method] = {"stopped": reason, "limit": limit}
            for fit in fits:
                for predict in predictions:
                    if fit.method == predict.method and fit.method not in failed:
                        figures[fit.method] = {"fit": asdict(fit), "predict": asdict(predict)}
        return figures

    def series(self, records: dict[str, Record], axis: str) -> list[tuple[int, Record]]:
        """Points of an axis, in their order."""
        keys = [key for key in records if key.startswith(f"{axis} = ")]
        points = [
            (int(k.partition(" = ")[2].replace(",", "")), records[k]["figures"]) for k in keys
        ]
        return sorted(points, key=lambda point: point[0])

    def draw(self, records: dict[str, Record], folder: Path) -> None:  # noqa: D102
        from speed.plots import draw_axis

        for axis, label in AXES.items():
            points = self.series(records, axis)
            if points:
                machines = [each["machine"] for each in records.values()]
                caption = describe(max(machines, key=lambda each: each["date"]))
                draw_axis(points, label, METHODS_DRAWN, caption, folder / f"bench_{axis}.svg")

    def section(self, records: dict[str, Record]) -> list[str]:  # noqa: D102
        limits = [
            each["limit"]
            for record in records.values()
            for each in record["figures"].values()
            if "limit" in each
        ]
        blocks = [
            "Two threads, 1,000 rows predicted. Against rows, the smallest leaf has half of their "
            "square root; against anything else there are 10,000 rows, and 50 in the smallest "
            "leaf. *cqrf, default* tries all features and has the default criterion, on censored "
            "times. A cross marks where a method was taken no further, because its next point "
            f"would have taken above {max(limits, default=20):g} s if time grew in proportion."
        ]
        for axis, label in AXES.items():
            points = self.series(records, axis)
            if not points:
                continue
            picture = f"![Time and memory against {label}](images/bench_{axis}.svg)"
            rows = [[label, "method", "fit, s", "fit, MB", "predict, ms", "predict, MB"]]
            for value, figures in points:
                for method in METHODS_DRAWN:
                    if method in figures:
                        rows.append([f"{value:,}", method, *self._cells(figures[method])])
            details = "\n".join(
                ["<details><summary>The figures of these curves</summary>", "", table(rows), ""]
            )
            blocks += [picture, f"{details}\n</details>"]
        return blocks

    @staticmethod
    def _cells(figures: Record) -> list[str]:
        if "stopped" in figures:
            return [figures["stopped"], "", "", ""]
        fit, predict = Timing(**figures["fit"]), Timing(**figures["predict"])
        return [
            f"{fit.median:.3f}",
            f"{fit.peak_mb:.0f}",
            f"{1e3 * predict.median:.2f}",
            f"{predict.peak_mb:.1f}",
        ]
