"""A row that the forest was grown from leans on itself; out of bag it does not.

The figures are those of docs/guide/quantiles.md.
"""

import numpy as np
import pytest
from lifelines import KaplanMeierFitter
from lifelines.datasets import load_rossi

from cqrf import CensoredQuantileForest

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def rossi():
    """Weeks until arrest, whether arrested, and 10% times of all rows: as new rows, out of bag."""
    data = load_rossi()
    week, arrested = data["week"].to_numpy(), (data["arrest"] == 1).to_numpy()
    X = data.drop(columns=["week", "arrest"])
    forest = CensoredQuantileForest(random_state=0).fit(X, week, arrested)
    return week, arrested, forest.predict(X, 0.1), forest.oob_predict(0.1)


def test_one_row_repeats_its_own_outcome(rossi):
    week, arrested, leaning, out_of_bag = rossi
    (row,) = np.flatnonzero((week == 2) & arrested)
    assert f"{leaning[row]:.1f}" == "2.1"
    assert f"{out_of_bag[row]:.0f}" == "37"


@pytest.mark.filterwarnings("ignore:Approximating using")
def test_early_rows_look_early_and_are_not(rossi):
    week, arrested, leaning, out_of_bag = rossi
    early = arrested & (week <= 10)
    assert early.sum() == 15
    assert f"{np.median(leaning[early]):.0f}" == "14"
    assert f"{np.median(out_of_bag[early]):.0f}" == "21"
    # Of all rows, 10% are arrested by then.
    assert KaplanMeierFitter().fit(week, arrested).percentile(0.9) == 23.0
