"""What a column means: numbers, dates, true and false, or text; and its cells as NumPy arrays."""

from __future__ import annotations

from shlex import quote
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from cqrf.app.tables.errors import TableError, shown
from cqrf.app.tables.notation import (
    first_number,
    looks_numeric,
    number_pattern,
    option_for,
    with_point,
)
from cqrf.app.tables.reading import Block

Kind = Literal["number", "boolean", "date", "text"]

# A column of text is meant to be numeric if at least this share of its cells are numbers; the other
# cells are mistakes then.
_MOSTLY = 0.5
_LIMIT = r"^\s*[<>≤≥]"
_OTHER_DATE = r"^\s*\d{1,4}[./-]\d{1,2}[./-]\d{1,4}\b"
_DAY_SECONDS = 86_400
# A currency in front, a time of day, or a unit behind; letters in front make it a code.
_WITH_UNIT = r"^\s*[^\w\s]{0,3}\s*\d+([.,:]\d+)*\s*[^\d]{0,12}$"
_FEW_CATEGORIES, _NEARLY_ALL = 20, 0.9


def kind_of(block: Block, name: str, *, learned: bool = True) -> Kind:
    """Decide what a column holds; refuse one that is neither numbers nor words.

    Parameters
    ----------
    block : Block
        All rows of the table.
    name : str
        The column.
    learned : bool, default=True
        Whether it is to be a feature of a new forest, which may also drop it or read it as words.

    Returns
    -------
    {"number", "boolean", "date", "text"}
    """
    cells = block.column(name)
    if not _is_text(cells):
        return _arrow_kind(block, name, cells.type, learned=learned)
    known = cells.drop_null()
    if _parse(known, block) is not None:
        return "number"
    words = set(pc.unique(pc.utf8_lower(known)).to_pylist()) if len(known) else set()
    if words <= {"true", "false"}:
        return "boolean"
    if _dates(known) is not None:
        return "date"
    # Matching patterns is slow: every different text is matched once.
    different, counts = pc.value_counts(pc.utf8_trim_whitespace(known)).flatten()
    numeric = looks_numeric(different, block.dialect)
    if (pc.sum(counts.filter(numeric)).as_py() or 0) >= _MOSTLY * len(known):
        raise _not_a_number(block, name, cells, learned=learned)
    if pc.mean(pc.match_substring_regex(known, _OTHER_DATE).cast(pa.float64())).as_py() >= _MOSTLY:
        hint = f", or leave the column out with --drop {quote(name)}" if learned else ""
        raise TableError(
            block.file,
            f"holds dates such as {shown(known[0])}; write them as 2024-12-31{hint}",
            column=name,
        )
    return "text"


def numbers_with_units(cells: pa.Array) -> bool:
    """Whether a column has many numbers with a unit or a sign around them, such as 66.8 kg."""
    different = pc.unique(cells.drop_null())
    if len(different) <= _FEW_CATEGORIES:
        return False
    with_unit = pc.match_substring_regex(different, _WITH_UNIT)
    return bool(pc.mean(with_unit.cast(pa.float64())).as_py() >= _NEARLY_ALL)


def numbers(block: Block, name: str) -> NDArray[np.float64]:
    """Read a column as numbers, shape (n,): NaN is missing, true is 1, a date is days since 1970.

    Parameters
    ----------
    block : Block
        Some rows of a table.
    name : str
        The column.

    Returns
    -------
    ndarray of shape (n,), float64
        Finite or NaN.
    """
    cells = block.column(name)
    if _is_text(cells):
        values = _parse(cells, block)
        if values is None:
            values = _booleans(cells)
        if values is None:
            values = _dates(cells)
        if values is None:
            raise _not_a_number(block, name, cells)
    else:
        kind = _arrow_kind(block, name, cells.type)
        if kind == "text":
            if len(cells) != cells.null_count:
                raise _not_a_number(block, name, cells.cast(pa.string()))
            values = pa.nulls(len(cells), pa.float64())
        elif kind == "date" or pa.types.is_duration(cells.type):
            values = _days(cells)
        else:
            values = cells.cast(pa.float64())
    array = np.array(values.to_numpy(zero_copy_only=False), dtype=np.float64)
    if np.isinf(array).any():
        at = int(np.argmax(np.isinf(array)))
        raise block.error("infinity cannot be used; leave the cell empty", name, at)
    return array


def numbers_within(block: Block, name: str) -> NDArray[np.float64]:
    """Read the first number of every cell, shape (n,): 306 of "306 days"; NaN is none."""
    cells = block.column(name)
    if not _is_text(cells) or _parse(cells, block) is not None or _dates(cells) is not None:
        return numbers(block, name)
    found = first_number(cells, block.dialect).cast(pa.float64())
    return np.array(found.to_numpy(zero_copy_only=False), dtype=np.float64)


def texts(block: Block, name: str) -> NDArray[np.object_]:
    """Read a column as text, shape (n,); None is missing."""
    cells = block.column(name)
    if not _is_text(cells):
        _arrow_kind(block, name, cells.type)
        cells = cells.cast(pa.string())
    return np.asarray(cells.to_numpy(zero_copy_only=False), dtype=object)


def _is_text(cells: pa.Array) -> bool:
    return bool(pa.types.is_string(cells.type) or pa.types.is_large_string(cells.type))


def _arrow_kind(block: Block, name: str, dtype: pa.DataType, *, learned: bool = False) -> Kind:
    types = pa.types
    if types.is_dictionary(dtype):
        return _arrow_kind(block, name, dtype.value_type, learned=learned)
    if types.is_boolean(dtype):
        return "boolean"
    numeric = (types.is_integer, types.is_floating, types.is_decimal, types.is_duration)
    if any(is_type(dtype) for is_type in numeric):
        return "number"
    if types.is_date(dtype) or types.is_timestamp(dtype):
        return "date"
    if types.is_string(dtype) or types.is_large_string(dtype) or types.is_null(dtype):
        return "text" if not types.is_null(dtype) else "number"
    hint = f"; leave it out with --drop {quote(name)}" if learned else ""
    raise TableError(
        block.file,
        f"has the type {dtype}, which is neither a number nor text{hint}",
        column=name,
    )


def _parse(cells: pa.Array, block: Block) -> pa.Array | None:
    """Numbers from text; None if some cell is not a number."""
    try:
        # Most files have no blanks, and then there is nothing to trim.
        return with_point(cells, block.dialect).cast(pa.float64())
    except pa.ArrowInvalid:
        try:
            trimmed = pc.utf8_trim_whitespace(cells)
            return with_point(trimmed, block.dialect).cast(pa.float64())
        except pa.ArrowInvalid:
            return None


def _booleans(cells: pa.Array) -> pa.Array | None:
    lower = pc.utf8_lower(cells)
    words = set(pc.unique(lower.drop_null()).to_pylist())
    return pc.equal(lower, "true").cast(pa.float64()) if words <= {"true", "false"} else None


def _dates(cells: pa.Array) -> pa.Array | None:
    """Days since 1970 from ISO dates; None if some cell is not one."""
    for dtype in (pa.timestamp("us"), pa.timestamp("us", tz="UTC")):
        try:
            return _days(cells.cast(dtype))
        except pa.ArrowInvalid:
            continue
    return None


def _days(cells: pa.Array) -> pa.Array:
    if pa.types.is_duration(cells.type):
        micros = cells.cast(pa.duration("us")).cast(pa.int64())
    else:
        micros = cells.cast(pa.timestamp("us", tz=getattr(cells.type, "tz", None)), safe=False)
        micros = micros.cast(pa.int64())
    return pc.divide(micros.cast(pa.float64()), _DAY_SECONDS * 1e6)


def _not_a_number(block: Block, name: str, cells: pa.Array, *, learned: bool = False) -> TableError:
    trimmed = pc.utf8_trim_whitespace(cells)
    good = pc.match_substring_regex(trimmed, number_pattern(block.dialect))
    at = int(pc.index(good, pa.scalar(False)).as_py())
    if at < 0:
        return TableError(block.file, "holds no numbers", column=name)
    value = cells[at].as_py()
    option = option_for(trimmed, trimmed[at].as_py(), block.dialect)
    if pc.match_substring_regex(pa.array([value]), _LIMIT)[0].as_py():
        hint = "a limit can stand only in the column of --time; replace it by a number"
    elif option is not None:
        hint = option
    else:
        hint = f"if it means missing, give --na {_quoted(value)}"
    words = f"; if the column holds words, --category {quote(name)}" if learned else ""
    return block.error(f"{shown(value)} is not a number; {hint}{words}", name, at)


def _quoted(value: str) -> str:
    return shown(value) if not value.isalnum() or len(value) > 40 else value
