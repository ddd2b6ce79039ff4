"""The fresh process in which one method is measured: requests come in and answers go out as JSON.

``{"do": "fit", "with": {"calls": 1}}`` calls `Bench.fit`; see `speed.process` for the other side.
"""

from __future__ import annotations

import itertools
import json
import os
import pickle
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from speed import memory
from speed.methods import GRID, METHODS, QUANTILES, Data, Setting, warm_up

Answer = dict[str, Any]


def measured(
    run: Callable[[], object], calls: int, keep: Callable[[object], None] = lambda _: None
) -> Answer:
    """Seconds per call by the clock and of all threads' processors, and the growth of memory.

    Parameters
    ----------
    run : callable
        What is measured.
    calls : int
        How often it is called.
    keep : callable, optional
        Takes the answer, and None before the next call: tearing a forest down is not part of a
        fit.
    """
    keep(None)
    memory.forget_peak()
    before = memory.resident_mb()
    wall = processor = 0.0
    for _ in range(calls):
        keep(None)
        processor_start, start = time.process_time(), time.perf_counter()
        answer = run()
        wall += time.perf_counter() - start
        processor += time.process_time() - processor_start
        peak = memory.peak_mb() - before
        keep(answer)
        del answer
    return {
        "call": wall / calls,
        "seconds": wall / calls,
        "processor": processor / calls,
        "peak_mb": peak,
    }


class Bench:
    """One method on one data set."""

    def open(self, method: str, setting: dict[str, Any], n_test: int) -> Answer:
        """Draw the data and load the libraries, before the clock starts."""
        self.method, self.setting = METHODS[method], Setting(**setting)
        warm_up(self.method, self.setting)
        self.data = Data.draw(self.setting.n, n_test, seed=0, p=self.setting.p)
        self.model: Any = None
        self.counted = itertools.count(1)
        return {}

    def fit(self, calls: int = 1) -> Answer:
        """Grow the forest, and keep it."""

        def keep(model: object) -> None:
            self.model = model

        return measured(lambda: self.method.fit(self.data, self.setting), calls, keep)

    def load(self, path: str | None, threads: int) -> Answer:
        """Grow the forest on so many threads, outside the clock; or take it from a file.

        What is grown is stored in the file, if there is none: growing some of the neighbours takes
        longer than everything else.
        """
        setting = replace(self.setting, threads=threads)
        if path is None:
            self.model = self.method.fit(self.data, setting)
            return {}
        file = Path(path)
        if not file.exists():
            start = time.perf_counter()
            model = self.method.fit(self.data, setting)
            print(f"{file.stem}: grown in {time.perf_counter() - start:.0f} s", file=sys.stderr)
            file.parent.mkdir(parents=True, exist_ok=True)
            partial = file.with_suffix(f".{os.getpid()}")
            with partial.open("wb") as stream:
                pickle.dump(model, stream, protocol=5)
            partial.rename(file)
            del model
        # Only files that this command has written itself.
        with file.open("rb") as stream:
            self.model = pickle.load(stream)
        return {}

    def predict(self, rows: int, calls: int = 1) -> Answer:
        """Answer test rows in the method's own way."""
        X = self.data.X_test[:rows]
        return measured(lambda: self.method.predict(self.model, X, self.setting.threads), calls)

    def one_row(self, calls: int = 1) -> Answer:
        """Ask for one row after the other; seconds of a single row."""
        rows = [row[None, :] for row in self.data.X_test]
        threads = self.setting.threads
        answer = measured(
            lambda: [self.method.predict(self.model, row, threads) for row in rows], calls
        )
        for name in ("seconds", "processor"):
            answer[name] /= len(rows)
        return answer

    def answer(self, what: str, rows: int, calls: int = 1) -> Answer:
        """Ask our forest for something else than five quantiles."""
        import numpy as np

        forest, X = self.model, self.data.X_test[:rows]
        forest.n_jobs = self.setting.threads
        times = np.quantile(self.data.time, np.linspace(0.01, 0.99, GRID))
        levels = np.linspace(0.01, 0.99, 99)
        new_times = (times * (1.0 + 1e-4 * k) for k in self.counted)
        runs = {
            "5 quantiles": lambda: forest.predict(X, list(QUANTILES)),
            "99 quantiles": lambda: forest.predict(X, levels),
            "survival": lambda: forest.predict_survival_function(X, times=times),
            "survival, new times": lambda: forest.predict_survival_function(
                X, times=next(new_times)
            ),
            "restricted mean": lambda: forest.predict_rmst(X, float(np.median(times))),
        }
        return measured(runs[what], calls)

    def held(self) -> Answer:
        """Bytes of the arrays that the fitted forest keeps, with what a prediction adds to them."""
        self.model.predict(self.data.X_test[:1])
        arrays = memory.array_bytes(self.model)
        arrays["cells of time"] = self.model.trees_.engine.cells_bytes
        memory.forget_peak()
        return {"arrays": arrays, "resident_mb": memory.resident_mb()}

    def figure(self, name: str, **options: Any) -> Answer:
        """Work out figures that belong to this package alone."""
        # Its libraries are not those of every method.
        from speed.figures import FIGURES

        return FIGURES[name](**options)


def main() -> None:
    # Whatever a library prints must not end up among the answers.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    bench = Bench()
    for line in sys.stdin:
        request = json.loads(line)
        try:
            answer = getattr(bench, request["do"])(**request["with"])
        except Exception as error:
            traceback.print_exc()
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
