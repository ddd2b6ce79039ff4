"""A life test that is stopped: most rows survive it, and forests are still judged rightly."""

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV, KFold

from cqrf import CensoredQuantileForest, Surv
from cqrf.metrics import d2_censored_pinball_score, make_quantile_scorer

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


@pytest.mark.parametrize("scoring", [None, make_quantile_scorer("d2", quantiles=LEVELS)])
def test_a_search_does_not_prefer_a_forest_without_splits(stopped, scoring):
    X, _, y = stopped
    forest = CensoredQuantileForest(50, random_state=0)
    # Of 2,000 rows nothing is split.
    search = GridSearchCV(
        forest,
        {"min_samples_split": [40, 100, 2000]},
        scoring=scoring,
        cv=KFold(4, shuffle=True, random_state=0),
        error_score="raise",
    ).fit(X, y)
    assert search.best_params_["min_samples_split"] < 2000
    without = search.cv_results_["mean_test_score"][-1]
    assert without < 0.01
    assert search.best_score_ > without + 0.02
