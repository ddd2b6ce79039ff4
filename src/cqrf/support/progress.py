"""A progress bar of plain text."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from time import monotonic
from types import TracebackType
from typing import Self, TextIO

_WIDTH = 78
_SECONDS_BETWEEN_DRAWS = 0.1


class ProgressBar:
    """Shows how far a loop has come, on one line that is drawn over.

    The only control character is a carriage return, which terminals and notebooks both
    understand. Where neither is listening (a log file, a pipe) only the last state is written.

    Parameters
    ----------
    total : int
        Number of steps.
    label : str
        What is being done.
    enabled : bool
        Nothing is ever written if False.
    stream : text stream, optional
        Where to write; standard error by default.

    Examples
    --------
    >>> with ProgressBar(100, "growing trees", enabled=False) as bar:
    ...     for done in range(100):
    ...         bar.update(done + 1)
    """

    def __init__(self, total: int, label: str, enabled: bool, stream: TextIO | None = None) -> None:
        self._total = total
        self._label = label
        self._enabled = enabled
        self._stream = stream
        self._live = False
        self._done = 0
        self._start = 0.0
        self._drawn_at = 0.0

    def __enter__(self) -> Self:
        """Start the clock and draw the empty bar."""
        if self._stream is None:
            # Looked up late: notebooks and tests replace it, and it is None without a console.
            self._stream = sys.stderr
        self._enabled = self._enabled and self._stream is not None
        self._live = self._enabled and _redraws(self._stream)
        self._start = monotonic()
        self._draw()
        return self

    def update(self, done: int) -> None:
        """Say that `done` steps of the total are finished.

        Parameters
        ----------
        done : int
            Steps finished since the beginning.
        """
        self._done = done
        if self._live and monotonic() - self._drawn_at >= _SECONDS_BETWEEN_DRAWS:
            self._draw()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Draw the last state and end the line, whether or not an exception passes."""
        if self._live:
            self._write("\r" + self._line() + "\n")
        elif self._enabled:
            self._write(self._line().rstrip() + "\n")

    def _draw(self) -> None:
        if self._live:
            self._write("\r" + self._line())
            self._drawn_at = monotonic()

    def _line(self) -> str:
        elapsed = monotonic() - self._start
        part = min(self._done / self._total, 1.0) if self._total > 0 else 1.0
        left = _clock(elapsed * (1.0 - part) / part) if part > 0.0 else "?"
        state = f"{self._done}/{self._total} {int(100 * part):3d}% {_clock(elapsed)}, {left} left"
        label = self._label[: max(0, _WIDTH - len(state) - 14)]
        cells = max(0, min(30, _WIDTH - len(label) - len(state) - 4))
        filled = int(cells * part)
        line = f"{label} [{'#' * filled}{'.' * (cells - filled)}] {state}"
        # Padded, so that a shorter line covers a longer one.
        return line.ljust(_WIDTH)[:_WIDTH]

    def _write(self, text: str) -> None:
        # A closed terminal must not end hours of work.
        with contextlib.suppress(OSError, ValueError):
            assert self._stream is not None
            self._stream.write(text)
            self._stream.flush()


@contextlib.contextmanager
def late_bar(
    total: int, label: str, *, enabled: bool, seconds: float, unit: int = 1
) -> Iterator[Callable[[int], None]]:
    """Give a function that takes the steps done, and shows a bar once they look like taking long.

    Parameters
    ----------
    total : int
        Number of steps.
    label : str
        What is being done.
    enabled : bool
        Nothing is ever written if False.
    seconds : float
        A bar is shown when all the steps seem to take longer.
    unit : int
        Steps that the bar counts as one.
    """
    start = monotonic()
    bar: ProgressBar | None = None
    with contextlib.ExitStack() as stack:

        def update(done: int) -> None:
            nonlocal bar
            if enabled and bar is None and done and (monotonic() - start) * total > seconds * done:
                bar = stack.enter_context(ProgressBar(total // unit, label, enabled=True))
            if bar is not None:
                bar.update(done // unit)

        yield update


def _redraws(stream: TextIO | None) -> bool:
    """Whether a carriage return moves back to the start of the line on `stream`."""
    if type(stream).__module__.startswith("ipykernel"):
        return True
    try:
        return stream is not None and stream.isatty()
    except (AttributeError, ValueError):
        return False


def _clock(seconds: float) -> str:
    minutes, second = divmod(round(seconds), 60)
    hour, minute = divmod(minutes, 60)
    return f"{hour}:{minute:02d}:{second:02d}" if hour else f"{minute}:{second:02d}"
