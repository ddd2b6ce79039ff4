"""How time is taken: contenders in turn, several repeats, ratios within a repeat."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

# The first run of a contender counts if it takes longer than this many seconds; otherwise it is a
# warm-up.
SLOW_SECONDS = 10.0


class Failed(Exception):
    """A method could not do what was asked, or not within its time."""


@dataclass
class Timing:
    """What one contender took, by repeat.

    Attributes
    ----------
    method : str
        What was run.
    threads : int
        Threads it was given.
    repeats : list of int
        Numbers of the repeats that count.
    seconds, processor : list of float
        Wall-clock seconds per call, and processor seconds of all its threads.
    peak_mb : float
        Growth of its memory in the first call.
    failed : str
        Why there is no time.
    """

    method: str
    threads: int
    repeats: list[int] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    processor: list[float] = field(default_factory=list)
    peak_mb: float | None = None
    failed: str = ""

    @property
    def median(self) -> float:
        """The seconds that are reported."""
        return statistics.median(self.seconds)

    def take(self, repeat: int, answer: dict[str, Any]) -> None:
        """Add the answer of a worker."""
        self.repeats.append(repeat)
        self.seconds.append(answer["seconds"])
        self.processor.append(answer["processor"])


@dataclass(frozen=True)
class Repeats:
    """How often to measure.

    Attributes
    ----------
    usual, slow : int
        Measurements of each contender, and of one whose single call takes longer than
        `SLOW_SECONDS`.
    shortest : float
        Calls are made until a measurement takes so many seconds: a single hiccup of the machine
        must not decide it.
    """

    usual: int
    slow: int
    shortest: float = 0.3


@dataclass(frozen=True)
class Contender:
    """What to run, and under which name; `run` is given a number of calls."""

    method: str
    threads: int
    run: Callable[[int], dict[str, Any]]


def round_robin(contenders: Sequence[Contender], repeats: Repeats) -> list[Timing]:
    """Time the contenders in turn, so that all of them see the machine in the same state.

    The order is reversed in every second repeat: what a contender leaves behind (caches, heat)
    then meets a different neighbour. One that fails is not asked again.

    Parameters
    ----------
    contenders : sequence of Contender
        What to run.
    repeats : Repeats
        How often.

    Returns
    -------
    list of Timing
        In the order of the contenders.
    """
    timings = [Timing(each.method, each.threads) for each in contenders]
    calls = [1] * len(contenders)
    limits = [repeats.usual] * len(contenders)
    order = list(range(len(contenders)))
    for repeat in range(repeats.usual + 1):
        for k in reversed(order) if repeat % 2 else order:
            timing = timings[k]
            if timing.failed or repeat > limits[k]:
                continue
            try:
                answer = contenders[k].run(calls[k])
            except Failed as error:
                timing.failed = str(error)
                continue
            if repeat == 0:
                timing.peak_mb = answer["peak_mb"]
                calls[k] = max(1, math.ceil(repeats.shortest / answer["call"]))
                if answer["call"] <= SLOW_SECONDS:
                    continue
                limits[k] = repeats.slow - 1
            timing.take(repeat, answer)
    return timings


def fastest(timings: Sequence[Timing]) -> Timing:
    """Take the better time of every repeat, for a method that more threads do not always help.

    OpenMP's threads wait for each other at every step: with a core taken away for a moment,
    LightGBM on two threads can be ten times slower than on one. No ratio should profit from that.
    """
    last = timings[-1]
    repeats = sorted(set.intersection(*(set(each.repeats) for each in timings)))
    seconds = [min(_seconds(each, repeat) for each in timings) for repeat in repeats]
    return Timing(last.method, last.threads, repeats, seconds)


def ratios(slow: Timing, quick: Timing) -> list[float]:
    """Divide the seconds of `slow` by those of `quick`, in the repeats that both have.

    If they have none in common, which happens if one was too slow to be repeated, the medians.
    """
    common = sorted(set(slow.repeats) & set(quick.repeats))
    if not common:
        return [slow.median / quick.median]
    return [_seconds(slow, repeat) / _seconds(quick, repeat) for repeat in common]


def scaled(few: Timing, many: Timing, trees: tuple[int, int], wanted: int) -> Timing:
    """Seconds of a forest of `wanted` trees from those of two small ones, on a straight line."""
    repeats = sorted(set(few.repeats) & set(many.repeats))
    slope = (wanted - trees[0]) / (trees[1] - trees[0])
    seconds = [_seconds(few, k) + slope * (_seconds(many, k) - _seconds(few, k)) for k in repeats]
    return Timing(many.method, many.threads, repeats, seconds)


def _seconds(timing: Timing, repeat: int) -> float:
    return timing.seconds[timing.repeats.index(repeat)]


@dataclass(frozen=True)
class Verdict:
    """A figure beside its target.

    Attributes
    ----------
    what, where : str
        What was measured and at which size.
    values : list of float
        The figure in every repeat; empty if it was not measured.
    sign : {">=", "<=", ">"}
        Direction of the target.
    target : float
        The target.
    form : str
        How a value is written.
    """

    what: str
    where: str
    values: Sequence[float]
    sign: str
    target: float
    form: str = "{:.2f}"

    @property
    def median(self) -> float:
        """The figure that is judged."""
        return statistics.median(self.values)

    @property
    def measured(self) -> bool:
        """Whether there is a figure at all."""
        return bool(self.values)

    @property
    def passed(self) -> bool:
        """Whether the target is met: not by a figure that is missing or not a number."""
        if not self.measured:
            return False
        meets = {
            ">=": self.median >= self.target,
            "<=": self.median <= self.target,
            ">": self.median > self.target,
        }
        return meets[self.sign]


def spread(values: Sequence[float], form: str = "{:.3f}") -> str:
    """Write the median with the smallest and the largest value."""
    low, middle, high = min(values), statistics.median(values), max(values)
    if len(values) == 1:
        return form.format(middle)
    return f"{form.format(middle)} [{form.format(low)}, {form.format(high)}]"
