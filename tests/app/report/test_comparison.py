"""Scores of the page against `cqrf.metrics` and by hand."""

import numpy as np
import pytest

from cqrf import CensoredQuantileForest
from cqrf.app.report.comparison import GridPrediction, predict_kaplan_meier, score_beside_rivals
from cqrf.app.report.predictions import (
    PredictedRows,
    ScoringGrid,
    predict_out_of_bag,
    predict_rows,
    share_trained_on,
)
from cqrf.app.report.subject import Subject
from cqrf.data.outcome import Target
from cqrf.datasets import make_aft
from cqrf.metrics import (
    brier_skill_score,
    censored_interval_coverage,
    censored_log_score,
    censored_pinball_loss,
    concordance_index,
    integrated_brier_score,
    pinball_loss,
    quantile_calibration,
)
from cqrf.metrics.curve_errors import kaplan_meier_survival
from cqrf.model.explain import outcomes_by_row

LEVELS = np.array([0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95])


def draw(n, seed):
    data = make_aft(n, n_features=5, random_state=seed)
    return data.X, data.time, data.event


@pytest.fixture(scope="module")
def forest():
    return CensoredQuantileForest(60, random_state=0, n_jobs=2).fit(*draw(400, 0))


@pytest.fixture(scope="module")
def grid(forest):
    return ScoringGrid.about(forest, LEVELS)


def answered(forest, grid, n=300, seed=1):
    X, time, event = draw(n, seed)
    return X, predict_rows(forest.distribution(X), time, event, grid)


class TestScore:
    def test_losses_are_those_of_metrics(self, forest, grid):
        X, predictions = answered(forest, grid)
        np.testing.assert_array_equal(predictions.quantiles, forest.predict(X, LEVELS))
        np.testing.assert_array_equal(predictions.identified, forest.identified(X, LEVELS))
        everybody = predict_kaplan_meier(forest.target_, grid)
        scores = score_beside_rivals(predictions, {"KM": everybody}, forest.target_)
        rival = scores.rivals[0]
        y, options = predictions.time, {"event": predictions.event, "train": forest.target_}
        raw = options | {"multioutput": "raw_values"}
        constant = np.tile(everybody.quantiles, (300, 1))
        loss = censored_pinball_loss(y, predictions.quantiles, LEVELS, **raw)
        theirs = censored_pinball_loss(y, constant, LEVELS, **raw)
        np.testing.assert_allclose(scores.loss, loss)
        np.testing.assert_allclose(rival.loss, theirs)
        np.testing.assert_allclose(rival.saving, 1 - loss / theirs)
        assert scores.horizon == forest.horizon_
        times = grid.times
        survival = forest.predict_survival_function(X, times=times)
        assert scores.brier == pytest.approx(integrated_brier_score(y, survival, times, **options))
        skill = brier_skill_score(y, survival, times, **options)
        assert rival.skill.share == pytest.approx(skill)
        assert skill == pytest.approx(forest.score(X, y, predictions.event))
        mean = forest.predict_rmst(X, forest.horizon_)
        concordance = concordance_index(y, mean, **options)
        assert scores.concordance == pytest.approx(concordance, abs=2e-3)
        assert rival.concordance == 0.5

    def test_log_scores_are_compared_row_by_row(self, forest, grid):
        _, predictions = answered(forest, grid)
        everybody = predict_kaplan_meier(forest.target_, grid)
        scores = score_beside_rivals(predictions, {"KM": everybody}, forest.target_)
        at = grid.log_times
        ours, theirs = (
            np.array(
                [
                    censored_log_score([t], [curve], grid.times[at], event=[e])
                    for t, e, curve in zip(predictions.time, predictions.event, curves, strict=True)
                ]
            )
            for curves in (predictions.survival[:, at], np.tile(everybody.survival[at], (300, 1)))
        )
        rival = scores.rivals[0]
        assert scores.log_score == pytest.approx(ours.mean())
        assert rival.log_score == pytest.approx(theirs.mean())
        assert rival.log_gain == pytest.approx(scores.log_score - rival.log_score)
        assert rival.log_std_error == pytest.approx(np.std(ours - theirs) / np.sqrt(300))

    @pytest.mark.filterwarnings("ignore:censored_pinball_loss says nothing")
    def test_standard_errors_are_those_of_ratios(self, forest, grid):
        _, predictions = answered(forest, grid)
        everybody = predict_kaplan_meier(forest.target_, grid)
        rival = score_beside_rivals(predictions, {"KM": everybody}, forest.target_).rivals[0]
        rows = np.random.default_rng(0).integers(0, 300, (400, 300))
        constant = np.tile(everybody.quantiles, (300, 1))
        savings, shares = [], []
        for r in rows:
            y, options = (
                predictions.time[r],
                {"event": predictions.event[r], "train": forest.target_},
            )
            ours, theirs = (
                censored_pinball_loss(y, q[r], LEVELS, multioutput="raw_values", **options)
                for q in (predictions.quantiles, constant)
            )
            savings.append(1.0 - ours / theirs)
            shares.append(brier_skill_score(y, predictions.survival[r], grid.times, **options))
        np.testing.assert_allclose(rival.std_error, np.std(savings, axis=0), rtol=0.15)
        assert rival.skill.std_error == pytest.approx(np.std(shares), rel=0.15)

    def test_standard_errors_are_those_of_new_samples(self):
        """Known quantiles beside one for all, on 300 samples of 200 rows."""
        rng, found = np.random.default_rng(0), []
        levels = np.array([0.1, 0.5, 0.9])
        grid = ScoringGrid(levels, 40.0, np.array([1.0, 40.0]), np.arange(2))
        flat = np.full((200, 2), 0.5)
        for _ in range(300):
            scale = 10.0 * np.exp(rng.normal(size=200))
            time = scale * rng.weibull(2.0, 200)
            event = time <= 40.0
            time = np.minimum(time, 40.0)
            truth = scale[:, None] * np.sqrt(-np.log1p(-levels))
            predictions = PredictedRows(grid, time, event, truth, truth <= 40.0, flat, False)
            constant = {"constant": GridPrediction(np.array([2.0, 8.5, 38.0]), flat[0])}
            rival = score_beside_rivals(
                predictions, constant, Target.from_outcome(time, event)
            ).rivals[0]
            found.append([rival.saving, rival.std_error])
        savings, errors = np.swapaxes(found, 0, 1)
        # The median saves 60%, and errors of differences would be twice as large.
        assert np.mean(savings, axis=0)[1] > 0.4
        np.testing.assert_allclose(errors.mean(axis=0), savings.std(axis=0), rtol=0.15)

    def test_without_censoring_all_is_plain(self):
        rng = np.random.default_rng(0)
        time = rng.exponential(size=2000)
        target = Target.from_outcome(time, np.ones(2000, bool))
        truth = np.tile(-np.log1p(-LEVELS), (2000, 1))
        times = np.linspace(time.min(), time.max(), 30)
        grid = ScoringGrid(LEVELS, time.max(), times, np.arange(0, 30, 6))
        survival = np.exp(-np.tile(times, (2000, 1)))
        predictions = PredictedRows(
            grid, time, np.ones(2000, bool), truth, np.ones_like(truth, bool), survival, False
        )
        rivals = {"twice": GridPrediction(2 * truth, survival**0.5)}
        scores = score_beside_rivals(predictions, rivals, target)
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
            twice = np.minimum(2 * truth, time.max())
            theirs, ours = (
                pinball_loss(time[rows], q[rows], LEVELS, multioutput="raw_values")
                for q in (twice, truth)
            )
            return 1.0 - ours / theirs

        spread = np.std([saving(r) for r in rows], axis=0)
        np.testing.assert_allclose(scores.rivals[0].std_error, spread, rtol=0.15)
        assert scores.rivals[0].skill.share > 0.0
        assert scores.log_score > scores.rivals[0].log_score

    def test_rows_without_an_answer_are_left_out(self, forest, grid):
        _, predictions = answered(forest, grid, 100, 2)
        quantiles, survival = predictions.quantiles.copy(), predictions.survival.copy()
        quantiles[3] = survival[3] = np.nan
        everybody = {"KM": predict_kaplan_meier(forest.target_, grid)}
        gap = PredictedRows(
            *(
                grid,
                predictions.time,
                predictions.event,
                quantiles,
                predictions.identified,
                survival,
                False,
            )
        )
        whole = score_beside_rivals(gap, everybody, forest.target_)
        kept = np.arange(100) != 3
        rest = PredictedRows(
            grid,
            *(v[kept] for v in (gap.time, gap.event, quantiles, predictions.identified, survival)),
            False,
        )
        part = score_beside_rivals(rest, everybody, forest.target_)
        assert whole.n == 99
        np.testing.assert_array_equal(whole.loss, part.loss)
        assert whole.brier == part.brier

    def test_levels_beyond_the_horizon_have_no_share(self, forest):
        early = ScoringGrid.about(forest, np.array([0.1, 0.99]), float(forest.target_.times[20]))
        _, predictions = answered(forest, early)
        found = score_beside_rivals(
            predictions, {"KM": predict_kaplan_meier(forest.target_, early)}, forest.target_
        )
        assert np.isfinite(found.rivals[0].skill.share)
        assert np.isnan(found.calibration.observed[1])
        assert found.calibration.n_used[1] == 0


class TestOutOfBag:
    @pytest.mark.filterwarnings("ignore:.*drawn by every tree")
    def test_is_oob_predict(self, forest, grid):
        predictions = predict_out_of_bag(forest, grid)
        np.testing.assert_array_equal(predictions.quantiles, forest.oob_predict(LEVELS))
        marked = forest.oob_predict(LEVELS, unreached="nan")
        np.testing.assert_array_equal(predictions.identified, ~np.isnan(marked))
        time, event = outcomes_by_row(forest.target_)
        np.testing.assert_array_equal(time, draw(400, 0)[1])
        np.testing.assert_array_equal(event, draw(400, 0)[2])
        everybody = predict_kaplan_meier(forest.target_, grid, out_of_bag=True)
        scores = score_beside_rivals(predictions, {"KM": everybody}, forest.target_)
        assert scores.rivals[0].skill.share == pytest.approx(forest.oob_score())

    @pytest.mark.parametrize("censoring", ["right", "left"])
    def test_rows_count_with_their_training_weights(self, censoring):
        sign = 1.0 if censoring == "right" else -1.0
        rng = np.random.default_rng(0)
        X, C = rng.uniform(size=(400, 3)), rng.exponential(4.0, 400)
        T = np.exp(2 * X[:, 0]) * rng.exponential(size=400)
        time, event = sign * np.minimum(T, C), T <= C
        weight = np.where(X[:, 0] > 0.5, 4.0, 1.0)
        weight[:5] = 0.0
        # So many trees that every row of positive weight has an answer.
        forest = CensoredQuantileForest(150, censoring=censoring, random_state=0).fit(
            X, time, event, sample_weight=weight
        )
        grid = ScoringGrid.about(forest, LEVELS)
        predictions = predict_out_of_bag(forest, grid)
        everybody = predict_kaplan_meier(forest.target_, grid, out_of_bag=True)
        found = score_beside_rivals(predictions, {"KM": everybody}, forest.target_)
        rows = weight > 0.0
        assert found.n == rows.sum()
        skill = found.rivals[0].skill
        assert skill.share == pytest.approx(forest.oob_score(), rel=1e-9)
        assert found.brier == skill.score
        page = Subject.from_data(forest, X, time, event, "title", None)
        assert page.scores.rivals[0].skill == skill
        y, plain = time[rows], {"event": event[rows], "sample_weight": weight[rows]}
        plain["censoring"] = censoring
        options = plain | {"train": forest.target_, "horizon": grid.horizon}
        quantiles, survival = predictions.quantiles[rows], predictions.survival[rows]
        loss = censored_pinball_loss(y, quantiles, LEVELS, multioutput="raw_values", **options)
        np.testing.assert_allclose(found.loss, loss)
        at = grid.log_times
        log_score = censored_log_score(y, survival[:, at], grid.times[at], **plain)
        assert found.log_score == pytest.approx(log_score)
        beyond = np.where(predictions.identified[rows], quantiles, sign * np.inf)
        # The rows are the training rows: their weights are in G, too.
        options = plain | {"horizon": grid.horizon}
        calibration = quantile_calibration(y, beyond, LEVELS, **options)
        said = ~np.isnan(found.calibration.observed)
        assert said.sum() >= 4
        for name in ("observed", "std_error"):
            expected = getattr(calibration, name)[said]
            np.testing.assert_allclose(getattr(found.calibration, name)[said], expected)
        ends = beyond[:, [2, 4]]
        inside = ((ends >= grid.horizon) if sign < 0 else (ends <= grid.horizon)).all(1)
        options = {name: value for name, value in plain.items() if name != "censoring"}
        options = {name: value[inside] for name, value in options.items()}
        coverage = censored_interval_coverage(
            y[inside],
            *ends[inside].T,
            train=forest.target_,
            horizon=grid.horizon,
            censoring=censoring,
            **options,
        )
        assert found.coverage[0].observed == pytest.approx(coverage)


class TestNoise:
    """A forest without splits is the Kaplan-Meier curve: it neither gains nor loses."""

    @pytest.mark.parametrize("n", [60, 2500])
    @pytest.mark.parametrize("weighted", [False, True])
    @pytest.mark.parametrize("censoring", ["right", "left"])
    def test_without_splits(self, censoring, weighted, n):
        rng = np.random.default_rng(0)
        X, time, event = rng.normal(size=(n, 2)), rng.exponential(size=n), rng.random(n) < 0.7
        weight = rng.integers(50, 200, n) / 100.0 if weighted else None
        forest = CensoredQuantileForest(
            20, min_samples_split=n + 1, censoring=censoring, random_state=0
        ).fit(X, time, event, sample_weight=weight)
        assert forest.oob_score() == pytest.approx(0.0, abs=1e-12)
        grid = ScoringGrid.about(forest, LEVELS)
        everybody = predict_kaplan_meier(forest.target_, grid, out_of_bag=True)
        scores = score_beside_rivals(
            predict_out_of_bag(forest, grid), {"KM": everybody}, forest.target_
        )
        assert scores.concordance == scores.rivals[0].concordance == 0.5
        saving = scores.rivals[0].saving
        np.testing.assert_allclose(saving[~np.isnan(saving)], 0.0, atol=1e-12)

    @pytest.mark.parametrize(("n", "n_samples"), [(120, 10), (2500, 1)])
    def test_noise_is_not_ranked_the_wrong_way_round(self, n, n_samples):
        found = []
        for seed in range(n_samples):
            rng = np.random.default_rng(seed)
            X, (T, C) = rng.normal(size=(n, 4)), rng.exponential(size=(2, n))
            forest = CensoredQuantileForest(100, random_state=0).fit(X, np.minimum(T, C), T <= C)
            grid = ScoringGrid.about(forest, LEVELS)
            everybody = predict_kaplan_meier(forest.target_, grid, out_of_bag=True)
            scores = score_beside_rivals(
                predict_out_of_bag(forest, grid), {"KM": everybody}, forest.target_
            )
            found.append(scores.concordance)
        # A forest that does split still leaves rows out of leaves: half of them lie below 0.5.
        assert np.median(found) > 0.4


def test_times_that_are_all_alike_lie_in_their_intervals():
    target = Target.from_outcome(np.full(40, 5.0), np.ones(40, bool))
    grid = ScoringGrid(LEVELS, 5.0, np.array([4.0, 5.0]), np.arange(2))
    quantiles, survival = np.full((40, 7), 5.0), np.tile([1.0, 0.0], (40, 1))
    predictions = PredictedRows(
        grid, np.full(40, 5.0), np.ones(40, bool), quantiles, quantiles > 0, survival, False
    )
    scores = score_beside_rivals(predictions, {"KM": predict_kaplan_meier(target, grid)}, target)
    assert [coverage.observed for coverage in scores.coverage] == [1.0] * 3


def test_a_horizon_before_all_events_is_refused(forest):
    with pytest.raises(ValueError, match="lies before the first event, at"):
        ScoringGrid.about(forest, LEVELS, 0.0)


class TestTrainedOn:
    def test_rows_are_known_whatever_their_order(self, forest):
        X, time, event = draw(400, 0)
        rows = np.random.default_rng(0).permutation(400)[:150]
        features = forest.encode(X[rows])
        assert share_trained_on(forest, features, time[rows], event[rows]) == 1.0
        assert share_trained_on(forest, features, time[rows] + 1e-9, event[rows]) == 0.0
        assert share_trained_on(forest, features, time[rows], ~event[rows]) == 0.0

    def test_new_rows_are_not(self, forest):
        X, time, event = draw(300, 1)
        assert share_trained_on(forest, forest.encode(X), time, event) == 0.0

    @pytest.mark.parametrize("n_values", [2, 6])
    def test_rows_that_are_alike_by_chance(self, n_values):
        def coarse(seed):
            rng = np.random.default_rng(seed)
            X = rng.integers(0, n_values, (400, 2)) * 1.0
            return X, np.ceil(4 * rng.random(400)) + X[:, 0], rng.random(400) < 0.8

        X, time, event = coarse(0)
        model = CensoredQuantileForest(5, random_state=0).fit(X, time, event)

        def share(X, time, event):
            return share_trained_on(model, model.encode(X), time, event)

        # Nearly all of other rows have an equal among the training rows.
        trained = set(zip(*X.T, time, event, strict=True))
        for seed in range(1, 11):
            new = coarse(seed)
            rows = zip(*new[0].T, *new[1:], strict=True)
            assert np.mean([row in trained for row in rows]) > 0.7
            assert share(*new) < 0.5
        order = np.random.default_rng(0).permutation(400)
        assert share(X[order], time[order], event[order]) == 1.0
        if n_values == 6:
            # Half of the training rows among others.
            mixed = (
                np.concatenate([a[:200], b[:200]]) for a, b in zip(new, coarse(0), strict=True)
            )
            assert 0.2 < share(*mixed) < 0.8


@pytest.mark.parametrize("left", [False, True])
def test_kaplan_meier_under_both_censorings(left):
    time, event = np.array([1.0, 2.0, 3.0, 4.0]), np.array([True, False, True, True])
    sign = -1.0 if left else 1.0
    target = Target.from_outcome(sign * time, event, censoring="left" if left else "right")
    levels = np.array([0.7, 0.5]) if left else np.array([0.3, 0.5])
    times = np.sort(sign * (time + 0.5))
    found = predict_kaplan_meier(target, ScoringGrid(levels, sign * 4.0, times, np.arange(4)))
    right = predict_kaplan_meier(
        Target.from_outcome(time, event),
        ScoringGrid(np.array([0.3, 0.5]), 4.0, time + 0.5, np.arange(4)),
    )
    np.testing.assert_allclose(found.quantiles, sign * right.quantiles)
    expected = 1.0 - right.survival[::-1] if left else right.survival
    np.testing.assert_allclose(found.survival, expected)
    np.testing.assert_array_equal(found.survival, kaplan_meier_survival(target, times))
