"""The tables of docs/model_files.md and those of the code are the same; arrays are laid out so."""

import re
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

from cqrf.growing.options import GrowOptions
from cqrf.storage.header import OPTIONAL_SECTIONS, SECTIONS
from cqrf.storage.schema import SCHEMA, ArrayType, arrange, parts_of, table_of

PAGE = (Path(__file__).parents[2] / "docs" / "model_files.md").read_text("utf-8")


def rows(first):
    """The cells of the table that begins with a cell, without the line below its head."""
    (table,) = re.findall(rf"^\| {first} .*\n\|-.*\n((?:\|.*\n)+)", PAGE, re.M)
    for line in table.replace(r"\|", "&").splitlines():
        yield [cell.strip().replace("&", "|") for cell in line.strip("|").split("|")]


def test_arrays_are_those_of_the_page():
    listed = {
        name.strip("`"): ArrayType(
            dtype.strip("`"), axes.replace(", ", " "), part.strip("`") or None
        )
        for name, dtype, axes, part, _ in rows("name")
    }
    assert list(listed.items()) == list(SCHEMA.items())


def test_sections_are_those_of_the_page():
    keys = [key for key, _ in rows("key")]
    assert [key.strip("*`") for key in keys] == [*SECTIONS, "arrays"]
    assert tuple(key.strip("*`") for key in keys if key.startswith("*")) == OPTIONAL_SECTIONS


def test_options_are_those_of_the_page():
    (text,) = (text for key, text in rows("key") if key == "`options`")
    assert re.findall("`(.*?)`", text) == [field.name for field in fields(GrowOptions)]


def test_parts():
    assert parts_of(["nodes", "times"]) == {None}
    assert parts_of(["path_size", "weight"]) == {"path", "weight"}


def test_arrays_are_arranged_and_described():
    given = {
        "bins": np.asfortranarray(np.arange(6, dtype=np.uint8).reshape(3, 2)),
        "times": np.array([1.0, 2.0], dtype=">f8"),
    }
    arranged = arrange(given)
    assert list(arranged) == ["times", "bins"]
    for name, array in arranged.items():
        assert array.flags.c_contiguous
        assert array.dtype.str == SCHEMA[name].dtype
        np.testing.assert_array_equal(array, given[name])
    keys = ("name", "dtype", "shape", "offset", "length")
    assert table_of({name: array.shape for name, array in arranged.items()}) == [
        dict(zip(keys, ("times", "<f8", [2], 0, 16), strict=True)),
        dict(zip(keys, ("bins", "|u1", [3, 2], 64, 6), strict=True)),
    ]


@pytest.mark.parametrize("name", SCHEMA)
def test_no_array_is_stored_in_the_order_of_another_machine(name):
    assert SCHEMA[name].dtype[0] in "<|"
