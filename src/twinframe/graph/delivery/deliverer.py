"""Delivers one route: from the outbox through its filter to its endpoint, storing its progress.

NOTE: progress is stored a few times a second, not for each event: after a crash the last events are
sent once more. Delivery is at least once.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Final, TypeVar

from twinframe.errors import EventRouteFilterInvalid, StorageError
from twinframe.graph.background.leases import Lease, delete_lease
from twinframe.graph.context.context import GraphContext, ServiceWrite
from twinframe.graph.delivery.dispatcher import KeyedDispatcher
from twinframe.graph.delivery.endpoints import Endpoints, EventForm, require_endpoint
from twinframe.graph.delivery.reading import EventReader, read_table_rows
from twinframe.graph.delivery.records import (
    DeadLetter,
    Progress,
    Route,
    Seen,
    delete_letter_again,
    is_same_delivery,
    put_dead_letter,
    put_failing,
    put_progress,
    put_seen,
    read_failing,
    read_letters_again,
    read_progress,
    read_progresses,
    read_route,
    read_seen,
)
from twinframe.graph.delivery.tables import TableDelivery
from twinframe.graph.events.event import Event
from twinframe.graph.events.filters import Filter, build_filter
from twinframe.graph.events.outbox import read_events
from twinframe.hooks.event_sinks.base import EndpointGone
from twinframe.hooks.event_sinks.tables import TableRow, TableSink
from twinframe.model.clock import render_update_time
from twinframe.runtime.instruments.base import Level, RouteStanding
from twinframe.runtime.leases import LeaseLost
from twinframe.settings.events import MOST_ROUTES
from twinframe.storage.base import GraphSession, GraphTransaction, WriteFunction

T = TypeVar("T")

_log = logging.getLogger(__name__)

WINDOW: Final = 4096
WINDOW_BYTES: Final = 16 * 1024 * 1024
"""The most events of a route in memory that are read and not settled; more are left in the
outbox.
"""
MOST_UNSETTLED: Final = 8 * WINDOW
"""The most such events, including those of which only the position is known."""

FLUSH_SECONDS: Final = 0.5
"""The seconds between two stores of a route's progress, while it changes."""

LASTING_SECONDS: Final = 30.0
"""How long an event must fail before that is stored: short failures are not stored."""

MOST_WAITING: Final = 1000
"""The most keys whose positions are stored.

If more wait, the events after the route's position come once more after a restart.
"""

_SHORTEST_LOOK: Final = 0.05
_LONGEST_LOOK: Final = 0.5
_LETTERS: Final = 100


class RouteKind:
    """Routes as background work: each is delivered by one worker at a time.

    `idle_seconds` is how long a delivery stays when there is nothing to send; None is for ever.
    `graph` is the id of a hosted graph.
    """

    name = "event-route"

    def __init__(
        self,
        context: GraphContext,
        endpoints: Endpoints,
        *,
        hosted: bool = False,
        idle_seconds: float | None = None,
        graph: str = "",
    ) -> None:
        self._context = context
        self._endpoints = endpoints
        self._hosted = hosted
        self._idle_seconds = idle_seconds
        self.graph = graph
        self._standings: Sequence[RouteStanding] = ()
        self._running: dict[str, RouteDelivery | TableDelivery] = {}

    def read_levels(self) -> Mapping[Level, float]:
        """Return how many events are in flight here, and how many routes cannot send now."""
        running = self._running.values()
        return {
            Level.EVENTS_UNSETTLED: sum(one.unsettled for one in running),
            Level.EVENT_ROUTES_FAILING: sum(bool(one.error) for one in running),
        }

    def list_failing(self) -> frozenset[str]:
        """Return the names of the deliveries of this worker whose endpoints accept nothing now."""
        running = self._running.items()
        return frozenset(f"{self.name}/{key}" for key, one in running if one.error)

    def read_standings(self) -> Sequence[RouteStanding]:
        """Return the progress of the routes about a second ago, whichever worker delivers them."""
        return self._standings

    def list_pending(self, session: GraphSession) -> Iterable[str]:
        """List the routes that have something to send; all of them where a delivery stays.

        PERF: it is called every second, so it also reads the progress of the routes for the
        metrics.
        """
        progresses = read_progresses(session, limit=MOST_ROUTES)
        _, last = session.read_event_bounds()
        self._standings = [
            RouteStanding(
                self.graph, route_id, max(last - at.position, 0), at.letters, bool(at.error)
            )
            for route_id, at in progresses
        ]
        return [
            route_id
            for route_id, at in progresses
            if not at.halted
            and (
                self._idle_seconds is None
                or at.position < last
                or read_letters_again(session, route_id, 1)
            )
        ]

    async def run(self, key: str, lease: Lease) -> None:
        """Deliver the route until it is deleted or has nothing to send.

        Of a deleted one nothing is left behind, not even the lease.
        """
        while await self._deliver(key, lease):
            continue

        def apply(transaction: GraphTransaction) -> None:
            lease.check(transaction)
            if read_route(transaction, key) is None:
                delete_lease(transaction, lease.name)

        if await self._context.runner.read(lambda session: read_route(session, key)) is None:
            await self._context.write(ServiceWrite(apply))

    async def _deliver(self, key: str, lease: Lease) -> bool:
        delivery = await self._build_delivery(key, lease)
        self._running[key] = delivery
        try:
            return await delivery.run()
        finally:
            del self._running[key]

    async def _build_delivery(self, key: str, lease: Lease) -> RouteDelivery | TableDelivery:
        context, idle_seconds = self._context, self._idle_seconds
        route = await context.runner.read(lambda session: read_route(session, key))
        if route is not None:
            endpoint = self._endpoints.find(route.endpoint_name, hosted=self._hosted)
            if endpoint is not None and isinstance(endpoint.sink, TableSink):
                return TableDelivery(context, endpoint, endpoint.sink, key, lease, idle_seconds)
        return RouteDelivery(context, self._endpoints, key, lease, self._hosted, idle_seconds)


@dataclass(slots=True)
class _State:
    """The stored state at the beginning of a delivery."""

    route: Route
    progress: Progress
    failing: Mapping[int, int]
    seen: Seen


class RouteDelivery:
    """One delivery of a route, as long as no caller changes route or progress."""

    def __init__(
        self,
        context: GraphContext,
        endpoints: Endpoints,
        route_id: str,
        lease: Lease,
        hosted: bool,
        idle_seconds: float | None,
    ) -> None:
        self._context = context
        self._endpoints = endpoints
        self._route_id = route_id
        self._lease = lease
        self._hosted = hosted
        self._idle_seconds = idle_seconds
        self.dispatcher = self._build_dispatcher({})
        self._letters: dict[int, None] = {}
        self._seen = Seen()
        self._position = 0
        self._lost = 0
        self._halted = False
        self._told = (0, 0, "", False)

    @property
    def unsettled(self) -> int:
        """The number of events that are read and neither delivered nor given up."""
        return self.dispatcher.unsettled

    @property
    def error(self) -> str:
        """The last error at the endpoint, empty when there is none now."""
        return self.dispatcher.error

    async def run(self) -> bool:
        """Deliver; return True to begin again, False when there is nothing left to do."""
        state = await self._context.runner.read(self._read_state)
        if state is None or state.progress.halted:
            return False
        self._state = state
        self._seen = state.seen
        self._position = state.progress.position
        self._told = (self._position, 0, state.progress.error, False)
        self.dispatcher = self._build_dispatcher(state.failing)
        passes = self._build_filter(state.route)
        serving = asyncio.create_task(self.dispatcher.run())
        feeding = asyncio.create_task(self._feed(passes))
        try:
            await asyncio.wait([serving, feeding], return_when=asyncio.FIRST_COMPLETED)
            if serving.done():
                serving.result()
            return feeding.result()
        except ExceptionGroup as group:  # of the tasks that send
            first = group.exceptions[0]
            if not isinstance(first, EndpointGone):
                raise first from group
            self._halted, self.dispatcher.error = True, first.message
            _log.error("The route %s is halted: %s", self._route_id, first.message)
            return False
        finally:
            await _end(feeding, serving)
            with suppress(LeaseLost, StorageError):
                await self._flush()

    def _build_dispatcher(self, failing: Mapping[int, int]) -> KeyedDispatcher:
        settings = self._context.settings.events
        return KeyedDispatcher(
            self._send,
            self._give_up,
            self._load,
            in_flight=settings.in_flight,
            patience=settings.retry_hours * 3600,
            clock=self._context.clock,
            failing=failing,
        )

    # --- reading --------------------------------------------------------------------------------

    async def _feed(self, passes: Filter | None) -> bool:
        """Keep the queues filled and the progress stored; return True if it must begin again."""
        loop = asyncio.get_running_loop()
        look, idle_since, flushed = _SHORTEST_LOOK, loop.time(), loop.time()
        await self._take_letters()
        reader = None if passes is None else EventReader(self._context, self._position, passes)
        while True:
            since = self._context.signal.count
            has_read = await self._read(reader)
            if has_read or self.dispatcher.unsettled:
                idle_since, look = loop.time(), _SHORTEST_LOOK
            if loop.time() - flushed >= FLUSH_SECONDS:
                if not await self._flush():
                    return True
                await self._take_letters()
                flushed = loop.time()
            if self._is_idle_since(idle_since):
                return False
            if not has_read:
                await self._pause(since, look)
                look = min(look * 1.2, _LONGEST_LOOK)

    @property
    def _is_full(self) -> bool:
        dispatcher = self.dispatcher
        return (
            dispatcher.unsettled - dispatcher.parked >= WINDOW
            or dispatcher.unsettled >= MOST_UNSETTLED
            or dispatcher.unsettled_bytes >= WINDOW_BYTES
        )

    def _is_idle_since(self, since: float) -> bool:
        if self._idle_seconds is None or self.dispatcher.unsettled or self._letters:
            return False
        return asyncio.get_running_loop().time() - since >= self._idle_seconds

    async def _read(self, reader: EventReader | None) -> bool:
        """Read on if there is room; return whether there was anything."""
        if reader is None or self._is_full:
            return False
        batch = await reader.read()
        if batch.missed:
            self._lose(batch.missed)
        self._position = reader.position
        for event in batch.events:
            if not self._seen.covers(event):
                self.dispatcher.add(event)
        if batch.read:
            await asyncio.sleep(0)
        return batch.read > 0

    def _lose(self, count: int) -> None:
        if not self._lost:  # otherwise it was logged a moment ago
            _log.error(
                "The route %s lost %d events: they were forgotten before they were delivered "
                "(Events__UndeliveredBytes).",
                self._route_id,
                count,
            )
        self._lost += count

    async def _load(self, position: int) -> Event | None:
        """Read again an event that passed the filter before."""
        found = await self._context.runner.read(
            lambda session: read_events(session, after=position - 1, limit=1)
        )
        for at, read in found:
            if at == position and read.text:
                return Event(at, read.key, read.text)
        self._lose(1)
        return None

    async def _pause(self, since: int, seconds: float) -> None:
        """Wait for a write after the count `since`, room in the queues, or some time."""
        if not self._is_full:
            await self._context.wait(since, seconds, heard=_LONGEST_LOOK)
            return
        self.dispatcher.settled.clear()
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self.dispatcher.settled.wait()

    async def _take_letters(self) -> None:
        """Read the dead letters that are to be sent again."""
        if self._letters:
            return
        letters = await self._context.runner.read(
            lambda session: read_letters_again(session, self._route_id, _LETTERS)
        )
        for letter in letters:
            self._letters[letter.position] = None
            self.dispatcher.add(letter.event, counted=False)

    # --- sending --------------------------------------------------------------------------------

    async def _send(self, event: Event) -> None:
        name = self._state.route.endpoint_name
        endpoint = require_endpoint(self._endpoints, name, hosted=self._hosted)
        rows: Sequence[TableRow] = ()
        if endpoint.form is EventForm.HISTORY:
            rows = await self._context.runner.read(lambda session: read_table_rows(session, event))
        await endpoint.send(event, rows)
        if event.position in self._letters:
            await self._write(
                lambda transaction: delete_letter_again(transaction, self._route_id, event.position)
            )
            del self._letters[event.position]

    async def _give_up(self, event: Event, reason: str, attempts: int) -> None:
        """Store it as a dead letter, before the progress passes it."""
        settings = self._context.settings.events
        text = event.text.decode()

        def apply(transaction: GraphTransaction) -> None:
            time = render_update_time(self._context.write_clock())
            letter = DeadLetter(event.position, event.key, text, reason, attempts, time)
            # otherwise of a route that was replaced, or recreated, since the last look
            if is_same_delivery(self._state, self._read_state(transaction)):
                put_dead_letter(transaction, self._route_id, letter, settings.max_dead_letters)

        await self._write(apply)
        self._letters.pop(event.position, None)
        _log.warning("The route %s gave up an event: %s", self._route_id, reason)

    # --- the place ------------------------------------------------------------------------------

    def _read_state(self, session: GraphSession) -> _State | None:
        route = read_route(session, self._route_id)
        progress = read_progress(session, self._route_id)
        if route is None or progress is None:
            return None
        failing = read_failing(session, self._route_id)
        return _State(route, progress, failing, read_seen(session, self._route_id))

    async def _flush(self) -> bool:
        """Store a changed progress; return False when a caller changed route or progress."""
        present = await self._context.runner.read(self._read_state)
        if not is_same_delivery(self._state, present):
            return False
        lowest = self.dispatcher.find_lowest()
        position = self._position if lowest is None else lowest - 1
        failing = self._find_failing(position)
        error = self._describe(failing)
        now = (position, self.dispatcher.delivered, error, self._halted)
        seen = self._build_seen(failing)
        before = self._state
        if (
            now == self._told
            and not self._lost
            and (failing, seen) == (before.failing, before.seen)
        ):
            return True
        delivered, lost = now[1] - self._told[1], self._lost

        def apply(transaction: GraphTransaction) -> bool:
            state = self._read_state(transaction)
            if state is None or not is_same_delivery(self._state, state):
                return False
            progress = replace(
                state.progress,
                position=position,
                delivered=state.progress.delivered + delivered,
                lost=state.progress.lost + lost,
                error=now[2],
                halted=self._halted,
            )
            put_progress(transaction, self._route_id, progress)
            if failing != state.failing:
                put_failing(transaction, self._route_id, failing)
            if seen != state.seen:
                put_seen(transaction, self._route_id, seen)
            return True

        if not await self._write(apply):
            return False
        self._told = now
        self._lost -= lost
        self._state.failing, self._state.seen = failing, seen
        return True

    def _describe(self, failing: Mapping[int, int]) -> str:
        """Describe the failure: the endpoint accepts nothing, or refuses some events for long."""
        if not failing or self.dispatcher.is_down:
            return self.dispatcher.error
        return (
            f"Events that are not taken for long: {len(failing)}, the oldest at position "
            f"{min(failing)}. {self.dispatcher.last_failure}".rstrip()
        )

    def _find_failing(self, position: int) -> dict[int, int]:
        """Return the events that have failed long enough to be remembered after a restart."""
        before = self._context.clock() - int(LASTING_SECONDS * 1e9)
        return {
            at: since
            for at, since in self.dispatcher.failing.items()
            if since <= before and (at > position or at in self._letters)
        }

    def _build_seen(self, failing: Mapping[int, int]) -> Seen:
        """Return what is done beyond the stored position, when events that fail for long keep it
        there, or the route is halted.

        NOTE: without it a restart would send again all events since the first of them, and the
        event that the route gave up when its endpoint was gone.
        """
        old, keys = self._seen, self.dispatcher.find_waiting()
        if self._position < old.position:  # the events before the restart are being read again
            unread = self._position + 1
            keys = {**{key: max(at, unread) for key, at in old.keys.items()}, **keys}
        elif not (failing or self._halted):
            return Seen()
        return (
            Seen(max(self._position, old.position), keys) if len(keys) <= MOST_WAITING else Seen()
        )

    async def _write(self, function: WriteFunction[T]) -> T:
        """Run a write function, without effect once another worker holds the lease."""
        return await self._context.write(self._lease.guard(function))

    def _build_filter(self, route: Route) -> Filter | None:
        """Return the route's filter; None, to send nothing, for one of a newer release."""
        try:
            return build_filter(route.filter)
        except EventRouteFilterInvalid as error:
            self.dispatcher.error = f"The filter is not known to this release: {error.message}"
            _log.error("The route %s: %s", route.id, self.dispatcher.error)
            return None


async def _end(*tasks: asyncio.Task[Any]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)
