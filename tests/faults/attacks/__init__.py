"""Malformed model files, built by code. See README.md."""

from attacks.draft import Draft
from attacks.mutants import mutate
from attacks.registry import ATTACKS

__all__ = ["ATTACKS", "Draft", "mutate"]
