"""Shares one asynchronous call between callers that want the same answer.

A caller may only be given an answer that is new enough for it. An answer may have been made at any
moment since its call began, so the beginning of a call, not its end, decides which callers may join
it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from twinframe_auth_api.errors import AnswerRefusedError

T = TypeVar("T")


@dataclass(slots=True, eq=False)
class _Flight(Generic[T]):
    """One call: under way since `begun`, or None while it waits for the one before it."""

    begun: float | None = None
    task: asyncio.Task[T] = field(init=False)


class Flights(Generic[T]):
    """Runs at most one call for a key at a time, with at most one more waiting for its end.

    A caller joins a call that has not begun, or has begun less than `max_age` seconds ago; with
    `max_age` 0 no caller gets an answer of a call that began before the caller came. Cancelling a
    caller does not cancel the call for the others.
    """

    def __init__(
        self,
        call: Callable[[str], Awaitable[T]],
        max_age: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._call = call
        self._max_age = max_age
        self._clock = clock
        self._last: dict[str, _Flight[T]] = {}
        self._tasks: set[asyncio.Task[T]] = set()
        self._closed = False

    async def join(self, key: str) -> T:
        """Return the answer of a call for `key`. Raises `AnswerRefusedError` for any error of the
        call.

        NOTE: the task's error is read instead of awaited, so even an unforeseen error refuses the
        caller instead of breaking its request. The original error is chained, for the log.
        """
        if self._closed:
            raise AnswerRefusedError("the provider is closed")
        flight = self._last.get(key)
        if flight is None or not self._takes(flight):
            flight = self._launch(key, flight)
        await asyncio.wait((flight.task,))
        if flight.task.cancelled():
            raise AnswerRefusedError("the provider was closed meanwhile")
        error = flight.task.exception()
        if error is not None:
            reason = str(error) if isinstance(error, AnswerRefusedError) else repr(error)
            raise AnswerRefusedError(reason) from error
        return flight.task.result()

    async def close(self) -> None:
        """Cancel all calls. Waiting callers are refused, as are all later ones."""
        self._closed = True
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks.copy())

    def _takes(self, flight: _Flight[T]) -> bool:
        return flight.begun is None or self._clock() - flight.begun < self._max_age

    def _launch(self, key: str, before: _Flight[T] | None) -> _Flight[T]:
        flight = _Flight[T]()
        self._last[key] = flight
        flight.task = asyncio.create_task(self._fly(key, flight, before))
        self._tasks.add(flight.task)
        flight.task.add_done_callback(lambda task: self._land(key, flight, task))
        return flight

    async def _fly(self, key: str, flight: _Flight[T], before: _Flight[T] | None) -> T:
        if before is not None:
            await asyncio.wait((before.task,))
        flight.begun = self._clock()
        return await self._call(key)

    def _land(self, key: str, flight: _Flight[T], task: asyncio.Task[T]) -> None:
        self._tasks.discard(task)
        if self._last.get(key) is flight:
            del self._last[key]
        if not task.cancelled():
            task.exception()  # read, so that asyncio does not report it when all callers have gone
