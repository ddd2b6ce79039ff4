"""The arrays of a model file: which there may be, and the table of them in the header."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cqrf.storage.container import ALIGNMENT, Data, require, require_known


class ArrayType(NamedTuple):
    """What an array of a file must be.

    Attributes
    ----------
    dtype : str
        Type of its elements as NumPy writes it, with the order of the bytes.
    axes : str
        Names of its axes, those of docs/model_files.md. Axes of one name have one size, and a
        number is its own size.
    part : str or None
        What it is a part of, if a file may lack it: arrays of one part are all there or none is.
    """

    dtype: str
    axes: str
    part: str | None = None


# In the order of the file. A line may be added anywhere, with a part; none may be changed.
SCHEMA = {
    "nodes": ArrayType("<u4", "nodes 4"),
    "node_offset": ArrayType("<i8", "B+1"),
    "subsets": ArrayType("<u8", "subsets 4"),
    "subset_offset": ArrayType("<i8", "B+1"),
    "leaf_start": ArrayType("<u4", "leaves+B"),
    "leaf_offset": ArrayType("<i8", "B+1"),
    "members": ArrayType("<u2", "B r"),
    "members_block": ArrayType("|u1", "B r", "members_block"),
    "members_block_high": ArrayType("|u1", "B r", "members_block_high"),
    "block_counts": ArrayType("<u2", "leaves N", "block_counts"),
    "times": ArrayType("<f8", "K"),
    "time_index": ArrayType("<u4", "n"),
    "event": ArrayType("|u1", "n"),
    "order": ArrayType("<i8", "rows"),
    "weight": ArrayType("<f8", "n", "weight"),
    "cuts": ArrayType("<f8", "cuts"),
    "cut_offset": ArrayType("<i8", "p+1"),
    "category_bins": ArrayType("|u1", "categories"),
    "category_offset": ArrayType("<i8", "p+1"),
    "n_bins": ArrayType("|u1", "p"),
    "bins": ArrayType("|u1", "n p"),
    "kernel_scale": ArrayType("<f8", "p", "kernel"),
    "kernel_points": ArrayType("<f8", "n q", "kernel"),
    "path_size": ArrayType("<i8", "s", "path"),
    "path_loss": ArrayType("<f8", "s", "path"),
    "path_std_error": ArrayType("<f8", "s", "path"),
    "calibration_level": ArrayType("<f8", "k", "calibration"),
    "calibration_below": ArrayType("<f8", "k", "calibration"),
    "calibration_above": ArrayType("<f8", "k", "calibration"),
}
_ENTRY_KEYS = ("name", "dtype", "shape", "offset", "length")


def arrange(arrays: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Return arrays of the schema as they are stored: in order, contiguous, of the right dtype."""
    return {
        name: np.ascontiguousarray(arrays[name], dtype=entry.dtype)
        for name, entry in SCHEMA.items()
        if name in arrays
    }


def parts_of(arrays: Iterable[str]) -> set[str | None]:
    """Return the parts that these arrays make up; None stands for what every file has."""
    return {SCHEMA[name].part for name in arrays}


def table_of(shapes: dict[str, tuple[int, ...]]) -> list[dict[str, Any]]:
    """Describe arrays that stand one after the other, each at the next multiple of 64 bytes."""
    table: list[dict[str, Any]] = []
    end = 0
    for name, shape in shapes.items():
        dtype = SCHEMA[name].dtype
        offset = end + -end % ALIGNMENT
        length = math.prod(shape) * np.dtype(dtype).itemsize
        entry = (name, dtype, list(shape), offset, length)
        table.append(dict(zip(_ENTRY_KEYS, entry, strict=True)))
        end = offset + length
    return table


def read_arrays(table: object, data: Data) -> dict[str, NDArray[Any]]:
    """View the arrays of a mapped file, read-only; between them are zeros, after them is nothing.

    Parameters
    ----------
    table : object
        The table of arrays as the header gives it.
    data : Data
        Where they lie.

    Returns
    -------
    dict of str to ndarray
        The arrays, in the order of the schema and with the sizes that it asks for.
    """
    content, start, data_end = data
    arrays: dict[str, NDArray[Any]] = {}
    end = start
    for entry in _check_table(table):
        name, begin = entry["name"], start + entry["offset"]
        require(begin + entry["length"] <= data_end, f"array {name} ends after the file")
        require(not any(content[end:begin]), f"the bytes before array {name} are not zero")
        end = begin + entry["length"]
        # Plain arrays, not numpy.memmap: those would drag the file's name along when pickled.
        arrays[name] = np.ndarray(tuple(entry["shape"]), entry["dtype"], content, begin)
    require(end == data_end, "there are bytes after the last array")
    _check_sizes(arrays)
    return arrays


def _check_table(table: object) -> list[dict[str, Any]]:
    """Refuse a table that is not, to the last number, the one that `table_of` would make."""
    require(isinstance(table, list), "the table of arrays is missing")
    assert isinstance(table, list)
    shapes: dict[str, tuple[int, ...]] = {}
    for entry in table:
        require(
            isinstance(entry, dict) and tuple(entry) == _ENTRY_KEYS,
            f"an entry of the table of arrays has other keys than {', '.join(_ENTRY_KEYS)}",
        )
        name, shape = entry["name"], entry["shape"]
        require(isinstance(name, str), f"an array cannot have the name {name!r}")
        require_known([name], SCHEMA, "array")
        require(name not in shapes, f"array {name} is there twice")
        require(
            isinstance(shape, list)
            and len(shape) == len(SCHEMA[name].axes.split())
            and all(type(size) is int and size >= 0 for size in shape),
            f"array {name} cannot have the shape {shape!r}",
        )
        shapes[name] = tuple(shape)
    in_order = [name for name in SCHEMA if name in shapes]
    require(list(shapes) == in_order, "the arrays are not in the order of the format")
    expected = table_of(shapes)
    for entry, right in zip(table, expected, strict=True):
        for key in _ENTRY_KEYS:
            # Types too: in Python 0.0 and False are equal to 0.
            require(
                entry[key] == right[key] and type(entry[key]) is type(right[key]),
                f"array {right['name']} must have {key} {right[key]!r}; "
                f"the table says {entry[key]!r}",
            )
    return expected


def _check_sizes(arrays: dict[str, NDArray[Any]]) -> None:
    """Refuse a part without one of its arrays, and axes of one name that differ in size."""
    parts = parts_of(arrays) | {None}
    for name, entry in SCHEMA.items():
        require(name in arrays or entry.part not in parts, f"array {name} is missing")
    sizes: dict[str, int] = {}
    for name, array in arrays.items():
        for axis, size in zip(SCHEMA[name].axes.split(), array.shape, strict=True):
            right = int(axis) if axis.isdigit() else sizes.setdefault(axis, size)
            require(size == right, f"array {name}: its axis {axis} must have {right}, not {size}")
