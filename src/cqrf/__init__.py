"""Conditional quantiles of a time that is only partly observed."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cqrf._files import ModelFileError
    from cqrf.curves import StepFunction
    from cqrf.explain import Explanation
    from cqrf.forest import CensoredQuantileForest
    from cqrf.importance import Importance
    from cqrf.labels import OutcomeLabels
    from cqrf.solve import solve_quantiles, survival_curves
    from cqrf.surv import Surv
    from cqrf.weights import leaf_weights

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

__version__ = "0.1.0"

# Where the names are looked for. Importing them takes a second, most of it scikit-learn, which a
# shell that completes `cqrf fi` must not wait for.
_MODULES = (
    "forest",
    "explain",
    "importance",
    "solve",
    "surv",
    "weights",
    "curves",
    "labels",
    "_files",
)


def __getattr__(name: str) -> Any:
    """Import a public name, or a module of the package, when it is first asked for."""
    if name in __all__:
        for module in _MODULES:
            found = vars(import_module(f"cqrf.{module}"))
            if name in found:
                globals()[name] = found[name]
                return found[name]
    elif not name.startswith("__"):
        try:
            return import_module(f"cqrf.{name}")
        except ModuleNotFoundError as error:
            if error.name != f"cqrf.{name}":
                raise
    raise AttributeError(f"module 'cqrf' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
