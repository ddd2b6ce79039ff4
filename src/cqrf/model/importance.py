"""Which features matter, and for which quantiles."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state

from cqrf.data.features import find_column
from cqrf.growing.trees import Trees
from cqrf.metrics.common import mean_by_level, pinball
from cqrf.metrics.curve_errors import integrated_errors, scoring_times
from cqrf.metrics.ipcw import Scored
from cqrf.metrics.left_out import reference_curves
from cqrf.model.fitted import FittedModel
from cqrf.model.points import OutOfBag
from cqrf.solving.estimation import Estimation
from cqrf.solving.options import AnswerOptions
from cqrf.support.blocks import in_row_blocks
from cqrf.support.checks import check_int, check_quantiles

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
    model: FittedModel,
    options: AnswerOptions,
    quantiles: float | ArrayLike | None,
    groups: Mapping[str, Any] | None,
    n_repeats: int,
    random_state: Any,
    horizon: float | str,
) -> Importance:
    """Permute features among the training rows; see `CensoredQuantileForest.oob_importance`."""
    names, columns = _named_columns(model, groups)
    check_int("n_repeats", n_repeats, 1)
    random = check_random_state(random_state)
    scored = Scored.of_training(model.target, horizon)
    levels, scalar = (None, True) if quantiles is None else check_quantiles(quantiles)
    loss = (
        _CurveLoss.of(scored)
        if levels is None
        else _QuantileLoss(scored, scored.weight, levels, options)
    )
    asked = _Asked.of(model, options, loss)
    # One permutation per repeat, the same for all features: what is said of one of them does not
    # depend on which others are asked for.
    n = model.target.n
    donors = np.stack([random.permutation(n) for _ in range(n_repeats)], axis=1)
    repeats = np.empty((n_repeats, len(names), asked.before.shape[1]))
    std_error = np.empty(repeats.shape[1:])
    share = asked.weight / asked.weight.sum()
    for j, group in enumerate(columns):
        increase = asked.increase(group, donors[asked.rows].astype(np.uint32))
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
    options: AnswerOptions

    def __call__(self, estimation: Estimation, ranks: NDArray[Any]) -> NDArray[np.float64]:
        options = self.options
        predicted, _ = estimation.quantiles(
            self.levels, solver=options.solver, interpolation=options.interpolation
        )
        time = self.scored.cut(self.scored.time[ranks])
        return pinball(time, self.scored.cut(predicted), self.levels)


@dataclass(frozen=True, eq=False)
class _Asked:
    """The k rows whose loss counts: known, and answered by some tree that left them out.

    Attributes
    ----------
    model : FittedModel
    options : AnswerOptions
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

    model: FittedModel
    options: AnswerOptions
    loss: _Loss
    estimation: Estimation
    rows: NDArray[np.uint32]
    weight: NDArray[np.float64]
    before: NDArray[np.float64]
    split_features: set[int]

    @classmethod
    def of(cls, model: FittedModel, options: AnswerOptions, loss: _Loss) -> _Asked:
        estimation = OutOfBag(model, options).estimation
        before = loss(estimation, np.arange(model.target.n))
        rows = np.flatnonzero((loss.weight > 0.0) & ~np.isnan(before[:, 0]))
        if not rows.size:
            raise ValueError("no row of known outcome was left out by any tree; grow more trees")
        return cls(
            model,
            options,
            loss,
            estimation,
            rows.astype(np.uint32),
            loss.weight[rows],
            before[rows],
            _split_features(model.trees),
        )

    def increase(self, group: list[int], donors: NDArray[np.uint32]) -> NDArray[np.float64]:
        """Loss with the values of `donors`, shape (k, r), in the columns of a group, less loss.

        Returns
        -------
        ndarray of shape (k, r, q), float64
        """
        bins = self.model.bins
        # Where no value changes, nor does the answer: such a row is not asked again.
        changes = np.zeros(donors.shape, dtype=np.bool_)
        for j in self.split_features.intersection(group):
            changes |= bins[donors, j] != bins[self.rows, j][:, None]
        at, _ = np.nonzero(changes)
        lent = donors[changes]
        permuted = np.isin(np.arange(bins.shape[1]), group)
        increase = np.zeros((*donors.shape, self.before.shape[1]))
        if at.size:
            (increase[changes],) = in_row_blocks(
                len(at),
                _VALUES_PER_ROW,
                lambda block: (self._increase(permuted, at[block], lent[block]),),
            )
        return increase

    def _increase(
        self, permuted: NDArray[np.bool_], at: NDArray[np.int64], lent: NDArray[np.uint32]
    ) -> NDArray[np.float64]:
        """Increase of the loss, shape (m, q), of the rows `at` with the values of others."""
        ranks, places, kernel = self.rows[at], None, self.model.kernel
        if kernel is not None:
            places = kernel.points[ranks]
            of_group = permuted[kernel.feature_of_coordinate()]
            places[:, of_group] = kernel.points[lent][:, of_group]
        weights = self.estimation.weights.permuted(permuted.astype(np.uint8), ranks, lent)
        estimation = self.model.estimation(weights, self.options, places)
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


def _is_leaf(trees: Trees) -> NDArray[np.bool_]:
    return (trees.nodes[:, 2] >> 16 & 1).astype(np.bool_)


def _split_features(trees: Trees) -> set[int]:
    """Features that some node asks for."""
    return set(np.unique(trees.nodes[~_is_leaf(trees), 1]).tolist())


def _named_columns(
    model: FittedModel, groups: Mapping[str, Any] | None
) -> tuple[list[str], list[list[int]]]:
    """Names of the groups and the positions of their columns; each column by itself if None."""
    p = model.n_features
    if groups is None:
        return model.names, [[j] for j in range(p)]
    names = None if model.feature_names is None else list(model.feature_names)
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
