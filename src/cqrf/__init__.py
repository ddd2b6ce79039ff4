"""Conditional quantiles of a time that is only partly observed."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cqrf.data.labels import OutcomeLabels
    from cqrf.data.surv import Surv
    from cqrf.forest import CensoredQuantileForest
    from cqrf.model.explain import Explanation
    from cqrf.model.importance import Importance
    from cqrf.solving.curves import StepFunction
    from cqrf.solving.solve import solve_quantiles, survival_curves
    from cqrf.solving.weights import leaf_weights
    from cqrf.storage.container import ModelFileError

__version__ = "0.1.0"

__all__ = [
    "CensoredQuantileForest",
    "Explanation",
    "Importance",
    "ModelFileError",
    "OutcomeLabels",
    "StepFunction",
    "Surv",
    "leaf_weights",
    "solve_quantiles",
    "survival_curves",
]

# Public names and their modules. Importing them takes a second, most of it scikit-learn, which a
# shell that completes `cqrf fi` must not wait for.
_MODULE_OF = {
    "CensoredQuantileForest": "cqrf.forest",
    "Explanation": "cqrf.model.explain",
    "Importance": "cqrf.model.importance",
    "ModelFileError": "cqrf.storage.container",
    "OutcomeLabels": "cqrf.data.labels",
    "StepFunction": "cqrf.solving.curves",
    "Surv": "cqrf.data.surv",
    "leaf_weights": "cqrf.solving.weights",
    "solve_quantiles": "cqrf.solving.solve",
    "survival_curves": "cqrf.solving.solve",
}
_MODULES = ("datasets", "metrics", "paper", "plot")


def __getattr__(name: str) -> Any:
    """Import a public name or module when it is first asked for."""
    if name in _MODULE_OF:
        found = getattr(import_module(_MODULE_OF[name]), name)
        globals()[name] = found
        return found
    if name in _MODULES:
        return import_module(f"cqrf.{name}")
    raise AttributeError(f"module 'cqrf' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_MODULES})
