"""The grown trees as flat arrays; the members of their leaves are stored in few bytes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from cqrf import _engine
from cqrf.support.records import Record

# Ranks are divided into blocks of 2**15; two bytes tell the place in a block, and the event.
_BLOCK_ROWS = 2**15


def _n_blocks(n_rows: int) -> int:
    return -(-n_rows // _BLOCK_ROWS)


def _block_bytes(n_rows: int) -> int:
    """Bytes that hold the number of a block."""
    return 0 if n_rows <= _BLOCK_ROWS else 1 if _n_blocks(n_rows) <= 2**8 else 2


def counts_are_smaller(n_leaves: int, n_members: int, n_rows: int) -> bool:
    """Whether counts by block take fewer bytes than a block for each of all members."""
    return 2 * _n_blocks(n_rows) * n_leaves < _block_bytes(n_rows) * n_members


@dataclass(frozen=True, eq=False)
class Members:
    """The members of all leaves, stored in two to four bytes each.

    Attributes
    ----------
    members : ndarray of shape (B, members per tree), uint16
        Ranks modulo 2**15, plus 2**15 for events; leaf after leaf, in time order within each.
    members_block : ndarray of the same shape, uint8, or None
        Rank divided by 2**15, modulo 2**8, where there are more than 2**15 rows.
    members_block_high : ndarray of the same shape, uint8, or None
        Rank divided by 2**23, where there are more than 2**23 rows.
    block_counts : ndarray of shape (total leaves, blocks), uint16, or None
        Instead of these bytes: how many members of a leaf lie in each block of 2**15 ranks.
    """

    members: NDArray[np.uint16]
    members_block: NDArray[np.uint8] | None
    members_block_high: NDArray[np.uint8] | None
    block_counts: NDArray[np.uint16] | None = None

    @classmethod
    def zeros(cls, n_trees: int, per_tree: int, n_rows: int, *, blocks: bool = True) -> Members:
        """Make room for the members of some trees; without their blocks if these are counted."""
        shape = (n_trees, per_tree)
        n_bytes = _block_bytes(n_rows) if blocks else 0
        return cls(
            np.zeros(shape, dtype=np.uint16),
            np.zeros(shape, dtype=np.uint8) if n_bytes > 0 else None,
            np.zeros(shape, dtype=np.uint8) if n_bytes > 1 else None,
        )

    @classmethod
    def of(cls, ranks: NDArray[np.uint32], event: NDArray[np.uint8]) -> Members:
        """Pack ranks of shape (B, members per tree); events are by rank, of shape (n,)."""
        packed = cls.zeros(ranks.shape[0], ranks.shape[1], len(event))
        packed.take(ranks, event)
        return packed

    def take(
        self,
        ranks: NDArray[np.uint32],
        event: NDArray[np.uint8],
        sizes: NDArray[np.uint32] | None = None,
    ) -> None:
        """Pack the ranks of the first trees; of each only so many as it has, if they are given."""
        low, block, block_high = self.rows(0, len(ranks))
        for tree, all_of_them in enumerate(ranks):
            own = all_of_them if sizes is None else all_of_them[: sizes[tree]]
            n = len(own)
            low[tree, :n] = own % _BLOCK_ROWS + _BLOCK_ROWS * event[own].astype(np.uint32)
            for shift, part in ((15, block), (23, block_high)):
                if part is not None:
                    part[tree, :n] = own >> shift & 0xFF

    def rows(
        self, begin: int, end: int
    ) -> tuple[NDArray[np.uint16], NDArray[np.uint8] | None, NDArray[np.uint8] | None]:
        """Return the arrays of the trees from `begin` on, before `end`."""
        block, block_high = (
            None if part is None else part[begin:end]
            for part in (self.members_block, self.members_block_high)
        )
        return self.members[begin:end], block, block_high

    def counted(
        self,
        leaf_start: NDArray[np.uint32],
        leaf_offset: NDArray[np.int64],
        n_rows: int,
        n_threads: int,
    ) -> Members:
        """Count members by blocks where that takes fewer bytes than a block for each of them."""
        n_leaves = len(leaf_start) - len(leaf_offset) + 1
        if self.members_block is None or not counts_are_smaller(
            n_leaves, self.members.size, n_rows
        ):
            return self
        counts = _engine.count_blocks(
            self.members_block,
            self.members_block_high,
            leaf_start,
            leaf_offset,
            _n_blocks(n_rows),
            n_threads,
        )
        return Members(self.members, None, None, counts)


@dataclass(frozen=True, eq=False)
class Trees(Record):
    """The grown trees as flat arrays, one tree after the other.

    Attributes
    ----------
    nodes : ndarray of shape (total nodes, 4), uint32
        Words of a node: left child within its tree (a leaf: itself), feature, cut and flags,
        subset (a leaf: its number).
    node_offset : ndarray of shape (B + 1,), int64
        Tree b has the nodes ``node_offset[b]`` to ``node_offset[b + 1] - 1``.
    subsets : ndarray of shape (total subsets, 4), uint64
        Bins that go left in a categorical split, one bit each.
    subset_offset : ndarray of shape (B + 1,), int64
    leaf_start : ndarray, uint32
        Of every tree, where the members of its leaves begin, and where the last ones end.
    leaf_offset : ndarray of shape (B + 1,), int64
    members, members_block, members_block_high, block_counts : ndarray or None
        The members of the leaves, see `Members`; `ranks` unpacks them.
    event : ndarray of shape (n,), uint8
        Events by rank, those of the target.
    missing : ndarray of shape (p,), uint8
        Bin of missing values of every feature.
    seed : int
        Tree b is a function of (seed, b) and the training data.
    """

    nodes: NDArray[np.uint32]
    node_offset: NDArray[np.int64]
    subsets: NDArray[np.uint64]
    subset_offset: NDArray[np.int64]
    leaf_start: NDArray[np.uint32]
    leaf_offset: NDArray[np.int64]
    members: NDArray[np.uint16]
    members_block: NDArray[np.uint8] | None
    members_block_high: NDArray[np.uint8] | None
    block_counts: NDArray[np.uint16] | None
    event: NDArray[np.uint8]
    missing: NDArray[np.uint8]
    seed: int

    def __len__(self) -> int:
        return len(self.node_offset) - 1

    @cached_property
    def engine(self) -> _engine.Forest:
        """The same arrays in the engine, which checks every index of them."""
        return self.check(None)

    def check(self, progress: Callable[[int], None] | None) -> _engine.Forest:
        """Check every index; `progress` is called with the number of trees that are done."""
        return _engine.Forest(
            self.nodes,
            self.node_offset,
            self.subsets,
            self.subset_offset,
            self.leaf_start,
            self.leaf_offset,
            self.members,
            self.members_block,
            self.members_block_high,
            self.block_counts,
            self.missing,
            self.event,
            progress,
        )

    def sizes(self) -> NDArray[np.uint32]:
        """Return how many members the leaves of each tree have together, shape (B,)."""
        return self.leaf_start[self.leaf_offset[1:] - 1]

    @property
    def members_per_test_point(self) -> float:
        """Members of the leaves in which a row ends, all trees together, on average over leaves."""
        n_leaves = len(self.leaf_start) - len(self)
        return len(self) * self.members.size / n_leaves

    def ranks(self) -> NDArray[np.uint32]:
        """Unpack the members of all leaves, shape (B, members per tree)."""
        return self.engine.ranks()
