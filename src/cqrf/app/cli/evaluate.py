"""``cqrf evaluate``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from cqrf.app.cli.options import (
    LevelList,
    common,
    jobs,
    note,
    print_json,
    takes_dialect,
    takes_horizon,
    takes_outcome,
)

if TYPE_CHECKING:
    from cqrf.app.report.comparison import Scores
    from cqrf.app.tables import Dialect, OutcomeColumns
    from cqrf.support.words import Words

# The error of one row, or of rows that all say the same, is zero but for rounding.
_ROUNDING = 1e-9


@click.command("evaluate")
@click.argument("model", type=click.Path())
@click.argument("table", type=click.Path(allow_dash=True), required=False)
@takes_outcome
@click.option(
    "--quantiles",
    type=LevelList(),
    default="0.05,0.1,0.25,0.5,0.75,0.9,0.95",
    show_default=True,
    help="Levels to score.",
)
@takes_horizon
@takes_dialect
@jobs
@common
def command(
    model: str,
    table: str | None,
    columns: OutcomeColumns | None,
    quantiles: tuple[float, ...],
    horizon: float | None,
    dialect: Dialect,
    jobs: int,
    as_json: bool,
    quiet: bool,
) -> None:
    """Score a model: on a table of its own or, without one, out-of-bag.

    Times and predictions are cut at a horizon, up to which the training record says enough: rows
    that are still at risk then are known. The first lines score the whole predicted curves; then
    every line is a quantile: its pinball loss; the share of the loss of the Kaplan-Meier quantile
    that it saves, with its standard error; how many of the rows had their event before it; and for
    how many rows the data identify it.

    \b
    cqrf evaluate model.cqrf held_out.csv --time days --event died
    cqrf evaluate model.cqrf
    """
    import numpy as np

    from cqrf.app.report.comparison import predict_kaplan_meier, score_beside_rivals
    from cqrf.app.report.predictions import (
        MUCH_TRAINED_ON,
        ScoringGrid,
        predict_out_of_bag,
        predict_rows,
        share_trained_on,
    )
    from cqrf.app.tables import (
        FeatureColumns,
        OutcomeColumns,
        TableError,
        open_input,
        read_features,
        read_outcome,
    )
    from cqrf.forest import CensoredQuantileForest
    from cqrf.support.words import words_for

    if table is None and columns is not None:
        raise click.UsageError("--time needs a table", click.get_current_context())
    forest = CensoredQuantileForest.load(model)
    forest.n_jobs = jobs
    grid = ScoringGrid.about(
        forest, np.array(sorted(quantiles)), "auto" if horizon is None else horizon
    )
    trained_on = 0.0
    if table is None:
        predictions = predict_out_of_bag(forest, grid)
    else:
        columns = columns or OutcomeColumns.of_forest(forest)
        if columns is None:
            raise click.UsageError(
                "a table needs --time: the model does not know its name",
                click.get_current_context(),
            )
        if columns.left != forest.target_.mirrored:
            hint = "give" if forest.target_.mirrored else "leave out"
            raise TableError(
                model, f"this model is for {forest.target_.censoring} censoring: {hint} --left"
            )
        block = open_input(table, dialect).read()
        outcome = read_outcome(block, columns)
        for text in outcome.notes:
            note(f"{block.file}: {text}", quiet)
        features = FeatureColumns.of_forest(forest, list(block.columns), block.file)
        X = read_features(block, features)
        X = X[outcome.kept] if isinstance(X, np.ndarray) else X.iloc[outcome.kept]
        trained_on = share_trained_on(forest, forest.encode(X), outcome.time, outcome.event)
        predictions = predict_rows(forest.distribution(X), outcome.time, outcome.event, grid)
    everybody = predict_kaplan_meier(forest.target_, grid, out_of_bag=predictions.out_of_bag)
    scores = score_beside_rivals(predictions, {"Kaplan-Meier": everybody}, forest.target_)
    if as_json:
        extra = {"model": model, "table": table, "trained_on": trained_on}
        print_json({**extra, **as_dict(scores)})
        return
    words = words_for(forest.censoring)
    how_far = words.scored.format(forest.outcome_labels_.write(scores.horizon))
    click.echo(f"{table or 'out-of-bag'}: {scores.n:,} rows, {how_far}\n")
    click.echo(as_text(scores, words))
    if trained_on > MUCH_TRAINED_ON:
        note(
            f"{table}: {trained_on:.0%} of these rows are among those that the model was trained "
            f"on, and flatter it; without a table, cqrf evaluate {model} scores it out-of-bag",
            quiet,
        )


def as_dict(scores: Scores) -> dict[str, Any]:
    """Return scores for machines; None where there is nothing to say."""
    rival = scores.rivals[0]
    found = scores.calibration
    columns = {
        "quantile": scores.levels,
        "loss": scores.loss,
        "kaplan_meier_loss": rival.loss,
        "saving": rival.saving,
        "saving_std_error": rival.std_error,
        "observed": found.observed,
        "observed_std_error": found.std_error,
        "identified": scores.identified,
    }
    return {
        "rows": scores.n,
        "horizon": scores.horizon,
        "score": rival.skill.share,
        "score_std_error": rival.skill.std_error,
        "integrated_brier_score": scores.brier,
        "kaplan_meier_integrated_brier_score": rival.skill.reference,
        "concordance": scores.concordance,
        "log_score": scores.log_score,
        "kaplan_meier_log_score": rival.log_score,
        "log_score_gain": rival.log_gain,
        "log_score_gain_std_error": rival.log_std_error,
        "quantiles": [
            dict(zip(columns, map(float, row), strict=True))
            for row in zip(*columns.values(), strict=True)
        ],
        "intervals": [vars(coverage) for coverage in scores.coverage],
    }


def as_text(scores: Scores, words: Words) -> str:
    """Return scores as a table for people."""
    rival, found = scores.rivals[0], scores.calibration
    lines = [
        f"score                   {_share(rival.skill.share, rival.skill.std_error)}",
        f"integrated Brier score  {_number(scores.brier, '.4g')} (Kaplan-Meier "
        f"{_number(rival.skill.reference, '.4g')})",
        f"concordance             {_number(scores.concordance)}",
        f"log score               {_number(scores.log_score)} (Kaplan-Meier "
        f"{_number(rival.log_score)}; difference {_signed(rival.log_gain, rival.log_std_error)})",
        "",
        f"{'quantile':>8}  {'loss':>10}  {'saved':>15}  {words.share_before:>15}  "
        f"{'identified':>10}",
    ]
    for j, level in enumerate(scores.levels):
        saved = _share(rival.saving[j], rival.std_error[j])
        before = _share(found.observed[j], found.std_error[j])
        lines.append(
            f"{level:>8g}  {_number(scores.loss[j], '.4g'):>10}  {saved:>15}  {before:>15}  "
            f"{scores.identified[j]:>10.1%}"
        )
    lines.append("")
    for coverage in scores.coverage:
        if coverage.observed == coverage.observed:
            lines.append(
                f"{coverage.nominal:.0%} interval: holds "
                f"{_share(coverage.observed, coverage.std_error)} of the {words.outcomes} "
                f"({coverage.n_used:,} rows that end {words.within})"
            )
        else:
            lines.append(f"{coverage.nominal:.0%} interval: too few end {words.within}")
    lines += [
        "score: share of the Kaplan-Meier curve's integrated Brier score that is saved",
        f"saved: the same of its quantile's loss; ± is a standard error; -: too few rows end "
        f"{words.within}",
    ]
    return "\n".join(lines)


def _number(value: float, digits: str = ".3f") -> str:
    """Write a score; a dash where there is none."""
    return format(value, digits) if value == value else "-"


def _signed(value: float, error: float) -> str:
    """Write a difference with its standard error."""
    return f"{value:+.3f}" + (f" ± {error:.3f}" if error > _ROUNDING else "")


def _share(value: float, error: float) -> str:
    """Write a share with its standard error; a dash where there is none."""
    if value != value:
        return "-"
    # Adding zero turns -0.0 into 0.0.
    share = f"{round(value, 3) + 0.0:.1%}"
    return f"{share} ± {error:.1%}" if error > _ROUNDING else share
