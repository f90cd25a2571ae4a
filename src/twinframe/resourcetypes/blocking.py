"""Blocking calls of handlers in threads. It is no pool and sets no time limit."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


async def run_blocking(call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run `call` in a thread; when cancelled, end only when it has ended.

    A handler that went away from its thread would let the next one begin beside it.
    """
    running = asyncio.ensure_future(asyncio.to_thread(call, *args, **kwargs))
    cancelled: asyncio.CancelledError | None = None
    while not running.done():
        try:
            await asyncio.wait([running])
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        running.exception()  # it is looked at, so that nobody warns of it
        raise cancelled
    return running.result()
