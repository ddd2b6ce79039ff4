"""How large a run is: the sizes that are measured, and the patience with the slow ones."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from speed.methods import Setting
from speed.ratios import Repeats
from speed.unusual import CONTAINERS

_ONE_ROW = Setting(n=20_000, leaf=50, trees=1_000)
_REPEATS = Repeats(usual=5, slow=2)
_BASE = Setting(n=10_000, leaf=50, threads=2)


@dataclass(frozen=True)
class Scale:
    """Sizes of all parts.

    Attributes
    ----------
    sizes : tuple of (n, leaf)
        Of fits and predictions that are compared.
    trees, rows : int
        Trees of a forest; rows of a prediction.
    repeats : Repeats
        How often everything is measured.
    stored_from : int
        A neighbour fitted to so many rows is kept in a file for the predictions of later runs.
    few_trees : tuple of (int, int)
        From so many trees the slow neighbours' fits are scaled, with more rows than `whole_fits`.
    one_row : Setting
        Forest that is asked one row at a time.
    memory_rows : tuple of int
        Rows of the predictions whose memory is compared.
    criteria : tuple of (n, leaf, trees)
        Where the default criterion is compared with best splits.
    axes : dict
        Points of the curves, by axis.
    base : Setting
        What the curves have in common.
    alone_above : int
        On more rows only this package is drawn.
    limit, alone_limit : float
        Seconds that a point of a curve may take, and one that is drawn alone.
    profile_rows, kernels : int and tuple of str
        Rows of the forests that are profiled; loops whose instructions are counted.
    wide : tuple of (n, p)
        Few rows of many columns.
    layouts : tuple of (n, p, trees)
        Where bins by rows alone are compared with a second table.
    categories : int
        Rows of the fits with many categories.
    encodings : tuple of (n, columns, levels)
        Where categories as they are are compared with one-hot.
    accuracy : tuple of (n, leaf)
        Sizes at which accuracy is compared.
    large : tuple of (n, p, max_samples)
        The largest fit.
    before_trees : int
        Rows of the inputs whose memory is measured up to the first tree.
    containers : tuple of str
        What they lie in.
    """

    sizes: tuple[tuple[int, int], ...] = ((20_000, 50), (100_000, 100), (1_000_000, 500))
    trees: int = 100
    rows: int = 1_000
    repeats: Repeats = _REPEATS
    stored_from: int = 100_000
    few_trees: tuple[int, int] = (2, 5)
    whole_fits: int = 20_000
    one_row: Setting = _ONE_ROW
    memory_rows: tuple[int, ...] = (1_000, 10_000, 100_000, 1_000_000)
    criteria: tuple[tuple[int, int, int], ...] = (
        (1_000, 10, 100),
        (10_000, 25, 100),
        (100_000, 50, 20),
        (1_000_000, 250, 20),
    )
    axes: dict[str, tuple[int, ...]] = field(
        default_factory=lambda: {
            "n": (*(k * 10**d for d in range(3, 7) for k in (1, 3)), 10**7),
            "p": (5, 20, 50, 100, 200, 500),
            "trees": (10, 30, 100, 300, 1_000),
            # From few leaves to many, so that the slow end comes last here too.
            "leaf": (1_000, 300, 100, 30, 10, 5),
        }
    )
    base: Setting = _BASE
    alone_above: int = 1_000_000
    limit: float = 20.0
    alone_limit: float = 300.0
    profile_rows: int = 100_000
    kernels: tuple[str, ...] = ("grow_best_cuts", "grow_random_cuts", "predict")
    wide: tuple[int, int] = (2_000, 5_000)
    layouts: tuple[tuple[int, int, int], ...] = (
        (2_000, 5_000, 10),
        (20_000, 500, 5),
        (200_000, 100, 2),
        (1_000_000, 50, 1),
    )
    categories: int = 200_000
    encodings: tuple[tuple[int, int, int], ...] = (
        (20_000, 10, 2),
        (20_000, 40, 2),
        (20_000, 5, 5),
        (20_000, 3, 20),
        (200_000, 5, 5),
    )
    accuracy: tuple[tuple[int, int], ...] = ((20_000, 50),)
    accuracy_seeds: int = 5
    large: tuple[int, int, int] = (10_000_000, 20, 1_000_000)
    before_trees: int = 10_000_000
    containers: tuple[str, ...] = tuple(CONTAINERS)


DEFAULT = Scale()

FULL = replace(
    DEFAULT,
    repeats=Repeats(usual=7, slow=2),
    whole_fits=10_000_000,
    limit=300.0,
    accuracy=((20_000, 50), (100_000, 100)),
)

# Seconds, for the tests: every part, nothing to be learned from its figures.
TINY = Scale(
    sizes=((400, 20),),
    trees=4,
    rows=20,
    repeats=Repeats(usual=1, slow=1, shortest=0.0),
    stored_from=400,
    few_trees=(1, 2),
    whole_fits=200,
    one_row=Setting(n=400, leaf=20, trees=4),
    memory_rows=(200, 2_000),
    criteria=(),
    axes={"n": (200, 400)},
    base=Setting(n=200, leaf=20, trees=2, threads=2),
    profile_rows=400,
    kernels=(),
    wide=(100, 200),
    layouts=((100, 40, 2),),
    categories=500,
    encodings=((200, 2, 3),),
    accuracy=((400, 20),),
    accuracy_seeds=2,
    large=(2_000, 5, 500),
    before_trees=2_000,
    containers=("CSR of float32, 5% stored",),
)

SCALES = {"default": DEFAULT, "full": FULL, "tiny": TINY}
