"""Ctrl-C, or a signal whose handler raises, ends long calls at once, whatever they are doing."""

import os
import signal
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest

from cqrf import CensoredQuantileForest

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.name == "nt", reason="SIGINT cannot be sent to one child alone"),
]

SECONDS = 0.5
# A busy machine may hold any process up; it does not do so three times in a row.
ATTEMPTS = 3

# The clock is that of the whole system, so that parent and child can compare their readings.
CHILD = """
import signal, sys, time
import numpy as np
from cqrf import CensoredQuantileForest

# A child of a process that ignores the signal would ignore it too.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGTERM, lambda *_: sys.exit("terminated"))
rng = np.random.default_rng(0)

def draw(n, p):
    X = rng.uniform(size=(n, p))
    T = np.exp(X[:, 0] + 0.3 * rng.normal(size=n))
    C = rng.exponential(5.0, n)
    return X, np.minimum(T, C), T <= C

def ready():
    print("ready", flush=True)

{prepare}
try:
    {call}
except (KeyboardInterrupt, SystemExit):
    print("interrupted", time.monotonic(), flush=True)
else:
    print("finished", flush=True)
{check}
print("sound", flush=True)
"""


def delay(prepare, call, check, wait, number):
    """Seconds from the signal to the except block of the child, which must come out sound."""
    script = CHILD.format(prepare=textwrap.dedent(prepare), call=call, check=textwrap.dedent(check))
    with subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as child:
        try:
            assert child.stdout.readline() == "ready\n", child.stderr.read()
            time.sleep(wait)
            sent = time.monotonic()
            child.send_signal(number)
            said, *moment = child.stdout.readline().split()
            assert said == "interrupted", "the call was over before the signal came"
            assert child.stdout.readline() == "sound\n", child.stderr.read()
        finally:
            child.kill()
    return float(moment[0]) - sent


def assert_prompt(prepare, call, check, wait=1.0, number=signal.SIGINT):
    delays = []
    for _ in range(ATTEMPTS):
        delays.append(delay(prepare, call, check, wait, number))
        if delays[-1] < SECONDS:
            return
    pytest.fail(f"KeyboardInterrupt came {delays} seconds after the signal")


SIGNALS = [signal.SIGINT, signal.SIGTERM]


@pytest.mark.parametrize(
    ("criterion", "n_jobs", "number"), [("random", 1, SIGNALS[0]), ("mse", 2, SIGNALS[1])]
)
def test_many_trees(criterion, n_jobs, number):
    assert_prompt(
        f"""
        X, time_, event = draw(20_000, 10)
        forest = CensoredQuantileForest(
            10_000, criterion={criterion!r}, min_samples_leaf=1, n_jobs={n_jobs}
        )
        before = dict(forest.__dict__)
        ready()
        """,
        "forest.fit(X, time_, event)",
        "assert forest.__dict__ == before",
        number=number,
    )


LONG_FIT = """
X, time_, event = draw(300_000, 60)
forest = CensoredQuantileForest(1, criterion="quantile", min_samples_leaf=1, n_jobs={n_jobs})
before = dict(forest.__dict__)
"""


def test_binning():
    assert_prompt(
        LONG_FIT.format(n_jobs=2) + "ready()",
        "forest.fit(X, time_, event)",
        "assert forest.__dict__ == before",
        wait=0.5,
    )


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_one_long_tree(n_jobs):
    # Ready when the tree begins to grow, after the seconds that binning takes.
    announce = """
import cqrf.forest
grow_trees = cqrf.forest.grow_trees
cqrf.forest.grow_trees = lambda *args, **options: (ready(), grow_trees(*args, **options))[1]
"""
    assert_prompt(
        LONG_FIT.format(n_jobs=n_jobs) + announce,
        "forest.fit(X, time_, event)",
        "assert forest.__dict__ == before",
        wait=0.3,
    )


def test_load():
    # The checksum, and then the trees: the signal comes within either.
    assert_prompt(
        """
        import tempfile
        import cqrf.storage.container
        X, time_, event = draw(2_000, 2)
        forest = CensoredQuantileForest(2_000, min_samples_leaf=500).fit(X, time_, event)
        few = forest.predict(X[:3])
        path = tempfile.mkdtemp() + "/model.cqrf"
        forest.save(path)
        def again():
            while True:
                CensoredQuantileForest.load(path)
        ready()
        """,
        "again()",
        "np.testing.assert_array_equal(forest.predict(X[:3]), few)",
        wait=0.3,
    )


def test_progress_that_raises_ends_the_checks():
    X = np.random.default_rng(0).uniform(size=(50, 2))
    trees = CensoredQuantileForest(20, random_state=0).fit(X, X[:, 0]).trees_
    seen = []

    def progress(done):
        seen.append(done)
        if done == 5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        trees.check(progress)
    assert seen == [1, 2, 3, 4, 5]
    assert trees.check(seen.append) is not None
    assert seen[-1] == 20


@pytest.mark.parametrize(
    ("curve", "n_jobs", "number"), [("beran", 2, SIGNALS[1]), ("kernel", 1, SIGNALS[0])]
)
def test_predict(curve, n_jobs, number):
    assert_prompt(
        f"""
        X, time_, event = draw(20_000, 3)
        forest = CensoredQuantileForest(
            200, censoring_curve={curve!r}, n_jobs={n_jobs}, random_state=0
        ).fit(X, time_, event)
        few = forest.predict(X[:3])
        many = np.tile(X, (20, 1))
        ready()
        """,
        "forest.predict(many, [0.1, 0.5, 0.9])",
        "np.testing.assert_array_equal(forest.predict(X[:3]), few)",
        number=number,
    )
