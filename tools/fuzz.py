"""A fuzz target for the loader of model files, guided by the branches that it takes.

python tools/fuzz.py -max_total_time=600

Options are libFuzzer's. What is mutated is a file without its checksum: the right one is put behind
it, so that the checks after the checksum are reached. Every second mutation is one of libFuzzer's,
of bytes; the others keep the structure of the file (`tests/faults/attacks`). A file is refused
with `ModelFileError`, or loads and predicts finite numbers; anything else is written to
``crash-*``. The corpus starts with the golden files and a file of one small tree, and is kept in
``build/fuzz``.
"""

from __future__ import annotations

import struct
import sys
import warnings
import zlib
from pathlib import Path

import atheris
import numpy as np

with atheris.instrument_imports(
    include=[
        "cqrf.storage.container",
        "cqrf.storage.header",
        "cqrf.storage.schema",
        "cqrf.model.stored",
    ]
):
    from cqrf import CensoredQuantileForest, ModelFileError

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "faults"))
from attacks import Draft, mutate  # noqa: E402

CORPUS = ROOT / "build" / "fuzz"
FILE = CORPUS / "candidate.cqrf"


def try_file(data: bytes) -> None:
    """Load one file, and use it if it loads."""
    FILE.write_bytes(data + struct.pack("<I", zlib.crc32(data)))
    try:
        forest = CensoredQuantileForest.load(FILE)
    except ModelFileError:
        return
    X = np.zeros((2, forest.n_features_in_), dtype=object)
    if hasattr(forest, "feature_names_in_"):
        del forest.feature_names_in_
    for values in (forest.predict(X), forest.predict(X, [0.1, 0.9], interpolation="linear")):
        assert np.isfinite(values).all()
    assert abs(forest.forest_weights(X).sum() - 2.0) < 1e-9
    forest.apply(X)


def change(data: bytes, max_size: int, seed: int) -> bytes:
    """Mutate bytes, or what they mean."""
    rng = np.random.default_rng(seed)
    if rng.integers(2):
        try:
            draft = Draft(data + bytes(4))
            mutate(draft, rng)
            mutant = draft.to_bytes()[:-4]
        except Exception:  # whatever the bytes were, they were no model file
            mutant = b""
        if 0 < len(mutant) <= max_size:
            return mutant
    return bytes(atheris.Mutate(data, max_size))


def write_seeds(folder: Path) -> None:
    """Begin with whole files, without their checksums."""
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(8, 1))
    CensoredQuantileForest(1, min_samples_leaf=2, random_state=0).fit(X, X[:, 0]).save(FILE)
    for path in (FILE, *sorted((ROOT / "tests" / "storage" / "golden").glob("*.cqrf"))):
        (folder / path.stem).write_bytes(path.read_bytes()[:-4])


def main() -> None:
    """Fuzz until libFuzzer's options say stop."""
    warnings.simplefilter("ignore")
    corpus = CORPUS / "corpus"
    write_seeds(corpus)
    options = [f"-artifact_prefix={CORPUS}/", "-max_len=20000", "-rss_limit_mb=4096"]
    atheris.Setup(
        [sys.argv[0], *options, *sys.argv[1:], str(corpus)], try_file, custom_mutator=change
    )
    atheris.Fuzz()


if __name__ == "__main__":
    main()
