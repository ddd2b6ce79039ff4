"""Resident memory of this process, as Linux counts it."""

from __future__ import annotations

import ctypes
import dataclasses
import gc
from pathlib import Path
from typing import Any

import numpy as np

_STATUS = Path("/proc/self/status")


def resident_mb() -> float:
    """Memory now."""
    return _kilobytes("VmRSS") / 1000


def peak_mb() -> float:
    """Most memory since `forget_peak`."""
    return _kilobytes("VmHWM") / 1000


def forget_peak() -> None:
    """Begin a new peak, once what is free has gone back to the system."""
    gc.collect()
    libc = ctypes.CDLL(None)
    if hasattr(libc, "malloc_trim"):
        libc.malloc_trim(0)
    if _STATUS.exists():
        Path("/proc/self/clear_refs").write_text("5")


def _kilobytes(which: str) -> float:
    if not _STATUS.exists():
        return float("nan")
    line = next(line for line in _STATUS.read_text().splitlines() if line.startswith(which))
    return int(line.split()[1])


def array_bytes(owner: Any) -> dict[str, int]:
    """Bytes of the arrays that an object holds, itself or through others, by their path.

    An array that is reached twice, or a view of one, counts once.
    """
    found: dict[str, int] = {}
    seen: set[int] = set()

    def walk(value: Any, path: str) -> None:
        if id(value) in seen:
            return
        seen.add(id(value))
        if isinstance(value, np.ndarray):
            base = value
            while isinstance(base.base, np.ndarray):
                base = base.base
            if base is value or id(base) not in seen:
                seen.add(id(base))
                found[path] = base.nbytes
        elif isinstance(value, dict):
            for key, each in value.items():
                walk(each, f"{path}.{key}")
        elif isinstance(value, list | tuple):
            for k, each in enumerate(value):
                walk(each, f"{path}[{k}]")
        elif dataclasses.is_dataclass(value) or type(value).__module__.startswith("cqrf"):
            for key, each in getattr(value, "__dict__", {}).items():
                walk(each, f"{path}.{key}")

    walk(owner, "")
    return {path.lstrip("."): size for path, size in found.items()}
