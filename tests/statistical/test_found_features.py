"""Importance finds the features that matter; benchmarks/importance.py has all replications."""

import numpy as np
import pandas as pd
import pytest
from lifelines import CoxPHFitter
from lifelines.datasets import load_gbsg2, load_rossi

from cqrf import CensoredQuantileForest
from cqrf.datasets import make_aft

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("seed", [0, 1])
def test_five_features_of_the_aft_model_among_twenty_of_noise(seed):
    data = make_aft(5000, n_features=5, n_noise=20, random_state=seed)
    forest = CensoredQuantileForest(100, n_jobs=2, random_state=seed)
    forest.fit(data.X, data.time, data.event)
    found = forest.oob_importance(n_repeats=2, random_state=seed)
    mean, z = found.mean, found.mean / found.std_error
    assert mean[:5].min() > mean[5:].max()
    # Coefficients are 0.1 to 0.5: so are the effects ordered, far beyond their errors.
    assert (np.diff(mean[:5]) > 2 * found.std_error[1:5]).all()
    # Noise: 20 approximately standard normal numbers exceed 4 once in 800 samples.
    assert np.abs(z[5:]).max() < 4
    shares = forest.split_importance()
    assert shares[:5].min() > shares[5:].max()


def rossi():
    data = load_rossi()
    return data.drop(columns=["week", "arrest"]), data["week"], data["arrest"] == 1


def gbsg2():
    data = load_gbsg2()
    return data.drop(columns=["time", "cens"]), data["time"], data["cens"] == 1


@pytest.mark.parametrize(
    ("load", "significant"),
    [
        (rossi, {"age", "prio"}),
        (gbsg2, {"horTh", "tgrade", "pnodes", "progrec"}),
    ],
)
def test_no_feature_that_cox_finds_comes_out_harmful(load, significant):
    X, time, event = load()
    dummies = pd.get_dummies(X, drop_first=True, dtype=float)
    cox = CoxPHFitter().fit(dummies.assign(time=time, event=event), "time", "event")
    clear = cox.summary.index[cox.summary["p"] < 0.01]
    # Categories have a column for each but one of their values.
    assert {name for name in X for column in clear if column.startswith(name)} == significant
    features = X.astype(dict.fromkeys(X.select_dtypes(exclude="number"), "category"))
    for seed in range(2):
        forest = CensoredQuantileForest(300, n_jobs=2, random_state=seed)
        found = forest.fit(features, time, event).oob_importance(random_state=seed)
        z = dict(zip(found.feature_names, found.mean / found.std_error, strict=True))
        assert all(z[name] >= -2.0 for name in significant), z
        # The forest as a whole has something to say.
        assert forest.oob_score() > 0.0
