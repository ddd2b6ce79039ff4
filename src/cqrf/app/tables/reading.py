"""Open a file or a pipe and hand out its rows in blocks of Arrow columns.

Every column of a CSV file comes as text: what it means is decided in `cqrf.app.tables.columns`,
where a bad cell can still be named. Parquet and Feather files bring their own types.
"""

from __future__ import annotations

import csv
import gzip
import io
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.ipc
import pyarrow.parquet

from cqrf.app.tables.errors import TableError, meant, shown
from cqrf.app.tables.limits import CountedStream, SizeLimits, open_feather, open_parquet, unpacked

# Bytes of a CSV file in one block, into which every line must fit; about thirty blocks are read
# ahead. Rows of a Parquet file in one block.
BLOCK_BYTES = 4 << 20
BLOCK_ROWS = 50_000
_PEEK = 1 << 16
_DELIMITERS = (",", ";", "\t", "|")
_MAGIC = {b"PAR1": "parquet", b"ARROW1": "feather", b"FEA1": "feather"}
# Excel and most tools write one of these for a value that is not there.
MISSING = ("", "NA", "N/A", "#N/A", "NaN", "nan", "null", "NULL", "None")


@dataclass(frozen=True)
class Dialect:
    """How a CSV file is written.

    Attributes
    ----------
    delimiter : str or None
        Between two cells; None is a comma, or a tab if the name ends in ``.tsv``.
    decimal : str
        Decimal point.
    encoding : str
        Encoding of the text; a byte order mark of UTF-8 is skipped.
    missing : tuple of str
        Cells that stand for a missing value.
    thousands : str or None
        Mark between groups of three digits.
    """

    delimiter: str | None = None
    decimal: str = "."
    encoding: str = "utf-8"
    missing: tuple[str, ...] = MISSING
    thousands: str | None = None


@dataclass(frozen=True, eq=False)
class Block:
    """Some consecutive rows of a table.

    Attributes
    ----------
    file : str
        Name for messages.
    columns : dict of str to pyarrow.Array
        The cells; text with nulls for missing values if they come from CSV.
    first_row : int
        Number of the first row, from 1.
    n_rows : int
    dialect : Dialect
    """

    file: str
    columns: dict[str, pa.Array]
    first_row: int
    n_rows: int
    dialect: Dialect

    def error(self, problem: str, column: str | None = None, at: int | None = None) -> TableError:
        """Make an error about the cell at position `at` of this block."""
        row = None if at is None else self.first_row + at
        return TableError(self.file, problem, column=column, row=row)

    def column(self, name: str) -> pa.Array:
        """Return a column, or say which columns there are."""
        if name not in self.columns:
            problem = f"there is no column {name!r}; {listed(self.columns, name)}"
            raise TableError(self.file, problem)
        return self.columns[name]


def listed(names: Any, wanted: str) -> str:
    """Name the columns of a table in a message, first the one that may have been meant."""
    names = list(names)
    more = ", ..." if len(names) > 12 else ""
    return f"{meant(wanted, names)}its columns are {', '.join(map(repr, names[:12]))}{more}"


@dataclass(eq=False)
class TableReader:
    """An open table; its blocks can be read once.

    Attributes
    ----------
    file : str
        Name for messages.
    names : list of str
        Names of its columns.
    """

    file: str
    names: list[str]
    _batches: Iterator[pa.RecordBatch]
    _dialect: Dialect
    _text: bool
    _limits: SizeLimits | None = None
    _next_row: int = field(default=1)

    def blocks(self) -> Iterator[Block]:
        """Hand out the rows, block after block."""
        while True:
            try:
                batch = next(self._batches, None)
            except (OSError, EOFError, UnicodeError, pa.ArrowException) as error:
                if self._text and isinstance(error, pa.ArrowInvalid):
                    raise _csv_error(self.file, str(error)) from None
                raise TableError(self.file, f"cannot be read: {_one_line(str(error))}") from None
            if batch is None:
                return
            if not batch.num_rows:
                continue
            if self._limits is not None:
                n_rows = self._next_row - 1 + batch.num_rows
                self._limits.check_shape(n_rows, len(self.names), self.file)
            columns = dict(zip(self.names, batch.columns, strict=True))
            block = Block(self.file, columns, self._next_row, batch.num_rows, self._dialect)
            if self._text:
                block.columns.update(
                    {name: _as_text(block, name, cells) for name, cells in columns.items()}
                )
            self._next_row += batch.num_rows
            yield block

    def read(self) -> Block:
        """Read all rows at once; a table without rows is refused."""
        blocks = list(self.blocks())
        if not blocks:
            raise TableError(self.file, "there is a header but no row")
        columns = {
            name: pa.concat_arrays([block.columns[name] for block in blocks])
            if len(blocks) > 1
            else blocks[0].columns[name]
            for name in self.names
        }
        return Block(self.file, columns, 1, self._next_row - 1, self._dialect)


def open_input(
    source: str | Path | IO[bytes],
    dialect: Dialect | None = None,
    *,
    name: str | None = None,
    limits: SizeLimits | None = None,
) -> TableReader:
    """Open a table; what it is shows in its first bytes.

    Parameters
    ----------
    source : str, path or binary stream
        A file, ``"-"`` for standard input, or an open stream.
    dialect : Dialect, optional
        How a CSV file is written.
    name : str, optional
        Name for messages.
    limits : SizeLimits, optional
        Most that is taken in; a larger table raises `TableTooLarge`.

    Returns
    -------
    TableReader
    """
    dialect = dialect or Dialect()
    if isinstance(source, str | Path):
        name = name or ("standard input" if str(source) == "-" else str(source))
        stream = _open(str(source), name)
    else:
        name, stream = name or "the table", source
    peeked = _peekable(stream)
    start = peeked.peek(_PEEK)
    if start[:2] == b"\x1f\x8b":
        unpacked: Any = gzip.GzipFile(fileobj=peeked)
        if limits is not None:
            unpacked = CountedStream(unpacked, limits, name)
        peeked = io.BufferedReader(unpacked, _PEEK)
        try:
            start = peeked.peek(_PEEK)
        except (OSError, EOFError) as error:
            raise TableError(name, f"cannot be decompressed: {error}") from None
    if not start:
        raise TableError(name, "the file is empty")
    kind = next((kind for magic, kind in _MAGIC.items() if start.startswith(magic)), "csv")
    if kind == "csv":
        table = _open_csv(peeked, start, dialect, name, limits)
    else:
        table = _open_binary(peeked, kind, dialect, name, limits)
    table._limits = limits
    return table


def _open(source: str, name: str) -> IO[bytes]:
    if source == "-":
        return sys.stdin.buffer
    try:
        return open(source, "rb", buffering=_PEEK)
    except FileNotFoundError:
        raise TableError(name, "there is no such file") from None
    except OSError as error:
        raise TableError(name, f"cannot be read: {error.strerror}") from None


def _peekable(stream: IO[bytes]) -> io.BufferedReader:
    if isinstance(stream, io.BufferedReader):
        return stream
    return io.BufferedReader(stream, _PEEK)  # type: ignore[arg-type]


def _open_binary(
    stream: IO[bytes], kind: str, dialect: Dialect, name: str, limits: SizeLimits | None
) -> TableReader:
    # Both formats have their table of contents at the end, so that a pipe must be read whole.
    if not stream.seekable() or isinstance(stream, io.BytesIO):
        stream = io.BytesIO(stream.read())
    batches: Iterator[pa.RecordBatch]
    try:
        if kind == "parquet":
            file = pa.parquet.ParquetFile(stream)
            schema = file.schema_arrow
            if limits is not None:
                file = open_parquet(stream, limits, name)
            batches = file.iter_batches(batch_size=BLOCK_ROWS)
        elif stream.read(6) != b"ARROW1":
            # The first version of Feather does not compress.
            stream.seek(0)
            table = pa.feather.read_table(stream)
            schema, batches = table.schema, iter(table.to_batches(BLOCK_ROWS))
        elif limits is not None:
            reader = open_feather(stream, limits, name)
            schema, batches = reader.schema, iter(reader)
        else:
            reader = pa.ipc.open_file(stream)
            schema = reader.schema
            batches = (reader.get_batch(i) for i in range(reader.num_record_batches))
        names = _distinct(schema.names, name)
    except TableError:
        raise
    except (pa.ArrowException, OSError, ValueError) as error:
        raise TableError(name, f"this is no sound {kind} file: {_one_line(str(error))}") from None
    if limits is not None:
        batches = unpacked(batches, schema, limits, name)
    return TableReader(name, names, batches, dialect, _text=False)


def _open_csv(
    stream: io.BufferedReader, start: bytes, dialect: Dialect, name: str, limits: SizeLimits | None
) -> TableReader:
    _refuse_binary(start, dialect, name)
    delimiter = dialect.delimiter or ("\t" if name.endswith(".tsv") else ",")
    names = _header(start, delimiter, dialect, name)
    if limits is not None:
        limits.check_shape(0, len(names), name)
    try:
        reader = pa.csv.open_csv(
            stream,
            # One thread: only then is the number of a bad row known.
            pa.csv.ReadOptions(
                use_threads=False, block_size=BLOCK_BYTES, encoding=dialect.encoding
            ),
            pa.csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
            pa.csv.ConvertOptions(
                # Bytes, not text: a cell that is not UTF-8 is found later, when its row is known.
                column_types=dict.fromkeys(names, pa.binary()),
                null_values=list(dialect.missing),
                strings_can_be_null=True,
            ),
        )
    except pa.ArrowInvalid as error:
        if "Empty CSV" in str(error) or "no columns" in str(error):
            raise TableError(name, "there is a header but no row") from None
        raise _csv_error(name, str(error)) from None
    except (UnicodeError, LookupError) as error:
        raise TableError(name, f"is not written in {dialect.encoding}: {error}") from None
    return TableReader(
        name, _distinct(reader.schema.names, name), iter(reader), dialect, _text=True
    )


def _refuse_binary(start: bytes, dialect: Dialect, name: str) -> None:
    if start.startswith((b"\xff\xfe", b"\xfe\xff")) and "16" not in dialect.encoding:
        raise TableError(name, "this is text in UTF-16; say so with --encoding utf-16")
    if start.startswith(b"PK\x03\x04"):
        raise TableError(name, "this is a zip or Excel file; save the sheet as CSV")
    if b"\x00" in start and "16" not in dialect.encoding and "32" not in dialect.encoding:
        raise TableError(name, "this is a binary file, and neither CSV, Parquet nor Feather")


def _header(start: bytes, delimiter: str, dialect: Dialect, name: str) -> list[str]:
    """Read the names in the first line, and look whether the delimiter is right."""
    encoding = "utf-8-sig" if dialect.encoding.lower() in ("utf-8", "utf8") else dialect.encoding
    try:
        head = start.lstrip(b"\r\n")
        # The bytes may end in the middle of a character, unless their first line is complete.
        head.partition(b"\n")[0].decode(encoding, "ignore" if b"\n" not in head else "strict")
        text = head.decode(encoding, errors="ignore")
        line = next(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter), [])
    except UnicodeError:
        raise TableError(name, _not_encoded(dialect.encoding)) from None
    except (csv.Error, LookupError) as error:
        raise TableError(name, f"the header cannot be read: {error}") from None
    if len(line) == 1 and dialect.delimiter is None:
        for other in _DELIMITERS:
            if other != delimiter and other in line[0]:
                raise TableError(
                    name,
                    f"there is one column named {shown(line[0])}: cells seem to be separated by "
                    f"{other!r}; say so with --delimiter {_in_shell(other)}",
                )
    return line


def _in_shell(delimiter: str) -> str:
    return "$'\\t'" if delimiter == "\t" else f"'{delimiter}'"


def _not_encoded(encoding: str) -> str:
    return f"the text is not {encoding}; say what it is, such as --encoding latin-1"


def _as_text(block: Block, name: str, cells: pa.Array) -> pa.Array:
    try:
        return cells.cast(pa.string())
    except pa.ArrowInvalid:
        for at, cell in enumerate(cells.to_pylist()):
            try:
                if cell is not None:
                    cell.decode("utf-8")
            except UnicodeDecodeError:
                raise block.error(_not_encoded(block.dialect.encoding), name, at) from None
        raise


def _distinct(names: list[str], file: str) -> list[str]:
    seen = set()
    for name in names:
        if name in seen:
            raise TableError(file, f"two columns have the name {name!r}")
        seen.add(name)
    return names


def _csv_error(file: str, message: str) -> TableError:
    """Turn a message of the CSV reader into one that helps."""
    if "straddling" in message:
        size = BLOCK_BYTES >> 20
        return TableError(file, f"a line has more than {size} MiB; is a quote not closed?")
    found = re.search(r"Row #(\d+): Expected (\d+) columns, got (\d+)", message)
    if found is None:
        return TableError(file, f"cannot be read as CSV: {_one_line(message)}")
    row, expected, got = map(int, found.groups())
    problem = f"{got} cells in place of {expected}; is a cell with the delimiter not quoted?"
    # The reader counts the header too.
    return TableError(file, problem, row=row - 1)


def _one_line(text: str) -> str:
    return " ".join(text.split())[:200]
