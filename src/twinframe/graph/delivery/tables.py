"""Delivers one route to an endpoint that stores rows of tables: many events at a time, in order.

The name under which rows are stored, and which events they are of, is stored before them. After a
crash the same rows are stored under the same name again, so each event is stored exactly once.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Collection
from dataclasses import dataclass, field, replace
from typing import Final, TypeVar

from twinframe.errors import EventRouteFilterInvalid
from twinframe.graph.background.leases import Lease
from twinframe.graph.context.context import GraphContext
from twinframe.graph.delivery.endpoints import Endpoint
from twinframe.graph.delivery.reading import (
    BATCH,
    MUCH,
    EventBatch,
    build_read,
    read_table_rows,
)
from twinframe.graph.delivery.records import (
    Progress,
    Route,
    TableBatch,
    delete_letter_again,
    is_same_delivery,
    put_progress,
    put_table_batch,
    read_letters_again,
    read_progress,
    read_route,
    read_table_batch,
)
from twinframe.graph.events.event import Event
from twinframe.graph.events.filters import Filter, build_filter
from twinframe.hooks.event_sinks.base import DeliveryFailed, DeliveryRefused, EndpointGone
from twinframe.hooks.event_sinks.tables import TableRow, TableSink
from twinframe.runtime.backoff import Backoff
from twinframe.storage.base import GraphSession, GraphTransaction, WriteFunction

T = TypeVar("T")

_log = logging.getLogger(__name__)

MOST_SIZE: Final = 32 * 1024 * 1024
"""Characters of rows after which they are stored, however few they are.

SEC: a change of some bytes may be a row of a megabyte, of the whole property.
"""

_LOOK_SECONDS: Final = 0.5
"""Seconds between two looks whether a caller changed the route, and between two looks for events
that another worker recorded.
"""
_FIRST_PAUSE: Final = 0.2
_LONGEST_PAUSE: Final = 30.0
_LETTERS: Final = 100


@dataclass(slots=True)
class _Collected:
    """Rows that are not stored yet, and what they are of."""

    since: float = 0.0
    rows: list[TableRow] = field(default_factory=list)
    letters: list[int] = field(default_factory=list)
    events: int = 0
    size: int = 0
    lost: int = 0


@dataclass(frozen=True, slots=True)
class _State:
    """What is stored of the route at the beginning."""

    route: Route
    progress: Progress
    batch: TableBatch | None


class TableDelivery:
    """One delivery of a route, as long as no caller changes route or progress.

    An endpoint that fails is tried again for as long as it takes: no event becomes a dead letter.
    """

    def __init__(
        self,
        context: GraphContext,
        endpoint: Endpoint,
        sink: TableSink,
        route_id: str,
        lease: Lease,
        idle_seconds: float | None,
    ) -> None:
        self._context = context
        self._endpoint = endpoint
        self._sink = sink
        self._route_id = route_id
        self._lease = lease
        self._idle_seconds = idle_seconds
        self._collected = _Collected()
        self._position = 0
        self._limit = 1
        self.error = ""

    @property
    def unsettled(self) -> int:
        """The number of events that are read and not stored."""
        return self._collected.events

    async def run(self) -> bool:
        """Deliver; return True to begin again, False when there is nothing left to do."""
        state = await self._context.runner.read(self._read_state)
        if state is None or state.progress.halted:
            return False
        self._state = state
        self._position = state.progress.position
        try:
            passes = build_filter(state.route.filter)
        except EventRouteFilterInvalid as error:
            self.error = f"The filter is not known to this release: {error.message}"
            return await self._wait_for_change()
        if state.batch is not None and not await self._store_again(state.batch, passes):
            return True
        return await self._feed(passes)

    # --- reading --------------------------------------------------------------------------------

    async def _feed(self, passes: Filter) -> bool:
        """Collect rows and store them; return True if it must begin again."""
        loop = asyncio.get_running_loop()
        idle_since = looked = loop.time()
        while True:
            since = self._context.signal.count
            has_read = not self._is_full and await self._read(passes)
            now = loop.time()
            collected = self._collected
            if has_read or collected.rows:
                idle_since = now
            if self._is_full or (collected.rows and now - collected.since >= self._sink.seconds):
                letters = tuple(collected.letters)
                batch = TableBatch(self._build_name(), self._position, letters)
                if not (await self._begin(batch) and await self._store(batch)):
                    return True
            elif now - looked >= _LOOK_SECONDS:
                looked = now
                if not await self._look():
                    return True
            elif self._idle_seconds is not None and now - idle_since >= self._idle_seconds:
                return False
            elif not has_read:
                await self._pause(since)

    async def _store_again(self, batch: TableBatch, passes: Filter) -> bool:
        """Store what was being stored when a delivery ended; return False to begin again."""
        await self._take_letters(batch.letters)
        while self._position < batch.position and await self._read(passes, batch.position):
            continue
        self._position = batch.position  # also if events up to it are no longer stored
        return await self._store(batch)

    @property
    def _is_full(self) -> bool:
        return len(self._collected.rows) >= self._sink.rows or self._collected.size >= MOST_SIZE

    async def _read(self, passes: Filter, until: int | None = None) -> bool:
        """Collect the rows of some more events, up to a position; return whether any was read."""
        read = build_read(self._context.models, self._position, passes, self._limit)

        def read_rows(session: GraphSession) -> tuple[EventBatch, int, list[TableRow]]:
            batch = read(session)
            events = [one for one in batch.events if until is None or one.position <= until]
            rows = [row for event in events for row in read_table_rows(session, event)]
            return batch, len(events), rows

        batch, events, rows = await self._context.runner.read(read_rows)
        self._position = batch.position if until is None else min(batch.position, until)
        self._limit = max(self._limit // 2, 1) if batch.size > MUCH else min(self._limit * 2, BATCH)
        self._lose(batch.missed)
        self._collect(rows, events)
        await asyncio.sleep(0)
        return batch.read > 0

    def _collect(self, rows: list[TableRow], events: int) -> None:
        collected = self._collected
        if rows and not collected.rows:
            collected.since = asyncio.get_running_loop().time()
        collected.rows += rows
        collected.events += events
        collected.size += sum(row.size for row in rows)

    def _lose(self, count: int) -> None:
        if count and not self._collected.lost:
            _log.error(
                "The route %s lost %d events: they were forgotten before they were delivered "
                "(Events__UndeliveredBytes).",
                self._route_id,
                count,
            )
        self._collected.lost += count

    async def _take_letters(self, only: Collection[int] | None = None) -> None:
        """Collect the dead letters that are to be sent again, of an endpoint before this one."""
        if self._collected.letters:
            return

        def read(session: GraphSession) -> tuple[list[Event], list[TableRow]]:
            letters = read_letters_again(session, self._route_id, _LETTERS)
            events = [one.event for one in letters if only is None or one.position in only]
            return events, [row for event in events for row in read_table_rows(session, event)]

        events, rows = await self._context.runner.read(read)
        self._collected.letters = [event.position for event in events]
        self._collect(rows, len(events))

    async def _pause(self, since: int) -> None:
        """Wait for a write after the count `since`, or some time."""
        seconds = _LOOK_SECONDS
        if self._collected.rows:
            seconds = min(seconds, self._sink.seconds)
        await self._context.wait(since, seconds)

    # --- storing --------------------------------------------------------------------------------

    def _build_name(self) -> str:
        """Build a name that is never given again, also not after a restore or a replay."""
        return (
            f"{self._state.progress.position + 1:012d}-{self._position:012d}-{secrets.token_hex(6)}"
        )

    async def _begin(self, batch: TableBatch) -> bool:
        """Store what is about to be stored; return False when a caller changed the route."""

        def apply(transaction: GraphTransaction) -> bool:
            if not is_same_delivery(self._state, self._read_state(transaction)):
                return False
            put_table_batch(transaction, self._route_id, batch)
            return True

        return await self._write(apply)

    async def _store(self, batch: TableBatch) -> bool:
        """Store the collected rows and that they are stored; return False to begin again."""
        attempts = 0
        while self._collected.rows:
            try:
                await self._endpoint.write(batch.name, self._collected.rows)
                break
            except (DeliveryFailed, DeliveryRefused, EndpointGone) as error:
                attempts += 1
                self.error = str(getattr(error, "public", error.message))
            if not await self._keep(self._state.progress):
                return False
            pause = Backoff(_FIRST_PAUSE, _LONGEST_PAUSE).build_pause(attempts)
            if not await self._wait(pause):
                return False
        self.error = ""
        return await self._finish()

    async def _finish(self) -> bool:
        done = self._collected
        before = self._state.progress
        progress = replace(
            before,
            position=self._position,
            delivered=before.delivered + done.events,
            lost=before.lost + done.lost,
        )
        if not await self._keep(progress, done.letters, is_done=True):
            return False
        self._collected = _Collected()
        await self._take_letters()
        return True

    async def _look(self) -> bool:
        """Store that events without rows are done; return False when a caller changed the route."""
        if self._collected.rows:
            return is_same_delivery(self._state, await self._context.runner.read(self._read_state))
        if self._position != self._state.progress.position or self._collected.letters:
            return await self._finish()
        await self._take_letters()
        return is_same_delivery(self._state, await self._context.runner.read(self._read_state))

    async def _keep(
        self, progress: Progress, letters: list[int] | None = None, *, is_done: bool = False
    ) -> bool:
        """Store the progress and the error; return False when a caller changed the route."""
        progress = replace(progress, error=self.error)
        if progress == self._state.progress and not is_done:
            return True

        def apply(transaction: GraphTransaction) -> Progress | None:
            state = self._read_state(transaction)
            if state is None or not is_same_delivery(self._state, state):
                return None
            # Another worker may have counted dead letters meanwhile.
            changed = replace(progress, letters=state.progress.letters, dead=state.progress.dead)
            put_progress(transaction, self._route_id, changed)
            if is_done:
                put_table_batch(transaction, self._route_id, None)
            for position in letters or ():
                delete_letter_again(transaction, self._route_id, position)
            return changed

        changed = await self._write(apply)
        if changed is None:
            return False
        self._state = replace(self._state, progress=changed)
        return True

    async def _wait(self, seconds: float) -> bool:
        """Wait; return False as soon as a caller changed the route."""
        loop = asyncio.get_running_loop()
        end = loop.time() + seconds
        while (left := end - loop.time()) > 0:
            await asyncio.sleep(min(left, _LOOK_SECONDS))
            if not is_same_delivery(self._state, await self._context.runner.read(self._read_state)):
                return False
        return True

    async def _wait_for_change(self) -> bool:
        """Send nothing until a caller changes the route."""
        if not await self._keep(self._state.progress):
            return True
        while await self._wait(_LOOK_SECONDS):
            continue
        return True

    def _read_state(self, session: GraphSession) -> _State | None:
        route = read_route(session, self._route_id)
        progress = read_progress(session, self._route_id)
        if route is None or progress is None:
            return None
        return _State(route, progress, read_table_batch(session, self._route_id))

    async def _write(self, function: WriteFunction[T]) -> T:
        """Run a write function, without effect once another worker holds the lease."""
        return await self._context.write(self._lease.guard(function))
