"""Loops of cqrf: binning, growing, routing, accumulating, solving."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

MAX_ROWS: int
MAX_FEATURES: int

class Features:
    @staticmethod
    def of_matrix(x: NDArray[Any]) -> Features: ...
    @staticmethod
    def of_columns(columns: list[NDArray[Any]]) -> Features: ...
    @staticmethod
    def of_sparse(
        indptr: NDArray[np.int64],
        indices: NDArray[np.int32],
        values: NDArray[Any],
        implicit: NDArray[np.float64],
        n_rows: int,
    ) -> Features: ...
    @property
    def shape(self) -> tuple[int, int]: ...
    def first_infinite(self, n_threads: int) -> tuple[int, int, float] | None: ...
    def column(self, column: int) -> NDArray[np.float64]: ...

class BinMapper:
    @staticmethod
    def find(
        x: Features,
        rows: NDArray[np.int64],
        weights: NDArray[np.float64] | None,
        n_categories: NDArray[np.int64],
        max_bins: int,
        n_threads: int,
    ) -> BinMapper: ...
    @staticmethod
    def from_state(
        cuts: NDArray[np.float64],
        cut_offset: NDArray[np.int64],
        category_bins: NDArray[np.uint8],
        category_offset: NDArray[np.int64],
        n_bins: NDArray[np.uint8],
        /,
    ) -> BinMapper: ...
    def state(
        self,
    ) -> tuple[
        NDArray[np.float64],
        NDArray[np.int64],
        NDArray[np.uint8],
        NDArray[np.int64],
        NDArray[np.uint8],
    ]: ...
    def bin(
        self, x: Features, rows: NDArray[np.int64] | None, n_threads: int
    ) -> NDArray[np.uint8]: ...

class ForestGrower:
    def __init__(
        self,
        *,
        bins: NDArray[np.uint8],
        missing: NDArray[np.uint8],
        categorical: NDArray[np.uint8],
        times: NDArray[np.float64],
        time_index: NDArray[np.uint32],
        event: NDArray[np.uint8],
        survival: NDArray[np.float64],
        weight: NDArray[np.float64] | None,
        criterion: str,
        n_thresholds: int,
        min_samples_split: int,
        min_samples_leaf: int,
        max_depth: int,
        max_features: int,
        seed: int,
        n_draws: int,
        replace: bool,
        honest: bool,
        group_size: int = 1,
        panels: int | None = None,
    ) -> None: ...
    @property
    def members_per_tree(self) -> int: ...
    def grow(
        self,
        first: int,
        count: int,
        n_threads: int,
        low: NDArray[np.uint16],
        block: NDArray[np.uint8] | None,
        block_high: NDArray[np.uint8] | None,
    ) -> tuple[tuple[NDArray[Any], ...], NDArray[np.uint16] | None]: ...

class LeafSizeScorer:
    def __init__(
        self, grower: ForestGrower, sizes: NDArray[np.uint32], rows: NDArray[np.uint32]
    ) -> None: ...
    def add_trees(self, first: int, count: int, n_threads: int) -> None: ...
    def losses(self) -> NDArray[np.float64]: ...

def count_blocks(
    block: NDArray[np.uint8],
    block_high: NDArray[np.uint8] | None,
    leaf_start: NDArray[np.uint32],
    leaf_offset: NDArray[np.int64],
    n_blocks: int,
    n_threads: int,
) -> NDArray[np.uint16]: ...

class Target:
    def __init__(
        self,
        times: NDArray[np.float64],
        time_index: NDArray[np.uint32],
        event: NDArray[np.uint8],
        weight: NDArray[np.float64] | None,
        order: NDArray[np.int64],
    ) -> None: ...

class Forest:
    def __init__(
        self,
        nodes: NDArray[np.uint32],
        node_offset: NDArray[np.int64],
        subsets: NDArray[np.uint64],
        subset_offset: NDArray[np.int64],
        leaf_start: NDArray[np.uint32],
        leaf_offset: NDArray[np.int64],
        low: NDArray[np.uint16],
        block: NDArray[np.uint8] | None,
        block_high: NDArray[np.uint8] | None,
        block_counts: NDArray[np.uint16] | None,
        missing: NDArray[np.uint8],
        event: NDArray[np.uint8],
        progress: Callable[[int], None] | None = None,
    ) -> None: ...
    def apply(self, bins: NDArray[np.uint8], n_threads: int) -> NDArray[np.int32]: ...
    def ranks(self) -> NDArray[np.uint32]: ...
    @property
    def cells_bytes(self) -> int: ...

class Censoring:
    def __init__(
        self,
        kind: str,
        n_neighbors: int = 0,
        train_points: NDArray[np.float64] | None = None,
        test_points: NDArray[np.float64] | None = None,
    ) -> None: ...

class Weights:
    @staticmethod
    def of_forest(
        forest: Forest,
        target: Target,
        bins: NDArray[np.uint8],
        resolution: int = 0,
        leaves: NDArray[np.int32] | None = None,
    ) -> Weights: ...
    @staticmethod
    def out_of_bag(
        forest: Forest,
        target: Target,
        bins: NDArray[np.uint8],
        seed: int,
        n_draws: int,
        replace: bool,
        group_size: int = 1,
    ) -> Weights: ...
    def permuted(
        self,
        permuted: NDArray[np.uint8],
        ranks: NDArray[np.uint32],
        donors: NDArray[np.uint32],
    ) -> Weights: ...
    @staticmethod
    def of_matrix(
        target: Target,
        indptr: NDArray[np.int64],
        indices: NDArray[np.int64],
        values: NDArray[np.float64],
    ) -> Weights: ...
    @property
    def rows(self) -> int: ...
    def quantiles(
        self,
        levels: NDArray[np.float64],
        after: NDArray[np.float64] | None,
        censoring: Censoring,
        solver: str,
        interpolation: str,
        mirrored: bool,
        n_threads: int,
        block_size: int,
    ) -> tuple[NDArray[np.float64], NDArray[np.uint8]]: ...
    def little_bags(
        self,
        times: NDArray[np.float64],
        left_limit: bool,
        group_size: int,
        n_threads: int,
        block_size: int,
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]: ...
    def grid(
        self,
        which: str,
        times: NDArray[np.float64],
        left_limit: bool,
        censoring: Censoring,
        n_threads: int,
        block_size: int,
    ) -> NDArray[np.float64]: ...
    def restricted_mean(
        self,
        horizon: float,
        mirrored: bool,
        censoring: Censoring,
        n_threads: int,
        block_size: int,
    ) -> NDArray[np.float64]: ...
    def calibration(
        self,
        times: NDArray[np.float64],
        n_classes: int,
        least_censoring: float,
        censoring: Censoring,
        n_threads: int,
        block_size: int,
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]: ...
    def curves(
        self, censoring: Censoring, n_threads: int, block_size: int
    ) -> tuple[NDArray[Any], ...]: ...
    def matrix(
        self, n_threads: int, block_size: int
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]: ...

def rank_outcome(
    time: NDArray[np.float64],
    event: NDArray[np.bool_],
    kept: NDArray[np.bool_] | None,
    mirrored: bool,
) -> tuple[NDArray[np.float64], NDArray[np.uint32], NDArray[np.uint8], NDArray[np.int64]]: ...
def kaplan_meier(
    time_index: NDArray[np.uint32],
    event: NDArray[np.uint8],
    weight: NDArray[np.float64] | None,
    n_times: int,
    of_censoring: bool,
) -> NDArray[np.float64]: ...
def check_bins(bins: NDArray[np.uint8], missing: NDArray[np.uint8]) -> None: ...
def sample_counts(
    seed: int, tree: int, n_rows: int, n_draws: int, replace: bool, group_size: int = 1
) -> NDArray[np.uint32]: ...
def fail_in_worker(fault: str, after: int) -> None: ...
def isa() -> str: ...
def force_isa(name: str) -> None: ...
