"""What a report is about: a fitted forest, data, and everything computed from them once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cqrf import _engine
from cqrf.app.report.comparison import Scores, predict_kaplan_meier, score_beside_rivals
from cqrf.app.report.cox import design, predict_cox
from cqrf.app.report.numerals import number
from cqrf.app.report.predictions import (
    PredictedRows,
    ScoringGrid,
    encoded_law,
    predict_out_of_bag,
    predict_rows,
    share_trained_on,
)
from cqrf.data.outcome import Target, marginal_curves, parse_outcome
from cqrf.forest import CensoredQuantileForest
from cqrf.metrics.horizon import read_horizon
from cqrf.model.effects import encoded_matrix
from cqrf.support.checks import check_same_rows
from cqrf.support.colours import colour_of_level
from cqrf.support.words import Words, words_for

Array = NDArray[np.float64]

# Every 0.05: enough for a calibration curve; 50, 80 and 90% intervals end at such levels.
LEVELS = np.arange(1, 20) / 20
SHOWN = (0.1, 0.5, 0.9)
COLOURS = tuple(map(colour_of_level, SHOWN))


@dataclass(frozen=True, eq=False)
class Subject:
    """A forest and the data that it is judged on.

    Attributes
    ----------
    forest : CensoredQuantileForest
        Fitted.
    matrix : ndarray of shape (n, p)
        Features as the forest sees them: numbers, and codes of categories; NaN is missing.
    time, event : ndarray of shape (n,)
        Outcomes.
    title, time_name : str
        For the page.
    horizon : float
        The time up to which is scored.
    """

    forest: CensoredQuantileForest
    matrix: Array
    time: Array
    event: NDArray[np.bool_]
    title: str
    time_name: str
    horizon: float

    @classmethod
    def from_data(
        cls,
        forest: CensoredQuantileForest,
        X: Any,
        y: Any,
        event: Any,
        title: str,
        time_name: str | None,
        horizon: float | str = "auto",
    ) -> Subject:
        """Check the data as `fit` does; the default name of the outcome is "time", or "value"."""
        check_same_rows(X=X, y=y, event=event)
        time, seen = parse_outcome(y, event)
        matrix = encoded_matrix(forest.encode(X), forest.model_.encoder)
        if len(matrix) != len(time):
            raise ValueError(
                f"X and y differ in length: X has {len(matrix)} rows, y has {len(time)}"
            )
        if not seen.any():
            raise ValueError("event is never True: there is nothing to score")
        name = time_name or words_for(forest.target_.censoring).outcome
        return cls(forest, matrix, time, seen, title, name, read_horizon(horizon, forest.target_))

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.time)

    @property
    def p(self) -> int:
        """Number of features."""
        return int(self.matrix.shape[1])

    @property
    def left(self) -> bool:
        """Whether censored times are upper bounds."""
        return self.forest.target_.mirrored

    @property
    def censoring(self) -> str:
        """The estimator's parameter."""
        return self.forest.target_.censoring

    @property
    def words(self) -> Words:
        """What outcomes are called."""
        return words_for(self.censoring)

    @cached_property
    def names(self) -> list[str]:
        """Names of the features."""
        return self.forest.model_.names

    @cached_property
    def categories(self) -> dict[int, NDArray[Any]]:
        """Known values of the categorical features, by position."""
        return dict(self.forest.model_.encoder.categories)

    def cell(self, j: int, value: float) -> str:
        """Write a value of feature j."""
        if np.isnan(value):
            return "missing"
        if j in self.categories:
            return str(self.categories[j][int(value)])
        # Whole numbers below 100,000 have no comma: they may be years.
        return f"{value:.0f}" if value == int(value) and abs(value) < 1e5 else number(value)

    @cached_property
    def target(self) -> Target:
        """The outcomes, sorted."""
        return Target.from_outcome(self.time, self.event, None, self.censoring)  # type: ignore[arg-type]

    @cached_property
    def is_training(self) -> bool:
        """Whether these are the rows that the forest was grown from."""
        model = self.forest.model_
        trained = model.target
        return (
            trained.n_rows == self.n
            and np.array_equal(trained.observed, self.time[trained.order])
            and np.array_equal(trained.event == 1, self.event[trained.order])
            and np.array_equal(
                self.forest.model_.binner.bin(
                    _engine.Features.of_matrix(self.matrix), trained.order, 1
                ),
                self.forest.model_.bins,
            )
        )

    @cached_property
    def marginal(self) -> tuple[Array, Array, Array]:
        """Times, and at each the Kaplan-Meier estimates of P(T > t) and P(C > t), ascending.

        Under left censoring those of P(T < t) and P(C < t).
        """
        survival, censoring = marginal_curves(self.target)
        if not self.left:
            return self.target.times, survival, censoring
        return -self.target.times[::-1], survival[::-1], censoring[::-1]

    @cached_property
    def share_trained_on(self) -> float:
        """Share of the rows that are among those the forest was grown from."""
        return share_trained_on(
            self.forest, _engine.Features.of_matrix(self.matrix), self.time, self.event
        )

    @property
    def how_far(self) -> str:
        """The horizon in words, such as "scored up to 365"."""
        return self.words.scored.format(self.forest.outcome_labels_.write(self.horizon))

    @cached_property
    def grid(self) -> ScoringGrid:
        """Levels and times at which predictions are scored."""
        return ScoringGrid.about(self.forest, LEVELS, self.horizon)

    @cached_property
    def predictions(self) -> PredictedRows:
        """Predictions for every row: out-of-bag for training rows."""
        if self.is_training:
            return predict_out_of_bag(self.forest, self.grid)
        law = encoded_law(self.forest, self.matrix)
        return predict_rows(law, self.time, self.event, self.grid)

    @cached_property
    def scores(self) -> Scores:
        """Scores beside the Kaplan-Meier curve and Cox regression."""
        trained = self.forest.target_
        everybody = predict_kaplan_meier(trained, self.grid, out_of_bag=self.predictions.out_of_bag)
        rivals = {"Kaplan-Meier": everybody}
        design_matrix = design(self.matrix, self.forest.model_.encoder.n_categories)
        cox = predict_cox(design_matrix, self.time, self.event, self.grid, self.censoring)
        if cox is not None:
            rivals["Cox regression"] = cox
        return score_beside_rivals(self.predictions, rivals, trained)


def level_index(level: float) -> int:
    """Position of a level in `LEVELS`."""
    return int(np.argmin(np.abs(LEVELS - level)))
