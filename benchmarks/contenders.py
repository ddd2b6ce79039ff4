"""The data, and the forests that are compared on it, with the same settings for all."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import lightgbm
import numpy as np
from measure import Contender
from quantile_forest import RandomForestQuantileRegressor
from sklearn.datasets import make_friedman1
from sklearn.ensemble import RandomForestRegressor

from cqrf import CensoredQuantileForest

N_TREES = 100
N_FEATURES = 10
MAX_FEATURES = 1 / 3
CENSORED = 0.3
QUANTILES = [0.1, 0.3, 0.5, 0.7, 0.9]
N_PREDICTED = 1000

OURS = "cqrf"
OURS_DEFAULT = 'cqrf, criterion="random"'
OURS_CENSORED = f"cqrf, {CENSORED:.0%} censored"
SCIKIT_LEARN = "scikit-learn"
LIGHTGBM = "LightGBM rf"
QUANTILE_FOREST = "quantile-forest"


@dataclass(frozen=True)
class Data:
    """Friedman's regression function of uniform features, with normal noise.

    Attributes
    ----------
    X, y : ndarray of shape (n, 10) and (n,), float64
        Training rows.
    X_test, y_test : ndarray of shape (m, 10) and (m,), float64
        Test rows.
    time, event : ndarray of shape (n,), float64 and bool
        The same outcomes with 30% of them right-censored.
    """

    X: np.ndarray
    y: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray
    time: np.ndarray
    event: np.ndarray

    @classmethod
    def draw(cls, n: int, n_test: int, seed: int) -> Data:
        """Draw n training rows and n_test test rows."""
        X, y = make_friedman1(n + n_test, N_FEATURES, noise=1.0, random_state=seed)
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


def our_forest(leaf: int, threads: int, seed: int = 0, **options: Any) -> CensoredQuantileForest:
    settings = _shared(leaf, threads, seed) | {"criterion": "mse"} | options
    return CensoredQuantileForest(**settings)


def scikit_learn_forest(leaf: int, threads: int, seed: int = 0) -> RandomForestRegressor:
    return RandomForestRegressor(**_shared(leaf, threads, seed))


def fit_lightgbm(data: Data, leaf: int, threads: int, seed: int = 0) -> lightgbm.Booster:
    """Bin the features and grow: the other forests start from plain arrays too."""
    params = {
        "objective": "regression",
        "boosting": "rf",
        # The distinct rows of a bootstrap sample, so that trees are as deep as the others.
        "bagging_fraction": 0.632,
        "bagging_freq": 1,
        "feature_fraction_bynode": MAX_FEATURES,
        "min_data_in_leaf": leaf,
        # Never reached: a tree has at most 0.632 n / leaf leaves.
        "num_leaves": max(2, 2 * len(data.y) // leaf),
        "max_bin": 255,
        "num_threads": threads,
        "seed": seed,
        "verbose": -1,
    }
    return lightgbm.train(params, lightgbm.Dataset(data.X, data.y), num_boost_round=N_TREES)


def fitting(data: Data, leaf: int, thread_counts: Sequence[int]) -> list[Contender]:
    """Contenders of "fit", those whose ratios are taken next to each other."""

    def runs(threads: int) -> dict[str, Any]:
        return {
            OURS: lambda: our_forest(leaf, threads).fit(data.X, data.y),
            OURS_DEFAULT: lambda: our_forest(leaf, threads, criterion="random").fit(data.X, data.y),
            OURS_CENSORED: lambda: our_forest(leaf, threads).fit(data.X, data.time, data.event),
            LIGHTGBM: lambda: fit_lightgbm(data, leaf, threads),
            SCIKIT_LEARN: lambda: scikit_learn_forest(leaf, threads).fit(data.X, data.y),
        }

    return _by_method("fit", {threads: runs(threads) for threads in thread_counts})


def predicting(data: Data, leaf: int, thread_counts: Sequence[int]) -> list[Contender]:
    """Contenders of "predict": forests are grown here, outside the clock."""
    most = max(thread_counts)
    ours = our_forest(leaf, most).fit(data.X, data.y)
    censored = our_forest(leaf, most).fit(data.X, data.time, data.event)
    # All leaf samples, and otherwise its defaults, which are the fastest of its modes.
    peer = RandomForestQuantileRegressor(**_shared(leaf, most, 0), max_samples_leaf=None)
    peer.fit(data.X, data.y)
    X_test = data.X_test[:N_PREDICTED]

    def run(forest: Any, threads: int) -> Any:
        # A shallow copy: one set of trees serves all numbers of threads.
        view = copy.copy(forest).set_params(n_jobs=threads)
        return lambda: view.predict(X_test, quantiles=QUANTILES)

    forests = {OURS: ours, OURS_CENSORED: censored, QUANTILE_FOREST: peer}
    return _by_method(
        "predict",
        {
            threads: {method: run(forest, threads) for method, forest in forests.items()}
            for threads in thread_counts
        },
    )


def _shared(leaf: int, threads: int, seed: int) -> dict[str, Any]:
    """Name the settings in scikit-learn's way, which three of the four forests have."""
    return {
        "n_estimators": N_TREES,
        "min_samples_leaf": leaf,
        "max_features": MAX_FEATURES,
        "bootstrap": True,
        "n_jobs": threads,
        "random_state": seed,
    }


def _by_method(task: str, runs: dict[int, dict[str, Any]]) -> list[Contender]:
    methods = next(iter(runs.values()))
    return [
        Contender(task, method, threads, runs[threads][method])
        for method in methods
        for threads in runs
    ]
