"""A service that states permissions by graph and user, as a control plane does."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Self
from urllib.parse import parse_qs, urlsplit

from tests.waiting import join


class PermissionService(ThreadingHTTPServer):
    """On a free port of loopback inside the context; `granted` and `asked` by (graph, user).

    A user it knows nothing of is 404, as unknown users are.
    """

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), PermissionHandler)
        self.granted: dict[tuple[str, str], list[str]] = {}
        self.asked: list[tuple[str, str]] = []
        self._thread = threading.Thread(target=self.serve_forever, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self.shutdown()
        join(self._thread)
        self.server_close()


class PermissionHandler(BaseHTTPRequestHandler):
    """Answers `GET …?scopeType=resource&scopeId=…&userId=…`."""

    server: PermissionService
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        """State the permissions."""
        query = parse_qs(urlsplit(self.path).query)
        assert query["scopeType"] == ["resource"]
        key = query["scopeId"][0], query["userId"][0]
        self.server.asked.append(key)
        granted = self.server.granted.get(key)
        body = json.dumps({"permissions": granted or []}).encode()
        self.send_response(200 if granted is not None else 404)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_args: object) -> None:
        """Nothing: the test says what matters."""
