"""A short version of `make coverage`: fixed seeds, thresholds in standard errors."""

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

from interval_coverage import LITTLE_BAGS, LOWER_BOUNDS, SETTINGS, figure, measure, page

pytestmark = pytest.mark.slow

REPLICATIONS = 24
# Of a mean that is right, fewer than one in 500 is so many standard errors away (t with 23
# degrees of freedom).
CLEAR = 3.5
HARD, EASY = SETTINGS[5], SETTINGS[2]


@pytest.fixture(scope="module")
def results():
    return {
        (setting.name, n): measure(setting, n, REPLICATIONS, n_jobs=1)
        for setting, n in ((HARD, 500), (EASY, 2000))
    }


def margin(shares):
    return CLEAR * np.std(shares, ddof=1) / np.sqrt(len(shares))


@pytest.mark.parametrize("method", ["conformal, held-out", "conformal, out-of-bag"])
def test_conformal_lower_bounds(results, method):
    low, high = LOWER_BOUNDS
    for found in results.values():
        shares = found.bands[method][:, 0]
        assert low - margin(shares) < shares.mean() < high + margin(shares)
        assert found.bands[method][:, 1].mean() > 0.8


def test_conformal_intervals(results):
    for found in results.values():
        shares = found.bands["conformal, held-out"][:, 2]
        assert abs(shares.mean() - 0.9) < margin(shares) + 0.01


def test_little_bags(results):
    low, high = LITTLE_BAGS
    found = results[EASY.name, 2000]
    for shares in (found.truth.mean(axis=1), found.expectation.mean(axis=1)):
        assert low - margin(shares) < shares.mean() < high + margin(shares)
    assert (np.abs(np.log(found.calibration)) < np.log(1.5)).all()


def test_page_and_figure(results, tmp_path):
    text = page(results, 1.0, {500: REPLICATIONS, 2000: REPLICATIONS})
    assert text.count("AFT 5-D, 50%") >= 9
    pytest.importorskip("matplotlib")
    figure(results).savefig(tmp_path / "coverage.png")
