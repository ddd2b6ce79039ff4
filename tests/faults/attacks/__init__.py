"""Malformed model files, built by code. See README.md."""

from attacks.blocks import BLOCK_ATTACKS
from attacks.draft import Draft, to_block_bytes
from attacks.mutants import mutate
from attacks.registry import ATTACKS

__all__ = ["ATTACKS", "BLOCK_ATTACKS", "Draft", "mutate", "to_block_bytes"]
