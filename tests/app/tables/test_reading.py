"""Tables from files and streams: formats, blocks, and what is refused."""

import gzip
import io

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cqrf.app.tables import Dialect, TableError, open_input, open_output
from cqrf.app.tables import reading as reading_module
from cqrf.app.tables.columns import numbers, texts
from cqrf.app.tables.writing import text_writer


def read(content, **dialect):
    return open_input(io.BytesIO(content), Dialect(**dialect), name="data.csv").read()


def lists(block):
    return {name: cells.to_pylist() for name, cells in block.columns.items()}


TABLE = {"a": ["1", "2", None], "b": ["x", "y, z", None]}
CSV = b'a,b\n1,x\n2,"y, z"\nNA,\n'


class TestFormats:
    @pytest.mark.parametrize(
        "content",
        [
            CSV,
            b"\xef\xbb\xbf" + CSV,
            CSV.replace(b"\n", b"\r\n"),
            b"\n\n" + CSV,
            gzip.compress(CSV),
        ],
        ids=["plain", "bom", "crlf", "blank lines first", "gzip"],
    )
    def test_csv(self, content):
        assert lists(read(content)) == TABLE

    def test_other_dialect(self):
        content = "é;b\n1,5;x\n-;y\n".encode("latin-1")
        block = read(content, delimiter=";", decimal=",", encoding="latin-1", missing=("", "-"))
        assert list(block.columns) == ["é", "b"]
        np.testing.assert_array_equal(numbers(block, "é"), [1.5, np.nan])

    def test_utf_16(self):
        assert lists(read("a,b\n1,é\n".encode("utf-16"), encoding="utf-16")) == {
            "a": ["1"],
            "b": ["é"],
        }

    @pytest.mark.parametrize("write", [pa.parquet.write_table, pa.feather.write_feather])
    @pytest.mark.parametrize("pipe", [False, True])
    def test_binary(self, write, pipe, tmp_path):
        table = pa.table({"a": [1.5, None], "b": ["x", "y"]})
        write(table, tmp_path / "t")
        source = tmp_path / "t"
        if pipe:
            source = io.BufferedReader(NotSeekable((tmp_path / "t").read_bytes()))
        assert lists(open_input(source).read()) == {"a": [1.5, None], "b": ["x", "y"]}


class NotSeekable(io.RawIOBase):
    def __init__(self, content):
        self.content, self.at = content, 0

    def readable(self):
        return True

    def readinto(self, buffer):
        piece = self.content[self.at : self.at + len(buffer)]
        buffer[: len(piece)] = piece
        self.at += len(piece)
        return len(piece)


class TestRefused:
    @pytest.mark.parametrize(
        ("content", "words"),
        [
            (b"", "the file is empty"),
            (b"a,b\n", "header but no row"),
            (b"a,b", "header but no row"),
            (b"a;b\n1;2\n", "--delimiter ';'"),
            (b"a\tb\n1\t2\n", "--delimiter $'\\t'"),
            (b"a,a\n1,2\n", "two columns have the name 'a'"),
            (b"a,b\n1,2\n1,2,3\n", "row 2: 3 cells in place of 2"),
            (b"PK\x03\x04rest", "Excel"),
            (bytes(range(256)), "binary"),
            ("a,b\n1,2\n".encode("utf-16"), "--encoding utf-16"),
            ("a,b\n1,x\n2,é\n".encode("latin-1"), "column 'b', row 2: the text is not utf-8"),
            ("é,b\n1,x\n".encode("latin-1"), "--encoding latin-1"),
            (b"PAR1 and then nothing", "no sound parquet file"),
            (b"\x1f\x8b broken", "cannot be decompressed"),
        ],
    )
    def test_message(self, content, words):
        with pytest.raises(TableError) as caught:
            read(content)
        assert str(caught.value).startswith("data.csv: ")
        assert words in str(caught.value)
        assert "\n" not in str(caught.value)

    def test_a_long_line(self, monkeypatch):
        monkeypatch.setattr(reading_module, "BLOCK_BYTES", 1 << 20)
        with pytest.raises(TableError, match="a line has more than 1 MiB"):
            read(b'a,b\n1,"' + b"x" * 3_000_000 + b'"\n2,y\n')

    def test_a_missing_file(self, tmp_path):
        with pytest.raises(TableError, match=r"nothing\.csv: there is no such file"):
            open_input(tmp_path / "nothing.csv")
        with pytest.raises(TableError, match="cannot be read"):
            open_input(tmp_path)


class TestBlocks:
    def content(self, n):
        return b"a,b\n" + b"".join(b"%d,word %d\n" % (i, i) for i in range(n))

    def test_blocks_make_up_the_table(self, monkeypatch):
        whole = lists(read(self.content(5000)))
        monkeypatch.setattr(reading_module, "BLOCK_BYTES", 4096)
        blocks = list(open_input(io.BytesIO(self.content(5000))).blocks())
        assert len(blocks) > 10
        assert [block.first_row for block in blocks] == list(
            1 + np.cumsum([0, *(block.n_rows for block in blocks[:-1])])
        )
        joined = {
            name: [cell for block in blocks for cell in block.columns[name].to_pylist()]
            for name in whole
        }
        assert joined == whole

    def test_no_more_is_read_than_asked_for(self, monkeypatch):
        monkeypatch.setattr(reading_module, "BLOCK_BYTES", 1 << 16)
        stream = NotSeekable(self.content(1_000_000))
        blocks = open_input(io.BufferedReader(stream)).blocks()
        next(blocks)
        # The reader works some thirty blocks ahead.
        assert stream.at <= 64 << 16 < 0.25 * len(stream.content)

    def test_rows_of_later_blocks_are_named(self, monkeypatch):
        monkeypatch.setattr(reading_module, "BLOCK_BYTES", 4096)
        content = self.content(2000) + b"bad,word\n" + self.content(3)[4:]
        table = open_input(io.BytesIO(content), name="data.csv")
        with pytest.raises(TableError, match=r"column 'a', row 2001: 'bad' is not a number"):
            [numbers(block, "a") for block in table.blocks()]


TEXT = st.text(st.characters(blacklist_categories=("Cs", "Cc")) | st.sampled_from('",;\n|'))


class TestRoundTrip:
    @settings(max_examples=60, deadline=None)
    @given(
        st.lists(
            st.tuples(
                TEXT.filter(lambda t: t not in reading_module.MISSING),
                st.floats(allow_nan=False, allow_infinity=False),
            ),
            min_size=1,
            max_size=20,
        )
    )
    def test_csv_keeps_every_text_and_number(self, rows):
        file = io.BytesIO()
        with text_writer(file, ",") as write:
            write({"text": [t for t, _ in rows], "number": [x for _, x in rows]})
        block = open_input(io.BytesIO(file.getvalue()), Dialect(delimiter=",")).read()
        assert texts(block, "text").tolist() == [t for t, _ in rows]
        np.testing.assert_array_equal(numbers(block, "number"), [x for _, x in rows])

    @pytest.mark.parametrize("kind", ["csv", "parquet", "feather"])
    def test_all_formats(self, kind, tmp_path):
        path = str(tmp_path / f"t.{kind}")
        with open_output(path, kind) as write:
            write({"a": np.array([1.0, 0.1]), "b": np.array([True, False])})
            write({"a": np.array([1e-300]), "b": np.array([True])})
        block = open_input(path).read()
        np.testing.assert_array_equal(numbers(block, "a"), [1.0, 0.1, 1e-300])
        np.testing.assert_array_equal(numbers(block, "b"), [1.0, 0.0, 1.0])


class TestOutput:
    @pytest.mark.parametrize("kind", ["csv", "parquet", "feather", "jsonl"])
    def test_a_failure_leaves_the_old_file(self, kind, tmp_path):
        path = tmp_path / f"t.{kind}"
        path.write_text("old")

        def fail():
            with open_output(str(path), kind) as write:
                write({"a": [1.0]})
                raise RuntimeError

        with pytest.raises(RuntimeError):
            fail()
        assert path.read_text() == "old"
        assert list(tmp_path.iterdir()) == [path]

    def test_a_folder_that_is_not_there(self, tmp_path):
        with (
            pytest.raises(TableError, match="cannot be written"),
            open_output(str(tmp_path / "no" / "t.csv"), "csv"),
        ):
            pass

    def test_json_has_no_nan(self, tmp_path):
        path = tmp_path / "t.jsonl"
        with open_output(str(path), "jsonl") as write:
            write({"a": np.array([np.nan, np.inf, 1.5])})
        assert path.read_text() == '{"a": null}\n{"a": null}\n{"a": 1.5}\n'
