"""How numbers are written: what a dialect reads, and which marks a column seems to use.

In ``1,022`` the comma is a decimal mark or stands between thousands, and no program can tell. What
other cells of the column show, and the user's options, decide; nothing is guessed in silence.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from shlex import quote

import pyarrow as pa
import pyarrow.compute as pc

from cqrf.app.tables.reading import Dialect

_EXPONENT = r"([eE][+-]?\d+)?"
# Only between thousands: the apostrophes of Switzerland, and spaces, some of which do not break.
_SEPARATORS = ("'", "\u2019", " ", "\u00a0", "\u202f")
_OTHER = {",": ".", ".": ","}
# So many numbers with points, and without, show how a column uses them.
_LEAST_OF_EACH = 3


def number_pattern(dialect: Dialect) -> str:
    """Return the regular expression of a number in a dialect, without blanks around it."""
    point, whole = re.escape(dialect.decimal), r"\d+"
    if dialect.thousands is not None:
        whole = rf"(\d{{1,3}}({re.escape(dialect.thousands)}\d{{3}})+|\d+)"
    return rf"^[+-]?({whole}({point}\d*)?|{point}\d+){_EXPONENT}$"


def with_point(cells: pa.Array, dialect: Dialect) -> pa.Array:
    """Write numbers of a dialect with a point and without marks of thousands.

    Cells of other dialects make it fail with `pyarrow.ArrowInvalid`, as the cast to numbers would:
    a mark at the wrong place must not be read over.
    """
    if dialect.decimal == "." and dialect.thousands is None:
        return cells
    good = pc.match_substring_regex(cells, number_pattern(dialect))
    if pc.all(good).as_py() is False:
        raise pa.ArrowInvalid("a cell is not a number of this dialect")
    if dialect.thousands is not None:
        cells = pc.replace_substring(cells, dialect.thousands, "")
    return pc.replace_substring(cells, dialect.decimal, ".")


def first_number(cells: pa.Array, dialect: Dialect) -> pa.Array:
    """Extract the first number of every cell: "1814" of "1,814 days"; null is none."""
    point = re.escape(dialect.decimal)
    marks = "[{}{}]".format(_OTHER[dialect.decimal], "".join(_SEPARATORS))
    whole = rf"(?:\d{{1,3}}(?:{marks}\d{{3}})+\b|\d+)"
    found = pc.extract_regex(cells, rf"(?P<number>[+-]?{whole}(?:{point}\d+)?)")
    digits = pc.replace_substring_regex(pc.struct_field(found, "number"), marks, "")
    return pc.replace_substring(digits, dialect.decimal, ".")


def looks_numeric(cells: pa.Array, dialect: Dialect) -> pa.Array:
    """Tell which cells are numbers in this dialect or in any other."""
    patterns = [number_pattern(dialect), *map(_as_decimal, _OTHER), *map(_as_groups, _OTHER)]
    patterns += map(_as_groups, _SEPARATORS)
    return pc.match_substring_regex(cells, "|".join(patterns))


def option_for(cells: pa.Array, value: str, dialect: Dialect) -> str | None:
    """Say which option reads a cell that is no number in this dialect; None if none does.

    Parameters
    ----------
    cells : pyarrow.Array
        The column, without blanks around its cells.
    value : str
        One of them.
    dialect : Dialect
        How the file was said to be written.
    """
    for mark in _SEPARATORS:
        if mark in value and re.search(_as_groups(mark), value):
            return f"if thousands are parted so, give --thousands {quote(mark)}"
    if dialect.decimal == "." and value.count(".") > 1 and re.search(_as_groups("."), value):
        return "'.' seems to part thousands: give --thousands . --decimal ,"
    mark = "," if dialect.decimal == "." else "."
    if mark not in value or not looks_numeric(pa.array([value]), dialect)[0].as_py():
        return None
    use, other = _Use.of(cells, mark), _OTHER[mark]
    if use.both_ways or (use.decimal and _Use.of(cells, other).decimal):
        return f"{mark!r} and {other!r} are used in more than one way here: write all cells alike"
    thousands = f"--thousands {quote(mark)}"
    if use.groups or dialect.decimal == mark:
        return f"{mark!r} seems to part thousands: give {thousands}"
    # Such as 1.022,5, where points part the thousands.
    decimal = f"--decimal {quote(mark)}" + (f" --thousands {other}" if use.with_other else "")
    if use.decimal:
        if dialect.decimal == other and dialect.decimal != ".":
            return f"{mark!r} is a decimal mark here, and --decimal says {other!r}: write all alike"
        return f"{mark!r} seems to be a decimal mark: give {decimal}"
    plain, point = value.replace(mark, ""), value.replace(mark, ".")
    if dialect.decimal != ".":
        return f"if it means {plain}, give {thousands}"
    return f"give {thousands} if it means {plain}, or {decimal} if it means {point}"


def points_as_thousands(cells: pa.Array, dialect: Dialect) -> str | None:
    """Say how to read numbers whose points seem to part thousands; None if they do not seem to.

    All points have three digits behind them, and where there is none, the number is small: 1.814
    beside 712.

    Parameters
    ----------
    cells : pyarrow.Array
        A column of numbers.
    dialect : Dialect
        How the file was said to be written.
    """
    if not pa.types.is_string(cells.type) or dialect.thousands is not None:
        return None
    mark, other = dialect.decimal, _OTHER[dialect.decimal]
    trimmed = pc.utf8_trim_whitespace(cells.drop_null())
    with_mark = pc.match_substring(trimmed, mark)
    grouped, small = trimmed.filter(with_mark), trimmed.filter(pc.invert(with_mark))
    if min(len(grouped), len(small)) < _LEAST_OF_EACH or not (
        pc.all(pc.match_substring_regex(grouped, _as_groups(mark))).as_py()
        and pc.all(pc.match_substring_regex(small, r"^[+-]?\d{1,3}$")).as_py()
    ):
        return None
    value = grouped[0].as_py()
    return f"give --thousands {mark} --decimal {other} if {value} means {value.replace(mark, '')}"


@dataclass(frozen=True)
class _Use:
    """How a column uses a mark: what some of its cells show for certain."""

    decimal: bool
    groups: bool
    with_other: bool

    @property
    def both_ways(self) -> bool:
        return self.decimal and self.groups

    @classmethod
    def of(cls, cells: pa.Array, mark: str) -> _Use:
        decimal = pc.match_substring_regex(cells, _as_decimal(mark))
        groups = pc.match_substring_regex(cells, _as_groups(mark))
        other = pc.match_substring(cells, _OTHER[mark])
        return cls(
            decimal=_any(pc.and_not(decimal, groups)),
            groups=_any(pc.and_not(groups, decimal)),
            with_other=_any(pc.and_(decimal, other)),
        )


def _any(mask: pa.Array) -> bool:
    return bool(pc.any(mask).as_py())


def _as_decimal(mark: str) -> str:
    """Match numbers with a decimal mark, and the other mark, if any, between thousands."""
    point, other = re.escape(mark), re.escape(_OTHER[mark])
    return rf"^[+-]?(\d*|\d{{1,3}}({other}\d{{3}})+){point}\d+{_EXPONENT}$"


def _as_groups(mark: str) -> str:
    """Match numbers with a mark between thousands."""
    others = "[.,]" if mark not in _OTHER else re.escape(_OTHER[mark])
    return rf"^[+-]?[1-9]\d{{0,2}}({re.escape(mark)}\d{{3}})+({others}\d*)?$"
