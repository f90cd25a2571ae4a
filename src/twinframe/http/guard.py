"""The outermost ASGI layer of the service: request ids, host checks, access log, last errors.

Limits of HTTP framing are enforced by `protocol`.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import secrets
import sys
from collections.abc import Callable
from time import perf_counter, time
from urllib.parse import quote

from twinframe.errors import TwinframeError
from twinframe.http.errors import BadRequestTarget, ErrorAnswer, ServiceEnding, build_answer
from twinframe.http.exchange import SCOPE_KEY, Asgi, Exchange, Message, Receive, Scope, Send
from twinframe.http.line_log import AccessEntry, AccessLog
from twinframe.http.paths import TargetParser, check_query
from twinframe.runtime.instruments.base import CURRENT_TRACE
from twinframe.runtime.memory import MemoryAccount
from twinframe.settings import ServerSettings

logger = logging.getLogger("twinframe.http")


class Guard:
    """The outermost ASGI application.

    `server` gives the base path and the body limit, and the worker its limits; `memory` is the
    worker's memory account. `access_log` is None if no access log is wanted; its thread runs
    between the lifespan's events.

    `build_error` makes the answers to errors that end here; without it they have the vendor's form.
    """

    def __init__(
        self,
        app: Asgi,
        server: ServerSettings,
        *,
        access_log: AccessLog | None = None,
        memory: MemoryAccount | None = None,
        build_error: Callable[[Scope, TwinframeError], ErrorAnswer] | None = None,
    ) -> None:
        self.server = server
        self.memory = memory or MemoryAccount()
        self._build_error = build_error or _build_vendor_answer
        self._draining = False
        self._leaves: Callable[[], bool] | None = None
        self._drain_hooks: list[Callable[[], None]] = []
        self._app = app
        self._handle: Asgi = self.handle
        self._body_limit = server.max_body_bytes
        self._paths = TargetParser(server.base_path)
        self._access_log = access_log
        self._observers: list[Callable[[Exchange], None]] = []
        self._id_prefix = secrets.token_hex(5).encode("ascii")
        self._count = itertools.count(1)

    @property
    def draining(self) -> bool:
        """Whether the service ends, or is about to; it is then not ready."""
        return self._draining or (self._leaves is not None and self._leaves())

    def watch_leave(self, leaves: Callable[[], bool]) -> None:
        """Set what returns whether the whole service is about to end, for readiness only."""
        self._leaves = leaves

    def begin_drain(self) -> None:
        """Mark the service as not ready; requests already accepted are finished."""
        self._draining = True
        for hook in self._drain_hooks:
            hook()

    def on_drain(self, hook: Callable[[], None]) -> None:
        """Call `hook` when the drain begins, to end answers that would not end by themselves."""
        self._drain_hooks.append(hook)

    def wrap(self, build: Callable[[Asgi], Asgi]) -> None:
        """Put an ASGI layer around the application: its answers get ids and log lines as well."""
        self._handle = build(self._handle)

    def observe(self, observer: Callable[[Exchange], None]) -> None:
        """Call `observer` with each exchange that has ended. It must not raise or wait."""
        self._observers.append(observer)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one ASGI scope."""
        if scope["type"] != "http":
            await self._serve_other(scope, receive, send)
            return
        new_id = b"%b%08x" % (self._id_prefix, next(self._count))
        exchange = Exchange(scope, receive, send, new_id, self._body_limit)
        scope[SCOPE_KEY] = exchange
        if exchange.traceparent or CURRENT_TRACE.get():  # a pipelined one inherits the last one's
            CURRENT_TRACE.set(exchange.traceparent)
        try:
            await self._handle(scope, exchange.receive, exchange.send)
        except asyncio.CancelledError:
            # NOTE: a worker that must end cancels unfinished requests; the server would report that
            # as an error of the application. An answer that has begun is cut off.
            if not self._draining:
                raise
            if not exchange.is_answered:
                await write_answer(exchange.send, self._build_error(scope, ServiceEnding()))
        finally:
            # PERF: scope and exchange refer to each other; if the cycle stays, only the garbage
            # collector frees them and the server's own records of the request.
            del scope[SCOPE_KEY]
            if exchange.hold is not None:
                exchange.hold.release()
            if self._access_log is not None:
                self._access_log.add(build_entry(exchange))
            if self._observers:
                for observer in self._observers:
                    observer(exchange)

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Check the request's names, then call the application."""
        exchange: Exchange = scope[SCOPE_KEY]
        try:
            exchange.target = self._paths.parse(read_raw_path(scope))
            check_query(scope["query_string"], exchange.target.segments)
        except BadRequestTarget as refused:
            await write_answer(send, self._build_error(scope, refused))
            return
        try:
            await self._app(scope, receive, send)
        except Exception:  # the outermost code of a request: no error may end the worker
            logger.exception("request %s failed", exchange.request_id.decode("ascii"))
            if exchange.is_answered:
                raise  # the answer has begun: only a closed connection shows the client the failure
            error = TwinframeError("An internal error occurred.")
            await write_answer(send, self._build_error(scope, error))

    async def _serve_other(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            if self._access_log is not None:
                self._access_log.start()

            async def send_plainly(message: Message) -> None:
                error = sys.exc_info()[1]
                if isinstance(error, TwinframeError):  # one log line instead of Falcon's traceback
                    message["message"] = error.message
                await send(message)

            try:
                await self._app(scope, receive, send_plainly)
            finally:
                if self._access_log is not None:
                    self._access_log.stop()
        elif scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.close", "code": 1008})


def _build_vendor_answer(_scope: Scope, error: TwinframeError) -> ErrorAnswer:
    return build_answer(error)


def read_raw_path(scope: Scope) -> bytes:
    """Return the path as sent. Servers without `raw_path` have decoded it, which loses `%2F`."""
    raw: bytes | None = scope.get("raw_path")
    return raw if raw is not None else quote(scope["path"]).encode("ascii")


async def write_answer(send: Send, answer: ErrorAnswer) -> None:
    """Send an error answer as ASGI events."""
    headers = [(name.encode("ascii"), value.encode("ascii")) for name, value in answer.headers]
    headers.append((b"content-length", b"%d" % len(answer.body)))
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    await send({"type": "http.response.body", "body": answer.body})


def build_entry(exchange: Exchange) -> AccessEntry:
    """Return the access log entry of an ended exchange; status 499 if none was answered."""
    scope = exchange.scope
    client = scope.get("client")
    return AccessEntry(
        time(),
        perf_counter() - exchange.started,
        scope["method"],
        read_raw_path(scope),
        exchange.status or 499,
        exchange.sent,
        exchange.request_id,
        client[0] if client else "",
    )
