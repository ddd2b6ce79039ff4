r"""What one feature does to the predicted quantiles, in pictures and on the pages of the report.

Everybody in a sample of m rows is given the value v of feature j, and the predicted survival curves
are averaged,

.. math:: \bar S_j(t; v) = \frac1m \sum_i S(t \mid x_i \text{ with } x_{ij} = v).

This is the partial dependence of the survival function, and the law of T if all of them had that
value: what is shown are its quantiles. A mean of the rows' own quantiles would be no quantile of
anything, and would take in bounds where the data do not identify them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cqrf import _engine
from cqrf.data.features import FeatureEncoder
from cqrf.model.fitted import FittedModel
from cqrf.solving.options import AnswerOptions
from cqrf.solving.solve import solve_quantiles

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class FeatureEffect:
    """Quantiles of T along one feature, if everybody had the same value of it.

    Attributes
    ----------
    feature : int
        Position of the feature.
    name : str
        Its name.
    values : ndarray of shape (g,)
        Its values: numbers, or categories.
    levels : ndarray of shape (q,), float64
        Levels of the quantiles.
    quantiles : ndarray of shape (g, q), float64
        Quantiles of the averaged survival curve; the end of the training record where that does
        not fall far enough.
    identified : ndarray of shape (g, q), bool
        False where a quantile is such a bound.
    """

    feature: int
    name: str
    values: NDArray[Any]
    levels: Array
    quantiles: Array
    identified: NDArray[np.bool_]


def feature_effect(
    model: FittedModel,
    options: AnswerOptions,
    rows: Array,
    feature: int,
    values: Array,
    levels: Array,
) -> FeatureEffect:
    """Find the quantiles of T if all rows had the same value of a feature, for several values.

    Parameters
    ----------
    model : FittedModel
        What predicts.
    options : AnswerOptions
        How it answers.
    rows : ndarray of shape (m, p)
        Encoded rows, as of `encoded_matrix`; their other features stay as they are.
    feature : int
        Position of the feature.
    values : ndarray of shape (g,)
        Numbers, or codes of categories.
    levels : ndarray of shape (q,)
        Levels of the quantiles.

    Returns
    -------
    FeatureEffect
    """
    curves = np.empty((len(values), len(model.times) + 1))
    # The first column is the curve before all events: below 1 where limits lie below all values.
    times = np.concatenate([[np.nextafter(model.times[0], -np.inf)], model.times])
    changed = np.array(rows, order="F")
    for k, value in enumerate(values):
        changed[:, feature] = value
        law = model.distribution(_engine.Features.of_matrix(changed), options)
        curves[k] = law.curve("survival", times).mean(axis=0)
    quantiles, identified = _quantiles_of_curves(model, curves, levels, options.interpolation)
    known = dict(model.encoder.categories).get(feature)
    return FeatureEffect(
        feature,
        model.names[feature],
        values if known is None else known[values.astype(np.int64)],
        levels,
        quantiles,
        identified,
    )


def _quantiles_of_curves(
    model: FittedModel, curves: Array, levels: Array, interpolation: str
) -> tuple[Array, NDArray[np.bool_]]:
    """Quantiles of survival curves, shape (g, K + 1), that are given before and at K event times.

    A curve is the Kaplan-Meier curve of rows that weigh as much as it falls, all of them events,
    and of one censored row at the end of the record for what is left of it. With "linear" it
    begins to fall at the first of these events.
    """
    target = model.target
    falls = np.maximum(-np.diff(curves, axis=1), 0.0)
    rest = np.maximum(1.0 - falls.sum(axis=1), 0.0)
    # The last one is the end: the smallest time where censored ones are upper bounds.
    end = target.observed[-1]
    solve = partial(
        solve_quantiles,
        np.column_stack([falls, rest]),
        np.append(model.times, end),
        np.append(np.ones(len(model.times), dtype=np.bool_), False),
        levels,
        censoring=target.censoring,
        interpolation=interpolation,
    )
    return solve(), ~np.isnan(solve(unreached="nan"))


def encoded_matrix(
    features: _engine.Features, encoder: FeatureEncoder, rows: NDArray[np.int64] | None = None
) -> Array:
    """Return encoded rows, or some of them, as one matrix of numbers and codes of categories.

    NaN is missing; so is a category that was not seen in training.

    Parameters
    ----------
    features : engine object of shape (n, p)
        The rows.
    encoder : FeatureEncoder
        What has encoded them.
    rows : ndarray of shape (m,), optional
        Positions of the rows to take; by default all.

    Returns
    -------
    ndarray of shape (m, p), float64
    """
    chosen = slice(None) if rows is None else rows
    columns = [features.column(j)[chosen] for j in range(features.shape[1])]
    matrix = np.column_stack(columns).astype(np.float64, copy=False)
    for j, _ in encoder.categories:
        matrix[matrix[:, j] < 0, j] = np.nan
    return matrix


def spread(n: int, most: int) -> NDArray[np.int64]:
    """Positions of at most so many of n rows, at equal distances."""
    return np.unique(np.linspace(0, n - 1, min(n, most)).round().astype(np.int64))
