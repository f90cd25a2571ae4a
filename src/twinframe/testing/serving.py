"""A service in the process of a test: a real socket, in a thread, over a graph in memory."""

from __future__ import annotations

import asyncio
import socket
import tempfile
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Final, Self

from uvicorn.config import Config
from uvicorn.server import Server

from twinframe.errors import StorageError
from twinframe.hooks.installation import Installation
from twinframe.http.guard import Guard
from twinframe.http.server.protocol import build_protocol
from twinframe.http.worker import Worker
from twinframe.library.asynchronous import AsyncLocalGraph
from twinframe.library.graph import LocalGraph
from twinframe.library.loop import LoopThread
from twinframe.library.opening import build_installation
from twinframe.service.application import build_app
from twinframe.service.memory import build_account
from twinframe.service.opening import StoreService, build_graph

_QUIET: Final = {"Logging__Access": False, "Logging__Audit": False}
_HOST: Final = "127.0.0.1"
_SDK: Final = "pip install 'twinframe[demo]'"
_ASYNC_SDK: Final = f"{_SDK} aiohttp"


@dataclass(frozen=True, slots=True)
class LocalService:
    """A running service: `url` is its origin, `graph` the same graph as a library.

    `credential` has the form that clients expect of one, `async_credential` the form for clients
    that await; the service asks for none. `authority` is the PEM file of the authority that a
    client of a service with TLS has to trust, None without TLS.
    """

    url: str
    graph: LocalGraph
    credential: object
    async_credential: object
    authority: Path | None
    _opened: ExitStack

    def build_client(self, **options: Any) -> Any:
        """Build the vendor's `DigitalTwinsClient` for the service.

        `options` are further arguments of its constructor. Its connections are closed with the
        service. Raises `ModuleNotFoundError` where the SDK is not installed.
        """
        core = _import("azure.digitaltwins.core", _SDK)
        given = self._build_options()
        if "transport" not in options:
            transport = import_module("azure.core.pipeline.transport").RequestsTransport(**given)
            self._opened.callback(transport.close)
            given["transport"] = transport
        return core.DigitalTwinsClient(self.url, self.credential, **given, **options)

    def build_async_client(self, **options: Any) -> Any:
        """Build the vendor's client for code that awaits, which the caller closes.

        Raises `ModuleNotFoundError` where the SDK, or aiohttp, is not installed.
        """
        core = _import("azure.digitaltwins.core.aio", _ASYNC_SDK)
        _import("aiohttp", _ASYNC_SDK)
        given = {**self._build_options(), **options}
        return core.DigitalTwinsClient(self.url, self.async_credential, **given)

    def _build_options(self) -> dict[str, Any]:
        """NOTE: the SDK sends no token over plain http, unless its policy for that is exchanged."""
        if self.authority is not None:
            return {"connection_verify": str(self.authority)}
        policies = import_module("azure.core.pipeline.policies")
        return {"authentication_policy": policies.SansIOHTTPPolicy()}


class _Credential:
    """Gives tokens that no service checks."""

    def get_token(self, *_scopes: str, **_options: Any) -> Any:
        """Return a token in the form of the vendor's credentials."""
        return import_module("azure.core.credentials").AccessToken("twinframe", 2**31)


class _AsyncCredential:
    """Gives the same tokens to clients that await."""

    async def get_token(self, *scopes: str, **options: Any) -> Any:
        """Return a token in the form of the vendor's credentials."""
        return _Credential().get_token(*scopes, **options)

    async def close(self) -> None:
        """There is nothing to close."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


@dataclass(frozen=True, slots=True)
class _Certificates:
    """PEM files of a certificate for this machine, and of the authority that issued it."""

    authority: Path
    server: Path

    @classmethod
    def make(cls, folder: Path) -> _Certificates:
        """Write files that are made for one service."""
        authority = import_module("trustme").CA()  # PERF: only these need cryptography
        made = cls(folder / "authority.pem", folder / "server.pem")
        authority.cert_pem.write_to_path(str(made.authority))
        issued = authority.issue_cert(_HOST, "localhost")
        issued.private_key_and_cert_chain_pem.write_to_path(str(made.server))
        return made


@contextmanager
def serve(settings: Mapping[str, Any], *, tls: bool = False) -> Iterator[LocalService]:
    """Serve the graph of these settings on a free port of this machine, in this process.

    With `tls` it is served by https, with a certificate made for it. Errors: as `twinframe.open`;
    `OSError` without a free port.
    """
    installation = build_installation(None, {**_QUIET, **settings})
    with ExitStack() as opened:
        made: _Certificates | None = None
        if tls:
            folder = opened.enter_context(tempfile.TemporaryDirectory(prefix="twinframe-"))
            made = _Certificates.make(Path(folder))
        loop = LoopThread()
        opened.callback(loop.end)
        url, graph = loop.enter(_serve(installation, made))
        local = LocalGraph(graph, loop, url)
        authority = made.authority if made else None
        with ExitStack() as clients:
            yield LocalService(url, local, _Credential(), _AsyncCredential(), authority, clients)


@asynccontextmanager
async def _serve(
    installation: Installation, made: _Certificates | None
) -> AsyncIterator[tuple[str, AsyncLocalGraph]]:
    store = StoreService(installation.build_store(), installation.settings)
    memory = build_account(installation.settings, workers=1, alone=False)
    app = build_app(installation, store=store, memory=memory)
    with socket.create_server((_HOST, 0)) as listening:
        server = _OneServer(app, {"ssl_certfile": made.server} if made else {})
        serving = asyncio.create_task(server.serve([listening]))
        try:
            await asyncio.wait(
                (serving, asyncio.create_task(server.is_up.wait())),
                return_when=asyncio.FIRST_COMPLETED,
            )
            if not server.started:
                await serving
                raise StorageError("The service did not start; its log says why.")
            graph = AsyncLocalGraph(
                build_graph(installation, store, memory=memory), installation.settings
            )
            scheme = "https" if made else "http"
            yield f"{scheme}://{_HOST}:{listening.getsockname()[1]}", graph
        finally:
            server.is_over.set()
            await serving


class _OneServer(Server):
    """uvicorn's server, which is told to end.

    PERF: uvicorn looks each tenth of a second, and lets connections end in half a second.
    """

    def __init__(self, app: Guard, certificate: Mapping[str, Any]) -> None:
        protocol = build_protocol(app.server, app.memory)
        options = {**Worker.CONFIG_KWARGS, "http": protocol, "log_config": None, **certificate}
        super().__init__(Config(app, timeout_graceful_shutdown=1, **options))
        self._app = app
        self.is_up = asyncio.Event()
        self.is_over = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start as the base class does, and say so."""
        await super().startup(sockets)
        self.is_up.set()

    async def main_loop(self) -> None:
        """Wait for the end."""
        await self.on_tick(0)  # the header Date
        await self.is_over.wait()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End at once: no client is left that waits for an answer."""
        self._app.begin_drain()
        for server in self.servers:
            server.close()
        for connection in list(self.server_state.connections):
            connection.transport.abort()
        tasks = list(self.server_state.tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self.lifespan.shutdown()


def _import(name: str, command: str) -> Any:
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f"The vendor's SDK is not installed: {command}.", name=error.name
        ) from error
