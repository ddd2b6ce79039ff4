"""A server for one user: on this machine alone, behind a token, with limits on what it reads."""

from __future__ import annotations

import io
import json
import secrets
import sys
import threading
from collections import OrderedDict
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

import numpy as np

from cqrf.app.explore.explorer import Explorer
from cqrf.app.report.numerals import number
from cqrf.app.report.parts import CellTable
from cqrf.app.tables import TableTooLarge, open_input, spreadsheet_safe
from cqrf.app.tables.predicting import PredictOptions, predict_blocks
from cqrf.app.tables.writing import text_writer

ADDRESS = "127.0.0.1"
_MAX_REQUEST = 1 << 20
_MAX_DISCARDED = 256 << 20
_MAX_RESULTS = 3
_PREVIEW = 10
_SECONDS = 30


class Refused(Exception):
    """A request that is not answered, with the status that says why."""

    def __init__(self, status: HTTPStatus, reason: str) -> None:
        super().__init__(reason)
        self.status = status


class ExploreServer(ThreadingHTTPServer):
    """Serves one model.

    Parameters
    ----------
    explorer : Explorer
        What is served.
    port : int
        0 takes any that is free.
    """

    daemon_threads = True

    def __init__(self, explorer: Explorer, port: int = 0) -> None:
        super().__init__((ADDRESS, port), _Handler)
        self.explorer = explorer
        self.token = secrets.token_urlsafe(24)
        # Rows are answered on any number of threads. A table that is scored takes memory, so that
        # there is one at a time.
        self.scoring = threading.Lock()
        self._results: OrderedDict[str, bytes] = OrderedDict()

    @property
    def url(self) -> str:
        """Address of the page, with the token."""
        return f"http://{ADDRESS}:{self.server_port}/{self.token}/"

    def keep(self, result: bytes) -> str:
        """Keep a result for download, and forget the oldest."""
        name = secrets.token_urlsafe(12)
        self._results[name] = result
        while len(self._results) > _MAX_RESULTS:
            self._results.popitem(last=False)
        return name

    def result(self, name: str) -> bytes | None:
        """Return a result that was kept."""
        return self._results.get(name)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Stay silent about connections that the browser has closed."""
        if not isinstance(sys.exc_info()[1], ConnectionError | TimeoutError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    server: ExploreServer
    # After so long a connection that says nothing is closed.
    timeout = _SECONDS

    def do_GET(self) -> None:
        self._answer(self._get)

    def do_POST(self) -> None:
        self._answer(self._post)

    def _answer(self, method: Any) -> None:
        try:
            method(self._path())
        except Refused as error:
            self._send_json({"error": str(error)}, error.status)
        except (ValueError, TypeError) as error:
            self._send_json({"error": str(error)}, HTTPStatus.BAD_REQUEST)

    def _path(self) -> str:
        """Check who asks; return what is asked for, without the token."""
        host = self.headers.get("Host", "")
        allowed = {f"{name}:{self.server.server_port}" for name in (ADDRESS, "localhost")}
        # A hostile site may let its own name point to this machine; its requests carry that name.
        if host not in allowed:
            raise Refused(HTTPStatus.FORBIDDEN, "this address is not served")
        origin = self.headers.get("Origin")
        if origin is not None and origin.removeprefix("http://") not in allowed:
            raise Refused(HTTPStatus.FORBIDDEN, "requests from other sites are refused")
        token, _, path = self.path.removeprefix("/").partition("/")
        if not secrets.compare_digest(token.encode(), self.server.token.encode()):
            raise Refused(HTTPStatus.FORBIDDEN, "the address lacks the token that cqrf has printed")
        return path

    def _get(self, path: str) -> None:
        if path == "":
            nonce = secrets.token_urlsafe(16)
            page = self.server.explorer.page(nonce)
            self._send(page.encode(), "text/html; charset=utf-8", nonce=nonce)
            return
        name = path.removeprefix("results/").removesuffix(".csv")
        result = self.server.result(name) if path == f"results/{name}.csv" else None
        if result is None:
            raise Refused(HTTPStatus.NOT_FOUND, "there is nothing at this address")
        self._send(result, "text/csv; charset=utf-8", attachment=True)

    def _post(self, path: str) -> None:
        parts = urlsplit(path)
        if parts.path == "predict":
            try:
                request = json.loads(self._body(_MAX_REQUEST))
            except (ValueError, RecursionError):
                # Python also raises ValueError for whole numbers with thousands of digits.
                raise Refused(HTTPStatus.BAD_REQUEST, "the request is not JSON") from None
            self._send_json(self.server.explorer.answer(request))
        elif parts.path == "score":
            name = (parse_qs(parts.query).get("name") or ["the table"])[0][:200]
            body = self._body(self.server.explorer.max_upload)
            with self.server.scoring:
                answer = self._score(body, name)
            self._send_json(answer)
        else:
            raise Refused(HTTPStatus.NOT_FOUND, "there is nothing at this address")

    def _score(self, body: bytes, name: str) -> dict[str, Any]:
        explorer = self.server.explorer
        written = io.BytesIO()
        rows, preview = 0, ""
        try:
            table = open_input(
                io.BytesIO(body), explorer.dialect, name=name, limits=explorer.limits
            )
            with text_writer(written, ",") as write:
                options = PredictOptions(interval=0.9, keep=("*",))
                for block in predict_blocks(explorer.forest, table, options):
                    write(spreadsheet_safe(block))
                    preview = preview or _preview(block, name)
                    rows += len(next(iter(block.values())))
        except TableTooLarge as error:
            raise Refused(
                HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"{error}; use cqrf predict"
            ) from None
        if not rows:
            raise ValueError(f"{name}: there is a header but no row")
        result = self.server.keep(written.getvalue())
        return {"rows": rows, "preview": preview, "result": f"results/{result}.csv"}

    def _body(self, limit: int) -> bytes:
        length = self.headers.get("Content-Length", "")
        if not length.isdigit():
            raise Refused(HTTPStatus.LENGTH_REQUIRED, "the request does not tell its length")
        if int(length) > limit:
            # Clients read no answer before they have written all: read it, and throw it away.
            left = min(int(length), _MAX_DISCARDED)
            while left > 0 and (piece := self.rfile.read(min(left, 1 << 20))):
                left -= len(piece)
            size = f"{limit / 2**20:g} MB"
            raise Refused(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"more than {size} are not read")
        body = self.rfile.read(int(length))
        if len(body) < int(length):
            raise Refused(HTTPStatus.BAD_REQUEST, "the request ends too early")
        return body

    def _send_json(self, answer: dict[str, Any], status: HTTPStatus = HTTPStatus.OK) -> None:
        self._send(json.dumps(answer).encode(), "application/json", status=status)

    def _send(
        self,
        body: bytes,
        kind: str,
        *,
        status: HTTPStatus = HTTPStatus.OK,
        nonce: str = "",
        attachment: bool = False,
    ) -> None:
        own = f"'nonce-{nonce}'" if nonce else "'none'"
        self.send_response(status)
        for name, value in {
            "Content-Type": kind,
            "Content-Length": str(len(body)),
            "Cache-Control": "no-store",
            # The address holds the token, and must not be told to other sites.
            "Referrer-Policy": "no-referrer",
            "X-Content-Type-Options": "nosniff",
            "Content-Security-Policy": f"default-src 'none'; script-src {own}; style-src {own}; "
            "connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; "
            "frame-ancestors 'none'",
        }.items():
            self.send_header(name, value)
        if attachment:
            # The name of the file comes from the link on the page.
            self.send_header("Content-Disposition", "attachment")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Stay silent: the addresses hold the token."""


def _preview(block: dict[str, Any], name: str) -> str:
    """Show the first rows: predictions, and behind them the columns of the table."""
    predicted = [key for key, cells in block.items() if isinstance(cells, np.ndarray)]
    columns = predicted + [key for key in block if key not in predicted]
    lines = [
        [str(k + 1), *(_cell(block[key][k]) for key in columns)]
        for k in range(min(_PREVIEW, len(block[columns[0]])))
    ]
    return CellTable(f"First rows of {name}", ["row", *columns], lines).html()


def _cell(value: Any) -> str:
    if isinstance(value, np.bool_):
        return "yes" if value else "no"
    return number(float(value)) if isinstance(value, np.floating) else str(value)
