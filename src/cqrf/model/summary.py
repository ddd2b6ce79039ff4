"""What a notebook shows of a fitted forest."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from sklearn.utils import estimator_html_repr

from cqrf.model.importance import feature_names, split_importance
from cqrf.support.html import page, table

if TYPE_CHECKING:
    from cqrf._answers import FittedForest

# Features that are listed.
_SHOWN = 5


def notebook_html(forest: FittedForest) -> str:
    """HTML of a forest: facts of the fit above scikit-learn's own table of parameters."""
    html: str = estimator_html_repr(forest)
    return summary_html(forest) + html if hasattr(forest, "trees_") else html


def summary_html(forest: FittedForest) -> str:
    """Facts of a fitted forest as HTML, without its parameters."""
    target, trees = forest.target_, forest.trees_
    n_events = int(target.event.sum())
    first, last = sorted(target.observed[[0, -1]])
    n_leaves = len(trees.leaf_start) - len(trees)
    facts = [
        ("training rows", f"{target.n:,}"),
        ("events", f"{n_events:,}"),
        (
            f"{target.censoring} censored",
            f"{target.n - n_events:,} ({1 - n_events / target.n:.0%})",
        ),
        ("times", f"{first:.5g} to {last:.5g}"),
        ("scored up to" if not target.mirrored else "scored down to", f"{forest.horizon_:.5g}"),
        ("features", f"{forest._bins.shape[1]:,}"),
    ]
    grown = [
        ("trees", f"{len(trees):,}"),
        ("leaves per tree", f"{n_leaves / len(trees):,.1f}"),
        ("smallest node split", f"{forest.min_samples_split_:,} rows"),
    ]
    if forest.leaf_size_path_ is not None:
        grown[-1] = (grown[-1][0], grown[-1][1] + " (chosen out-of-bag)")
    shares = split_importance(trees)
    names = feature_names(forest)
    top = np.argsort(-shares, kind="stable")[:_SHOWN]
    lines = [(names[j], f"{shares[j]:.1%}") for j in top]
    largest = max(float(shares.max()), 1e-12)
    rest = len(names) - len(top)
    return page(
        f"{type(forest).__name__}, fitted",
        table(facts),
        table(grown),
        table(
            lines,
            ("feature", "share of splits"),
            note=f"and {rest:,} more features" if rest else "",
            bars=(1, [100.0 * shares[j] / largest for j in top]),
        ),
    )
