"""The same for the async samples."""

from __future__ import annotations

import asyncio
from typing import Self

from azure.core.credentials import AccessToken
from azure.identity import DefaultAzureCredential as _Sync


class DefaultAzureCredential:
    """An `AsyncTokenCredential` by client credentials."""

    async def get_token(self, *_scopes: str, **_options: object) -> AccessToken:
        """A token of the server, got anew each time."""
        return await asyncio.to_thread(_Sync().get_token)

    async def close(self) -> None:
        """Nothing to close."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_error: object) -> None:
        await self.close()
