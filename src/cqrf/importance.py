"""Which features matter, and for which quantiles."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from cqrf._checks import check_int
from cqrf._ipcw import censoring_weights
from cqrf._scoring import mean_by_level, pinball
from cqrf._trees import Trees
from cqrf.features import find_column

if TYPE_CHECKING:
    from cqrf._answers import FittedForest


@dataclass(frozen=True, eq=False)
class Importance:
    """Increase of the out-of-bag loss when a feature, or a group of them, is permuted.

    Attributes
    ----------
    feature_names : list of str, length p
        Names of the features or of the groups.
    quantiles : ndarray of shape (q,), float64
        Levels of the predicted quantiles.
    mean : ndarray of shape (p, q), float64
        Increase of the censoring-weighted pinball loss, in units of time; about zero, of either
        sign, for a feature that does not matter.
    std_error : ndarray of shape (p, q), float64
        Standard errors of `mean` over the rows, for the forest as it is.
    repeats : ndarray of shape (r, p, q), float64
        The increases of every repeat; `mean` is their mean.
    """

    feature_names: list[str]
    quantiles: NDArray[np.float64]
    mean: NDArray[np.float64]
    std_error: NDArray[np.float64]
    repeats: NDArray[np.float64]


def oob_importance(
    forest: FittedForest,
    quantiles: float | ArrayLike | None,
    groups: Mapping[str, Any] | None,
    n_repeats: int,
    random_state: Any,
) -> Importance:
    """Permute features among the training rows; see `CensoredQuantileForest.oob_importance`."""
    check_is_fitted(forest)
    levels, _ = forest._levels(quantiles)
    names, columns = _named_columns(forest, groups)
    check_int("n_repeats", n_repeats, 1)
    random = check_random_state(random_state)
    asked = _Asked.from_forest(forest, levels)
    # One permutation per repeat, the same for all features: what is said of one of them does not
    # depend on which others are asked for.
    n = forest.target_.n
    donors = np.stack([random.permutation(n) for _ in range(n_repeats)], axis=1)
    repeats = np.empty((n_repeats, len(names), len(levels)))
    std_error = np.empty(repeats.shape[1:])
    for j, group in enumerate(columns):
        increase = asked.increase(forest, group, donors[asked.rows].astype(np.uint32))
        for r in range(n_repeats):
            repeats[r, j] = mean_by_level(increase[:, r], asked.weight)
        by_row = increase.mean(axis=1)
        share = asked.weight / asked.weight.sum()
        std_error[j] = np.sqrt(share**2 @ (by_row - share @ by_row) ** 2)
    return Importance(names, levels, repeats.mean(axis=0), std_error, repeats)


@dataclass(frozen=True, eq=False)
class _Asked:
    """The k rows whose loss counts: uncensored, and answered by some tree that left them out.

    Attributes
    ----------
    estimation : Estimation
        Out-of-bag weights of all n ranks.
    levels : ndarray of shape (q,), float64
    rows : ndarray of shape (k,), uint32
        Their ranks.
    time, weight : ndarray of shape (k,), float64
        Their times, and the weights of the loss.
    predicted : ndarray of shape (k, q), float64
        Their out-of-bag quantiles.
    split_features : set of int
        Features that some node asks for; others change nothing.
    """

    estimation: Any
    levels: NDArray[np.float64]
    rows: NDArray[np.uint32]
    time: NDArray[np.float64]
    weight: NDArray[np.float64]
    predicted: NDArray[np.float64]
    split_features: set[int]

    @classmethod
    def from_forest(cls, forest: FittedForest, levels: NDArray[np.float64]) -> _Asked:
        estimation = forest._oob_estimation()
        target = forest.target_
        predicted = forest._solve(estimation, levels, None, None, "clip")
        time = target.observed
        weight = censoring_weights(time, target.event == 1, target)
        if target.weight is not None:
            weight *= target.weight
        rows = np.flatnonzero((weight > 0.0) & ~np.isnan(predicted[:, 0]))
        if not rows.size:
            raise ValueError("no uncensored row was left out by any tree; grow more trees")
        return cls(
            estimation,
            levels,
            rows.astype(np.uint32),
            time[rows],
            weight[rows],
            predicted[rows],
            _split_features(forest.trees_),
        )

    def increase(
        self, forest: FittedForest, group: list[int], donors: NDArray[np.uint32]
    ) -> NDArray[np.float64]:
        """Loss with the values of `donors`, shape (k, r), in the columns of a group, less loss.

        Returns
        -------
        ndarray of shape (k, r, q), float64
        """
        # Where no value changes, nor does the answer: such a row is not asked again.
        changes = np.zeros(donors.shape, dtype=np.bool_)
        for j in self.split_features.intersection(group):
            changes |= forest._bins[donors, j] != forest._bins[self.rows, j][:, None]
        at, _ = np.nonzero(changes)
        permuted = np.isin(np.arange(forest._bins.shape[1]), group)
        ranks, lent = self.rows[at], donors[changes]
        points = None
        if forest._kernel is not None:
            points = forest._kernel.points[ranks]
            of_group = permuted[forest._kernel.feature_of_coordinate()]
            points[:, of_group] = forest._kernel.points[lent][:, of_group]
        estimation = forest._with_censoring(
            self.estimation.weights.permuted(permuted.astype(np.uint8), ranks, lent), points
        )
        answers = forest._solve(estimation, self.levels, None, None, "clip")
        # A row may be sent to leaves that hold nobody else: then nothing is known to change.
        answers = np.where(np.isnan(answers), self.predicted[at], answers)
        increase = np.zeros((*donors.shape, len(self.levels)))
        increase[changes] = pinball(self.time[at], answers, self.levels) - pinball(
            self.time[at], self.predicted[at], self.levels
        )
        return increase


def split_importance(trees: Trees) -> NDArray[np.float64]:
    """Count who is split by what; see `CensoredQuantileForest.split_importance`."""
    nodes = trees.nodes
    n_nodes = np.diff(trees.node_offset)
    tree = np.repeat(np.arange(len(trees)), n_nodes)
    is_leaf = _is_leaf(trees)
    leaf = trees.leaf_offset[tree[is_leaf]] + nodes[is_leaf, 3]
    rows = np.zeros(len(nodes))
    rows[is_leaf] = trees.leaf_start[leaf + 1].astype(np.int64) - trees.leaf_start[leaf]
    # Levels from the roots down, then rows from the leaves up.
    left = nodes[:, 0] + trees.node_offset[tree]
    levels = []
    level = trees.node_offset[:-1]
    while (level := level[~is_leaf[level]]).size:
        levels.append(level)
        level = np.concatenate([left[level], left[level] + 1])
    for level in reversed(levels):
        rows[level] = rows[left[level]] + rows[left[level] + 1]
    passed = np.bincount(nodes[~is_leaf, 1], rows[~is_leaf], len(trees.missing))
    shares: NDArray[np.float64] = passed / max(passed.sum(), 1.0)
    return shares


def feature_names(forest: FittedForest) -> list[str]:
    """Names of the columns of the training data; x0, x1, ... if it had none."""
    given = getattr(forest, "feature_names_in_", None)
    if given is None:
        return [f"x{j}" for j in range(forest._bins.shape[1])]
    return [str(name) for name in given]


def _is_leaf(trees: Trees) -> NDArray[np.bool_]:
    return (trees.nodes[:, 2] >> 16 & 1).astype(np.bool_)


def _split_features(trees: Trees) -> set[int]:
    """Features that some node asks for."""
    return set(np.unique(trees.nodes[~_is_leaf(trees), 1]).tolist())


def _named_columns(
    forest: FittedForest, groups: Mapping[str, Any] | None
) -> tuple[list[str], list[list[int]]]:
    """Names of the groups and the positions of their columns; each column by itself if None."""
    p = forest._bins.shape[1]
    if groups is None:
        return feature_names(forest), [[j] for j in range(p)]
    names = feature_names(forest) if hasattr(forest, "feature_names_in_") else None
    if not isinstance(groups, Mapping):
        raise TypeError(f"groups must map names to lists of columns; received {groups!r}")
    if not groups:
        raise ValueError("groups is empty; give at least one group of columns")
    columns = []
    for name, entries in groups.items():
        argument = f"groups[{name!r}]"
        if isinstance(entries, str) or not np.iterable(entries):
            raise TypeError(f"{argument} must be a list of columns; received {entries!r}")
        found = [find_column(entry, argument, names, p) for entry in entries]
        if not found:
            raise ValueError(f"{argument} is empty; give at least one column")
        if len(set(found)) < len(found):
            raise ValueError(f"{argument} holds a column twice: {list(entries)}")
        columns.append(found)
    return [str(name) for name in groups], columns
