"""A life test that is stopped: most rows survive it, and forests are still judged rightly."""

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV, KFold

from cqrf import CensoredQuantileForest, Surv
from cqrf.data.outcome import Target
from cqrf.metrics import brier_skill_score, d2_censored_pinball_score, make_quantile_scorer
from cqrf.metrics.curve_errors import scoring_times

pytestmark = pytest.mark.slow

END = 600.0
LEVELS = [0.05, 0.1, 0.25]


@pytest.fixture(scope="module")
def stopped():
    """(X, T, y): Weibull lives under loads and temperatures, in hours, stopped after 600 h."""
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(800, 4))
    scale = 2200.0 * np.exp(-0.9 * X[:, 0] - 0.6 * X[:, 1])
    T = scale * rng.weibull(2.0, 800)
    return X, T, Surv.from_arrays(T <= END, np.minimum(T, END))


def test_the_forest_saves_a_share_at_every_level(stopped):
    X, T, y = stopped
    assert 0.66 < np.mean(T > END) < 0.72
    forest = CensoredQuantileForest(200, random_state=0).fit(X, y)
    assert forest.horizon_ == END
    predicted = forest.oob_predict(LEVELS)
    found = d2_censored_pinball_score(y, predicted, LEVELS, multioutput="raw_values")
    assert (found > 0.0).all()
    # All that are censored are at risk at the horizon: nothing is lost by the censoring.
    cut = np.minimum(T, END)
    told = d2_censored_pinball_score(cut, predicted, LEVELS, multioutput="raw_values")
    np.testing.assert_allclose(found, told, rtol=1e-12)
    assert forest.oob_score() > 0.0


def told(scoring, forest, X, y, lives):
    """What the score would be if every life up to the end were known."""
    train = Target.from_outcome(lives(forest.target_.observed), np.ones(forest.target_.n, bool))
    options = {"train": train, "horizon": END}
    if scoring is not None:
        return d2_censored_pinball_score(
            lives(y["time"]), forest.predict(X, LEVELS), LEVELS, **options
        )
    times = scoring_times(forest.target_, END)
    survival = forest.predict_survival_function(X, times=times)
    return brier_skill_score(lives(y["time"]), np.clip(survival, 0, 1), times, **options)


@pytest.mark.parametrize("early", [np.inf, 700.0])
@pytest.mark.parametrize("scoring", [None, make_quantile_scorer("d2", quantiles=LEVELS)])
def test_a_search_ranks_as_if_all_lives_were_known(stopped, scoring, early):
    X, T, y = stopped
    if early < np.inf:
        # Some are withdrawn before the end.
        C = np.minimum(np.random.default_rng(1).exponential(early, 800), END)
        y = Surv.from_arrays(T <= C, np.minimum(T, C))
    # Who is there at the end may live for ever: beyond it all are alike.
    known = dict(zip(y["time"], np.where(y["time"] == END, 1e9, T), strict=True))

    def scores(forest, X, y):
        seen = forest.score(X, y) if scoring is None else scoring(forest, X, y)
        lives = np.vectorize(known.get, otypes=[float])
        return {"seen": seen, "told": told(scoring, forest, X, y, lives)}

    # Of 2,000 rows nothing is split.
    search = GridSearchCV(
        CensoredQuantileForest(50, random_state=0),
        {"min_samples_split": [40, 150, 2000]},
        scoring=scores,
        refit="seen",
        cv=KFold(4, shuffle=True, random_state=0),
        error_score="raise",
    ).fit(X, y)
    seen, lived = (search.cv_results_[f"mean_test_{name}"] for name in ("seen", "told"))
    # All that are censored at the end are known there: without withdrawals nothing is lost.
    tolerance = 1e-9 if early == np.inf else 0.03
    np.testing.assert_allclose(seen, lived, atol=tolerance)
    np.testing.assert_array_equal(np.argsort(seen), np.argsort(lived))
    assert search.best_params_["min_samples_split"] < 2000
    assert seen[-1] < 0.01
    assert search.best_score_ > seen[-1] + 0.02
