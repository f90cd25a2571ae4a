"""Sends events in order per key, several keys at a time, and retries failed ones.

The owner supplies functions that send an event and receive its outcome.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from twinframe.graph.events.event import Event
from twinframe.hooks.event_sinks.base import DeliveryFailed, DeliveryRefused, EndpointGone
from twinframe.model.clock import Clock, read_clock
from twinframe.runtime.backoff import Backoff

FIRST_PAUSE: Final = 0.2
LONGEST_PAUSE: Final = 60.0
"""The longest pause of an event that fails while the endpoint accepts others."""
LONGEST_PROBE: Final = 5.0
"""Seconds between two checks whether an endpoint that gives no answer at all is back."""

HELD: Final = 64
HELD_BYTES: Final = 16 * 1024
"""The most events of one queue in memory, and the most bytes of each; the first may have more.

Of the others only the position is kept.
"""

Send = Callable[[Event], Awaitable[None]]
GiveUp = Callable[[Event, str, int], Awaitable[None]]
"""Called with the event, the reason and the number of attempts."""
Load = Callable[[int], Awaitable[Event | None]]
"""Reads the event at a position again; None when it was deleted."""


@dataclass(slots=True)
class _Pending:
    """`answers` is the endpoint's count of answers when this failed last; `alone` is how often it
    failed though the endpoint had answered others since.
    """

    event: Event
    attempts: int = 0
    answers: int = 0
    alone: int = 0


class KeyedDispatcher:
    """Has one queue of events per key, and sends the next of a queue once the last is settled.

    `in_flight` queues are served at a time. An event that fails stays the first of its queue and is
    retried after ever longer pauses: up to a minute while the endpoint accepts other events, up to
    some seconds while it does not answer. If the events of several queues all fail, the endpoint is
    tried with one event at a time, each time of another queue, first of those that have not failed.
    When it answers again, all waiting queues continue at once.

    An event that is refused, or fails for `patience` seconds, is given up. An endpoint that is gone
    ends `run` with `EndpointGone`: the event that revealed it is given up, all others in flight
    stay in their queues. A queue holds few events in memory; of those further back it has only the
    position (`parked`), and loads each when it is the first. So a queue that waits takes no memory
    from others.

    `failing` has the time, by `clock`, at which the event at a position first failed, also of
    events that are added later: patience outlives the process. NOTE: hence it is wall time. A clock
    that is set ahead makes events be given up early; they are then dead letters.
    """

    def __init__(
        self,
        send: Send,
        give_up: GiveUp,
        load: Load,
        *,
        in_flight: int,
        patience: float,
        clock: Clock = read_clock,
        failing: Mapping[int, int] | None = None,
    ) -> None:
        self._send = send
        self._give_up = give_up
        self._load = load
        self._in_flight = in_flight
        self._patience = patience * 1e9
        self._clock = clock
        self.failing = dict(failing or {})
        self._queues: dict[str, deque[_Pending | int]] = {}
        self._ready: asyncio.Queue[str] = asyncio.Queue()
        self._open: dict[int, None] = {}
        self._timers: set[asyncio.TimerHandle] = set()
        self._waiting: dict[str, asyncio.TimerHandle] = {}
        self._answers = 0
        self._failures = 0
        self._failed: set[str] = set()
        self._probes = 0
        self._probe = asyncio.Lock()
        self._begun = asyncio.Event()
        self._is_gone = False
        self.settled = asyncio.Event()
        self.unsettled_bytes = 0
        self.parked = 0
        self.delivered = 0
        self.error = ""
        self.last_failure = ""

    def add(self, event: Event, *, counted: bool = True) -> None:
        """Add an event; positions rise, except for those that are not `counted` as unsettled."""
        if counted:
            self._open[event.position] = None
        queue = self._queues.get(event.key)
        if queue is None:
            queue = self._queues[event.key] = deque()
            self._ready.put_nowait(event.key)
            self._begun.set()
        elif counted and (len(queue) >= HELD or len(event.wire) > HELD_BYTES):
            queue.append(event.position)
            self.parked += 1
            return
        queue.append(_Pending(event))
        self.unsettled_bytes += len(event.wire)

    @property
    def unsettled(self) -> int:
        """The number of events neither delivered nor given up, including `parked` ones."""
        return len(self._open)

    def find_lowest(self) -> int | None:
        """Return the lowest position of those."""
        return min(self._open, default=None)

    def find_waiting(self) -> dict[str, int]:
        """Return the position of the first unsettled event of each key."""
        found: dict[str, int] = {}
        for key, queue in self._queues.items():
            for item in queue:
                position = item.event.position if isinstance(item, _Pending) else item
                if position in self._open:  # otherwise it is not counted
                    found[key] = position
                    break
        return found

    async def run(self) -> None:
        """Serve the queues until cancelled."""
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(self._in_flight):
                    group.create_task(self._serve())
        finally:
            for timer in self._timers:
                timer.cancel()

    async def _serve(self) -> None:
        while not self._is_gone:
            key = None if self.is_down else await self._ready.get()
            if key is None:
                async with self._probe:
                    if self.is_down:
                        await self._ask()
            elif self.is_down:  # by now: it waits with all others
                self._ready.put_nowait(key)
            else:
                await self._serve_queue(key)

    async def _serve_queue(self, key: str) -> None:
        """Send the first event of a queue, and handle the outcome."""
        queue = self._queues[key]
        pending = await self._read_first(queue)
        if pending is None:
            self._settle(key, queue)
            return
        try:
            await self._attempt(pending)
        except DeliveryFailed as error:
            if not await self._is_over(pending, error):
                return
        except DeliveryRefused as error:
            await self._give_up(pending.event, error.public, pending.attempts)
        except EndpointGone as error:
            if self._is_gone:
                return  # another task raises it; an error of this one would cut that off
            self._is_gone = True
            await self._give_up(pending.event, error.public, pending.attempts)
            self._settle(key, queue)
            raise
        else:
            self.delivered += 1
        self._settle(key, queue)

    async def _read_first(self, queue: deque[_Pending | int]) -> _Pending | None:
        """Return the first event of a queue; None when it was deleted."""
        first = queue[0]
        if isinstance(first, _Pending):
            return first
        event = await self._load(first)
        if event is None:
            return None
        self.parked -= 1
        self.unsettled_bytes += len(event.wire)
        queue[0] = pending = _Pending(event)
        return pending

    async def _ask(self) -> None:
        """After a pause, try the endpoint that seems to be down with an event of one queue."""
        # NOTE: not by failures, of which there may be many in the first moment.
        self._probes += 1
        with suppress(TimeoutError):
            async with asyncio.timeout(build_pause(self._probes, longest=LONGEST_PROBE)):
                await self._wait_for_other()
        await self._serve_queue(self._find_other() or await self._ready.get())

    async def _wait_for_other(self) -> None:
        """Wait until a queue is ready that has not failed, while few have; otherwise for ever.

        NOTE: such a queue is tried at once: a few twins whose events are all refused do not mean
        that the endpoint is down.
        """
        while True:
            self._begun.clear()
            if len(self._failed) < self._in_flight:
                other = self._find_other()
                if other is not None:
                    self._ready.put_nowait(other)
                    return
            await self._begun.wait()

    def _find_other(self) -> str | None:
        """Take a queue that is ready and has not failed since the endpoint's last answer."""
        for _ in range(self._ready.qsize()):
            key = self._ready.get_nowait()
            if key not in self._failed:
                return key
            self._ready.put_nowait(key)
        return None

    @property
    def is_down(self) -> bool:
        """Whether as many attempts in a row failed as run at a time, of several queues.

        NOTE: a single queue says nothing about the endpoint, and is not tried more often by itself.
        """
        return self._failures >= self._in_flight and len(self._failed) > 1

    async def _attempt(self, pending: _Pending) -> None:
        pending.attempts += 1
        try:
            await self._send(pending.event)
        except DeliveryFailed as error:
            self._failures += 1
            self._failed.add(pending.event.key)
            self.error = self.last_failure = error.public
            raise
        except DeliveryRefused:
            self._note_answer()
            raise
        except EndpointGone as error:
            self.error = error.public
            raise
        self._note_answer()

    def _note_answer(self) -> None:
        """Record that the endpoint answers: it accepted an event, or refused it for good."""
        self._failures = self._probes = 0
        self._answers += 1
        self._failed.clear()
        self.error = ""
        for key, timer in self._waiting.items():
            timer.cancel()
            self._timers.discard(timer)
            self._ready.put_nowait(key)
        self._waiting.clear()

    async def _is_over(self, pending: _Pending, error: DeliveryFailed) -> bool:
        """Return whether it was given up; otherwise it is retried later."""
        now = self._clock()
        since = self.failing.setdefault(pending.event.position, now)
        if now - since >= self._patience:
            await self._give_up(pending.event, error.public, pending.attempts)
            return True
        is_alone = pending.attempts > 1 and pending.answers != self._answers
        pending.alone += is_alone
        pending.answers = self._answers
        key, retry_after = pending.event.key, error.retry_after
        if self.is_down and retry_after is None:
            self._ready.put_nowait(key)
        elif is_alone or retry_after is not None:
            self._wait(key, build_pause(max(pending.alone, 1), retry_after))
        else:
            pause = build_pause(pending.attempts, longest=LONGEST_PROBE)
            self._waiting[key] = self._wait(key, pause)
        return False

    def _wait(self, key: str, pause: float) -> asyncio.TimerHandle:
        def end() -> None:
            self._timers.discard(timer)
            self._waiting.pop(key, None)
            self._ready.put_nowait(key)

        timer = asyncio.get_running_loop().call_later(pause, end)
        self._timers.add(timer)
        return timer

    def _settle(self, key: str, queue: deque[_Pending | int]) -> None:
        first = queue.popleft()
        if isinstance(first, _Pending):
            position = first.event.position
            self.unsettled_bytes -= len(first.event.wire)
        else:
            position = first
            self.parked -= 1
        self._open.pop(position, None)
        self.failing.pop(position, None)
        if queue:
            self._ready.put_nowait(key)
        else:
            del self._queues[key]
        self.settled.set()


def build_pause(
    attempts: int, retry_after: float | None = None, *, longest: float | None = None
) -> float:
    """Return the seconds before the next attempt; what the endpoint asks for, if that is longer."""
    most = LONGEST_PAUSE if longest is None else min(longest, LONGEST_PAUSE)
    pause = Backoff(FIRST_PAUSE, most).build_pause(attempts)
    return pause if retry_after is None else max(pause, min(retry_after, 10 * LONGEST_PAUSE))
