"""A CPU scheduler for long queries: a limited number of them run in a process at one time."""

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


class CpuScheduler:
    """Lets at most `count` callers of `yield_control` run at once, some 20 ms each, in turn.

    PERF: threads that all want the CPU delay those that should go first, niced or not: each of them
    takes the interpreter lock now and then, and may be descheduled while it holds it. With eight
    endless queries, ten working threads beside two workers on two cores left writers 0.26 of their
    rate at p99 58 ms; one at a time leaves them 0.63 at 30 ms.

    NOTE: a holder that was not seen for 0.1 s (it builds an answer, or waits for a client) loses
    its slot, so that no other waits for an idle one.
    """

    def __init__(self, count: int) -> None:
        self._count = count
        self._lock = threading.Lock()
        self._holders: dict[object, _Holder] = {}
        self._waiting: deque[_Waiter] = deque()

    def yield_control(self, who: object, is_over: Callable[[], bool]) -> bool:
        """Continue at once or wait for a slot; return `is_over`, also checked while waiting."""
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
        """Release the slot, if one is held."""
        with self._lock:
            if self._holders.pop(who, None) is not None:
                self._call_next(time.monotonic())

    def _call_next(self, now: float) -> None:
        """Give the free slots to the next waiters. The lock must be held."""
        if len(self._holders) >= self._count and self._waiting:
            for who in [who for who, one in self._holders.items() if now - one.seen > _LAPSE]:
                del self._holders[who]
        while self._waiting and len(self._holders) < self._count:
            waiter = self._waiting.popleft()
            self._holders[waiter.who] = _Holder(now, now)
            waiter.called.set()


@functools.cache
def share_scheduler(count: int) -> CpuScheduler:
    """Return the scheduler of this process; 0 is half of the CPUs, at least one."""
    return CpuScheduler(count or max((os.cpu_count() or 1) // 2, 1))
