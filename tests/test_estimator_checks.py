"""scikit-learn's own checks of an estimator, on the default and on its variants."""

import numpy as np
import pytest
from sklearn.datasets import make_regression
from sklearn.metrics import r2_score
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import parametrize_with_checks

from cqrf import CensoredQuantileForest

# Few trees keep the checks quick. Many checks have some thirty rows, which the default never
# splits: variants with small leaves are those that put the trees to the test.
FEW = {"n_estimators": 10}
DEEP = {"n_estimators": 10, "min_samples_leaf": 1, "max_samples": None}
DRAWN = {"n_estimators": 10, "min_samples_leaf": 1}

EVERY_ROW_IN_EVERY_TREE = [
    CensoredQuantileForest(**FEW),
    CensoredQuantileForest(**DEEP),
    CensoredQuantileForest(**DEEP, criterion="random"),
    CensoredQuantileForest(**DEEP, criterion="mse"),
    CensoredQuantileForest(**DEEP, criterion="quantile"),
    CensoredQuantileForest(**DEEP, criterion="logrank"),
    CensoredQuantileForest(**FEW, censoring="left"),
    CensoredQuantileForest(**DEEP, censoring="left"),
    CensoredQuantileForest(**DEEP, censoring_curve="knn", n_neighbors=1),
    CensoredQuantileForest(**FEW, censoring_curve="kernel"),
    CensoredQuantileForest(**DEEP, censoring_curve="marginal"),
]
ROWS_ARE_DRAWN = [
    CensoredQuantileForest(**DRAWN),
    CensoredQuantileForest(**DRAWN, bootstrap=True),
    CensoredQuantileForest(**DRAWN, max_samples=0.5),
    CensoredQuantileForest(**DRAWN, honest=True),
    CensoredQuantileForest(**DRAWN, honest=True, max_samples=0.8),
]


def expected_failures(forest):
    # As for scikit-learn's own forests, and for them alone: rows are drawn, and trees have splits.
    if forest.max_samples is not None and forest.min_samples_leaf is not None:
        return {
            f"check_sample_weight_equivalence_on_{kind}_data": (
                "a row of weight two is drawn once, two equal rows are drawn twice"
            )
            for kind in ("dense", "sparse")
        }
    return {}


@parametrize_with_checks(
    EVERY_ROW_IN_EVERY_TREE + ROWS_ARE_DRAWN, expected_failed_checks=expected_failures
)
def test_estimator(estimator, check):
    check(estimator)


@pytest.mark.parametrize("forest", EVERY_ROW_IN_EVERY_TREE, ids=repr)
def test_nothing_is_expected_to_fail(forest):
    assert expected_failures(forest) == {}


@pytest.mark.parametrize("forest", EVERY_ROW_IN_EVERY_TREE + ROWS_ARE_DRAWN, ids=repr)
def test_no_poor_score_is_asked_to_be_excused(forest):
    assert get_tags(forest).regressor_tags.poor_score is False


@pytest.mark.parametrize("decimals", [0, 6])
def test_r2_on_new_data_of_the_checks(decimals):
    # What scikit-learn asks of `score` on the training data, as an R2 of the medians on new data;
    # also with whole numbers for features.
    X, y = make_regression(
        n_samples=400, n_features=10, n_informative=1, bias=5.0, noise=20, random_state=42
    )
    X = np.round(X, decimals)
    forest = CensoredQuantileForest(n_estimators=10, random_state=0).fit(X[:200], y[:200])
    assert r2_score(y[200:], forest.predict(X[200:])) > 0.5
