"""Pauses long loops in a thread so that the event loop can take the interpreter lock.

PERF: otherwise the loop, and the thread that writes, wait for the interpreter's own switch, 5 ms
each time they need it; an import that prepares without pause would delay every request so.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from typing import Final, TypeVar

T = TypeVar("T")

PAUSE_SECONDS: Final = 0.00005
"""Seconds of a real sleep: a thread that only yields takes the lock again before others wake up."""

PARSED: Final = 128
RENDERED: Final = 64
"""Lines that take about half a millisecond.

Fewer would make the import slow: after each sleep it waits for the interpreter lock.
"""


def pause_for_writers(items: Iterable[T], every: int, seconds: float) -> Iterator[T]:
    """Yield the items, with a sleep of this many seconds after each `every`; none for 0."""
    for number, item in enumerate(items, start=1):
        yield item
        if seconds and not number % every:
            time.sleep(seconds)
