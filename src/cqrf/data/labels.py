"""What the outcome of a forest is called, and in which unit its times are."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from cqrf.support.dataframes import open_frame

# Names of columns are short; a file that says otherwise is no model of ours.
MAX_LENGTH = 200


@dataclass(frozen=True)
class OutcomeLabels:
    """Names of the columns of the outcome, and the unit of the times, as far as they are known.

    Parameters
    ----------
    time, event : str or None
        Names of the times and of the event indicators.
    unit : str or None
        Unit of the times, such as "weeks".

    Examples
    --------
    >>> OutcomeLabels(time="week", event="arrest", unit="weeks").write(52.0)
    '52 weeks'
    """

    time: str | None = None
    event: str | None = None
    unit: str | None = None

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if value is not None and not isinstance(value, str):
                raise TypeError(f"{field.name} must be a text or None; received {value!r}")
            if value is not None and len(value) > MAX_LENGTH:
                raise ValueError(
                    f"{field.name} must have at most {MAX_LENGTH} characters; it has {len(value)}"
                )

    def write(self, value: float, digits: int = 6) -> str:
        """Write a time with its unit.

        Parameters
        ----------
        value : float
            The time.
        digits : int, default=6
            Significant digits.

        Returns
        -------
        str
            Such as "52 weeks", or "52" without a unit.
        """
        number = f"{value:.{digits}g}"
        return number if self.unit is None else f"{number} {self.unit}"

    @classmethod
    def of_outcome(cls, y: Any, event: Any = None) -> OutcomeLabels:
        """Find the names that an outcome brings along, in any of the forms that `fit` accepts.

        Parameters
        ----------
        y, event
            As in `fit`: a series has a name, a frame and a structured array have two.

        Returns
        -------
        OutcomeLabels
            Without a unit.
        """
        if isinstance(y, np.ndarray) and y.dtype.names is not None:
            by_kind = {y.dtype[name].kind == "b": name for name in y.dtype.names}
            return cls(_name(by_kind.get(False)), _name(by_kind.get(True)))
        frame = open_frame(y)
        if frame is not None:
            times = [name for name in frame.names if name != "event"]
            event = "event" if "event" in frame.names else None
            return cls(_name(times[0]) if times else None, event)
        return cls(_name(getattr(y, "name", None)), _name(getattr(event, "name", None)))


def _name(name: object) -> str | None:
    """Keep a name that is a text and no longer than a file may hold."""
    return str(name) if isinstance(name, str) and 0 < len(name) <= MAX_LENGTH else None
