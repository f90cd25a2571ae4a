"""Who is connected to a worker, by address: who makes room when it is full. It reads no data.

An address is an IPv4 address, or the first 64 bits of an IPv6 address: one client often has all
that are behind them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from ipaddress import IPv6Address
from typing import Final, Generic, Protocol, TypeVar

YOUNG_SECONDS: Final = 0.5
"""A connection that has waited for less than this is not closed for the sake of others."""


class Guest(Protocol):
    """A connection as the crowd sees it."""

    address: str

    def read_patience(self, now: float) -> float:
        """Seconds that it has kept its place without a request; negative where it has one."""

    def give_way(self) -> None:
        """Close it, since others need the place."""


G = TypeVar("G", bound=Guest)


class Crowd(Generic[G]):
    """The connections of a process, at most `most` of an address."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._guests: dict[str, set[G]] = {}

    def join(self, guest: G, now: float, *, full: bool) -> bool:
        """Count a connection. False: there is no place for it, and nobody could be sent away.

        When its address has too many, one of that address gives way; when the process is `full`,
        one of the address with the most. The one that has waited longest without a request goes.
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
        """The connection is gone."""
        own = self._guests.get(guest.address)
        if own is not None:
            own.discard(guest)
            if not own:
                del self._guests[guest.address]


def _send_away(guests: Collection[Guest], now: float) -> bool:
    longest = max(guests, key=lambda guest: guest.read_patience(now))
    if longest.read_patience(now) < YOUNG_SECONDS:
        return False
    longest.give_way()
    return True


def read_address(transport: asyncio.BaseTransport) -> str:
    """The address that a connection counts for; empty for a local socket."""
    peer = transport.get_extra_info("peername")
    if not isinstance(peer, tuple | list) or not peer:
        return ""
    host = str(peer[0])
    if ":" not in host:
        return host
    found = IPv6Address(host.partition("%")[0])
    mapped = found.ipv4_mapped
    return str(mapped) if mapped is not None else found.packed[:8].hex()
