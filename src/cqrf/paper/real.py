"""Real data with added censoring: quantile losses, node sizes and coverage of intervals."""

from __future__ import annotations

import csv
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import KFold

from cqrf.metrics import interval_coverage, pinball_loss
from cqrf.paper import plots
from cqrf.paper.experiment import LEVELS, Experiment, Picture, Verdict, register
from cqrf.paper.methods import Method, Task, select
from cqrf.paper.settings import Row, Settings
from cqrf.paper.simulations import MODELS, N_TEST, make_task, seeds
from cqrf.paper.tables import Table, beats, distinct, mean, ratio, table

Array = NDArray[np.float64]

METHODS = ("crf", "qrf", "grf", "qrf-oracle", "grf-oracle", "cqrf")
NODE_SIZES = (5, 10, 20, 30)
NODE_SIZE_STUDY = tuple(range(5, 61, 5))
INTERVAL = (0.025, 0.975)


@dataclass(frozen=True)
class DataSet:
    """A table with a response to which censoring is added.

    Attributes
    ----------
    file : str
        Name of the CSV file in the folder given with ``--data``.
    response : str
    rate : float
        Of the exponential censoring times.
    source : str
        Where to get it.
    """

    file: str
    response: str
    rate: float
    source: str
    log: bool = False
    sample: int | None = None

    def load(self, folder: Path) -> tuple[Array, Array]:
        """Read features and response; rows with a missing value are left out."""
        path = folder / self.file
        with path.open(newline="", encoding="utf-8") as file:
            table_ = list(csv.DictReader(file))
        if not table_ or self.response not in table_[0]:
            raise ValueError(f"{path} has no column {self.response!r}")
        columns = [name for name in table_[0] if name != self.response]
        features = np.column_stack([_numbers([row[c] for row in table_]) for c in columns])
        response = _numbers([row[self.response] for row in table_])
        complete = ~(np.isnan(features).any(axis=1) | np.isnan(response))
        response = np.log(response[complete]) if self.log else response[complete]
        return features[complete], response


def _numbers(texts: list[str]) -> Array:
    """Numbers as they are, missing ones NaN; names as codes, in their order."""
    try:
        return np.array([float(t) if t not in ("", "NA") else np.nan for t in texts])
    except ValueError:
        return np.unique(np.array(texts), return_inverse=True)[1].astype(float)


DATA_SETS = {
    "BostonHousing": DataSet(
        "boston_housing.csv", "medv", 0.01, "R package mlbench, data(BostonHousing)"
    ),
    "Ozone": DataSet("ozone.csv", "V4", 0.025, "R package mlbench, data(Ozone)"),
    "Abalone": DataSet(
        "abalone.csv",
        "Rings",
        0.10,
        "UCI Machine Learning Repository, Abalone, with column names",
        log=True,
        sample=1000,
    ),
}


class RealData(Experiment):
    """Shared by the experiments on real data: bootstrap to train, out-of-bag rows to test."""

    def missing_data(self, settings: Settings) -> str | None:
        """Name the files that are not there."""
        if settings.data is None:
            wanted = ", ".join(f"{d.file} ({d.source})" for d in DATA_SETS.values())
            return f"needs --data FOLDER with {wanted}; they are not redistributed here"
        missing = [d for d in DATA_SETS.values() if not (settings.data / d.file).exists()]
        if missing:
            wanted = ", ".join(f"{d.file} ({d.source})" for d in missing)
            return f"{settings.data} lacks {wanted}"
        return None

    def draw(
        self, name: str, replication: int, settings: Settings, levels: Sequence[float]
    ) -> tuple[Task, Array]:
        """Return a bootstrap sample with added censoring, and the true times of the others."""
        assert settings.data is not None
        data = DATA_SETS[name]
        X, T = data.load(settings.data)
        rng = np.random.default_rng([settings.seed, replication, *name.encode()])
        if data.sample is not None and data.sample < len(T):
            kept = rng.choice(len(T), data.sample, replace=False)
            X, T = X[kept], T[kept]
        rows = rng.integers(0, len(T), len(T))
        out = np.setdiff1d(np.arange(len(T)), rows)
        latent = T[rows]
        # A row drawn twice is censored alike: censoring belongs to the observation.
        C = rng.exponential(1.0 / data.rate, len(T))[rows]
        task = Task(
            X=X[rows],
            time=np.minimum(latent, C),
            event=latent <= C,
            latent=latent,
            X_test=X[out],
            quantiles=np.array(levels),
            node_size=None,
            n_trees=settings.trees,
            seed=int(rng.integers(2**31)),
        )
        return task, T[out]


def cross_validated(method: Method, task: Task, sizes: Sequence[int]) -> Task:
    """Choose the node size by five-fold cross-validation of the quantile loss on true times."""
    if not method.wants_node_size:
        return task
    losses = np.zeros(len(sizes))
    for train, test in KFold(5, shuffle=True, random_state=task.seed).split(task.X):
        for k, size in enumerate(sizes):
            fold = replace(
                task,
                X=task.X[train],
                time=task.time[train],
                event=task.event[train],
                latent=task.latent[train],
                X_test=task.X[test],
                node_size=size,
                n_trees=min(task.n_trees, 200),
            )
            losses[k] += pinball_loss(task.latent[test], method.predict(fold), task.quantiles)
    return replace(task, node_size=sizes[int(losses.argmin())])


def _loss_rows(predicted: Array, truth: Array, levels: Sequence[float]) -> list[Row]:
    return [
        {
            "quantile": level,
            "metric": "quantile_loss",
            "value": float(pinball_loss(truth, predicted[:, j], level)),
        }
        for j, level in enumerate(levels)
    ]


class QuantileLosses(RealData):
    """Quantile losses out-of-bag, node sizes cross-validated."""

    name = "real"
    title = "Real data with added censoring"
    section = "Real data"

    def replicate(self, replication: int, settings: Settings) -> list[Row]:
        rows = []
        for name in DATA_SETS:
            base, truth = self.draw(name, replication, settings, LEVELS)
            for method in select(METHODS):
                sizes = (5, 20) if settings.quick else NODE_SIZES
                task = cross_validated(method, base, sizes)
                rows += [
                    {
                        "setting": name,
                        "method": method.name,
                        "node_size": task.node_size,
                        **row,
                    }
                    for row in _loss_rows(method.predict(task), truth, LEVELS)
                ]
            rows.append(
                {
                    "setting": name,
                    "method": "data",
                    "metric": "censored",
                    "value": float(1 - base.event.mean()),
                }
            )
        return rows

    def pictures(self, rows: list[Row], settings: Settings) -> list[Picture]:
        return [
            Picture(
                f"real_{name.lower()}",
                f"{name}: quantile losses on out-of-bag rows over replications.",
                plots.boxes(
                    [row for row in rows if row["setting"] == name],
                    {"quantile_loss": "quantile loss"},
                    LEVELS,
                ),
            )
            for name in DATA_SETS
        ]

    def tables(self, rows: list[Row], settings: Settings) -> list[Table]:
        methods = [name for name in distinct(rows, "method") if name != "data"]
        return [
            table(
                f"{name}: quantile loss, mean (standard error); "
                f"{mean(rows, setting=name, metric='censored').mean:.0%} censored",
                methods,
                LEVELS,
                lambda line, level, name=name: mean(  # type: ignore[misc]
                    rows, setting=name, method=line, quantile=level
                ),
            )
            for name in DATA_SETS
        ]

    def verdicts(self, rows: list[Row], settings: Settings) -> list[Verdict]:
        found = []
        for name in DATA_SETS:
            loss = {
                method: mean(
                    rows,
                    setting=name,
                    method=method,
                    metric="quantile_loss",
                    quantile=(0.1, 0.3, 0.5),
                )
                for method in ("crf", "qrf", "grf", "cqrf")
            }
            ratios = {m: ratio(loss["crf"], loss[m]) for m in ("qrf", "grf")}
            found.append(
                Verdict(
                    f"{name}: crf has smaller quantile losses than qrf and grf, at low levels "
                    "above all.",
                    all(r.mean < 1 for r in ratios.values()),
                    "Loss of crf at levels 0.1 to 0.5 relative to "
                    + ", ".join(f"{m}: {r}" for m, r in ratios.items())
                    + ".",
                )
            )
            value = ratio(loss["cqrf"], loss["crf"])
            found.append(
                Verdict(
                    f"{name}: our default is no worse than the paper's rule.",
                    value.mean <= 1.0,
                    f"Loss of cqrf at levels 0.1 to 0.5 relative to crf: {value}.",
                    ours=True,
                )
            )
        return found


register(QuantileLosses())


class RealNodeSizes(RealData):
    """Quantile losses and coverage of 95% intervals against the node size."""

    name = "real_node_size"
    title = "Real data: node sizes and prediction intervals"
    section = "Real data, node size; prediction intervals"
    levels = (0.3, 0.5, 0.7)

    def replications(self, settings: Settings) -> int:
        """Half as many, as in the paper."""
        return max(1, settings.reps // 2)

    def replicate(self, replication: int, settings: Settings) -> list[Row]:
        rows = []
        levels = (*self.levels, *INTERVAL)
        for name in DATA_SETS:
            base, truth = self.draw(name, replication, settings, levels)
            for method in select(METHODS):
                for size in (5, 20, 60) if settings.quick else NODE_SIZE_STUDY:
                    predicted = method.predict(replace(base, node_size=size))
                    at = {"setting": name, "method": method.name, "node_size": size}
                    rows += [{**at, **r} for r in _loss_rows(predicted, truth, self.levels)]
                    low, high = predicted[:, -2], predicted[:, -1]
                    rows.append(
                        {
                            **at,
                            "metric": "coverage",
                            "value": float(interval_coverage(truth, low, high)),
                        }
                    )
                    rows.append({**at, "metric": "width", "value": float(np.mean(high - low))})
        return rows

    def pictures(self, rows: list[Row], settings: Settings) -> list[Picture]:
        losses = [
            Picture(
                f"real_node_size_{name.lower()}",
                f"{name}: quantile loss against the node size.",
                plots.lines(
                    [
                        row
                        for row in rows
                        if row["setting"] == name and row["metric"] == "quantile_loss"
                    ],
                    "node_size",
                    "node size",
                    "quantile loss",
                    self.levels,
                ),
            )
            for name in DATA_SETS
        ]
        return [
            *losses,
            Picture(
                "coverage",
                "Coverage of 95% prediction intervals on out-of-bag rows against the node size.",
                plots.against_node_size(rows, list(DATA_SETS), "coverage", "coverage", 0.95),
            ),
        ]

    def tables(self, rows: list[Row], settings: Settings) -> list[Table]:
        sizes = distinct(rows, "node_size")
        return [
            table(
                f"{name}: {label}, mean (standard error), by node size",
                distinct(rows, "method"),
                sizes,
                lambda line, size, name=name, metric=metric: mean(  # type: ignore[misc]
                    rows, setting=name, method=line, node_size=size, metric=metric
                ),
            )
            for name in DATA_SETS
            for metric, label in (
                ("quantile_loss", "quantile loss over three levels"),
                ("coverage", "coverage of 95% intervals"),
            )
        ]

    def verdicts(self, rows: list[Row], settings: Settings) -> list[Verdict]:
        found = []
        sizes = distinct(rows, "node_size")
        for name in DATA_SETS:
            at = {"setting": name, "metric": "quantile_loss"}
            wins = sum(beats(rows, "crf", ("qrf", "grf"), sizes, **at))
            found.append(
                Verdict(
                    f"{name}: crf is better than qrf and grf at every node size.",
                    wins == len(sizes),
                    f"It is at {wins} of {len(sizes)} sizes.",
                )
            )
            oracle = sum(beats(rows, "crf", ("grf-oracle",), sizes, **at))
            found.append(
                Verdict(
                    f"{name}: crf is always better than grf-oracle.",
                    oracle == len(sizes),
                    f"It is at {oracle} of {len(sizes)} sizes.",
                )
            )
            lowest = min(
                mean(rows, setting=name, method="crf", node_size=s, metric="coverage").mean
                for s in sizes
            )
            found.append(
                Verdict(
                    f"{name}: coverage of the 95% intervals of crf is never below 95%.",
                    lowest >= 0.95,
                    f"The lowest mean coverage over node sizes is {lowest:.3f}.",
                )
            )
        return found


register(RealNodeSizes())


class SineIntervals(Experiment):
    """95% prediction intervals for the sine model."""

    name = "intervals"
    title = "Prediction intervals for the sine model"
    section = "Prediction intervals"
    methods = ("cqrf", "crf", "qrf", "grf", "qrf-oracle")

    def _intervals(
        self, replication: int, settings: Settings, visit: Callable[[str, object, Array], None]
    ) -> None:
        model = MODELS["sine_1d"]
        train_seed, _, test_seed, seed = seeds("intervals", replication, settings)
        test = model.draw(N_TEST, test_seed)
        base = make_task(model, model.draw(model.n, train_seed), test.X, settings, seed)
        for method in select(self.methods):
            size = 30 if method.wants_node_size else None
            task = replace(base, quantiles=np.array(INTERVAL), node_size=size)
            visit(method.name, test, method.predict(task))

    def replicate(self, replication: int, settings: Settings) -> list[Row]:
        rows: list[Row] = []

        def visit(name: str, test: object, predicted: Array) -> None:
            low, high = predicted.T
            inside = interval_coverage(test.latent, low, high)  # type: ignore[attr-defined]
            rows.append({"method": name, "metric": "coverage", "value": float(inside)})
            rows.append({"method": name, "metric": "width", "value": float((high - low).mean())})

        self._intervals(replication, settings, visit)
        return rows

    def pictures(self, rows: list[Row], settings: Settings) -> list[Picture]:
        examples: dict[str, tuple[object, Array, Array]] = {}

        def visit(name: str, test: object, predicted: Array) -> None:
            if name in ("cqrf", "crf", "grf", "qrf-oracle"):
                examples[name] = (test, predicted[:, 0], predicted[:, 1])

        self._intervals(0, settings, visit)
        return [
            Picture(
                "intervals_sine",
                "Sine model: 95% prediction intervals of one training set, and true times of 300 "
                "test points; crosses lie outside.",
                plots.intervals(examples, 0.95),
            )
        ]

    def tables(self, rows: list[Row], settings: Settings) -> list[Table]:
        return [
            table(
                "Mean (standard error) over replications; nominal coverage 0.95",
                distinct(rows, "method"),
                ["coverage", "width"],
                lambda line, metric: mean(rows, method=line, metric=metric),
            )
        ]

    def verdicts(self, rows: list[Row], settings: Settings) -> list[Verdict]:
        off = {
            name: abs(mean(rows, method=name, metric="coverage").mean - 0.95)
            for name in distinct(rows, "method")
        }
        width = {name: mean(rows, method=name, metric="width").mean for name in off}
        return [
            Verdict(
                "Intervals of qrf and grf are too wide, because low quantiles are underestimated.",
                width["qrf"] > width["qrf-oracle"] and width["grf"] > width["qrf-oracle"],
                "Mean width: "
                + ", ".join(f"{name} {value:.2f}" for name, value in width.items())
                + ".",
            ),
            Verdict(
                "The intervals of crf come close to 95% coverage.",
                off["crf"] <= 0.03,
                f"Its mean coverage is off by {off['crf']:.3f} (at most 0.03 asked), that of our "
                f"default by {off['cqrf']:.3f}.",
            ),
        ]


register(SineIntervals())
