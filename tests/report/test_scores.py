"""Scores of the page against `cqrf.metrics` and by hand."""

import numpy as np
import pytest

from cqrf import CensoredQuantileForest
from cqrf.datasets import make_aft
from cqrf.explain import outcomes_by_row
from cqrf.metrics import censored_pinball_loss, censoring_weights, pinball_loss
from cqrf.report.answers import out_of_bag, predicted
from cqrf.report.scores import kaplan_meier_quantiles, score
from cqrf.target import Target

LEVELS = np.array([0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95])


def draw(n, seed):
    data = make_aft(n, n_features=5, random_state=seed)
    return data.X, data.time, data.event


@pytest.fixture(scope="module")
def forest():
    return CensoredQuantileForest(60, random_state=0, n_jobs=2).fit(*draw(400, 0))


class TestScore:
    def test_losses_are_those_of_metrics(self, forest):
        X, time, event = draw(300, 1)
        answers = predicted(forest, forest._estimation(X), time, event, LEVELS)
        np.testing.assert_array_equal(answers.quantiles, forest.predict(X, LEVELS))
        np.testing.assert_array_equal(answers.identified, forest.identified(X, LEVELS))
        constant = kaplan_meier_quantiles(forest.target_, LEVELS)
        scores = score(
            *(time, event, answers.quantiles, answers.identified, LEVELS, {"KM": constant}),
            censoring="right",
            train=forest.target_,
        )
        options = {
            "event": event,
            "train": forest.target_,
            "beyond": "clip",
            "multioutput": "raw_values",
        }
        loss = censored_pinball_loss(time, answers.quantiles, LEVELS, **options)
        theirs = censored_pinball_loss(time, np.tile(constant, (300, 1)), LEVELS, **options)
        np.testing.assert_allclose(scores.loss, loss)
        np.testing.assert_allclose(scores.rivals[0].loss, theirs)
        np.testing.assert_allclose(scores.rivals[0].saving, 1 - loss / theirs)
        # The delta method for a ratio of weighted sums, row by row.
        weight = censoring_weights(time, event, forest.target_)
        for q, level in enumerate(LEVELS):
            gain = [
                pinball_loss([t], [constant[q]], level) - pinball_loss([t], [p], level)
                for t, p in zip(time, answers.quantiles[:, q], strict=True)
            ]
            mean = (weight * gain).sum() / weight.sum()
            error = np.sqrt((weight**2 * (gain - mean) ** 2).sum()) / weight.sum()
            assert scores.rivals[0].std_error[q] == pytest.approx(error / theirs[q])

    def test_without_censoring_all_is_plain(self):
        rng = np.random.default_rng(0)
        time = rng.exponential(size=2000)
        truth = np.tile(-np.log1p(-LEVELS), (2000, 1))
        scores = score(
            *(time, np.ones(2000, bool), truth, np.ones_like(truth, bool), LEVELS),
            {"twice": 2 * truth},
            censoring="right",
        )
        np.testing.assert_allclose(
            scores.loss, pinball_loss(time, truth, LEVELS, multioutput="raw_values")
        )
        found = scores.calibration
        np.testing.assert_allclose(found.observed, (time[:, None] <= truth).mean(axis=0))
        for coverage in scores.coverage:
            tail = (1 - coverage.nominal) / 2
            inside = (time > -np.log1p(-tail)) & (time <= -np.log(tail))
            assert coverage.observed == pytest.approx(inside.mean())
            # Three standard errors: one in 370 by chance, and the seed is fixed.
            assert abs(coverage.observed - coverage.nominal) < 3 * coverage.std_error
            assert coverage.n_used == 2000
        # The paired error, against the one of resampled rows.
        rows = rng.integers(0, 2000, (500, 2000))

        def saving(rows):
            ours = pinball_loss(time[rows], truth[rows], LEVELS, multioutput="raw_values")
            theirs = pinball_loss(time[rows], 2 * truth[rows], LEVELS, multioutput="raw_values")
            return theirs - ours

        spread = np.std([saving(r) for r in rows], axis=0) / scores.rivals[0].loss
        np.testing.assert_allclose(scores.rivals[0].std_error, spread, rtol=0.15)

    def test_rows_without_an_answer_are_left_out(self, forest):
        X, time, event = draw(100, 2)
        answers = predicted(forest, forest._estimation(X), time, event, LEVELS)
        quantiles = answers.quantiles.copy()
        quantiles[3] = np.nan
        arguments = (LEVELS, {"KM": quantiles[0]})
        whole = score(
            time, event, quantiles, answers.identified, *arguments, censoring="right",
            train=forest.target_,
        )  # fmt: skip
        kept = np.arange(100) != 3
        part = score(
            time[kept], event[kept], quantiles[kept], answers.identified[kept], *arguments,
            censoring="right", train=forest.target_,
        )  # fmt: skip
        assert whole.n == 99
        np.testing.assert_array_equal(whole.loss, part.loss)


class TestOutOfBag:
    @pytest.mark.filterwarnings("ignore:.*drawn by every tree")
    def test_is_oob_predict(self, forest):
        answers = out_of_bag(forest, LEVELS)
        np.testing.assert_array_equal(answers.quantiles, forest.oob_predict(LEVELS))
        marked = forest.oob_predict(LEVELS, unreached="nan")
        np.testing.assert_array_equal(answers.identified, ~np.isnan(marked))
        time, event = outcomes_by_row(forest.target_)
        np.testing.assert_array_equal(time, draw(400, 0)[1])
        np.testing.assert_array_equal(event, draw(400, 0)[2])


def test_kaplan_meier_quantiles_under_both_censorings():
    time, event = np.array([1.0, 2.0, 3.0, 4.0]), np.array([True, False, True, True])
    right = kaplan_meier_quantiles(Target.from_outcome(time, event), np.array([0.3, 0.5]))
    left = kaplan_meier_quantiles(
        Target.from_outcome(-time, event, censoring="left"), np.array([0.7, 0.5])
    )
    np.testing.assert_allclose(right, -left)
