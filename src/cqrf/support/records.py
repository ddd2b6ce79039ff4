"""Immutable records of arrays that carry an engine object beside them."""

from __future__ import annotations

from dataclasses import fields
from typing import Any


class Record:
    """Base of frozen dataclasses whose engine object is made on demand and never stored.

    Pickling and copying take the fields alone: what is derived from them is derived again.
    """

    def __getstate__(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]
