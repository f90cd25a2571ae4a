"""Checks the addresses that the service listens on, for `twinframe check`.

An address in use is no fault if this service itself answers there.
"""

from __future__ import annotations

import errno
from collections.abc import Iterator
from typing import Final

from twinframe.errors import SettingsError
from twinframe.http.server.side_listener import open_socket
from twinframe.runtime.diagnosis.endpoints import is_live
from twinframe.runtime.diagnosis.findings import Finding, build_error, build_fine, build_warning
from twinframe.service.preflight import check_bind
from twinframe.settings import LOOPBACK_BINDS, ServerSettings, Settings
from twinframe.settings.operations import MetricsSettings

_ANYWHERE: Final = frozenset(("0.0.0.0", "[::]", ""))  # noqa: S104  (compared, not bound)
_FIXES: Final = {
    errno.EACCES: "Choose a port from 1024 on, or allow lower ones: AmbientCapabilities="
    "CAP_NET_BIND_SERVICE in a systemd unit.",
    errno.EADDRNOTAVAIL: "Name an address of this machine (ip address), or 0.0.0.0 for all.",
}
_OTHER_FIX: Final = "Stop what listens there (ss -ltnp), or choose another address."


def check_addresses(settings: Settings) -> Iterator[Finding]:
    """Check that the addresses are free, who can reach them, and whether traffic is encrypted."""
    yield _check_own(settings.server)
    if settings.metrics.enabled:
        yield from _check_metrics(settings.metrics, settings.server)
    server = settings.server
    near = server.bind.startswith(LOOPBACK_BINDS)
    if settings.authentication.asks and not (near or server.tls.certificate or server.public_url):
        yield build_warning(
            "address",
            "Credentials would travel in clear text: there is no TLS, and no proxy is named.",
            "Set Server__Tls__Certificate and Server__Tls__Key, or Server__PublicUrl=https://… of "
            "what ends TLS in front.",
        )

    names = server.public_url or settings.mcp.resource_server_url or settings.mcp.allowed_hosts
    if not (near or names):
        yield build_warning(
            "address",
            "No name of the service is set: for callers who use one, links are relative and a 401 "
            f"names the address behind Server__Bind={server.bind}.",
            "Set Server__PublicUrl to the origin that callers use, such as https://twins.example.",
        )


def _check_own(server: ServerSettings) -> Finding:
    try:
        check_bind(server)
    except SettingsError as error:
        if is_live(server.bind, tls=bool(server.tls.certificate)):
            return build_fine("address", f"At Server__Bind={server.bind} a service of ours runs.")
        return build_error("address", error.message, _find_fix(error.__cause__))
    return build_fine("address", f"Server__Bind={server.bind} is free.")


def _check_metrics(metrics: MetricsSettings, server: ServerSettings) -> Iterator[Finding]:
    key = f"Metrics__Bind={metrics.bind}"
    if _meet(metrics.bind, server.bind):
        text = f"{key} and Server__Bind={server.bind} are one address."
        yield build_error("address", text, "Give metrics a port of their own.")
        return
    try:
        # NOTE: a running service of this user shares the address; another program does not.
        open_socket(metrics.bind).close()
    except OSError as error:
        text = f"{key}: {error.strerror or error}."
        yield build_error("address", text, _find_fix(error))
    else:
        yield build_fine("address", f"{key} can be had.")
    if not metrics.bind.startswith(LOOPBACK_BINDS):
        yield build_warning(
            "address",
            f"{key} is reachable from other machines, and asks nobody.",
            "Let the network allow only what scrapes it.",
        )


def _meet(one: str, other: str) -> bool:
    (host, _, port), (other_host, _, other_port) = one.rpartition(":"), other.rpartition(":")
    anywhere = {host, other_host} & _ANYWHERE
    return port == other_port and (host == other_host or bool(anywhere))


def _find_fix(cause: BaseException | None) -> str:
    number = cause.errno if isinstance(cause, OSError) else None
    return _OTHER_FIX if number is None else _FIXES.get(number, _OTHER_FIX)
