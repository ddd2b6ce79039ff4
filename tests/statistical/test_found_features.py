"""Importance finds the features that matter; benchmarks/importance.py has all replications."""

import numpy as np
import pytest

from cqrf import CensoredQuantileForest
from cqrf.datasets import make_aft


@pytest.mark.parametrize("seed", [0, 1])
def test_five_features_of_the_aft_model_among_twenty_of_noise(seed):
    data = make_aft(5000, n_features=5, n_noise=20, random_state=seed)
    forest = CensoredQuantileForest(100, n_jobs=2, random_state=seed)
    forest.fit(data.X, data.time, data.event)
    found = forest.oob_importance(n_repeats=2, random_state=seed)
    mean, z = found.mean[:, 0], (found.mean / found.std_error)[:, 0]
    assert mean[:5].min() > mean[5:].max()
    # Coefficients are 0.1 to 0.5: so are the effects ordered, far beyond their errors.
    assert (np.diff(mean[:5]) > 2 * found.std_error[1:5, 0]).all()
    # Noise: 20 approximately standard normal numbers exceed 4 once in 800 samples.
    assert np.abs(z[5:]).max() < 4
    shares = forest.split_importance()
    assert shares[:5].min() > shares[5:].max()
