"""Count the instructions of the engine's main loops and compare them with the stored figures.

Seconds vary with what else the machine does; instructions do not. callgrind counts those of the
loops in tests/engine/kernels.cpp, per unit of work (a row of a tree). More than the tolerance
above the stored figure is a regression and an error; less is a reason to store the new one:

    make instructions
    make instructions ARGS=--update

Figures belong to a compiler: with another one they are printed and not judged. Kernels run in their
portable variant, which every machine has.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
STORED = Path(__file__).with_name("instructions.json")
KERNELS = (
    "grow_best_cuts",
    "grow_random_cuts",
    "route",
    "predict",
    "predict_on_levels",
    "predict_on_ranks",
    "predict_on_cells",
    "survival_on_grid",
    "validate",
)
TOLERANCE = 0.03


def build(folder: Path) -> Path:
    compile_ = ["cmake", "--build", str(folder), "--target", "kernels"]
    subprocess.run(compile_, check=True, stdout=subprocess.DEVNULL)
    return folder / "tests" / "engine" / "kernels"


def compiler(folder: Path) -> str:
    """Name of the compiler and its major version, as CMake found it."""
    text = "".join(file.read_text() for file in folder.glob("CMakeFiles/*/CMakeCXXCompiler.cmake"))
    name = re.search(r'CMAKE_CXX_COMPILER_ID "(\w+)"', text)
    version = re.search(r'CMAKE_CXX_COMPILER_VERSION "(\d+)', text)
    architecture = re.search(r'CMAKE_CXX_COMPILER_ARCHITECTURE_ID "(\w*)"', text)
    if name is None or version is None:
        raise SystemExit("the compiler could not be told")
    suffix = f" {architecture[1]}" if architecture and architecture[1] else ""
    return f"{name[1]} {version[1]}{suffix}"


def count(program: Path, kernel: str) -> float:
    """Instructions of a kernel, per unit of work."""
    command = [
        "valgrind",
        "--tool=callgrind",
        "--callgrind-out-file=/dev/null",
        "--collect-atstart=no",
        "--toggle-collect=kernel_*",
        str(program),
        kernel,
    ]
    portable = {**os.environ, "CQRF_ISA": "portable"}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=portable)
    collected = re.search(r"Collected : (\d+)", done.stderr)
    units = float(done.stdout.split()[1])
    if collected is None or int(collected[1]) == 0:
        raise SystemExit(f"callgrind counted nothing of {kernel}")
    return int(collected[1]) / units


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--update", action="store_true", help="store what is counted")
    parser.add_argument("--build", type=Path, default=ROOT / "build" / "package")
    options = parser.parse_args()
    if shutil.which("valgrind") is None:
        raise SystemExit("valgrind is needed: apt install valgrind")
    program = build(options.build)
    counted = {kernel: round(count(program, kernel), 2) for kernel in KERNELS}
    here = compiler(options.build)
    if options.update:
        STORED.write_text(json.dumps({"compiler": here, "instructions": counted}, indent=2) + "\n")
    stored = json.loads(STORED.read_text())
    judged = stored["compiler"] == here
    regressions = 0
    print(f"instructions per row and tree; {here}, stored with {stored['compiler']}")
    for kernel, value in counted.items():
        change = value / stored["instructions"][kernel] - 1
        regressed = judged and change > TOLERANCE
        regressions += regressed
        print(f"{kernel:18} {value:10.2f} {change:+7.1%}{'  REGRESSION' if regressed else ''}")
    return 1 if regressions else 0


if __name__ == "__main__":
    sys.exit(main())
