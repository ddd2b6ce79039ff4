"""Data sets that ship with the package, and simulated ones whose quantiles are known."""

from cqrf.datasets.load import load_congress, load_stormwater_cadmium
from cqrf.datasets.make import (
    make_aft,
    make_crossing,
    make_heteroscedastic,
    make_location_scale,
    make_manifold,
    make_sine,
)

__all__ = [
    "load_congress",
    "load_stormwater_cadmium",
    "make_aft",
    "make_crossing",
    "make_heteroscedastic",
    "make_location_scale",
    "make_manifold",
    "make_sine",
]
