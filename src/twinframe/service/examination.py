"""Examines an installation for `twinframe check`, from settings to machine, and lists findings.

`preflight` has the checks that stop a start; here are also problems that would show later, or to
other users.
"""

from __future__ import annotations

import asyncio
import errno
import os
from collections.abc import Callable, Iterable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Final

from twinframe.access.authentication.build import build_issuer
from twinframe.access.authentication.key_cache import KeysUnavailable
from twinframe.access.authentication.keys import read_keys
from twinframe.errors import ConfigurationError, SettingsError, StorageError, TwinframeError
from twinframe.hooks.drivers import SEAMS, SITE, find_plugins
from twinframe.hooks.event_sinks.tables import TableSink
from twinframe.hooks.installation import Installation
from twinframe.http.server.side_listener import open_socket
from twinframe.runtime.diagnosis.directories import check_directory, check_offered
from twinframe.runtime.diagnosis.endpoints import check_endpoint, is_live
from twinframe.runtime.diagnosis.findings import (
    Finding,
    Severity,
    build_error,
    build_fine,
    build_warning,
)
from twinframe.runtime.diagnosis.machine import (
    check_clock,
    check_libraries,
    check_open_files,
    check_plugins,
    check_temporary,
    check_workers,
)
from twinframe.runtime.diagnosis.secrecy import check_certificate, check_private_file, check_secret
from twinframe.service.endpoints import build_endpoints
from twinframe.service.features import INGESTION, load_part
from twinframe.service.instruments import build_traces
from twinframe.service.memory import check_memory
from twinframe.service.preflight import NOT_HOSTED, check_bind, find_problems, list_warnings
from twinframe.settings import (
    CONFIG_VARIABLE,
    LOOPBACK_BINDS,
    AuthenticationSettings,
    ServerSettings,
    Settings,
)
from twinframe.settings.operations import MetricsSettings
from twinframe.settings.sources import find_near_misses

_FILES_A_GRAPH = 24


def examine(
    installation: Installation, config: Path | None = None, *, network: bool = True
) -> Iterator[Finding]:
    """List all findings; without `network` no server is contacted.

    It opens the store and closes it again, which creates or migrates it.
    """
    settings = installation.settings
    yield from _list_start(installation)
    yield from _convert(installation.list_findings)
    yield from _convert(lambda: _check_points(installation))
    yield from _check_kept_models(installation)
    yield from _check_machine(settings)
    yield from _check_addresses(settings)
    yield from _check_secrets(settings, config)
    yield from _check_directories(settings)
    yield from _check_keys_file(settings.authentication)
    if settings.ingestion.sources:
        yield from load_part(INGESTION).check_sources(installation, network=network)
    if network:
        yield from _check_issuer(settings)
        yield from _check_traces(settings)
        yield from _check_event_endpoints(installation)


def examine_settings(error: TwinframeError) -> Iterator[Finding]:
    """List the findings of settings or plugins that cannot be loaded at all."""
    for message in [detail.message for detail in error.details] or [error.message]:
        yield build_error("settings", message)


def find_worst(findings: Iterable[Finding]) -> Severity:
    """Return the severity of the worst finding."""
    found = {finding.severity for finding in findings}
    return next((one for one in Severity if one in found), Severity.FINE)


def _list_start(installation: Installation) -> Iterator[Finding]:
    """List findings that would stop the start, and warnings about it."""
    problems = list(find_problems(installation, everything=True))
    for problem in problems:
        yield build_error("start", problem)
    if not problems:
        owner = installation.load_storage().info.owner
        yield build_fine("start", f"Settings, plugins and the store are sound: {owner}.")
    sites = [info.name for info in find_plugins(SITE)]
    warnings = list_warnings(installation.settings)
    if _sets_control(installation) and NOT_HOSTED not in warnings:
        warnings.append(NOT_HOSTED)
    for warning in (*warnings, *find_near_misses(os.environ, sites)):
        yield build_warning("settings", warning)


_MANY_FRESH: Final = 5_000_000
"""Points that are not in blocks, beyond which reads of them are slow."""


def _check_points(installation: Installation) -> Iterator[Finding]:
    """Report how many values over time there are, and whether upkeep has come to them."""
    points = installation.find_point_store(installation.build_store())
    if points is None:
        return
    try:
        found = points.read_figures()
    finally:
        points.close()
    if not found.bytes:
        return
    text = f"Points take {found.bytes:,} bytes in {found.blocks:,} blocks"
    if found.waiting:
        text += f"; {found.waiting:,} are to become blocks, the oldest for {found.lag:,.0f} s"
    if found.waiting < _MANY_FRESH:
        yield build_fine("points", f"{text}.")
    else:
        fix = "A service that runs does it: start one, or look for upkeep of points in its log."
        yield build_warning("points", f"{text}.", fix)


def _check_kept_models(installation: Installation) -> Iterator[Finding]:
    """Warn of models in the settings that are not stored: nothing is kept of them."""
    settings = installation.settings
    history = settings.history
    wanted = [
        (key, one)
        for key, models in (("Telemetry", history.telemetry), ("Properties", history.properties))
        for one in models
        if one.startswith("dtmi:")
    ]
    if not wanted or settings.hosting.enabled:  # each hosted graph has models of its own
        return
    try:
        store = installation.build_store()
        store.open()
        try:
            session = store.session()
            try:
                missing = [each for each in wanted if session.read_model(each[1]) is None]
            finally:
                session.close()
        finally:
            store.close()
    except (ConfigurationError, StorageError):  # reported already, as it stops the start
        return
    for key, one in missing:
        yield build_warning(
            "history",
            f"History__{key} names {one}, a model that is not stored.",
            "Look for a mistake in its id, also in the version behind the semicolon; or upload it.",
        )


def _sets_control(installation: Installation) -> bool:
    """Return whether these are settings of a stand-alone control plane, without hosting."""
    settings, origins = installation.settings, installation.configuration.origins
    if settings.hosting.enabled or not settings.control.provision:
        return False
    return any(path[0].lower() == "control" for path in origins)


def _convert(check: Callable[[], Iterable[Finding]]) -> Iterator[Finding]:
    """Yield the findings of a check; an error of the check itself becomes one too."""
    try:
        yield from check()
    except (ConfigurationError, StorageError, OSError) as error:
        message = error.message if isinstance(error, TwinframeError) else str(error)
        yield build_error("plugins", message)


def _check_machine(settings: Settings) -> Iterator[Finding]:
    yield from check_libraries()
    plugins = {(one.distribution, one.version) for seam in SEAMS for one in find_plugins(seam)}
    yield from check_plugins(version("twinframe"), sorted(plugins))
    yield from check_clock()
    yield check_temporary()
    yield check_workers(settings.server.workers)
    yield check_memory(settings)
    hosting = settings.hosting
    graphs = hosting.max_open_graphs * _FILES_A_GRAPH if hosting.enabled else 0
    yield check_open_files(settings.server.max_connections, graphs)


def _check_secrets(settings: Settings, config: Path | None) -> Iterator[Finding]:
    yield from check_secret("Secrets__TokenKey", settings.secrets.token_key.get_secret_value())
    file = config or Path(os.environ.get(CONFIG_VARIABLE, ""))
    if file.name:
        yield from check_private_file("--config" if config else CONFIG_VARIABLE, file)
    authentication = settings.authentication
    if authentication.asks and authentication.takes_api_keys:
        keys = Path(authentication.api_keys.file)
        if keys.exists():
            yield from check_private_file("Authentication__ApiKeys__File", keys)
    tls = settings.server.tls
    if tls.certificate:
        yield from check_private_file("Server__Tls__Key", Path(tls.key))
        yield from check_certificate("Server__Tls__Certificate", Path(tls.certificate))


def _check_directories(settings: Settings) -> Iterator[Finding]:
    if settings.hosting.enabled:
        yield from check_directory("Hosting__Directory", Path(settings.hosting.directory))
    for number, directory in enumerate(settings.jobs.directories):
        if "{graph}" not in directory:  # those of hosted graphs are created with them
            yield from check_offered(f"Jobs__Directories__{number}", Path(directory))


def _check_keys_file(own: AuthenticationSettings) -> Iterator[Finding]:
    """Check that the file of the issuer's keys has any: without them, no token is accepted."""
    if not (own.asks and own.takes_tokens and own.keys_file):
        return
    fix = (
        "Put the issuer's keys there, a JWK Set of RSA or EC keys; or name the issuer by "
        "Authentication__Authority and unset it."
    )
    try:
        keys = read_keys(Path(own.keys_file))
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        yield build_error("issuer", f"Authentication__KeysFile={own.keys_file}: {reason}.", fix)
        return
    if not keys.keys:
        text = (
            f"Authentication__KeysFile={own.keys_file} has no key that tokens can be verified by."
        )
        yield build_error("issuer", text, fix)
    else:
        text = f"Authentication__KeysFile={own.keys_file} has {keys}."
        yield build_fine("issuer", text)


def _check_issuer(settings: Settings) -> Iterator[Finding]:
    """Check that the issuer's keys can be fetched now: without them, no token is accepted."""
    own = settings.authentication
    if not (own.asks and own.takes_tokens) or own.keys_file:
        return
    try:
        keys = asyncio.run(build_issuer(own).read())
    except KeysUnavailable as error:
        yield build_error(
            "issuer",
            f"The keys of the issuer {own.expected_issuer} cannot be had: {error}.",
            "Look at Authentication__Authority, the way there, and the issuer's certificate "
            "(Authentication__CaFile).",
        )
        return
    except SettingsError as error:
        yield build_error("issuer", error.message)
        return
    if keys.keys:
        yield build_fine("issuer", f"The issuer {own.expected_issuer} gives {keys}.")
    else:
        yield build_error(
            "issuer",
            f"The issuer {own.expected_issuer} gives {keys}: every token is refused.",
            "Have the issuer publish the RSA, EC or Ed25519 keys that it signs with.",
        )
    address = own.authority or own.metadata_address or own.jwks_uri
    yield from check_endpoint(
        "Authentication__Authority", address, ca_file=own.ca_file, timeout=own.keys_timeout
    )


def _check_event_endpoints(installation: Installation) -> Iterator[Finding]:
    """Check that each event endpoint can be opened as for its first event; none is sent."""
    try:
        endpoints = build_endpoints(installation)
    except ConfigurationError:  # reported already, as it stops the start
        return
    for name, problem in asyncio.run(endpoints.try_all()).items():
        if problem:
            found = endpoints.find(name)
            is_table = found is not None and isinstance(found.sink, TableSink)
            longest = "Events__UndeliveredBytes" if is_table else "Events__RetryHours"
            yield build_warning(
                "events",
                f"The endpoint {name} cannot be opened: {problem}",
                f"Look at Events__Endpoints__{name} and at what it names. Until it can be opened "
                f"events wait for it, up to {longest}.",
            )
        else:
            yield build_fine("events", f"The endpoint {name} can be opened.")


def _check_traces(settings: Settings) -> Iterator[Finding]:
    try:
        traces = build_traces(settings)
    except ConfigurationError as error:
        yield build_error("traces", error.message)
        return
    name = "OTEL_EXPORTER_OTLP_ENDPOINT"
    if traces is not None and os.environ.get(name, "").startswith("http"):
        for finding in check_endpoint(name, os.environ[name]):
            worse = finding.severity is Severity.ERROR
            yield build_warning("traces", finding.message, finding.fix) if worse else finding


_ANYWHERE: Final = frozenset(("0.0.0.0", "[::]", ""))  # noqa: S104  (compared, not bound)
_FIXES: Final = {
    errno.EACCES: "Choose a port from 1024 on, or allow lower ones: AmbientCapabilities="
    "CAP_NET_BIND_SERVICE in a systemd unit.",
    errno.EADDRNOTAVAIL: "Name an address of this machine (ip address), or 0.0.0.0 for all.",
}
_OTHER_FIX: Final = "Stop what listens there (ss -ltnp), or choose another address."


def _check_addresses(settings: Settings) -> Iterator[Finding]:
    """Check that the addresses are free, who can reach them, and whether traffic is encrypted.

    An address in use is no fault if this service itself answers there.
    """
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
