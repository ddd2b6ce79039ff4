"""scikit-learn's own checks of an estimator, on the default and on its variants."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from cqrf import CensoredQuantileForest

# Few trees keep the checks quick. Many checks have some thirty rows, which the default never
# splits: variants with small leaves are those that put the trees to the test.
FEW = {"n_estimators": 10}
DEEP = {"n_estimators": 10, "min_samples_leaf": 1}

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
    CensoredQuantileForest(**DEEP, bootstrap=True),
    CensoredQuantileForest(**DEEP, max_samples=0.5),
    CensoredQuantileForest(**DEEP, honest=True),
    CensoredQuantileForest(**DEEP, honest=True, max_samples=0.8),
]


def expected_failures(forest):
    # As for scikit-learn's own forests, and for them alone.
    if forest.bootstrap or forest.max_samples is not None or forest.honest:
        return {
            "check_sample_weight_equivalence_on_dense_data": (
                "a row of weight two is drawn once, two equal rows are drawn twice"
            )
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
