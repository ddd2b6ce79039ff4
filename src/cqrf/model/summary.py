"""What a notebook shows of a fitted forest."""

from __future__ import annotations

import numpy as np

from cqrf.model.fitted import FittedModel
from cqrf.model.importance import split_importance
from cqrf.support.html import page, table

# Features that are listed.
_SHOWN = 5


def summary_html(model: FittedModel, title: str) -> str:
    """Facts of a fitted forest as HTML, without its parameters."""
    target, trees = model.target, model.trees
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
        ("scored up to" if not target.mirrored else "scored down to", f"{model.horizon:.5g}"),
        ("features", f"{model.n_features:,}"),
    ]
    grown = [
        ("trees", f"{len(trees):,}"),
        ("leaves per tree", f"{n_leaves / len(trees):,.1f}"),
        ("smallest node split", f"{model.options.min_samples_split:,} rows"),
    ]
    if model.leaf_size_path is not None:
        grown[-1] = (grown[-1][0], grown[-1][1] + " (chosen out-of-bag)")
    shares = split_importance(trees)
    names = model.names
    top = np.argsort(-shares, kind="stable")[:_SHOWN]
    lines = [(names[j], f"{shares[j]:.1%}") for j in top]
    largest = max(float(shares.max()), 1e-12)
    rest = len(names) - len(top)
    return page(
        title,
        table(facts),
        table(grown),
        table(
            lines,
            ("feature", "share of splits"),
            note=f"and {rest:,} more features" if rest else "",
            bars=(1, [100.0 * shares[j] / largest for j in top]),
        ),
    )
