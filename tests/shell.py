"""Drive the installed command in a subprocess, as a user of a shell does."""

import os
import subprocess
import sys
import time
from pathlib import Path

SCRIPT = Path(sys.executable).with_name("cqrf")
COMMAND = [str(SCRIPT)] if SCRIPT.exists() else [sys.executable, "-m", "cqrf"]
DATA = Path(__file__).parent.parent / "src" / "cqrf" / "datasets" / "data"
# No terminal of the developer's shall decide how help is wrapped.
ENVIRONMENT = {**os.environ, "COLUMNS": "100", "PYTHONUTF8": "1"}


def cqrf(*arguments, stdin=None, **options):
    """Run a command to its end; its output as text unless stdin is bytes."""
    return subprocess.run(
        [*COMMAND, *map(str, arguments)],
        capture_output=True,
        input=stdin,
        text=not isinstance(stdin, bytes),
        timeout=240,
        check=False,
        **{"env": ENVIRONMENT, **options},
    )


def start(*arguments, **options):
    """Start a command whose standard input stays open."""
    return subprocess.Popen(
        [*COMMAND, *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=ENVIRONMENT,
        **options,
    )


def wait_for(condition, seconds=120):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.02)


def one_line(done):
    """The one line that a failed command says."""
    text = done.stderr if isinstance(done.stderr, str) else done.stderr.decode()
    assert "Traceback" not in text, text
    lines = text.strip().splitlines()
    assert len(lines) == 1, text
    assert lines[0].startswith("cqrf: ")
    return lines[0]
