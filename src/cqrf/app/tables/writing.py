"""Write a table block by block; a file appears whole or not at all."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import os
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.ipc
import pyarrow.parquet

from cqrf.app.tables.errors import TableError
from cqrf.storage.container import replacing

FORMATS = ("csv", "parquet", "feather", "jsonl")
_SUFFIXES = {".csv": "csv", ".tsv": "csv", ".parquet": "parquet", ".pq": "parquet"}
_SUFFIXES |= {".feather": "feather", ".arrow": "feather", ".jsonl": "jsonl", ".ndjson": "jsonl"}

Write = Callable[[dict[str, Any]], None]


def format_of(path: str, fallback: str = "csv") -> str:
    """Tell the format of an output from the end of its name."""
    return _SUFFIXES.get(Path(path).suffix.lower(), fallback)


@contextlib.contextmanager
def open_file(path: str) -> Iterator[IO[bytes]]:
    """Open a file for bytes: ``"-"`` is standard output, all else appears when it is complete."""
    if path == "-":
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    target = Path(os.path.realpath(path))
    try:
        if target.exists() and not target.is_file():
            # A device or a named pipe: there is nothing to replace.
            with open(target, "wb") as file:
                yield file
            return
        with replacing(target) as descriptor, os.fdopen(descriptor, "wb", closefd=False) as file:
            yield file
            file.flush()
    except OSError as error:
        if error.filename is None and error.errno is None:
            raise
        raise TableError(path, f"cannot be written: {error.strerror}") from None


@contextlib.contextmanager
def open_output(path: str, kind: str) -> Iterator[Write]:
    """Open a table for writing.

    Parameters
    ----------
    path : str
        A file, or ``"-"`` for standard output.
    kind : {"csv", "parquet", "feather", "jsonl"}
        Its format.

    Yields
    ------
    callable
        Takes a block: a dict of names and arrays of one length, the same names every time.
    """
    with open_file(path) as file:
        if kind == "csv":
            delimiter = "\t" if path.lower().endswith(".tsv") else ","
            with text_writer(file, delimiter) as write:
                yield write
        elif kind == "jsonl":
            yield lambda block: _write_json(file, block)
        else:
            # Both formats need positions in the file, which a pipe does not have.
            sink = io.BytesIO() if path == "-" else file
            with _binary_writer(sink, kind) as write:
                yield write
            if path == "-":
                file.write(sink.getvalue())  # type: ignore[attr-defined]


@contextlib.contextmanager
def text_writer(file: IO[bytes], delimiter: str) -> Iterator[Write]:
    """Write blocks as CSV, with one header."""
    started = False

    def write(block: dict[str, Any]) -> None:
        nonlocal started
        batch = pa.RecordBatch.from_pydict(block)
        if not started:
            line = io.StringIO()
            csv.writer(line, delimiter=delimiter, lineterminator="\n").writerow(batch.schema.names)
            file.write(line.getvalue().encode())
            started = True
        options = pa.csv.WriteOptions(
            include_header=False,
            delimiter=delimiter,
            quoting_style="needed" if _needs_quotes(batch, delimiter) else "none",
        )
        text = io.BytesIO()
        pa.csv.write_csv(batch, text, options)
        file.write(text.getbuffer())

    yield write


def _needs_quotes(batch: pa.RecordBatch, delimiter: str) -> bool:
    """Whether text holds a delimiter, a quote or a line end; "needed" would quote all text."""
    pattern = f'[{re.escape(delimiter)}"\r\n]'
    texts = [column for column in batch.columns if pa.types.is_string(column.type)]
    return any(pc.any(pc.match_substring_regex(column, pattern)).as_py() for column in texts)


def spreadsheet_safe(block: dict[str, Any]) -> dict[str, Any]:
    """Put an apostrophe before names and cells of text that a spreadsheet would run.

    A cell that begins with ``=``, ``+``, ``-``, ``@`` or white space other than a blank is taken
    for a formula; one that is a number, such as -3.5, is not.

    Parameters
    ----------
    block : dict of str to arrays
        Columns of a table.

    Returns
    -------
    dict of str to arrays
    """
    return {_safe_text(pa.array([name]))[0].as_py(): _safe(cells) for name, cells in block.items()}


def _safe(cells: Any) -> Any:
    if not isinstance(cells, pa.Array):
        return cells
    dtype = cells.type.value_type if pa.types.is_dictionary(cells.type) else cells.type
    if pa.types.is_string(dtype) or pa.types.is_large_string(dtype):
        return _safe_text(cells.cast(pa.string()))
    return cells


def _safe_text(cells: pa.Array) -> pa.Array:
    runs = pc.match_substring_regex(cells, r"^[=+\-@\t\r\n]")
    # In most columns there are none, and wide tables have many columns.
    if not pc.any(runs).as_py():
        return cells
    number = r"^[+-]?(\d[\d.,]*|[.,]\d+)([eE][+-]?\d+)?$"
    runs = pc.and_not(runs, pc.match_substring_regex(cells, number))
    return pc.if_else(runs, pc.binary_join_element_wise("'", cells, ""), cells)


@contextlib.contextmanager
def _binary_writer(sink: IO[bytes], kind: str) -> Iterator[Write]:
    writer: Any = None

    def write(block: dict[str, Any]) -> None:
        nonlocal writer
        batch = pa.RecordBatch.from_pydict(block)
        if writer is None:
            new = pa.parquet.ParquetWriter if kind == "parquet" else pa.ipc.new_file
            writer = new(sink, batch.schema)
        writer.write_batch(batch)

    try:
        yield write
    finally:
        if writer is not None:
            writer.close()


def _write_json(file: IO[bytes], block: dict[str, Any]) -> None:
    rows = pa.RecordBatch.from_pydict(block).to_pylist()
    for row in rows:
        # JSON has no NaN and no infinity.
        plain = {
            name: None if isinstance(value, float) and value - value != 0.0 else value
            for name, value in row.items()
        }
        file.write(json.dumps(plain, ensure_ascii=False).encode() + b"\n")
