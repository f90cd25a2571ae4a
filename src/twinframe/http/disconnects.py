"""Cancellation of a request's work when its client leaves before the answer."""

from __future__ import annotations

import asyncio
from typing import Final, Self

from twinframe.http.errors import ClientDisconnected
from twinframe.http.exchange import Exchange

# PERF: a watching task costs more than a short query; shorter requests get none.
_PATIENCE: Final = 0.2


class DisconnectWatch:
    """Context manager that cancels the task in its body when the client of `exchange` leaves.

    The body must have read the whole request, and what it awaits must be safe to cancel.
    `ClientDisconnected` is then raised.
    """

    def __init__(self, exchange: Exchange) -> None:
        self._exchange = exchange
        self._has_left = False
        self._watch: asyncio.Task[None] | None = None

    def __enter__(self) -> Self:
        """Start watching the client after a delay."""
        self._task = asyncio.current_task()
        self._timer = asyncio.get_running_loop().call_later(_PATIENCE, self._start)
        return self

    def __exit__(self, kind: type[BaseException] | None, *_error: object) -> None:
        """Stop watching."""
        self._timer.cancel()
        if self._watch is not None:
            self._watch.cancel()
        if self._has_left and kind is asyncio.CancelledError and self._task is not None:
            self._task.uncancel()
            raise ClientDisconnected("The client left before it was answered.") from None

    def _start(self) -> None:
        self._watch = asyncio.get_running_loop().create_task(self._wait())

    async def _wait(self) -> None:
        await self._exchange.wait_for_disconnect()
        self._has_left = True
        if self._task is not None:
            self._task.cancel()
