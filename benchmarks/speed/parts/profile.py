"""Where the time goes, and how far that is from what the machine can do."""

from __future__ import annotations

import math
import statistics
from dataclasses import asdict, replace

from speed.machine_limits import instruction_shares, measure_limits
from speed.methods import OURS, OURS_DEFAULT, Setting
from speed.parts import Part, Run
from speed.process import fresh_figure
from speed.ratios import spread
from speed.store import Record
from speed.tables import size_name, table

LIMITS, FIT, PREDICT, INSTRUCTIONS = "limits", "fit, ", "predict, ", "instructions of "
LABELS = 10
FEATURES_PER_ADDITION = 4
WHERE = {"16KiB": "L1", "512KiB": "L2", "8MiB": "L3", "256MiB": "memory"}


class Profile(Part):
    """Work per second, beside the limit of the machine."""

    name = "profile"
    title = "Where the time goes"

    def measure(self, run: Run) -> None:  # noqa: D102
        self.once(run, LIMITS, measure_limits)
        n = run.scale.profile_rows
        leaf = dict(run.scale.sizes).get(n, 20)
        # Few trees: counting their work takes longer than growing them.
        setting = Setting(n=n, leaf=leaf, trees=min(20, run.scale.trees))
        for method in (OURS, OURS_DEFAULT):
            self.once(
                run,
                f"{FIT}{size_name(n, leaf)}, {method}",
                lambda method=method: [
                    fresh_figure("shares_of_fit", method=method, count=True, **asdict(setting))
                    for _ in range(run.scale.repeats.slow)
                ],
            )
        for n, leaf in run.scale.sizes:
            setting = Setting(n=n, leaf=leaf, trees=run.scale.trees)
            self.once(
                run,
                f"{PREDICT}{size_name(n, leaf)}",
                lambda setting=setting: (
                    asdict(setting)
                    | fresh_figure(
                        "shares_of_predict",
                        repeats=run.scale.repeats.usual,
                        **self._asked(run, setting),
                    )
                ),
            )
        for kernel in run.scale.kernels:
            self.once(
                run, f"{INSTRUCTIONS}{kernel}", lambda kernel=kernel: instruction_shares(kernel)
            )

    @staticmethod
    def _asked(run: Run, setting: Setting) -> dict[str, int]:
        return asdict(replace(setting, threads=1)) | {"rows": run.scale.rows}

    def section(self, records: dict[str, Record]) -> list[str]:  # noqa: D102
        limits = records.get(LIMITS, {}).get("figures") or {}
        blocks = []
        if limits:
            blocks += [
                "One thread. The limit is that of a loop that does nothing else, in C++, compiled "
                "for this very processor (`benchmarks/speed/limits.cpp`); the figure of cqrf "
                "divides the time of *all* of growing or predicting by the number of such steps.",
                table(self._distances(records, limits)),
                "The machine itself:",
                table(self._machine(limits)),
            ]
        shares = self._instructions(records)
        if len(shares) > 1:
            blocks += [
                "Instructions of the engine's loops by the file that they were written in "
                "(callgrind, n = 20,000, one thread); files below 2% are summed up.",
                table(shares),
            ]
        steps = self._predict_steps(records)
        if len(steps) > 1:
            blocks += [
                "A prediction of 1,000 rows x 5 quantiles, by what it is spent on:",
                table(steps),
            ]
        return blocks

    def _distances(self, records: dict[str, Record], limits: dict[str, float]) -> list[list[str]]:
        rows = [["step", "where", "cqrf, ns", "limit, ns", "cqrf / limit"]]

        def add(step: str, where: str, values: list[float], limit: float) -> None:
            ratio = statistics.median(values) / limit
            rows.append([step, where, spread(values, "{:.2f}"), f"{limit:.2f}", f"{ratio:.1f}"])

        for key, record in records.items():
            figures = record["figures"]
            if key.startswith(FIT):
                where = key.removeprefix(FIT)
                growing = [1e9 * run["seconds"]["growing the trees"] for run in figures]
                visits, features = figures[0]["visits"], figures[0]["features"]
                if where.endswith(OURS_DEFAULT):
                    groups = -(-features // FEATURES_PER_ADDITION)
                    values = [each / (visits * groups * LABELS) for each in growing]
                    add("label added to a sum", where, values, limits["label_addition"])
                else:
                    values = [each / (visits * features) for each in growing]
                    add("label added to a histogram", where, values, limits["histogram_addition"])
            elif key.startswith(PREDICT):
                where = key.removeprefix(PREDICT)
                limit = limits.get(f"member_addition_{figures['n']}")
                values = [1e9 * each / figures["members"] for each in figures["whole"]]
                if limit is not None:
                    add("member of a leaf added", where, values, limit)
                leaves = figures["rows"] * figures["trees"]
                before = statistics.median(figures["checks and binning"])
                finding = [each - before for each in figures["checks, binning and leaves"]]
                found = [1e9 * max(0.0, each) / leaves for each in finding]
                levels = max(1, round(math.log2(figures["leaves"] / figures["trees"])))
                add(
                    f"leaf found, {levels} levels of dependent reads",
                    where,
                    found,
                    levels * limits["latency_16KiB"],
                )
        return rows

    @staticmethod
    def _machine(limits: dict[str, float]) -> list[list[str]]:
        rows = [["", *WHERE.values()]]
        for name, form in (("latency", "{:.1f} ns"), ("bandwidth", "{:.0f} GB/s")):
            found = [limits.get(f"{name}_{size}") for size in WHERE]
            label = {"latency": "random read", "bandwidth": "reading in order"}[name]
            rows.append([label, *("" if each is None else form.format(each) for each in found)])
        return rows

    @staticmethod
    def _instructions(records: dict[str, Record]) -> list[list[str]]:
        rows = [["loop", "file", "%"]]
        for key, record in records.items():
            if key.startswith(INSTRUCTIONS):
                kernel, shares = key.removeprefix(INSTRUCTIONS), record["figures"]
                large = {name: share for name, share in shares.items() if share >= 0.02}
                rows += [[kernel, f"`{name}`", f"{100 * each:.0f}"] for name, each in large.items()]
                rest = sum(shares.values()) - sum(large.values())
                if shares:
                    rows.append([kernel, "all others", f"{100 * rest:.0f}"])
        return rows

    @staticmethod
    def _predict_steps(records: dict[str, Record]) -> list[list[str]]:
        rows = [
            ["size", "checks and binning, %", "finding the leaves, %", "summing and solving, %"]
        ]
        for key, record in records.items():
            if key.startswith(PREDICT):
                figures = record["figures"]
                whole, binning, leaves = (
                    statistics.median(figures[name])
                    for name in ("whole", "checks and binning", "checks, binning and leaves")
                )
                parts = (binning, leaves - binning, whole - leaves)
                shares = [f"{100 * max(0.0, each) / whole:.0f}" for each in parts]
                rows.append([key.removeprefix(PREDICT), *shares])
        return rows
