"""A service in the process of a test: a real socket, in a thread, over a graph in memory."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Final

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
_SDK: Final = "pip install 'twinframe[demo]'"


@dataclass(frozen=True, slots=True)
class LocalService:
    """A running service: `url` is its origin, `graph` the same graph as a library.

    `credential` has the form that clients expect of one; the service asks for none.
    """

    url: str
    graph: LocalGraph
    credential: object
    _opened: ExitStack

    def build_client(self, **options: Any) -> Any:
        """Build the vendor's `DigitalTwinsClient` for the service.

        `options` are further arguments of its constructor. Its connections are closed with the
        service. Raises `ModuleNotFoundError` where the SDK is not installed.
        """
        core, policies = _import_sdk("azure.digitaltwins.core")
        if "transport" not in options:
            transport = import_module("azure.core.pipeline.transport").RequestsTransport()
            self._opened.callback(transport.close)
            options["transport"] = transport
        return _build_client(core.DigitalTwinsClient, policies, self, options)

    def build_async_client(self, **options: Any) -> Any:
        """Build the vendor's client for code that awaits, which the caller closes."""
        core, policies = _import_sdk("azure.digitaltwins.core.aio")
        return _build_client(core.DigitalTwinsClient, policies, self, options)


class _Credential:
    """Gives tokens that no service checks."""

    def get_token(self, *_scopes: str, **_options: Any) -> Any:
        """Return a token in the form of the vendor's credentials."""
        return import_module("azure.core.credentials").AccessToken("twinframe", 2**31)


@contextmanager
def serve(settings: Mapping[str, Any]) -> Iterator[LocalService]:
    """Serve the graph of these settings on a free port of this machine, in this process.

    Errors: as `twinframe.open`; `OSError` without a free port.
    """
    installation = build_installation(None, {**_QUIET, **settings})
    loop = LoopThread()
    try:
        url, graph = loop.enter(_serve(installation))
        local = LocalGraph(graph, loop, url)
        with ExitStack() as opened:
            yield LocalService(url, local, _Credential(), opened)
    finally:
        loop.end()


@asynccontextmanager
async def _serve(installation: Installation) -> AsyncIterator[tuple[str, AsyncLocalGraph]]:
    store = StoreService(installation.build_store(), installation.settings)
    memory = build_account(installation.settings, workers=1, alone=False)
    app = build_app(installation, store=store, memory=memory)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        server = _OneServer(app)
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
            yield f"http://127.0.0.1:{listening.getsockname()[1]}", graph
        finally:
            server.is_over.set()
            await serving


class _OneServer(Server):
    """uvicorn's server, which is told to end.

    PERF: uvicorn looks each tenth of a second, and lets connections end in half a second.
    """

    def __init__(self, app: Guard) -> None:
        protocol = build_protocol(app.server, app.memory)
        options = {**Worker.CONFIG_KWARGS, "http": protocol, "log_config": None}
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


def _import_sdk(name: str) -> tuple[Any, Any]:
    try:
        return import_module(name), import_module("azure.core.pipeline.policies")
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f"The vendor's SDK is not installed: {_SDK}.", name=error.name
        ) from error


def _build_client(kind: Any, policies: Any, service: LocalService, options: Any) -> Any:
    # NOTE: the SDK sends no token over plain http, unless its policy for that is exchanged.
    given = {"authentication_policy": policies.SansIOHTTPPolicy(), **options}
    return kind(service.url, service.credential, **given)
