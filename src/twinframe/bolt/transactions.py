"""Explicit transactions: conversations with a thread that holds a session of the store.

A transaction reads one snapshot. At its first statement that writes it becomes a write function,
if no other has changed the graph since: all that it has read still holds then. Otherwise it ends
with an error that drivers answer by running it again.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Mapping
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any, Final, Generic, TypeVar, cast

from twinframe.bolt.failures import Outdated
from twinframe.bolt.graphs import Database
from twinframe.bolt.results import RECORDS, Result, build_records
from twinframe.errors import QueryTimeout, StorageBusy
from twinframe.graph.context.context import GraphContext
from twinframe.graph.statements.statements import Prepared, StatementResult
from twinframe.model.values import JsonValue
from twinframe.storage.base import GraphSession, GraphTransaction

S = TypeVar("S", bound=GraphSession)
T = TypeVar("T")

Publish = Callable[[T], None]
Step = Callable[[S, Publish[T]], T]
"""Runs in the session. It returns its answer, or publishes it and goes on."""

_LEAST_WAIT: Final = 0.001


class _Discarded(Exception):
    """Ends a write function without its changes."""


class Conversation(Generic[S]):
    """Runs the steps of a client one by one in the session of a thread that waits for them.

    The thread calls `serve`. Use all else on the event loop.
    """

    def __init__(self, deadline: float) -> None:
        """The thread waits for the client until `deadline` of `time.monotonic`."""
        self._deadline = deadline
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
            raise Outdated
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
        left = self._deadline - time.monotonic()
        try:
            return self._steps.get(timeout=max(left, _LEAST_WAIT))
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


class Transaction:
    """A transaction of a client, over a graph in use. Use it from one task."""

    def __init__(self, database: Database, deadline: float, write_seconds: float) -> None:
        """It may be open until `deadline` of `time.monotonic`, and keep other writers waiting for
        `write_seconds`.
        """
        self.database = database
        self._deadline = deadline
        self._write_seconds = write_seconds
        self._reading: Conversation[GraphSession] | None = None
        self._writing: Conversation[GraphTransaction] | None = None
        self._context: GraphContext | None = None

    @property
    def writes(self) -> bool:
        """Whether it has become a write function: `run_statement` runs all texts then."""
        return self._writing is not None

    async def run_query(
        self, text: str, parameters: Mapping[str, JsonValue], page_size: int
    ) -> Result:
        """Run a query in the snapshot."""
        queries = self.database.graph.queries
        step = await queries.prepare_in(text, parameters, page_size, RECORDS, self._deadline)
        page = await (await self._open_reading()).run(step)
        return Result.of_page(page, partial(queries.run, None, None))

    async def run_statement(self, prepared: Prepared) -> Result:
        """Run a statement, in the write function if it writes."""
        statements = self.database.graph.statements
        if prepared.prefix:
            found = await statements.run(prepared)
            return Result.of_statement(found, build_records(found), writes=False)
        if not prepared.writes and self._writing is None:

            def read(session: GraphSession, _: object) -> tuple[StatementResult, list[bytes]]:
                found = statements.read(prepared, session)
                return found, build_records(found)

            return Result.of_statement(*await (await self._open_reading()).run(read), writes=False)

        def write(transaction: GraphTransaction, _: object) -> tuple[StatementResult, list[bytes]]:
            found = statements.apply(prepared, transaction, self._context)
            return found, build_records(found)

        answer = await (await self._open_writing()).run(write)
        return Result.of_statement(*answer, writes=prepared.writes)

    async def commit(self) -> int | None:
        """Keep what was written; return the position of the last change, None if it only read."""
        writing = self._writing
        await self._end_reading()
        if writing is None:
            return None
        _, position = await writing.commit()
        self._writing = None
        return cast("int", position)

    async def discard(self) -> None:
        """Take back what was written, if it is open."""
        writing, self._writing = self._writing, None
        await self._end_reading()
        if writing is not None:
            await writing.discard()

    async def _open_reading(self) -> Conversation[GraphSession]:
        if self._reading is None:
            statements = self.database.graph.statements
            self._reading = reading = Conversation[GraphSession](self._deadline)
            seconds = max(self._deadline - time.monotonic(), _LEAST_WAIT)
            await reading.start(statements.hold_session(reading.serve, seconds))
        return self._reading

    async def _end_reading(self) -> None:
        reading, self._reading = self._reading, None
        if reading is not None:
            await reading.discard()

    async def _open_writing(self) -> Conversation[GraphTransaction]:
        if self._writing is not None:
            return self._writing
        position: int | None = None
        if self._reading is not None:
            position = await self._reading.run(lambda session, _: session.read_event_bounds()[1])
            await self._end_reading()
        deadline = min(self._deadline, time.monotonic() + self._write_seconds)
        writing = Conversation[GraphTransaction](deadline)

        def write(transaction: GraphTransaction, context: GraphContext) -> None:
            if position is not None and transaction.read_event_bounds()[1] != position:
                raise Outdated
            self._context = context
            writing.serve(transaction)

        self._writing = writing
        statements = self.database.graph.statements
        await writing.start(statements.write(write, alone=True))
        return writing
