"""Conditional quantiles of a time that is only partly observed."""

from cqrf._files import ModelFileError
from cqrf.curves import StepFunction
from cqrf.forest import CensoredQuantileForest
from cqrf.importance import Importance
from cqrf.solve import solve_quantiles, survival_curves
from cqrf.surv import Surv
from cqrf.weights import leaf_weights

__all__ = [
    "CensoredQuantileForest",
    "Importance",
    "ModelFileError",
    "StepFunction",
    "Surv",
    "leaf_weights",
    "solve_quantiles",
    "survival_curves",
]

__version__ = "0.1.0"
