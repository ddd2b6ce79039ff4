"""Run experiments: store every replication as it ends, then make the report."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from joblib import Parallel, delayed

from cqrf.paper.experiment import EXPERIMENTS, Experiment
from cqrf.paper.page import Section, save_pictures, write_page
from cqrf.paper.settings import Settings, Store, write_csv
from cqrf.support.progress import ProgressBar


def run(
    experiments: Sequence[Experiment],
    settings: Settings,
    folder: Path,
    *,
    n_jobs: int = -1,
    verbose: bool = True,
) -> list[Section]:
    """Run what is missing, then write CSV files, figures and ``index.html`` to the folder.

    Parameters
    ----------
    experiments : sequence of Experiment
    settings : Settings
    folder : Path
        Where results are stored and found again.
    n_jobs : int, default=-1
        Processes; a replication runs in one of them. The results do not depend on it.
    verbose : bool, default=True
        Whether to show progress on standard error.

    Returns
    -------
    list of Section
        What the page shows.
    """
    folder.mkdir(parents=True, exist_ok=True)
    store = Store(folder, settings)
    for experiment in experiments:
        total = experiment.replications(settings)
        waiting = store.missing(experiment.name, total)
        with (
            ProgressBar(total, experiment.name, enabled=verbose) as bar,
            Parallel(n_jobs=n_jobs, return_as="generator_unordered") as parallel,
        ):
            bar.update(total - len(waiting))
            work = (delayed(_replicate)(experiment.name, r, store) for r in waiting)
            for done, _ in enumerate(parallel(work), total - len(waiting) + 1):
                bar.update(done)
    sections = [_report(experiment, store) for experiment in experiments]
    figures = folder / "figures"
    save_pictures(sections, figures)
    write_page(sections, settings, figures, folder / "index.html")
    return sections


def _replicate(name: str, replication: int, store: Store) -> None:
    # Workers import what registers the experiments.
    from cqrf.paper import load_experiments

    load_experiments()
    store.write(name, replication, EXPERIMENTS[name].replicate(replication, store.settings))


def _report(experiment: Experiment, store: Store) -> Section:
    settings = store.settings
    total = experiment.replications(settings)
    rows = store.read(experiment.name, total)
    write_csv(store.folder / f"{experiment.name}.csv", rows)
    return Section(
        experiment,
        total,
        experiment.pictures(rows, settings),
        experiment.tables(rows, settings),
        experiment.verdicts(rows, settings),
    )
