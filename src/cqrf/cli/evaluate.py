"""``cqrf evaluate``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from cqrf.cli.options import Levels, common, jobs, print_json, takes_dialect, takes_outcome

if TYPE_CHECKING:
    from cqrf.report.scores import Scores
    from cqrf.tables import Dialect, OutcomeColumns


@click.command("evaluate")
@click.argument("model", type=click.Path())
@click.argument("table", type=click.Path(allow_dash=True), required=False)
@takes_outcome
@click.option(
    "--quantiles",
    type=Levels(),
    default="0.05,0.1,0.25,0.5,0.75,0.9,0.95",
    show_default=True,
    help="Levels to score.",
)
@takes_dialect
@jobs
@common
def command(
    model: str,
    table: str | None,
    columns: OutcomeColumns | None,
    quantiles: tuple[float, ...],
    dialect: Dialect,
    jobs: int,
    as_json: bool,
    quiet: bool,
) -> None:
    """Score a model: on a table of its own or, without one, out-of-bag.

    Every line of the answer is a quantile: its pinball loss, weighted for censoring; the share of
    the loss of the Kaplan-Meier quantile that it saves, with its standard error; how many of the
    rows had their event before it; and for how many rows the data identify it.

    \b
    cqrf evaluate model.cqrf held_out.csv --time days --event died
    cqrf evaluate model.cqrf
    """
    import numpy as np

    from cqrf.forest import CensoredQuantileForest
    from cqrf.report.answers import out_of_bag, predicted
    from cqrf.report.scores import kaplan_meier_quantiles, score
    from cqrf.tables import Features, TableError, open_table, read_features, read_outcome

    if (table is None) != (columns is None):
        raise click.UsageError(
            "a table needs --time, and --time needs a table", click.get_current_context()
        )
    forest = CensoredQuantileForest.load(model)
    forest.n_jobs = jobs
    levels = np.array(sorted(quantiles))
    train = None
    if table is None:
        answers = out_of_bag(forest, levels)
    else:
        assert columns is not None
        if columns.left != forest.target_.mirrored:
            hint = "give" if forest.target_.mirrored else "leave out"
            raise TableError(
                model, f"this model is for {forest.target_.censoring} censoring: {hint} --left"
            )
        block = open_table(table, dialect).read()
        outcome = read_outcome(block, columns)
        features = Features.of_forest(forest, list(block.columns), block.file)
        X = read_features(block, features)
        X = X[outcome.kept] if isinstance(X, np.ndarray) else X.iloc[outcome.kept]
        answers = predicted(forest, forest._estimation(X), outcome.time, outcome.event, levels)
        train = forest.target_
    scores = score(
        answers.time,
        answers.event,
        answers.quantiles,
        answers.identified,
        levels,
        {"Kaplan-Meier": kaplan_meier_quantiles(forest.target_, levels)},
        censoring=forest.censoring,
        train=train,
    )
    if as_json:
        print_json({"model": model, "table": table, **as_dict(scores)})
    else:
        click.echo(f"{table or 'out-of-bag'}: {scores.n:,} rows\n")
        click.echo(as_text(scores))


def as_dict(scores: Scores) -> dict[str, Any]:
    """Return scores for machines."""
    rival = scores.rivals[0]
    found = scores.calibration
    rows = zip(
        scores.levels,
        scores.loss,
        rival.loss,
        rival.saving,
        rival.std_error,
        found.observed,
        found.std_error,
        scores.identified,
        strict=True,
    )
    names = (
        "quantile",
        "loss",
        "kaplan_meier_loss",
        "saving",
        "saving_std_error",
        "observed",
        "observed_std_error",
        "identified",
    )
    return {
        "rows": scores.n,
        "concordance": scores.concordance,
        "quantiles": [dict(zip(names, map(float, row), strict=True)) for row in rows],
        "intervals": [vars(coverage) for coverage in scores.coverage],
    }


def as_text(scores: Scores) -> str:
    """Return scores as a table for people."""
    rival, found = scores.rivals[0], scores.calibration
    lines = [
        f"{'quantile':>8}  {'loss':>10}  {'saved':>15}  {'events before':>15}  {'identified':>10}"
    ]
    for j, level in enumerate(scores.levels):
        saved = f"{rival.saving[j]:.1%} ± {rival.std_error[j]:.1%}"
        before = f"{found.observed[j]:.1%} ± {found.std_error[j]:.1%}"
        lines.append(
            f"{level:>8g}  {scores.loss[j]:>10.4g}  {saved:>15}  {before:>15}  "
            f"{scores.identified[j]:>10.1%}"
        )
    lines.append("")
    for coverage in scores.coverage:
        lines.append(
            f"{coverage.nominal:.0%} interval: holds {coverage.observed:.1%} ± "
            f"{coverage.std_error:.1%} of the times ({coverage.n_used:,} rows within reach)"
        )
    lines.append(f"concordance of the medians: {scores.concordance:.3f}")
    lines.append("saved: share of the loss of the Kaplan-Meier quantile; ± is a standard error")
    return "\n".join(lines)
