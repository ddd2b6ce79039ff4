"""Too little memory is a MemoryError, whatever is being done and however many threads do it."""

import inspect
import os
import subprocess
import sys
import time

import numpy as np
import pytest

from cqrf import CensoredQuantileForest, _engine

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not sys.platform.startswith("linux"), reason="reads /proc and limits the address space"
    ),
]

# Limits per task; `make faults` tries many more.
N_LIMITS = int(os.environ.get("CQRF_MEMORY_LIMITS", "8"))


def n_threads():
    return len(os.listdir("/proc/self/task"))


def all_ended(threads):
    """Whether no more than so many threads are left: one that was joined is listed for a moment."""
    deadline = time.monotonic() + 30.0
    while n_threads() > threads and time.monotonic() < deadline:
        time.sleep(0.001)
    return n_threads() <= threads


COMMON = """
import ctypes, os, resource, sys, time
import numpy as np
import cqrf.support.blocks
from cqrf import CensoredQuantileForest

rng = np.random.default_rng(0)

def draw(n):
    X = rng.uniform(size=(n, 6))
    T = np.exp(X[:, 0] + 0.3 * rng.normal(size=n))
    C = rng.exponential(5.0, n)
    return X, np.minimum(T, C), T <= C

def memory(name):
    for line in open("/proc/self/status"):
        if line.startswith(name):
            return 1024 * int(line.split()[1])

"""
COMMON += inspect.getsource(n_threads) + inspect.getsource(all_ended)

# One process tries all tasks with many limits: it would not live to the end if one crashed it. Of
# every task a run without a limit comes first and measures what it takes; what other packages
# import late they import there.
SWEEP = """
n_jobs, n_limits, folder = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
X, y, event = draw(3_000)
levels = np.linspace(0.01, 0.99, 60)
old = CensoredQuantileForest(40, n_jobs=n_jobs, random_state=0).fit(X, y, event)
few = old.predict(X[:20])

def fit(**parameters):
    forest = CensoredQuantileForest(30, n_jobs=n_jobs, random_state=0, **parameters)
    return forest.fit(X, y, event).trees_.ranks()

def save_and_load():
    old.save(folder + "/model.cqrf")
    return CensoredQuantileForest.load(folder + "/model.cqrf").model_.bins

large = CensoredQuantileForest(
    20, min_samples_leaf=500, time_resolution=3_000, n_jobs=n_jobs, random_state=0
).fit(X, y)

def by_cells():
    large.trees_.__dict__.pop("engine", None)
    quantiles = large.predict(X, [0.1, 0.5, 0.9])
    assert large.trees_.engine.cells_bytes > 0
    return quantiles

kernel = CensoredQuantileForest(
    10, censoring_curve="kernel", min_samples_leaf=100, n_jobs=n_jobs, random_state=0
).fit(X, y, event)
tasks = {
    "fit": fit,
    "fit, best splits": lambda: fit(criterion="mse", min_samples_leaf=5, bootstrap=True),
    "predict": lambda: old.predict(X, levels),
    "predict, by cells": by_cells,
    "predict, kernel": lambda: kernel.predict(X[:150], levels),
    "curves": lambda: old.predict_survival_function(X[:800])[-1].y,
    "weights": lambda: old.forest_weights(X[:800]).data,
    "out of bag": lambda: old.oob_predict(levels),
    "save and load": save_and_load,
}
threads = n_threads()
limits = resource.getrlimit(resource.RLIMIT_AS)
for name, task in tasks.items():
    print(name, end=" ", flush=True)
    right = task()
    before = memory("VmSize")
    # The peak of everything so far: more than this task takes, but no less.
    need = memory("VmPeak") - before + 2**20
    failed = 0
    for k in range(n_limits):
        ctypes.CDLL(None).malloc_trim(0)
        # Most of the limits are low ones: there small allocations fail as well.
        spare = int((k / n_limits) ** 3 * need)
        resource.setrlimit(resource.RLIMIT_AS, (memory("VmSize") + spare, limits[1]))
        try:
            answer = task()
        except MemoryError:
            failed += 1
            answer = None
        finally:
            resource.setrlimit(resource.RLIMIT_AS, limits)
        assert answer is None or np.array_equal(answer, right, equal_nan=True), "another answer"
        assert all_ended(threads)
    print(failed, flush=True)
    assert np.array_equal(old.predict(X[:20]), few)
print("all", flush=True)
"""


@pytest.mark.parametrize("n_jobs", [1, 8])
def test_every_limit_is_a_memory_error_or_enough(n_jobs, tmp_path):
    # One heap for all threads: what one of them leaves is what the others find.
    child = subprocess.run(
        [sys.executable, "-c", COMMON + SWEEP, str(n_jobs), str(N_LIMITS), str(tmp_path)],
        capture_output=True,
        text=True,
        env=os.environ | {"MALLOC_ARENA_MAX": "1"},
    )
    said = (child.stdout, child.stderr[-2000:])
    assert child.returncode == 0, (child.returncode, *said)
    assert child.stdout.endswith("all\n"), said
    # Limits were reached, in growing and in answering.
    failures = [int(line.split()[-1]) for line in child.stdout.splitlines()[:-1]]
    assert failures[0] > 0, said
    assert sum(failures[2:]) > 0, said


def draw(n=300):
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(n, 4))
    return X, np.exp(X[:, 0] + rng.normal(size=n)), rng.uniform(size=n) < 0.7


@pytest.mark.filterwarnings("ignore:.*were drawn by every tree")
@pytest.mark.parametrize(("fault", "error"), [("memory", MemoryError), ("error", RuntimeError)])
@pytest.mark.parametrize("what", ["fit", "predict", "oob_predict", "forest_weights"])
def test_every_worker_may_fail(what, fault, error):
    X, y, event = draw()
    forest = CensoredQuantileForest(12, random_state=0, n_jobs=4).fit(X, y, event)
    before, answers = dict(forest.__dict__), forest.predict(X)
    call = {
        "fit": lambda: forest.fit(X, y, event),
        "predict": lambda: forest.predict(X),
        "oob_predict": lambda: forest.oob_predict(),
        "forest_weights": lambda: forest.forest_weights(X),
    }[what]
    threads = n_threads()
    n_failed = 0
    try:
        # The first worker of the call fails, then the second, ..., until all have gone by.
        while n_failed < 200:
            _engine.fail_in_worker(fault, n_failed)
            try:
                call()
                break
            except error:
                n_failed += 1
            assert forest.__dict__ == before
            assert all_ended(threads)
    finally:
        _engine.fail_in_worker(fault, -1)
    assert 3 <= n_failed < 200
    np.testing.assert_array_equal(forest.predict(X), answers)


@pytest.mark.parametrize(("fault", "error"), [("memory", MemoryError), ("error", RuntimeError)])
def test_cells_are_made_whole_or_not_at_all(fault, error):
    X, y, _ = draw(2048)
    forest = CensoredQuantileForest(
        12, min_samples_leaf=400, time_resolution=2048, random_state=0, n_jobs=4
    ).fit(X, y)
    expected = forest.predict(X)
    made = forest.trees_.engine.cells_bytes
    assert made > 0
    del forest.trees_.__dict__["engine"]
    # The workers that make the cells come first, then those that answer.
    sizes = []
    for worker in range(6):
        _engine.fail_in_worker(fault, worker)
        try:
            with pytest.raises(error):
                forest.predict(X)
        finally:
            _engine.fail_in_worker(fault, -1)
        sizes.append(forest.trees_.engine.cells_bytes)
    assert sizes[0] == 0
    assert sizes[-1] == made
    assert set(sizes) == {0, made}
    np.testing.assert_array_equal(forest.predict(X), expected)
    assert forest.trees_.engine.cells_bytes == made


SCRATCH = """
cqrf.support.blocks._VALUES_PER_BLOCK = 2**17
X = rng.uniform(size=(1_000, 40)).astype(np.float32)
forest = CensoredQuantileForest(3, min_samples_leaf=300, n_jobs=2, random_state=0)
forest.fit(X, X[:, 0], rng.uniform(size=1_000) < 0.7)
levels = np.linspace(0.01, 0.99, 40)
for task in (
    lambda X: forest.predict(X, levels, unreached="nan"),
    lambda X: forest.predict_survival_function(X, times=levels),
    lambda X: forest.identified(X, levels),
    lambda X: forest.apply(X),
):
    for times in (30, 200):
        many = np.tile(X, (times, 1))
        task(X)
        ctypes.CDLL(None).malloc_trim(0)
        # From here on the peak is counted anew.
        open("/proc/self/clear_refs", "w").write("5")
        before = memory("VmRSS")
        answer = task(many)
        print(memory("VmHWM") - before - answer.nbytes, end=" ")
"""


def test_scratch_does_not_grow_with_the_rows():
    script = [sys.executable, "-c", COMMON + SCRATCH]
    # One heap for all threads, or the peak would depend on which of them meet.
    said = subprocess.check_output(script, env=os.environ | {"MALLOC_ARENA_MAX": "1"})
    scratch = [int(bytes_) for bytes_ in said.split()]
    # Bins alone would take 1 and 8 MiB, a second array of answers 9 and 61 MiB. How many blocks
    # there are at once depends on the threads, by some 2 MiB.
    for few, many in zip(scratch[::2], scratch[1::2], strict=True):
        assert many < few + 2**22, scratch
        assert many < 2**24, scratch


CALIBRATION = """
X, y, event = draw(6_000)
forest = CensoredQuantileForest(10, min_samples_leaf=1_500, n_jobs=2, random_state=0)
forest.fit(X, y, event)
forest.predict(X)
for rows in ((), (X, y, event)):
    ctypes.CDLL(None).malloc_trim(0)
    open("/proc/self/clear_refs", "w").write("5")
    before = memory("VmRSS")
    forest.calibrate(*rows)
    print(memory("VmHWM") - before, end=" ")
"""


def test_calibration_does_not_hold_the_curves_of_all_rows():
    script = [sys.executable, "-c", COMMON + CALIBRATION]
    said = subprocess.check_output(script, env=os.environ | {"MALLOC_ARENA_MAX": "1"})
    # The curves alone would take 500 MiB. Weights in 200 classes take 9, and grow with the rows.
    assert 0 < max(int(bytes_) for bytes_ in said.split()) < 2**25, said
