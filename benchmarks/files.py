"""How fast a model file is checked and loaded, in gigabytes per second, and how large it is.

python benchmarks/files.py --rows 200000 --trees 200
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from pathlib import Path

import numpy as np

from cqrf import CensoredQuantileForest


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--trees", type=int, default=200)
    parser.add_argument("--repeats", type=int, default=7)
    options = parser.parse_args()
    X = np.random.default_rng(0).uniform(size=(options.rows, 2))
    forest = CensoredQuantileForest(options.trees, min_samples_split=1000, criterion="random")
    forest.fit(X, X[:, 0])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.cqrf"
        forest.save(path)
        size = path.stat().st_size
        speeds = []
        for _ in range(options.repeats):
            start = time.perf_counter()
            CensoredQuantileForest.load(path)
            speeds.append(size / (time.perf_counter() - start) / 1e9)
    print(f"load: {statistics.median(speeds):.2f} [{min(speeds):.2f}, {max(speeds):.2f}] GB/s")
    print(f"size: {size / options.rows / options.trees:.2f} bytes per row and tree")


if __name__ == "__main__":
    main()
