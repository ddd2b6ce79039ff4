"""The methods that are compared: a registry of small functions.

A method turns a `Task` (training data, test points, levels, node size, trees, seed) into
predicted quantiles. To add one, write a function and decorate it::

    @method("my method", "what it is, in one line")
    def _my_method(task):
        return quantiles  # (m, q)

It then takes part in every experiment whose list of methods names it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from importlib.util import find_spec
from math import ceil, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from cqrf.data.outcome import Target
from cqrf.forest import CensoredQuantileForest
from cqrf.metrics.ipcw import censoring_weights
from cqrf.paper.linear import DeBacker, LinearQuantiles, PengHuang, Portnoy
from cqrf.solving.solve import solve_quantiles

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Task:
    """What a method is given.

    Attributes
    ----------
    X : ndarray of shape (n, p)
    time, event : ndarray of shape (n,)
        What was observed. Censored from the left if `censoring` is "left".
    latent : ndarray of shape (n,)
        True times: for oracles only.
    X_test : ndarray of shape (m, p)
    quantiles : ndarray of shape (q,)
    node_size : int or None
        As in the R packages: a node of at most so many rows is a leaf. None leaves the choice to
        the method.
    n_trees, seed : int
    """

    X: Array
    time: Array
    event: NDArray[np.bool_]
    latent: Array
    X_test: Array
    quantiles: Array
    node_size: int | None
    n_trees: int
    seed: int
    censoring: str = "right"


@dataclass(frozen=True)
class Method:
    """A way to predict quantiles.

    Attributes
    ----------
    name, description : str
    predict : callable
        From a `Task` to predicted quantiles of shape (m, q).
    uses_node_size : bool
        Whether `Task.node_size` changes the answer.
    chooses_node_size : bool
        Whether it finds a node size of its own if it is given none; others must be told one.
    oracle : bool
        Whether it looks at the true times.
    censoring : tuple of str
        Kinds of censoring that it can handle.
    module : str or None
        A package that must be installed.
    """

    name: str
    description: str
    predict: Callable[[Task], Array]
    uses_node_size: bool = True
    chooses_node_size: bool = False
    oracle: bool = False
    censoring: tuple[str, ...] = ("right",)
    module: str | None = None

    @property
    def available(self) -> bool:
        """Whether the package that it needs is installed."""
        return self.module is None or find_spec(self.module) is not None

    @property
    def wants_node_size(self) -> bool:
        """Whether a node size must be chosen for it."""
        return self.uses_node_size and not self.chooses_node_size


METHODS: dict[str, Method] = {}
BOTH = ("right", "left")


def method(
    name: str, description: str, **properties: Any
) -> Callable[[Callable[[Task], Array]], Callable[[Task], Array]]:
    """Register a function as a method."""

    def decorate(function: Callable[[Task], Array]) -> Callable[[Task], Array]:
        METHODS[name] = Method(name, description, function, **properties)
        return function

    return decorate


def select(names: Iterable[str]) -> list[Method]:
    """Look up methods by name; those whose package is missing are left out."""
    unknown = [name for name in names if name not in METHODS]
    if unknown:
        raise ValueError(f"unknown methods {unknown}; known: {', '.join(METHODS)}")
    return [METHODS[name] for name in names if METHODS[name].available]


# Kinds of forests, as parameters of ours.
KINDS: dict[str, dict[str, Any]] = {
    "randomForest": {"criterion": "mse", "bootstrap": True, "max_features": 1 / 3},
    "extratrees": {"criterion": "random", "bootstrap": True, "max_features": "sqrt"},
    "logrank": {"criterion": "logrank", "max_samples": 0.632, "n_thresholds": 10},
    "grf": {"criterion": "quantile", "honest": True, "max_samples": 0.5},
}
# randomForest and ranger count a row as often as it was drawn, we count it once.
_DISTINCT = 1.0 - np.exp(-1.0)
PAPER = {"solver": "argmin"}


def _forest(task: Task, parameters: dict[str, Any]) -> CensoredQuantileForest:
    if task.node_size is not None:
        size = task.node_size
        if parameters.get("bootstrap", False):
            size = round(_DISTINCT * size)
        if parameters.get("criterion") == "logrank":
            # randomForestSRC splits nodes of at least twice the size.
            size = 2 * size - 1
        parameters = {"min_samples_split": max(2, size + 1), **parameters}
    if parameters.get("criterion") == "logrank":
        parameters = {"max_features": ceil(sqrt(task.X.shape[1])), **parameters}
    return CensoredQuantileForest(
        task.n_trees, censoring=task.censoring, random_state=task.seed, **parameters
    )


def _censored(task: Task, **parameters: Any) -> Array:
    forest = _forest(task, parameters).fit(task.X, task.time, task.event)
    return forest.predict(task.X_test, task.quantiles)


def _uncensored(task: Task, time: Array, **parameters: Any) -> Array:
    forest = _forest(replace(task, censoring="right"), parameters).fit(task.X, time)
    return forest.predict(task.X_test, task.quantiles)


@method(
    "cqrf",
    "our default: distribution splits, first root, own leaf size",
    chooses_node_size=True,
    censoring=BOTH,
)
def _cqrf(task: Task) -> Array:
    return _censored(task)


@method(
    "cqrf-oracle",
    "our default, told the true times",
    chooses_node_size=True,
    oracle=True,
    censoring=BOTH,
)
def _cqrf_oracle(task: Task) -> Array:
    return _uncensored(task, task.latent)


@method("crf", "the paper's rule: mean splits on Y, Beran, argmin", censoring=BOTH)
def _crf(task: Task) -> Array:
    return _censored(task, **KINDS["randomForest"], **PAPER)


@method("crf-knn", "the paper's rule with nearest neighbours, k = n / 10", censoring=BOTH)
def _crf_knn(task: Task) -> Array:
    return _censored(task, **KINDS["randomForest"], **PAPER, censoring_curve="knn")


@method("crf-root", "the paper's forest, first root with midpoints", censoring=BOTH)
def _crf_root(task: Task) -> Array:
    return _censored(task, **KINDS["randomForest"])


@method("crf-extratrees", "the paper's rule on extremely randomised trees", censoring=BOTH)
def _crf_extratrees(task: Task) -> Array:
    return _censored(task, **KINDS["extratrees"], **PAPER)


@method("crf-grf", "the paper's rule on honest trees with quantile splits", censoring=BOTH)
def _crf_grf(task: Task) -> Array:
    return _censored(task, **KINDS["grf"], **PAPER)


@method("crf-logrank", "the paper's rule on trees with log-rank splits", censoring=BOTH)
def _crf_logrank(task: Task) -> Array:
    return _censored(task, **KINDS["logrank"], **PAPER)


@method("qrf", "quantile forest that takes observed times for true ones", censoring=BOTH)
def _qrf(task: Task) -> Array:
    return _uncensored(task, task.time, **KINDS["randomForest"], interpolation="lower")


@method("qrf-oracle", "quantile forest, told the true times", oracle=True, censoring=BOTH)
def _qrf_oracle(task: Task) -> Array:
    return _uncensored(task, task.latent, **KINDS["randomForest"], interpolation="lower")


@method("grf", "honest quantile splits, observed times taken for true ones", censoring=BOTH)
def _grf(task: Task) -> Array:
    return _uncensored(task, task.time, **KINDS["grf"], interpolation="lower")


@method("grf-oracle", "honest quantile splits, told the true times", oracle=True, censoring=BOTH)
def _grf_oracle(task: Task) -> Array:
    return _uncensored(task, task.latent, **KINDS["grf"], interpolation="lower")


@method("rsf", "random survival forest (log-rank splits), inverted for quantiles")
def _rsf(task: Task) -> Array:
    return _censored(task, **KINDS["logrank"], interpolation="lower")


@method("rsf-sksurv", "scikit-survival's random survival forest, inverted", module="sksurv")
def _rsf_sksurv(task: Task) -> Array:
    from sksurv.ensemble import RandomSurvivalForest
    from sksurv.util import Surv

    leaf = 5 if task.node_size is None else max(1, task.node_size // 2)
    forest = RandomSurvivalForest(
        task.n_trees, min_samples_split=2 * leaf, min_samples_leaf=leaf, random_state=task.seed
    )
    # It wants positive times.
    shift = float(task.time.min()) - 1.0
    forest.fit(task.X, Surv.from_arrays(task.event, task.time - shift))
    survival = forest.predict_survival_function(task.X_test, return_array=True)
    return invert(forest.unique_times_ + shift, survival, task.quantiles)


@method("ipcw", "forest on events weighted by inverse censoring probability (Hothorn et al.)")
def _ipcw(task: Task) -> Array:
    target = Target.from_outcome(task.time, task.event)
    weight = censoring_weights(task.time, task.event, target, horizon=float(target.times[-1]))
    parameters = {**KINDS["randomForest"], "interpolation": "lower"}
    forest = _forest(task, parameters).fit(
        task.X[task.event], task.time[task.event], sample_weight=weight[task.event]
    )
    return forest.predict(task.X_test, task.quantiles)


# Recursively imputed survival trees: number of imputed data sets, and of rounds.
RIST_SETS = 5
RIST_ROUNDS = 3


@method("rist", "recursively imputed survival trees (Zhu & Kosorok)")
def _rist(task: Task) -> Array:
    rng = np.random.default_rng(task.seed)
    trees = max(1, task.n_trees // RIST_SETS)
    parameters = {"criterion": "logrank", "n_thresholds": 1, "interpolation": "lower"}
    share = replace(task, n_trees=trees)
    forests = [_forest(share, parameters).fit(task.X, task.time, task.event)]
    for _ in range(RIST_ROUNDS):
        imputed = [_impute(task, forests, rng) for _ in range(RIST_SETS)]
        forests = [
            _forest(replace(share, seed=task.seed + k), parameters).fit(task.X, time, event)
            for k, (time, event) in enumerate(imputed)
        ]
    # The curve of the averaged weights over all imputed data sets.
    weights = sparse.hstack([forest.forest_weights(task.X_test) for forest in forests])
    return solve_quantiles(
        weights,
        np.concatenate([time for time, _ in imputed]),
        np.concatenate([event for _, event in imputed]),
        task.quantiles,
        interpolation="lower",
    )


def _impute(
    task: Task, forests: list[CensoredQuantileForest], rng: np.random.Generator
) -> tuple[Array, NDArray[np.bool_]]:
    """Draw the times of censored rows from their curves, given that they are later.

    A draw beyond the last time leaves the row censored there, as Zhu and Kosorok do at the end of
    the study.
    """
    rows = np.flatnonzero(~task.event)
    levels = rng.uniform(size=len(rows))
    time, event = task.time.copy(), task.event.copy()
    last = task.time.max()
    grid = np.unique(task.time[task.event])
    survival = np.mean(
        [f.predict_survival_function(task.X[rows], times=grid) for f in forests], axis=0
    )
    for row, curve, u in zip(rows, survival, levels, strict=True):
        later = grid > task.time[row]
        before = curve[~later][-1] if (~later).any() else 1.0
        reached = np.flatnonzero(curve[later] <= u * before)
        if before > 0 and reached.size:
            time[row], event[row] = grid[later][reached[0]], True
        else:
            time[row] = last
    return time, event


@method("cox", "Cox regression (lifelines), inverted", uses_node_size=False, module="lifelines")
def _cox(task: Task) -> Array:
    import pandas as pd
    from lifelines import CoxPHFitter

    columns = [f"x{j}" for j in range(task.X.shape[1])]
    frame = pd.DataFrame(task.X, columns=columns).assign(time=task.time, event=task.event)
    # A touch of ridge: separation would otherwise end the fit.
    model = CoxPHFitter(penalizer=1e-4).fit(frame, "time", "event")
    curves = model.predict_survival_function(pd.DataFrame(task.X_test, columns=columns))
    return invert(curves.index.to_numpy(), curves.to_numpy().T, task.quantiles)


def _linear(model: LinearQuantiles, task: Task) -> Array:
    """Linear in the logarithm of the time, as AFT models are, where all times are positive."""
    positive = task.time.min() > 0
    time = np.log(task.time) if positive else task.time
    model.fit(task.X, time, task.event, task.quantiles)
    answers = model.predict(task.X_test)
    # No further than the data, where an unidentified plane may lead anywhere.
    answers = np.clip(answers, time.min(), time.max())
    return np.exp(answers) if positive else answers


@method("portnoy", "linear censored quantile regression (Portnoy)", uses_node_size=False)
def _portnoy(task: Task) -> Array:
    return _linear(Portnoy(), task)


@method("peng-huang", "linear censored quantile regression (Peng & Huang)", uses_node_size=False)
def _peng_huang(task: Task) -> Array:
    return _linear(PengHuang(), task)


@method(
    "adapted loss", "linear, loss adapted to censoring (De Backer et al.)", uses_node_size=False
)
def _adapted_loss(task: Task) -> Array:
    return _linear(DeBacker(), task)


def invert(times: Array, survival: Array, quantiles: Array) -> Array:
    """First times at which curves (m, K) have fallen to 1 - tau; the last one where they do not."""
    reached = survival[:, :, None] <= 1.0 - quantiles + 1e-12
    first = np.where(reached.any(axis=1), reached.argmax(axis=1), len(times) - 1)
    return times[first]
