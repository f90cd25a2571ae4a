"""Long statements take turns: so many of a process work at one time. It knows no statement."""

from __future__ import annotations

import functools
import os
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

_SLICE: Final = 0.02
_LAPSE: Final = 0.1
_LOOK: Final = 0.05


@dataclass(slots=True)
class _Holder:
    since: float
    seen: float


@dataclass(frozen=True, slots=True, eq=False)
class _Waiter:
    who: object
    called: threading.Event = field(default_factory=threading.Event)


class Turns:
    """At most `count` of those who `breathe` work at one time, each for some 20 ms; first come,
    first served.

    PERF: threads that all want the processor hold up those that should go before them, niced or
    not: every one of them takes the interpreter's lock now and then, and may be put aside while it
    has it. With eight endless queries, ten working threads beside two workers on two cores left
    writers 0.26 of their rate at p99 58 ms; one at a time leaves them 0.63 at 30 ms.

    NOTE: a turn is only as good as its holder: one who was not seen for 0.1 s (it builds an answer,
    or waits for a client) has lost it, so that nobody waits for somebody who does not work.
    """

    def __init__(self, count: int) -> None:
        self._count = count
        self._lock = threading.Lock()
        self._holders: dict[object, _Holder] = {}
        self._waiting: deque[_Waiter] = deque()

    def breathe(self, who: object, is_over: Callable[[], bool]) -> bool:
        """Go on at once or wait for one's turn; returns `is_over`, looked at while it waits too."""
        now = time.monotonic()
        with self._lock:
            held = self._holders.get(who)
            if held is not None:
                held.seen = now
                if not self._waiting or now - held.since < _SLICE:
                    return is_over()
                del self._holders[who]
            waiter = _Waiter(who)
            self._waiting.append(waiter)
            self._call_next(now)
        while not waiter.called.wait(_LOOK):
            with self._lock:
                self._call_next(time.monotonic())
                if is_over() and not waiter.called.is_set():
                    self._waiting.remove(waiter)
                    return True
        return is_over()

    def leave(self, who: object) -> None:
        """Give up the turn, if one is held."""
        with self._lock:
            if self._holders.pop(who, None) is not None:
                self._call_next(time.monotonic())

    def _call_next(self, now: float) -> None:
        """Call those who wait into the turns that are free. The lock must be held."""
        if len(self._holders) >= self._count and self._waiting:
            for who in [who for who, one in self._holders.items() if now - one.seen > _LAPSE]:
                del self._holders[who]
        while self._waiting and len(self._holders) < self._count:
            waiter = self._waiting.popleft()
            self._holders[waiter.who] = _Holder(now, now)
            waiter.called.set()


@functools.cache
def share_turns(count: int) -> Turns:
    """The turns of this process, for all its graphs; 0 is half of the processors, at least one."""
    return Turns(count or max((os.cpu_count() or 1) // 2, 1))
