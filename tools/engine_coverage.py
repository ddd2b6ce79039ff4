"""Branch coverage of the engine's curves and solver by their own tests, with the compiler's gcov.

python tools/engine_coverage.py

Branches to the handling of exceptions are not counted: the compiler makes them wherever memory is
asked for, and `tests/engine/test_faults.cpp` takes them. Exits with 1 if a branch is not taken.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from mutation import ENGINE, FLAGS, LINKED, MUTATED, ROOT, TESTS

WATCHED = (*MUTATED, "prediction/censoring.cpp")


def build(folder: Path) -> list[Path]:
    """Compile the tests with counters and run them; return the notes of the watched files."""
    compiler = os.environ.get("CXX", "c++")
    sources = [ENGINE / file for file in (*WATCHED, *(f for f in LINKED if f not in WATCHED))]
    sources += [ROOT / "tests" / "engine" / f"{test}.cpp" for test in TESTS]
    objects = []
    for source in sources:
        target = folder / f"{source.stem}.o"
        # Counters in the watched files alone, not in what the tests make of their headers.
        counters = ["--coverage"] if source in [ENGINE / file for file in WATCHED] else []
        flags = [*FLAGS, "-O0", *counters]
        subprocess.run([compiler, *flags, "-c", str(source), "-o", str(target)], check=True)
        objects.append(str(target))
    program = folder / "tests"
    subprocess.run([compiler, "--coverage", "-pthread", *objects, "-o", str(program)], check=True)
    subprocess.run([str(program)], check=True, stdout=subprocess.DEVNULL)
    return [folder / f"{Path(file).stem}.gcda" for file in WATCHED]


def branches(notes: Path, folder: Path) -> list[tuple[int, bool]]:
    """Line of every branch of one file, and whether it was taken."""
    command = ["gcov", "--json-format", "--stdout", "--branch-probabilities", str(notes)]
    found = json.loads(subprocess.run(command, cwd=folder, check=True, capture_output=True).stdout)
    name = f"{notes.stem}.cpp"
    return [
        (line["line_number"], branch["count"] > 0)
        for file in found["files"]
        if Path(file["file"]).name == name
        for line in file["lines"]
        for branch in line["branches"]
        if not branch["throw"]
    ]


def main() -> int:
    """Print the share of branches that were taken, and those that were not."""
    missed = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file, notes in zip(WATCHED, build(folder), strict=True):
            lines = (ENGINE / file).read_text().splitlines()
            found = branches(notes, folder)
            left = [line for line, taken in found if not taken]
            missed += len(left)
            print(f"{file}: {len(found) - len(left)} of {len(found)} branches")
            for line in sorted(set(left)):
                print(f"  {line}: {lines[line - 1].strip()}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
