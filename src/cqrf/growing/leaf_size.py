"""The size of the leaves, chosen out-of-bag from one deep forest."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from cqrf import _engine
from cqrf.data.binning import Binner
from cqrf.data.outcome import Target
from cqrf.growing.grow import in_batches, make_grower
from cqrf.growing.options import GrowOptions

# Fewer rows leave too few out of a tree to tell one size from another; then nodes are split that
# have enough rows for a curve.
MIN_ROWS = 64
SMALL_SAMPLE_SIZE = 32
# More rows are represented by so many of them, and the size is extrapolated.
MAX_ROWS = 100_000
# A dozen of them leave a row out. More do not choose better: docs/design/0004.
N_TREES = 32
_DRAWN = 0.632
_MAX_SCORED = 32_768
_RATIO = math.sqrt(2.0)
# Weights of the sizes that are judged together, a size and its neighbours of either side. The
# smallest of noisy losses is found with less noise: docs/design/0009.
_NEIGHBOURS = np.array([1.0, 4.0, 6.0, 4.0, 1.0]) / 16.0
# Of the second, smaller sample from which the rate of growth is measured.
_THINNING = 8


@dataclass(frozen=True, eq=False)
class LeafSizePath:
    """Out-of-bag loss of every size that was tried.

    Attributes
    ----------
    size : ndarray of shape (s,), int64
        Values of `min_samples_split`, ascending; the last one grows no tree beyond its root.
    loss : ndarray of shape (s,), float64
        Mean over training rows of the squared distance between the survival probabilities
        predicted out-of-bag at ten times and the row's own, up to a constant; averaged over
        five sizes, the two next smaller and larger ones with each, with weights 1, 4, 6, 4, 1.
    std_error : ndarray of shape (s,), float64
        Standard error of `loss` over rows. Losses of neighbouring sizes are strongly dependent:
        the error of their difference is much smaller.
    """

    size: NDArray[np.int64]
    loss: NDArray[np.float64]
    std_error: NDArray[np.float64]

    @property
    def best(self) -> int:
        """The size of smallest loss, the largest of them where several have it."""
        return int(self.size[::-1][np.argmin(self.loss[::-1])])


def choose_leaf_size(
    bins: NDArray[np.uint8],
    binner: Binner,
    target: Target,
    options: GrowOptions,
    *,
    seed: int,
    n_threads: int,
    verbose: int,
) -> LeafSizePath:
    r"""Find the `min_samples_split` of smallest out-of-bag loss.

    Trees on 0.632-subsamples are grown deep once; every larger size is read off their upper
    parts. With more than `MAX_ROWS` rows this is done for so many of them, at equal distances in
    time order, and once more for an eighth of these; the best sizes s and s' of the two give the
    size for all n rows,

    .. math:: s\, (n / n_s)^\gamma, \qquad \gamma = \log(s / s') / \log 8,

    with :math:`\gamma` kept in [0.2, 0.9].
    """
    arguments = {"seed": seed, "n_threads": n_threads, "verbose": verbose}
    if target.n <= MAX_ROWS:
        return _leaf_size_path(bins, binner, target, options, **arguments)
    paths = []
    for n in (MAX_ROWS, MAX_ROWS // _THINNING):
        ranks = _spread(target.n, n)
        share = replace(options, n_draws=max(1, round(options.n_draws * n / target.n)))
        paths.append(_leaf_size_path(bins[ranks], binner, target.take(ranks), share, **arguments))
    rate = math.log(paths[0].best / paths[1].best) / math.log(_THINNING)
    factor = (target.n / MAX_ROWS) ** min(max(rate, 0.2), 0.9)
    sizes = np.rint(paths[0].size * factor).astype(np.int64)
    # No split at all stays no split at all.
    sizes[-1] = max(sizes[-1], options.n_draws + 1)
    return replace(paths[0], size=sizes)


def _leaf_size_path(
    bins: NDArray[np.uint8],
    binner: Binner,
    target: Target,
    options: GrowOptions,
    *,
    seed: int,
    n_threads: int,
    verbose: int,
) -> LeafSizePath:
    n_draws = options.n_draws
    if not options.replace:
        n_draws = min(n_draws, math.ceil(_DRAWN * target.n))
    sizes = np.fromiter(_grid(n_draws), dtype=np.uint32)
    # Ungrouped: a leaf of the same part of the rows has the same size in all halves together.
    deep = replace(options, n_draws=n_draws, min_samples_split=int(sizes[0]), group_size=1)
    rows = _spread(target.n, min(target.n, _MAX_SCORED))
    scorer = _engine.LeafSizeScorer(
        make_grower(bins, binner, target, deep, seed), sizes, rows.astype(np.uint32)
    )
    in_batches(
        lambda done, count: scorer.add_trees(done, count, n_threads),
        0,
        N_TREES,
        "choosing the leaf size",
        n_threads=n_threads,
        verbose=verbose,
    )
    losses = scorer.losses()
    answered = ~np.isnan(losses[:, 0])
    losses = _averaged(losses[answered])
    weight = None if target.weight is None else target.weight[rows][answered]
    mean = np.average(losses, axis=0, weights=weight)
    shares = np.full(len(losses), 1.0) if weight is None else weight
    shares = shares / shares.sum()
    # Not a product of matrices: that library ends the process when it finds no memory.
    std_error = np.sqrt(np.einsum("i,ij->j", shares**2, (losses - mean) ** 2))
    # A size counts the rows that grow a tree: there are more of them in the forest itself.
    scale = options.n_draws / n_draws
    return LeafSizePath(np.rint(sizes * scale).astype(np.int64), mean, std_error)


def _averaged(losses: NDArray[np.float64]) -> NDArray[np.float64]:
    """Average losses (rows, sizes) of each size with those of its neighbours.

    Beyond the largest size there are only roots, as there; the smallest stands for smaller ones.
    """
    reach = len(_NEIGHBOURS) // 2
    padded = np.pad(losses, ((0, 0), (reach, reach)), mode="edge")
    n_sizes = losses.shape[1]
    averaged = np.zeros_like(losses)
    for shift, weight in enumerate(_NEIGHBOURS):
        averaged += weight * padded[:, shift : shift + n_sizes]
    return averaged


def _grid(n_draws: int) -> Iterator[int]:
    """Sizes of nodes, each about `_RATIO` times the one before, up to more than there are rows."""
    size = max(3.0, n_draws**0.25 / 1.5)
    while size <= n_draws:
        yield round(size)
        size *= _RATIO
    yield n_draws + 1


def _spread(n: int, count: int) -> NDArray[np.int64]:
    """`count` of the first n whole numbers, at equal distances."""
    return (np.arange(count) * n + n // 2) // count
