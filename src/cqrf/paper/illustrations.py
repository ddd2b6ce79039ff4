"""Experiments about curves: the estimating equations, and the estimators of G."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from cqrf.data.outcome import Target, marginal_curves
from cqrf.forest import CensoredQuantileForest
from cqrf.paper import plots
from cqrf.paper.experiment import Experiment, Picture, Verdict, register
from cqrf.paper.settings import Row, Settings
from cqrf.paper.simulations import MODELS
from cqrf.paper.tables import Table, mean, table
from cqrf.solving.curves import StepFunction
from cqrf.solving.solve import solve_quantiles

Array = NDArray[np.float64]


class EstimatingEquations(Experiment):
    """U1 on true times and U2 on censored ones: T ~ Unif(0, 1), C ~ N(0.8, 0.2^2)."""

    name = "equations"
    title = "Estimating equations"
    section = "Illustrative example"
    sizes = (100, 500, 1000, 5000)
    level = 0.5

    def _draw(self, n: int, replication: int, settings: Settings) -> tuple[Array, Array]:
        rng = np.random.default_rng([settings.seed, replication, n])
        return rng.uniform(size=n), rng.normal(0.8, 0.2, n)

    def _roots(self, T: Array, C: Array) -> tuple[float, float]:
        """First roots of U1 and of U2: quantiles with equal weights."""
        ones = np.ones((1, len(T)))
        first = solve_quantiles(ones, T, np.ones(len(T), bool), [self.level], interpolation="lower")
        second = solve_quantiles(
            ones, np.minimum(T, C), T <= C, [self.level], interpolation="lower"
        )
        return float(first[0, 0]), float(second[0, 0])

    def replicate(self, replication: int, settings: Settings) -> list[Row]:
        rows = []
        for n in self.sizes:
            roots = self._roots(*self._draw(n, replication, settings))
            values = {
                "root of U1": roots[0],
                "root of U2": roots[1],
                "distance of the roots": abs(roots[0] - roots[1]),
                "error of the root of U2": abs(roots[1] - self.level),
            }
            rows += [
                {"setting": f"n = {n}", "method": "equations", "metric": key, "value": value}
                for key, value in values.items()
            ]
        return rows

    def pictures(self, rows: list[Row], settings: Settings) -> list[Picture]:
        examples = []
        for n in self.sizes:
            T, C = self._draw(n, 0, settings)
            Y, event = np.minimum(T, C), T <= C
            q = np.linspace(0.0, 1.0, 501)
            target = Target.from_outcome(Y, event)
            G = StepFunction(target.times, marginal_curves(target)[1])
            u1 = (1 - self.level) - (T[:, None] > q).mean(axis=0)
            u2 = (1 - self.level) * G(q) - (Y[:, None] > q).mean(axis=0)
            examples.append((n, q, u1, u2, *self._roots(T, C)))
        return [
            Picture(
                "equations",
                "The estimating equation of the true times, U1, and of the censored ones, U2, at "
                "level 0.5, with their roots.",
                plots.equations(examples, self.level),
            )
        ]

    def tables(self, rows: list[Row], settings: Settings) -> list[Table]:
        settings_ = [f"n = {n}" for n in self.sizes]
        return [
            table(
                "Roots: mean (standard error) over replications; the true quantile is 0.5",
                ["root of U1", "root of U2", "distance of the roots", "error of the root of U2"],
                settings_,
                lambda line, column: mean(rows, setting=column, metric=line),
            )
        ]

    def verdicts(self, rows: list[Row], settings: Settings) -> list[Verdict]:
        gaps = [mean(rows, setting=f"n = {n}", metric="distance of the roots") for n in self.sizes]
        falls = all(a.mean > b.mean for a, b in pairwise(gaps))
        last = gaps[-1].mean < gaps[0].mean / 2
        return [
            Verdict(
                "The root on censored data approaches the root on true data as n grows.",
                falls if not settings.quick else last,
                "Mean distance of the roots: "
                + ", ".join(
                    f"{gap.mean:.4f} (n = {n})" for n, gap in zip(self.sizes, gaps, strict=True)
                )
                + ".",
            )
        ]


register(EstimatingEquations())


class CensoringCurves(Experiment):
    """Nearest neighbours against Beran against the true survival function of C."""

    name = "censoring_curves"
    title = "Estimators of the censoring curve"
    section = "Comparison of different conditional survival estimators"
    points = (0.4, 0.8, 1.2, 1.6)
    rates = (0.08, 0.20)

    def _sizes(self, settings: Settings) -> tuple[int, ...]:
        return (300, 1000) if settings.quick else (300, 2000, 5000)

    def replications(self, settings: Settings) -> int:
        """Curves of 5,000 rows take a while, and vary little."""
        return min(settings.reps, 20)

    def _curves(
        self, n: int, rate: float, replication: int, settings: Settings
    ) -> tuple[Array, dict[str, Array]]:
        """Grid of times, and {name: G (points, times)}."""
        model = MODELS["aft_1d"]
        data = model.make(n, rate=rate, random_state=settings.seed * 1000 + replication)
        grid = np.linspace(0.0, 12.0, 121)
        x = np.array(self.points)[:, None]
        found = {"truth": np.broadcast_to(np.exp(-rate * grid), (len(x), len(grid)))}
        for name, curve in (("Beran", "beran"), ("nearest neighbours", "knn")):
            forest = CensoredQuantileForest(
                min(settings.trees, 300),
                criterion="mse",
                bootstrap=True,
                min_samples_leaf=max(1, n // 10),
                censoring_curve=curve,
                n_neighbors=n // 10,
                random_state=replication,
            ).fit(data.X, data.time, data.event)
            # As functions: where a sample has no later times, the curve is meant to be carried on.
            found[name] = np.stack([g(grid) for g in forest.predict_censoring_function(x)])
        return grid, found

    def replicate(self, replication: int, settings: Settings) -> list[Row]:
        rows = []
        for rate in self.rates:
            for n in self._sizes(settings):
                grid, found = self._curves(n, rate, replication, settings)
                for name in ("Beran", "nearest neighbours"):
                    for x, curve, truth in zip(
                        self.points, found[name], found["truth"], strict=True
                    ):
                        # Where something can be seen: up to the 90% quantile of T given x.
                        seen = grid <= np.exp(x + 0.3 * 1.2816)
                        rows.append(
                            {
                                "setting": f"rate {rate:g}, n = {n}, x = {x:g}",
                                "method": name,
                                "metric": "mean absolute error of G",
                                "value": float(np.abs(curve - truth)[seen].mean()),
                            }
                        )
        return rows

    def pictures(self, rows: list[Row], settings: Settings) -> list[Picture]:
        found = []
        sizes = self._sizes(settings)
        for rate in self.rates:
            panels = {}
            for n in sizes:
                grid, curves = self._curves(n, rate, 0, settings)
                for i, x in enumerate(self.points):
                    panels[f"n = {n:,}", f"x = {x:g}"] = {
                        name: (grid, values[i]) for name, values in curves.items()
                    }
            found.append(
                Picture(
                    f"censoring_curves_{rate:g}".replace(".", ""),
                    f"Survival function of C given x, censoring rate {rate:g}: both estimators and "
                    "the truth, at four test points and growing n.",
                    plots.survival_grid(
                        panels,
                        [f"n = {n:,}" for n in sizes],
                        [f"x = {x:g}" for x in self.points],
                    ),
                )
            )
        return found

    def tables(self, rows: list[Row], settings: Settings) -> list[Table]:
        return [
            table(
                f"Mean absolute error of G up to the 90% quantile of T, rate {rate:g}",
                ["Beran", "nearest neighbours"],
                [(n, x) for n in self._sizes(settings) for x in self.points],
                lambda line, at, rate=rate: mean(  # type: ignore[misc]
                    rows, method=line, setting=f"rate {rate:g}, n = {at[0]}, x = {at[1]:g}"
                ),
                [f"n = {n}, x = {x:g}" for n in self._sizes(settings) for x in self.points],
            )
            for rate in self.rates
        ]

    def verdicts(self, rows: list[Row], settings: Settings) -> list[Verdict]:
        sizes = self._sizes(settings)

        def error(name: str, n: int) -> float:
            names = [f"rate {r:g}, n = {n}, x = {x:g}" for r in self.rates for x in self.points]
            return mean(rows, method=name, setting=names).mean

        found = {name: [error(name, n) for n in sizes] for name in ("Beran", "nearest neighbours")}
        text = "; ".join(
            f"{name}: "
            + ", ".join(f"{e:.3f} (n = {n:,})" for n, e in zip(sizes, errors, strict=True))
            for name, errors in found.items()
        )
        return [
            Verdict(
                "Both estimators approach the true curve as n grows.",
                all(errors[-1] < errors[0] for errors in found.values()),
                f"Mean absolute error of G: {text}.",
            )
        ]


register(CensoringCurves())
