"""Instruction sets are chosen while the program runs, and change no result."""

import platform
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from cqrf import CensoredQuantileForest, _engine

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


def draw(n, p, seed):
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, p))
    X[rng.random((n, p)) < 0.05] = np.nan
    X[:, p - 1] = rng.integers(0, 7, n)
    T = np.exp(np.nan_to_num(X[:, 0]) + 0.5 * rng.normal(size=n))
    C = rng.exponential(4.0, n)
    return X, np.minimum(T, C), T <= C, rng.integers(1, 5, n)


ARRAYS = ["nodes", "node_offset", "subsets", "subset_offset", "leaf_start"]


@pytest.mark.parametrize("p", [4, 16, 19, 40])
@pytest.mark.parametrize("n_thresholds", [None, 1, 2])
@pytest.mark.parametrize("criterion", ["distribution", "mse", "quantile", "logrank"])
def test_trees_do_not_depend_on_the_instructions(criterion, n_thresholds, p, restored):
    X, time, event, weight = draw(300, p, seed=p)
    first = None
    for name in filter(offered, NAMES):
        _engine.force_isa(name)
        grown = []
        for sample_weight in (None, weight):
            for parameters in ({"min_samples_leaf": 7}, {"bootstrap": True, "max_features": 3}):
                forest = CensoredQuantileForest(
                    3,
                    criterion=criterion,
                    n_thresholds=n_thresholds,
                    categorical_features=[p - 1],
                    random_state=0,
                    **{"min_samples_split": 20, **parameters},
                )
                forest.fit(X, time, event, sample_weight=sample_weight)
                grown += [getattr(forest.trees_, array) for array in ARRAYS]
                grown.append(forest.apply(X))
        first = first or grown
        for a, b in zip(first, grown, strict=True):
            np.testing.assert_array_equal(a, b)
