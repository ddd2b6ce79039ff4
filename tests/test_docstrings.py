"""Every example of a docstring runs and gives what it shows."""

import doctest
from importlib import import_module
from pathlib import Path

import pytest

import cqrf

ROOT = Path(cqrf.__file__).parent
MODULES = sorted(
    ".".join(["cqrf", *path.relative_to(ROOT).with_suffix("").parts]).removesuffix(".__init__")
    for path in ROOT.rglob("*.py")
    if ">>> " in path.read_text()
)


def test_there_are_examples():
    assert {"cqrf.forest", "cqrf.solving.solve", "cqrf.metrics.scorers"} <= set(MODULES)


@pytest.mark.parametrize("module", MODULES)
def test_examples(module):
    result = doctest.testmod(import_module(module))
    assert result.attempted > 0
    assert result.failed == 0
