"""The parts of the benchmark, in the order of the page."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from speed.process import Job, Worker, opened
from speed.ratios import Timing, Verdict
from speed.scale import Scale
from speed.store import Record, Store

CACHE = Path(__file__).parents[2] / ".cache"


@dataclass(frozen=True)
class Run:
    """What a part measures with.

    Attributes
    ----------
    scale : Scale
        Sizes.
    store : Store
        Where figures go.
    cache : Path
        Folder of neighbours that were grown before.
    say : callable
        Tells the user what is being measured.
    without : tuple of str
        Neighbours that are left out.
    """

    scale: Scale
    store: Store
    cache: Path
    say: Callable[[str], None]
    without: tuple[str, ...] = ()

    def opened(
        self, jobs: dict[str, Job], n_test: int
    ) -> AbstractContextManager[dict[str, Worker]]:
        """Start processes of the methods that take part."""
        taking_part = {name: job for name, job in jobs.items() if job[0] not in self.without}
        return opened(taking_part, n_test)


class Part:
    """A question, how it is measured, and how the answer is told.

    Attributes
    ----------
    name : str
        As on the command line.
    title : str
        Heading on the page.
    """

    name = ""
    title = ""

    def measure(self, run: Run) -> None:
        """Measure what is not stored yet."""
        raise NotImplementedError

    def once(self, run: Run, key: str, measure: Callable[[], Any], **options: Any) -> Any:
        """Measure under a key, unless it is stored."""

        def announced() -> Any:
            run.say(f"{self.name}: {key}")
            return measure()

        return run.store.once(self.name, key, announced, **options)

    def verdicts(self, records: dict[str, Record]) -> list[Verdict]:
        """Compare what is stored with the targets."""
        return []

    def section(self, records: dict[str, Record]) -> list[str]:
        """Tell what is stored, as blocks of Markdown."""
        return []

    def draw(self, records: dict[str, Record], folder: Path) -> None:
        """Draw pictures of what is stored into a folder."""


def timings_of(figures: list[dict[str, Any]]) -> dict[str, Timing]:
    """Read stored timings that have any times, by method."""
    found = {each["method"]: Timing(**each) for each in figures}
    return {name: timing for name, timing in found.items() if timing.seconds}
