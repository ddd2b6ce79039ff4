"""Make the golden model files of this version, and what their forests answer.

Run once per version of the format, never again: later releases must load the files as they are.
What a release adds to the format gets a further file, with a name of its own.

    python tests/storage/make_golden.py
"""

import json
from pathlib import Path

import numpy as np
import pandas as pd

from cqrf import CensoredQuantileForest, OutcomeLabels
from cqrf.storage.container import VERSION

FOLDER = Path(__file__).parent / "golden"
LEVELS = [0.1, 0.5, 0.9]


def draw(n, seed):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "age": rng.integers(0, 30, n).astype(float),
            "dose": rng.uniform(size=n).round(3),
            "colour": rng.choice(["red", "grün", "blue"], n),
        }
    )
    X.loc[rng.uniform(size=n) < 0.1, "dose"] = np.nan
    T = 1.0 + X["age"] * rng.uniform(size=n) + (X["colour"] == "red")
    C = rng.uniform(0.0, 40.0, n)
    return X, np.minimum(T, C).round(1), T <= C, rng.integers(0, 4, n)


def hexes(values):
    return [float(value).hex() for value in np.ravel(values)]


def answers(forest, X):
    """What is held against the stored answers, as hexadecimal floats."""
    found = {
        "predict": hexes(forest.predict(X, LEVELS)),
        "survival": hexes(forest.predict_survival_function(X, times=[2.0, 10.0, 20.0])),
        "oob": hexes(forest.oob_predict(LEVELS)),
        "apply": forest.apply(X).ravel().tolist(),
        "size": forest.min_samples_split_,
    }
    if forest.ci_group_size > 1:
        found["std"] = hexes(forest.predict(X, LEVELS, return_std=True)[1])
    if forest.calibration_ is not None:
        found["interval"] = hexes(forest.predict_interval(X, 0.8, method="conformal"))
    return found


FORESTS = {
    "right": {"criterion": "mse", "max_samples": 0.5},
    "left": {
        "censoring": "left",
        "censoring_curve": "knn",
        "honest": True,
        "bootstrap": True,
        "min_samples_leaf": 2,
    },
    "kernel": {"censoring_curve": "kernel", "min_samples_split": 10, "max_samples": 0.5},
    "bags": {"ci_group_size": 3, "min_samples_leaf": 5},
}


def main():
    X, y, event, weight = draw(100, seed=0)
    test, *_ = draw(6, seed=1)
    for name, params in FORESTS.items():
        forest = CensoredQuantileForest(12, random_state=0, **params).fit(
            X, y, event, sample_weight=weight
        )
        if name in ("right", "left"):
            forest.calibrate(*draw(60, seed=2)[:3])
        forest.outcome_labels_ = OutcomeLabels("T", "died", "days")
        forest.save(FOLDER / f"v{VERSION}_{name}.cqrf")
        stored = {"X": test.astype(object).where(test.notna(), None).to_dict("list")}
        stored["answers"] = answers(forest, test)
        text = json.dumps(stored, indent=1)
        (FOLDER / f"v{VERSION}_{name}.json").write_text(text + "\n", encoding="ascii")


if __name__ == "__main__":
    main()
