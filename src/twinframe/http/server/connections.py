"""Connection counts of a worker by client address; they decide which connection to close when it is
full.

An address is an IPv4 address, or the first 64 bits of an IPv6 address, since one client often has
that whole prefix.
"""

from __future__ import annotations

import asyncio
import struct
import sys
from collections.abc import Collection
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
