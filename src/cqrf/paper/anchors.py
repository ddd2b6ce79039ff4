"""Our figures beside those of the authors' own code and of R packages.

``anchors.csv`` holds mean and standard error over 20 replications of 300 trees, measured once with
the authors' R code (crf), quantregForest, grf and randomForestSRC on the paper's four models, every
method at the node size that was best for it.
"""

from __future__ import annotations

import csv
from dataclasses import replace
from functools import cache
from importlib.resources import files
from math import hypot
from typing import Any

import numpy as np

from cqrf.paper import plots
from cqrf.paper.experiment import LEVELS, Experiment, Picture, Verdict, register
from cqrf.paper.methods import METHODS
from cqrf.paper.settings import Row, Settings
from cqrf.paper.simulations import (
    MODELS,
    N_TEST,
    PAPER_MODELS,
    make_task,
    metric_rows,
    seeds,
)
from cqrf.paper.tables import Table, mean

N_TREES = 300
# Their name -> ours.
SAME = {
    "crf (authors, randomForest, Beran, argmin)": "crf",
    "crf (authors, randomForest, nearest neighbours, argmin)": "crf-knn",
    "crf (authors, ranger extratrees, Beran, argmin)": "crf-extratrees",
    "crf (authors, grf quantile forest, Beran, argmin)": "crf-grf",
    "qrf (quantregForest)": "qrf",
    "qrf-oracle": "qrf-oracle",
    "grf (grf::quantile_forest)": "grf",
    "grf-oracle": "grf-oracle",
    "rsf (randomForestSRC 2.9.1)": "rsf",
}
AUTHORS = "crf (authors, randomForest, Beran, argmin)"
# Why a method need not agree. What the filling of leaves does is measured by
# benchmarks/leaf_filling.py, what the variance of the log-rank statistic does by
# benchmarks/survival_forest.py.
_FILLING = "fills the leaves of a tree with the rows that it drew, we with all rows"
DIFFERENCES = {
    "crf": "randomForest stops by rows counted as often as drawn, we by distinct rows; "
    "the authors' code averages exact ties of the loss",
    "crf-knn": "their neighbours are all rows of weight above 1/n, ours the n/10 nearest",
    "crf-extratrees": "ranger draws cuts between values, we draw among bins",
    "qrf": f"quantregForest {_FILLING}",
    "qrf-oracle": f"quantregForest {_FILLING}",
    "rsf": "randomForestSRC divides the log-rank statistic by its hypergeometric variance, we by "
    f"its permutation variance, and other cuts win; it {_FILLING}",
}


@cache
def anchors() -> tuple[dict[str, Any], ...]:
    """Read the stored figures."""
    text = files("cqrf.paper").joinpath("anchors.csv").read_text(encoding="utf-8")
    return tuple(
        {key: value if key in ("model", "method") else float(value) for key, value in row.items()}
        for row in csv.DictReader(text.splitlines())
    )


def anchor(model: str, method: str, level: float) -> dict[str, Any]:
    """Find the stored figures of a method at a level."""
    return next(
        row
        for row in anchors()
        if (row["model"], row["method"], row["quantile"]) == (model, method, level)
    )


class Anchors(Experiment):
    """The same methods at the same node sizes."""

    name = "anchors"
    title = "Beside the authors' own code and R packages"
    section = "Simulation results"

    def _models(self, settings: Settings) -> tuple[str, ...]:
        return ("aft_1d", "aft_5d") if settings.quick else PAPER_MODELS

    def replicate(self, replication: int, settings: Settings) -> list[Row]:
        rows = []
        for key in self._models(settings):
            model = MODELS[key]
            train_seed, _, test_seed, seed = seeds(f"anchors {key}", replication, settings)
            test = model.draw(N_TEST, test_seed)
            base = make_task(model, model.draw(model.n, train_seed), test.X, settings, seed)
            base = replace(base, n_trees=min(settings.trees, N_TREES))
            for theirs, ours in SAME.items():
                wanted: dict[int, list[float]] = {}
                for level in LEVELS:
                    size = int(anchor(key, theirs, level)["node_size"])
                    wanted.setdefault(size, []).append(level)
                for size, levels in wanted.items():
                    predicted = METHODS[ours].predict(
                        replace(base, node_size=size, quantiles=np.array(levels))
                    )
                    rows += [
                        {"setting": key, "method": ours, "node_size": size, **row}
                        for row in metric_rows(predicted, test, levels)
                    ]
            rows += [
                {"setting": key, "method": "cqrf", **row}
                for row in metric_rows(METHODS["cqrf"].predict(base), test, LEVELS)
            ]
        return rows

    def tables(self, rows: list[Row], settings: Settings) -> list[Table]:
        found = []
        for key in self._models(settings):
            body = []
            for theirs, ours in SAME.items():
                cells = []
                for level in LEVELS:
                    cell, stored, z = self._compare(rows, key, theirs, level)
                    cells.append(f"{cell:.3g} / {stored:.3g} ({z:+.1f})")
                body.append([f"{ours} / {theirs}", *cells])
            cells = [
                f"{mean(rows, setting=key, method='cqrf', quantile=level, metric='mad')}"
                for level in LEVELS
            ]
            body.append(["cqrf (our default)", *cells])
            found.append(
                Table(
                    f"{MODELS[key].title}: MAD, ours / theirs (difference in joint standard "
                    "errors)",
                    ["", *(f"{level:g}" for level in LEVELS)],
                    body,
                )
            )
        return found

    def _compare(
        self, rows: list[Row], key: str, theirs: str, level: float, metric: str = "mad"
    ) -> tuple[float, float, float]:
        """Ours, theirs, and the difference in joint standard errors."""
        stored = anchor(key, theirs, level)
        cell = mean(rows, setting=key, method=SAME[theirs], quantile=level, metric=metric)
        joint = hypot(cell.error, stored[f"{metric}_se"])
        return cell.mean, stored[metric], (cell.mean - stored[metric]) / joint

    def pictures(self, rows: list[Row], settings: Settings) -> list[Picture]:
        points = []
        for key in self._models(settings):
            for theirs, ours in SAME.items():
                for level in LEVELS:
                    a, b, _ = self._compare(rows, key, theirs, level)
                    points.append((ours, b, a))
        return [
            Picture(
                "anchors",
                "MAD of every method, model and level: ours against that of the authors' code and "
                "of R packages. On the line they are equal.",
                plots.pairs(points, "theirs", "ours"),
            )
        ]

    def verdicts(self, rows: list[Row], settings: Settings) -> list[Verdict]:
        found = []
        models = self._models(settings)
        for theirs, ours in SAME.items():
            z = [self._compare(rows, key, theirs, level)[2] for key in models for level in LEVELS]
            within = sum(abs(value) <= 2 for value in z)
            why = f" Known difference: {DIFFERENCES[ours]}." if ours in DIFFERENCES else ""
            found.append(
                Verdict(
                    f"{ours} agrees with {theirs}.",
                    within >= 0.8 * len(z),
                    f"{within} of {len(z)} cells within two joint standard errors, largest "
                    f"difference {max(z, key=abs):+.1f}.{why}",
                    ours=True,
                )
            )
        cells = [
            (
                mean(rows, setting=key, method="cqrf", quantile=level, metric="mad").mean,
                anchor(key, AUTHORS, level)["mad"],
                anchor(key, "qrf-oracle", level)["mad"],
            )
            for key in models
            for level in LEVELS
        ]
        below = sum(ours < authors for ours, authors, _ in cells)
        found.append(
            Verdict(
                "The MAD of our default is below that of the authors' crf in every cell.",
                below == len(cells),
                f"It is in {below} of {len(cells)} cells.",
                ours=True,
            )
        )
        average = float(np.mean([ours / oracle for ours, _, oracle in cells]))
        found.append(
            Verdict(
                "The MAD of our default is at most 1.05 of the qrf-oracle's on average.",
                average <= 1.05,
                f"The mean ratio over cells is {average:.3f}.",
                ours=True,
            )
        )
        return found


register(Anchors())
