"""The host names of a service; a request's Host header is trusted only if it has one of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final
from urllib.parse import urlsplit

from twinframe.http.exchange import Scope
from twinframe.settings import LOOPBACK_BINDS, Settings

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
