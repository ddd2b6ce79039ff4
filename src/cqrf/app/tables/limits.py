"""How much of a table is taken in: a small file may hold a large one, compressed.

Text is the worst: Parquet and Feather may store a cell once that is the same in all rows. It is
read as it is stored, and unpacked only after what comes of it has been counted.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import IO, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.ipc
import pyarrow.parquet

from cqrf.app.tables.errors import TableError, TableTooLarge

# Each cell is stored as what it has beyond the one before: nothing tells how long it is.
_UNCOUNTABLE = "DELTA_BYTE_ARRAY"


@dataclass(frozen=True)
class SizeLimits:
    """How much of a table is taken in.

    Attributes
    ----------
    n_bytes : int
        Bytes of the table, decompressed.
    n_rows, n_columns, n_cells : int
        Rows, columns, and rows times columns.
    """

    n_bytes: int
    n_rows: int
    n_columns: int
    n_cells: int

    def check_bytes(self, n_bytes: int, file: str) -> None:
        """Refuse a table of more bytes."""
        if n_bytes > self.n_bytes:
            size = f"{self.n_bytes / 2**20:g} MB"
            raise TableTooLarge(file, f"holds more than {size} when decompressed")

    def check_shape(self, n_rows: int, n_columns: int, file: str) -> None:
        """Refuse a table of more rows, columns or cells."""
        for count, most, what in (
            (n_rows, self.n_rows, "rows"),
            (n_columns, self.n_columns, "columns"),
            (n_rows * n_columns, self.n_cells, "cells"),
        ):
            if count > most:
                raise TableTooLarge(file, f"has more than {most:,} {what}")

    def check_schema(self, schema: pa.Schema, n_rows: int, file: str) -> None:
        """Refuse a table of which too much is known before any row is read."""
        self.check_shape(n_rows, len(schema), file)
        self.check_bytes(sum(_width(field, file) for field in schema) * n_rows // 8, file)


class CountedStream(io.RawIOBase):
    """A stream that ends with an error when it gives more than is allowed."""

    def __init__(self, stream: IO[bytes], limits: SizeLimits, file: str) -> None:
        self._stream, self._limits, self._file, self._given = stream, limits, file, 0

    def readable(self) -> bool:
        """Say that it can be read."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read what comes next."""
        piece = self._stream.read(len(buffer))
        buffer[: len(piece)] = piece
        self._given += len(piece)
        self._limits.check_bytes(self._given, self._file)
        return len(piece)


def open_parquet(stream: IO[bytes], limits: SizeLimits, file: str) -> pa.parquet.ParquetFile:
    """Open a file whose table of contents does not tell of too much; it is taken at its word.

    Text comes with every different cell once, as it is stored.
    """
    opened = pa.parquet.ParquetFile(stream)
    contents, schema = opened.metadata, opened.schema_arrow
    limits.check_schema(schema, contents.num_rows, file)
    groups = [contents.row_group(g) for g in range(contents.num_row_groups)]
    limits.check_bytes(sum(group.total_byte_size for group in groups), file)
    for at, name in enumerate(schema.names):
        if any(_UNCOUNTABLE in group.column(at).encodings for group in groups):
            raise TableTooLarge(file, f"may be large: {name!r} has the encoding {_UNCOUNTABLE}")
    texts = [field.name for field in schema if _is_text(field.type)]
    return pa.parquet.ParquetFile(stream, metadata=contents, read_dictionary=texts)


def open_feather(
    stream: IO[bytes], limits: SizeLimits, file: str
) -> pa.ipc.RecordBatchStreamReader:
    """Open a file whose messages do not hold too much when they are decompressed.

    They are read one after the other, as they have been counted, and not as its table of contents
    says.
    """
    # After the file's name for itself. Of what is in memory, messages are views: the length that
    # one claims is not allocated.
    stream.seek(8)
    content = pa.py_buffer(stream.read())
    n_rows = n_bytes = 0
    for message in pa.ipc.MessageReader.open_stream(content):
        if message.type in ("record batch", "dictionary"):
            rows, size = _rows_and_bytes(message)
            n_rows += rows
            n_bytes += size
            limits.check_shape(n_rows, 0, file)
            limits.check_bytes(n_bytes, file)
    reader = pa.ipc.open_stream(content)
    limits.check_schema(reader.schema, n_rows, file)
    return reader


def unpacked(
    batches: Iterable[pa.RecordBatch], schema: pa.Schema, limits: SizeLimits, file: str
) -> Iterator[pa.RecordBatch]:
    """Turn batches as they are stored into those of a schema, as long as they do not hold too much.

    Parameters
    ----------
    batches : iterable of RecordBatch
        Text may have every different cell once.
    schema : Schema
        What they are to be.
    limits : SizeLimits
        For all of them together.
    file : str
        Name for messages.

    Yields
    ------
    RecordBatch
    """
    n_bytes = 0
    for batch in batches:
        batch.validate(full=True)
        n_bytes += sum(map(_unpacked_bytes, batch.columns))
        limits.check_bytes(n_bytes, file)
        columns = [
            cells.dictionary_decode().cast(dtype)
            if pa.types.is_dictionary(cells.type) and not pa.types.is_dictionary(dtype)
            else cells
            for cells, dtype in zip(batch.columns, schema.types, strict=True)
        ]
        yield pa.RecordBatch.from_arrays(columns, names=schema.names)


def _unpacked_bytes(cells: pa.Array) -> int:
    if not (pa.types.is_dictionary(cells.type) and _is_text(cells.type.value_type)):
        return int(cells.nbytes)
    lengths = pc.binary_length(cells.dictionary).take(cells.indices)
    return pc.sum(lengths).as_py() or 0


def _is_text(dtype: pa.DataType) -> bool:
    types = pa.types
    kinds = (types.is_string, types.is_large_string, types.is_binary, types.is_large_binary)
    return any(is_kind(dtype) for is_kind in kinds)


def _width(field: pa.Field, file: str) -> int:
    """Bits of a cell, without those of text; lists and the like have no limit, and are refused."""
    dtype = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
    if _is_text(dtype) or pa.types.is_null(dtype):
        return 0
    try:
        return int(dtype.bit_width)
    except ValueError:
        problem = f"has the type {dtype}, which is neither a number nor text"
        raise TableError(file, problem, column=field.name) from None


def _rows_and_bytes(message: pa.ipc.Message) -> tuple[int, int]:
    """Read how many rows a batch has, and how many bytes when it is decompressed.

    What a message holds is told in Arrow's ``Message.fbs``. Before every buffer that is compressed
    stands its size without, or -1 if it is not compressed after all; what is decompressed has this
    size, or is refused by pyarrow.
    """
    data, body = message.metadata.to_pybytes(), memoryview(message.body)
    batch = _Table(data, 0).table(2)
    n_rows = 0
    if message.type == "dictionary":
        batch = batch.table(1)
    elif (at := batch.find(0)) is not None:
        n_rows = _integer(data, at, 8)
    at = batch.find(2)
    if at is None:
        return n_rows, 0
    at += _integer(data, at, 4)
    buffers = np.frombuffer(data, "<i8", 2 * _integer(data, at, 4), at + 4).reshape(-1, 2)
    compressed = batch.find(3) is not None or b"ARROW:experimental_compression" in data
    n_bytes = 0
    for begin, length in buffers.tolist():
        size = _integer(body, begin, 8) if compressed and length else -1
        n_bytes += length if size < 0 else size
    return n_rows, n_bytes


class _Table:
    """A table of a flatbuffer; pyarrow has verified that it is one.

    Parameters
    ----------
    data : bytes
        The whole buffer.
    at : int
        Where the table is referred to.
    """

    def __init__(self, data: bytes, at: int) -> None:
        self._data = data
        self._at = at + _integer(data, at, 4)

    def find(self, number: int) -> int | None:
        """Return where a field is, or None if it has its default."""
        index = self._at - _integer(self._data, self._at, 4)
        entry = 4 + 2 * number
        if entry >= _integer(self._data, index, 2):
            return None
        offset = _integer(self._data, index + entry, 2)
        return self._at + offset if offset else None

    def table(self, number: int) -> _Table:
        """Follow a field that refers to a table."""
        at = self.find(number)
        if at is None:
            raise ValueError("a message is empty")
        return _Table(self._data, at)


def _integer(data: bytes | memoryview, at: int, size: int) -> int:
    return int.from_bytes(data[at : at + size], "little", signed=True)
