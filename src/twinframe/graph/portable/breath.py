"""Long loops in a thread beside an event loop: they give the interpreter back. It does no work.

PERF: else the loop, and the thread that writes, wait for the interpreter's own switch, 5 ms each
time they want it; an import that prepares without pause would make every request wait so.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from typing import Final, TypeVar

T = TypeVar("T")

BREATH_SECONDS: Final = 0.00005
"""A real sleep: a thread that only yields takes the interpreter again before others wake up."""

PARSED: Final = 128
RENDERED: Final = 64
"""Lines that take about half a millisecond. Fewer would make the import slow: behind each sleep it
waits for the interpreter in its turn.
"""


def breathe(items: Iterable[T], every: int, seconds: float) -> Iterator[T]:
    """The items, with a sleep of so many seconds behind each `every`; none for 0."""
    for number, item in enumerate(items, start=1):
        yield item
        if seconds and not number % every:
            time.sleep(seconds)
