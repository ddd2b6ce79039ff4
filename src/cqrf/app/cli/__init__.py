"""The command line: ``cqrf ...``."""

from __future__ import annotations

import sys

try:
    import click as click
except ImportError:
    sys.exit("cqrf: the command line needs an extra: pip install 'cqrf[cli]'")

from cqrf.app.cli.program import main

__all__ = ["main"]
