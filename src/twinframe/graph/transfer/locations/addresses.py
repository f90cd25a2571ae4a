"""Resolves host names to allowed addresses: never of this machine or private networks by
default.
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Callable, Iterable
from typing import Final

from twinframe.errors import LocationFailed, UrlNotAllowed

Address = ipaddress.IPv4Address | ipaddress.IPv6Address


def _parse_v4(*blocks: str) -> tuple[ipaddress.IPv4Network, ...]:
    return tuple(map(ipaddress.IPv4Network, blocks))


def _parse_v6(*blocks: str) -> tuple[ipaddress.IPv6Network, ...]:
    return tuple(map(ipaddress.IPv6Network, blocks))


# SPEC: the registries of special-purpose addresses that IANA keeps by RFC 6890 (IPv4 and IPv6, as
# of October 2025): blocks whose entry is not «globally reachable», and the smaller ones inside of
# them whose entry is. Unicast of IPv6 is assigned from one block alone (RFC 4291 section 2.4).
_REACHABLE_V4: Final = _parse_v4("192.0.0.9/32", "192.0.0.10/32")
_SPECIAL_V4: Final = _parse_v4(
    *("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16"),
    *("172.16.0.0/12", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16"),
    *("198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4"),
)
_UNICAST_V6: Final = ipaddress.IPv6Network("2000::/3")
_REACHABLE_V6: Final = _parse_v6(
    *("2001:1::1/128", "2001:1::2/128", "2001:1::3/128", "2001:3::/32", "2001:4:112::/48"),
    *("2001:20::/28", "2001:30::/28"),
)
_SPECIAL_V6: Final = _parse_v6("2001::/23", "2001:db8::/32", "3fff::/20")
_STANDING_FOR: Final[dict[ipaddress.IPv6Network, Callable[[int], int]]] = {
    ipaddress.IPv6Network("::ffff:0:0/96"): lambda value: value & 0xFFFFFFFF,
    ipaddress.IPv6Network("64:ff9b::/96"): lambda value: value & 0xFFFFFFFF,
    ipaddress.IPv6Network("2002::/16"): lambda value: value >> 80 & 0xFFFFFFFF,
}
"""Blocks whose addresses systems and gateways translate to an IPv4 address -> that address."""


def resolve_host(host: str, port: int, *, allow_private: bool) -> str:
    """Return the address to connect to, of all that the name resolves to now.

    SEC: names may resolve to anything, and differently a moment later: all addresses are checked,
    and the connection is made to the returned one. Errors: `LocationFailed`, `UrlNotAllowed`.
    """
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise LocationFailed(f"The host {host!a} has no address: {error}.") from error
    addresses = [ipaddress.ip_address(str(each[4][0])) for each in found]
    for address in addresses:
        if not allow_private and not is_public(address):
            raise UrlNotAllowed(
                f"The host {host!a} has the address {address}, which is not public "
                "(Jobs__PrivateAddresses)."
            )
    return str(addresses[0]).partition("%")[0]


def is_public(address: Address) -> bool:
    """Return whether it is a public address: of no special purpose, or of one that is globally
    reachable. An address that embeds an IPv4 address is judged by that.

    SEC: `is_global` differs between versions of Python, and accepts addresses that gateways
    translate into private ones.
    """
    if isinstance(address, ipaddress.IPv4Address):
        return _is_in(address, _REACHABLE_V4) or not _is_in(address, _SPECIAL_V4)
    if address.scope_id is not None:  # an interface of this machine
        return False
    for block, read_inner in _STANDING_FOR.items():
        if address in block:
            return is_public(ipaddress.IPv4Address(read_inner(int(address))))
    return address in _UNICAST_V6 and (
        _is_in(address, _REACHABLE_V6) or not _is_in(address, _SPECIAL_V6)
    )


def _is_in(
    address: Address, blocks: Iterable[ipaddress.IPv4Network | ipaddress.IPv6Network]
) -> bool:
    return any(address in block for block in blocks)
