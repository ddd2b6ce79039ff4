r"""How good predicted quantiles are, when some of the times are censored.

Everything is scored on min(T, h): predictions beyond the horizon h count as h, rows that are still
at risk at h are known there, and rows censored before are represented by others,

.. math::

    v_i = \frac{\delta_i 1\{Y_i < h\}}{\hat G(Y_i-)} + \frac{1\{Y_i \ge h\}}{\hat G(h-)},

with G the Kaplan-Meier curve of the censoring time. Such scores are proper, so that the truth has
the best expected one, if censoring depends neither on the time nor on the features.
`censored_log_score` needs no weights, and is proper also where censoring depends on the features.
"""

from cqrf.metrics.brier import brier_score, brier_skill_score, integrated_brier_score
from cqrf.metrics.ipcw import censoring_weights
from cqrf.metrics.likelihood import censored_log_score
from cqrf.metrics.quantiles import (
    QuantileCalibration,
    censored_interval_coverage,
    censored_pinball_loss,
    d2_censored_pinball_score,
    interval_coverage,
    pinball_loss,
    quantile_calibration,
)
from cqrf.metrics.ranking import concordance_index, concordance_index_ipcw
from cqrf.metrics.scorers import SCORERS, QuantileScorer, make_quantile_scorer

__all__ = [
    "SCORERS",
    "QuantileCalibration",
    "QuantileScorer",
    "brier_score",
    "brier_skill_score",
    "censored_interval_coverage",
    "censored_log_score",
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
