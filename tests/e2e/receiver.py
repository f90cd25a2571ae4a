"""A receiver of webhooks, in threads: it fails one time in so many and can be restarted."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.e2e.server import free_port

Event = dict[str, Any]


class Receiver:
    """Takes events at `url`; `taken` are those it said yes to, in that order.

    `fail_every` is how many requests there are to one that is answered 500. `look` is called with
    each event before it is answered.
    """

    def __init__(self, fail_every: int = 0, look: Callable[[Event], None] | None = None) -> None:
        self.taken: list[Event] = []
        self.refused = 0
        self._fail_every = fail_every
        self._look = look
        self._requests = 0
        self._turn = threading.Lock()
        self._port = free_port()
        self._server: ThreadingHTTPServer | None = None

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self._port}/events"

    def start(self) -> None:
        """Listen, at the same port each time."""
        server = _Listener(("127.0.0.1", self._port), self._build_handler())
        self._server = server
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()

    def stop(self) -> None:
        """Listen no more; what is being answered may be cut off."""
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server = None

    def take(self, event: Event) -> bool:
        """Whether the event is taken."""
        if self._look is not None:
            self._look(event)
        with self._turn:
            self._requests += 1
            if self._fail_every and self._requests % self._fail_every == 0:
                self.refused += 1
                return False
            self.taken.append(event)
            return True

    def _build_handler(self) -> type[BaseHTTPRequestHandler]:
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_OPTIONS(self) -> None:
                self._answer(200, {"WebHook-Allowed-Origin": "*"})

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                self._answer(204 if receiver.take(json.loads(body)) else 500, {})

            def _answer(self, status: int, headers: dict[str, str]) -> None:
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                if status != 204:
                    self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_args: object) -> None:
                pass

        return Handler


class _Listener(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def handle_error(self, *_args: object) -> None:
        """A sender that was killed in the middle is no matter."""
