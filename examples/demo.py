"""Years in the United States Congress: predict how long members stay, and draw it.

Fits a data set that ships with the package, prints the times by which 10, 50 and 90 percent of
members like the one in the row have left, and writes a picture of survival curves with these times
marked.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np

from cqrf import CensoredQuantileForest
from cqrf.datasets import load_congress
from cqrf.plot import SurvivalCurvesDisplay

matplotlib.use("Agg")
import matplotlib.pyplot as plt

LEVELS = np.array([0.1, 0.5, 0.9])

# Members the forest has not seen: short and long careers, both chambers, and some who entered so
# late that the record ends before most of their group has left.
ROWS = [7, 128, 446, 294, 367, 829, 721, 901]
# Those drawn.
DRAWN = [7, 829, 446, 721]


@dataclass(frozen=True)
class Answers:
    """Quantiles, shape (m, 3), which of them are identified, and the curves of m members."""

    quantiles: np.ndarray
    identified: np.ndarray
    curves: np.ndarray


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--output", type=Path, default=Path("demo.png"), help="picture to write")
    output = arguments.parse_args().output

    data = load_congress()
    held_out = np.isin(np.arange(len(data.time)), ROWS)
    print(
        f"Years in the United States Congress: {len(data.time)} members, "
        f"{np.mean(~data.event):.0%} still serving when the record ends.\n"
        f"The forest learns from all but the {len(ROWS)} members below.\n",
        flush=True,
    )

    forest = CensoredQuantileForest(n_estimators=4000, n_jobs=-1, random_state=0, verbose=1)
    forest.fit(data.X[~held_out], data.time[~held_out], data.event[~held_out])

    members = data.X.iloc[ROWS]
    answers = Answers(
        quantiles=forest.predict(members, quantiles=LEVELS),
        identified=forest.identified(members, quantiles=LEVELS),
        curves=forest.predict_survival_function(members),
    )
    print_table(data, answers)
    print(
        f"\nOut-of-bag, the forest saves {forest.oob_score():.1%} of the integrated Brier score of "
        f"one Kaplan-Meier\ncurve for everybody, scored up to {forest.horizon_:.1f} years."
    )
    draw(data, answers, output)
    print(f"\nSurvival curves of {len(DRAWN)} of them: {output}")


def describe(member: Any) -> str:
    """Describe a row of features in words."""
    start = " (mid-term)" if member.mid_term == "yes" else ""
    return (
        f"{member.party.title()}, {member.gender}, {member.age_at_entry:.0f}, "
        f"{member.chamber.title()}, {member.state}, {member.entry_year}{start}"
    )


def print_table(data: Any, answers: Answers) -> None:
    """Print observed and predicted times; a bound stands where a quantile is not identified."""
    print("\nYears until 10, 50 and 90% of members like these have left\n")
    header = f"{'member: party, gender, age, chamber, state, entry':<50}{'observed':>10}  "
    print(header + "".join(f"{level:>9.0%}" for level in LEVELS))
    print("-" * (len(header) + 9 * len(LEVELS)))
    for at, row in enumerate(ROWS):
        observed = f"{data.time[row]:.1f}{' ' if data.event[row] else '+'}"
        quantiles = "".join(
            f"{'' if known else '> '}{value:.1f}".rjust(9)
            for value, known in zip(answers.quantiles[at], answers.identified[at], strict=True)
        )
        print(f"{describe(data.X.iloc[row]):<50}{observed:>10}  {quantiles}")
    print("\n  +  still serving: the true time is longer (censored)")
    print("  >  not identified: too few of the group have left yet, so the number is a lower bound")


def draw(data: Any, answers: Answers, output: Path) -> None:
    """Draw the survival curves of a few members with their quantiles marked."""
    plt.rcParams.update({"font.size": 11})
    figure, axes = plt.subplots(figsize=(9, 5.4), layout="constrained")
    at = [ROWS.index(row) for row in DRAWN]
    SurvivalCurvesDisplay(
        answers.curves[at],
        quantiles=LEVELS,
        marks=answers.quantiles[at],
        identified=answers.identified[at],
        labels=[describe(data.X.iloc[row]) for row in DRAWN],
    ).plot(axes)
    for level in LEVELS:
        axes.annotate(
            f"{level:.0%} have left",
            (1.0, 1 - level),
            xycoords=axes.get_yaxis_transform(),
            xytext=(6, 0),
            textcoords="offset points",
            va="center",
            color="0.35",
            annotation_clip=False,
        )
    axes.legend(
        title="Party, gender, age, chamber, state, year of entry",
        alignment="left",
        loc="upper right",
        bbox_to_anchor=(1.0, 0.88),
        frameon=False,
    )
    axes.set(xlabel="Years since entering Congress", ylabel="Share still in Congress")
    axes.set_title(
        "How long will they stay? Four members of Congress the forest has not seen",
        loc="left",
        fontweight="bold",
        fontsize=13,
        pad=38,
    )
    axes.annotate(
        "Predicted survival curves; dots mark the times by which 10, 50 and 90% have left.\n"
        "Where a curve ends in a bar the record ends: later times are not identified.",
        (0, 1),
        xycoords="axes fraction",
        xytext=(0, 6),
        textcoords="offset points",
        fontsize=10,
        color="0.35",
    )
    figure.savefig(output, dpi=150)
    plt.close(figure)


if __name__ == "__main__":
    main()
