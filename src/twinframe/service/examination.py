"""Examines an installation for `twinframe check`, from settings to machine, and lists findings.

`preflight` has the checks that stop a start; here are also problems that would show later, or to
other users.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterable, Iterator
from importlib.metadata import version
from pathlib import Path

from twinframe.access.authentication.build import build_issuer
from twinframe.access.authentication.key_cache import KeysUnavailable
from twinframe.access.authentication.key_file import read_keys
from twinframe.errors import ConfigurationError, SettingsError, StorageError, TwinframeError
from twinframe.hooks.drivers import find_plugins
from twinframe.hooks.installation import Installation
from twinframe.hooks.seams import SEAMS, SITE
from twinframe.runtime.diagnosis.directories import check_directory, check_offered
from twinframe.runtime.diagnosis.endpoints import check_endpoint
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
from twinframe.service.instruments import build_traces
from twinframe.service.listening import check_addresses
from twinframe.service.memory import check_memory
from twinframe.service.preflight import NOT_HOSTED, find_problems, list_warnings
from twinframe.settings import CONFIG_VARIABLE, AuthenticationSettings, Settings
from twinframe.settings.sources import find_near_misses

_FILES_A_GRAPH = 24


def examine(
    installation: Installation, config: Path | None = None, *, network: bool = True
) -> Iterator[Finding]:
    """List all findings: errors, warnings and what is fine. Without `network` no server is
    contacted.

    It opens the store and closes it again, which creates or migrates it.
    """
    settings = installation.settings
    yield from _list_start(installation)
    yield from _convert(installation.list_findings)
    yield from _check_machine(settings)
    yield from check_addresses(settings)
    yield from _check_secrets(settings, config)
    yield from _check_directories(settings)
    yield from _check_keys_file(settings.authentication)
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
            yield build_warning(
                "events",
                f"The endpoint {name} cannot be opened: {problem}",
                f"Look at Events__Endpoints__{name} and at what it names. Until it can be opened "
                "events wait for it, up to Events__RetryHours.",
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
