"""Whether speed is paid for with accuracy: forest means against those of the neighbours."""

from __future__ import annotations

import statistics
from dataclasses import dataclass, field

import numpy as np

from speed.methods import LIGHTGBM, METHODS, OURS, SCIKIT_LEARN, Data, Setting

N_TEST = 5_000
# Rows of the weight matrix that are held at once: all of them would not fit into memory.
BLOCK = 250

# Our weights are over all rows routed down a tree; scikit-learn averages the rows it drew. To tell
# trees from weights, its trees are also read with our weights.
SAME_WEIGHTS = f"{SCIKIT_LEARN}'s trees, weights over all rows"


@dataclass
class Accuracy:
    """Test error of one forest, one entry per seed; each seed draws new data."""

    method: str
    mse: list[float] = field(default_factory=list)
    r2: list[float] = field(default_factory=list)
    leaves: list[float] = field(default_factory=list)

    def add(self, y: np.ndarray, means: np.ndarray, leaves: float) -> None:
        """Score the means of one seed's test rows, both of shape (m,)."""
        mse = float(np.mean((y - means) ** 2))
        self.mse.append(mse)
        self.r2.append(1.0 - mse / float(y.var()))
        self.leaves.append(float(leaves))

    def excess_of(self, other: Accuracy) -> tuple[float, float]:
        """Mean of the other's squared error minus this one's, and its standard error."""
        values = [b - a for a, b in zip(self.mse, other.mse, strict=True)]
        spread = statistics.stdev(values) if len(values) > 1 else float("nan")
        return statistics.mean(values), spread / len(values) ** 0.5


def measure_accuracy(setting: Setting, seeds: int) -> list[Accuracy]:
    """Grow every forest on new data for each seed."""
    ours, peer, same_weights, lightgbm = answers = [
        Accuracy(method) for method in (OURS, SCIKIT_LEARN, SAME_WEIGHTS, LIGHTGBM)
    ]
    for seed in range(seeds):
        data = Data.draw(setting.n, N_TEST, seed=1000 + seed)

        forest = METHODS[OURS].fit(data, setting, seed)
        blocks = np.array_split(data.X_test, -(-N_TEST // BLOCK))
        means = np.concatenate([forest.forest_weights(block) @ data.y for block in blocks])
        ours.add(data.y_test, means, forest.apply(data.X).max(axis=0).mean() + 1)

        trees = METHODS[SCIKIT_LEARN].fit(data, setting, seed)
        leaves = np.mean([tree.get_n_leaves() for tree in trees.estimators_])
        peer.add(data.y_test, trees.predict(data.X_test), leaves)
        means = _means_over_all_rows(trees.apply(data.X), trees.apply(data.X_test), data.y)
        same_weights.add(data.y_test, means, leaves)

        if not METHODS[LIGHTGBM].installed:
            continue
        booster = METHODS[LIGHTGBM].fit(data, setting, seed)
        leaves = np.mean([tree["num_leaves"] for tree in booster.dump_model()["tree_info"]])
        lightgbm.add(data.y_test, booster.predict(data.X_test), leaves)
    return [each for each in answers if each.mse]


def _means_over_all_rows(
    train_leaves: np.ndarray, test_leaves: np.ndarray, y: np.ndarray
) -> np.ndarray:
    """Forest means, shape (m,), from leaf numbers of shape (n, trees) and (m, trees)."""
    total = np.zeros(len(test_leaves))
    for train, test in zip(train_leaves.T, test_leaves.T, strict=True):
        # Every leaf holds a training row, numbers of inner nodes are not looked up.
        total += np.bincount(train, weights=y)[test] / np.bincount(train)[test]
    return total / test_leaves.shape[1]
