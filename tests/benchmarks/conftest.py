"""Benchmarks are scripts: their folder comes last, because one has the name of a library."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))
