"""Small censored data sets to try the library on."""

from cqrf.datasets._load import load_congress, load_stormwater_cadmium

__all__ = ["load_congress", "load_stormwater_cadmium"]
