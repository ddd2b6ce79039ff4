"""Simulated data with known quantiles: the paper's models and harder ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import norm
from sklearn.utils import Bunch, check_random_state

from cqrf.support.checks import check_int, check_quantiles

Array = NDArray[np.float64]


def make_aft(
    n_samples: int = 300,
    *,
    n_features: int = 1,
    n_noise: int = 0,
    rate: float | None = None,
    dependent_censoring: bool = False,
    random_state: Any = None,
) -> Bunch:
    r"""Accelerated failure time models of the paper: :math:`\log T = X^\top \beta + \epsilon`.

    X is uniform on (0, 2), :math:`\epsilon \sim N(0, 0.3^2)` and C is exponential. With one
    feature :math:`\beta = 1`; with five, :math:`\beta = (0.1, 0.2, 0.3, 0.4, 0.5)`.

    Parameters
    ----------
    n_samples : int, default=300
        Number of rows.
    n_features : {1, 5}, default=1
        Number of features that matter.
    n_noise : int, default=0
        Number of further features that do not.
    rate : float, optional
        Rate of the censoring time: by default 0.08 (about 20% censored) with one feature and
        0.05 (22%) with five, as in the paper.
    dependent_censoring : bool, default=False
        Multiply the rate by the last feature that matters, so that C depends on X.
    random_state : int, RandomState or None, default=None
        Seed.

    Returns
    -------
    Bunch
        ``X`` of shape (n, p), ``time``, ``event``, ``latent`` (the true times) of shape (n,),
        and ``quantile(X, levels)``, the true quantiles of shape (n, q).

    Examples
    --------
    >>> from cqrf.datasets import make_aft
    >>> data = make_aft(100, random_state=0)
    >>> data.quantile(data.X, [0.1, 0.5, 0.9]).shape
    (100, 3)
    """
    if n_features not in (1, 5):
        raise ValueError(f"n_features must be 1 or 5; received {n_features!r}")
    beta = np.array([1.0]) if n_features == 1 else np.arange(1, 6) / 10.0
    rate = (0.08 if n_features == 1 else 0.05) if rate is None else rate

    def censoring_rate(X: Array) -> Array:
        scale = X[:, n_features - 1] if dependent_censoring else np.ones(len(X))
        return rate * scale

    return _simulate(
        n_samples,
        random_state,
        covariates=lambda rng, n: rng.uniform(0.0, 2.0, (n, n_features + n_noise)),
        quantile=lambda X, u: np.exp((X[:, :n_features] @ beta)[:, None] + 0.3 * norm.ppf(u)),
        censor=lambda rng, X: rng.exponential(1.0 / censoring_rate(X)),
    )


def make_sine(n_samples: int = 300, *, rate: float = 0.2, random_state: Any = None) -> Bunch:
    r"""Sine model of the paper: :math:`T = 2.5 + \sin(X) + \epsilon`, X uniform on (0, 2 pi).

    :math:`\epsilon \sim N(0, 0.3^2)` and :math:`C = 1 + \sin(X) + \text{Exp}(\text{rate})`; about
    25% are censored at the default rate.

    Parameters
    ----------
    n_samples, rate, random_state
        As in `make_aft`.

    Returns
    -------
    Bunch
        As in `make_aft`.
    """
    return _simulate(
        n_samples,
        random_state,
        covariates=lambda rng, n: rng.uniform(0.0, 2.0 * np.pi, (n, 1)),
        quantile=lambda X, u: 2.5 + np.sin(X) + 0.3 * norm.ppf(u),
        censor=lambda rng, X: 1.0 + np.sin(X[:, 0]) + rng.exponential(1.0 / rate, len(X)),
    )


def make_manifold(n_samples: int = 500, *, rate: float = 0.015, random_state: Any = None) -> Bunch:
    r"""Complex manifold of the paper, in five dimensions.

    :math:`T = 5 + (\sin X_1 + \cos X_2 + X_3^2 + e^{X_4} + X_5) / 5 + \epsilon` with
    :math:`\epsilon \sim N(0, 0.3^2)`. The paper does not state the law of X; it is uniform on
    (0, 2) here. C is exponential: the paper's rate 0.015 censors about 9%, 0.045 about 25%.

    Parameters
    ----------
    n_samples, rate, random_state
        As in `make_aft`.

    Returns
    -------
    Bunch
        As in `make_aft`.
    """

    def center(X: Array) -> Array:
        terms = [np.sin(X[:, 0]), np.cos(X[:, 1]), X[:, 2] ** 2, np.exp(X[:, 3]), X[:, 4]]
        return np.asarray(5.0 + np.sum(terms, axis=0) / 5.0)

    return _simulate(
        n_samples,
        random_state,
        covariates=lambda rng, n: rng.uniform(0.0, 2.0, (n, 5)),
        quantile=lambda X, u: center(X)[:, None] + 0.3 * norm.ppf(u),
        censor=lambda rng, X: rng.exponential(1.0 / rate, len(X)),
    )


def make_heteroscedastic(
    n_samples: int = 1000, *, n_features: int = 40, rate: float = 0.1, random_state: Any = None
) -> Bunch:
    r"""Model whose mean does not depend on X: :math:`T = 10 + (1 + 1\{X_1 > 0\})\, \epsilon`.

    X is uniform on (-1, 1) in every coordinate, :math:`\epsilon \sim N(0, 1)` and
    :math:`C = 8 + \text{Exp}(\text{rate})`.

    Parameters
    ----------
    n_samples, rate, random_state
        As in `make_aft`.
    n_features : int, default=40
        Number of features, of which the first matters.

    Returns
    -------
    Bunch
        As in `make_aft`.
    """
    return _simulate(
        n_samples,
        random_state,
        covariates=lambda rng, n: rng.uniform(-1.0, 1.0, (n, n_features)),
        quantile=lambda X, u: 10.0 + (1.0 + (X[:, :1] > 0.0)) * norm.ppf(u),
        censor=lambda rng, X: 8.0 + rng.exponential(1.0 / rate, len(X)),
    )


def make_location_scale(
    n_samples: int = 500, *, rate: float = 0.1, random_state: Any = None
) -> Bunch:
    r"""Location and scale move apart: :math:`\log T = X_1 + (0.2 + 0.4 X_2)\, \epsilon`.

    X is uniform on (0, 2) in five coordinates, :math:`\epsilon \sim N(0, 1)` and C is exponential;
    about 30% are censored at the default rate.

    Parameters
    ----------
    n_samples, rate, random_state
        As in `make_aft`.

    Returns
    -------
    Bunch
        As in `make_aft`.
    """
    return _simulate(
        n_samples,
        random_state,
        covariates=lambda rng, n: rng.uniform(0.0, 2.0, (n, 5)),
        quantile=lambda X, u: np.exp(X[:, :1] + (0.2 + 0.4 * X[:, 1:2]) * norm.ppf(u)),
        censor=lambda rng, X: rng.exponential(1.0 / rate, len(X)),
    )


def make_crossing(n_samples: int = 500, *, rate: float = 0.2, random_state: Any = None) -> Bunch:
    r"""Hazards that cross: T is Weibull with a shape that jumps with the first feature.

    The shape is 0.7 where :math:`X_1 \le 1` and 3 elsewhere, the scale is :math:`e^{X_2 / 2}`; X is
    uniform on (0, 2) in five coordinates and C is exponential.

    Parameters
    ----------
    n_samples, rate, random_state
        As in `make_aft`.

    Returns
    -------
    Bunch
        As in `make_aft`.
    """

    def quantile(X: Array, u: Array) -> Array:
        shape = np.where(X[:, :1] <= 1.0, 0.7, 3.0)
        return np.exp(X[:, 1:2] / 2.0) * (-np.log1p(-u)) ** (1.0 / shape)

    return _simulate(
        n_samples,
        random_state,
        covariates=lambda rng, n: rng.uniform(0.0, 2.0, (n, 5)),
        quantile=quantile,
        censor=lambda rng, X: rng.exponential(1.0 / rate, len(X)),
    )


def _simulate(
    n_samples: int,
    random_state: Any,
    *,
    covariates: Callable[[np.random.RandomState, int], Array],
    quantile: Callable[[Array, Array], Array],
    censor: Callable[[np.random.RandomState, Array], Array],
) -> Bunch:
    """Draw X, then T by inverting its quantile function, then C.

    `quantile(X, u)` takes u of shape (q,) or (n, 1) and broadcasts it against the rows.
    """
    n = check_int("n_samples", n_samples, 1)
    rng = check_random_state(random_state)
    X = covariates(rng, n)
    latent = quantile(X, rng.uniform(size=(n, 1)))[:, 0]
    limit = censor(rng, X)

    def true_quantile(points: ArrayLike, levels: ArrayLike) -> Array:
        return quantile(np.asarray(points, dtype=np.float64), check_quantiles(levels)[0])

    return Bunch(
        X=X,
        time=np.minimum(latent, limit),
        event=latent <= limit,
        latent=latent,
        quantile=true_quantile,
    )
