"""The streamable HTTP transport at `/mcp`, without sessions: any worker answers any request.

The SDK implements the protocol, in both its versions. The caller has already checked the request's
credentials.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

from twinframe.http.exchange import Receive, Scope, Send


class StreamableTransport:
    """The transport, and the lifespan of the server that both transports share.

    `limit` bounds a request's body in bytes.
    """

    def __init__(self, server: Server[Any], limit: int) -> None:
        self.state: Any = None
        self._enter = server.lifespan
        server.lifespan = self._keep
        self._sdk = StreamableHTTPSessionManager(
            server, stateless=True, max_request_body_size=limit
        )
        self._task: asyncio.Task[None] | None = None
        self._ending = asyncio.Event()

    async def start(self) -> None:
        """Enter the server's lifespan. Raises its errors."""
        ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        # NOTE: a task of its own: the SDK's context must be left in the task that entered it.
        self._task = asyncio.create_task(self._run(ready))
        await ready

    async def stop(self) -> None:
        """Leave it; running calls are cancelled."""
        if self._task is not None:
            self._ending.set()
            await self._task
            self._task = None

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a POST."""
        await self._sdk.handle_request(scope, receive, send)

    async def _run(self, ready: asyncio.Future[None]) -> None:
        try:
            async with self._sdk.run():
                ready.set_result(None)
                await self._ending.wait()
        except BaseException as error:
            if ready.done():
                raise
            ready.set_exception(error)

    @asynccontextmanager
    async def _keep(self, server: Server[Any]) -> AsyncIterator[Any]:
        async with self._enter(server) as state:
            self.state = state
            yield state
