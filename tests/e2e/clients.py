"""The vendor's SDK, sync and async, behind one face, so that each flow is written once."""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from azure.core.async_paging import AsyncItemPaged
from azure.core.credentials import AccessToken
from azure.core.paging import ItemPaged
from azure.core.polling import AsyncLROPoller, LROPoller
from azure.digitaltwins.core import DigitalTwinsClient
from azure.digitaltwins.core.aio import DigitalTwinsClient as AsyncDigitalTwinsClient

TOKEN = "a-token"
"""What is sent to a service that asks for none."""


class FixedCredential:
    """A credential that always gives the same token."""

    def __init__(self, token: str = TOKEN) -> None:
        self._token = token

    def get_token(self, *_scopes: str, **_options: object) -> AccessToken:
        """The token, good for an hour."""
        return AccessToken(self._token, int((datetime.now(UTC) + timedelta(hours=1)).timestamp()))


class FixedAsyncCredential(FixedCredential):
    """The same for the async client."""

    async def get_token(self, *_scopes: str, **_options: object) -> AccessToken:  # type: ignore[override]
        """The token, good for an hour."""
        return FixedCredential().get_token()

    async def close(self) -> None:
        """Nothing to close."""


class SyncClient:
    """The sync SDK client; lists come as lists, long operations run to their end."""

    def __init__(self, url: str, authority: str, token: str = TOKEN) -> None:
        credential = FixedCredential(token)
        self._client = DigitalTwinsClient(url, credential, connection_verify=authority)

    @property
    def groups(self) -> Any:
        """The generated client below, with the groups of operations."""
        return self._client._client

    def __getattr__(self, name: str) -> Callable[..., Any]:
        return self._finish(getattr(self._client, name))

    def do(self, group: str, name: str, *args: object, **kwargs: object) -> Any:
        """Call an operation that the convenient client leaves to a generated group."""
        return self._finish(getattr(getattr(self.groups, group), name))(*args, **kwargs)

    def _finish(self, method: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: object, **kwargs: object) -> object:
            result = method(*args, **kwargs)
            if isinstance(result, ItemPaged):
                return list(result)
            return result.result(120) if isinstance(result, LROPoller) else result

        return call

    def close(self) -> None:
        """Close its connections."""
        self._client._client.close()


class AsyncClient:
    """The async SDK client run on a loop of its own; lists and long operations as above."""

    def __init__(self, url: str, authority: str) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._client = self._run(self._open(url, authority))

    async def _open(self, url: str, authority: str) -> AsyncDigitalTwinsClient:
        return AsyncDigitalTwinsClient(url, FixedAsyncCredential(), connection_verify=authority)

    @property
    def groups(self) -> Any:
        """The generated client below, with the groups of operations."""
        return self._client._client

    def _run(self, work: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(120)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        return self._finish(getattr(self._client, name))

    def do(self, group: str, name: str, *args: object, **kwargs: object) -> Any:
        """Call an operation that the convenient client leaves to a generated group."""
        return self._finish(getattr(getattr(self.groups, group), name))(*args, **kwargs)

    def _finish(self, method: Callable[..., Any]) -> Callable[..., Any]:
        async def call(*args: object, **kwargs: object) -> object:
            result = method(*args, **kwargs)
            if inspect.isawaitable(result):
                result = await result
            if isinstance(result, AsyncItemPaged):
                return [item async for item in result]
            return await result.result() if isinstance(result, AsyncLROPoller) else result

        return lambda *args, **kwargs: self._run(call(*args, **kwargs))

    def close(self) -> None:
        """Close its connections and its loop."""
        self._run(self._client.close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(120)
        self._loop.close()
