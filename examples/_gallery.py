"""Where the gallery's scripts put their pictures."""

from __future__ import annotations

import argparse
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

_IMAGES = Path(__file__).parents[1] / "docs" / "images"


def folder() -> Path:
    """Return the folder given by ``--output``; by default that of the documentation."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--output", type=Path, default=_IMAGES, help="folder for the pictures")
    output = parser.parse_args().output
    output.mkdir(parents=True, exist_ok=True)
    return output


def save(figure: object, name: str) -> None:
    """Write a figure as PNG."""
    figure.savefig(folder() / f"{name}.png", dpi=110)
