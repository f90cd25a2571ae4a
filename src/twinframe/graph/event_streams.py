"""Use case of following events as they happen. It sends nothing: who follows takes each batch.

PERF: a follower holds no queue: it reads the outbox at its own pace, so a slow one costs one batch,
and one that comes back goes on where it was.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Final

from twinframe.errors import EventsDisabled, InvalidArgument, MemoryExhausted, TooManyStreams
from twinframe.events.event import Event
from twinframe.events.filters import Filter, build_filter
from twinframe.graph.context import GraphContext
from twinframe.graph.delivery.reading import MUCH, EventReader
from twinframe.instruments.base import Level
from twinframe.memory import Hold, Part
from twinframe.storage.base import GraphSession
from twinframe.storage.epochs import Epoch, read_epoch

_SHORTEST_LOOK: Final = 0.05
_LONGEST_LOOK: Final = 0.5
_PAUSE: Final = 0.5
_BREATH: Final = 0.02
_BATCH_BYTES: Final = 4 * 1024 * 1024
_FREE: Final = 64 * 1024
"""A batch of so many bytes is not charged: most have far less."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where somebody stands who follows: behind `position` of an `epoch`; None is none was named.

    Position 0 is the beginning of whatever there is.
    """

    position: int
    epoch: str | None = None

    def is_of(self, epoch: Epoch) -> bool:
        """Whether the position is one of this epoch. NOTE: those that name none are of clients of
        releases that had none: the first."""
        if self.position == 0:
            return True
        return epoch.is_first if self.epoch is None else self.epoch == epoch.id


@dataclass(frozen=True, slots=True)
class Followed:
    """What came: `events` that pass, and the position up to which all were looked at, all counted
    in the `epoch` of this id.

    `missed` events were forgotten before they could be read; None is nobody knows how many, as the
    graph was restored meanwhile. Nothing at all is a sign of life.
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
        self._turn = asyncio.Lock()

    def read_levels(self) -> Mapping[Level, float]:
        """How many follow."""
        return {Level.EVENT_STREAMS: self._open}

    def end(self) -> None:
        """Let all who follow come to an end; nobody may follow any more."""
        self._has_ended = True
        self._context.signal.set()

    @asynccontextmanager
    async def follow(
        self, filter_text: str | None, after: Place | None
    ) -> AsyncIterator[AsyncIterator[Followed]]:
        """Events behind the place `after`, without one those from now on, that pass the filter.

        Who saw another epoch, or more than there ever was, may have seen what a restore took back:
        the first that comes is a gap, then what happens from now on. NOTE: a refusal would have
        browsers give up for good.

        The iterator gives what came as it comes and, when nothing does for a while, an empty sign
        of life. Errors, before it begins: `EventRouteFilterInvalid`, `InvalidArgument`,
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
        size = MUCH  # nobody knows how much the first one brings
        while not self._has_ended:
            held = await self._reserve(size)
            if held is None:
                if loop.time() - told >= heartbeat:
                    yield Followed((), reader.position, epoch)
                    told = loop.time()
                continue
            with held:
                batch = await reader.read()
                size, has_read = batch.size, batch.read > 0
                held.shrink(held.size - size)
                made = [Followed(batch.events, batch.position, epoch, batch.missed)]
                is_due = bool(batch.events or batch.missed) or loop.time() - told >= heartbeat
                del batch  # it goes on its way, and nothing of it stays here
                if is_due:
                    yield made.pop()
                    told = loop.time()
            if has_read:
                look = _SHORTEST_LOOK
                await asyncio.sleep(0)
                continue
            with suppress(TimeoutError):
                async with asyncio.timeout(min(look, heartbeat)):
                    await self._context.signal.wait()
            look = min(look * 1.2, _LONGEST_LOOK)

    async def _reserve(self, size: int) -> Hold | None:
        """The memory for a batch when the last one had `size` bytes; None: there is none yet.

        Nothing is read before it can be kept. Followers of much take turns with all requests.
        """
        held = self._context.memory.hold(Part.ANSWERS)
        if size > _FREE:
            async with self._turn:
                await asyncio.sleep(_BREATH)
            try:
                held.grow(_BATCH_BYTES)
            except MemoryExhausted:
                await asyncio.sleep(_PAUSE)
                return None
        return held


def _read_present(session: GraphSession) -> tuple[Epoch, int]:
    """The epoch, and the last position that was given in it."""
    return read_epoch(session), session.read_event_bounds()[1]
