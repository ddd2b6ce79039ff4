"""How a tree grows, in numbers: the estimator's parameters, checked and resolved."""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

from cqrf.support.checks import as_float, check_choice, check_fraction_or_count, check_int

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


def most_leaves(options: GrowOptions, n: int) -> int:
    """Leaves that no tree has more of: each holds so many of the distinct rows that grow it."""
    growing = min(pool_size(n, options.group_size), options.n_draws)
    return max(1, growing // options.min_samples_leaf)
