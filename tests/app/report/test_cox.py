"""The Cox baseline against lifelines, and the design matrix."""

import numpy as np
import pandas as pd
import pytest
from lifelines import CoxPHFitter

from cqrf.app.report.cox import Cox, design, predict_cox
from cqrf.app.report.predictions import ScoringGrid
from cqrf.data.outcome import Target


def draw(n=300, seed=0, ties=False):
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(n, 3))
    latent = rng.exponential(np.exp(-Z @ [0.8, -0.4, 0.0]))
    limit = rng.exponential(2.0, n)
    time = np.minimum(latent, limit)
    return Z, np.ceil(time * 10) / 10 if ties else time, latent <= limit


class TestCox:
    def test_coefficients_and_curves_of_lifelines(self):
        Z, time, event = draw()
        ours = Cox.fit(Z, Target.from_outcome(time, event), ridge=0.0)
        frame = pd.DataFrame(Z, columns=list("abc")).assign(time=time, event=event)
        options = {"precision": 1e-14, "max_steps": 100}
        theirs = CoxPHFitter().fit(frame, "time", "event", fit_options=options)
        np.testing.assert_allclose(ours.beta, theirs.params_, rtol=1e-6)
        assert ours.log_likelihood == pytest.approx(theirs.log_likelihood_, rel=1e-9)
        quantiles = ours.quantiles(Z[:20], np.array([0.25, 0.5]))
        curves = theirs.predict_survival_function(frame[:20], times=ours.times)
        for k in range(20):
            for q, level in enumerate((0.25, 0.5)):
                below = np.flatnonzero(curves.iloc[:, k].to_numpy() <= 1 - level)
                expected = ours.times[below[0]] if len(below) else ours.times[-1]
                assert quantiles[k, q] == pytest.approx(expected)

    def test_ties_follow_breslow(self):
        Z, time, event = draw(n=60, ties=True)
        target = Target.from_outcome(time, event)
        model = Cox.fit(Z, target, ridge=0.0)

        def log_likelihood(beta):
            total = 0.0
            for i in np.flatnonzero(event):
                risk = np.exp(Z[time >= time[i]] @ beta).sum()
                total += Z[i] @ beta - np.log(risk)
            return total

        assert model.log_likelihood == pytest.approx(log_likelihood(model.beta), rel=1e-10)
        for step in np.eye(3) * 1e-3:
            assert log_likelihood(model.beta + step) < model.log_likelihood
            assert log_likelihood(model.beta - step) < model.log_likelihood

    def test_left_censoring_is_the_mirror_image(self):
        Z, time, event = draw()
        right = Cox.fit(Z, Target.from_outcome(time, event))
        left = Cox.fit(Z, Target.from_outcome(-time, event, censoring="left"))
        np.testing.assert_array_equal(left.beta, right.beta)
        np.testing.assert_allclose(
            left.quantiles(Z, np.array([0.3])), -right.quantiles(Z, np.array([0.7]))
        )

    @pytest.mark.parametrize("left", [False, True])
    def test_curves_fall_through_the_quantiles(self, left):
        Z, time, event = draw()
        sign, censoring = (-1.0, "left") if left else (1.0, "right")
        model = Cox.fit(Z, Target.from_outcome(sign * time, event, censoring=censoring))
        level = 0.75 if left else 0.25
        times = model.quantiles(Z, np.array([level]))[:, 0]
        for k in range(20):
            step = 1e-9
            around = model.survival(Z[[k]], np.array([times[k] - step, times[k] + step]))[0]
            assert around[1] <= 1 - level + 1e-12 <= around[0] + 2e-12

    def test_cross_fitted_answers_do_not_see_their_row(self):
        Z, time, event = draw(n=100)
        grid = ScoringGrid(np.array([0.5]), 2.0, np.linspace(0.1, 2.0, 5), np.arange(5))
        predictions = predict_cox(Z, time, event, grid, "right")
        moved = time.copy()
        moved[7] *= 50
        again = predict_cox(Z, moved, event, grid, "right")
        assert predictions.quantiles[7] == again.quantiles[7]
        np.testing.assert_array_equal(predictions.survival[7], again.survival[7])
        assert np.isfinite(predictions.quantiles).all()
        assert np.isfinite(predictions.survival).all()

    def test_no_answer_where_one_fold_holds_all_events(self):
        Z, time, _ = draw(n=100)
        grid = ScoringGrid(np.array([0.5]), 2.0, np.linspace(0.1, 2.0, 5), np.arange(5))
        assert predict_cox(Z, time, np.arange(100) == 3, grid, "right") is None


class TestDesign:
    def test_columns(self):
        matrix = np.array(
            [[1.0, 0.0, 5.0], [2.0, 1.0, 5.0], [np.nan, 0.0, 5.0], [3.0, np.nan, 5.0]]
        )
        Z = design(matrix, np.array([0, 2, 0]))
        # A standardised number, its missing mark, two indicators beside the commonest category;
        # nothing for a constant.
        assert Z.shape == (4, 4)
        known = Z[[0, 1, 3], 0]
        assert known.mean() == pytest.approx(0.0)
        assert known.std() == pytest.approx(1.0)
        np.testing.assert_array_equal(Z[:, 1], [0, 0, 1, 0])
        assert Z[:, 2:].sum() == 2

    def test_nothing_to_learn_from(self):
        Z = design(np.ones((5, 2)), np.array([0, 0]))
        model = Cox.fit(Z, Target.from_outcome(np.arange(1.0, 6.0), np.ones(5, bool)))
        assert np.isfinite(model.quantiles(Z, np.array([0.5]))).all()
