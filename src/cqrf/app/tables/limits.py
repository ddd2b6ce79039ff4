"""How much of a table is taken in: a small file may hold a large one, compressed."""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import IO, Any

import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet

from cqrf.app.tables.errors import TableTooLarge


@dataclass(frozen=True)
class Limits:
    """How much of a table is taken in: a small file may hold a large table, compressed.

    Attributes
    ----------
    n_bytes : int
        Bytes of the table, decompressed.
    n_rows, n_columns : int
        Rows and columns.
    """

    n_bytes: int
    n_rows: int
    n_columns: int

    def check_bytes(self, n_bytes: int, file: str) -> None:
        """Refuse a table of more bytes."""
        if n_bytes > self.n_bytes:
            size = f"{self.n_bytes / 2**20:g} MB"
            raise TableTooLarge(file, f"holds more than {size} when decompressed")

    def check_rows(self, n_rows: int, file: str) -> None:
        """Refuse a table of more rows."""
        if n_rows > self.n_rows:
            raise TableTooLarge(file, f"has more than {self.n_rows:,} rows")

    def check_columns(self, n_columns: int, file: str) -> None:
        """Refuse a table of more columns."""
        if n_columns > self.n_columns:
            raise TableTooLarge(file, f"has more than {self.n_columns:,} columns")


class CountedStream(io.RawIOBase):
    """A stream that ends with an error when it gives more than is allowed."""

    def __init__(self, stream: IO[bytes], limits: Limits, file: str) -> None:
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


def check_parquet(file: pa.parquet.ParquetFile, limits: Limits, name: str) -> None:
    """Refuse a file that tells of too much in its table of contents."""
    contents = file.metadata
    limits.check_rows(contents.num_rows, name)
    limits.check_columns(contents.num_columns, name)
    groups = range(contents.num_row_groups)
    limits.check_bytes(sum(contents.row_group(g).total_byte_size for g in groups), name)


def check_feather(stream: IO[bytes], limits: Limits, name: str) -> None:
    """Refuse a file of too many rows, or whose numbers take too much; text cannot be foreseen."""
    from pyarrow.dataset import IpcFileFormat

    rows = IpcFileFormat().make_fragment(pa.PythonFile(stream, "r")).count_rows()
    limits.check_rows(rows, name)
    stream.seek(0)
    types = pa.ipc.open_file(stream).schema.types
    limits.check_columns(len(types), name)
    width = sum(dtype.bit_width for dtype in types if pa.types.is_primitive(dtype))
    limits.check_bytes(rows * width // 8, name)
    stream.seek(0)
