"""The bar on terminals, in notebooks and in log files."""

import io

import pytest

from cqrf.support import progress as _progress
from cqrf.support.progress import ProgressBar


class Terminal(io.StringIO):
    def isatty(self):
        return True


class Notebook(io.StringIO):
    """Stands for ipykernel's stream, which is no terminal."""


Notebook.__module__ = "ipykernel.iostream"


@pytest.fixture
def clock(monkeypatch):
    """A clock that stands still until it is moved."""

    class Clock:
        now = 100.0

        def __call__(self):
            return self.now

    clock = Clock()
    monkeypatch.setattr(_progress, "monotonic", clock)
    return clock


def run(stream, clock, *, steps=10, seconds=1.0, total=None, label="growing trees", enabled=True):
    with ProgressBar(steps if total is None else total, label, enabled, stream) as bar:
        for done in range(1, steps + 1):
            clock.now += seconds
            bar.update(done)
    return stream.getvalue()


@pytest.mark.parametrize("kind", [Terminal, Notebook])
def test_draws_over_one_line(kind, clock):
    text = run(kind(), clock)
    assert text.startswith("\r")
    assert text.count("\n") == 1
    assert text.endswith("\n")
    frames = text.rstrip("\n").split("\r")[1:]
    assert len(frames) == 12
    assert "growing trees [" in frames[0]
    assert "0/10   0% 0:00, ? left" in frames[0]
    assert "4/10  40% 0:04, 0:06 left" in frames[4]
    assert "10/10 100% 0:10, 0:00 left" in frames[-1]
    assert len({len(frame) for frame in frames}) == 1


def test_only_plain_characters(clock):
    text = run(Terminal(), clock)
    assert all(" " <= character <= "~" for character in text if character not in "\r\n")


@pytest.mark.parametrize(
    ("label", "total"), [("x", 3), ("a very long label " * 10, 10**9), ("", 10**30)]
)
def test_under_eighty_columns(label, total, clock):
    text = run(Terminal(), clock, total=total, label=label, seconds=1e5)
    assert max(len(frame) for frame in text.rstrip("\n").split("\r")) < 80


def test_long_label_leaves_room_for_the_numbers(clock):
    assert "10/10 100% 0:10, 0:00 left" in run(Terminal(), clock, label="a long label " * 10)


def test_at_most_ten_draws_a_second(clock):
    text = run(Terminal(), clock, steps=10_000, seconds=1e-4)
    assert 10 <= text.count("\r") <= 13
    assert "10000/10000 100%" in text


def test_log_file_gets_the_final_line_only(clock):
    text = run(io.StringIO(), clock)
    assert text.count("\n") == 1
    assert "\r" not in text
    assert "10/10 100% 0:10" in text
    assert text == text.rstrip() + "\n"


@pytest.mark.parametrize("kind", [Terminal, Notebook, io.StringIO])
def test_disabled_is_silent(kind, clock):
    assert run(kind(), clock, enabled=False) == ""


@pytest.mark.parametrize("kind", [Terminal, io.StringIO])
@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_exception_ends_the_line_and_passes(kind, error, clock):
    stream = kind()

    def work():
        with ProgressBar(10, "growing", True, stream) as bar:
            clock.now += 1
            bar.update(3)
            raise error

    with pytest.raises(error):
        work()
    assert "3/10  30%" in stream.getvalue()
    assert stream.getvalue().endswith("\n")


def test_default_is_standard_error(clock, capsys):
    with ProgressBar(2, "growing", enabled=True) as bar:
        bar.update(2)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "2/2 100%" in captured.err


def test_no_standard_error_at_all(clock, monkeypatch):
    monkeypatch.setattr("sys.stderr", None)
    with ProgressBar(2, "growing", enabled=True) as bar:
        bar.update(2)


def test_closed_stream_does_not_stop_the_work(clock):
    stream = Terminal()
    with ProgressBar(2, "growing", True, stream) as bar:
        stream.close()
        clock.now += 1
        bar.update(1)


def test_nothing_to_do(clock):
    assert "0/0 100%" in run(Terminal(), clock, steps=0)


def test_hours(clock):
    assert "1:01:01, 1:01:01 left" in run(io.StringIO(), clock, steps=1, total=2, seconds=3661.0)
