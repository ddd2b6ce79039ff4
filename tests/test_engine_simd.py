"""Instruction sets are chosen while the program runs, and change no result."""

import platform
import subprocess
import sys
from pathlib import Path

import pytest

from cqrf import _engine

NAMES = ["portable", "avx2", "avx512"]
# What /proc/cpuinfo calls the instructions of each set.
FLAGS = {
    "avx2": {"avx2", "bmi1", "bmi2", "popcnt"},
    "avx512": {"avx512f", "avx512bw", "avx512vl", "avx512dq"},
}


def offered(name):
    """Whether the processor has the instructions, as the operating system tells."""
    if name == "portable":
        return True
    if platform.machine() != "x86_64":
        return False
    if not Path("/proc/cpuinfo").exists():
        pytest.skip("the operating system does not tell what the processor has")
    flags = set(Path("/proc/cpuinfo").read_text().partition("flags")[2].partition("\n")[0].split())
    return flags >= FLAGS["avx2"] and (name == "avx2" or flags >= FLAGS["avx512"])


@pytest.fixture
def restored():
    before = _engine.isa()
    yield
    _engine.force_isa(before)


@pytest.mark.parametrize("name", NAMES)
def test_forced_or_refused(name, restored):
    if offered(name):
        _engine.force_isa(name)
        assert _engine.isa() == name
    else:
        before = _engine.isa()
        with pytest.raises(ValueError, match=f"no {name} instructions; the best it has is"):
            _engine.force_isa(name)
        assert _engine.isa() == before


def test_unknown_name(restored):
    with pytest.raises(ValueError, match="named 'sse9'; choose portable, avx2 or avx512"):
        _engine.force_isa("sse9")


def run(code, isa):
    command = [sys.executable, "-c", f"from cqrf import _engine\n{code}"]
    environment = {"CQRF_ISA": isa, "PYTHONPATH": ":".join(sys.path)}
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("name", NAMES)
def test_environment_variable(name):
    done = run("print(_engine.isa())", name)
    if offered(name):
        assert (done.returncode, done.stdout) == (0, f"{name}\n")
    else:
        assert (
            f"ValueError: environment variable CQRF_ISA: this machine has no {name}" in done.stderr
        )


def test_environment_variable_is_wrong():
    # The import works, the first use tells what is wrong, and force_isa helps.
    done = run(
        "try: _engine.isa()\nexcept ValueError as error: print(error)\n"
        "_engine.force_isa('portable')\nprint(_engine.isa())",
        "sse9",
    )
    assert done.returncode == 0, done.stderr
    message, after = done.stdout.splitlines()
    assert message.startswith(
        "environment variable CQRF_ISA: there are no instructions named 'sse9'"
    )
    assert after == "portable"


def test_empty_environment_variable_chooses_the_best():
    best = max((name for name in NAMES if offered(name)), key=NAMES.index)
    assert run("print(_engine.isa())", "").stdout == f"{best}\n"
