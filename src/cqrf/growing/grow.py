"""Growing the trees of a forest in batches, and keeping them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from time import monotonic
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cqrf import _engine
from cqrf.data.binning import Binner
from cqrf.data.outcome import Target, kaplan_meier
from cqrf.growing.options import GrowOptions, most_leaves
from cqrf.growing.trees import Members, Trees, counts_are_smaller
from cqrf.support.progress import ProgressBar

# Short enough for a progress bar that moves; the engine itself answers Ctrl-C within a batch.
_SECONDS_PER_BATCH = 0.2


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
    # A member's rank is stored modulo 2**15. If there are few leaves, counts of their members per
    # block of 2**15 ranks tell the rest in less memory than a block number for every member.
    counted = grown is None and counts_are_smaller(
        most_leaves(options, target.n), grower.members_per_tree, target.n
    )
    # Members are by far the largest arrays: they are allocated once and filled batch by batch.
    members = Members.zeros(n_trees, grower.members_per_tree, target.n, blocks=not counted)
    parts = _Parts()
    if grown is not None:
        members.take(grown.ranks(), target.event, grown.sizes())
        parts.add_trees(grown)

    def grow(done: int, count: int) -> None:
        parts.add_batch(*grower.grow(done, count, n_threads, *members.rows(done, done + count)))

    # Threads wait for each other at the end of a batch, so without a progress bar there is only one.
    batch = None if verbose > 0 else n_trees
    in_batches(
        grow, first, n_trees, "growing trees", n_threads=n_threads, verbose=verbose, batch=batch
    )
    return parts.trees(members, target.event, binner.n_bins, seed, n_threads)


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
