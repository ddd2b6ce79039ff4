"""Structured survival outcomes, in the layout scikit-survival uses."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cqrf.data.outcome import check_event, check_time
from cqrf.support.checks import check_same_rows
from cqrf.support.dataframes import open_frame


class Surv:
    """Builds structured arrays of (event, time).

    A structured outcome is one array that can be sliced row by row, which is what
    ``Pipeline``, ``cross_val_score`` and ``GridSearchCV`` need. Note the order of the
    arguments: the event comes first, as in scikit-survival.
    """

    @staticmethod
    def from_arrays(
        event: ArrayLike,
        time: ArrayLike,
        name_event: str = "event",
        name_time: str = "time",
    ) -> NDArray[np.void]:
        """Build the outcome from two arrays.

        Parameters
        ----------
        event : array-like of shape (n,)
            True or 1 where the event was seen, False or 0 where the row is censored.
        time : array-like of shape (n,)
            Observed times, finite.
        name_event, name_time : str
            Names of the two fields.

        Returns
        -------
        ndarray of shape (n,), structured
            Fields `name_event` (bool) and `name_time` (float64), in this order.

        Examples
        --------
        >>> Surv.from_arrays(event=[True, False], time=[3, 5])
        array([( True, 3.), (False, 5.)], dtype=[('event', '?'), ('time', '<f8')])
        """
        if name_event == name_time:
            raise ValueError(
                f"name_event and name_time must differ; both are {name_event!r}",
            )
        check_same_rows(event=event, time=time)
        times = check_time("time", time)
        events = check_event("event", event, times, name_time="time")
        outcome = np.empty(times.shape[0], dtype=[(name_event, np.bool_), (name_time, np.float64)])
        outcome[name_event] = events
        outcome[name_time] = times
        return outcome

    @staticmethod
    def from_dataframe(event: str, time: str, data: Any) -> NDArray[np.void]:
        """Build the outcome from two columns of a frame.

        Parameters
        ----------
        event, time : str
            Names of the columns; the fields of the result bear the same names.
        data : data frame
            Of n rows, from any library: pandas, polars, PyArrow, ...

        Returns
        -------
        ndarray of shape (n,), structured
            See `from_arrays`.
        """
        frame = open_frame(data)
        if frame is None:
            raise TypeError(
                "data must be a data frame (pandas, polars, PyArrow, ...); received "
                f"{type(data).__module__}.{type(data).__qualname__}"
            )
        for argument, column in (("event", event), ("time", time)):
            if column not in frame.names:
                raise ValueError(
                    f"{argument}={column!r} is not a column of data; its columns are {frame.names}"
                )
        events, times = (frame.columns[frame.names.index(name)] for name in (event, time))
        return Surv.from_arrays(events.to_native(), times.to_native(), str(event), str(time))
