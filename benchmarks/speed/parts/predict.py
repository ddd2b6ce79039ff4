"""Predicting: beside the neighbours, one row at a time, other answers, memory."""

from __future__ import annotations

from dataclasses import asdict
from importlib.metadata import version

from speed.methods import (
    COMPRISK,
    METHODS,
    OURS,
    OURS_CENSORED,
    OURS_DEFAULT,
    QUANTILE_FOREST,
    QUANTILE_FOREST_ONE,
    SCIKIT_LEARN,
    Setting,
)
from speed.parts import Part, Run, timings_of
from speed.process import Job, Worker, contenders, each_or_none
from speed.ratios import Contender, Verdict, ratios, round_robin, spread
from speed.store import Record
from speed.tables import size_name, table

# Neighbour, which of our forests it is compared with, and the target.
PEERS = (
    (COMPRISK, OURS_CENSORED, ">", 1.0),
    (QUANTILE_FOREST_ONE, OURS, ">", 1.0),
    (QUANTILE_FOREST, OURS, ">=", 4.0),
)
FIRST = "5 quantiles"
OTHERS = ("99 quantiles", "survival", "restricted mean")
# Without a target.
FIRST_TIME = "survival, new times"
GROWING_THREADS = 2
# A block of rows takes a few dozen megabytes at most.
BLOCK_MB = 64.0


def grow(run: Run, worker: Worker, job: Job) -> None:
    """Grow a forest outside the clock; those of slow neighbours are kept for the next run."""
    method, setting = job
    path = None
    package = METHODS[method].package
    if package != "cqrf" and setting.n * setting.trees >= run.scale.stored_from * run.scale.trees:
        release = version(package.replace("sklearn", "scikit-learn").replace("_", "-"))
        name = method.replace(",", "").replace(" ", "-")
        size = f"n{setting.n}-p{setting.p}-leaf{setting.leaf}-trees{setting.trees}"
        path = str(run.cache / f"{name}-{release}-{size}.pkl")
    worker.ask("load", path=path, threads=GROWING_THREADS)


class Predict(Part):
    """1,000 rows, five quantiles, one thread; and what other answers cost beside that."""

    name = "predict"
    title = "Predicting 1,000 rows"

    def measure(self, run: Run) -> None:  # noqa: D102
        for n, leaf in run.scale.sizes:
            setting = Setting(n=n, leaf=leaf, trees=run.scale.trees)
            self.once(run, size_name(n, leaf), lambda setting=setting: self._at(run, setting))

    def _at(self, run: Run, setting: Setting) -> Record:
        methods = (OURS, OURS_CENSORED, COMPRISK, QUANTILE_FOREST_ONE, QUANTILE_FOREST)
        jobs = {method: (method, setting) for method in methods}
        rows = run.scale.rows
        with run.opened(jobs, rows) as workers:
            each_or_none(workers, lambda worker: grow(run, worker, jobs[worker.name]))
            peers = round_robin(contenders(workers, jobs, "predict", rows=rows), run.scale.repeats)
            ours = workers[OURS_CENSORED]
            others = []
            # In the end, since new times take the place of those that were asked for before.
            for together in ((FIRST, *OTHERS), (FIRST_TIME,)):
                answers = [
                    Contender(
                        what,
                        1,
                        lambda calls, what=what: ours.ask(
                            "answer", what=what, rows=rows, calls=calls
                        ),
                    )
                    for what in together
                ]
                others += round_robin(answers, run.scale.repeats)
        return {
            "timings": [asdict(each) for each in peers],
            "answers": [asdict(each) for each in others],
        }

    def verdicts(self, records: dict[str, Record]) -> list[Verdict]:  # noqa: D102
        found = []
        for where, record in records.items():
            times = timings_of(record["figures"]["timings"])
            found += [
                Verdict(
                    f"predict: {peer} / cqrf",
                    where,
                    ratios(times[peer], times[ours]) if peer in times else [],
                    *target,
                )
                for peer, ours, *target in PEERS
            ]
        for where, record in records.items():
            times = timings_of(record["figures"]["answers"])
            found += [
                Verdict(
                    f"predict: {other} / {FIRST}",
                    where,
                    ratios(times[other], times[FIRST]),
                    "<=",
                    1.5,
                )
                for other in OTHERS
            ]
        return found

    def section(self, records: dict[str, Record]) -> list[str]:  # noqa: D102
        rows = [["size", "method", "answers", "milliseconds", "peak memory, MB"]]
        for where, record in records.items():
            for name, timing in timings_of(record["figures"]["timings"]).items():
                what = METHODS[name].answers or FIRST
                seconds = spread([1e3 * each for each in timing.seconds], "{:.1f}")
                rows.append([where, name, what, seconds, f"{timing.peak_mb:.1f}"])
            for name, timing in timings_of(record["figures"]["answers"]).items():
                seconds = spread([1e3 * each for each in timing.seconds], "{:.1f}")
                rows.append([where, OURS_CENSORED, name, seconds, f"{timing.peak_mb:.1f}"])
        return [
            "One thread. Peak memory is what the first prediction takes beyond the forest and the "
            "data. The forests of the slow neighbours are grown once and kept in "
            "`benchmarks/.cache`, because growing them takes longer than the rest of the run. "
            "What leaves hold between the times that survival probabilities are asked for is made "
            "by the first prediction, like the cells of time that quantiles use: "
            f"`{FIRST_TIME}` is the time of a call that makes it.",
            table(rows),
        ]


class OneRow(Part):
    """One row at a time, as a service answers."""

    name = "row"
    title = "One row at a time"

    def measure(self, run: Run) -> None:  # noqa: D102
        setting = run.scale.one_row
        self.once(
            run,
            f"{size_name(setting.n, setting.leaf)}, {setting.trees:,} trees",
            lambda: self._at(run),
        )

    def _at(self, run: Run) -> list[dict[str, object]]:
        methods = (OURS, OURS_DEFAULT, SCIKIT_LEARN, QUANTILE_FOREST_ONE, QUANTILE_FOREST)
        jobs = {method: (method, run.scale.one_row) for method in methods}
        with run.opened(jobs, n_test=min(100, run.scale.rows)) as workers:
            each_or_none(workers, lambda worker: grow(run, worker, jobs[worker.name]))
            timings = round_robin(contenders(workers, jobs, "one_row"), run.scale.repeats)
        return [asdict(each) for each in timings]

    def verdicts(self, records: dict[str, Record]) -> list[Verdict]:  # noqa: D102
        return [
            Verdict(
                f"one row: milliseconds of {name}",
                where,
                [1e3 * each for each in timings_of(record["figures"])[name].seconds],
                "<=",
                0.5,
                "{:.3f}",
            )
            for where, record in records.items()
            for name in (OURS, OURS_DEFAULT)
        ]

    def section(self, records: dict[str, Record]) -> list[str]:  # noqa: D102
        rows = [["forest", "method", "answers", "milliseconds per row"]]
        for where, record in records.items():
            for name, timing in timings_of(record["figures"]).items():
                seconds = spread([1e3 * each for each in timing.seconds])
                rows.append([where, name, METHODS[name].answers or FIRST, seconds])
        return ["One call of `predict` from Python with a NumPy row, one thread.", table(rows)]


class Memory(Part):
    """Memory of a prediction against the number of rows."""

    name = "memory"
    title = "Memory of a prediction"

    def measure(self, run: Run) -> None:  # noqa: D102
        n, leaf = run.scale.sizes[0]
        setting = Setting(n=n, leaf=leaf, trees=min(20, run.scale.trees), threads=2)
        for rows in run.scale.memory_rows:
            self.once(run, f"{rows:,} rows", lambda rows=rows: self._of(run, rows, setting))

    def _of(self, run: Run, rows: int, setting: Setting) -> Record:
        peaks = []
        for _ in range(run.scale.repeats.slow):
            with run.opened({OURS: (OURS, setting)}, n_test=rows) as workers:
                worker = workers[OURS]
                worker.ask("load", path=None, threads=2)
                peaks.append(worker.ask("predict", rows=rows)["peak_mb"])
        return {"rows": rows, "peak_mb": peaks, "answer_mb": 5 * 8 * rows / 1e6}

    @staticmethod
    def _scratch(figures: Record) -> list[float]:
        return [peak - figures["answer_mb"] for peak in figures["peak_mb"]]

    def _sorted(self, records: dict[str, Record]) -> list[Record]:
        return sorted((each["figures"] for each in records.values()), key=lambda each: each["rows"])

    def verdicts(self, records: dict[str, Record]) -> list[Verdict]:  # noqa: D102
        sizes = self._sorted(records)
        if not sizes:
            return []
        return [
            Verdict(
                "predict: memory beyond forest, data and answer, MB",
                f"{sizes[-1]['rows']:,} rows",
                self._scratch(sizes[-1]),
                "<=",
                BLOCK_MB,
                "{:.1f}",
            )
        ]

    def section(self, records: dict[str, Record]) -> list[str]:  # noqa: D102
        rows = [["rows asked", "peak memory, MB", "of which the answer, MB"]]
        for figures in self._sorted(records):
            peak = spread(figures["peak_mb"], "{:.1f}")
            rows.append([f"{figures['rows']:,}", peak, f"{figures['answer_mb']:.1f}"])
        return [
            "Beyond forest and data, 20 trees, two threads; a fresh process each. Rows are "
            "answered in blocks: memory grows with the rows until they fill a block, and then no "
            "further.",
            table(rows),
        ]
