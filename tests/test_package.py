"""The package imports its names when they are asked for, and all of them are there."""

import subprocess
import sys

import pytest

import cqrf


@pytest.mark.parametrize("name", cqrf.__all__)
def test_every_public_name_is_there(name):
    assert getattr(cqrf, name).__name__ == name
    assert name in dir(cqrf)


def test_modules_are_there_too():
    assert cqrf.metrics.pinball_loss is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = cqrf.nothing


def test_the_help_does_not_wait_for_heavy_packages():
    code = (
        "import sys\n"
        "from cqrf.app.cli.program import program\n"
        "program.main(['--help'], standalone_mode=False)\n"
        "print(sorted({'sklearn', 'scipy', 'pandas', 'pyarrow'} & set(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
