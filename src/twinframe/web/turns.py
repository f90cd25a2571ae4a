"""Turns of connections that have much to be read or answered, so that others come between them."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Final, Protocol

TURN_SECONDS: Final = 0.001
FOLLOWERS: Final = 4
"""So many connections of a worker have a request answered at one time that waited behind another.

PERF: with 100 connections that had 4,000 waiting each, others' reads on a busy machine took 106 ms
at the 90th percentile, and 22 so."""
FOLLOWER_SECONDS: Final = 0.02
"""For so long such a request counts. What takes longer, as a query may, has nobody wait for it."""


class Follower(Protocol):
    """A connection with requests that wait behind one another."""

    loop: asyncio.AbstractEventLoop

    def begin_next(self) -> bool:
        """Begin the request that waits; False when there is none, or its client takes nothing."""
        ...


class Turns:
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
            self._timer = loop.call_later(TURN_SECONDS, self._serve, loop)

    def _serve(self, loop: asyncio.AbstractEventLoop) -> None:
        self._waiting.popleft()()
        waits = bool(self._waiting)
        self._timer = loop.call_later(TURN_SECONDS, self._serve, loop) if waits else None


class Followers:
    """Lets connections have their next pipelined request answered, a few of them at one time.

    SEC: each of hundreds of connections has always one more request at hand. Whoever asks but now
    and then would wait behind all of them, each time. What takes long holds no other up for longer
    than a moment.
    """

    def __init__(self) -> None:
        self._waiting: deque[Follower] = deque()
        self._served: dict[Follower, float] = {}
        self._timer: asyncio.TimerHandle | None = None

    def line_up(self, connection: Follower) -> None:
        """Begin the next request of the connection when it is its turn."""
        self._waiting.append(connection)
        self._serve(connection.loop)

    def leave(self, connection: Follower) -> None:
        """The request that was begun is answered, or waits for its client."""
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
        """Count no more what has been answered for long enough."""
        self._timer, now = None, loop.time()
        for connection in [one for one, end in self._served.items() if end <= now]:
            del self._served[connection]
        self._serve(loop)
