"""Checks an installation before it serves, and reports each problem in one clear line."""

from __future__ import annotations

import errno
import os
import socket
import ssl
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Final, TypeAlias

from twinframe.errors import (
    ConfigurationError,
    PluginError,
    SettingsError,
    StorageError,
    TwinframeError,
)
from twinframe.hooks.installation import Installation
from twinframe.http.routes import ROUTES
from twinframe.http.server.side_listener import open_socket
from twinframe.service.access import check_access
from twinframe.service.endpoints import build_endpoints
from twinframe.service.features import CONTROL, HOSTING, INGESTION, load_part
from twinframe.service.sites import build_sites
from twinframe.settings import LOOPBACK_BINDS, ServerSettings, Settings, TlsSettings

Refusal: TypeAlias = ConfigurationError | StorageError
"""A reason why a service does not start; its message is one line."""

_LOCAL = {"0.0.0.0": "127.0.0.1", "[::]": "[::1]"}  # noqa: S104  (compared, not bound)
_LONGEST_SOCKET_PATH = 107  # the kernel's limit, less the closing zero


def find_problems(
    installation: Installation, *, everything: bool = False, section: str = "Server"
) -> Iterator[str]:
    """List the messages of `find_refusals`, one line each."""
    for refusal in find_refusals(installation, everything=everything, section=section):
        yield refusal.message


def find_refusals(
    installation: Installation, *, everything: bool = False, section: str = "Server"
) -> Iterator[Refusal]:
    """Yield the problems that would stop the start; with `everything` also those of unused parts.

    `section` has the address to listen on.

    It opens the store and closes it again, which creates or migrates it.
    """
    settings = installation.settings
    checks: list[Callable[[], object]] = [
        lambda: check_anonymous(settings, section),
        lambda: check_access(settings),
        lambda: check_base_path(settings.server.base_path),
        lambda: check_tls(settings.server.tls),
        lambda: _check_bolt(settings),
        lambda: check_store(installation),
        lambda: _check_hosting(installation),
        installation.build_permission_provider,
        lambda: build_endpoints(installation),
        lambda: _check_sources(installation),
        lambda: build_sites(installation),
        installation.build_procedures,
    ]
    if everything:
        checks.append(installation.build_resource_types)
    if settings.control.enabled:
        control = load_part(CONTROL)
        checks.append(lambda: control.check_control(settings))
        checks.append(lambda: control.check_control_store(installation, settings.server.workers))
    yield from _list_failures(checks)


def _check_bolt(settings: Settings) -> None:
    """Refuse a Bolt server that cannot start, or is open to all. Raises `SettingsError`."""
    bolt, authentication = settings.bolt, settings.authentication
    if not bolt.enabled:
        return
    check_tls(bolt.tls, "Bolt")
    is_open = not (authentication.asks or authentication.allow_anonymous)
    if is_open and not bolt.bind.startswith(LOOPBACK_BINDS):
        raise SettingsError(
            f"Bolt__Bind={bolt.bind} is reachable from other machines and nobody is asked for "
            "credentials. Set Authentication__Enabled=true; or, if something in front asks for "
            "them, Authentication__AllowAnonymous=true."
        )
    if bolt.bind == settings.server.bind:
        raise SettingsError(f"Bolt__Bind={bolt.bind} is the address of Server__Bind. Set another.")


def _check_hosting(installation: Installation) -> None:
    if installation.settings.hosting.enabled:
        load_part(HOSTING).check_hosting(installation)


def _check_sources(installation: Installation) -> None:
    if installation.settings.ingestion.sources:
        load_part(INGESTION).build_sources(installation)


def _list_failures(checks: Iterable[Callable[[], object]]) -> Iterator[Refusal]:
    for check in checks:
        try:
            check()
        except (ConfigurationError, StorageError) as error:
            yield error


def find_control_refusals(installation: Installation, *, serves: bool = True) -> Iterator[Refusal]:
    """Yield the problems that would stop the control plane, or a stand-alone provisioner.

    It opens the control store and closes it again, which creates or migrates it.
    """
    settings = installation.settings
    control = load_part(CONTROL)
    checks: list[Callable[[], object]] = [
        lambda: _check_hosting(installation),
        lambda: control.check_control_store(installation, settings.control.workers),
    ]
    if serves:
        checks += [lambda: control.check_control(settings), lambda: check_tls(settings.server.tls)]
    yield from _list_failures(checks)


def list_warnings(settings: Settings, section: str = "Server") -> list[str]:
    """List warnings for the operator that do not stop the start."""
    warnings = []
    if not settings.authentication.asks and not settings.server.bind.startswith(LOOPBACK_BINDS):
        warnings.append(
            f"{section}__Bind={settings.server.bind} is reachable from other machines and nobody "
            "is asked for credentials: whoever reaches it may read and change everything."
        )
    if settings.authentication.enabled and settings.authentication.mode == "None":
        warnings.append("Authentication__Mode=None: nobody is asked for credentials.")
    if settings.authentication.asks and not settings.checks_permissions:
        warnings.append(
            "Authorization__Enabled=false: whoever has valid credentials may do everything."
        )
    if section == "Server":
        warnings += _list_shared_permissions(settings)
    provisions = section == "Control" or settings.control.enabled
    if provisions and settings.control.provision and not settings.hosting.enabled:
        warnings.append(NOT_HOSTED)
    if os.geteuid() == 0:
        # NOTE: no refusal: a container may have no other user than root.
        warnings.append(
            "The service runs as root: whoever makes it do something else owns the machine. Run it "
            "as a user of its own, as with User=twinframe in a systemd unit."
        )
    return warnings


NOT_HOSTED: Final = (
    "Hosting__Enabled=false: no service serves the graphs that the control plane is asked for, and "
    "a resource of the type Platform.Graph gets the status error. Set Hosting__Enabled=true for "
    "the graph service and the provisioner."
)


def _list_shared_permissions(settings: Settings) -> Iterator[str]:
    """Yield the kinds of credentials whose permissions apply to all hosted graphs alike."""
    authentication, provider = settings.authentication, settings.authorization.provider
    if not (settings.hosting.enabled and authentication.asks and settings.checks_permissions):
        return
    ours = "at every hosted graph and at the service's own"
    if authentication.takes_tokens and provider == "Claims":
        yield (
            f"Hosting__Enabled=true with Authorization__Provider=Claims: what a token permits, it "
            f"permits {ours}, whoever owns them. Set Authorization__Provider=Api where they have "
            "several owners."
        )
    if authentication.takes_api_keys:
        yield (
            f"Hosting__Enabled=true with Authentication__Mode={authentication.mode}: what an API "
            f"key permits, it permits {ours}, whoever owns them. Set Authentication__Mode=Jwt "
            "where they have several owners."
        )


def check_anonymous(settings: Settings, section: str = "Server") -> None:
    """Refuse an address that others can reach without authentication. Raises `SettingsError`."""
    bind = settings.server.bind
    if settings.authentication.asks or settings.authentication.allow_anonymous:
        return
    if not bind.startswith(LOOPBACK_BINDS):
        raise SettingsError(
            f"{section}__Bind={bind} is reachable from other machines and nobody is asked for "
            "credentials. Set Authentication__Enabled=true; or, if something in front asks for "
            "them, Authentication__AllowAnonymous=true."
        )


def check_base_path(base_path: str) -> None:
    """Refuse a base path that begins like an operation and would hide it.

    Raises `SettingsError`.
    """
    taken = {route.path.split("/")[1] for route in ROUTES}
    first = base_path.partition("/")[2].partition("/")[0]
    if first.casefold() in taken:
        raise SettingsError(
            f"Server__BasePath={base_path} would hide the operations at /{first}. Choose one that "
            f"begins with none of {', '.join(sorted(taken))}."
        )


def check_tls(tls: TlsSettings, section: str = "Server") -> None:
    """Load certificate and key once. Raises `SettingsError` naming the setting of the section."""
    if not tls.certificate:
        return
    for key, name in (("Certificate", tls.certificate), ("Key", tls.key)):
        try:
            with Path(name).open("rb"):
                pass
        except OSError as error:
            raise SettingsError(f"{section}__Tls__{key}={name}: {error.strerror}.") from error
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(
            tls.certificate, tls.key, _no_password
        )
    except (ssl.SSLError, ValueError) as error:
        raise SettingsError(
            f"{section}__Tls__Certificate={tls.certificate} and {section}__Tls__Key={tls.key} are "
            f"not a certificate and its unencrypted key in PEM form: {error}."
        ) from error


def check_store(installation: Installation) -> None:
    """Open the store and close it. Raises `ConfigurationError` or `StorageError`.

    Any other error of a plugin's store becomes a `PluginError`. NOTE: it is closed before any
    process forks: an open database must not cross a fork.
    """
    store = installation.build_store()
    server = installation.settings.server
    if server.workers > 1 and not store.traits.shared:
        raise SettingsError(
            f"Storage__Provider={installation.settings.storage.provider} keeps its graph in one "
            f"process: {server.workers} workers would serve as many graphs. Set Server__Workers=1."
        )
    try:
        store.open()
        store.close()
    except TwinframeError:
        raise
    except Exception as error:  # third-party code, before anything is served
        owner = installation.load_storage().info.owner
        raise PluginError(f"{owner} cannot open its store: {error!r}") from error


def check_bind(server: ServerSettings, section: str = "Server") -> None:
    """Bind the address and release it. Raises `SettingsError` when that fails."""
    if server.bind.startswith("unix:"):
        _check_socket(Path(server.bind.removeprefix("unix:")), section)
        return
    try:
        open_socket(server.bind, shared=False).close()
    except OSError as error:
        hint = " Another program listens there." if error.errno == errno.EADDRINUSE else ""
        reason = error.strerror or str(error)
        raise SettingsError(f"{section}__Bind={server.bind}: {reason}.{hint}") from error


def find_url(server: ServerSettings) -> str:
    """Return the address of the service for a client on this machine; empty for a socket file."""
    if server.bind.startswith("unix:"):
        return ""
    host, _colon, port = server.bind.rpartition(":")
    scheme = "https" if server.tls.certificate else "http"
    return f"{scheme}://{_LOCAL.get(host, host)}:{port}"


def _check_socket(path: Path, section: str) -> None:
    """Check that the socket file can be made: gunicorn removes an existing one, used or not."""
    problem = ""
    if not path.parent.is_dir():
        problem = f"there is no directory {path.parent}."
    elif not os.access(path.parent, os.W_OK | os.X_OK):
        problem = f"the directory {path.parent} is not writable."
    elif len(os.fsencode(path)) > _LONGEST_SOCKET_PATH:
        problem = f"the path is longer than {_LONGEST_SOCKET_PATH} bytes."
    elif path.exists() and not path.is_socket():
        problem = "it exists and is no socket."
    elif path.is_socket() and _is_listening(path):
        problem = "another program listens there."
    if problem:
        raise SettingsError(f"{section}__Bind=unix:{path}: {problem}")


def _is_listening(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as probe:
        try:
            probe.connect(str(path))
        except ConnectionRefusedError:
            return False  # left by a process that ended
        except OSError:
            return True
    return True


def _no_password() -> str:
    raise ValueError("the key is encrypted")
