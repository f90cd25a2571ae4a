"""Runs blocking calls of handlers in threads, without a pool or a time limit."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


async def run_blocking(call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run `call` in a thread; when cancelled, end only after it has ended.

    Otherwise the next handler could begin while the thread is still running.
    """
    running = asyncio.ensure_future(asyncio.to_thread(call, *args, **kwargs))
    cancelled: asyncio.CancelledError | None = None
    while not running.done():
        try:
            await asyncio.wait([running])
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        running.exception()  # read, so that asyncio does not warn about it
        raise cancelled
    return running.result()
