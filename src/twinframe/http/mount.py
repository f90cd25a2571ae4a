"""Request dispatch between the API and another ASGI server in the same process."""

from __future__ import annotations

from typing import Protocol

from twinframe.http.exchange import Asgi, Receive, Scope, Send


class Mounted(Protocol):
    """An ASGI server beside the API that authenticates its own requests."""

    def serves(self, scope: Scope) -> bool:
        """Return whether a request is for this server."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""

    def begin_drain(self) -> None:
        """End answers that would not end by themselves."""


class Mount:
    """ASGI application that passes `mounted` its requests, and all others and the lifespan to
    `app`.
    """

    def __init__(self, app: Asgi, mounted: Mounted) -> None:
        self._app = app
        self._mounted = mounted

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one ASGI scope."""
        if scope["type"] == "http" and self._mounted.serves(scope):
            await self._mounted(scope, receive, send)
        else:
            await self._app(scope, receive, send)
