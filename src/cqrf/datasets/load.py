"""Loaders of the data sets in ``data/``; what each holds is told in ``data/README.md``."""

from __future__ import annotations

from importlib.resources import files
from typing import Any, Literal, overload

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch

from cqrf.data.surv import Surv


@overload
def load_congress(*, return_X_y: Literal[False] = False) -> Bunch: ...
@overload
def load_congress(*, return_X_y: Literal[True]) -> tuple[Any, NDArray[np.void]]: ...
def load_congress(*, return_X_y: bool = False) -> Bunch | tuple[Any, NDArray[np.void]]:
    """Load careers in the United States Congress: right censored.

    How many years each of the 1046 members who first took a seat between 1989 and 2015 stayed
    in Congress. 46 % still served when the record ends and are censored. How long a member
    could be followed depends on `entry_year`, so the censoring depends on the features.

    Parameters
    ----------
    return_X_y : bool
        Return ``(X, y)`` instead of a `Bunch`.

    Returns
    -------
    data : sklearn.utils.Bunch
        With the attributes

        X : pandas.DataFrame of shape (1046, 7)
            Features; text columns are categoricals.
        time : ndarray of shape (1046,), float64
            Years in Congress.
        event : ndarray of shape (1046,), bool
            True where the member left, False where the row is censored.
        feature_names : list of str
            Names of the columns of X.
        censoring : str
            ``"right"``, the value for the parameter of that name.
        DESCR, description : str
            Source, licence, columns and units.
        filename : str
            Where the table is stored.
    (X, y) : tuple, if `return_X_y`
        The features, and the structured array of `Surv.from_arrays`.

    Examples
    --------
    >>> from cqrf.datasets import load_congress
    >>> data = load_congress()
    >>> data.X.shape, data.censoring
    ((1046, 7), 'right')
    >>> print(f"{1 - data.event.mean():.2f}")
    0.46
    """
    return _load("congress.csv", "right", return_X_y)


@overload
def load_stormwater_cadmium(*, return_X_y: Literal[False] = False) -> Bunch: ...
@overload
def load_stormwater_cadmium(*, return_X_y: Literal[True]) -> tuple[Any, NDArray[np.void]]: ...
def load_stormwater_cadmium(*, return_X_y: bool = False) -> Bunch | tuple[Any, NDArray[np.void]]:
    """Load cadmium in stormwater: left censored at several detection limits.

    Concentrations in 563 samples of stormwater before and after treatment. 48 % are below the
    limit of the laboratory and are censored. The limits differ between laboratories and reach
    above most measured values, so treating a limit as a measurement would bias the quantiles.

    Parameters
    ----------
    return_X_y : bool
        Return ``(X, y)`` instead of a `Bunch`.

    Returns
    -------
    data : sklearn.utils.Bunch
        With the attributes

        X : pandas.DataFrame of shape (563, 8)
            Features, with nine missing values; text columns are categoricals.
        time : ndarray of shape (563,), float64
            Concentration in micrograms per litre, or the limit it is below.
        event : ndarray of shape (563,), bool
            True where it was measured, False where the row is censored.
        feature_names : list of str
            Names of the columns of X.
        censoring : str
            ``"left"``, the value for the parameter of that name.
        DESCR, description : str
            Source, licence, columns and units.
        filename : str
            Where the table is stored.
    (X, y) : tuple, if `return_X_y`
        The features, and the structured array of `Surv.from_arrays`.

    Examples
    --------
    >>> from cqrf.datasets import load_stormwater_cadmium
    >>> X, y = load_stormwater_cadmium(return_X_y=True)
    >>> X.shape
    (563, 8)
    >>> y.dtype.names
    ('event', 'time')
    """
    return _load("stormwater_cadmium.csv", "left", return_X_y)


def _load(
    filename: str, censoring: Literal["right", "left"], return_X_y: bool
) -> Bunch | tuple[Any, NDArray[np.void]]:
    """Read one table; its first two columns are ``time`` and ``event``."""
    frame = _read_csv(filename)
    time = frame.pop("time").to_numpy(dtype=np.float64)
    # Through Surv, so that an event code other than 0 or 1 is refused, not cast to True.
    y = Surv.from_arrays(event=frame.pop("event").to_numpy(), time=time)
    if return_X_y:
        return frame, y
    description = _description(filename)
    return Bunch(
        X=frame,
        time=time,
        event=np.ascontiguousarray(y["event"]),
        feature_names=list(frame.columns),
        censoring=censoring,
        DESCR=description,
        description=description,
        filename=filename,
    )


def _read_csv(filename: str) -> Any:
    """Return a table of ``data/`` as a pandas DataFrame, text as categoricals."""
    try:
        import pandas as pd
    except ImportError as error:
        raise ImportError(
            "the data sets are returned as pandas data frames, and pandas is not installed; "
            "run: pip install cqrf[frames]"
        ) from error
    with files("cqrf.datasets").joinpath("data", filename).open("rb") as file:
        # Only an empty field is missing: "NA" may be a name.
        frame = pd.read_csv(file, keep_default_na=False, na_values=[""])
    text = [name for name in frame if not pd.api.types.is_numeric_dtype(frame[name])]
    return frame.astype(dict.fromkeys(text, "category"))


def _description(filename: str) -> str:
    """Return the section of ``data/README.md`` on a file.

    The page beside the data and the text users see are one, so they cannot drift apart.
    """
    page = files("cqrf.datasets").joinpath("data", "README.md").read_text(encoding="utf-8")
    sections: dict[str, str] = {}
    for section in page.split("\n## ")[1:]:
        title, _, body = section.partition("\n")
        sections[title.strip()] = f"{title.strip()}\n\n{body.strip()}\n"
    return sections[filename]
