"""Mutation testing of the engine's curves and solver: how many small faults its tests notice.

Every mutant is one source file with one token changed: a comparison, an arithmetic or logical
operator, a constant, a condition negated. It is compiled, linked with the tests of curves,
censoring curves, solver and answers, and run. A mutant that passes all tests has survived; those
that are known to change nothing are listed in EQUIVALENT, each with its reason.

python tools/mutation.py --jobs 2
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
ENGINE = ROOT / "src" / "engine"
MUTATED = ("prediction/solver.cpp", "prediction/curve.cpp")
LINKED = (
    "prediction/censoring.cpp",
    "prediction/forest.cpp",
    "prediction/members.cpp",
    "parallel.cpp",
)
TESTS = ("main", "test_curve", "test_solver", "test_censoring", "test_answers")
FLAGS = ("-std=c++20", "-O1", "-ffp-contract=off", "-pthread", f"-I{ENGINE}")
# A mutant that loops for ever is noticed by the clock.
SECONDS = 60

# What a token may become. Longer ones first: "<=" is not a "<".
REPLACEMENTS = {
    "<=": ("<", ">"),
    ">=": (">", "<"),
    "==": ("!=",),
    "!=": ("==",),
    "&&": ("||",),
    "||": ("&&",),
    "++": ("--",),
    "--": ("++",),
    "+=": ("-=",),
    "*=": ("/=",),
    " < ": (" <= ", " > "),
    " > ": (" >= ", " < "),
    " + ": (" - ",),
    " - ": (" + ",),
    " * ": (" / ",),
    " / ": (" * ",),
    "true": ("false",),
    "false": ("true",),
    "min(": ("max(",),
    "max(": ("min(",),
    "rbegin": ("begin",),
    "rend": ("end",),
    "!": ("",),
    "if (": ("if (!",),
    "while (": ("while (!",),
    " 0": (" 1",),
    " 1": (" 0", " 2"),
    " 2": (" 3",),
    "continue;": (";",),
    "return kNone;": ("return 0;",),
}
# Mutants that compute the same for every input that the engine can give them, by the line they
# make.
EQUIVALENT = {
    "if (options_.interpolation != Interpolation::kLinear || at < first_) return 1;": (
        "at the first time itself the line begins: its height is 1 there as well; mirrored it is "
        "0/0 if the first time is a jump, and no level is identified, as with 1"
    ),
    "if (options_.interpolation == Interpolation::kLower || height(next) > level) return "
    "time(next);": "on the point itself the share of the line is x / x = 1, its end exactly",
    "double reached = conditional ? survival_at(after) : 0;": "not read without a condition",
    "double reached = conditional ? survival_at(after) : 2;": "not read without a condition",
}


@dataclass(frozen=True)
class Mutant:
    """One change of one file."""

    file: str
    line: int
    column: int
    old: str
    new: str
    before: str

    @property
    def after(self) -> str:
        """The changed line."""
        end = self.column + len(self.old)
        return self.before[: self.column] + self.new + self.before[end:]

    def __str__(self) -> str:
        """Where it is, and the line that it makes."""
        return f"{self.file}:{self.line}: {self.old.strip()!r} -> {self.new.strip()!r}: " + (
            self.after.strip()
        )


def mutants(file: str) -> Iterator[Mutant]:
    """All mutants of a file, from its beginning to its end."""
    tokens = re.compile("|".join(re.escape(token) for token in REPLACEMENTS))
    for number, line in enumerate((ENGINE / file).read_text().splitlines(), 1):
        code = line.split("//")[0]
        if code.lstrip().startswith(("#", "namespace")):
            continue
        for match in tokens.finditer(code):
            digits = match.group()[-1].isdigit()
            if digits and re.match(r"[\w.]", code[match.end() :]):
                continue
            for new in REPLACEMENTS[match.group()]:
                yield Mutant(file, number, match.start(), match.group(), new, line)


def run(arguments: list[str]) -> int:
    """Return the exit status; 124 where time is up."""
    try:
        return subprocess.run(arguments, capture_output=True, timeout=SECONDS).returncode
    except subprocess.TimeoutExpired:
        return 124


def compile_to(source: Path, target: Path) -> bool:
    """Compile one file."""
    compiler = os.environ.get("CXX", "c++")
    # Of a mutated copy, the includes are those of the original's folder.
    folder = ENGINE / "prediction"
    return not run([compiler, *FLAGS, f"-I{folder}", "-c", str(source), "-o", str(target)])


def run_tests(objects: dict[str, Path], program: Path) -> int:
    """Link the tests and run them."""
    compiler = os.environ.get("CXX", "c++")
    if run([compiler, "-pthread", *map(str, objects.values()), "-o", str(program)]):
        raise SystemExit("the engine's tests cannot be linked")
    return run([str(program)])


def status(mutant: Mutant, folder: Path, objects: dict[str, Path]) -> str:
    """Whether the tests notice a mutant."""
    lines = (ENGINE / mutant.file).read_text().splitlines()
    lines[mutant.line - 1] = mutant.after
    stem = f"{Path(mutant.file).stem}_{mutant.line}_{mutant.column}_{abs(hash(mutant.new))}"
    source, built, program = (folder / (stem + end) for end in (".cpp", ".o", ""))
    source.write_text("\n".join(lines) + "\n")
    if not compile_to(source, built):
        return "does not compile"
    found = run_tests({**objects, mutant.file: built}, program)
    for path in (source, built, program):
        path.unlink()
    return "survived" if found == 0 else "noticed"


def main() -> int:
    """Print the survivors and the score; 1 if a survivor has no reason."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--only", default="", help="mutants whose description contains this")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, ThreadPoolExecutor(options.jobs) as pool:
        folder = Path(name)
        sources = {file: ENGINE / file for file in (*MUTATED, *LINKED)}
        sources |= {test: ROOT / "tests" / "engine" / f"{test}.cpp" for test in TESTS}
        objects = {file: folder / (Path(file).stem + ".o") for file in sources}
        if not all(pool.map(compile_to, sources.values(), objects.values())):
            raise SystemExit("the engine's tests do not compile")
        if run_tests(objects, folder / "tests"):
            raise SystemExit("the engine's tests fail without any mutant")
        chosen = [m for file in MUTATED for m in mutants(file) if options.only in str(m)]
        found = list(pool.map(lambda mutant: status(mutant, folder, objects), chosen))
    compiled = sum(one != "does not compile" for one in found)
    survivors = [m for m, one in zip(chosen, found, strict=True) if one == "survived"]
    unexplained = [m for m in survivors if m.after.strip() not in EQUIVALENT]
    for mutant in survivors:
        reason = EQUIVALENT.get(mutant.after.strip(), "SURVIVED")
        print(f"{mutant}\n    {reason}")
    noticed = compiled - len(survivors)
    print(
        f"{compiled} mutants: {noticed} noticed, {len(survivors) - len(unexplained)} equivalent, "
        f"{len(unexplained)} survived; score {noticed / max(1, noticed + len(unexplained)):.3f}"
    )
    return 1 if unexplained else 0


if __name__ == "__main__":
    sys.exit(main())
