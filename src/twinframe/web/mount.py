"""Routes requests between the API and another server of this process. It answers none itself."""

from __future__ import annotations

from typing import Protocol

from twinframe.web.exchange import Asgi, Receive, Scope, Send


class Mounted(Protocol):
    """An ASGI server that stands beside the API and asks for credentials itself."""

    def serves(self, scope: Scope) -> bool:
        """Whether a request is for it."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one."""

    def begin_drain(self) -> None:
        """End what has no end of its own."""


class Mount:
    """Sends to `mounted` what is for it, and all the rest, the lifespan too, to `app`."""

    def __init__(self, app: Asgi, mounted: Mounted) -> None:
        self._app = app
        self._mounted = mounted

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one ASGI scope."""
        if scope["type"] == "http" and self._mounted.serves(scope):
            await self._mounted(scope, receive, send)
        else:
            await self._app(scope, receive, send)
