"""Measure speed and memory beside the neighbours, and write docs/benchmarks.md from what is stored.

    make bench                              # everything; goes on where it was interrupted
    make bench ARGS="predict row"           # some parts
    make bench ARGS="predict --again"       # measured anew
    make bench ARGS=--draw                  # the page from what is stored, nothing measured
    make bench-full                         # slow neighbours whole, and as far as they go
    make bench ARGS='--forest {"time_resolution":512}'

A missed target is reported and is no error, unless --strict is given.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from speed.methods import METHODS
from speed.page import summary, write
from speed.parts import CACHE, Part, Run
from speed.parts.accuracy import AccuracyPart
from speed.parts.curves import Curves
from speed.parts.fit import Criteria, Fit, Shares
from speed.parts.inputs import Inputs
from speed.parts.layouts import Layouts
from speed.parts.predict import Memory, OneRow, Predict
from speed.parts.profile import Profile
from speed.scale import SCALES
from speed.store import FOREST_VARIABLE, Store, machine

HERE = Path(__file__).parent
# In the order of the page; pictures first, then the figures behind the targets.
PARTS: tuple[Part, ...] = (
    Curves(),
    Predict(),
    OneRow(),
    Memory(),
    Fit(),
    Shares(),
    Criteria(),
    Profile(),
    Inputs(),
    Layouts(),
    AccuracyPart(),
)
# What is judged comes first, so that an interrupted run has it.
ORDER = ("predict", "row", "memory", "fit", "shares", "criteria", "profile", "curves")


def main(argv: Sequence[str] | None = None) -> int:
    options = parse(argv)
    if options.forest is not None:
        os.environ[FOREST_VARIABLE] = json.dumps(options.forest)
    store = Store(options.results, machine())
    run = Run(SCALES[options.scale], store, options.cache, say, tuple(options.without))
    by_name = {part.name: part for part in PARTS}
    wanted = options.parts or [*ORDER, *(name for name in by_name if name not in ORDER)]
    if options.again:
        for name in wanted:
            store.forget(name)
    if not options.draw:
        for name in wanted:
            start = time.monotonic()
            by_name[name].measure(run)
            say(f"{name}: {time.monotonic() - start:.0f} s in all")
    verdicts = write(store, PARTS, options.page)
    for each in verdicts:
        if each.measured and not each.passed:
            target = f"{each.sign} {each.target:g}"
            print(f"FAIL  {each.what}, {each.where}: {each.median:.3g}, not {target}")
    print(f"{summary(verdicts)} {options.page}")
    return 1 if options.strict and not all(each.passed for each in verdicts) else 0


def parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    names = [part.name for part in PARTS]
    parser.add_argument("parts", nargs="*", metavar="part", help=f"of {', '.join(names)}; or all")
    parser.add_argument("--scale", choices=SCALES, default="default", help="sizes of everything")
    parser.add_argument("--again", action="store_true", help="forget what is stored of the parts")
    parser.add_argument("--draw", action="store_true", help="draw the page, measure nothing")
    neighbours = [name for name, method in METHODS.items() if method.package != "cqrf"]
    parser.add_argument("--without", nargs="+", default=[], choices=neighbours, metavar="NAME")
    parser.add_argument("--forest", type=json.loads, help="parameters of our forests, as JSON")
    parser.add_argument("--results", type=Path, default=HERE / "results", help="where figures are")
    parser.add_argument("--cache", type=Path, default=CACHE, help="where neighbours are kept")
    parser.add_argument("--page", type=Path, default=HERE.parent / "docs" / "benchmarks.md")
    parser.add_argument("--strict", action="store_true", help="exit with 1 if a target is missed")
    options = parser.parse_args(argv)
    unknown = [name for name in options.parts if name not in names]
    if unknown:
        parser.error(f"no part {unknown[0]!r}; there are {', '.join(names)}")
    return options


def say(text: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
