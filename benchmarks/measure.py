"""How time is taken: contenders in turn, several repeats, ratios within a repeat."""

from __future__ import annotations

import gc
import math
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

# A run that takes longer than this many seconds is repeated at most SLOW_REPEATS times.
SLOW_SECONDS = 10.0
SLOW_REPEATS = 3
# Quicker runs are called several times per measurement: a single hiccup of the machine must not
# decide it.
SHORTEST_MEASUREMENT = 0.3


@dataclass
class Timing:
    """Seconds per call of one contender, one entry per repeat.

    Attributes
    ----------
    task : str
        "fit" or "predict".
    method : str
        What was run.
    threads : int
        Threads it was given.
    seconds : list of float
        Wall-clock seconds.
    processor : list of float
        Processor seconds of all its threads.
    """

    task: str
    method: str
    threads: int
    seconds: list[float] = field(default_factory=list)
    processor: list[float] = field(default_factory=list)

    @property
    def busy_cores(self) -> float:
        """Processor seconds per second; as many as threads when none of them ever waited."""
        return sum(self.processor) / sum(self.seconds)


@dataclass(frozen=True)
class Contender:
    """What to run, and under which name; the run's answer is dropped outside the clock."""

    task: str
    method: str
    threads: int
    run: Callable[[], object]


@dataclass(frozen=True)
class Comparison:
    """How many times longer one contender took than another, repeat by repeat."""

    task: str
    label: str
    threads: str
    ratios: list[float]
    target: float | None

    @property
    def median(self) -> float:
        """The figure that is reported."""
        return statistics.median(self.ratios)

    @property
    def passed(self) -> bool | None:
        """Whether the target is met; None without a target."""
        return None if self.target is None else self.median >= self.target


def fastest(timings: Sequence[Timing]) -> Timing:
    """Take the better time of every repeat, for a method that more threads do not always help.

    OpenMP's threads wait for each other at every step: with a core taken away for a moment,
    LightGBM on two threads can be ten times slower than on one. No ratio should profit from that.
    """
    last = timings[-1]
    seconds = [min(each) for each in zip(*(t.seconds for t in timings), strict=False)]
    return Timing(last.task, last.method, last.threads, seconds)


def compare(label: str, slow: Timing, quick: Timing, target: float | None = None) -> Comparison:
    """Divide the seconds of `slow` by those of `quick` in the repeats that both have."""
    # A slow contender has fewer repeats: the first ones, so positions agree.
    ratios = [a / b for a, b in zip(slow.seconds, quick.seconds, strict=False)]
    if slow.threads == quick.threads:
        threads = str(slow.threads)
    else:
        threads = f"{slow.threads} to {quick.threads}"
    return Comparison(quick.task, label, threads, ratios, target)


def round_robin(
    contenders: Sequence[Contender], repeats: int, progress: Callable[[str], None]
) -> list[Timing]:
    """Time the contenders in turn, so that all of them see the machine in the same state.

    The order is reversed in every second repeat: what a contender leaves behind (caches, heat)
    then meets a different neighbour.
    """
    timings = [Timing(each.task, each.method, each.threads) for each in contenders]
    calls, limits = [], []
    progress("warm-up")
    for contender in contenders:
        seconds, _ = _measure(contender.run, 1)
        calls.append(max(1, math.ceil(SHORTEST_MEASUREMENT / seconds)))
        limits.append(min(repeats, SLOW_REPEATS) if seconds > SLOW_SECONDS else repeats)
    positions = range(len(contenders))
    for repeat in range(repeats):
        progress(f"repeat {repeat + 1} of {repeats}")
        for k in positions if repeat % 2 == 0 else reversed(positions):
            if repeat < limits[k]:
                seconds, processor = _measure(contenders[k].run, calls[k])
                timings[k].seconds.append(seconds)
                timings[k].processor.append(processor)
    return timings


def _measure(run: Callable[[], object], calls: int) -> tuple[float, float]:
    """Wall-clock and processor seconds per call."""
    gc.collect()
    wall = processor = 0.0
    for _ in range(calls):
        processor_start, start = time.process_time(), time.perf_counter()
        answer = run()
        wall += time.perf_counter() - start
        processor += time.process_time() - processor_start
        # Tearing a forest down is not part of its fit.
        del answer
    return wall / calls, processor / calls
