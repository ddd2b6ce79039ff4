"""Tables of which no more than some is taken in: within the limits nothing changes."""

import contextlib
import datetime
import io

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.ipc
import pyarrow.parquet
import pytest

from cqrf.app.tables import SizeLimits, TableError, TableTooLarge, open_input

LIMITS = SizeLimits(n_bytes=1 << 20, n_rows=10_000, n_columns=20, n_cells=50_000)

TABLE = pa.table(
    {
        "number": [1.5, None, -2.0, 1.5],
        "whole": pa.array([1, 2, None, 1], pa.int8()),
        "flag": [True, None, False, True],
        "text": ["a", None, "", "é"],
        "large": pa.array(["a", "bc", None, "a"], pa.large_string()),
        "category": pa.array(["u", None, "v", "u"]).dictionary_encode(),
        "bytes": pa.array([b"\xff", None, b"", b"\xff"]),
        "day": [datetime.date(2024, 12, 31), None] * 2,
        "nothing": pa.nulls(4),
    }
)


def written(table, write, **options):
    write(table, out := io.BytesIO(), **options)
    return out.getvalue()


def read(content, limits=LIMITS):
    block = open_input(io.BytesIO(content), name="new", limits=limits).read()
    return {name: (cells.type, cells.to_pylist()) for name, cells in block.columns.items()}


@pytest.mark.parametrize(
    "content",
    [
        written(TABLE, pa.parquet.write_table),
        written(TABLE, pa.parquet.write_table, use_dictionary=False, compression="none"),
        written(TABLE, pa.parquet.write_table, store_schema=False, row_group_size=3),
        *(
            written(TABLE, pa.feather.write_feather, compression=compression, chunksize=3)
            for compression in ("lz4", "zstd", "uncompressed")
        ),
    ],
    ids=["parquet", "plain parquet", "parquet of groups", "lz4", "zstd", "uncompressed"],
)
def test_within_limits_nothing_changes(content):
    assert read(content) == read(content, None)


@pytest.mark.parametrize("write", [pa.parquet.write_table, pa.feather.write_feather])
@pytest.mark.parametrize(
    ("table", "words"),
    [
        ({"x": np.zeros(10_001)}, "more than 10,000 rows"),
        ({f"x{j}": [0] for j in range(21)}, "more than 20 columns"),
        ({f"x{j}": np.zeros(5_001, np.int8) for j in range(10)}, "more than 50,000 cells"),
        ({"x": pa.array([b"a" * 500] * 3_000, pa.binary(500))}, "1 MB when decompressed"),
        ({"x": ["a" * 500] * 3_000}, "1 MB when decompressed"),
    ],
    ids=["rows", "columns", "cells", "bytes of one length", "text"],
)
def test_too_large(write, table, words):
    with pytest.raises(TableTooLarge, match=words):
        read(written(pa.table(table), write))


def test_text_is_counted_over_all_batches():
    # Half a megabyte each time that the dictionary is used.
    table = pa.table({"x": pa.array(["a" * 500] * 1_000).dictionary_encode()})
    read(written(table, pa.feather.write_feather))
    with pytest.raises(TableTooLarge):
        read(written(pa.concat_tables([table] * 3), pa.feather.write_feather))


@pytest.mark.parametrize("write", [pa.parquet.write_table, pa.feather.write_feather])
def test_lists_are_refused(write):
    with pytest.raises(TableError, match="column 'x': has the type list"):
        read(written(pa.table({"x": [[1.0], [2.0]]}), write))


def test_offsets_that_go_back_are_refused():
    # Every second cell would be the same hundred thousand bytes.
    offsets = pa.py_buffer(np.array([0, 100_000] * 1_000, np.int32))
    text = pa.Array.from_buffers(pa.string(), 1_999, [None, offsets, pa.py_buffer(b"a" * 100_000)])
    with pytest.raises(TableError, match="cannot be read"):
        read(written(pa.table({"x": text}), pa.feather.write_feather))


def test_damaged_feather_is_refused_or_read():
    content = written(TABLE, pa.feather.write_feather)
    for at in range(8, len(content), 3):
        damaged = bytearray(content)
        damaged[at] ^= 0xFF
        with contextlib.suppress(TableError):
            open_input(io.BytesIO(damaged), limits=LIMITS).read()
