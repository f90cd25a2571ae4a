"""The use case of following events as they happen: an iterator of batches for each follower.

PERF: a follower holds no queue: it reads the outbox at its own pace, so a slow one costs one batch,
and one that comes back continues where it was.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final

from twinframe.errors import EventsDisabled, InvalidArgument, MemoryExhausted, TooManyStreams
from twinframe.graph.context.context import GraphContext
from twinframe.graph.delivery.reading import MUCH, EventReader
from twinframe.graph.events.event import Event
from twinframe.graph.events.filters import Filter, build_filter
from twinframe.runtime.instruments.base import Level
from twinframe.runtime.memory import Hold, Part
from twinframe.storage.base import GraphSession
from twinframe.storage.epochs import Epoch, read_epoch

_SHORTEST_LOOK: Final = 0.05
_LONGEST_LOOK: Final = 0.5
_PAUSE: Final = 0.5
_YIELD_SECONDS: Final = 0.02
_BATCH_BYTES: Final = 4 * 1024 * 1024
_FREE: Final = 64 * 1024
"""A batch up to this many bytes is not charged: most have far less."""
_READERS: Final = 2
"""The number of a worker's followers that read at one time, so that other reads need not wait."""


@dataclass(frozen=True, slots=True)
class StreamPosition:
    """The position of a follower: after `position` of an `epoch`; None is none was given.

    Position 0 is the beginning of all kept events.
    """

    position: int
    epoch: str | None = None

    def is_of(self, epoch: Epoch) -> bool:
        """Return whether the position is one of this epoch.

        NOTE: positions without an epoch come from clients of releases that had none: the first
        epoch.
        """
        if self.position == 0:
            return True
        return epoch.is_first if self.epoch is None else self.epoch == epoch.id


@dataclass(frozen=True, slots=True)
class Followed:
    """One batch: `events` that pass, and the position up to which all were filtered, all counted in
    the `epoch` of this id.

    `missed` events were deleted before they could be read; None if unknown, because the graph was
    restored meanwhile. An empty batch is a sign of life.
    """

    events: Sequence[Event]
    position: int
    epoch: str
    missed: int | None = 0


class EventStreams:
    """Following the events of a graph."""

    def __init__(self, context: GraphContext) -> None:
        self._context = context
        self._open = 0
        self._has_ended = False
        self._lock = asyncio.Lock()
        self._reading = asyncio.Semaphore(_READERS)
        self._looking: asyncio.Task[int] | None = None
        self._looked = 0

    def read_levels(self) -> Mapping[Level, float]:
        """Return the number of followers."""
        return {Level.EVENT_STREAMS: self._open}

    def end(self) -> None:
        """End all followers; no new one is accepted."""
        self._has_ended = True
        self._context.signal.set()

    @asynccontextmanager
    async def follow(
        self, filter_text: str | None, after: StreamPosition | None
    ) -> AsyncIterator[AsyncIterator[Followed]]:
        """Yield events after the place `after`, without one those from now on, that pass the
        filter.

        A follower of another epoch, or of a position beyond the last, may have seen events that a
        restore took back: its first batch is a gap, then events from now on. NOTE: after a refusal
        browsers would give up for good.

        The iterator yields batches as events come and, when there are none for a while, an empty
        sign of life. Errors, before it begins: `EventRouteFilterInvalid`, `InvalidArgument`,
        `TooManyStreams`, `EventsDisabled`.
        """
        settings = self._context.settings.events
        if not settings.enabled:
            raise EventsDisabled("This service keeps no events (Events__Enabled=false).")
        passes = None if filter_text is None else build_filter(filter_text)
        epoch, last = await self._context.runner.read(_read_present)
        start = last if after is None else after.position
        if start < 0:
            raise InvalidArgument("Last-Event-ID is a whole number from 0 up.")
        if self._open >= settings.max_streams:
            raise TooManyStreams(
                f"{settings.max_streams} clients follow events at this worker already "
                "(Events__MaxStreams); try again."
            )
        went_back = start > last or not (after is None or after.is_of(epoch))
        self._open += 1
        try:
            yield self._follow(passes, last if went_back else start, epoch.id, went_back=went_back)
        finally:
            self._open -= 1

    async def _follow(
        self, passes: Filter | None, position: int, epoch: str, *, went_back: bool
    ) -> AsyncIterator[Followed]:
        if went_back:
            yield Followed((), position, epoch, None)
        loop = asyncio.get_running_loop()
        heartbeat = self._context.settings.events.heartbeat
        told, look = loop.time(), _SHORTEST_LOOK
        reader = EventReader(self._context, position, passes)
        size = MUCH  # the size of the first batch is unknown
        while not self._has_ended:
            since = self._context.signal.count
            held = await self._reserve(size)
            if held is None:
                if loop.time() - told >= heartbeat:
                    yield Followed((), reader.position, epoch)
                    told = loop.time()
                continue
            with held:
                async with self._reading:
                    batch = await reader.read()
                size, has_read = batch.size, batch.read > 0
                held.shrink(held.size - size)
                made = [Followed(batch.events, batch.position, epoch, batch.missed)]
                is_due = bool(batch.events or batch.missed) or loop.time() - told >= heartbeat
                del batch  # the caller has it; no reference is kept here
                if is_due:
                    yield made.pop()
                    told = loop.time()
            if has_read:
                look = _SHORTEST_LOOK
                await asyncio.sleep(0)
                continue
            while loop.time() - told < heartbeat:
                longest = min(_LONGEST_LOOK, heartbeat)
                is_told = await self._context.wait(since, min(look, heartbeat), heard=longest)
                look = _SHORTEST_LOOK if is_told else min(look * 1.2, _LONGEST_LOOK)
                has_more, since = await self._look(reader.position)
                if has_more:
                    break

    async def _look(self, position: int) -> tuple[bool, int]:
        """Return whether there is something to read, and the count of the signal before.

        One read serves all who wait.

        PERF: 150 followers with a read each kept a store of triples busy all the time, and other
        clients waited for more than a second.
        """
        if self._has_ended:
            return True, 0
        if self._looking is None or self._looking.done():
            self._looked = self._context.signal.count
            self._looking = asyncio.ensure_future(self._context.runner.read(_read_last))
        since = self._looked
        return await asyncio.shield(self._looking) > position, since

    async def _reserve(self, size: int) -> Hold | None:
        """Reserve memory for a batch like the last one, of `size` bytes; None: none is free.

        Nothing is read before it can be kept. Followers of large batches take turns with all
        requests.
        """
        held = self._context.memory.hold(Part.ANSWERS)
        if size > _FREE:
            async with self._lock:
                await asyncio.sleep(_YIELD_SECONDS)
            try:
                held.grow(_BATCH_BYTES)
            except MemoryExhausted:
                await asyncio.sleep(_PAUSE)
                return None
        return held


def _read_last(session: GraphSession) -> int:
    return session.read_event_bounds()[1]


def _read_present(session: GraphSession) -> tuple[Epoch, int]:
    """Return the epoch, and the last position in it."""
    return read_epoch(session), session.read_event_bounds()[1]
