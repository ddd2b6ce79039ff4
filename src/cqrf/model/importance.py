"""Which features matter, and for which quantiles."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from cqrf.data.features import find_column
from cqrf.growing.trees import Trees
from cqrf.metrics.common import mean_by_level, pinball
from cqrf.metrics.curve_errors import integrated_errors, reference_curves, scoring_times
from cqrf.metrics.ipcw import Scored
from cqrf.solving.estimation import Estimation
from cqrf.support.blocks import in_row_blocks
from cqrf.support.checks import check_int, check_quantiles

if TYPE_CHECKING:
    from cqrf._answers import FittedForest

# Differences of losses need fewer times than the losses themselves.
_N_TIMES = 48
# Held in memory for a row that is answered anew, in about so many numbers.
_VALUES_PER_ROW = 4 * _N_TIMES


@dataclass(frozen=True, eq=False)
class Importance:
    """What is lost out-of-bag when a feature, or a group of them, is permuted.

    Attributes
    ----------
    feature_names : list of str, length p
        Names of the features or of the groups.
    quantiles : ndarray of shape (q,), float64, or None
        Levels of the predicted quantiles; None where whole curves are scored.
    mean : ndarray of shape (p,), or (p, q) for several quantiles, float64
        Without quantiles, the share of the Kaplan-Meier curve's integrated Brier score that is
        lost: so much smaller is `oob_score`. With quantiles, the increase of the pinball loss of
        min(T, h), in units of time. About zero, of either sign, for a feature that does not matter.
    std_error : ndarray of the same shape, float64
        Standard errors of `mean` over the rows, for the forest as it is.
    repeats : ndarray of shape (r, p), or (r, p, q) for several quantiles, float64
        The losses of every repeat; `mean` is their mean.
    horizon : float
        The time h up to which is scored.
    """

    feature_names: list[str]
    quantiles: NDArray[np.float64] | None
    mean: NDArray[np.float64]
    std_error: NDArray[np.float64]
    repeats: NDArray[np.float64]
    horizon: float


def oob_importance(
    forest: FittedForest,
    quantiles: float | ArrayLike | None,
    groups: Mapping[str, Any] | None,
    n_repeats: int,
    random_state: Any,
    horizon: float | str,
) -> Importance:
    """Permute features among the training rows; see `CensoredQuantileForest.oob_importance`."""
    check_is_fitted(forest)
    names, columns = _named_columns(forest, groups)
    check_int("n_repeats", n_repeats, 1)
    random = check_random_state(random_state)
    scored = Scored.of_training(forest.target_, horizon)
    levels, scalar = (None, True) if quantiles is None else check_quantiles(quantiles)
    loss = _CurveLoss.of(scored) if levels is None else _QuantileLoss.of(scored, forest, levels)
    asked = _Asked.from_forest(forest, loss)
    # One permutation per repeat, the same for all features: what is said of one of them does not
    # depend on which others are asked for.
    n = forest.target_.n
    donors = np.stack([random.permutation(n) for _ in range(n_repeats)], axis=1)
    repeats = np.empty((n_repeats, len(names), asked.before.shape[1]))
    std_error = np.empty(repeats.shape[1:])
    share = asked.weight / asked.weight.sum()
    for j, group in enumerate(columns):
        increase = asked.increase(forest, group, donors[asked.rows].astype(np.uint32))
        repeats[:, j] = np.einsum("i,irq->rq", share, increase)
        by_row = increase.mean(axis=1)
        std_error[j] = np.sqrt(share**2 @ (by_row - share @ by_row) ** 2)
    if scalar:
        repeats, std_error = repeats[..., 0], std_error[..., 0]
    return Importance(names, levels, repeats.mean(axis=0), std_error, repeats, scored.horizon)


class _Loss(Protocol):
    """What rows of known outcome lose by an answer."""

    @property
    def weight(self) -> NDArray[np.float64]:
        """Weights of the ranks in the mean, shape (n,); zero where nothing is known of a row."""
        ...

    def __call__(self, estimation: Estimation, ranks: NDArray[Any]) -> NDArray[np.float64]:
        """Losses (m, q) of the answers of an estimation for some ranks, shape (m,)."""
        ...


@dataclass(frozen=True, eq=False)
class _CurveLoss:
    """Integrated squared error of the survival curve, as a share of that of Kaplan-Meier's."""

    scored: Scored
    weight: NDArray[np.float64]
    times: NDArray[np.float64]
    reference: float

    @classmethod
    def of(cls, scored: Scored) -> _CurveLoss:
        times = scoring_times(scored.train, scored.horizon, _N_TIMES)
        curve = reference_curves(scored.train, times)
        weight = scored.weighted(np.ones(len(scored.time)))
        reference = float(mean_by_level(integrated_errors(scored, curve, times), weight))
        # Where that curve makes no error there is nothing to lose, and every share is zero.
        return cls(scored, weight, times, reference or 1.0)

    def __call__(self, estimation: Estimation, ranks: NDArray[Any]) -> NDArray[np.float64]:
        survival = estimation.curve("survival", self.times)
        errors = integrated_errors(self.scored.take(ranks), survival, self.times)
        return errors[:, None] / self.reference


@dataclass(frozen=True, eq=False)
class _QuantileLoss:
    """Pinball loss of min(T, h) at some levels."""

    scored: Scored
    weight: NDArray[np.float64]
    levels: NDArray[np.float64]
    solve: Callable[[Estimation], NDArray[np.float64]]

    @classmethod
    def of(cls, scored: Scored, forest: FittedForest, levels: NDArray[np.float64]) -> _QuantileLoss:
        def solve(estimation: Estimation) -> NDArray[np.float64]:
            return forest._solve(estimation, levels, None, None, "clip")

        return cls(scored, scored.weight, levels, solve)

    def __call__(self, estimation: Estimation, ranks: NDArray[Any]) -> NDArray[np.float64]:
        time = self.scored.cut(self.scored.time[ranks])
        return pinball(time, self.scored.cut(self.solve(estimation)), self.levels)


@dataclass(frozen=True, eq=False)
class _Asked:
    """The k rows whose loss counts: known, and answered by some tree that left them out.

    Attributes
    ----------
    loss : _Loss
    estimation : Estimation
        Out-of-bag weights of all n ranks.
    rows : ndarray of shape (k,), uint32
        Their ranks.
    weight : ndarray of shape (k,), float64
        Their weights in the mean.
    before : ndarray of shape (k, q), float64
        Their out-of-bag losses.
    split_features : set of int
        Features that some node asks for; others change nothing.
    """

    loss: _Loss
    estimation: Estimation
    rows: NDArray[np.uint32]
    weight: NDArray[np.float64]
    before: NDArray[np.float64]
    split_features: set[int]

    @classmethod
    def from_forest(cls, forest: FittedForest, loss: _Loss) -> _Asked:
        estimation = forest._oob_estimation()
        before = loss(estimation, np.arange(forest.target_.n))
        rows = np.flatnonzero((loss.weight > 0.0) & ~np.isnan(before[:, 0]))
        if not rows.size:
            raise ValueError("no row of known outcome was left out by any tree; grow more trees")
        return cls(
            loss,
            estimation,
            rows.astype(np.uint32),
            loss.weight[rows],
            before[rows],
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
        lent = donors[changes]
        permuted = np.isin(np.arange(forest._bins.shape[1]), group)
        increase = np.zeros((*donors.shape, self.before.shape[1]))
        if at.size:
            increase[changes] = in_row_blocks(
                len(at),
                _VALUES_PER_ROW,
                lambda block: self._increase(forest, permuted, at[block], lent[block]),
            )
        return increase

    def _increase(
        self,
        forest: FittedForest,
        permuted: NDArray[np.bool_],
        at: NDArray[np.int64],
        lent: NDArray[np.uint32],
    ) -> NDArray[np.float64]:
        """Increase of the loss, shape (m, q), of the rows `at` with the values of others."""
        ranks, points = self.rows[at], None
        if forest._kernel is not None:
            points = forest._kernel.points[ranks]
            of_group = permuted[forest._kernel.feature_of_coordinate()]
            points[:, of_group] = forest._kernel.points[lent][:, of_group]
        estimation = forest._with_censoring(
            self.estimation.weights.permuted(permuted.astype(np.uint8), ranks, lent), points
        )
        after = self.loss(estimation, ranks)
        # A row may be sent to leaves that hold nobody else: then nothing is known to change.
        return np.where(np.isnan(after), 0.0, after - self.before[at])


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
