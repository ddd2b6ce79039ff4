r"""How good predicted quantiles are, when some of the times are censored.

Scores of censored times weight the uncensored rows by :math:`v_i = \delta_i / \hat G(Y_i-)`, with
G the Kaplan-Meier curve of the censoring time. They are consistent if censoring depends neither on
the time nor on the features, and speak of times within reach: up to where G falls to zero.
"""

from cqrf._ipcw import censoring_weights
from cqrf.metrics._curves import brier_score, integrated_brier_score
from cqrf.metrics._quantiles import (
    QuantileCalibration,
    censored_interval_coverage,
    censored_pinball_loss,
    d2_censored_pinball_score,
    interval_coverage,
    pinball_loss,
    quantile_calibration,
)
from cqrf.metrics._ranking import concordance_index, concordance_index_ipcw
from cqrf.metrics._scorers import SCORERS, QuantileScorer, make_quantile_scorer

__all__ = [
    "SCORERS",
    "QuantileCalibration",
    "QuantileScorer",
    "brier_score",
    "censored_interval_coverage",
    "censored_pinball_loss",
    "censoring_weights",
    "concordance_index",
    "concordance_index_ipcw",
    "d2_censored_pinball_score",
    "integrated_brier_score",
    "interval_coverage",
    "make_quantile_scorer",
    "pinball_loss",
    "quantile_calibration",
]
