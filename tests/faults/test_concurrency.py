"""Many threads, forked and spawned processes, and joblib inside joblib: the serial bits."""

import multiprocessing
import os
import threading
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import joblib
import numpy as np
import pytest

from cqrf import CensoredQuantileForest

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:Loky-backed parallel loops cannot be nested"),
]

N_THREADS = 32
N_PREDICTIONS = 200
LEVELS = np.array([0.1, 0.5, 0.9])


def draw(n=200, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, 3))
    T = np.exp(X[:, 0] + 0.5 * rng.normal(size=n))
    C = rng.exponential(4.0, n)
    return X, np.minimum(T, C), T <= C


def grown(n_jobs=2):
    return CensoredQuantileForest(
        10, min_samples_leaf=5, max_samples=0.5, n_jobs=n_jobs, random_state=0
    ).fit(*draw())


def ask(forest, seed):
    return forest.predict(draw(70, seed)[0], LEVELS).tobytes()


def grow_and_ask(n_jobs, seed):
    return ask(grown(n_jobs), seed)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_many_threads_with_many_predictions_each(n_jobs):
    forest = grown(n_jobs)
    serial = [ask(forest, seed) for seed in range(7)]
    start = threading.Barrier(N_THREADS)
    tests = [draw(70, seed)[0] for seed in range(7)]

    def work(thread):
        start.wait()
        return [
            forest.predict(tests[(thread + k) % 7], LEVELS).tobytes() == serial[(thread + k) % 7]
            for k in range(N_PREDICTIONS)
        ]

    with ThreadPoolExecutor(N_THREADS) as pool:
        same = list(pool.map(work, range(N_THREADS)))
    assert len(same) == N_THREADS
    assert all(len(one) == N_PREDICTIONS and all(one) for one in same)


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_processes_after_threads_were_used(method):
    # No thread of the engine outlives its call, so that a fork finds none to wait for.
    forest = grown(2)
    serial = [ask(forest, seed) for seed in range(3)]
    context = multiprocessing.get_context(method)
    with ProcessPoolExecutor(2, mp_context=context) as pool:
        answers = [pool.submit(ask, forest, seed) for seed in range(3)]
        fitted = [pool.submit(grow_and_ask, 2, seed) for seed in range(3)]
        assert [answer.result(timeout=120) for answer in answers] == serial
        assert [answer.result(timeout=120) for answer in fitted] == serial


def test_fork_while_other_threads_predict():
    forest = grown(2)
    serial = ask(forest, 1)
    stop = threading.Event()

    def busy():
        while not stop.is_set():
            ask(forest, 0)

    threads = [threading.Thread(target=busy) for _ in range(4)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(10):
            child = os.fork()
            if child == 0:
                try:
                    os._exit(0 if ask(forest, 1) == serial else 2)
                finally:
                    os._exit(3)
            assert os.waitpid(child, 0)[1] == 0
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def outer(backend, forest, seed):
    """One job of the outer loop: a loop of its own over predictions and fits on two threads."""
    with joblib.parallel_config(backend=backend):
        answers = joblib.Parallel(n_jobs=2)(
            [joblib.delayed(ask)(forest, seed), joblib.delayed(grow_and_ask)(2, seed)]
        )
    assert answers[0] == answers[1]
    return answers[0]


@pytest.mark.parametrize(
    ("backend", "inner"), [("loky", "loky"), ("loky", "threading"), ("threading", "threading")]
)
def test_nested_joblib(backend, inner):
    forest = grown(-1)
    serial = [ask(forest, seed) for seed in range(3)]
    with joblib.parallel_config(backend=backend):
        nested = joblib.Parallel(n_jobs=2)(
            joblib.delayed(outer)(inner, forest, seed) for seed in range(3)
        )
    assert nested == serial
