"""``cqrf bench``."""

from __future__ import annotations

import os
import tempfile
from time import perf_counter

import click

from cqrf.app.cli.options import NumberList, common, jobs, note, print_json


@click.command("bench")
@click.option(
    "--rows", type=NumberList(), default="1000,10000", show_default=True, help="Sizes to measure."
)
@click.option("--features", type=click.IntRange(1), default=10, show_default=True)
@click.option("--trees", type=click.IntRange(1), default=100, show_default=True)
@click.option("--seed", type=click.IntRange(0, 2**32 - 1), default=0, show_default=True)
@jobs
@common
def command(
    rows: tuple[float, ...],
    features: int,
    trees: int,
    seed: int,
    jobs: int,
    as_json: bool,
    quiet: bool,
) -> None:
    """Measure how fast this machine fits, predicts, stores and loads forests.

    The data are simulated, a third of the times censored. Comparisons with other packages are made
    by make bench, in the source tree.
    """
    measured = []
    for size in rows:
        if size != int(size) or size < 1:
            raise click.BadParameter(f"{size:g} is not a number of rows", param_hint="--rows")
        note(f"{int(size):,} rows", quiet)
        measured.append(measure(int(size), features, trees, seed, jobs))
    if as_json:
        print_json({"features": features, "trees": trees, "jobs": jobs, "sizes": measured})
        return
    names = ("fit", "predict", "save", "load")
    click.echo(f"{features} features, {trees} trees; seconds, and predictions of 3 quantiles\n")
    click.echo(f"{'rows':>10}" + "".join(f"{name:>10}" for name in names) + f"{'rows/s':>12}")
    for line in measured:
        cells = "".join(f"{line[name]:>10.3f}" for name in names)
        click.echo(f"{line['rows']:>10,}{cells}{line['predictions_per_second']:>12,.0f}")


def measure(rows: int, features: int, trees: int, seed: int, jobs: int) -> dict[str, float]:
    """Time every step once on simulated data."""
    import numpy as np

    from cqrf.forest import CensoredQuantileForest

    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, features))
    latent = np.exp(X[:, 0] + 0.5 * rng.normal(size=rows))
    limit = rng.exponential(3.0 * np.median(latent), rows)
    forest = CensoredQuantileForest(trees, random_state=seed, n_jobs=jobs)
    seconds: dict[str, float] = {}

    def clock(name: str, start: float) -> float:
        seconds[name] = perf_counter() - start
        return perf_counter()

    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.cqrf")
        start = perf_counter()
        forest.fit(X, np.minimum(latent, limit), latent <= limit)
        start = clock("fit", start)
        forest.predict(X, quantiles=[0.1, 0.5, 0.9])
        start = clock("predict", start)
        forest.save(path)
        start = clock("save", start)
        CensoredQuantileForest.load(path)
        clock("load", start)
    return {"rows": rows, **seconds, "predictions_per_second": rows / seconds["predict"]}
