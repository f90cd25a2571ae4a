"""URLs in answers, and the host names of the service that they may have."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final
from urllib.parse import quote, urlencode, urlsplit

from twinframe.http.exchange import Exchange, Scope
from twinframe.http.guard import read_raw_path
from twinframe.settings import LOOPBACK_BINDS, Settings
from twinframe.storage.base import IncomingRelationship

DEFAULT_API_VERSION = "2023-10-31"

Kept = Mapping[str, str | Sequence[str]]
"""Query parameters of a listing that its next link repeats."""


class Links:
    """Builder of links below `Server__PublicUrl`, else below the address the caller used.

    SEC: a client or proxy may send any Host: only a name of the service appears in an answer, see
    `KnownHosts`. `login` is the URL whose origin discovery names if no public one is set.
    """

    def __init__(self, settings: Settings, login: str = "") -> None:
        self._public_url = settings.server.public_url.rstrip("/")
        parts = urlsplit(login)
        self._login = f"{parts.scheme}://{parts.netloc}" if login else ""
        self._known = KnownHosts(settings, [settings.server.bind])

    @property
    def is_fixed(self) -> bool:
        """Whether discovery is the same for every Host."""
        return bool(self._public_url or self._login)

    def build_origin(self, exchange: Exchange) -> str:
        """Return the scheme and authority that discovery names, such as `https://twins.example`.

        If the Host is no name of the service, they are those of the address the request came in at,
        which leads to no other server.
        """
        if not exchange.own_host and (self._public_url or self._login):
            return self._public_url or self._login
        return self._find_origin(exchange) or (
            f"{exchange.scope['scheme']}://{build_local_host(exchange.scope)}"
        )

    def _find_origin(self, exchange: Exchange) -> str:
        """Return the origin of links; empty (relative links) if the Host is not trusted."""
        if self._public_url and not exchange.own_host:
            return self._public_url
        host, scope = exchange.host.decode("latin-1"), exchange.scope
        if not self._known.knows(host) and host != build_local_host(scope):
            return ""
        scheme = self._public_url.partition(":")[0] or scope["scheme"]
        return f"{scheme}://{host}"

    def build_next(self, exchange: Exchange, token: str, api_version: str, kept: Kept) -> str:
        """Return the link of a listing's next page, with `kept`, token and version.

        NOTE: the page size is in the token: the vendor's Python client follows a link without
        repeating its headers.
        """
        query = {**kept, "continuationToken": token, "api-version": api_version}
        path = read_raw_path(exchange.scope).decode("ascii")
        return (
            f"{self._find_origin(exchange)}{path}?{urlencode(query, doseq=True, quote_via=quote)}"
        )

    def build_delete_job(self, exchange: Exchange, job_id: str, api_version: str) -> str:
        """Return the link of a delete job."""
        path = f"{exchange.target.base}/jobs/deletions/{quote(job_id, safe='')}"
        version = quote(api_version, safe="")
        return f"{self._find_origin(exchange)}{path}?api-version={version}"

    def build_relationship_prefix(self, exchange: Exchange) -> str:
        """Return the prefix of all links to relationships; see `build_relationship`."""
        return f"{self._find_origin(exchange)}{exchange.target.base}/digitaltwins/"

    def build_relationship(
        self, prefix: str, relationship: IncomingRelationship, api_version: str
    ) -> str:
        """Return the link of a relationship under its source twin."""
        source = quote(relationship.source_id, safe="")
        name = quote(relationship.relationship_id, safe="")
        version = quote(api_version, safe="")
        return f"{prefix}{source}/relationships/{name}?api-version={version}"


_LOOPBACK_HOSTS: Final = ("localhost", "127.0.0.1", "[::1]")
_EVERY_ADDRESS: Final = ("0.0.0.0", "[::]")  # noqa: S104  (compared with, not bound to)
_PORTS: Final = {"http": 80, "https": 443}


class KnownHosts:
    """The host names that the settings give: hosts of public URLs, `MCP__AllowedHosts`, the
    addresses in `binds`, and with any port those of this machine and those of graphs below
    `Hosting__Domain`.
    """

    def __init__(self, settings: Settings, binds: Iterable[str]) -> None:
        urls = (
            settings.server.public_url,
            settings.mcp.resource_server_url,
            settings.control.public_url,
            settings.hosting.public_url,
        )
        names = {name.lower() for name in settings.mcp.allowed_hosts}
        for url in filter(None, urls):
            names |= _list_names(url)
        for bind in binds:
            names |= _list_bound(bind)
        self._exact = frozenset(name for name in names if not name.endswith(":*"))
        self._any_port = frozenset(name[:-2] for name in names if name.endswith(":*"))
        domain = settings.hosting.domain.lower()
        self._below = f".{domain}" if settings.hosting.enabled and domain else ""

    def knows(self, host: str) -> bool:
        """Return whether `host`, with or without a port, is a name of this service."""
        host = host.lower()
        if host in self._exact:
            return True
        name, colon, port = host.rpartition(":")
        if self._below and (name if colon else host).endswith(self._below):
            return port.isdecimal() or not colon
        return bool(colon) and port.isdecimal() and name in self._any_port


def build_local_host(scope: Scope) -> str:
    """Return the address and port at which a request came in; `localhost` if there is none."""
    server = scope.get("server")
    if not server or server[1] is None:  # a socket file
        return "localhost"
    address, port = server
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


def _list_names(url: str) -> set[str]:
    parts = urlsplit(url.lower())
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname or ""
    usual = _PORTS.get(parts.scheme)
    if parts.port is None or parts.port == usual:
        return {host, f"{host}:{usual}"}
    return {f"{host}:{parts.port}"}


def _list_bound(bind: str) -> set[str]:
    host = bind.lower().rpartition(":")[0]
    names = {bind.lower(), host}
    if bind.startswith(LOOPBACK_BINDS) or host in _EVERY_ADDRESS:
        # NOTE: with any port: another one is often forwarded to it on the way to this machine.
        names |= {name for near in _LOOPBACK_HOSTS for name in (near, f"{near}:*")}
    return names
