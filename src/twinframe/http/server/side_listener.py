"""A separate listener for one small document, such as metrics.

All workers of a service listen at the same address (SO_REUSEPORT), and each can answer for all.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable
from functools import partial

from uvicorn.config import Config
from uvicorn.server import ServerState

from twinframe.errors import ConfigurationError
from twinframe.http.exchange import Asgi, Receive, Scope, Send
from twinframe.http.server.protocol import build_protocol
from twinframe.settings import ServerSettings

Render = Callable[[], Awaitable[bytes]]


class SideListener:
    """Server of an ASGI application at `bind`, under the limits of the service itself."""

    def __init__(self, bind: str, server: ServerSettings, app: Asgi, *, key: str) -> None:
        """`key` is the setting that `bind` comes from."""
        self._bind = bind
        self._limits = server
        self._app = app
        self._key = key
        self._server: asyncio.Server | None = None
        self._state = ServerState()

    async def start(self) -> None:
        """Start listening. Raises `ConfigurationError` if the address cannot be bound."""
        protocol = build_protocol(self._limits)
        config = Config(
            app=self._app,
            http=protocol,
            ws="none",
            lifespan="off",
            interface="asgi3",
            access_log=False,
            log_config=None,
            proxy_headers=False,
            server_header=False,
        )
        config.load()
        loop = asyncio.get_running_loop()
        build = partial(protocol, config=config, server_state=self._state, app_state={})
        try:
            self._server = await loop.create_server(build, sock=open_socket(self._bind))
        except OSError as error:
            raise ConfigurationError(
                f"{self._key}={self._bind}: {error.strerror or error}."
            ) from error

    async def stop(self) -> None:
        """Stop listening and close the open connections."""
        if self._server is None:
            return
        self._server.close()
        for connection in list(self._state.connections):
            connection.shutdown()
        self._server = None


def open_socket(bind: str, *, shared: bool = True) -> socket.socket:
    """Return a bound socket; with `shared`, other processes of this user may bind the same address.

    Raises `OSError`.
    """
    if bind.startswith("unix:"):
        raise OSError("a listener of several workers needs host and port")
    host, _colon, port = bind.rpartition(":")
    found = socket.getaddrinfo(
        host.strip("[]"), int(port), type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )
    family, kind, protocol, _name, address = found[0]
    made = socket.socket(family, kind, protocol)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if shared:
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        made.bind(address)
    except BaseException:
        made.close()
        raise
    return made


def build_document_app(path: str, content_type: str, render: Render) -> Asgi:
    """Return an ASGI application with one document: GET and HEAD at `path`, 404 at any other."""

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        del receive
        if scope["type"] != "http":
            return
        status, body, kind = 404, b"Metrics stand at %b.\n" % path.encode(), "text/plain"
        if scope["path"] == path:
            if scope["method"] in ("GET", "HEAD"):
                status, body, kind = 200, await render(), content_type
            else:
                status, body = 405, b"Only GET and HEAD are allowed.\n"
        headers = [
            (b"content-type", kind.encode()),
            (b"content-length", b"%d" % len(body)),
            (b"cache-control", b"no-store"),
            (b"x-content-type-options", b"nosniff"),
        ]
        if status == 405:
            headers.append((b"allow", b"GET, HEAD"))
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send(
            {"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else body}
        )

    return serve
