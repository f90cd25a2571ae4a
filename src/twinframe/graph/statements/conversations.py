"""Conversations with a thread that holds a session of the store, for transactions of many steps.

A use case of a caller that reads or writes, and then decides what to do next, runs each step in the
thread, whose session or write function waits for the next one.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine
from queue import Empty, SimpleQueue
from typing import Any, Final, Generic, TypeVar, cast

from twinframe.errors import QueryTimeout, StorageBusy, TransactionOutdated
from twinframe.storage.base import GraphSession

S = TypeVar("S", bound=GraphSession)
T = TypeVar("T")

Publish = Callable[[T], None]
Step = Callable[[S, Publish[T]], T]
"""Runs in the session. It returns its answer, or publishes it and goes on."""

LEAST_WAIT: Final = 0.001


class _Discarded(Exception):
    """Ends a write function without its changes."""


class Conversation(Generic[S]):
    """Runs the steps of a client one by one in the session of a thread that waits for them.

    The thread calls `serve`. Use all else on the event loop.
    """

    def __init__(self, deadline: float) -> None:
        """The thread waits for the client until `deadline` of `time.monotonic`."""
        self.deadline = deadline
        self._loop = asyncio.get_running_loop()
        self._steps: SimpleQueue[tuple[Step[S, Any], asyncio.Future[Any]] | bool] = SimpleQueue()
        self._opened: asyncio.Future[None] = self._loop.create_future()
        self._held: asyncio.Task[Any] | None = None
        self._has_begun = False
        self._runs_step = False
        self._is_awaited = False

    def serve(self, session: S) -> None:
        """Run the steps until the client ends the transaction. Raises to take it back."""
        if self._has_begun:
            # NOTE: a store may run a write function again; the client has seen what it read.
            raise TransactionOutdated
        self._has_begun = True
        self._loop.call_soon_threadsafe(_resolve, self._opened, None)
        while True:
            step = self._wait()
            if isinstance(step, bool):
                if step:
                    return
                raise _Discarded
            self._runs_step = True
            function, future = step
            publish = _Publisher(self._loop, future)
            try:
                publish(function(session, publish))
            except Exception as error:  # noqa: BLE001  (raised where the client waits)
                self._loop.call_soon_threadsafe(_fail, future, error)
            self._runs_step = False
            del step, function, future, publish  # a thread that waits keeps no rows alive

    def _wait(self) -> tuple[Step[S, Any], asyncio.Future[Any]] | bool:
        left = self.deadline - time.monotonic()
        try:
            return self._steps.get(timeout=max(left, LEAST_WAIT))
        except Empty:
            raise QueryTimeout(
                "The transaction was open for longer than it may, and was rolled back."
            ) from None

    async def start(self, hold: Coroutine[Any, Any, Any]) -> None:
        """Wait until the thread has its session. `hold` has `serve` called; raises its errors."""
        self._held = held = asyncio.ensure_future(hold)
        held.add_done_callback(_look_at)
        await asyncio.wait((held, self._opened), return_when=asyncio.FIRST_COMPLETED)
        if not self._opened.done():
            held.result()
            raise StorageBusy("The transaction did not begin.")

    async def run(self, step: Step[S, T]) -> T:
        """Run a step, and return its answer or raise its error."""
        held = cast("asyncio.Task[Any]", self._held)
        future: asyncio.Future[T] = self._loop.create_future()
        future.add_done_callback(_look_at)
        self._is_awaited = True
        self._steps.put((step, future))
        await asyncio.wait((held, future), return_when=asyncio.FIRST_COMPLETED)
        self._is_awaited = False
        if not future.done():
            held.result()
            raise StorageBusy("The transaction has ended.")
        return future.result()

    async def commit(self) -> Any:
        """End it, and return the result of what held it. Raises if it could not be committed."""
        self._steps.put(True)
        return await asyncio.shield(cast("asyncio.Task[Any]", self._held))

    async def discard(self) -> None:
        """End it without its changes; a step that runs is interrupted, or left to end by itself."""
        held = self._held
        self._steps.put(False)
        if held is None or held.done():
            return
        if self._is_awaited or self._runs_step or not self._opened.done():
            held.cancel()
        else:
            await asyncio.wait((held,))


class _Publisher:
    """Gives the answer of a step once: the first one."""

    def __init__(self, loop: asyncio.AbstractEventLoop, future: asyncio.Future[Any]) -> None:
        self._loop = loop
        self._future = future
        self._is_done = False

    def __call__(self, answer: Any) -> None:
        if not self._is_done:
            self._is_done = True
            self._loop.call_soon_threadsafe(_resolve, self._future, answer)


def _resolve(future: asyncio.Future[Any], value: object) -> None:
    if not future.done():
        future.set_result(value)


def _fail(future: asyncio.Future[Any], error: Exception) -> None:
    if not future.done():
        future.set_exception(error)


def _look_at(held: asyncio.Future[Any]) -> None:
    """Take note of the error, so that asyncio does not report it if nobody asks any more."""
    if not held.cancelled():
        held.exception()
