"""Weights from the leaves of any forest."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from cqrf.data.outcome import check_sample_weight


def leaf_weights(
    train_leaves: ArrayLike, test_leaves: ArrayLike, sample_weight: ArrayLike | None = None
) -> sparse.csr_array:
    r"""Turn leaf memberships into forest weights (paper, eqs. tree_weight and rf_weight).

    .. math::

        w_i(x) = \frac{1}{B} \sum_{b=1}^{B}
                 \frac{1\{X_i \in \text{leaf}_b(x)\}}{\#\{j : X_j \in \text{leaf}_b(x)\}}

    Parameters
    ----------
    train_leaves : array-like of shape (n, B)
        Leaf of every training row in every tree: the output of ``apply`` of a scikit-learn
        forest, of ``predict(pred_leaf=True)`` of LightGBM, and so on.
    test_leaves : array-like of shape (m, B)
        The same for the test rows.
    sample_weight : array-like of shape (n,), optional
        Weights of the training rows within their leaf.

    Returns
    -------
    scipy.sparse.csr_array of shape (m, n), float64
        Rows sum to one. A tree in whose leaf there is no training row does not count; a test
        row that no tree can place has an empty row.

    Examples
    --------
    >>> from cqrf import leaf_weights
    >>> leaf_weights([[0], [0], [1]], [[0], [1]]).toarray()
    array([[0.5, 0.5, 0. ],
           [0. , 0. , 1. ]])
    """
    train = _check_leaves("train_leaves", train_leaves)
    test = _check_leaves("test_leaves", test_leaves)
    if train.shape[1] != test.shape[1]:
        raise ValueError(
            f"train_leaves and test_leaves must have one column per tree: they have "
            f"{train.shape[1]} and {test.shape[1]} columns"
        )
    n, n_trees = train.shape
    weight = np.ones(n) if sample_weight is None else check_sample_weight(sample_weight, n)

    # Number the leaves of all trees consecutively, so that one product of two membership
    # matrices counts all of them.
    train_ids = np.empty_like(train)
    test_ids = np.empty_like(test)
    n_leaves = 0
    for tree in range(n_trees):
        leaves, ids = np.unique(train[:, tree], return_inverse=True)
        at = np.searchsorted(leaves, test[:, tree])
        known = leaves[np.minimum(at, len(leaves) - 1)] == test[:, tree]
        train_ids[:, tree] = n_leaves + ids
        test_ids[:, tree] = np.where(known, n_leaves + at, -1)
        n_leaves += len(leaves)

    total = np.bincount(train_ids.ravel(), np.repeat(weight, n_trees), n_leaves)
    share = np.divide(1.0, total, out=np.zeros(n_leaves), where=total > 0.0)
    members = sparse.csr_array(
        (np.repeat(weight, n_trees), train_ids.ravel(), np.arange(n + 1) * n_trees),
        shape=(n, n_leaves),
    )
    placed = (test_ids >= 0) & (share[test_ids] > 0.0)
    counted = placed.sum(axis=1)
    per_tree = np.divide(1.0, counted, out=np.zeros(len(test)), where=counted > 0)
    rows, trees = np.nonzero(placed)
    leaves = test_ids[rows, trees]
    visits = sparse.csr_array(
        (share[leaves] * per_tree[rows], (rows, leaves)), shape=(len(test), n_leaves)
    )
    weights = sparse.csr_array(visits @ members.T)
    weights.eliminate_zeros()
    weights.sort_indices()
    return weights


def _check_leaves(name: str, leaves: Any) -> NDArray[np.int64]:
    array = np.asarray(leaves)
    if array.ndim != 2 or array.shape[0] == 0 or array.shape[1] == 0:
        raise ValueError(f"{name} must have shape (rows, trees); received shape {array.shape}")
    if array.dtype.kind not in "iu":
        raise TypeError(f"{name} must hold integers; received dtype {array.dtype}")
    return array.astype(np.int64)
