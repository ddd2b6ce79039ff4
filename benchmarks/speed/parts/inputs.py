"""The largest fit, wide data, many categories, and memory before the first tree."""

from __future__ import annotations

from dataclasses import asdict

from speed.parts import Part, Run, timings_of
from speed.process import fresh_figure
from speed.ratios import Verdict, ratios, spread
from speed.store import Record
from speed.tables import table

GIB = 12.0
WHOLE, BEFORE, WIDE, CATEGORIES = "whole: ", "before the trees: ", "wide: ", "categories: "
ENCODINGS = "encodings: "


class Inputs(Part):
    """Data of unusual shapes."""

    name = "inputs"
    title = "Large, wide and categorical data"

    def measure(self, run: Run) -> None:  # noqa: D102
        scale = run.scale
        n, p = scale.wide
        for label, parameters in (("all features", {}), ("a third", {"max_features": 1 / 3})):
            self.once(
                run,
                f"{WIDE}n = {n:,}, p = {p:,}, {label}",
                lambda parameters=parameters: fresh_figure(
                    "wide", n=n, p=p, trees=scale.trees, parameters=parameters
                ),
            )
        for count in (200, 20_000):
            self.once(
                run,
                f"{CATEGORIES}{count:,} among {scale.categories:,} rows, 20 trees",
                lambda count=count: fresh_figure(
                    "categories", n_categories=count, n=scale.categories, trees=20
                ),
            )
        for n, columns, levels in scale.encodings:
            for label, parameters in (("defaults", {}), ("leaves of 50", {"min_samples_leaf": 50})):
                self.once(
                    run,
                    f"{ENCODINGS}n = {n:,}, {columns} of {levels} values, {label}",
                    lambda n=n, columns=columns, levels=levels, parameters=parameters: fresh_figure(
                        "encodings",
                        n=n,
                        columns=columns,
                        levels=levels,
                        trees=20,
                        repeats=asdict(scale.repeats),
                        parameters=parameters,
                    ),
                )
        n, p, drawn = scale.large
        parameters = {
            "criterion": "mse",
            "max_features": 1 / 3,
            "min_samples_leaf": max(1, drawn // 2_000),
            "max_samples": drawn,
        }
        self.once(
            run,
            f"{WHOLE}n = {n:,}, p = {p}, float32, {drawn:,} rows a tree",
            lambda: fresh_figure(
                "whole",
                n=n,
                p=p,
                trees=scale.trees,
                rows=min(n, 100_000),
                parameters=parameters,
            ),
        )
        rows = scale.before_trees
        for name in scale.containers:
            self.once(
                run,
                f"{BEFORE}n = {rows:,}, p = 20, {name}",
                lambda name=name: fresh_figure("before_trees", container=name, n=rows, p=20),
            )

    def verdicts(self, records: dict[str, Record]) -> list[Verdict]:  # noqa: D102
        what = "fit and score: peak memory, GiB"
        found = _with(records, WHOLE)
        if not found:
            return [Verdict(what, "n = 10,000,000", [], "<=", GIB)]
        return [
            Verdict(
                what,
                key.removeprefix(WHOLE),
                [max(figures["fit peak GiB"], figures["score peak GiB"])],
                "<=",
                GIB,
                "{:.1f}",
            )
            for key, figures in found
        ]

    def section(self, records: dict[str, Record]) -> list[str]:  # noqa: D102
        blocks = []
        texts = {
            WHOLE: "Fit and score (100,000 rows x 3 quantiles) on two threads; peak memory of the "
            "whole process, data and libraries included.",
            WIDE: "Default parameters, two threads.",
            CATEGORIES: "One column of many categories beside four numbers, two threads.",
            BEFORE: "Memory of a fit up to its first tree in megabytes, beyond the data: nothing "
            "is copied in float64.",
        }
        for prefix, text in texts.items():
            found = list(_with(records, prefix))
            if found:
                rows = [["data", *found[0][1]]]
                for key, figures in found:
                    cells = [spread([each], "{:.2f}") for each in figures.values()]
                    rows.append([key.removeprefix(prefix), *cells])
                blocks += [text, table(rows)]
        return blocks + _encodings(records)


def _encodings(records: dict[str, Record]) -> list[str]:
    found = _with(records, ENCODINGS)
    if not found:
        return []
    rows = [["columns of categories", "native, s", "one-hot, s", "native / one-hot"]]
    for key, figures in found:
        times = timings_of(figures["timings"])
        native, hot = times["native"], times["one-hot"]
        share = spread(ratios(native, hot), "{:.2f}")
        rows.append(
            [key.removeprefix(ENCODINGS), spread(native.seconds), spread(hot.seconds), share]
        )
    text = (
        "Columns of categories beside four numbers, as they are and one-hot: 20 trees, one thread; "
        "whole fits, with the choice of a leaf size by default."
    )
    return [text, table(rows)]


def _with(records: dict[str, Record], prefix: str) -> list[tuple[str, Record]]:
    return [(key, each["figures"]) for key, each in records.items() if key.startswith(prefix)]
