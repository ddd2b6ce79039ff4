"""How fast a model file is checked and loaded, how large it is, and how much of it is shared.

python benchmarks/files.py --rows 32768 200000 --trees 200 --processes 4

Up to 32,768 rows a member of a leaf takes two bytes; beyond, leaves count their members by blocks
of so many ranks, or a byte is added.
"""

from __future__ import annotations

import argparse
import multiprocessing
import statistics
import tempfile
import time
from multiprocessing.synchronize import Barrier
from pathlib import Path

import numpy as np

from cqrf import CensoredQuantileForest


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, nargs="+", default=[32_768, 200_000])
    parser.add_argument("--trees", type=int, default=200)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--processes", type=int, default=4)
    options = parser.parse_args()
    for rows in options.rows:
        measure(rows, options.trees, options.repeats, options.processes)


def measure(rows: int, trees: int, repeats: int, processes: int) -> None:
    """Print the figures of one forest."""
    X = np.random.default_rng(0).uniform(size=(rows, 2))
    forest = CensoredQuantileForest(
        trees, min_samples_split=1000, criterion="random", random_state=0
    )
    forest.fit(X, X[:, 0])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.cqrf"
        forest.save(path)
        size = path.stat().st_size
        speeds = []
        for _ in range(repeats):
            start = time.perf_counter()
            CensoredQuantileForest.load(path)
            speeds.append(size / (time.perf_counter() - start) / 1e9)
        resident, shared = in_processes(path, X[:100], processes)
    print(f"{rows:,} rows, {trees} trees")
    print(f"load: {statistics.median(speeds):.2f} [{min(speeds):.2f}, {max(speeds):.2f}] GB/s")
    print(f"size: {size / rows / trees:.2f} bytes per row and tree")
    print(
        f"{processes} processes with a file of {size / 1e6:.0f} MB: each has "
        f"{resident / 1e6:.0f} MB of it in memory (Rss), all together {shared / 1e6:.0f} MB "
        f"(the sum of their Pss)"
    )


def in_processes(path: Path, X: np.ndarray, count: int) -> tuple[float, float]:
    """Load one file in several processes; bytes of it in one of them, and in all together."""
    context = multiprocessing.get_context("spawn")
    barrier = context.Barrier(count)
    with context.Pool(count, initializer=remember, initargs=(barrier,)) as pool:
        figures = pool.starmap(memory_of, [(path, X)] * count, chunksize=1)
    return statistics.mean(rss for rss, _ in figures), sum(pss for _, pss in figures)


_barrier: Barrier


def remember(barrier: Barrier) -> None:
    global _barrier
    _barrier = barrier


def memory_of(path: Path, X: np.ndarray) -> tuple[int, int]:
    """Bytes of the file that this process has mapped and resident: Rss, and its share, Pss."""
    forest = CensoredQuantileForest.load(path)
    forest.predict(X)
    # Measured while all of them have it.
    _barrier.wait()
    rss = pss = 0
    inside = False
    for line in Path("/proc/self/smaps").read_text().splitlines():
        key, _, rest = line.partition(":")
        if "-" in key.split(" ")[0]:
            inside = line.endswith(str(path))
        elif inside and key in ("Rss", "Pss"):
            kilobytes = int(rest.split()[0])
            rss += 1024 * kilobytes * (key == "Rss")
            pss += 1024 * kilobytes * (key == "Pss")
    _barrier.wait()
    return rss, pss


if __name__ == "__main__":
    main()
