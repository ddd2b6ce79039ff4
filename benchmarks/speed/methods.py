"""The data, and the forests that are compared on it, with the same settings for all.

Libraries are imported where they are used: a fresh process loads that of its own method only, and a
neighbour that is not installed is left out.
"""

from __future__ import annotations

import importlib.util
import json
import os
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from speed.store import FOREST_VARIABLE

MAX_FEATURES = 1 / 3
CENSORED = 0.3
QUANTILES = (0.1, 0.3, 0.5, 0.7, 0.9)
GRID = 200

OURS = "cqrf"
OURS_DEFAULT = "cqrf, default criterion"
OURS_CENSORED = f"cqrf, {CENSORED:.0%} censored"
OURS_BEST = "cqrf, best splits"
OURS_RANDOM = "cqrf, random cuts of one response"
OURS_CHOSEN = "cqrf, leaf size chosen"
SCIKIT_LEARN = "scikit-learn"
LIGHTGBM = "LightGBM rf"
QUANTILE_FOREST = "quantile-forest"
QUANTILE_FOREST_ONE = "quantile-forest, one sample"
COMPRISK = "comprisk"


@dataclass(frozen=True)
class Setting:
    """Size of a problem and of the forest.

    Attributes
    ----------
    n, p : int
        Training rows and features.
    leaf : int
        Smallest number of rows on either side of a split.
    trees, threads : int
        Trees of the forest; threads of fit and predict.
    """

    n: int
    leaf: int
    trees: int = 100
    p: int = 10
    threads: int = 1


@dataclass(frozen=True)
class Data:
    """Friedman's regression function of uniform features, with normal noise.

    Attributes
    ----------
    X, y : ndarray of shape (n, p) and (n,), float64
        Training rows.
    X_test, y_test : ndarray of shape (m, p) and (m,), float64
        Test rows.
    time, event : ndarray of shape (n,), float64 and bool
        The same outcomes with 30% of them right-censored.
    """

    X: NDArray[np.float64]
    y: NDArray[np.float64]
    X_test: NDArray[np.float64]
    y_test: NDArray[np.float64]
    time: NDArray[np.float64]
    event: NDArray[np.bool_]

    @classmethod
    def draw(cls, n: int, n_test: int, seed: int, p: int = 10) -> Data:
        """Draw n training rows and n_test test rows."""
        from sklearn.datasets import make_friedman1

        X, y = make_friedman1(n + n_test, p, noise=1.0, random_state=seed)
        limit = np.random.default_rng(seed).normal(0.0, y.std(), n)
        # The shift that leaves exactly the wanted share of times above their limit.
        limit += np.quantile(y[:n] - limit, 1 - CENSORED)
        return cls(
            X=X[:n],
            y=y[:n],
            X_test=X[n:],
            y_test=y[n:],
            time=np.minimum(y[:n], limit),
            event=y[:n] <= limit,
        )


def scikit_learn_parameters(setting: Setting, seed: int = 0) -> dict[str, Any]:
    """Name the settings in scikit-learn's way, which most of the forests have."""
    return {
        "n_estimators": setting.trees,
        "min_samples_leaf": setting.leaf,
        "max_features": MAX_FEATURES,
        "n_jobs": setting.threads,
        "random_state": seed,
    }


class Method:
    """A forest to be measured.

    Attributes
    ----------
    package : str
        Module that must be installed.
    answers : str
        What its prediction is, where that is not five quantiles of every row.
    """

    package = "cqrf"
    answers = ""

    @property
    def installed(self) -> bool:
        """Whether the method can run here."""
        return importlib.util.find_spec(self.package) is not None

    def fit(self, data: Data, setting: Setting, seed: int = 0) -> Any:
        """Grow a forest, from plain arrays: binning is included where there is any."""
        raise NotImplementedError

    def predict(self, model: Any, X: NDArray[np.float64], threads: int) -> Any:
        """Answer the rows of X."""
        model.n_jobs = threads
        return model.predict(X, quantiles=list(QUANTILES))


@dataclass(frozen=True)
class Ours(Method):
    """Our forest with the trees of the others: bootstrap samples, squared error, best cuts."""

    censored: bool = False

    def parameters(self, setting: Setting, seed: int) -> dict[str, Any]:
        """Parameters of the forest."""
        same_trees = {"criterion": "mse", "bootstrap": True}
        return scikit_learn_parameters(setting, seed) | same_trees

    def fit(self, data: Data, setting: Setting, seed: int = 0) -> Any:  # noqa: D102
        from cqrf import CensoredQuantileForest

        asked = json.loads(os.environ.get(FOREST_VARIABLE) or "{}")
        forest = CensoredQuantileForest(**self.parameters(setting, seed) | asked)
        return forest.fit(data.X, *((data.time, data.event) if self.censored else (data.y,)))


@dataclass(frozen=True)
class OursByDefault(Ours):
    """Our forest with its defaults, but told a criterion and the size of nodes."""

    criterion: str = "distribution"
    told: bool = True

    def parameters(self, setting: Setting, seed: int) -> dict[str, Any]:  # noqa: D102
        parameters = scikit_learn_parameters(setting, seed) | {"criterion": self.criterion}
        del parameters["max_features"], parameters["min_samples_leaf"]
        return parameters | ({"min_samples_split": 2 * setting.leaf} if self.told else {})


class ScikitLearn(Method):  # noqa: D101
    package = "sklearn"
    answers = "means"

    def fit(self, data: Data, setting: Setting, seed: int = 0) -> Any:  # noqa: D102
        from sklearn.ensemble import RandomForestRegressor

        return RandomForestRegressor(**scikit_learn_parameters(setting, seed)).fit(data.X, data.y)

    def predict(self, model: Any, X: NDArray[np.float64], threads: int) -> Any:  # noqa: D102
        model.n_jobs = threads
        return model.predict(X)


class LightGBM(Method):  # noqa: D101
    package = "lightgbm"
    answers = "means"

    def fit(self, data: Data, setting: Setting, seed: int = 0) -> Any:  # noqa: D102
        import lightgbm

        parameters = {
            "objective": "regression",
            "boosting": "rf",
            # The distinct rows of a bootstrap sample, so that trees are as deep as the others.
            "bagging_fraction": 0.632,
            "bagging_freq": 1,
            "feature_fraction_bynode": MAX_FEATURES,
            "min_data_in_leaf": setting.leaf,
            # Never reached: a tree has at most 0.632 n / leaf leaves.
            "num_leaves": max(2, 2 * setting.n // setting.leaf),
            "max_bin": 255,
            "num_threads": setting.threads,
            "seed": seed,
            "verbose": -1,
        }
        rows = lightgbm.Dataset(data.X, data.y)
        return lightgbm.train(parameters, rows, num_boost_round=setting.trees)

    def predict(self, model: Any, X: NDArray[np.float64], threads: int) -> Any:  # noqa: D102
        return model.predict(X, num_threads=threads)


@dataclass(frozen=True)
class QuantileForest(Method):
    """quantile-forest, keeping all samples of a leaf, or one at random, which is its default."""

    samples: int | None
    package = "quantile_forest"

    def fit(self, data: Data, setting: Setting, seed: int = 0) -> Any:  # noqa: D102
        from quantile_forest import RandomForestQuantileRegressor

        parameters = scikit_learn_parameters(setting, seed)
        forest = RandomForestQuantileRegressor(**parameters, max_samples_leaf=self.samples)
        return forest.fit(data.X, data.y)


class Comprisk(Method):
    """A competing-risks forest, with one risk; it predicts curves on a grid of 200 times."""

    package = "comprisk"
    answers = f"curves at {GRID} times"

    def fit(self, data: Data, setting: Setting, seed: int = 0) -> Any:  # noqa: D102
        from comprisk import CompetingRiskForest

        forest = CompetingRiskForest(
            setting.trees,
            min_samples_split=2 * setting.leaf,
            min_samples_leaf=setting.leaf,
            # Its default of 15 would stop trees that the others grow on.
            max_depth=64,
            max_features=MAX_FEATURES,
            time_grid=GRID,
            random_state=seed,
            n_jobs=setting.threads,
            device="cpu",
        )
        # Its times must be positive.
        return forest.fit(data.X, data.time - data.time.min() + 1.0, data.event.astype(int))

    def predict(self, model: Any, X: NDArray[np.float64], threads: int) -> Any:  # noqa: D102
        model.n_jobs = threads
        return model.predict_cif(X)


METHODS: dict[str, Method] = {
    OURS: Ours(),
    OURS_DEFAULT: OursByDefault(censored=True),
    OURS_CENSORED: Ours(censored=True),
    OURS_BEST: OursByDefault(censored=True, criterion="mse"),
    OURS_RANDOM: OursByDefault(censored=True, criterion="random"),
    OURS_CHOSEN: OursByDefault(censored=True, told=False),
    LIGHTGBM: LightGBM(),
    SCIKIT_LEARN: ScikitLearn(),
    QUANTILE_FOREST: QuantileForest(None),
    QUANTILE_FOREST_ONE: QuantileForest(1),
    COMPRISK: Comprisk(),
}


def warm_up(method: Method, setting: Setting) -> None:
    """Load the libraries and compile what is compiled at first use."""
    small = replace(setting, n=500, leaf=20, trees=2)
    data = Data.draw(small.n, 2, seed=1, p=small.p)
    method.predict(method.fit(data, small), data.X_test, setting.threads)
