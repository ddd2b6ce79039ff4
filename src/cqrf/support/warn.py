"""Warnings that point at the caller's own line, however deep inside the package they arise."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

_PACKAGE = str(Path(__file__).parents[1])


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn the caller of the package.

    Parameters
    ----------
    message : str
        What to say.
    category : type of Warning, default=UserWarning
        Of which kind the warning is.
    """
    depth, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        depth, frame = depth + 1, frame.f_back
    warnings.warn(message, category, stacklevel=depth)
