"""Queues of connections that read large bodies or have pipelined requests, so that others run in
between.

Each worker has one of each kind.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Final, Protocol

PACE_SECONDS: Final = 0.001
FOLLOWERS: Final = 4
"""The most connections of a worker whose pipelined requests, other than the first, are answered at
one time.

PERF: with 100 connections that had 4,000 requests waiting each, others' reads on a busy machine
took 106 ms at the 90th percentile, and 22 ms with this limit.
"""
FOLLOWER_SECONDS: Final = 0.02
"""Seconds for which such a request counts.

Longer ones, such as queries, delay no others further.
"""


class Follower(Protocol):
    """A connection with pipelined requests."""

    loop: asyncio.AbstractEventLoop

    def begin_next(self) -> bool:
        """Begin the waiting request; return False if there is none, or its client reads nothing."""
        ...


class ReadPacer:
    """Lets connections with large bodies read one after another, each a piece, at a steady pace.

    PERF: a hundred of them, each with 256 KiB to be read, would stop the event loop for 20 ms at a
    time. So they get 128 MB a second together.
    """

    def __init__(self) -> None:
        self._waiting: deque[Callable[[], None]] = deque()
        self._timer: asyncio.TimerHandle | None = None

    def line_up(self, go_on: Callable[[], None], loop: asyncio.AbstractEventLoop) -> None:
        """Call `go_on` when it is its turn."""
        self._waiting.append(go_on)
        if self._timer is None:
            self._timer = loop.call_later(PACE_SECONDS, self._serve, loop)

    def _serve(self, loop: asyncio.AbstractEventLoop) -> None:
        self._waiting.popleft()()
        waits = bool(self._waiting)
        self._timer = loop.call_later(PACE_SECONDS, self._serve, loop) if waits else None


class Followers:
    """A queue in which a few connections at a time have their next pipelined request answered.

    SEC: hundreds of connections may each always have one more request ready. A client with few
    requests would wait for all of them each time. A request that takes long delays the others only
    for a moment.
    """

    def __init__(self) -> None:
        self._waiting: deque[Follower] = deque()
        self._served: dict[Follower, float] = {}
        self._timer: asyncio.TimerHandle | None = None

    def line_up(self, connection: Follower) -> None:
        """Begin the next request of the connection in its turn."""
        self._waiting.append(connection)
        self._serve(connection.loop)

    def leave(self, connection: Follower) -> None:
        """Record that the request is answered, or waits for its client."""
        if self._served.pop(connection, None) is not None and self._waiting:
            connection.loop.call_soon(self._serve, connection.loop)

    def _serve(self, loop: asyncio.AbstractEventLoop) -> None:
        while self._waiting and len(self._served) < FOLLOWERS:
            connection = self._waiting.popleft()
            self._served[connection] = loop.time() + FOLLOWER_SECONDS
            if not connection.begin_next():
                self._served.pop(connection, None)
        if self._waiting and self._timer is None:
            self._timer = loop.call_later(FOLLOWER_SECONDS, self._relieve, loop)

    def _relieve(self, loop: asyncio.AbstractEventLoop) -> None:
        """Stop counting requests that have taken long enough."""
        self._timer, now = None, loop.time()
        for connection in [one for one, end in self._served.items() if end <= now]:
            del self._served[connection]
        self._serve(loop)
