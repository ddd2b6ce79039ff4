"""Growing the trees of a forest in batches, and keeping them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from numbers import Integral, Real
from time import monotonic
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cqrf import _engine
from cqrf.data.binning import Binner
from cqrf.data.outcome import Target, kaplan_meier
from cqrf.growing.trees import Members, Trees, counts_are_smaller
from cqrf.support.checks import as_float, check_choice, check_fraction_or_count, check_int
from cqrf.support.progress import ProgressBar

# criterion -> (the engine's rule, random cuts per feature; 0 means the best cut)
CRITERIA = {
    "distribution": ("distribution", 1),
    "mse": ("mse", 0),
    "random": ("mse", 1),
    "quantile": ("quantile", 0),
    "logrank": ("logrank", 0),
}

# Among so many features a second random cut of each finds the few that matter more often; with
# fewer it only makes trees more alike (docs/design/0005).
_WIDE = 20
_NO_LIMIT = 2**32 - 1
# Random cuts of a feature, and trees, that the engine can count.
MOST_CUTS = 2**31 - 1
MOST_TREES = 2**31 - 1
# Every row is left out by a tenth of the trees, for out-of-bag answers; the cost in accuracy is
# within noise (docs/design/0004).
_SUBSAMPLE = 0.9
# Short enough for a progress bar that moves; the engine itself answers Ctrl-C within a batch.
_SECONDS_PER_BATCH = 0.2


@dataclass(frozen=True)
class GrowOptions:
    """Everything that decides how a tree grows, in numbers.

    Attributes
    ----------
    rule : str
        Name of the engine's splitting rule.
    n_thresholds : int
        Random cuts per feature; 0 for the best cut.
    min_samples_split : int or None
        A node is split while it has at least so many distinct rows. None is to be chosen from
        the data, before any tree is grown.
    min_samples_leaf : int
        Each side of a split keeps so many distinct rows.
    max_depth : int
        Depth at which nodes end.
    max_features : int
        Features examined in a node.
    n_draws : int
        Rows drawn for a tree.
    replace : bool
        Whether they are drawn with replacement.
    honest : bool
        Whether one half of them splits and the other fills the leaves.
    group_size : int
        Trees that share a half of the training rows, and know no others; 1 if all are known.
    """

    rule: str
    n_thresholds: int
    min_samples_split: int | None
    min_samples_leaf: int
    max_depth: int
    max_features: int
    n_draws: int
    replace: bool
    honest: bool
    group_size: int

    @classmethod
    def from_params(cls, params: dict[str, Any], n: int, p: int) -> GrowOptions:
        """Check the estimator's parameters and resolve them for n rows and p features."""
        criterion = check_choice("criterion", params["criterion"], tuple(CRITERIA))
        rule, n_thresholds = CRITERIA[criterion]
        if params["n_thresholds"] == "auto":
            n_thresholds *= 2 if p >= _WIDE else 1
        else:
            given = check_int(
                "n_thresholds", params["n_thresholds"], 1, allow_none=True, maximum=MOST_CUTS
            )
            n_thresholds = 0 if given is None else given
        min_samples_split, min_samples_leaf = _node_sizes(
            params["min_samples_split"], params["min_samples_leaf"], n
        )
        max_depth = check_int("max_depth", params["max_depth"], 1, allow_none=True)
        bootstrap = check_choice("bootstrap", params["bootstrap"], (True, False))
        group_size = check_int("ci_group_size", params["ci_group_size"], 1)
        if params["n_estimators"] % group_size != 0:
            raise ValueError(
                f"n_estimators must be a multiple of ci_group_size={group_size}; "
                f"received {params['n_estimators']!r}"
            )
        max_samples = params["max_samples"]
        if isinstance(max_samples, str):
            check_choice("max_samples", max_samples, ("auto",))
            max_samples = None if bootstrap else _SUBSAMPLE
        return cls(
            rule=rule,
            n_thresholds=n_thresholds,
            min_samples_split=min_samples_split,
            min_samples_leaf=min_samples_leaf,
            max_depth=_NO_LIMIT if max_depth is None else min(max_depth, _NO_LIMIT),
            max_features=check_fraction_or_count(
                "max_features", params["max_features"], p, allow_names=True
            ),
            n_draws=check_fraction_or_count("max_samples", max_samples, pool_size(n, group_size)),
            replace=bootstrap,
            honest=check_choice("honest", params["honest"], (True, False)),
            group_size=group_size,
        )


def pool_size(n: int, group_size: int) -> int:
    """Rows that a tree draws from: all n, or the half that its group knows."""
    return n if group_size == 1 else n - n // 2


def _node_sizes(split: object, leaf: object, n: int) -> tuple[int | None, int]:
    if split is None and leaf is None:
        return None, 1
    return (
        2 if split is None else _node_size("min_samples_split", split, n, minimum=2),
        1 if leaf is None else _node_size("min_samples_leaf", leaf, n, minimum=1),
    )


def _node_size(name: str, value: object, n: int, minimum: int) -> int:
    """Count of rows from a count or, as in scikit-learn, a fraction of n that is rounded up."""
    if isinstance(value, Real) and not isinstance(value, Integral | bool):
        fraction = as_float(value)
        if not 0.0 < fraction <= 1.0:
            raise ValueError(f"{name} as a fraction must lie in (0, 1]; received {value!r}")
        return max(minimum, math.ceil(fraction * n))
    return min(check_int(name, value, minimum), _NO_LIMIT)


def make_grower(
    bins: NDArray[np.uint8], binner: Binner, target: Target, options: GrowOptions, seed: int
) -> _engine.ForestGrower:
    """Hand the training data over to the engine."""
    if options.min_samples_split is None:
        raise AssertionError("the leaf size is not chosen yet")
    return _engine.ForestGrower(
        bins=bins,
        missing=binner.n_bins,
        categorical=binner.is_categorical,
        times=target.times,
        time_index=target.time_index,
        event=target.event,
        survival=kaplan_meier(target),
        weight=target.weight,
        criterion=options.rule,
        n_thresholds=options.n_thresholds,
        min_samples_split=options.min_samples_split,
        min_samples_leaf=options.min_samples_leaf,
        max_depth=options.max_depth,
        max_features=options.max_features,
        seed=seed,
        n_draws=options.n_draws,
        replace=options.replace,
        honest=options.honest,
        group_size=options.group_size,
    )


def grow_trees(
    bins: NDArray[np.uint8],
    binner: Binner,
    target: Target,
    options: GrowOptions,
    *,
    n_trees: int,
    seed: int,
    n_threads: int,
    verbose: int,
    grown: Trees | None = None,
) -> Trees:
    """Grow trees until there are `n_trees`.

    Parameters
    ----------
    bins : ndarray of shape (n, p), uint8
        Binned features in rank order.
    binner : Binner
        What made them.
    target : Target
        Outcomes of the n ranks.
    options : GrowOptions
        How a tree grows.
    n_trees : int
        Number of trees wanted, those of `grown` included.
    seed : int
        Seed of the forest.
    n_threads : int
        Threads; the trees do not depend on it.
    verbose : int
        Whether a progress bar is shown.
    grown : Trees, optional
        The first trees, grown before from the same data, options and seed.

    Returns
    -------
    Trees
    """
    grower = make_grower(bins, binner, target, options, seed)
    first = 0 if grown is None else len(grown)
    # Where leaves cannot be many, their members are counted by block as they are filled.
    counted = grown is None and counts_are_smaller(
        most_leaves(options, target.n), grower.members_per_tree, target.n
    )
    # Members are by far the largest arrays: made once, filled batch by batch, never copied.
    members = Members.zeros(n_trees, grower.members_per_tree, target.n, blocks=not counted)
    parts = _Parts()
    if grown is not None:
        members.take(grown.ranks(), target.event, grown.sizes())
        parts.add_trees(grown)

    def grow(done: int, count: int) -> None:
        parts.add_batch(*grower.grow(done, count, n_threads, *members.rows(done, done + count)))

    # At the end of a batch threads wait for each other: without a bar to move there is one batch.
    batch = None if verbose > 0 else n_trees
    in_batches(
        grow, first, n_trees, "growing trees", n_threads=n_threads, verbose=verbose, batch=batch
    )
    return parts.trees(members, target.event, binner.n_bins, seed, n_threads)


def most_leaves(options: GrowOptions, n: int) -> int:
    """Leaves that no tree has more of: each holds so many of the distinct rows that grow it."""
    growing = min(pool_size(n, options.group_size), options.n_draws)
    return max(1, growing // options.min_samples_leaf)


def in_batches(
    work: Callable[[int, int], None],
    first: int,
    total: int,
    label: str,
    *,
    n_threads: int,
    verbose: int,
    batch: int | None = None,
) -> None:
    """Call ``work(done, count)`` for batches of trees until all are done, with a progress bar.

    The first batch has a tree for every thread, or as many as are given.
    """
    done, batch = first, n_threads if batch is None else batch
    with ProgressBar(total, label, enabled=verbose > 0) as bar:
        bar.update(done)
        while done < total:
            count = min(batch, total - done)
            start = monotonic()
            work(done, count)
            batch = _next_batch(count, monotonic() - start, n_threads)
            done += count
            bar.update(done)


def _next_batch(count: int, seconds: float, n_threads: int) -> int:
    """Trees of the next batch: a multiple of the threads that takes about the same short time."""
    rounds = count / n_threads * min(4.0, _SECONDS_PER_BATCH / max(seconds, 1e-9))
    return n_threads * max(1, int(rounds))


def _joined(parts: list[NDArray[Any]]) -> NDArray[Any]:
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


class _Parts:
    """Nodes, subsets and leaf starts of batches, to be joined at the end."""

    def __init__(self) -> None:
        self._arrays: list[list[NDArray[Any]]] = [[], [], []]
        self._counts: list[list[NDArray[np.int64]]] = [[], [], []]
        self._block_counts: list[NDArray[np.uint16]] = []

    def add_batch(
        self, batch: tuple[NDArray[Any], ...], block_counts: NDArray[np.uint16] | None = None
    ) -> None:
        for kind in range(3):
            self._arrays[kind].append(batch[2 * kind])
            self._counts[kind].append(batch[2 * kind + 1])
        if block_counts is not None:
            self._block_counts.append(block_counts)

    def add_trees(self, trees: Trees) -> None:
        self.add_batch(
            (
                trees.nodes,
                np.diff(trees.node_offset),
                trees.subsets,
                np.diff(trees.subset_offset),
                trees.leaf_start,
                np.diff(trees.leaf_offset),
            )
        )

    def trees(
        self,
        members: Members,
        event: NDArray[np.uint8],
        missing: NDArray[np.uint8],
        seed: int,
        n_threads: int,
    ) -> Trees:
        nodes, subsets, leaf_start = map(_joined, self._arrays)
        offsets = [
            np.concatenate([[0], np.cumsum(np.concatenate(counts))]).astype(np.int64)
            for counts in self._counts
        ]
        if self._block_counts:
            members = replace(members, block_counts=_joined(self._block_counts))
        else:
            members = members.counted(leaf_start, offsets[2], len(event), n_threads)
        return Trees(
            nodes=nodes,
            node_offset=offsets[0],
            subsets=subsets,
            subset_offset=offsets[1],
            leaf_start=leaf_start,
            leaf_offset=offsets[2],
            **vars(members),
            event=event,
            missing=missing,
            seed=seed,
        )
