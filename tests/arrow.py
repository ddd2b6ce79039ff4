"""PyArrow's tables under the names that pandas and polars give their frames, for shared tests."""

import pyarrow as pa


def DataFrame(data=None):
    return pa.table({} if data is None else data)


def Series(values):
    return pa.chunked_array([values])
