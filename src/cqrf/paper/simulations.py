"""Simulated models: box plots of four metrics, curves in one dimension, node sizes, growing n."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cqrf.datasets import (
    make_aft,
    make_heteroscedastic,
    make_manifold,
    make_sine,
)
from cqrf.metrics import concordance_index, pinball_loss
from cqrf.paper import plots
from cqrf.paper.experiment import LEVELS, Experiment, Picture, Verdict, register
from cqrf.paper.methods import METHODS, Method, Task, select
from cqrf.paper.settings import Row, Settings
from cqrf.paper.tables import Table, beats, distinct, mean, ratio, table

Array = NDArray[np.float64]

# What the paper chooses node sizes from, and what it plots.
NODE_SIZES = (3, 5, 10, 20, 30, 50)
NODE_SIZE_STUDY = tuple(range(5, 61, 5))
PAPER_METHODS = ("crf", "qrf", "grf", "rsf", "qrf-oracle", "grf-oracle", "cqrf")
ALL_METHODS = tuple(METHODS)
METRICS = {
    "mad": "MAD",
    "mse": "MSE",
    "quantile_loss": "quantile loss",
    "c_index": "C-index",
}


@dataclass(frozen=True)
class Model:
    """A data model: simulator, its arguments, rows to train on and direction of censoring.

    Left-censored models are the mirrored ones: log-times or times are negated, and quantiles of
    level tau become those of level 1 - tau.
    """

    title: str
    make: Callable[..., Any]
    n: int
    arguments: tuple[tuple[str, Any], ...] = ()
    censoring: str = "right"

    def draw(self, n: int, seed: int) -> Any:
        """Draw rows; a Bunch with ``X``, ``time``, ``event``, ``latent`` and ``quantile``."""
        data = self.make(n, random_state=seed, **dict(self.arguments))
        if self.censoring == "left":
            forward = data.quantile
            data.time, data.latent = -data.time, -data.latent
            data.quantile = lambda X, levels: -forward(X, 1.0 - np.asarray(levels))
        return data


MODELS = {
    "aft_1d": Model("One-dimensional AFT", make_aft, 300),
    "sine_1d": Model("One-dimensional sine", make_sine, 300),
    "aft_5d": Model("Five-dimensional AFT", make_aft, 500, (("n_features", 5),)),
    "manifold_5d": Model("Five-dimensional complex manifold", make_manifold, 500),
    "aft_1d_half": Model("One-dimensional AFT, half censored", make_aft, 300, (("rate", 0.25),)),
    "aft_5d_dependent": Model(
        "Five-dimensional AFT, censoring depends on X",
        make_aft,
        500,
        (("n_features", 5), ("dependent_censoring", True)),
    ),
    "heteroscedastic": Model("Heteroscedastic errors, 40 dimensions", make_heteroscedastic, 1000),
    "aft_1d_left": Model("One-dimensional AFT, left-censored", make_aft, 300, (), "left"),
    "aft_5d_left": Model(
        "Five-dimensional AFT, left-censored", make_aft, 500, (("n_features", 5),), "left"
    ),
}
PAPER_MODELS = ("aft_1d", "sine_1d", "aft_5d", "manifold_5d")
N_TEST = 300


def seeds(name: str, replication: int, settings: Settings) -> tuple[int, int, int, int]:
    """Seeds of training, validation and test data and of the forests, all different."""
    key = [settings.seed, replication, *name.encode()]
    state = np.random.SeedSequence(key).generate_state(4)
    return tuple(int(word) for word in state)  # type: ignore[return-value]


def make_task(model: Model, data: Any, X_test: Array, settings: Settings, seed: int) -> Task:
    """Hand training data and test points to a method."""
    return Task(
        X=data.X,
        time=data.time,
        event=data.event,
        latent=data.latent,
        X_test=X_test,
        quantiles=np.array(LEVELS),
        node_size=None,
        n_trees=settings.trees,
        seed=seed % 2**31,
        censoring=model.censoring,
    )


def tuned(method: Method, task: Task, validation: Any, sizes: Sequence[int]) -> Task:
    """Choose the node size of smallest quantile loss on validation data, over all levels.

    Validation times are true times, as in the paper's simulations.
    """
    if not method.wants_node_size:
        return task
    losses = []
    for size in sizes:
        trial = replace(task, node_size=size, X_test=validation.X)
        loss = pinball_loss(validation.latent, method.predict(trial), task.quantiles)
        losses.append(float(loss))
    return replace(task, node_size=sizes[int(np.argmin(losses))])


def metric_rows(predicted: Array, test: Any, levels: Sequence[float]) -> list[Row]:
    """MAD, MSE, quantile loss and C-index of every level, on true times."""
    truth = test.quantile(test.X, np.array(levels))
    rows = []
    for j, level in enumerate(levels):
        difference = predicted[:, j] - truth[:, j]
        values = {
            "mad": np.abs(difference).mean(),
            "mse": np.square(difference).mean(),
            "quantile_loss": pinball_loss(test.latent, predicted[:, j], level),
            "c_index": concordance_index(test.latent, predicted[:, j]),
        }
        rows += [
            {"quantile": level, "metric": metric, "value": float(value)}
            for metric, value in values.items()
        ]
    return rows


class Comparison(Experiment):
    """Box plots of all metrics and levels; in one dimension also data and curves."""

    def __init__(
        self,
        name: str,
        section: str,
        methods: Sequence[str],
        claims: Callable[[list[Row]], list[Verdict]],
    ) -> None:
        self.name = name
        self.model = MODELS[name]
        self.title = self.model.title
        self.section = section
        self.methods = methods
        self._claims = claims

    def _methods(self, settings: Settings) -> list[Method]:
        names = PAPER_METHODS if settings.quick else self.methods
        return [m for m in select(names) if self.model.censoring in m.censoring]

    def replicate(self, replication: int, settings: Settings) -> list[Row]:
        train_seed, validation_seed, test_seed, seed = seeds(self.name, replication, settings)
        train = self.model.draw(self.model.n, train_seed)
        validation = self.model.draw(N_TEST, validation_seed)
        test = self.model.draw(N_TEST, test_seed)
        base = make_task(self.model, train, test.X, settings, seed)
        rows = []
        for method in self._methods(settings):
            sizes = (10, 30) if settings.quick else NODE_SIZES
            task = tuned(method, base, validation, sizes)
            for row in metric_rows(method.predict(task), test, LEVELS):
                rows.append({"method": method.name, "node_size": task.node_size, **row})
        censored = 1.0 - train.event.mean()
        rows.append({"method": "data", "metric": "censored", "value": float(censored)})
        return rows

    def pictures(self, rows: list[Row], settings: Settings) -> list[Picture]:
        boxes = plots.boxes(rows, METRICS, LEVELS)
        found = [
            Picture(
                f"{self.name}_boxes",
                f"{self.title}: four metrics at five levels over replications. MAD, MSE and "
                "quantile loss: smaller is better. C-index: larger is better. Where MAD and "
                "MSE vary widely their axis is logarithmic.",
                boxes,
            )
        ]
        if self.model.draw(2, 0).X.shape[1] == 1:
            found.insert(0, self._curves(settings))
        return found

    def _curves(self, settings: Settings) -> Picture:
        train_seed, validation_seed, _, seed = seeds(self.name, 0, settings)
        train = self.model.draw(self.model.n, train_seed)
        validation = self.model.draw(N_TEST, validation_seed)
        grid = np.linspace(train.X.min(), train.X.max(), 200)[:, None]
        base = make_task(self.model, train, grid, settings, seed)
        curves = {
            method.name: method.predict(tuned(method, base, validation, NODE_SIZES))
            for method in select(("crf", "grf", "grf-oracle", "cqrf"))
        }
        levels = (0.3, 0.5, 0.7)
        at = [LEVELS.index(level) for level in levels]
        truth = train.quantile(grid, np.array(levels))
        return Picture(
            f"{self.name}_curves",
            f"{self.title}: one training set, and predicted quantiles beside the true ones. Hollow "
            "circles: where the censored times would have been.",
            plots.curves(
                train, grid[:, 0], truth, {k: v[:, at] for k, v in curves.items()}, levels
            ),
        )

    def tables(self, rows: list[Row], settings: Settings) -> list[Table]:
        methods = [name for name in distinct(rows, "method") if name != "data"]
        return [
            table(
                f"{METRICS[metric]}: mean (standard error) over replications",
                methods,
                LEVELS,
                lambda line, column, metric=metric: mean(  # type: ignore[misc]
                    rows, method=line, quantile=column, metric=metric
                ),
                [f"{level:g}" for level in LEVELS],
            )
            for metric in METRICS
        ]

    def verdicts(self, rows: list[Row], settings: Settings) -> list[Verdict]:
        return self._claims(rows)


def better(
    rows: list[Row], claim: str, one: str, others: Sequence[str], metric: str = "mad", **more: Any
) -> Verdict:
    """Whether `one` has the smaller mean, over all levels, than each of the others."""
    found = []
    for other in others:
        try:
            a = mean(rows, method=one, metric=metric)
            b = mean(rows, method=other, metric=metric)
        except KeyError:
            continue
        found.append((other, ratio(a, b)))
    evidence = f"{METRICS[metric]} of {one} relative to " + ", ".join(
        f"{other}: {value}" for other, value in found
    )
    return Verdict(claim, all(value.mean < 1 for _, value in found), evidence + ".", **more)


def near(
    rows: list[Row], claim: str, one: str, other: str, most: float, metric: str = "mad", **more: Any
) -> Verdict:
    """Whether `one` is at most `most` times `other`, in the mean over all levels."""
    value = ratio(mean(rows, method=one, metric=metric), mean(rows, method=other, metric=metric))
    evidence = f"{METRICS[metric]} of {one} relative to {other}: {value} (at most {most:g} asked)."
    return Verdict(claim, value.mean <= most, evidence, **more)


def _claims_of_the_paper(rows: list[Row]) -> list[Verdict]:
    found = [
        better(
            rows,
            "crf estimates quantiles better than forests that ignore censoring.",
            "crf",
            ("qrf", "grf"),
        ),
        near(
            rows,
            "crf comes close to the oracles that see the true times.",
            "crf",
            "grf-oracle",
            1.25,
        ),
    ]
    c_index = [mean(rows, method=name, metric="c_index") for name in ("crf", "rsf")]
    found.append(
        Verdict(
            "crf ranks at least as well as a random survival forest (C-index).",
            c_index[0].mean >= c_index[1].mean,
            f"C-index of crf {c_index[0]}, of rsf {c_index[1]}.",
        )
    )
    return found + _claims_of_ours(rows)


def _claims_of_ours(rows: list[Row]) -> list[Verdict]:
    return [
        better(
            rows,
            "Our default is better than the paper's rule and than log-rank forests.",
            "cqrf",
            ("crf", "rsf", "rsf-sksurv"),
            ours=True,
        ),
        near(
            rows,
            "Our default is as good as a quantile forest that sees the true times.",
            "cqrf",
            "qrf-oracle",
            1.05,
            ours=True,
        ),
    ]


def _claims_left(rows: list[Row]) -> list[Verdict]:
    return [
        better(
            rows,
            "Under left censoring, too, our default is better than forests that ignore it.",
            "cqrf",
            ("qrf", "grf", "crf"),
            ours=True,
        )
    ]


register(Comparison("aft_1d", "One-dimensional AFT model", ALL_METHODS, _claims_of_the_paper))
register(Comparison("sine_1d", "One-dimensional sine model", ALL_METHODS, _claims_of_the_paper))
register(Comparison("aft_5d", "Multi-dimensional AFT model", ALL_METHODS, _claims_of_the_paper))
register(Comparison("manifold_5d", "Multi-dimensional manifold", ALL_METHODS, _claims_of_the_paper))
for _name in ("aft_1d_half", "aft_5d_dependent", "heteroscedastic"):
    register(Comparison(_name, "beyond the paper", ALL_METHODS, _claims_of_ours))
for _name in ("aft_1d_left", "aft_5d_left"):
    register(Comparison(_name, "beyond the paper", ALL_METHODS, _claims_left))


class NodeSizes(Experiment):
    """All metrics against the node size, on the paper's four models."""

    name = "node_size"
    title = "Node size"
    section = "Node size"

    def replicate(self, replication: int, settings: Settings) -> list[Row]:
        rows = []
        names = ("crf", "qrf", "grf", "rsf", "cqrf") if settings.quick else PAPER_METHODS
        for key in PAPER_MODELS:
            model = MODELS[key]
            train_seed, _, test_seed, seed = seeds(key, replication, settings)
            train, test = model.draw(model.n, train_seed), model.draw(N_TEST, test_seed)
            base = make_task(model, train, test.X, settings, seed)
            for method in select(names):
                for size in (5, 20, 60) if settings.quick else NODE_SIZE_STUDY:
                    predicted = method.predict(replace(base, node_size=size))
                    rows += [
                        {"setting": key, "method": method.name, "node_size": size, **row}
                        for row in metric_rows(predicted, test, LEVELS)
                        if row["metric"] != "c_index"
                    ]
        return rows

    def pictures(self, rows: list[Row], settings: Settings) -> list[Picture]:
        return [
            Picture(
                f"node_size_{key}",
                f"{MODELS[key].title}: MAD against the node size, mean over replications with "
                "standard errors.",
                plots.lines(
                    [row for row in rows if row["setting"] == key and row["metric"] == "mad"],
                    "node_size",
                    "node size",
                    "MAD",
                    LEVELS,
                ),
            )
            for key in PAPER_MODELS
        ]

    def tables(self, rows: list[Row], settings: Settings) -> list[Table]:
        sizes = distinct(rows, "node_size")
        return [
            table(
                f"{MODELS[key].title}: MAD by node size, mean over levels (standard error)",
                distinct(rows, "method"),
                sizes,
                lambda line, size, key=key: mean(  # type: ignore[misc]
                    rows, setting=key, method=line, node_size=size, metric="mad"
                ),
            )
            for key in PAPER_MODELS
        ]

    def verdicts(self, rows: list[Row], settings: Settings) -> list[Verdict]:
        found = []
        for key in PAPER_MODELS:
            sizes = distinct(rows, "node_size")
            wins = sum(beats(rows, "crf", ("qrf", "grf"), sizes, setting=key, metric="mad"))
            found.append(
                Verdict(
                    f"{MODELS[key].title}: crf is better than qrf and grf at every node size.",
                    wins == len(sizes),
                    f"It is at {wins} of {len(sizes)} sizes (MAD, mean over levels).",
                )
            )
        return found


register(NodeSizes())


class Convergence(Experiment):
    """The error falls as n grows."""

    name = "convergence"
    title = "Convergence as n grows"
    section = "beyond the paper"
    methods = ("cqrf", "crf", "qrf", "qrf-oracle")

    def _sizes(self, settings: Settings) -> tuple[int, ...]:
        return (300, 1200) if settings.quick else (300, 1000, 3000, 10_000, 30_000)

    def replications(self, settings: Settings) -> int:
        """Ten are enough: the error of a large sample varies little."""
        return min(settings.reps, 10)

    def replicate(self, replication: int, settings: Settings) -> list[Row]:
        rows = []
        for key in ("aft_1d", "aft_5d"):
            model = MODELS[key]
            train_seed, validation_seed, test_seed, seed = seeds(key, replication, settings)
            test = model.draw(N_TEST, test_seed)
            validation = model.draw(N_TEST, validation_seed)
            for n in self._sizes(settings):
                base = make_task(model, model.draw(n, train_seed), test.X, settings, seed)
                base = replace(base, n_trees=min(settings.trees, 300))
                sizes = [max(3, round(n**0.5 * f)) for f in (0.3, 1.0, 3.0)]
                for method in select(self.methods):
                    task = tuned(method, base, validation, sizes)
                    rows += [
                        {
                            "setting": f"{key}, n = {n}",
                            "method": method.name,
                            "node_size": task.node_size,
                            **row,
                        }
                        for row in metric_rows(method.predict(task), test, LEVELS)
                        if row["metric"] == "mad"
                    ]
        return rows

    def pictures(self, rows: list[Row], settings: Settings) -> list[Picture]:
        return [
            Picture(
                "convergence",
                "MAD against the number of training rows (both axes logarithmic), mean over levels "
                "and replications with standard errors.",
                plots.convergence(rows, ("aft_1d", "aft_5d"), self._sizes(settings), self.methods),
            )
        ]

    def tables(self, rows: list[Row], settings: Settings) -> list[Table]:
        return [
            table(
                f"{MODELS[key].title}: MAD by n, mean over levels (standard error)",
                self.methods,
                self._sizes(settings),
                lambda line, n, key=key: mean(  # type: ignore[misc]
                    rows, setting=f"{key}, n = {n}", method=line
                ),
                [f"n = {n:,}" for n in self._sizes(settings)],
            )
            for key in ("aft_1d", "aft_5d")
        ]

    def verdicts(self, rows: list[Row], settings: Settings) -> list[Verdict]:
        first, last = self._sizes(settings)[0], self._sizes(settings)[-1]
        found = []
        for key in ("aft_1d", "aft_5d"):
            values = {
                name: [
                    mean(rows, setting=f"{key}, n = {n}", method=name).mean for n in (first, last)
                ]
                for name in ("cqrf", "qrf")
            }
            rate = -np.log(values["cqrf"][1] / values["cqrf"][0]) / np.log(last / first)
            found.append(
                Verdict(
                    f"{MODELS[key].title}: the error of our default falls to zero as n grows; "
                    "that of a forest which ignores censoring does not.",
                    bool(rate > 0.15 and values["qrf"][1] > 2 * values["cqrf"][1])
                    if not settings.quick
                    else bool(rate > 0),
                    f"From n = {first:,} to {last:,} cqrf falls from {values['cqrf'][0]:.3g} to "
                    f"{values['cqrf'][1]:.3g} (about n^-{rate:.2f}), qrf from "
                    f"{values['qrf'][0]:.3g} to {values['qrf'][1]:.3g}.",
                    ours=True,
                )
            )
        return found


register(Convergence())
