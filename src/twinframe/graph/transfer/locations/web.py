"""Web hosts as job locations, as the operator allows them: read by GET, written by PUT."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Final
from urllib.parse import SplitResult, urljoin, urlsplit

import httpx2

from twinframe import __version__
from twinframe.errors import InvalidArgument, LocationFailed, UrlNotAllowed
from twinframe.errors.masking import mask_secrets
from twinframe.graph.transfer.locations.base import JobLocation, OpenSource, parse_url, show_url

_PORTS: Final = {"http": 80, "https": 443}
_MOST_REDIRECTS: Final = 3
_CONNECT_SECONDS: Final = 10.0
_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
_FAILURES: Final = (httpx2.HTTPError, httpx2.InvalidURL, httpx2.StreamError, OSError)

Origin = tuple[str, str, int]


class WebLocation(JobLocation):
    """`https:` and `http:` URLs of some hosts.

    SEC: the host is one of those allowed, by name and port; its addresses are checked and the
    connection is made to one of these; each redirect is checked like a first URL; nothing of ours
    is sent along (no credentials, cookies, proxies); certificates are verified by the name.
    """

    def __init__(
        self,
        hosts: Sequence[str],
        *,
        allow_private: bool,
        timeout: float,
    ) -> None:
        self._origins = {_parse_origin(host) for host in hosts}
        self._allow_private = allow_private
        self._timeout = httpx2.Timeout(timeout, connect=_CONNECT_SECONDS)

    def takes(self, url: SplitResult) -> bool:
        """Return whether it has one of the two schemes."""
        return url.scheme in _PORTS

    def check(self, url: str) -> None:
        """Check that the host is one of those allowed."""
        self._check(parse_url(url))

    @contextmanager
    def open_source(self, url: str) -> Iterator[OpenSource]:
        """Yield the body of the answer as it arrives; at most three redirects are followed."""
        with self._open_client() as client:
            try:
                response = self._get(client, url)
                yield OpenSource(_Body(response), _read_identity(response))
            except _FAILURES as error:
                raise LocationFailed(
                    f"{show_url(url)} cannot be read: {_explain(error)}."
                ) from error

    def write(self, url: str, pieces: Iterable[bytes]) -> None:
        """Write the content in one request."""
        with self._open_client() as client:
            try:
                # NOTE: Azure requires the kind of blob; others ignore it.
                headers = {
                    "Content-Type": "application/x-ndjson",
                    "x-ms-blob-type": "BlockBlob",
                }
                body = b"".join(pieces)
                response = client.send(self._build_request(client, "PUT", url, headers, body))
            except _FAILURES as error:
                raise LocationFailed(
                    f"{show_url(url)} cannot be written: {_explain(error)}."
                ) from error
            if not response.is_success:
                status = response.status_code
                raise LocationFailed(
                    f"{show_url(url)} cannot be written: its server answered {status}."
                )

    def _get(self, client: httpx2.Client, url: str) -> httpx2.Response:
        for _ in range(_MOST_REDIRECTS + 1):
            request = self._build_request(client, "GET", url, {}, None)
            response = client.send(request, stream=True)
            if response.status_code == 200:
                return response
            response.close()
            if response.status_code not in _REDIRECTS:
                raise LocationFailed(
                    f"{show_url(url)} cannot be read: its server answered {response.status_code}."
                )
            url = urljoin(url, response.headers.get("location", ""))
        raise LocationFailed(f"{show_url(url)} cannot be read: too many redirects.")

    def _build_request(
        self,
        client: httpx2.Client,
        method: str,
        url: str,
        headers: dict[str, str],
        content: bytes | None,
    ) -> httpx2.Request:
        parts = parse_url(url)
        _, host, port = self._check(parts)
        address = resolve_host(host, port, allow_private=self._allow_private)
        shown = f"[{address}]" if ":" in address else address
        target = parts._replace(netloc=f"{shown}:{port}").geturl()
        return client.build_request(
            method,
            target,
            headers={**headers, "Host": parts.netloc},
            content=content,
            extensions={"sni_hostname": host},
        )

    def _check(self, parts: SplitResult) -> Origin:
        if parts.scheme not in _PORTS or not parts.hostname:
            raise UrlNotAllowed(f"{parts.scheme!a} URLs are not allowed here.")
        origin = parts.scheme, parts.hostname, parts.port or _PORTS[parts.scheme]
        if origin not in self._origins:
            raise UrlNotAllowed(
                f"The host {parts.netloc!a} is none that jobs may use over {parts.scheme} "
                "(Jobs__Hosts)."
            )
        return origin

    def _open_client(self) -> httpx2.Client:
        return httpx2.Client(
            verify=httpx2.create_ssl_context(trust_env=False),
            headers={"Accept-Encoding": "identity", "User-Agent": f"twinframe/{__version__}"},
            cookies=CookieJar(DefaultCookiePolicy(allowed_domains=())),
            timeout=self._timeout,
            follow_redirects=False,
            trust_env=False,
        )


class _Body:
    """The raw bytes of an answer."""

    def __init__(self, response: httpx2.Response) -> None:
        self._pieces = response.iter_raw()
        self._rest = b""

    def read(self, size: int, /) -> bytes:
        """Return at most this many bytes; `LocationFailed` on an error."""
        try:
            while not self._rest:
                self._rest = next(self._pieces)
        except StopIteration:
            return b""
        except _FAILURES as error:
            raise LocationFailed(f"The source ended before its end: {_explain(error)}.") from error
        piece, self._rest = self._rest[:size], self._rest[size:]
        return piece


def _parse_origin(host: str) -> Origin:
    parts = urlsplit(host if "://" in host else f"https://{host}")
    if parts.hostname is None:
        raise InvalidArgument(f"{host!a} is no host.")
    return parts.scheme, parts.hostname, parts.port or _PORTS[parts.scheme]


def _read_identity(response: httpx2.Response) -> str:
    names = ("etag", "last-modified", "content-length")
    return " ".join(f"{name}={response.headers.get(name, '')}" for name in names)


def _explain(error: Exception) -> str:
    return mask_secrets(f"{type(error).__name__}: {error}") if str(error) else type(error).__name__


_Address = ipaddress.IPv4Address | ipaddress.IPv6Address


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


def is_public(address: _Address) -> bool:
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
    address: _Address, blocks: Iterable[ipaddress.IPv4Network | ipaddress.IPv6Network]
) -> bool:
    return any(address in block for block in blocks)
