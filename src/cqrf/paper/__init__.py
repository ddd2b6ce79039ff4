"""The experiments of the paper, rerun: ``cqrf paper run all``.

Methods are registered in `cqrf.paper.methods`, data models in `cqrf.paper.simulations`, experiments
in the modules that `load_experiments` imports.
"""

from importlib import import_module

_MODULES = ("illustrations", "simulations", "anchors", "real")
# In the order of the paper, then what goes beyond it.
ORDER = (
    "equations",
    "aft_1d",
    "censoring_curves",
    "sine_1d",
    "aft_5d",
    "manifold_5d",
    "node_size",
    "real",
    "real_node_size",
    "intervals",
    "anchors",
    "aft_1d_half",
    "aft_5d_dependent",
    "heteroscedastic",
    "aft_1d_left",
    "aft_5d_left",
    "convergence",
)


def load_experiments() -> None:
    """Import the modules that register the experiments."""
    for module in _MODULES:
        import_module(f"cqrf.paper.{module}")
