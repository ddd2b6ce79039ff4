"""Checks of arguments, shared by the estimator and the functions.

Every check raises ``ValueError`` or ``TypeError`` with the name of the argument and the
value received, and returns the argument in the form the rest of the library uses.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any, Literal, TypeVar, overload

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import DataConversionWarning

from cqrf.support.dataframes import open_series, row_labels

T = TypeVar("T")

# Of every interval, unless another coverage is asked for.
DEFAULT_COVERAGE = 0.95

_MISSING_TYPES = ("NAType", "NaTType")
# No machine has more threads, and no model file may ask for them.
_MAX_JOBS = 1024


def check_choice(name: str, value: object, choices: Sequence[T]) -> T:
    """Return the one of `choices` that `value` equals.

    Parameters
    ----------
    name : str
        Name of the argument, for the message.
    value : object
        The value received.
    choices : sequence
        What is allowed: strings, None, True, False.

    Returns
    -------
    object
        The choice itself.
    """
    for choice in choices:
        # Only strings are compared: arrays have no single truth value, and 1 is not True.
        if value is choice or (isinstance(value, str) and value == choice):
            return choice
    allowed = ", ".join(repr(choice) for choice in choices)
    raise ValueError(f"{name} must be one of {allowed}; received {value!r}")


def check_quantiles(quantiles: object, name: str = "quantiles") -> tuple[NDArray[np.float64], bool]:
    """Check quantile levels.

    Parameters
    ----------
    quantiles : float or array-like of shape (q,)
        Levels, each strictly between 0 and 1, in any order.
    name : str, default="quantiles"
        Name of the argument, for the message.

    Returns
    -------
    levels : ndarray of shape (q,), float64
        The levels in the order received.
    scalar : bool
        True when a single number was given, so that the caller drops the last axis.
    """
    levels = np.asarray(quantiles)
    if levels.dtype.kind == "O" and all(_is_real(level) for level in levels.ravel()):
        levels = np.vectorize(as_float, otypes=[np.float64])(levels)
    if levels.dtype.kind not in "iuf" or _holds_bool(quantiles):
        raise TypeError(f"{name} must be numbers; received {quantiles!r}")
    if levels.ndim > 1:
        raise ValueError(
            f"{name} must be a number or one-dimensional; received an array of shape {levels.shape}"
        )
    scalar = levels.ndim == 0
    levels = np.array(levels, dtype=np.float64, ndmin=1)
    if levels.size == 0:
        raise ValueError(f"{name} is empty; give at least one level between 0 and 1")
    # NaN fails both comparisons and so counts as outside.
    outside = ~((levels > 0.0) & (levels < 1.0))
    if outside.any():
        at = int(np.argmax(outside))
        where = "" if scalar else f" at position {at}"
        raise ValueError(f"{name} must lie strictly between 0 and 1; received {levels[at]}{where}")
    return levels, scalar


def as_float(value: Any) -> float:
    """Convert a number to a float: an infinite one, if it is larger than floats are.

    Parameters
    ----------
    value : real number
        Of any type.

    Returns
    -------
    float
    """
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def check_coverage(coverage: object, name: str = "coverage") -> float:
    """Check the coverage of an interval: a number strictly between 0 and 1.

    Parameters
    ----------
    coverage : float
        Probability that the interval is meant to hold.
    name : str, default="coverage"
        Name of the argument, for the message.

    Returns
    -------
    float
        The coverage.
    """
    if not _is_real(coverage):
        raise TypeError(f"{name} must be a number; received {coverage!r}")
    value = as_float(coverage)
    if not 0.0 < value < 1.0:
        raise ValueError(f"{name} must lie strictly between 0 and 1; received {coverage!r}")
    return value


@overload
def check_int(
    name: str,
    value: object,
    minimum: int,
    allow_none: Literal[False] = False,
    *,
    maximum: int | None = None,
) -> int: ...


@overload
def check_int(
    name: str, value: object, minimum: int, allow_none: bool, *, maximum: int | None = None
) -> int | None: ...


def check_int(
    name: str,
    value: object,
    minimum: int,
    allow_none: bool = False,
    *,
    maximum: int | None = None,
) -> int | None:
    """Check an integer between bounds.

    Parameters
    ----------
    name : str
        Name of the argument, for the message.
    value : int
        The value received; NumPy integers are integers, booleans are not.
    minimum : int
        Smallest value allowed.
    allow_none : bool, default=False
        Whether None passes.
    maximum : int, optional
        Largest value allowed.

    Returns
    -------
    int or None
        The value as a Python int.
    """
    if value is None and allow_none:
        return None
    if not isinstance(value, Integral) or isinstance(value, bool):
        or_none = " or None" if allow_none else ""
        raise TypeError(f"{name} must be an integer{or_none}; received {value!r}")
    number = int(value)
    if number < minimum:
        raise ValueError(f"{name} must be at least {minimum}; received {value!r}")
    if maximum is not None and number > maximum:
        raise ValueError(f"{name} must be at most {maximum}; received {value!r}")
    return number


def check_jobs(n_jobs: object) -> int:
    """Return the number of threads that `n_jobs` asks for, as joblib counts."""
    jobs = check_int("n_jobs", n_jobs, -_MAX_JOBS, True, maximum=_MAX_JOBS)
    if jobs == 0:
        raise ValueError("n_jobs must not be 0")
    return int(effective_n_jobs(jobs))


def check_times(name: str, times: float | ArrayLike) -> NDArray[np.float64]:
    """Check times to evaluate at; return them with shape (g,)."""
    values = np.asarray(times)
    if values.dtype.kind not in "iuf" or values.ndim > 1:
        raise TypeError(f"{name} must be a number or one-dimensional numbers; received {times!r}")
    values = np.array(values, dtype=np.float64, ndmin=1)
    if not np.isfinite(values).all():
        at = int(np.argmin(np.isfinite(values)))
        raise ValueError(f"{name} must be finite; position {at} is {values[at]}")
    return values


def check_fraction_or_count(
    name: str, value: object, total: int, *, allow_names: bool = False
) -> int:
    """Turn a count or a fraction of `total` into a count, as scikit-learn does.

    Parameters
    ----------
    name : str
        Name of the argument, for the message.
    value : int, float, None, "sqrt" or "log2"
        An integer is a count between 1 and `total`; a float is a fraction in (0, 1], rounded
        down but never to zero; None is all of `total`.
    total : int
        What the value is a part of.
    allow_names : bool, default=False
        Whether ``"sqrt"`` and ``"log2"`` of `total` are understood.

    Returns
    -------
    int
        A count between 1 and `total`.
    """
    if value is None:
        return total
    if allow_names and isinstance(value, str) and value in ("sqrt", "log2"):
        return max(1, int(math.sqrt(total) if value == "sqrt" else math.log2(total)))
    if not _is_real(value):
        names = ', "sqrt", "log2"' if allow_names else ""
        raise (ValueError if isinstance(value, str) else TypeError)(
            f"{name} must be an integer, a fraction{names} or None; received {value!r}"
        )
    if isinstance(value, Integral):
        if not 1 <= int(value) <= total:
            raise ValueError(
                f"{name} as a count must lie between 1 and {total}; received {value!r}"
            )
        return int(value)
    fraction = as_float(value)
    if not 0.0 < fraction <= 1.0:
        raise ValueError(f"{name} as a fraction must lie in (0, 1]; received {value!r}")
    return max(1, int(fraction * total))


def check_vector(name: str, values: object) -> NDArray[Any]:
    """Turn anything that is a column of numbers into a one-dimensional array.

    Parameters
    ----------
    name : str
        Name of the argument, for the message.
    values : array-like of shape (n,) or (n, 1)
        List, ndarray, series of any library. A column is flattened with scikit-learn's
        ``DataConversionWarning``. Missing values (None, NaN, pandas' NA, polars' null,
        masked) become NaN.

    Returns
    -------
    ndarray of shape (n,)
        Booleans, integers or floats; a view of the input where no conversion was needed.
    """
    series = open_series(values)
    array = np.asarray(unmask(values)) if series is None else series.to_numpy()
    if array.ndim == 2 and array.shape[1] == 1:
        warnings.warn(
            f"A column-vector {name} was passed when a 1d array was expected. Please change "
            "the shape to (n_samples,), for example using ravel().",
            DataConversionWarning,
            stacklevel=3,
        )
        array = array.ravel()
    if array.ndim != 1:
        raise ValueError(
            f"{name} should be a 1d array, got an array of shape {array.shape} instead."
        )
    if array.dtype.kind in "OUST":
        return numbers_from_objects(name, array.astype(object))
    if array.dtype.kind == "c":
        raise ValueError(f"Complex data not supported: {name} has dtype {array.dtype}")
    if array.dtype.kind in "mM":
        raise TypeError(
            f"{name} must hold numbers; received dtype {array.dtype}. Divide time differences "
            "by a unit first, for example (end - start) / np.timedelta64(1, 'D')"
        )
    if array.dtype.kind not in "biuf":
        raise TypeError(f"{name} must hold numbers; received dtype {array.dtype}")
    return array


def unmask(values: Any) -> Any:
    """Replace the masked entries of a masked array by NaN, which NumPy would forget.

    Parameters
    ----------
    values : object
        Anything; only a ``numpy.ma.MaskedArray`` is changed.

    Returns
    -------
    object
        `values`, or a float64 array of the same shape.
    """
    if isinstance(values, np.ma.MaskedArray):
        return np.ma.filled(values.astype(np.float64), np.nan)
    return values


def numbers_from_objects(name: str, values: NDArray[Any]) -> NDArray[np.float64]:
    """Convert Python objects to float64, missing ones to NaN; text is not parsed.

    Parameters
    ----------
    name : str
        What the values are, for the message.
    values : ndarray of shape (n,), object
        Numbers and missing values.

    Returns
    -------
    ndarray of shape (n,), float64
    """
    types = set(map(type, values))
    for kind in types:
        if issubclass(kind, str | bytes):
            row = next(i for i, value in enumerate(values) if isinstance(value, str | bytes))
            raise ValueError(f"{name} must hold numbers, not text; row {row} has {values[row]!r}")
        if issubclass(kind, complex | np.complexfloating):
            raise ValueError(f"Complex data not supported: {name} holds complex numbers")
    filled = [np.nan if is_missing(value) else value for value in values]
    try:
        return np.array([float(value) for value in filled], dtype=np.float64)
    except (TypeError, ValueError) as error:
        # scikit-learn's own wording ("argument must be a string or a real number") stays in.
        raise TypeError(f"{name} must hold numbers: {error}") from None
    except OverflowError:
        raise ValueError(f"{name} holds a number too large for float64") from None


def is_missing(value: object) -> bool:
    """Say whether `value` is None, NaN, or pandas' NA or NaT.

    Parameters
    ----------
    value : object
        One cell.

    Returns
    -------
    bool
    """
    if value is None:
        return True
    if isinstance(value, float | np.floating):
        return bool(value != value)
    # By name, so that pandas is not imported for data that does not come from it.
    return type(value).__name__ in _MISSING_TYPES


def check_same_rows(**tables: object) -> None:
    """Refuse pandas objects whose labels say that their rows belong together in another way.

    Rows are paired by position. That is wrong where a label of the one stands at another position
    of the other: `y` sorted and `X` not, or either of them filtered alone. A default index
    (0, 1, 2, ...) says nothing about rows with other labels: it is what ``reset_index`` leaves.

    Parameters
    ----------
    **tables : DataFrame, Series, or anything else
        By their names, for the message; the first one from pandas is what the others are compared
        with. What is not from pandas, or a library like it, has no labels.
    """
    labelled = [
        (name, index)
        for name, index in ((name, row_labels(table)) for name, table in tables.items())
        if index is not None
    ]
    for name, index in labelled[1:]:
        first_name, first = labelled[0]
        row = _moved_label(first, index)
        if row is not None:
            raise ValueError(
                f"{name} and {first_name} have row labels in another order: row {row} is labelled "
                f"{_label(index, row)} in {name} and {_label(first, row)} in {first_name}. Put "
                f"them in one order, as with {name}.loc[{first_name}.index], or pass {name} as a "
                "NumPy array to pair rows by position"
            )


def _moved_label(first: Any, second: Any) -> int | None:
    """First row whose label in an index stands elsewhere in the first one, if that means anything.

    Indexes of different lengths are not compared: that is an error of its own.
    """
    if len(first) != len(second) or first.equals(second):
        return None
    labels, others = first.tolist(), second.tolist()
    known = set(labels)
    default = any(_is_default(index) for index in (first, second))
    if default and known != set(others):
        return None
    rows = enumerate(zip(labels, others, strict=True))
    return next((row for row, (a, b) in rows if a != b and b in known), None)


def _label(index: Any, row: int) -> str:
    """Write a label as a plain value, without the type that NumPy 2 puts around it."""
    return repr(index[row : row + 1].tolist()[0])


def _is_default(index: Any) -> bool:
    """Whether a pandas index counts rows from zero, as one does that nobody has set."""
    return type(index).__name__ == "RangeIndex" and index.start == 0 and index.step == 1


def _is_real(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def _holds_bool(values: object) -> bool:
    if isinstance(values, bool | np.bool_):
        return True
    return isinstance(values, list | tuple) and any(isinstance(v, bool | np.bool_) for v in values)
