"""Fresh processes, one per method, that are asked in turn.

Every method lives in a process of its own, so that its peak memory is its own, and all of them wait
while one works, so that they see the machine in the same state.
"""

from __future__ import annotations

import json
import os
import selectors
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from speed.methods import METHODS, OURS, Setting
from speed.ratios import Contender, Failed

# Finds this package without its folder's neighbours: a script beside it has the name of a library.
START = """
import importlib.util, sys
spec = importlib.util.spec_from_file_location("speed", sys.argv[1])
sys.modules["speed"] = importlib.util.module_from_spec(spec)
from speed.worker import main
main()
"""

# The name of a method, and what it is to do.
Job = tuple[str, Setting]


class Worker:
    """A fresh process; see `speed.worker` for what it can be asked."""

    def __init__(self, name: str, threads: int) -> None:
        # Thread pools read these when their library is loaded.
        pools = {"OMP_NUM_THREADS": str(threads), "NUMBA_NUM_THREADS": str(threads)}
        pools |= dict.fromkeys(("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
        self.name = name
        self._process = subprocess.Popen(
            [sys.executable, "-c", START, str(Path(__file__).with_name("__init__.py"))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | pools,
        )

    def send(self, do: str, **options: Any) -> None:
        """Ask without waiting."""
        assert self._process.stdin is not None
        try:
            print(json.dumps({"do": do, "with": options}), file=self._process.stdin, flush=True)
        except BrokenPipeError:
            raise Failed(f"{self.name}: the process has ended") from None

    def receive(self, seconds: float | None = None) -> dict[str, Any]:
        """Wait for the answer, at most so long."""
        assert self._process.stdout is not None
        with selectors.DefaultSelector() as selector:
            selector.register(self._process.stdout, selectors.EVENT_READ)
            if not selector.select(seconds):
                # It must not go on beside the others.
                self.close()
                raise Failed(f"{self.name}: stopped after {seconds:.0f} s")
        line = self._process.stdout.readline()
        if not line:
            # Most often the system has ended it for want of memory.
            raise Failed(f"{self.name}: the process ended ({self._process.wait()})")
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise Failed(f"{self.name}: {answer['error']}")
        return answer

    def ask(self, do: str, seconds: float | None = None, **options: Any) -> dict[str, Any]:
        """Ask and wait for the answer, at most so many seconds."""
        self.send(do, **options)
        return self.receive(seconds)

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.communicate()


def each_or_none(workers: dict[str, Worker], do: Callable[[Worker], object]) -> None:
    """Let every worker do something; a neighbour that cannot is taken out, and told so."""
    for name, worker in list(workers.items()):
        try:
            do(worker)
        except Failed as error:
            if name.startswith(OURS):
                raise
            print(f"left out: {error}", file=sys.stderr, flush=True)
            workers.pop(name).close()


@contextmanager
def opened(jobs: Mapping[str, Job], n_test: int) -> Iterator[dict[str, Worker]]:
    """Start the processes of methods, by name; those not installed are left out."""
    workers: dict[str, Worker] = {}
    try:
        for name, (method, setting) in jobs.items():
            if METHODS[method].installed:
                worker = workers[name] = Worker(name, setting.threads)
                worker.send("open", method=method, setting=asdict(setting), n_test=n_test)
        each_or_none(workers, lambda worker: worker.receive())
        yield workers
    finally:
        for worker in workers.values():
            worker.close()


def contenders(
    workers: Mapping[str, Worker],
    jobs: Mapping[str, Job],
    do: str,
    seconds: float | None = None,
    **options: Any,
) -> list[Contender]:
    """Let every worker do the same, each call within so many seconds."""

    def asking(worker: Worker) -> Callable[[int], dict[str, Any]]:
        return lambda calls: worker.ask(
            do, None if seconds is None else seconds * calls, calls=calls, **options
        )

    return [
        Contender(name, jobs[name][1].threads, asking(worker)) for name, worker in workers.items()
    ]


def fresh_figure(name: str, **options: Any) -> dict[str, Any]:
    """Work out a figure of `speed.figures` in a process of its own."""
    worker = Worker(name, threads=2)
    try:
        return worker.ask("figure", name=name, **options)
    finally:
        worker.close()
