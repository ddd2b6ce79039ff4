"""The default forest beside the paper's rule and beside forests that are told the true times.

A short version of `make accuracy`: four models, few replications and trees, fixed seeds.
"""

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

from models import geometric_mean
from near_oracle import replicate, tuned

from cqrf.paper.tables import ratio_of_means

pytestmark = pytest.mark.slow

MODELS = ("AFT, 1-D, 45% censored", "AFT, 5-D", "heteroscedastic, 40-D", "crossing hazards")
PAPER, ORACLE, TOLD = "(a) paper's rule", "(b) oracle quantile forest", "(d) default, told T"
REPLICATIONS = 6
# Fewer than one ratio in 100 is so many standard errors away (t with 5 degrees of freedom).
CLEAR = 3.4


@pytest.fixture(scope="module")
def ratios():
    """Ratio of the MAD and its standard error, by model and rival."""
    found = {}
    for model in MODELS:
        runs = [replicate(model, seed, 100, [PAPER, ORACLE, TOLD]) for seed in range(REPLICATIONS)]
        ours = np.array([run[0] for run in runs])
        for rival in (PAPER, ORACLE, TOLD):
            theirs = tuned(np.array([run[1][rival] for run in runs]))
            found[model, rival] = ratio_of_means(ours, theirs)
    return found


def overall(ratios, rival):
    """Geometric mean over the models, and its standard error."""
    pairs = [ratios[model, rival] for model in MODELS]
    mean = geometric_mean([ratio for ratio, _ in pairs])
    relative = np.array([error / ratio for ratio, error in pairs])
    return mean, mean * np.sqrt((relative**2).sum()) / len(pairs)


def test_clearly_better_than_the_papers_rule(ratios):
    mean, error = overall(ratios, PAPER)
    assert mean + CLEAR * error < 0.97
    for model in MODELS:
        ratio, error = ratios[model, PAPER]
        assert ratio < 0.97 + CLEAR * error


def test_not_clearly_worse_than_the_oracle_quantile_forest(ratios):
    mean, error = overall(ratios, ORACLE)
    assert mean < 1.0 + CLEAR * error


def test_the_true_times_would_help(ratios):
    # Otherwise the forest would not have been told them.
    mean, error = overall(ratios, TOLD)
    assert 1.0 < mean < 1.25 + CLEAR * error
