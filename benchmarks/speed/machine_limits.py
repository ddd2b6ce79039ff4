"""What the machine can do at best, by limits.cpp, and where the engine's instructions go."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections import Counter
from pathlib import Path

SOURCE = Path(__file__).with_name("limits.cpp")
ROOT = Path(__file__).parents[2]


def compiler() -> str | None:
    """Find the C++ compiler, if there is one."""
    return os.environ.get("CXX") or shutil.which("c++") or shutil.which("g++")


def measure_limits(seconds: float = 0.2) -> dict[str, float]:
    """Compile and run limits.cpp; nanoseconds or GB/s by name."""
    program = compiler()
    if program is None:
        return {}
    with tempfile.TemporaryDirectory() as folder:
        binary = Path(folder, "limits")
        command = [program, "-O3", "-std=c++20", str(SOURCE), "-o", str(binary)]
        # The best that this very processor can do, where the compiler knows how to ask for it.
        if subprocess.run([*command, "-march=native"], stderr=subprocess.DEVNULL).returncode:
            subprocess.run(command, check=True)
        done = subprocess.run(
            [str(binary), str(seconds)], check=True, stdout=subprocess.PIPE, text=True
        )
    return {name: float(value) for name, value in map(str.split, done.stdout.splitlines())}


def instruction_shares(kernel: str) -> dict[str, float]:
    """Share of the instructions of an engine's loop by the file that they were written in.

    Code that was inlined counts where it was written, so that files stand for concepts. Empty
    without valgrind and cmake.
    """
    if shutil.which("valgrind") is None or shutil.which("cmake") is None:
        return {}
    from instructions import build

    # CMake takes the flags of the environment when it configures a folder for the first time.
    flags = os.environ.get("CXXFLAGS", "")
    os.environ["CXXFLAGS"] = f"{flags} -g".strip()
    try:
        program = build(ROOT / "build" / "profile")
    finally:
        os.environ["CXXFLAGS"] = flags
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "callgrind.out")
        command = [
            "valgrind",
            "--tool=callgrind",
            f"--callgrind-out-file={out}",
            "--collect-atstart=no",
            "--toggle-collect=kernel_*",
            str(program),
            kernel,
        ]
        subprocess.run(command, check=True, capture_output=True)
        counts = self_cost_by_file(out.read_text(encoding="utf-8"))
    total = sum(counts.values())
    return {name: count / total for name, count in counts.most_common()}


def self_cost_by_file(text: str) -> Counter[str]:
    """Sum the costs in callgrind's format by source file, calls excluded."""
    names: dict[str, str] = {}
    counts: Counter[str] = Counter()
    here, skip = "", False
    for line in text.splitlines():
        if match := re.match(r"(fl|fi|fe)=\((\d+)\)(?: (.*))?", line):
            _, number, name = match.groups()
            if name:
                names[number] = name
            here = _concept(names[number])
        elif match := re.match(r"cf[il]=\((\d+)\) (.*)", line):
            names[match[1]] = match[2]
        elif line.startswith("calls="):
            # The next line is the cost of the function that is called, counted there.
            skip = True
        elif match := re.match(r"[+*\-\d]\S* (\d+)$", line):
            if not skip:
                counts[here] += int(match[1])
            skip = False
    return counts


def _concept(path: str) -> str:
    _, found, inside = os.path.normpath(path).partition("src/engine/")
    return inside if found else "C and C++ library"
