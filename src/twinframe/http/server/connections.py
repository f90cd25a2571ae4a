"""Connections of a worker: their number by client address, and their turns to be read and answered.

An address is an IPv4 address, or the first 64 bits of an IPv6 address, since one client often has
that whole prefix.
"""

from __future__ import annotations

import asyncio
import struct
import sys
from collections import deque
from collections.abc import Callable, Collection
from fcntl import ioctl
from ipaddress import IPv6Address
from termios import TIOCOUTQ
from typing import Final, Generic, Protocol, TypeVar

YOUNG_SECONDS: Final = 0.5
"""A connection that has waited for less than this is not closed in favour of others."""


class Connection(Protocol):
    """A connection as the crowd sees it."""

    address: str

    def read_patience(self, now: float) -> float:
        """Return the seconds that it has been open without a request; negative if it has one."""

    def give_way(self) -> None:
        """Close the connection, since others need its slot."""


G = TypeVar("G", bound=Connection)


class ConnectionTable(Generic[G]):
    """The connections of a process, at most `most` per address."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._guests: dict[str, set[G]] = {}

    def join(self, guest: G, now: float, *, full: bool) -> bool:
        """Count a connection; return False if there is no slot for it and none could be freed.

        If its address has too many connections, one of that address is closed. If the process is
        `full`, one of the address with the most is closed. The one that has waited longest without
        a request goes first.
        """
        own = self._guests.setdefault(guest.address, set())
        own.add(guest)
        if len(own) > self._most:
            return _send_away(own, now)
        if full:
            most: set[G] = max(self._guests.values(), key=len)
            return _send_away(most, now)
        return True

    def leave(self, guest: G) -> None:
        """Forget a closed connection."""
        own = self._guests.get(guest.address)
        if own is not None:
            own.discard(guest)
            if not own:
                del self._guests[guest.address]


def _send_away(guests: Collection[Connection], now: float) -> bool:
    longest = max(guests, key=lambda guest: guest.read_patience(now))
    if longest.read_patience(now) < YOUNG_SECONDS:
        return False
    longest.give_way()
    return True


def read_address(transport: asyncio.BaseTransport) -> str:
    """Return the address that a connection counts for; empty for a local socket."""
    peer = transport.get_extra_info("peername")
    if not isinstance(peer, tuple | list) or not peer:
        return ""
    host = str(peer[0])
    if ":" not in host:
        return host
    found = IPv6Address(host.partition("%")[0])
    mapped = found.ipv4_mapped
    return str(mapped) if mapped is not None else found.packed[:8].hex()


def is_delivered(transport: asyncio.Transport) -> bool:
    """Return True if this side's buffers are empty and the client has confirmed all data.

    NOTE: a TLS transport does not report the buffer of the transport below it; that buffer is empty
    if the kernel's queue is. False where it cannot be determined: on other systems than Linux, and
    for a closed socket.
    """
    if sys.platform != "linux" or transport.get_write_buffer_size():
        return False
    socket = transport.get_extra_info("socket")
    if socket is None or socket.fileno() < 0:
        return False
    try:
        answer = ioctl(socket.fileno(), TIOCOUTQ, bytes(4))
    except OSError:
        return False
    return not struct.unpack("i", answer)[0]


_PACE_SECONDS: Final = 0.001
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


class _Follower(Protocol):
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
            self._timer = loop.call_later(_PACE_SECONDS, self._serve, loop)

    def _serve(self, loop: asyncio.AbstractEventLoop) -> None:
        self._waiting.popleft()()
        waits = bool(self._waiting)
        self._timer = loop.call_later(_PACE_SECONDS, self._serve, loop) if waits else None


class Followers:
    """A queue in which a few connections at a time have their next pipelined request answered.

    SEC: hundreds of connections may each always have one more request ready. A client with few
    requests would wait for all of them each time. A request that takes long delays the others only
    for a moment.
    """

    def __init__(self) -> None:
        self._waiting: deque[_Follower] = deque()
        self._served: dict[_Follower, float] = {}
        self._timer: asyncio.TimerHandle | None = None

    def line_up(self, connection: _Follower) -> None:
        """Begin the next request of the connection in its turn."""
        self._waiting.append(connection)
        self._serve(connection.loop)

    def leave(self, connection: _Follower) -> None:
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
