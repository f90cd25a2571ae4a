"""An event loop in a thread of its own, on which code without one awaits use cases."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Coroutine
from concurrent.futures import CancelledError
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from typing import Any, Final, TypeVar

T = TypeVar("T")

_CLOSED: Final = "The graph is closed. Open it again."


class LoopThread:
    """Runs coroutines for any threads on one event loop, and what they need in contexts.

    It works in a thread whose own event loop is running, as in a notebook.
    """

    def __init__(self) -> None:
        self._process = os.getpid()
        self._changed = threading.Condition()
        self._calls = 0
        self._is_ended = False
        self._failure: BaseException | None = None
        self._loop: asyncio.AbstractEventLoop
        self._stop: asyncio.Event
        self._contexts: AsyncExitStack
        started = threading.Event()
        self._thread = threading.Thread(
            target=self._run, args=(started,), name="twinframe-graph", daemon=True
        )
        self._thread.start()
        started.wait()

    @property
    def is_ended(self) -> bool:
        """Whether it takes no more calls."""
        return self._is_ended

    def enter(self, context: AbstractAsyncContextManager[T]) -> T:
        """Enter a context on the loop, which `end` exits; raises as `call` does."""
        return self.call(self._contexts.enter_async_context(context))

    def call(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine and return its result, or raise its error.

        An interrupt of the waiting thread cancels it. Raises `ValueError` after `end`, and
        `RuntimeError` in a fork of the process and on the loop itself.
        """
        try:
            self._begin_call()
        except BaseException:
            coroutine.close()
            raise
        try:
            future = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
            try:
                return future.result()
            except CancelledError:
                raise ValueError(_CLOSED) from None
            except BaseException:
                future.cancel()
                raise
        finally:
            with self._changed:
                self._calls -= 1
                self._changed.notify_all()

    def end(self) -> None:
        """Take no more calls, wait for those that run, exit the contexts and end the thread.

        Raises the error of a context. Without effect in a fork, and when it is called again.
        """
        if os.getpid() != self._process:
            return
        with self._changed:
            if self._is_ended:
                return
            self._is_ended = True
            self._changed.wait_for(lambda: not self._calls)
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()
        if self._failure is not None:
            raise self._failure

    def release(self) -> None:
        """Let the thread end as `end` does, without waiting: nobody calls any more."""
        if os.getpid() == self._process and not self._is_ended:
            self._is_ended = True
            self._loop.call_soon_threadsafe(self._stop.set)

    def _begin_call(self) -> None:
        # NOTE: a fork has no such thread, and another one may have held the lock.
        if os.getpid() != self._process:
            raise RuntimeError(
                "The graph was opened by the process that forked this one. Open it here again."
            )
        if threading.current_thread() is self._thread:
            raise RuntimeError("This would wait on the event loop of the graph for itself.")
        with self._changed:
            if self._is_ended:
                raise ValueError(_CLOSED)
            self._calls += 1

    def _run(self, started: threading.Event) -> None:
        try:
            asyncio.run(self._serve(started))
        except BaseException as error:  # noqa: BLE001  (raised by `end`)
            self._failure = error

    async def _serve(self, started: threading.Event) -> None:
        self._loop = asyncio.get_running_loop()
        self._stop = asyncio.Event()
        async with AsyncExitStack() as self._contexts:
            started.set()
            await self._stop.wait()
