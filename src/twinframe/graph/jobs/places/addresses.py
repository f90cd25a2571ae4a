"""Which addresses a host name may lead to: never those of this machine or its networks, unless the
operator says so. It connects to none.
"""

from __future__ import annotations

import ipaddress
import socket
from typing import Final

from twinframe.errors import PlaceFailed, UrlNotAllowed

_NAT64: Final = ipaddress.IPv6Network("64:ff9b::/96")
_NAT64_LOCAL: Final = ipaddress.IPv6Network("64:ff9b:1::/48")
_6TO4: Final = ipaddress.IPv6Network("2002::/16")

Address = ipaddress.IPv4Address | ipaddress.IPv6Address


def resolve_host(host: str, port: int, *, allow_private: bool) -> str:
    """The address to connect to, of all that the name has now.

    SEC: names may lead anywhere, and elsewhere a moment later: all of its addresses are looked at,
    and the connection is made to the one that is returned. Errors: `PlaceFailed`, `UrlNotAllowed`.
    """
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise PlaceFailed(f"The host {host!a} has no address: {error}.") from error
    addresses = [ipaddress.ip_address(str(each[4][0]).partition("%")[0]) for each in found]
    for address in addresses:
        if not allow_private and not is_public(address):
            raise UrlNotAllowed(
                f"The host {host!a} has the address {address}, which is not public "
                "(Jobs__PrivateAddresses)."
            )
    return str(addresses[0])


def is_public(address: Address) -> bool:
    """Whether it is of the public network, also when it only stands for another.

    SEC: `is_global` takes addresses that gateways translate for public ones.
    """
    inner: ipaddress.IPv4Address | None = None
    if isinstance(address, ipaddress.IPv6Address):
        inner = address.ipv4_mapped
        if address in _NAT64:
            inner = ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
        elif address in _6TO4:
            inner = address.sixtofour
        elif address in _NAT64_LOCAL or address.teredo is not None:
            return False
    if inner is not None:
        return is_public(inner)
    return address.is_global and not address.is_multicast
