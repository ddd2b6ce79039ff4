"""The server of `cqrf explore`: who is answered, what is refused, and with what words."""

import gzip
import http.client
import io
import json
import re
import socket
import struct
import threading
import time

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest

from cqrf import CensoredQuantileForest
from cqrf.app.explore.controls import make_controls, read_row
from cqrf.app.explore.explorer import Explorer
from cqrf.app.explore.server import ADDRESS, ExploreServer
from cqrf.app.tables import Dialect
from cqrf.datasets import load_congress, load_stormwater_cadmium


@pytest.fixture(scope="module")
def forest():
    data = load_congress()
    X = data.X.copy()
    X.loc[::50, "age_at_entry"] = np.nan
    return CensoredQuantileForest(20, random_state=0).fit(X, data.time, data.event)


@pytest.fixture(scope="module")
def server(forest):
    explorer = Explorer(forest, "a <model>", "years", max_upload=100_000)
    with ExploreServer(explorer) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield server
        server.shutdown()


def test_features_without_names_are_called_as_everywhere():
    X, y = np.random.default_rng(0).uniform(size=(30, 2)), np.arange(30.0)
    forest = CensoredQuantileForest(2, random_state=0).fit(X, y)
    assert [control.name for control in make_controls(forest)] == ["x0", "x1"]


def ask(server, path, method="GET", body=None, token=None, **headers):
    connection = http.client.HTTPConnection(ADDRESS, server.server_port, timeout=30)
    token = server.token if token is None else token
    connection.request(method, f"/{token}/{path}", body, headers)
    response = connection.getresponse()
    content = response.read()
    connection.close()
    return response, content


def start_row(forest):
    return [control.value for control in make_controls(forest)]


def post(server, path, body, **headers):
    body = body if isinstance(body, bytes | str) else json.dumps(body)
    response, content = ask(server, path, "POST", body, **headers)
    return response.status, json.loads(content)


class TestAccess:
    def test_it_listens_on_this_machine_alone(self, server):
        assert server.server_address[0] == "127.0.0.1"
        assert len(server.token) >= 32

    @pytest.mark.parametrize("token", ["", "wrong", "x" * 5000, "%2e%2e"])
    @pytest.mark.parametrize("method", ["GET", "POST"])
    def test_without_the_token_nothing_is_served(self, server, token, method):
        response, content = ask(server, "", method, token=token)
        assert response.status == 403
        assert b"token" in content
        assert server.token.encode() not in content

    def test_other_names_and_sites_are_refused(self, server):
        assert ask(server, "", Host="evil.example")[0].status == 403
        assert ask(server, "", Host=f"evil.example:{server.server_port}")[0].status == 403
        status, _ = post(server, "predict", {}, Origin="http://evil.example")
        assert status == 403
        assert ask(server, "", Host=f"localhost:{server.server_port}")[0].status == 200

    @pytest.mark.parametrize("path", ["nothing", "../", "results/x.csv", "predict"])
    def test_unknown_addresses(self, server, path):
        assert ask(server, path)[0].status == 404

    def test_headers_keep_the_page_to_itself(self, server):
        response, content = ask(server, "")
        policy = response.headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy
        assert "connect-src 'self'" in policy
        assert response.headers["Referrer-Policy"] == "no-referrer"
        assert response.headers["Cache-Control"] == "no-store"
        nonce = policy.split("'nonce-")[1].split("'")[0]
        assert f'<script nonce="{nonce}">' in content.decode()
        assert nonce not in ask(server, "")[1].decode()
        assert b"a &lt;model&gt;" in content

    def test_tokens_differ(self, server):
        with ExploreServer(server.explorer) as other:
            assert other.token != server.token


class TestPredict:
    def test_answers_are_the_forest_s(self, server, forest):
        row = start_row(forest)
        status, answer = post(server, "predict", {"values": row})
        assert status == 200
        names = list(forest.feature_names_in_)
        known = dict(forest.model_.encoder.categories)
        cells = {
            name: [known[j][int(row[j])] if j in known else row[j]] for j, name in enumerate(names)
        }
        X = pd.DataFrame(cells)
        np.testing.assert_array_equal(answer["quantiles"], forest.predict(X, [0.1, 0.5, 0.9])[0])
        np.testing.assert_array_equal(
            answer["interval"], forest.predict_interval(X, 0.9, unreached="clip")[0]
        )
        assert answer["identified"] == forest.identified(X, [0.1, 0.5, 0.9])[0].tolist()
        assert "<svg" in answer["figure"]

    def test_a_missing_value_and_a_pinned_row(self, server, forest):
        row = start_row(forest)
        status, answer = post(server, "predict", {"values": [None] * len(row), "pinned": row})
        assert status == 200
        assert "pinned" in answer["figure"]

    @pytest.mark.parametrize(
        ("body", "words"),
        [
            ("not json", "not JSON"),
            (b"\xff\xfe", "not JSON"),
            ("[" * 100_000, "not JSON"),
            ({}, "a list of 7 values"),
            ([1], "must be an object"),
            ({"values": [1]}, "a list of 7 values"),
            ({"values": ["x"] * 7}, "must be a number or nothing"),
            ({"values": [True] * 7}, "must be a number or nothing"),
            ({"values": [40, 99, 0, 0, 0, 2000, 0]}, "no category number 99"),
            ('{"values": [1e999, 0, 0, 0, 0, 2000, 0]}', "must be a number"),
            ('{"values": [NaN, 0, 0, 0, 0, 2000, 0]}', "must be a number"),
            ({"values": [10**400, 0, 0, 0, 0, 2000, 0]}, "age_at_entry must be a number of less"),
            ({"values": [-(10**400), 0, 0, 0, 0, 2000, 0]}, "age_at_entry must be a number of"),
            ('{"values": [' + "1" * 5000 + "]}", "not JSON"),
        ],
    )
    def test_bad_requests(self, server, body, words):
        status, answer = post(server, "predict", body)
        assert status == 400
        assert words in answer["error"]


class TestWords:
    def test_bounds_and_limits(self):
        data = load_stormwater_cadmium()
        forest = CensoredQuantileForest(20, censoring="left", random_state=0)
        forest.fit(data.X, data.time, data.event)
        explorer = Explorer(forest, "cadmium", None, max_upload=1 << 20)
        row = [control.value for control in explorer.controls]
        answer = explorer.answer({"values": row})
        assert answer["tiles"][0]["name"] == "value, 10% quantile"
        for tile, known in zip(answer["tiles"], answer["identified"], strict=True):
            assert tile["value"].startswith("below ") != known
        assert not all(answer["identified"])
        page = re.sub(r"<(script|style).*?</\1>", "", explorer.page("n"), flags=re.DOTALL)
        assert not re.search(r"\b(event|time|surviv|censor|beyond)", page)

    def test_the_outcome_is_called_as_in_the_model(self):
        X, weeks = np.random.default_rng(0).uniform(size=(30, 2)), np.arange(30.0)
        forest = CensoredQuantileForest(2, random_state=0).fit(X, pd.Series(weeks, name="week"))
        for given, name in ((None, "week"), ("years", "years")):
            explorer = Explorer(forest, "m", given, 100_000)
            answer = explorer.answer({"values": start_row(forest)})
            assert answer["tiles"][0]["name"] == f"{name} until 10%"

    def test_bounds_of_times(self, server, forest):
        explorer = server.explorer
        answer = explorer.answer({"values": start_row(forest)})
        assert answer["tiles"][0]["name"] == "years until 10%"
        for tile, known in zip(answer["tiles"], answer["identified"], strict=True):
            assert tile["value"].startswith("beyond ") != known


def with_note(note):
    """Rows that the model can answer, and a column of text beside them."""
    row = pa.Table.from_pandas(load_congress().X[:1], preserve_index=False)
    return row.take([0] * len(note)).append_column("note", note)


def parquet(note, **options):
    pa.parquet.write_table(with_note(note), out := io.BytesIO(), **options)
    return out.getvalue()


def feather(note):
    pa.feather.write_feather(with_note(note), out := io.BytesIO(), compression="zstd")
    return out.getvalue()


def repeated(length, rows):
    return pa.DictionaryArray.from_arrays(pa.array([0] * rows), ["a" * length])


def wide_csv():
    row = load_congress().X[:1].to_csv(index=False).splitlines()
    header = row[0] + "".join(f",c{j}" for j in range(4_900))
    return gzip.compress(f"{header}\n{(row[1] + ',1' * 4_900 + chr(10)) * 4_000}".encode())


# Memory pools of pyarrow, kept to the end.
POOLS = []

# Small files of large tables: text of hundreds of megabytes, and twenty million cells.
LARGE = {
    "dictionary Parquet": lambda: parquet(repeated(10_000, 50_000)),
    "dictionary Parquet, plain type": lambda: parquet(repeated(10_000, 50_000), store_schema=False),
    "delta Parquet": lambda: parquet(
        pa.array(["a" * 10_000] * 15_000),
        use_dictionary=False,
        column_encoding={"note": "DELTA_BYTE_ARRAY"},
    ),
    "dictionary Feather": lambda: feather(repeated(10_000, 50_000)),
    "compressed Feather": lambda: feather(pa.array(["a" * 10_000] * 15_000)),
    "wide CSV": wide_csv,
}


class TestScore:
    def test_tables_are_read_as_they_are_said_to_be_written(self, forest):
        rows = load_congress().X.assign(age_at_entry=40.5)[:5].to_csv(sep=";", decimal=",")
        dialect = Dialect(delimiter=";", decimal=",")
        explorer = Explorer(forest, "m", None, 100_000, dialect)
        with ExploreServer(explorer) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            status, answer = post(server, "score?name=new.csv", rows)
            server.shutdown()
        assert status == 200, answer
        assert answer["rows"] == 5

    def test_wide_tables_are_refused_at_once(self, server):
        header = ",".join(f"c{j}" for j in range(40_000))
        status, answer = post(server, "score?name=wide.csv", f"{header}\n{',' * 39_999}\n"[:90_000])
        assert status == 413
        assert "more than 5,000 columns" in answer["error"]

    def test_results_can_be_downloaded(self, server, forest):
        data = load_congress()
        table = data.X.assign(id=np.arange(len(data.X)))
        status, answer = post(server, "score?name=new.csv", table.to_csv(index=False))
        assert status == 200, answer
        assert answer["rows"] == 1046
        assert answer["preview"].count("<tr>") == 11
        response, content = ask(server, answer["result"])
        assert "attachment" in response.headers["Content-Disposition"]
        got = pd.read_csv(io.BytesIO(content), float_precision="round_trip")
        np.testing.assert_array_equal(got["q0.5"], forest.predict(data.X, 0.5))
        np.testing.assert_array_equal(got["id"], table["id"])

    def test_old_results_are_forgotten(self, server):
        table = load_congress().X[:3].to_csv(index=False)
        results = [post(server, "score?name=a.csv", table)[1]["result"] for _ in range(4)]
        assert ask(server, results[0])[0].status == 404
        assert ask(server, results[-1])[0].status == 200

    @pytest.mark.parametrize(
        ("content", "words"),
        [
            (b"", "new.csv: the file is empty"),
            (b"a,b\n1,2\n", "there is no column 'age_at_entry', which the model needs"),
            (bytes(range(256)), "binary"),
        ],
    )
    def test_bad_tables(self, server, content, words):
        status, answer = post(server, "score?name=new.csv", content)
        assert status == 400
        assert words in answer["error"]

    def test_sizes_are_limited(self, server):
        status, answer = post(server, "score?name=new.csv", b"x" * 100_001)
        assert status == 413
        assert "are not read" in answer["error"]
        status, _ = post(server, "predict", b" " * (2 << 20))
        assert status == 413

    def test_what_a_small_file_unpacks_to_is_limited(self, server):
        # A hundred kilobytes of it are millions of rows.
        rows = gzip.compress(b"a,b\n" + b"1,2\n" * 6_000_000)
        assert len(rows) < 100_000
        started = time.perf_counter()
        status, answer = post(server, "score?name=new.csv.gz", rows)
        assert status == 413
        assert "more than 0.953674 MB when decompressed; use cqrf predict" in answer["error"]
        assert time.perf_counter() - started < 5.0

    def test_rows_are_limited(self, server, monkeypatch):
        monkeypatch.setattr("cqrf.app.explore.explorer._MAX_ROWS", 100)
        X = load_congress().X
        for table in (X[:100], X[:101]):
            parquet = io.BytesIO()
            table.to_parquet(parquet, index=False)
            table.to_feather(feather := io.BytesIO())
            for body in (table.to_csv(index=False), parquet.getvalue(), feather.getvalue()):
                status, answer = post(server, "score?name=new", body)
                assert status == (200 if len(table) == 100 else 413), answer
        assert answer["error"] == "new: has more than 100 rows; use cqrf predict"

    def test_feather_that_unpacks_to_much_is_refused(self, server):
        for rows, words in ((6_000_000, "more than 200,000 rows"), (100_000, "when decompressed")):
            table = pd.DataFrame({f"x{j}": np.zeros(rows) for j in range(2)})
            table.to_feather(feather := io.BytesIO(), compression="zstd", chunksize=rows)
            assert len(feather.getvalue()) < 100_000
            status, answer = post(server, "score?name=new", feather.getvalue())
            assert status == 413
            assert words in answer["error"]

    def test_parquet_that_unpacks_to_much_is_refused(self, server):
        wide = pd.DataFrame({f"x{j}": np.arange(20_000.0) // 100 for j in range(10)})
        wide.to_parquet(parquet := io.BytesIO(), compression="gzip", use_dictionary=False)
        assert len(parquet.getvalue()) < 100_000
        status, answer = post(server, "score?name=new", parquet.getvalue())
        assert status == 413
        assert "when decompressed" in answer["error"]

    @pytest.mark.parametrize("kind", LARGE)
    def test_text_and_width_that_unpack_to_much_are_refused(self, forest, kind):
        content = LARGE[kind]()
        assert len(content) < 300_000
        explorer = Explorer(forest, "m", "years", max_upload=10 << 20)
        before, counted = pa.default_memory_pool(), pa.proxy_memory_pool(pa.default_memory_pool())
        # A thread of the server may give memory back after the test: the pool must still be there.
        POOLS.append(counted)
        pa.set_memory_pool(counted)
        try:
            with ExploreServer(explorer) as server:
                threading.Thread(target=server.serve_forever, daemon=True).start()
                started = time.process_time()
                status, answer = post(server, "score?name=new", content)
                seconds = time.process_time() - started
                server.shutdown()
        finally:
            pa.set_memory_pool(before)
        assert status == 413, answer
        assert seconds < 5.0
        assert counted.max_memory() < 100 << 20

    def test_rows_are_answered_while_a_table_is_scored(self, server, forest, monkeypatch):
        begun, may_end, answers = threading.Event(), threading.Event(), []

        def score(*_):
            begun.set()
            assert may_end.wait(60)
            return {}

        monkeypatch.setattr("cqrf.app.explore.server._Handler._score", score)
        asking = threading.Thread(target=lambda: answers.append(post(server, "score", b"a")))
        asking.start()
        try:
            assert begun.wait(30)
            assert post(server, "predict", {"values": start_row(forest)})[0] == 200
            assert ask(server, "")[0].status == 200
            assert answers == []
        finally:
            may_end.set()
            asking.join()
        assert answers == [(200, {})]

    def test_formulas_are_neutralised_and_numbers_are_not(self, server):
        X = load_congress().X[:6].assign(
            note=["=1+1", "@SUM(A1)", "-2+3", "+cmd|' /C calc'!A0", "\t=1", "fine, = too"],
            change=["-3.5", "+2", "-1e-5", "-1,000.5", "", "-.5"],
        )  # fmt: skip
        X = X.rename(columns={"change": "=change"})
        _, answer = post(server, "score?name=new.csv", X.to_csv(index=False))
        got = pd.read_csv(io.BytesIO(ask(server, answer["result"])[1]), dtype=str)
        assert got["note"].tolist() == ["'" + text for text in X["note"][:5]] + ["fine, = too"]
        assert got["'=change"].fillna("").tolist() == X["=change"].tolist()

    def test_a_length_must_be_told(self, server):
        connection = http.client.HTTPConnection(ADDRESS, server.server_port, timeout=30)
        connection.putrequest("POST", f"/{server.token}/score")
        connection.putheader("Transfer-Encoding", "chunked")
        connection.endheaders()
        assert connection.getresponse().status == 411
        connection.close()


class TestClosedConnections:
    @pytest.mark.parametrize("path", ["", "nothing", "predict"])
    def test_a_closed_connection_is_no_news(self, server, forest, path, capfd):
        for _ in range(5):
            body = json.dumps({"values": start_row(forest)}).encode() if path == "predict" else b""
            connection = socket.create_connection((ADDRESS, server.server_port))
            # Closing resets the connection: what is still to be written meets nobody.
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            head = f"{'POST' if body else 'GET'} /{server.token}/{path} HTTP/1.1\r\n"
            head += f"Host: localhost:{server.server_port}\r\nContent-Length: {len(body)}\r\n\r\n"
            connection.sendall(head.encode() + body)
            connection.close()
        assert post(server, "predict", {"values": start_row(forest)})[0] == 200
        time.sleep(0.2)
        assert capfd.readouterr() == ("", "")


class TestControls:
    def test_one_for_every_feature(self, forest):
        controls = {control.name: control for control in make_controls(forest)}
        age = controls["age_at_entry"]
        assert age.may_miss
        assert age.low < age.value < age.high
        ages = load_congress().X["age_at_entry"]
        assert abs(age.value - ages.median()) < 2
        assert controls["party"].options == ("democrat", "other", "republican")
        assert controls["party"].options[int(controls["party"].value)] == "republican"
        year = controls["entry_year"]
        assert (year.low, year.high, year.step) == (1989, 2015, 1)

    def test_unusual_features(self):
        X = np.column_stack([np.ones(50), np.full(50, np.nan), np.arange(50) / 1000, np.arange(50)])
        forest = CensoredQuantileForest(3, random_state=0).fit(X, np.arange(1.0, 51.0))
        controls = make_controls(forest)
        assert controls[0].step == 0.0
        assert controls[1].value is None
        assert controls[2].low < 0.001
        assert controls[2].high > 0.048
        page = Explorer(forest, "m", None, 1 << 20).page("")
        kinds = re.findall(r'<input type="(\w+)" id="f\d" ', page)
        assert kinds == ["hidden", "hidden", "range", "range"]
        assert 'data-missing="1" checked' in page
        assert "had one value only" in page
        assert np.isnan(read_row(controls, [1.0, None, 0.01, 3])[0, 1])
