"""What a forest learns from: times and events, checked once and sorted once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cqrf import _engine
from cqrf.support.checks import check_choice, check_same_rows, check_vector
from cqrf.support.dataframes import open_frame
from cqrf.support.records import Record


def parse_outcome(
    y: Any, event: ArrayLike | None = None
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Read an outcome in any of the forms `fit` accepts.

    Parameters
    ----------
    y : structured array, frame or array-like of shape (n,)
        One of: a structured array with one boolean and one numeric field, in either order;
        times, with `event` beside them; a frame of any library with the two columns ``event``
        and ``time`` (or ``duration``); plain numbers, which means that nothing is censored.
    event : array-like of shape (n,), optional
        True or 1 where the event was seen, False or 0 where the row is censored.

    Returns
    -------
    time : ndarray of shape (n,), float64
        Observed times, finite.
    event : ndarray of shape (n,), bool
        True where the event was seen.
    """
    if y is None:
        raise ValueError("fit requires y to be passed, but the target y is None")
    pair = _split_pair(y)
    if pair is not None:
        if event is not None:
            raise ValueError("event was given twice: beside y, and as a field or column of y")
        y, event = pair
    check_same_rows(y=y, event=event)
    time = check_time("y", y)
    if event is None:
        return time, np.ones(time.shape[0], dtype=np.bool_)
    return time, check_event("event", event, time, name_time="y")


def has_events(y: Any) -> bool:
    """Say whether `y` holds events beside its times: a structured array or a frame of both."""
    return _split_pair(y) is not None


def _split_pair(y: Any) -> tuple[Any, Any] | None:
    """Take (time, event) out of a structured array or a frame; None if `y` is neither."""
    if isinstance(y, np.ndarray) and y.dtype.names is not None:
        kinds = {name: y.dtype[name].kind for name in y.dtype.names}
        booleans = [name for name, kind in kinds.items() if kind == "b"]
        numbers = [name for name, kind in kinds.items() if kind in "iuf"]
        if len(kinds) != 2 or len(booleans) != 1 or len(numbers) != 1:
            raise ValueError(
                "y as a structured array must have exactly one boolean and one numeric field; "
                f"its fields are {y.dtype.descr}. Surv.from_arrays(event, time) builds one."
            )
        return y[numbers[0]], y[booleans[0]]
    frame = open_frame(y)
    if frame is not None and frame.shape[1] != 1:
        names = frame.names
        for name in ("time", "duration"):
            if len(names) == 2 and set(names) == {"event", name}:
                at = names.index(name)
                return frame.columns[at].to_native(), frame.columns[1 - at].to_native()
        raise ValueError(
            "y as a frame must have the two columns 'event' and 'time' (or 'duration'); "
            f"its columns are {names}. Surv.from_dataframe(event, time, data) names others."
        )
    return None


def check_time(name: str, time: Any) -> NDArray[np.float64]:
    """Check observed times.

    Parameters
    ----------
    name : str
        Name of the argument, for the message.
    time : array-like of shape (n,)
        Numbers of any type and sign.

    Returns
    -------
    ndarray of shape (n,), float64
        The times, all finite; contiguous.
    """
    values = check_vector(name, time)
    if values.shape[0] == 0:
        raise ValueError(f"{name} is empty: found 0 sample(s) while a minimum of 1 is required.")
    if values.dtype.kind == "b":
        raise TypeError(
            f"{name} must hold times, not booleans; the order is (time, event) in fit and "
            "(event, time) in Surv"
        )
    with np.errstate(over="ignore"):
        times = np.ascontiguousarray(values, dtype=np.float64)
    finite = np.isfinite(times)
    if not finite.all():
        row = int(np.argmin(finite))
        what = (
            "NaN" if np.isnan(times[row]) else "infinity or a value too large for dtype('float64')"
        )
        raise ValueError(f"Input {name} contains {what}. Row {row} is {values[row]}.")
    return times


def check_event(
    name: str, event: Any, time: NDArray[np.float64], *, name_time: str
) -> NDArray[np.bool_]:
    """Check event indicators against the times they belong to.

    Parameters
    ----------
    name, name_time : str
        Names of the two arguments, for the message.
    event : array-like of shape (n,)
        Booleans, or numbers that are 0 or 1.
    time : ndarray of shape (n,), float64
        The times.

    Returns
    -------
    ndarray of shape (n,), bool
        True where the event was seen.
    """
    values = check_vector(name, event)
    if values.shape[0] != time.shape[0]:
        raise ValueError(
            f"{name_time} and {name} differ in length: {name_time} has {time.shape[0]} rows, "
            f"{name} has {values.shape[0]}"
        )
    if values.dtype.kind == "b":
        return np.ascontiguousarray(values)
    known = (values == 0) | (values == 1)
    if not known.all():
        row = int(np.argmin(known))
        raise ValueError(
            f"{name} must be True/False or 1/0; row {row} is {values[row]}."
            + _coding_hint(name, values, time, name_time)
        )
    return np.asarray(values == 1)


def _coding_hint(name: str, values: NDArray[Any], time: NDArray[np.float64], name_time: str) -> str:
    if np.isin(values, (1, 2)).all():
        return f" If 1 means censored and 2 means event, use {name} == 2."
    if np.isin(time, (0.0, 1.0)).all():
        return f" {name_time} holds only 0 and 1: are {name_time} and {name} swapped?"
    return ""


@dataclass(frozen=True, eq=False)
class Target(Record):
    """The outcome in rank order: sorted by time, events before censorings.

    Rows of zero weight are left out; the others are the ranks ``0 .. n-1``. Left censoring
    is the mirror image of right censoring: the times are negated here and nowhere else.

    Attributes
    ----------
    times : ndarray of shape (K,), float64
        Distinct observed times, ascending; negated if `mirrored`.
    time_index : ndarray of shape (n,), uint32
        Index into `times` of every rank; never decreases.
    event : ndarray of shape (n,), uint8
        1 where the event was seen, by rank.
    order : ndarray of shape (n,), int64
        Original row of every rank.
    weight : ndarray of shape (n,), float64, or None
        Sample weights by rank, divided by a power of two so that the largest lies in [0.5, 1);
        None when they are all equal, which is the same as no weights.
    n_rows : int
        Number of original rows, those of zero weight included.
    mirrored : bool
        True for left censoring.
    """

    times: NDArray[np.float64]
    time_index: NDArray[np.uint32]
    event: NDArray[np.uint8]
    order: NDArray[np.int64]
    weight: NDArray[np.float64] | None
    n_rows: int
    mirrored: bool

    @property
    def n(self) -> int:
        """Number of ranks."""
        return len(self.order)

    @property
    def censoring(self) -> str:
        """Direction of the censoring, "right" or "left"."""
        return "left" if self.mirrored else "right"

    @property
    def observed(self) -> NDArray[np.float64]:
        """Observed times of the ranks in their own sign, shape (n,)."""
        times = self.times[self.time_index]
        # Adding zero turns -0.0 into 0.0.
        return -times + 0.0 if self.mirrored else times

    def by_row(self, ranked: NDArray[Any], missing: Any) -> NDArray[Any]:
        """Put values of the ranks, shape (n, ...), in the order of the original rows.

        Rows of zero weight, which have no rank, get `missing`.
        """
        rows = np.full((self.n_rows, *ranked.shape[1:]), missing, dtype=ranked.dtype)
        rows[self.order] = ranked
        return rows

    def same_as(self, other: Target) -> bool:
        """Whether two targets hold the same outcomes, weights and direction."""
        return (
            self.mirrored == other.mirrored
            and all(
                np.array_equal(getattr(self, name), getattr(other, name))
                for name in ("times", "time_index", "event", "order")
            )
            and (
                other.weight is None
                if self.weight is None
                else np.array_equal(self.weight, other.weight)  # type: ignore[arg-type]
            )
        )

    def take(self, ranks: NDArray[np.int64]) -> Target:
        """Keep some ranks, given in ascending order, as if they were all the rows."""
        kept, time_index = np.unique(self.time_index[ranks], return_inverse=True)
        return Target(
            times=self.times[kept],
            time_index=time_index.astype(np.uint32),
            event=self.event[ranks],
            order=np.arange(len(ranks)),
            weight=None if self.weight is None else self.weight[ranks],
            n_rows=len(ranks),
            mirrored=self.mirrored,
        )

    @cached_property
    def engine(self) -> _engine.Target:
        """The same arrays in the engine, which checks them."""
        return _engine.Target(self.times, self.time_index, self.event, self.weight, self.order)

    @classmethod
    def from_outcome(
        cls,
        time: NDArray[np.float64],
        event: NDArray[np.bool_],
        sample_weight: ArrayLike | None = None,
        censoring: Literal["right", "left"] = "right",
    ) -> Target:
        """Sort an outcome that `parse_outcome` has read.

        Parameters
        ----------
        time : ndarray of shape (n_rows,), float64
            Observed times, finite.
        event : ndarray of shape (n_rows,), bool
            True where the event was seen.
        sample_weight : array-like of shape (n_rows,), optional
            Non-negative weights.
        censoring : {"right", "left"}, default="right"
            Whether a censored row says "later than" or "earlier than".

        Returns
        -------
        Target
        """
        mirrored = check_choice("censoring", censoring, ("right", "left")) == "left"
        n_rows = time.shape[0]
        weight = None if sample_weight is None else check_sample_weight(sample_weight, n_rows)
        kept = None if weight is None else weight > 0.0
        if not (event.any() if kept is None else (event & kept).any()):
            among = "" if kept is None or kept.all() else " in the rows of positive weight"
            raise ValueError(
                f"event is never True{among}: no quantile of T can be estimated",
            )
        times, time_index, ranked_event, order = _engine.rank_outcome(
            np.ascontiguousarray(time), np.ascontiguousarray(event), kept, mirrored
        )
        if weight is not None:
            weight = weight[order]
            # Only ratios count. Powers of two leave whole numbers exact, and no sum overflows.
            weight = np.maximum(np.ldexp(weight, -np.frexp(weight.max())[1]), np.finfo(float).tiny)
            if (weight == weight[0]).all():
                weight = None
        return cls(
            times=times,
            time_index=time_index,
            event=ranked_event,
            order=order,
            weight=weight,
            n_rows=n_rows,
            mirrored=mirrored,
        )


def check_sample_weight(sample_weight: ArrayLike, n_rows: int) -> NDArray[np.float64]:
    """Check sample weights.

    Parameters
    ----------
    sample_weight : array-like of shape (n_rows,)
        Finite, not negative, not all zero.
    n_rows : int
        Number of rows they belong to.

    Returns
    -------
    ndarray of shape (n_rows,), float64
    """
    weight = check_vector("sample_weight", sample_weight).astype(np.float64)
    if weight.shape[0] != n_rows:
        raise ValueError(
            f"sample_weight and y differ in length: sample_weight has {weight.shape[0]} rows, "
            f"y has {n_rows}"
        )
    good = np.isfinite(weight) & (weight >= 0.0)
    if not good.all():
        row = int(np.argmin(good))
        raise ValueError(
            f"sample_weight must be finite and not negative; row {row} is {weight[row]}"
        )
    if not weight.any():
        raise ValueError("sample_weight is zero in every row")
    with np.errstate(over="ignore"):
        total = weight.sum()
    if not np.isfinite(total):
        raise ValueError(
            f"sample_weight sums to infinity; its largest value is {weight.max()}",
        )
    return weight


def marginal_curves(target: Target) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    r"""Compute the Kaplan-Meier curves of the whole sample, ignoring the features.

    With :math:`d_k` and :math:`c_k` the weight of the events and of the censored rows at
    :math:`t_k`, and :math:`R_k` the weight at or after it,

    .. math::

        S(t) = \prod_{t_k \le t} (1 - d_k / R_k), \qquad
        G(t) = \prod_{t_k \le t} (1 - c_k / (R_k - d_k)).

    Parameters
    ----------
    target : Target
        The outcome, with K distinct times.

    Returns
    -------
    survival : ndarray of shape (K,), float64
        S at ``target.times``.
    censoring : ndarray of shape (K,), float64
        G at ``target.times``.
    """
    return kaplan_meier(target), kaplan_meier(target, of_censoring=True)


def kaplan_meier(target: Target, *, of_censoring: bool = False) -> NDArray[np.float64]:
    """One of the `marginal_curves`: S, or G if it is that of the censoring time."""
    return _engine.kaplan_meier(
        target.time_index, target.event, target.weight, target.times.shape[0], of_censoring
    )
