"""The header of a model file: parameters, options and categories as JSON, names and types listed.

Nothing is ever looked up by a name that a file gives: names are compared with those listed here.
What a file does not give takes its default, so that a release may add to the format; what this
release does not know is refused.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import MISSING, fields
from itertools import pairwise
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cqrf.data.features import FeatureEncoder
from cqrf.data.labels import OutcomeLabels
from cqrf.growing.options import CRITERIA, MOST_CUTS, GrowOptions, pool_size
from cqrf.storage.container import require, require_known
from cqrf.support.checks import check_quantiles

# The keys of a header, and those that it may lack.
SECTIONS = (
    "params",
    "options",
    "feature_names",
    "categories",
    "mirrored",
    "seed",
    "kernel",
    "calibration",
    "outcome_labels",
)
OPTIONAL_SECTIONS = ("feature_names", "kernel", "calibration", "outcome_labels")
_COUNT = (int, type(None))
_SHARE = (int, float, type(None))
# The estimator's parameters, and what JSON values each may have. A file may lack any of them.
PARAMETERS: dict[str, tuple[type, ...]] = {
    "n_estimators": (int,),
    "criterion": (str,),
    "n_thresholds": (int, str, type(None)),
    "max_depth": _COUNT,
    "min_samples_split": _SHARE,
    "min_samples_leaf": _SHARE,
    "max_features": (*_SHARE, str),
    "bootstrap": (bool,),
    "max_samples": (*_SHARE, str),
    "honest": (bool,),
    "ci_group_size": (int,),
    "censoring": (str,),
    "censoring_curve": (str,),
    "n_neighbors": _COUNT,
    "bandwidth": _SHARE,
    "solver": (str,),
    "interpolation": (str,),
    "default_quantiles": (float, list),
    "time_resolution": (int, str, type(None)),
    "max_bins": (int,),
    "categorical_features": (str, list, type(None)),
    "n_jobs": _COUNT,
    "random_state": _COUNT,
    "verbose": (int,),
    "warm_start": (bool,),
}
_LIST_ITEMS: dict[str, tuple[type, ...]] = {
    "default_quantiles": (float,),
    "categorical_features": (int, str, bool),
}
_OPTION_TYPES = {"rule": str, "replace": bool, "honest": bool}
# Types of the values of a categorical column. "object" is text, or values of several types.
_CATEGORY_TYPES: dict[str, tuple[type, ...]] = {
    "object": (str, int, float, bool),
    "bool": (bool,),
    **{f"{sign}int{bits}": (int,) for sign in ("", "u") for bits in (8, 16, 32, 64)},
    **{f"float{bits}": (float,) for bits in (16, 32, 64)},
}


def check_keys(
    table: object, what: str, names: Iterable[str], optional: Iterable[str] = ()
) -> dict[str, Any]:
    """Refuse anything but an object with these names in this order, of which some may be absent."""
    require(isinstance(table, dict), f"{what} must be an object")
    assert isinstance(table, dict)
    names = tuple(names)
    require_known(table, names, f"in {what}")
    missing = [name for name in names if name not in table and name not in optional]
    require(not missing, f"in {what} {', '.join(missing)} is missing")
    in_order = [name for name in names if name in table]
    require(list(table) == in_order, f"{what} must be in the order {', '.join(names)}")
    return table


def _check_fields(table: object, what: str, kind: type) -> dict[str, Any]:
    """Refuse anything but the fields of a dataclass; those that have a default may be absent."""
    every = fields(kind)
    optional = [field.name for field in every if field.default is not MISSING]
    return check_keys(table, what, (field.name for field in every), optional)


def plain_params(params: dict[str, Any]) -> dict[str, Any]:
    """Return the estimator's parameters as JSON can hold them."""
    plain = {name: _plain(value) for name, value in params.items()}
    levels, scalar = check_quantiles(params["default_quantiles"], "default_quantiles")
    plain["default_quantiles"] = float(levels[0]) if scalar else levels.tolist()
    columns = params["categorical_features"]
    if columns is not None and not isinstance(columns, str):
        plain["categorical_features"] = [_plain(column) for column in columns]
    # The forest's own seed is stored beside its trees; a generator's state is not a parameter.
    if not isinstance(params["random_state"], Integral):
        plain["random_state"] = None
    return plain


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def check_params(params: object, *, has_points: bool) -> dict[str, Any]:
    """Check names and types; the estimator adds what is absent, and checks the values."""
    params = check_keys(params, "params", PARAMETERS, optional=PARAMETERS)
    for name, value in params.items():
        items = value if type(value) is list else []
        require(
            type(value) in PARAMETERS[name]
            and all(type(item) in _LIST_ITEMS[name] for item in items),
            f"parameter {name} cannot be stored with the value {value!r}",
        )
    state = params.get("random_state")
    require(state is None or 0 <= state < 2**32, "random_state must lie in [0, 2**32)")
    require(
        params.get("censoring_curve") != "kernel" or has_points,
        'censoring_curve="kernel" needs the points of a fit with it',
    )
    return params


def read_options(options: object, n: int, p: int) -> GrowOptions:
    """Check the options of a forest with n rows and p features."""
    options = _check_fields(options, "options", GrowOptions)
    for name, value in options.items():
        right = type(value) is _OPTION_TYPES.get(name, int)
        require(right, f"option {name} cannot be {value!r}")
    rules = {rule for rule, _ in CRITERIA.values()}
    require(options["rule"] in rules, f"there is no rule {options['rule']!r}")
    size = options["group_size"]
    require(1 <= size < 2**31, f"option group_size must lie in [1, 2**31), not {size}")
    limits = {
        "n_thresholds": (0, MOST_CUTS),
        "min_samples_split": (2, 2**32 - 1),
        "min_samples_leaf": (1, 2**32 - 1),
        "max_depth": (1, 2**32 - 1),
        "max_features": (1, p),
        "n_draws": (1, pool_size(n, size)),
    }
    for name, (low, high) in limits.items():
        right = low <= options[name] <= high
        require(right, f"option {name} must lie in [{low}, {high}], not {options[name]}")
    return GrowOptions(**options)


def read_labels(labels: object) -> OutcomeLabels:
    """Check what the outcome is called: texts of bounded length, or nothing."""
    return OutcomeLabels(**_check_fields(labels, "outcome_labels", OutcomeLabels))


def check_names(names: object, n_features: int) -> list[str]:
    """Check the names of the features: one text for each."""
    require(
        isinstance(names, list)
        and len(names) == n_features
        and all(type(name) is str for name in names),
        "feature_names must be one text for every feature",
    )
    assert isinstance(names, list)
    return names


def plain_categories(column: int, values: NDArray[Any]) -> dict[str, Any]:
    """Return the known values of a categorical column as JSON can hold them."""
    dtype = "object" if values.dtype.kind in "OU" else values.dtype.name
    listed = [_plain(value) for value in values.tolist()]
    storable = _CATEGORY_TYPES.get(dtype, ())
    for value in listed:
        require(
            type(value) in storable,
            f"categories of type {type(value).__name__} cannot be stored (column {column})",
        )
    return {"column": column, "dtype": dtype, "values": listed}


def read_encoder(tables: object, n_categories: NDArray[np.int64]) -> FeatureEncoder:
    """Check the tables of categories against their numbers, shape (p,), 0 for numeric columns."""
    n_features = len(n_categories)
    require(isinstance(tables, list), "categories must be a list")
    categories: list[tuple[int, NDArray[Any]]] = []
    for table in tables:  # type: ignore[attr-defined]
        require(
            isinstance(table, dict) and tuple(table) == ("column", "dtype", "values"),
            "a table of categories must have column, dtype and values",
        )
        column, dtype, values = table.values()
        last = categories[-1][0] if categories else -1
        require(
            type(column) is int and last < column < n_features,
            f"columns of categories must ascend and be features; one is {column!r}",
        )
        require(
            isinstance(dtype, str) and dtype in _CATEGORY_TYPES and type(values) is list,
            f"categories of column {column} cannot have the dtype {dtype!r}",
        )
        require(
            all(type(value) in _CATEGORY_TYPES[dtype] for value in values),
            f"categories of column {column} are not all of dtype {dtype}",
        )
        categories.append((column, _category_values(column, dtype, values)))
    encoder = FeatureEncoder(n_features, tuple(categories))
    require(
        np.array_equal(encoder.n_categories, n_categories),
        "categories and category_bins differ in number",
    )
    return encoder


def _category_values(column: int, dtype: str, values: list[Any]) -> NDArray[Any]:
    if dtype == "object":
        # Text as well: an array of fixed width would be as wide everywhere as its longest entry.
        require(len(set(values)) == len(values), f"a category of column {column} is there twice")
        return np.fromiter(values, dtype=object, count=len(values))
    require(
        all(a < b for a, b in pairwise(values)), f"categories of column {column} are not sorted"
    )
    array = np.array(values, dtype=dtype)
    require(array.tolist() == values, f"a category of column {column} does not fit {dtype}")
    return array
